"""Which side of the body a name tells of."""

from __future__ import annotations

import re

# `hip_flexion_r`, `addbrev_l`, `hip_r_on_femur_r_in_femur_r`: a single r or l between underscores, or at an end.
_SIDE = re.compile(r"(?:(?<=_)|^)([rl])(?=_|$)", re.IGNORECASE)


def side_of(name: str) -> str:
    """ "r" or "l" where a name says on which side of the body it is, else empty."""
    found = _SIDE.findall(name)
    sides = {side.lower() for side in found}
    return sides.pop() if len(sides) == 1 else ""


def without_side(name: str) -> str:
    """A name with its sides taken out, for people: `hip_flexion_r` is "hip flexion"."""
    parts = _SIDE.sub("", name) if side_of(name) else name
    return " ".join(part for part in re.split(r"[_\s]+", parts) if part)
