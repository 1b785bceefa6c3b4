"""What static optimization finds: activations, forces and what the joints get from whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.analyses.static_optimization.least_effort import Status
from musculo.arrays import FloatArray
from musculo.model.model import Model
from musculo.muscle.wrapping.penalties import penalties_in_words
from musculo.results.angle_columns import coordinate_units
from musculo.results.labeled_arrays import labeled
from musculo.results.notebook_figures import series_html
from musculo.results.result_base import Result, also

if TYPE_CHECKING:
    import xarray

# Passive force over the maximal isometric force: no activation makes a muscle pull so hard.
TOO_FAR = 1.0
# Of the largest moment: what is smaller tells nothing.
_SMALL = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class StaticOptimum(Result):
    """Activations of least effort; arrays have no frame axis for a single pose.

    `balance_residual` is what the motion needs less what muscles and actuators give: rounding where the status is
    SOLVED, and what cannot be served where it is INFEASIBLE.
    """

    made_by: ClassVar[str] = "static_optimization"
    statuses: ClassVar[type[Enum]] = Status

    model: Model = field(repr=False)
    muscle_names: tuple[str, ...]
    actuator_names: tuple[str, ...]  # the model's that are no muscles, then the reserves
    coordinate_names: tuple[str, ...]  # the independent speeds: one equation each
    activation: FloatArray = field(repr=False)  # (frames, muscles)
    force: FloatArray = field(repr=False)  # (frames, muscles) along the tendon, passive part included [N]
    passive_force: FloatArray = field(repr=False)  # (frames, muscles) the part of `force` at no activation [N]
    control: FloatArray = field(repr=False)  # (frames, actuators), 1 is the optimal force
    reserve: FloatArray = field(repr=False)  # (frames, coordinates) what all actuators give together [N m, N]
    muscle_moment: FloatArray = field(repr=False)  # (frames, coordinates) what all muscles give together [N m, N]
    passive_moment: FloatArray = field(repr=False)  # (frames, coordinates) the part of it at no activation [N m, N]
    balance_residual: FloatArray = field(repr=False)  # (frames, coordinates) [N m, N]
    objective: FloatArray = field(repr=False)  # (frames,) sum of w |a|^p over muscles and actuators
    status: NDArray[np.int64] = field(repr=False)  # (frames,) `Status`
    penalty: FloatArray = field(repr=False)  # (frames, muscles) of a rule in the length; moment arms hold its slope [m]
    left_out: tuple[str, ...]  # forces of the model that are not computed
    options: Mapping[str, Any] = field(repr=False)  # that made it
    notes: tuple[str, ...] = ()  # what is doubtful about the loads

    muscles = also("muscle_names")
    actuators = also("actuator_names")
    coordinates = also("coordinate_names")

    def _frames(self) -> int | None:
        return len(self.objective) if np.ndim(self.objective) else None

    @property
    def solved(self) -> bool:
        """Whether every frame was."""
        return bool((self.status == Status.SOLVED).all())

    @property
    def messages(self) -> dict[int, str]:
        """For each frame that was not solved: what went wrong, which coordinate suffers most, and by how much."""
        status, missing = np.atleast_1d(self.status), np.atleast_2d(self.balance_residual)
        resting, units = np.atleast_2d(self.passive_moment), coordinate_units(self.model)
        told = {}
        for frame in np.flatnonzero(status != Status.SOLVED):
            row = missing[frame]
            worst = int(np.abs(row).argmax())
            name = self.coordinate_names[worst]
            unit = "N" if units.get(name) == "m" else "N m"
            if status[frame] == Status.INFEASIBLE:
                who = "muscles and actuators" if self.muscle_names else "the model has no muscles, and its actuators"
                told[int(frame)] = (
                    f"frame {frame}: {who} cannot produce the force at {name!r}: {row[worst]:.6g} "
                    f"{unit} is missing; give it a reserve, or check loads, filter and strength"
                )
                against = resting[frame, worst]
                if against * row[worst] < 0.0 and abs(against) > _SMALL * abs(row[worst]):
                    told[int(frame)] += f", or at stretched fibers, which give {against:.6g} {unit} there (`advice`)"
            else:
                told[int(frame)] = (
                    f"frame {frame}: the search did not converge; {name!r} is off by {row[worst]:.6g} {unit}"
                )
        return told

    @property
    def overstretched(self) -> dict[str, float]:
        """Muscles whose fibers, stretched, pull harder than by any activation, and by which factor; the worst first."""
        strength = np.array([m.max_isometric_force for m in self.model.muscles])
        peak = (np.atleast_2d(self.passive_force) / np.where(strength > 0.0, strength, np.inf)).max(axis=0, initial=0.0)
        return {self.muscle_names[k]: float(peak[k]) for k in np.argsort(-peak, kind="stable") if peak[k] > TOO_FAR}

    @property
    def passive_excess(self) -> dict[str, tuple[float, float]]:
        """Coordinates at which stretched fibers alone give more than the motion ever needs: both at most [N m, N]."""
        needed = np.abs(np.atleast_2d(self.muscle_moment + self.reserve + self.balance_residual)).max(
            axis=0, initial=0.0
        )
        given = np.abs(np.atleast_2d(self.passive_moment)).max(axis=0, initial=0.0)
        odd = np.flatnonzero((given > needed) & (given > _SMALL * needed.max(initial=0.0)))
        return {self.coordinate_names[k]: (float(given[k]), float(needed[k])) for k in odd[np.argsort(-given[odd])]}

    @property
    def advice(self) -> str:
        """What spoils the answer, and what to try: passive forces of stretched fibers, and lengths with a penalty,
        whose moment arms may be far too large. Empty where neither does."""
        penalties = penalties_in_words(self.muscle_names, self.penalty, "muscles")
        return ". ".join(text for text in (self._passive_advice, penalties) if text)

    @property
    def _passive_advice(self) -> str:
        muscles, joints, units = self.overstretched, self.passive_excess, coordinate_units(self.model)
        if not muscles:
            return ""
        worst = [f"{name} ({times:.1f} times its maximal isometric force)" for name, times in muscles.items()]
        count = "1 muscle" if len(worst) == 1 else f"{len(worst)} muscles"
        text = f"fibers of {count} are stretched too far, most those of {', '.join(worst[:3])}"
        for name, (given, needed) in list(joints.items())[:1]:
            unit = "N" if units.get(name) == "m" else "N m"
            text += f"; alone they give up to {given:.3g} {unit} at {name!r}, which needs at most {needed:.3g} {unit}"
        return f"{text}. Switch passive forces off (passive=False), or give these muscles longer tendon slack lengths"

    def _repr_html_(self) -> str:
        bad = list(self.messages.values())
        facts = [("solved", "every frame" if not bad else f"all but {len(bad)}; {bad[0]}")]
        penalties = penalties_in_words(self.muscle_names, self.penalty, "muscles")
        facts += [("passive forces", self._passive_advice)] if self._passive_advice else []
        facts += [("lengths", penalties)] if penalties else []
        return series_html("Activations by frame", None, self.muscle_names, np.atleast_2d(self.activation), facts=facts)

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """A labeled dataset with units and provenance, by `time` (or `frame`), muscle, actuator and coordinate."""
        import xarray

        rows = self._rows(time)
        muscles, actuators = {**rows, "muscle": self.muscle_names}, {**rows, "actuator": self.actuator_names}
        speeds = {**rows, "coordinate": self.coordinate_names}
        parts = {
            "activation": labeled("activation", self.activation, muscles, "1"),
            "force": labeled("force", self.force, muscles, "N"),
            "passive_force": labeled("passive_force", self.passive_force, muscles, "N"),
            "control": labeled("control", self.control, actuators, "1"),
            "reserve": labeled("reserve", self.reserve, speeds),
            "muscle_moment": labeled("muscle_moment", self.muscle_moment, speeds),
            "passive_moment": labeled("passive_moment", self.passive_moment, speeds),
            "balance_residual": labeled("balance_residual", self.balance_residual, speeds),
            "objective": labeled("objective", self.objective, rows, "1"),
            "status": labeled("status", self.status, rows),
        }
        parts["status"].attrs["flag_values"] = [int(s) for s in Status]
        parts["status"].attrs["flag_meanings"] = " ".join(s.name.lower() for s in Status)
        return xarray.Dataset(parts, attrs=self.provenance.attributes())
