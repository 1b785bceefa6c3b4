"""Tensions of springs, ligaments and actuators along paths, and what tensions do to the coordinates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.frame_arrays import columns_by_name, not_numbers
from musculo.errors import InvalidInput, InvalidModel, MusculoError, UnknownName, Unsupported
from musculo.functions.formula import compile_expressions
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.functions.formula_programs import Programs
from musculo.kernels.paths import path_tension as kinds
from musculo.kernels.paths.path_tension import VARIABLES, PathForces, PathStates, tension_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.force import Force, Muscle
from musculo.model.model import Model
from musculo.model.path_force import (
    PATH_FORCES,
    Blankevoort1991Ligament,
    ClutchedPathSpring,
    ExpressionBasedPathForce,
    Ligament,
    PathActuator,
    PathSpring,
)
from musculo.muscle.paths.compile_paths import path_forces
from musculo.muscle.paths.labeled_paths import frame_labels
from musculo.results.labeled_arrays import labeled
from musculo.results.provenance import Provenance
from musculo.results.result_base import Result

if TYPE_CHECKING:
    import xarray

    from musculo.muscle.paths.geometry import PathGeometry


@dataclass(frozen=True, eq=False, repr=False)
class PathTensions(Result):
    """Tensions of everything with a path that is not a muscle."""

    made_by: ClassVar[str] = "path_tensions"

    names: tuple[str, ...]
    tension: FloatArray = field(repr=False)  # (frames, paths), or (paths,) for a single frame [N]; positive pulls

    def generalized_forces(self, geometry: PathGeometry) -> FloatArray:
        """What these tensions do on each speed; see `path_generalized_forces`."""
        return path_generalized_forces(geometry, self.tension, self.names)

    def to_xarray(self, time: ArrayLike | None = None, model: Model | None = None) -> xarray.Dataset:
        """Tensions by `time` (or `frame`) and `path`, with their unit and what made them."""
        import xarray

        labels = {**frame_labels(self.tension, 1, time, "the result"), "path": self.names}
        tension = labeled("tension", self.tension, labels, "N")
        return xarray.Dataset({"tension": tension}, attrs=Provenance.of(self.made_by, model).attributes())


@dataclass(frozen=True, eq=False)
class CompiledPathForces:
    """The forces of a model that run along a path and are no muscles, as arrays."""

    names: tuple[str, ...]
    muscles: tuple[str, ...]  # that come before them in `path_geometry`
    forces: PathForces
    table: FunctionTable
    programs: Programs
    controlled: tuple[int, ...]  # which need a control
    stretched: tuple[int, ...]  # which have a stretch of their own
    initial_stretch: FloatArray

    @property
    def arrays(self) -> tuple[PathForces, FunctionTable, Programs]:
        return self.forces, self.table, self.programs


def _row(force: Force, curves: list[Function], formulas: list[str]) -> tuple[float, ...]:
    """Kind, rest, stiffness, damping, transition, entry, clamped: an entry of each array."""
    match force:
        case PathSpring():
            return (kinds.SPRING, force.resting_length, force.stiffness, force.dissipation, 0.0, -1, 0)
        case Ligament():
            curves.append(force.force_length_curve)
            return (kinds.LIGAMENT, force.resting_length, force.pcsa_force, 0.0, 0.0, len(curves) - 1, 0)
        case Blankevoort1991Ligament():
            k, damping = force.linear_stiffness, force.damping_coefficient
            return (kinds.BLANKEVOORT, force.slack_length, k, damping, force.transition_strain, -1, 0)
        case PathActuator():
            return (kinds.ACTUATOR, 0.0, force.optimal_force, 0.0, 0.0, -1, 0)
        case ClutchedPathSpring():
            return (kinds.CLUTCHED, 0.0, force.stiffness, force.dissipation, 0.0, -1, 0)
        case ExpressionBasedPathForce():
            formulas.append(force.expression)
            clamped = int(force.clamp_stretch)
            return (kinds.EXPRESSION, force.resting_length, 0.0, 0.0, 0.0, len(formulas) - 1, clamped)
    known = ", ".join(kind.__name__ for kind in PATH_FORCES)
    raise Unsupported(
        f"{force.kind} {force.name!r} runs along a path, and its tension is not known; known are {known} of "
        "musculo.model.path_force"
    )


# As OpenSim, which does not open models with less; it does open ligaments that push.
_NOT_NEGATIVE: dict[type[Force], tuple[str, ...]] = {
    PathSpring: ("resting_length", "stiffness", "dissipation"),
    ClutchedPathSpring: ("stiffness", "dissipation", "relaxation_time_constant", "initial_stretch"),
    Blankevoort1991Ligament: ("linear_stiffness", "damping_coefficient"),
    Ligament: ("pcsa_force",),
}


def _check(force: Force, row: tuple[float, ...]) -> None:
    kind, rest, *numbers = row[:5]
    what = f"{force.kind} {force.name!r}"
    if not all(math.isfinite(x) for x in (rest, *numbers)):
        raise InvalidModel(f"{what} holds numbers that are not finite; give its lengths, stiffness and damping")
    for key in _NOT_NEGATIVE.get(type(force), ()):
        if (value := getattr(force, key)) < 0.0:
            raise InvalidModel(f"{what}: its {key} is {value:g}; give zero or more")
    if kind in (kinds.LIGAMENT, kinds.BLANKEVOORT) and rest <= 0.0:
        raise InvalidModel(
            f"{what}: its {'slack' if kind == kinds.BLANKEVOORT else 'resting'} length is {rest:g} m; "
            "strains need one above zero"
        )
    if kind == kinds.BLANKEVOORT and numbers[2] <= 0.0:
        raise InvalidModel(f"{what}: its transition strain is {numbers[2]:g}; give one above zero")
    if isinstance(force, Ligament) and force.force_length_curve.n_arguments > 1:
        raise InvalidModel(f"{what}: its curve has {force.force_length_curve.n_arguments} arguments; it needs one")


def compile_path_forces(model: Model) -> CompiledPathForces:
    """As arrays; made once for a model.

    Raises:
        InvalidModel: a ligament without length, a number that is not finite or makes a cord push, an expression that
            cannot be read.
        Unsupported: a force of a kind whose tension is not known.
    """
    return model.derived("path forces", lambda: _compile(model))


def _compile(model: Model) -> CompiledPathForces:
    everything = path_forces(model)
    others = [force for force in everything if not isinstance(force, Muscle)]
    curves: list[Function] = []
    formulas: list[str] = []
    rows = []
    for force in others:
        rows.append(_row(force, curves, formulas))
        _check(force, rows[-1])
        if isinstance(force, ExpressionBasedPathForce):
            try:
                compile_expressions(formulas[-1:], VARIABLES)
            except MusculoError as error:
                raise InvalidModel(f"{force.kind} {force.name!r}: {error}") from None
    columns = np.array(rows, dtype=float).reshape(-1, 7).T
    kind, entry, clamped = (columns[i].astype(np.int64) for i in (0, 5, 6))
    rest, stiffness, damping, transition = (np.ascontiguousarray(columns[i]) for i in range(1, 5))
    applies = np.array([force.applies_force for force in others], dtype=np.int64)
    return CompiledPathForces(
        tuple(force.name for force in others),
        tuple(force.name for force in everything if isinstance(force, Muscle)),
        PathForces(kind, applies, rest, stiffness, damping, transition, entry, clamped),
        compile_functions(curves),
        compile_expressions(formulas, VARIABLES),
        tuple(i for i, k in enumerate(kind) if k in (kinds.ACTUATOR, kinds.CLUTCHED)),
        tuple(int(i) for i in np.flatnonzero(kind == kinds.CLUTCHED)),
        np.array([getattr(force, "initial_stretch", 0.0) for force in others]),
    )


def path_tensions(
    model: Model,
    length: ArrayLike,
    speed: ArrayLike,
    control: ArrayLike | None = None,
    stretch: ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> PathTensions:
    """Tensions of springs, ligaments and actuators, at given lengths and lengthening speeds of their paths.

        g = path_geometry(model, q, u)
        tension = path_tensions(model, g.length, g.speed)
        tau = tension.generalized_forces(g)

    The laws are in `kernels.path_tension.path_tensions`. A force that is switched off (`applies_force`) has none.

    Args:
        model: the model.
        length: [m] as `path_geometry` gives it, (frames, paths) or (paths,), muscles first; or without the muscles.
        speed: [m/s] likewise, lengthening positive.
        control: of actuators and clutched springs, in their order in the model: (frames, n), (n,) or a number.
        stretch: of clutched springs [m], likewise; their initial stretch by default.
        threads: the number of threads; all cores by default.
    """
    c = compile_path_forces(model)
    arrays = {"length": _columns(c, "length", length), "speed": _columns(c, "speed", speed)}
    if c.controlled and control is None:
        names = ", ".join(c.names[i] for i in c.controlled[:6])
        raise InvalidInput(f"there are actuators along paths ({names}); give their control")
    arrays["control"] = _some(c, "control", 0.0 if control is None else control, c.controlled, None)
    given = c.initial_stretch[list(c.stretched)] if stretch is None else stretch
    arrays["stretch"] = _some(c, "stretch", given, c.stretched, c.initial_stretch)
    counts = {name: len(a) for name, a in arrays.items() if a.ndim == 2}
    if len(set(counts.values())) > 1:
        stated = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InvalidInput(f"the arrays have different numbers of frames ({stated}); give all the same number")
    frames = next(iter(counts.values()), 1)
    full = [np.ascontiguousarray(np.broadcast_to(a, (frames, len(c.names)))) for a in arrays.values()]
    tension = np.zeros((frames, len(c.names)))
    if c.names:
        over_frames(tension_frames, (*c.arrays, PathStates(*full), tension), frames, threads)
    return PathTensions(c.names, tension if counts else tension[0])


def _numbers(name: str, value: ArrayLike) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise not_numbers(name, value, error) from None
    if array.ndim > 2:
        raise InvalidInput(f"{name} has shape {array.shape}; it has frames and paths at most")
    if not np.isfinite(array).all():
        raise InvalidInput(f"{name} holds numbers that are not finite; fill or drop such frames first")
    return array


def _columns(c: CompiledPathForces, name: str, value: ArrayLike) -> FloatArray:
    """The columns of these forces."""
    if value is None:
        raise InvalidInput(f"{name} is missing; give path_geometry the speeds u and pass on what it returns")
    try:
        ordered = columns_by_name(name, value, (*c.muscles, *c.names))
    except InvalidInput:  # named, and some are missing: the muscles may be
        ordered = columns_by_name(name, value, c.names)
    array = _numbers(name, ordered)
    n, muscles = len(c.names), len(c.muscles)
    if array.ndim == 0 or array.shape[-1] not in (n, n + muscles):
        known = f"{n + muscles} columns ({muscles} muscles, then {', '.join(c.names[:4])}{', ...' * (n > 4)})"
        raise InvalidInput(f"{name} has shape {array.shape}; it needs {known}, or the last {n} of them")
    return array[..., array.shape[-1] - n :]


def _some(
    c: CompiledPathForces, name: str, value: ArrayLike, which: Sequence[int], base: FloatArray | None
) -> FloatArray:
    """One column a force, of which only some are given."""
    array = _numbers(name, columns_by_name(name, value, [c.names[i] for i in which]))
    if array.ndim and array.shape[-1] != len(which):
        names = ", ".join(c.names[i] for i in which[:6]) or "no force"
        raise InvalidInput(f"{name} has shape {array.shape}; it has {len(which)} columns: {names}")
    full = np.zeros((*array.shape[:-1], len(c.names)))
    if base is not None:
        full[...] = base
    full[..., list(which)] = array
    return full


def path_generalized_forces(
    geometry: PathGeometry, tension: ArrayLike, names: Sequence[str] | None = None
) -> FloatArray:
    """Generalized forces of tensions along paths: tau = sum_k T_k r_k, on every speed of the tree.

    Forces that are switched off (`applies_force`) do nothing, whatever their tension.

    For muscles: `path_generalized_forces(geometry, forces.tendon_force, forces.muscles)`.

    Guarantees: tau . u = -sum_k T_k ldot_k, the power of the tensions, where r is the slope of the length.

    Args:
        geometry: moment arms of the paths.
        tension: (frames, paths) or (paths,) [N].
        names: of the columns of `tension`; those of the geometry by default.

    Returns: (frames, n_u) or (n_u,) [N m, N].
    """
    if not hasattr(geometry, "moment_arm"):
        raise InvalidInput(
            f"geometry is a {type(geometry).__name__}; give what muscle_geometry or path_geometry returns, then the "
            "tension: path_generalized_forces(geometry, tension, names), without a model"
        )
    listed = geometry.names if names is None else tuple(names)
    T = _numbers("tension", columns_by_name("tension", tension, listed))
    if T.ndim == 0 or T.shape[-1] != len(listed):
        raise InvalidInput(f"tension has shape {T.shape}; it needs a column for each of {len(listed)} paths")
    place = {name: k for k, name in enumerate(geometry.names)}
    for name in listed:
        if name not in place:
            raise UnknownName("path", name, geometry.names)
    arms = geometry.moment_arm[..., [place[name] for name in listed], :]
    if T.ndim == 2 and arms.ndim == 3 and len(T) != len(arms):
        raise InvalidInput(f"tension has {len(T)} frames and the geometry {len(arms)}; give both the same")
    off = {force.name for force in geometry.model.forces if not force.applies_force}
    if off:
        T = T * np.array([name not in off for name in listed])
    return np.einsum("...p,...pu->...u", T, arms)


def spring_forces(model: Model, geometry: PathGeometry, threads: int | None = None) -> FloatArray:
    """(frames, n_u): what springs and ligaments along paths do on every speed; actuators and clutches are idle.

    `geometry` is that of `path_geometry`, with speeds.
    """
    assert geometry.speed is not None
    tension = path_tensions(model, geometry.length, geometry.speed, control=0.0, threads=threads)
    return path_generalized_forces(geometry, tension.tension, tension.names)
