"""Which axis of a laboratory points up: what the file says, checked by its force plates, by gravity and by the markers.

POINT:Y_SCREEN is a wish of how to draw the points, and is often a default that nobody looked at. Plates lie on the
floor, the ground pushes a subject up and never pulls, and markers are above the floor; where the file says otherwise,
they decide, and a note says so.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.io.c3d.file import C3DFile
from musculo.io.c3d.plates import LOAD
from musculo.io.file_axes import AXES
from musculo.results.force_plates import ForcePlate

DEFAULT = "z"  # of most laboratories
_FLAT = 0.95  # the least cosine between the normal of a plate and an axis that it lies flat on
_DIRECT = 0.85  # the least cosine between an axis and the way from feet to trunk
_MOST = 0.9  # so many of the points are most of them
_NEAR = 0.05  # [m] so far below the floor a marker may be by error
_TALL = 0.7  # subjects spread along the vertical at least by this part of what they spread along another axis
_STANDING = (
    1.0,
    0.3,
)  # [m] the highest marker is further from the floor, the lowest nearer, where somebody stands on it
_FEET = re.compile(r"toe|heel?|ank|mal|foot|calc|mt\d|mtp|^[rl]?[1-5]?mt", re.IGNORECASE)
_TRUNK = re.compile(r"^c7|clav|sho|acr|asis?|psis?|sac|ster|strn|^[rl]?[fb]hd|head|^t\d|pelv", re.IGNORECASE)
_OTHERWISE = "(up= or --up says otherwise)"


class Evidence(NamedTuple):
    """An axis that points up, and what tells so."""

    axis: str
    why: str


def upward_axis(
    file: C3DFile, position: FloatArray, names: Sequence[str], plates: Sequence[ForcePlate], notes: list[str]
) -> str:
    """The laboratory's upward axis; what decided, if not the file alone, goes to the notes.

    Args:
        file: with POINT:X_SCREEN and POINT:Y_SCREEN.
        position: (frames, points, 3) in the laboratory [m]; NaN where a point was not visible.
        names: of the points.
        plates: in the laboratory.
        notes: what is odd goes here.
    """
    stated = _stated(file, notes)
    on_plates = plates_say(position, plates, stated)
    told = on_plates or markers_say(position, names, stated)
    if stated is None:
        if told is None:
            up = _default(file)
            notes.append(f"the file does not say which axis is up; {up} was assumed {_OTHERWISE}")
            return up
        notes.append(f"the file does not say which axis is up; {told.axis} was assumed: {told.why} {_OTHERWISE}")
        return told.axis
    if told is None or told.axis == stated:
        return stated
    if on_plates is not None and told.axis[-1] != stated[-1] and not _stands_along(position, told.axis, stated):
        notes.append(
            f"POINT:Y_SCREEN says that {stated} points up, and was followed, although {told.why}; are these plates in "
            f"a wall? {_OTHERWISE}"
        )
        return stated
    notes.append(
        f"POINT:Y_SCREEN says that {stated} points up, but {told.why}: {told.axis} was assumed to point up {_OTHERWISE}"
    )
    return told.axis


def doubt(up: str, position: FloatArray, labels: Sequence[str], plates: Sequence[ForcePlate], notes: list[str]) -> None:
    """A note where plates or markers tell another axis than the one that was asked for."""
    asked = up.lower().lstrip("+")
    told = plates_say(position, plates, asked) or markers_say(position, labels, asked)
    if told is not None and told.axis != asked:
        notes.append(f"{asked} was assumed to point up, as asked, although {told.why}, which tells {told.axis}")


def _stated(file: C3DFile, notes: list[str]) -> str | None:
    """What POINT:Y_SCREEN says, if it names an axis."""
    words = {name: "".join(file.texts("POINT", name)[:1]).strip().lower() for name in ("X_SCREEN", "Y_SCREEN")}
    right, up = words["X_SCREEN"], words["Y_SCREEN"]
    if up and up not in AXES:
        notes.append(f"POINT:Y_SCREEN is {up!r:.20}, which is not an axis; known: +X, +Y, +Z, -X, -Y, -Z")
    if up not in AXES:
        return None
    if right in AXES and right[-1] == up[-1]:
        notes.append(f"POINT:X_SCREEN and POINT:Y_SCREEN are both {up[-1]}, which cannot be; the latter was followed")
    return up.lstrip("+")


def _default(file: C3DFile) -> str:
    """z, unless it is drawn to the right, and then does not point up."""
    right = "".join(file.texts("POINT", "X_SCREEN")[:1]).strip().lower()
    return "y" if right in AXES and right[-1] == DEFAULT else DEFAULT


# --- plates ----------------------------------------------------------------------------------------------------------
def plates_say(position: FloatArray, plates: Sequence[ForcePlate], stated: str | None) -> Evidence | None:
    """The axis that the plates lie flat on, and which way along it is up.

    That way are the markers, seen from the plates; else the ground's push on the subject; else what is stated; else
    the back of the plates, whose own z points into the floor.
    """
    down = {plate.name: _down(plate) for plate in plates}
    flat = [(plate, *found) for plate in plates if (found := down[plate.name]) is not None]
    if not flat:
        return None
    counts = np.bincount([k for _, k, _ in flat], minlength=3)
    axis = int(counts.argmax())
    if (counts == counts[axis]).sum() > 1:
        return None  # plates that stand and plates that lie
    lying = [(plate, sign) for plate, k, sign in flat if k == axis]
    name = "xyz"[axis]
    floor = float(np.median([plate.center[axis] for plate, _ in lying]))
    heights = position[:, :, axis]
    side = _side(heights[np.isfinite(heights)] - floor)
    push = sum(float(plate.force[_loaded(plate), axis].sum()) for plate, _ in lying)
    plates_are = f"the force plates lie flat on {name}"
    if side:
        also = " and the plates push it that way" if push * side > 0.0 else ""
        return Evidence(
            _signed(name, side), f"{plates_are}, the subject is on their {_signed(name, side, True)} side{also}"
        )
    if push:
        return Evidence(_signed(name, push), f"{plates_are} and push the subject along {_signed(name, push, True)}")
    if stated is not None and stated[-1] == name:
        return Evidence(stated, plates_are)
    back = -sum(sign for _, sign in lying)
    return (
        Evidence(_signed(name, back), f"{plates_are}, with {_signed(name, -back, True)} into the floor")
        if back
        else None
    )


def _down(plate: ForcePlate) -> tuple[int, int] | None:
    """The axis, and the sign along it, of the plate's own z; None where it is oblique."""
    x, toward_y = plate.corners[0] - plate.corners[1], plate.corners[0] - plate.corners[3]
    z = np.cross(x, toward_y)
    size = float(np.linalg.norm(z))
    axis = int(np.abs(z).argmax())
    return (axis, int(np.sign(z[axis]))) if abs(z[axis]) > _FLAT * size > 0.0 else None


def _loaded(plate: ForcePlate) -> NDArray[np.bool_]:
    return np.asarray(np.linalg.norm(plate.force, axis=1) > LOAD)


def _stands_along(position: FloatArray, axis: str, other: str) -> bool:
    """Whether a subject spreads along an axis as one that stands; without markers nothing tells otherwise."""
    spread = []
    for name in (axis, other):
        heights = position[:, :, "xyz".index(name[-1])]
        rows = heights[np.isfinite(heights).sum(axis=1) > 1]
        spread.append(float(np.median(np.nanmax(rows, axis=1) - np.nanmin(rows, axis=1))) if len(rows) else 0.0)
    return spread[0] >= _TALL * spread[1]


# --- markers ---------------------------------------------------------------------------------------------------------
def markers_say(position: FloatArray, labels: Sequence[str], stated: str | None) -> Evidence | None:
    """Where the markers alone tell that another axis is up than the one that is stated, or one where none is.

    A floor is taken to be at the origin, so a subject that hangs below it is upside down; and where feet and trunk go
    by usual names, the way from feet to trunk of somebody who stands is up.
    """
    body = _feet_to_trunk(position, labels)
    if stated is None:
        return Evidence(body, "markers of the trunk are on that side of those of the feet") if body else None
    if body == stated:
        return None
    below = _below(position, stated)
    if _side(_heights(position, stated)) < 0 and (
        body == _opposite(stated) or (body is None and _hangs(position, stated))
    ):
        return Evidence(_opposite(stated), "the markers would then hang below the floor")
    if body is not None and body[-1] != stated[-1] and below > 1.0 - _MOST and _below(position, body) < 1.0 - _MOST:
        return Evidence(body, "markers would then be below the floor, and the trunk beside the feet")
    return None


def _feet_to_trunk(position: FloatArray, labels: Sequence[str]) -> str | None:
    """The axis from markers of the feet to those of the trunk, by their usual names; None where it is oblique."""
    names = [label.rsplit(":", 1)[-1] for label in labels[: position.shape[1]]]
    feet = [k for k, name in enumerate(names) if _FEET.search(name)]
    trunk = [k for k, name in enumerate(names) if _TRUNK.search(name) and k not in feet]
    way = []
    for axis in range(3):
        ends = [position[:, columns, axis] for columns in (trunk, feet)]
        if not all(np.isfinite(end).any() for end in ends):
            return None
        way.append(float(np.nanmedian(ends[0]) - np.nanmedian(ends[1])))
    axis = int(np.abs(way).argmax())
    return _signed("xyz"[axis], way[axis]) if abs(way[axis]) > _DIRECT * np.linalg.norm(way) > 0.0 else None


def _heights(position: FloatArray, up: str) -> FloatArray:
    values = position[:, :, "xyz".index(up[-1])] * (-1.0 if up.startswith("-") else 1.0)
    return np.asarray(values[np.isfinite(values)])


def _below(position: FloatArray, up: str) -> float:
    """The part of all points below the origin."""
    heights = _heights(position, up)
    return float((heights < -_NEAR).mean()) if heights.size else 0.0


def _hangs(position: FloatArray, up: str) -> bool:
    """Whether the points begin at the origin and reach down as far as somebody who stands reaches up."""
    heights = _heights(position, up)
    return bool(heights.size and -_STANDING[1] < heights.max() < _NEAR and heights.min() < -_STANDING[0])


def _side(heights: FloatArray) -> int:
    """1 where most points are above zero, -1 where they are below, 0 where neither is clear."""
    if not heights.size or np.abs(heights).max() < 2.0 * _NEAR:
        return 0
    above, below = float((heights > -_NEAR).mean()), float((heights < _NEAR).mean())
    if max(above, below) < _MOST or (above >= _MOST and below >= _MOST):
        return 0
    return 1 if above > below else -1


def _signed(name: str, sign: float, plus: bool = False) -> str:
    return f"-{name}" if sign < 0.0 else f"+{name}" if plus else name


def _opposite(axis: str) -> str:
    return axis[1:] if axis.startswith("-") else f"-{axis}"
