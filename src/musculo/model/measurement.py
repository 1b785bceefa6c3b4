"""Distances on a subject that say how large the bodies of its model are."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.errors import InvalidInput

AXES = "XYZ"


@dataclass(frozen=True)
class Measurement:
    """Pairs of markers, and the axes of the bodies that scale as the distances between the pairs do.

    `pairs` are two marker names each; `bodies` are (body, axes) with axes out of "XYZ", for instance
    `Measurement("thigh", (("R.ASIS", "R.Knee"),), (("femur_r", "XYZ"),))`.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    bodies: tuple[tuple[str, str], ...]
    apply: bool = True

    def __post_init__(self) -> None:
        for pair in self.pairs:
            if isinstance(pair, str) or len(pair) != 2:
                raise InvalidInput(f"measurement {self.name!r}: {pair!r} is not a pair; give the names of two markers")
        for entry in self.bodies:
            if isinstance(entry, str) or len(entry) != 2 or not set(entry[1]) <= set(AXES):
                raise InvalidInput(
                    f"measurement {self.name!r}: {entry!r} does not say along which axes a body scales; give for "
                    "instance ('femur_r', 'XYZ')"
                )
