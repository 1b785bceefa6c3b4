"""What `fit_paths` returns: a model with polynomials in place of paths, and their errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.results.result_base import Result, Series
from musculo.results.table import Table

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped]

# Under this key a model with fitted paths keeps the ranges of their samples by coordinate (`Model.derived`), for
# simulations to say where a motion leaves them.
FITTED = "ranges of fitted paths"


@dataclass(frozen=True, eq=False, repr=False)
class FittedPathModel(Result):
    """A model with fitted paths, and how far each of them is from the exact one.

    Errors are over `samples` poses that took no part in the fit. Those of moment arms are over all independent
    coordinates, also those that the polynomial does not have.
    """

    made_by: ClassVar[str] = "fit_paths"

    model: Model = field(repr=False)  # with the fitted paths
    names: tuple[str, ...]  # of all forces along paths, muscles first
    coordinates: tuple[tuple[str, ...], ...] = field(
        repr=False
    )  # of the polynomial of each path; none where not fitted
    degree: IntArray = field(repr=False)  # (paths,) of the polynomial; -1: the path is not fitted
    terms: IntArray = field(repr=False)  # (paths,) coefficients of the polynomial
    length_rms: FloatArray = field(repr=False)  # (paths,) [m]; of paths that are kept: of the best polynomial
    length_worst: FloatArray = field(repr=False)  # (paths,) [m]
    arm_rms: FloatArray = field(repr=False)  # (paths,) of the worst coordinate [m, or 1 for sliding coordinates]
    arm_worst: FloatArray = field(repr=False)  # (paths,)
    arm_coordinate: tuple[str, ...] = field(repr=False)  # where arm_worst is
    reason: tuple[str, ...] = field(repr=False)  # why a path is not fitted; empty where it is
    ranges: Mapping[str, tuple[float, float]] = field(repr=False)  # of the independent coordinates [rad, m]
    samples: int = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)

    def _series(self) -> Iterable[Series]:
        labels = {"path": self.names}
        yield Series("degree", self.degree, labels)
        yield Series("terms", self.terms, labels)
        for name in ("length_rms", "length_worst", "arm_rms", "arm_worst"):
            yield Series(name, getattr(self, name), labels, "m")

    @property
    def fitted(self) -> tuple[str, ...]:
        """The forces whose path is a polynomial now."""
        return tuple(name for name, degree in zip(self.names, self.degree, strict=True) if degree >= 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which paths stay exact, and why."""
        return tuple(
            f"{n!r} keeps its exact path: {why}" for n, why in zip(self.names, self.reason, strict=True) if why
        )

    def __post_init__(self) -> None:
        used = {name for own in self.coordinates for name in own}
        self.model.derived(FITTED, lambda: {name: self.ranges[name] for name in used})

    def beyond(self, q: ArrayLike | Table) -> tuple[str, ...]:
        """One sentence for each coordinate that leaves the samples in a motion: there polynomials are extrapolated.

        Args:
            q: (frames, n) or (n,) coordinates, all of the file in its order [rad, m].
        """
        Q = coordinates_of(self.model, q)[0]
        told = []
        for name in self.model.coordinate_names:
            paths = [path for path, own in zip(self.names, self.coordinates, strict=True) if name in own]
            if not paths:
                continue
            low, high = self.ranges[name]
            x = Q[:, self.model.coordinate_index(name)]
            outside = np.flatnonzero((x < low) | (x > high))
            if outside.size:
                farthest = x[int(np.argmax(np.maximum(low - x, x - high)))]
                told.append(
                    f"{name!r} leaves the samples, {low:.4g} to {high:.4g}, in {outside.size} of {len(Q)} frames, "
                    f"first in frame {outside[0]}, and goes to {farthest:.4g}: {len(paths)} paths are extrapolated "
                    f"there, {paths[0]!r} the first of them; fit over wider ranges"
                )
        return tuple(told)

    def to_pandas(self, time: ArrayLike | None = None) -> pandas.DataFrame:
        """A data frame with a row for each path; lengths and moment arms in meters."""
        try:
            import pandas
        except ImportError:
            raise InvalidInput("to_pandas needs pandas, which is not installed: pip install pandas") from None
        if time is not None:
            raise InvalidInput("the table has a row for each path; it has no frames for time to belong to")
        columns = {
            "fitted": self.degree >= 0,
            "degree": self.degree,
            "terms": self.terms,
            "coordinates": [" ".join(names) for names in self.coordinates],
            "length_rms": self.length_rms,
            "length_worst": self.length_worst,
            "arm_rms": self.arm_rms,
            "arm_worst": self.arm_worst,
            "arm_coordinate": list(self.arm_coordinate),
            "reason": list(self.reason),
        }
        frame = pandas.DataFrame(columns, index=pandas.Index(self.names, name="path"))
        frame.attrs |= self.provenance.attributes()
        return frame

    def __repr__(self) -> str:
        own = self.degree >= 0
        told = f"{own.sum()} of {len(self.names)} paths fitted"
        if own.any():
            told += (
                f", length error {1e3 * self.length_worst[own].max():.2g} mm and moment arm error "
                f"{1e3 * self.arm_worst[own].max():.2g} mm at worst in {self.samples} samples"
            )
        return f"{type(self).__name__}({told})"
