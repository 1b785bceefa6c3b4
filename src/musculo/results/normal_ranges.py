"""Normal ranges of walking: what a laboratory compares a walk with, over the gait cycle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from musculo.arrays import FloatArray

ANGLE, MOMENT, POWER, GROUND_REACTION = "angle", "moment", "power", "ground reaction"
FIGURES = (ANGLE, MOMENT, POWER, GROUND_REACTION)
# A direction and its opposite: a range of extension is one of flexion upside down.
_OPPOSITES = (
    ("flexion", "extension"),
    ("adduction", "abduction"),
    ("internal rotation", "external rotation"),
    ("dorsiflexion", "plantarflexion"),
    ("anterior tilt", "posterior tilt"),
    ("right side up", "right side down"),
    ("to the right", "to the left"),
    ("eversion", "inversion"),
)


@dataclass(frozen=True, eq=False)
class NormalRange:
    """Mean and half width of one quantity over the gait cycle; NaN ends a part where the next one has a gap before."""

    figure: str  # of `FIGURES`
    quantity: str  # as coordinates are called, without a side: "knee angle"
    positive: str  # what the positive direction is called, such as flexion; empty for those that have one only
    unit: str  # deg, N m/kg, W/kg, BW
    percent: FloatArray = field(repr=False)  # (n,) [% of the gait cycle]
    mean: FloatArray = field(repr=False)  # (n,)
    spread: FloatArray = field(repr=False)  # (n,) standard deviation, or half of a range

    def towards(self, positive: str) -> NormalRange | None:
        """The same, positive in another direction; None where that is not its own or the opposite one."""
        if positive == self.positive:
            return self
        if any({positive, self.positive} == set(pair) for pair in _OPPOSITES):
            return replace(self, positive=positive, mean=-self.mean)
        return None


@dataclass(frozen=True)
class NormalRanges:
    """Ranges of a population, and where those of each figure come from."""

    ranges: tuple[NormalRange, ...]
    sources: Mapping[str, str]  # by figure

    def of(self, figure: str, quantity: str, positive: str = "") -> NormalRange | None:
        """The range of a quantity whose positive direction is known; None where there is none."""
        found = (one for one in self.ranges if one.figure == figure and one.quantity == quantity.lower())
        return next((towards for one in found if (towards := one.towards(positive)) is not None), None)
