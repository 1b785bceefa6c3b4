"""Units of length in files, and recordings whose unit cannot be the one that they state."""

from __future__ import annotations

import numpy as np

from musculo.results.markers import Markers

# To meters, by the products that OpenSim forms.
METRES = {
    "mm": 0.001,
    "millimeter": 0.001,
    "millimeters": 0.001,
    "millimetres": 0.001,
    "cm": 0.01,
    "centimeter": 0.01,
    "centimeters": 0.01,
    "centimetres": 0.01,
    "m": 1.0,
    "meter": 1.0,
    "meters": 1.0,
    "metres": 1.0,
}
# Markers of one frame are further apart than the least of these and nearer than the most [m]: a hand, or some subjects.
_LEAST, _MOST = 0.02, 10.0
# How far apart they usually are, by which the unit is guessed [m].
_USUAL = 1.5
_FRAMES = 50  # that are looked at
_KNOWN = ("m", "cm", "mm")


def unit_note(markers: Markers, unit: str) -> tuple[str, ...]:
    """A sentence where the markers of a frame are so far apart, or so near, that the unit of the file must be wrong."""
    apart = _apart(markers)
    if apart is None or _LEAST < apart < _MOST:
        return ()
    stated = METRES.get(unit.lower(), 1.0)
    best = min(_KNOWN, key=lambda one: abs(np.log10(apart / stated * METRES[one] / _USUAL)))
    guess = apart / stated * METRES[best]
    are = f"are they in {best}?" if _LEAST < guess < _MOST else "which unit are they in?"
    return (
        f"the markers of one frame are {apart:.3g} m apart, read as {unit or 'metres'}: {are} State the unit in the "
        "file, or scale the positions",
    )


def _apart(markers: Markers) -> float | None:
    """The diagonal of the box around the markers of a frame [m], the median of some frames; None where they are few."""
    rows = markers.position[:: max(len(markers) // _FRAMES, 1)]
    rows = rows[np.isfinite(rows[:, :, 0]).sum(axis=1) >= 3]
    if not len(rows):
        return None
    return float(np.median(np.linalg.norm(np.nanmax(rows, axis=1) - np.nanmin(rows, axis=1), axis=1)))
