"""Laboratories' axes and ground's: y is up in ground, as in OpenSim's models."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.errors import InvalidInput

AXES = {
    f"{sign}{name}": factor * np.eye(3)[k]
    for k, name in enumerate("xyz")
    for sign, factor in (("", 1.0), ("+", 1.0), ("-", -1.0))
}
TAKEN_UP = "was assumed to point up"
"""Words of the note that a recording was turned."""
# Which axis looks forward where none is named: with z up, the x that most laboratories walk along.
_FORWARD = {"x": "y", "y": "x", "z": "x"}


def check_axis(what: str, axis: str | None) -> None:
    """Refuse what is not an axis of a laboratory."""
    if axis is not None and (not isinstance(axis, str) or axis.lower() not in AXES):
        raise InvalidInput(f"{what}={axis!r}; give one of the laboratory's axes: x, y, z, -x, -y, -z")


def to_ground(up: str, forward: str | None = None) -> NDArray[np.float64]:
    """(3, 3) laboratory to ground: rows are the laboratory's axes that become x, y, z.

    Args:
        up: the laboratory's upward axis: "x", "y" or "z", with a minus sign where it points down.
        forward: the laboratory's axis that becomes x. By default x, or y where x is up.
    """
    for what, axis in (("up", up), ("forward", forward)):
        check_axis(what, axis)
    vertical = up.lower()
    ahead = forward.lower() if forward is not None else _FORWARD[vertical[-1]]
    if ahead[-1] == vertical[-1]:
        raise InvalidInput(f"up={up!r} and forward={forward!r} are the same axis; they must be different ones")
    y, x = AXES[vertical], AXES[ahead]
    return np.stack((x, y, np.cross(x, y)))
