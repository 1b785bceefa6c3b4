"""The forces of a model that are no muscles and no actuators, sorted by their law, ready to be evaluated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.errors import InvalidFile, InvalidInput, Unsupported
from musculo.forces.bushings import ExpressionBushings, FunctionBushings, LinearBushings
from musculo.forces.contact_foundation import Foundations
from musculo.forces.contact_hertz import HertzContacts
from musculo.forces.contact_smooth import SmoothContacts
from musculo.forces.coordinate_forces import CoordinateExpressions, CoordinateLimits, CoordinateSprings
from musculo.forces.placed import Acting, Columns, Found, Moving
from musculo.forces.point_forces import PointExpressions, PointSprings, PrescribedForces
from musculo.kernels.forces.force_frames import ForceFrames, force_frames
from musculo.kernels.forces.passive_forces import PassiveForces
from musculo.kernels.tree.tree_frames import over_frames
from musculo.like import METHODS, Method
from musculo.model.force import Force, Muscle
from musculo.model.model import Model
from musculo.model.path_force import PATH_FORCES, ClutchedPathSpring, PathActuator

# Frames at a time: what is held between the steps stays small beside the results.
_CHUNK = 1024


class Group(Protocol):
    """Forces of one law."""

    names: list[str]
    data: Any  # as the kernel takes them

    def acting(self, s: Moving, found: Found) -> Acting: ...

    def columns(self, s: Moving, acting: Acting) -> Columns: ...


# In the order of `PassiveForces`: those on speeds first.
_GROUPS: dict[str, Callable[[Model, Sequence[Force]], Any]] = {
    "CoordinateLimitForce": CoordinateLimits,
    "SpringGeneralizedForce": CoordinateSprings,
    "ExpressionBasedCoordinateForce": CoordinateExpressions,
    "BushingForce": LinearBushings,
    "FunctionBasedBushingForce": FunctionBushings,
    "ExpressionBasedBushingForce": ExpressionBushings,
    "PointToPointSpring": PointSprings,
    "ExpressionBasedPointToPointForce": PointExpressions,
    "PrescribedForce": PrescribedForces,
    "SmoothSphereHalfSpaceForce": SmoothContacts,
    "HuntCrossleyForce": HertzContacts,
    "ElasticFoundationForce": Foundations,
}
_ON_SPEEDS = ("CoordinateLimitForce", "SpringGeneralizedForce", "ExpressionBasedCoordinateForce")
# Actuators that give nothing without a control, and that no analysis here controls.
IDLE = ("BodyActuator",)
CONTROLLED = (
    "CoordinateActuator",
    "ActivationCoordinateActuator",
    "PointActuator",
    "TorqueActuator",
    "PointToPointActuator",
)


class Span(NamedTuple):
    """Where a group's forces lie among those on speeds, or its rows among those on bodies."""

    on_speeds: bool
    start: int
    stop: int


@dataclass(frozen=True, eq=False)
class CompiledForces:
    """Forces of one model by their laws; `at[i]` are the places of group i's forces in `names`."""

    names: tuple[str, ...]  # in file order
    kinds: tuple[str, ...]
    groups: tuple[Group, ...] = field(repr=False)
    at: tuple[IntArray, ...] = field(repr=False)
    reasons: dict[str, str]  # name -> why it is not computed
    data: PassiveForces = field(repr=False)  # all of them, as kernels take them
    spans: tuple[Span, ...] = field(repr=False)  # of the groups

    def acting(self, s: Moving, threads: int | None = None) -> list[Acting]:
        """What the forces of each group do."""
        frames, speeds, bodies = len(s.q), self.data.speed.size, self.data.second.size
        on_speed, wrench = np.empty((frames, speeds)), np.empty((frames, bodies, 6))
        energy, state = np.empty((frames, speeds + bodies)), np.empty((frames, bodies), dtype=np.int64)
        given = (np.ascontiguousarray(x) for x in (s.time, s.q, s.u, s.rows))
        over_frames(force_frames, (self.data, *given, ForceFrames(on_speed, wrench, energy, state)), frames, threads)
        found = []
        for group, span in zip(self.groups, self.spans, strict=True):
            at, none = slice(span.start, span.stop), slice(0)
            first = 0 if span.on_speeds else speeds
            mine, rows = (at, none) if span.on_speeds else (none, at)
            stored = energy[:, first + span.start : first + span.stop]
            found.append(group.acting(s, Found(on_speed[:, mine], wrench[:, rows], stored, state[:, rows])))
        return found


def compiled_forces(model: Model, method: Method = "exact") -> CompiledForces:
    """The forces of a model, made once.

    Raises:
        InvalidModel: a force whose numbers, frames or expressions cannot be used; names it.
    """
    if method not in METHODS:
        raise InvalidInput(f"method {method!r} is not known; it is one of {', '.join(METHODS)}")
    return model.derived(("model forces", method), lambda: _compile(model, method))


def left_out(model: Model) -> tuple[str, ...]:
    """Forces of the model that apply and that no analysis here computes."""
    return tuple(compiled_forces(model).reasons)


def told(model: Model) -> str:
    """What is ignored and why, for a sentence; empty where nothing is."""
    return "; ".join(f"{name} ({why})" for name, why in compiled_forces(model).reasons.items())


def _compile(model: Model, method: Method) -> CompiledForces:
    found: list[Force] = []
    reasons: dict[str, str] = {}
    for force in model.forces:
        if not force.applies_force or isinstance(force, (Muscle, *PATH_FORCES)) or force.kind in (*CONTROLLED, *IDLE):
            continue
        if force.kind in _GROUPS:
            found.append(force)
        else:
            reasons[force.name] = f"forces of kind {force.kind} are kept but exert no force"
    groups: list[Group] = []
    spans: list[Span] = []
    every: list[Any] = []  # of each law, empty ones too
    ends = {True: 0, False: 0}
    for kind, make in _GROUPS.items():
        made = partial(HertzContacts, opensim=method == "opensim") if make is HertzContacts else make
        group = _able(made, model, [force for force in found if force.kind == kind], reasons)
        every.append(_none()[kind] if group is None else group)
        if group is not None:
            on_speeds = kind in _ON_SPEEDS
            count = len(group.speed) if on_speeds else len(group.second.names)
            groups.append(group)
            spans.append(Span(on_speeds, ends[on_speeds], ends[on_speeds] + count))
            ends[on_speeds] += count
    able = [force for force in found if force.name not in reasons]
    names, kinds = tuple(force.name for force in able), tuple(force.kind for force in able)
    at = tuple(np.array([names.index(name) for name in group.names], dtype=np.int64) for group in groups)
    return CompiledForces(names, kinds, tuple(groups), at, reasons, _data(every), tuple(spans))


@cache
def _none() -> dict[str, Any]:
    """A group of each law without forces."""
    nothing = Model("no forces", (), ())
    return {kind: make(nothing, []) for kind, make in _GROUPS.items()}


@cache
def no_forces() -> PassiveForces:
    """What kernels take where no force acts."""
    return _data(list(_none().values()))


def _data(every: Sequence[Any]) -> PassiveForces:
    """Groups of every law as kernels take them."""
    speeds, bodies = every[: len(_ON_SPEEDS)], every[len(_ON_SPEEDS) :]
    none = np.zeros(0, dtype=np.int64)
    first = [np.full(len(g.second.names), -1) if g.first is None else g.first.node for g in bodies]
    return PassiveForces._make(
        [
            *(group.data for group in every),
            every[-1].meshes,
            every[-2].sweep,
            np.concatenate([none, *(group.speed for group in speeds)]),
            np.concatenate([none, *first]),
            np.concatenate([none, *(group.second.node for group in bodies)]),
        ]
    )


def _able(
    make: Callable[[Model, Sequence[Force]], Any], model: Model, forces: Sequence[Force], reasons: dict[str, str]
) -> Any:
    """The group of those forces that can be computed, if any can; adds why others cannot."""
    able, alone = [], []
    for force in forces:
        try:
            alone.append(make(model, [force]))
        except (Unsupported, InvalidFile) as error:
            reasons[force.name] = str(error)
            continue
        able.append(force)
    if not able:
        return None
    return alone[0] if len(able) == 1 else make(model, able)


def moving(poses: Kinematics, Q: FloatArray, U: FloatArray, time: FloatArray) -> Moving:
    return Moving(Q, U, time, poses.node_rows)


def acting_on(
    model: Model, c: CompiledForces, Q: FloatArray, U: FloatArray, time: FloatArray, threads: int | None
) -> tuple[FloatArray, FloatArray, Kinematics]:
    """Wrenches (frames, 1 + bodies, 6) and forces on speeds (frames, n_u) of all forces together, and the poses."""
    frames = len(Q)
    wrench, direct = np.zeros((frames, 1 + len(model.bodies), 6)), np.zeros_like(U)
    poses = kinematics(model, Q, U, threads=threads)
    s = moving(poses, Q, U, time)
    for start in range(0, frames, _CHUNK):
        at = slice(start, min(start + _CHUNK, frames))
        part = Moving(*(x[at] for x in s)) if frames > _CHUNK else s
        for acting in c.acting(part, threads):
            add(acting, wrench[at], direct[at])
    return wrench, direct, poses


def add(acting: Acting, wrench: FloatArray, direct: FloatArray) -> None:
    """Sum what some forces do into all wrenches and forces on speeds."""
    for row, body in enumerate(acting.row_body.tolist()):
        wrench[:, body] += acting.wrench[:, row]
    for k, speed in enumerate(acting.speed.tolist()):
        direct[:, speed] += acting.on_speed[:, k]


def passive_paths(model: Model) -> Model | None:
    """The model with springs and ligaments along paths as its only forces; None where there are none."""

    def make() -> Model | None:
        idle = (PathActuator, ClutchedPathSpring)
        some = [f for f in model.forces if isinstance(f, PATH_FORCES) and not isinstance(f, idle) and f.applies_force]
        return model.replace(forces=tuple(some)) if some else None

    return model.derived("passive paths", make)
