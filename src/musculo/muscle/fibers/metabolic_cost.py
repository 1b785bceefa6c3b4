"""Metabolic power of muscles: what the energy of a motion costs the body."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import times_in
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.hill.metabolic_rate import RATE_ROWS, MetabolicFrames, MetabolicTable, metabolic_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.like import Like
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.equilibrium import Tendon, muscle_equilibrium, muscle_force
from musculo.muscle.fibers.muscle_arrays import muscle_columns
from musculo.muscle.paths.geometry import PathGeometry, muscle_geometry
from musculo.results.result_base import Result, Series, also
from musculo.results.table import Table

# Steepness of smooth choices for optimization. OpenSim's are all 10: for power and heat, corners that are 0.1 W wide,
# at which a search stops again and again (980 iterations for an arm's reach; 75 with these, and 0.2 % less power).
SMOOTHING = (10.0, 1.0, 1.0)


@dataclass(frozen=True, kw_only=True)
class Bhargava2004:
    """A model of metabolic power: heat of activation, maintenance and shortening, and work of the fibers.

    The equations are in `kernels/hill/metabolic_rate.py`. Defaults are OpenSim's.

    Source:     [Bhargava2004]; OpenSim 4.6, Bhargava2004SmoothedMuscleMetabolics.
    Departs:    as OpenSim from the paper: the decay of the activation heat with time is 1, and the shortening heat of
                the paper needs `force_dependent_shortening`. The Huber smoothing is not there.

    Args:
        slow_twitch: part of slow fibers, one for all, or by muscle (others have 0.5).
        specific_tension: [Pa], from which and the density follow masses of muscles, F_max l_opt density / tension.
        density: of muscle [kg/m^3].
        mass: of muscles by name [kg], instead.
        activation_slow, activation_fast, maintenance_slow, maintenance_fast: heat of slow and fast fibers [W/kg].
        force_dependent_shortening: whether the shortening heat has the paper's coefficients, which depend on the
            isometric force; else 0.25 of the fiber force, and none in lengthening.
        negative_work: whether work that stretches a fiber is subtracted.
        not_negative: whether the power of a muscle is at least zero.
        least_heat: whether a muscle gives at least 1 W/kg of heat.
        basal_coefficient, basal_exponent: basal power is coefficient times (mass of the body)^exponent [W].
        smoothing: steepness of the choices by velocity [s/m], power and heat [1/W]; None makes sharp choices, as the
            paper has them; one for all or one each. OpenSim's smooth ones have 10. Optimization needs smooth ones.
    """

    slow_twitch: float | Mapping[str, float] = 0.5
    specific_tension: float = 0.25e6
    density: float = 1059.7
    mass: Mapping[str, float] = field(default_factory=dict)
    activation_slow: float = 40.0
    activation_fast: float = 133.0
    maintenance_slow: float = 74.0
    maintenance_fast: float = 111.0
    force_dependent_shortening: bool = False
    negative_work: bool = True
    not_negative: bool = True
    least_heat: bool = True
    basal_coefficient: float = 1.2
    basal_exponent: float = 1.0
    smoothing: float | tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        for one in fields(self):
            value = getattr(self, one.name)
            if isinstance(value, float | int) and not (np.isfinite(value) and value >= 0.0):
                raise InvalidInput(f"Bhargava2004: {one.name} is {value!r}; give zero or a number above it")

    def muscle_mass(self, model: Model) -> FloatArray:
        """(muscles,) [kg]."""
        strong = [m.max_isometric_force * m.optimal_fiber_length for m in model.muscles]
        found = np.array(strong, dtype=float) * self.density / self.specific_tension
        return _by_muscle("mass", self.mass, model, found)

    def basal(self, model: Model) -> float:
        """Power of the body at rest beside its muscles [W]."""
        return float(self.basal_coefficient * sum(body.mass for body in model.bodies) ** self.basal_exponent)

    def table(self, model: Model) -> MetabolicTable:
        """What kernels need."""
        slow = self.slow_twitch
        parts = np.full(len(model.muscles), 0.5 if isinstance(slow, Mapping) else float(slow))
        if isinstance(slow, Mapping):
            parts = _by_muscle("slow_twitch", slow, model, parts)
        if not (parts <= 1.0).all():
            raise InvalidInput(f"slow_twitch is {slow!r}; it is a part of the fibers, from 0 to 1")
        given = self.smoothing
        by_velocity, by_power, by_heat = given if isinstance(given, tuple) else (given or 0.0,) * 3
        return MetabolicTable(
            mass=self.muscle_mass(model),
            slow=parts,
            activation_slow=float(self.activation_slow),
            activation_fast=float(self.activation_fast),
            maintenance_slow=float(self.maintenance_slow),
            maintenance_fast=float(self.maintenance_fast),
            velocity_smoothing=float(by_velocity),
            power_smoothing=float(by_power),
            heat_smoothing=float(by_heat),
            by_force=int(self.force_dependent_shortening),
            negative_work=int(self.negative_work),
            not_negative=int(self.not_negative),
            least_heat=int(self.least_heat),
        )


@dataclass(frozen=True, eq=False, repr=False)
class MetabolicRates(Result):
    """Metabolic power of muscles [W]; arrays (frames, muscles), or (muscles,) for a single frame."""

    made_by: ClassVar[str] = "metabolic_rate"

    model: Model = field(repr=False)
    muscle_names: tuple[str, ...]
    rate: FloatArray = field(repr=False)  # all of a muscle
    activation_heat: FloatArray = field(repr=False)
    maintenance_heat: FloatArray = field(repr=False)
    shortening_heat: FloatArray = field(repr=False)  # what keeps the power from being negative included
    work: FloatArray = field(repr=False)  # of the fibers, positive where they shorten
    basal: float  # of the body at rest
    time: FloatArray | None = field(repr=False)  # (frames,) [s]
    options: Mapping[str, Any] = field(repr=False)

    muscles = also("muscle_names")

    def _series(self) -> Iterable[Series]:
        for name in ("rate", "activation_heat", "maintenance_heat", "shortening_heat", "work"):
            yield Series(name, getattr(self, name), {"muscle": self.muscle_names}, "W")

    @property
    def body(self) -> FloatArray:
        """(frames,) of all muscles and at rest [W]."""
        return np.asarray(self.rate.sum(axis=-1) + self.basal)

    def energy(self, time: ArrayLike | None = None) -> float:
        """Of the body over the motion [J]: the integral of `body`, taken as straight between frames.

        Args:
            time: (frames,) [s]; by default that of the motion.
        """
        given = self.time if time is None else np.asarray(time, dtype=float)
        if given is None or self.rate.ndim != 2 or np.shape(given) != self.body.shape or len(given) < 2:
            raise InvalidInput("energy: give the times of two or more frames: metabolic_rate(..., time=...)")
        return float(np.trapezoid(self.body, given))

    def cost_of_transport(self, distance: float, time: ArrayLike | None = None) -> float:
        """Energy over mass of the body and distance [J/(kg m)].

        Args:
            distance: that the body covers [m].
            time: as `energy` has it.
        """
        if not (np.isfinite(distance) and distance > 0.0):
            raise InvalidInput(f"distance is {distance!r}; give a number above zero [m]")
        return self.energy(time) / (distance * sum(body.mass for body in self.model.bodies))


@runtime_checkable
class MusclesAtWork(Protocol):
    """An outcome that has activations, and may have excitations and fiber lengths."""

    @property
    def activation(self) -> FloatArray:
        """(frames, muscles)."""


def metabolic_rate(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    activation: ArrayLike | MusclesAtWork,
    *,
    excitation: ArrayLike | None = None,
    fiber_length: ArrayLike | None = None,
    tendon: Tendon | None = None,
    energy: Bhargava2004 | None = None,
    geometry: PathGeometry | None = None,
    time: ArrayLike | None = None,
    like: Like | None = None,
    threads: int | None = None,
) -> MetabolicRates:
    """Metabolic power of every muscle and of the body, of a motion whose activations are known.

    Args:
        model: with muscles of any kind.
        q, u: (frames, n) or (n,) coordinates and speeds, all of the file in its order.
        activation: (frames, muscles), or columns by name; or an outcome that has activations, and what else it has:
            of `static_optimization`, `computed_muscle_control`, `muscle_inverse`, or the `muscles` of a simulation.
        excitation: likewise; by default that of the outcome, else the activation, which it equals at rest.
        fiber_length: likewise [m]; by default that of the outcome, else that of `muscle_equilibrium`.
        tendon: "rigid" treats every tendon as one that does not stretch, "as stated" those that say so; by default as
            the static optimization did whose outcome is given, else as stated.
        energy: the model of metabolic power and its parameters, `Bhargava2004()` by default.
        geometry: `muscle_geometry(model, q, u)`, so that paths are not computed again.
        time: (frames,) [s]; by default what a table q states.
        like: "opensim" for OpenSim's wrapping and equilibria.
        threads: the number of threads; all cores by default.
    """
    chosen = Bhargava2004() if energy is None else energy
    if isinstance(activation, MusclesAtWork):
        outcome, activation = activation, activation.activation
        excitation = getattr(outcome, "excitation", None) if excitation is None else excitation
        fiber_length = getattr(outcome, "fiber_length", None) if fiber_length is None else fiber_length
        if tendon is None and getattr(outcome, "options", {}).get("tendon") == "rigid":
            tendon = "rigid"
        time = getattr(outcome, "time", None) if time is None else time
    tendon = "as stated" if tendon is None else tendon
    g = muscle_geometry(model, q, u, like=like, threads=threads) if geometry is None else geometry
    if g.speed is None:
        raise InvalidInput("geometry has no speeds; make it with them: muscle_geometry(model, q, u)")
    if fiber_length is None:
        fibers = muscle_equilibrium(model, g.length, g.speed, activation, tendon=tendon, like=like, threads=threads)
    else:
        fibers = muscle_force(
            model, g.length, g.speed, activation, fiber_length, tendon=tendon, like=like, threads=threads
        )
    c = compiled_muscles(model, tendon == "rigid")
    columns, single = muscle_columns(
        c,
        excitation=activation if excitation is None else excitation,
        activation=activation,
        length=fibers.fiber_length,
    )
    e, a, length = columns
    states = (fibers.fiber_velocity, fibers.active_fiber_force, fibers.passive_fiber_force)
    x = MetabolicFrames(e, a, length, *(np.ascontiguousarray(one.reshape(length.shape)) for one in states))
    out = np.empty((len(length), RATE_ROWS, len(c.names)))
    over_frames(metabolic_frames, (*c.arrays, chosen.table(model), x, out), len(length), threads)
    out *= [float(muscle.applies_force) for muscle in model.muscles]
    parts = out[0] if single else np.moveaxis(out, 1, 0)
    when = np.asarray(time, dtype=float) if time is not None else times_in(q)
    options = {"energy": type(chosen).__name__, "tendon": tendon, "like": like}
    total, activating, maintaining, shortening, work = parts
    return MetabolicRates(
        model, c.names, total, activating, maintaining, shortening, work, chosen.basal(model), when, options
    )


def _by_muscle(what: str, given: Mapping[str, float], model: Model, found: FloatArray) -> FloatArray:
    for name, value in given.items():
        if name not in model.muscle_names:
            raise UnknownName("muscle", name, model.muscle_names, f"Bhargava2004: {what}")
        if not (np.isfinite(value) and value >= 0.0):
            raise InvalidInput(f"Bhargava2004: the {what} of {name!r} is {value!r}; give zero or a number above it")
        found[model.muscle_names.index(name)] = value
    return found
