"""What is reported of the equations of a mechanism."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.absolute.frame import Frame


@dataclass(frozen=True, eq=False)
class LoadOf:
    """What some of the equations exert on the body of a frame, at its origin; in ground, or in `axes`."""

    name: str
    equations: tuple[str, ...]
    at: Frame
    other: Frame  # the frame on the other side, whose body feels the opposite
    axes: Frame | None = None
