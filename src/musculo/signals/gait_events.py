"""Gait events: when a foot strikes and leaves the ground, from forces or from markers."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.signals.gaps import runs
from musculo.signals.named_arrays import sampling_rate, series
from musculo.signals.natural_smoothing import NaturalSpline

VERTICAL = 1  # OpenSim's ground has y up
# Half of what plates of a laboratory call noise and what a foot does at touch down.
FORCE_THRESHOLD = 20.0  # [N]
SHORTEST_PHASE = 0.1  # [s] shorter stances are bumps, shorter swings are flicker
# O'Connor et al. 2007: strikes are looked for where the heel is in the lower 35 % of its vertical range.
LOW_HEEL = 0.35
# A step is not shorter: peaks closer than this belong to one step.
SHORTEST_STEP = 0.5  # [s] strike to strike of the same foot


class GaitEvents(NamedTuple):
    """Times [s] of one foot, in order."""

    strikes: FloatArray
    offs: FloatArray


def events_from_force(
    time: ArrayLike,
    vertical_force: ArrayLike,
    *,
    threshold: float = FORCE_THRESHOLD,
    shortest: float = SHORTEST_PHASE,
) -> GaitEvents:
    """Heel strike where the vertical ground reaction rises through the threshold, toe off where it falls.

    Times are interpolated between frames. Stances and swings shorter than `shortest` are no events. A recording that
    begins or ends in stance gives no event there.

    Args:
        time: (n,) [s].
        vertical_force: (n,) upward force on one foot [N].
        threshold: [N].
        shortest: [s].
    """
    t, force = series(time, vertical_force, least=2)
    if force.ndim != 1:
        raise InvalidInput(f"the vertical force has shape {force.shape}; give one foot, (frames,)")
    if not np.isfinite(threshold) or threshold <= 0.0 or shortest < 0.0:
        raise InvalidInput(f"threshold={threshold!r} N and shortest={shortest!r} s; both must be positive")
    loaded = force > threshold
    # Flicker first, so that a stance it cuts in two becomes whole before its length is judged.
    for a, b in runs(~loaded):
        if a > 0 and b < len(t) and t[b] - t[a - 1] < shortest:
            loaded[a:b] = True
    for a, b in runs(loaded):
        if a > 0 and b < len(t) and t[b] - t[a - 1] < shortest:
            loaded[a:b] = False
    stances = runs(loaded)
    strikes = [_through(t, force, a - 1, a, threshold) for a, _ in stances if a > 0]
    offs = [_through(t, force, b - 1, b, threshold) for _, b in stances if b < len(t)]
    return GaitEvents(np.array(strikes), np.array(offs))


def _through(t: FloatArray, y: FloatArray, a: int, b: int, level: float) -> float:
    """When y passes the level between two frames."""
    rise = y[b] - y[a]
    part = 0.5 if rise == 0.0 else min(max((level - y[a]) / rise, 0.0), 1.0)
    return float(t[a] + part * (t[b] - t[a]))


def events_from_markers(
    time: ArrayLike,
    heel: ArrayLike,
    toe: ArrayLike,
    sacrum: ArrayLike | None = None,
    *,
    method: Literal["zeni", "velocity"] = "zeni",
) -> GaitEvents:
    """Heel strike and toe off of one foot from its markers, where no plate was hit.

    "zeni": strike where the heel is farthest ahead of the pelvis, off where the toe is farthest behind it
        (Zeni et al. 2008, Gait Posture 27:710). Overground and treadmill. Needs `sacrum`.
    "velocity": from the vertical velocity of the middle of the foot: off at its upward peak, strike at its downward
        peak while the heel is low (O'Connor et al. 2007, Gait Posture 25:469).

    Both are within a few hundredths of a second of a force plate, not at it (measured on two recordings: 0.03 s for
    "zeni", 0.06 s for "velocity"). Filter the markers first; the answer is between frames.

    Args:
        time: (n,) evenly spaced [s].
        heel, toe, sacrum: (n, 3) [m] in ground, y up.
        method: "zeni" or "velocity".
    """
    points = {"heel": heel, "toe": toe} | ({} if sacrum is None else {"sacrum": sacrum})
    checked = {}
    for name, value in points.items():
        t, p = series(time, value, least=8)
        if p.shape != (len(t), 3):
            raise InvalidInput(f"{name} has shape {p.shape}; it needs (frames, 3)")
        checked[name] = p
    rate = sampling_rate(t)
    apart = max(1, round(SHORTEST_STEP * rate))
    if method == "zeni":
        if sacrum is None:
            raise InvalidInput("method 'zeni' measures the foot against the pelvis; pass sacrum=, or use 'velocity'")
        ahead = _walking_direction(checked["heel"], checked["toe"])
        front = (checked["heel"] - checked["sacrum"]) @ ahead
        behind = -(checked["toe"] - checked["sacrum"]) @ ahead
        strikes, offs = (_peaks(t, y, apart, float(y.min())) for y in (front, behind))
    elif method == "velocity":
        foot = 0.5 * (checked["heel"] + checked["toe"])[:, VERTICAL]
        speed = NaturalSpline(t, foot, 5)(t, 1)
        height = checked["heel"][:, VERTICAL]
        low = height < height.min() + LOW_HEEL * np.ptp(height)
        offs = _peaks(t, speed, apart, 0.0)
        strikes = _peaks(t, -speed, apart, 0.0, low)
    else:
        raise InvalidInput(f"no method {method!r} for events from markers; known: zeni, velocity")
    return GaitEvents(strikes, offs)


def _walking_direction(heel: FloatArray, toe: FloatArray) -> FloatArray:
    """The horizontal unit vector in which the foot points on average: forward on a treadmill, too."""
    ahead = np.mean(toe - heel, axis=0)
    ahead[VERTICAL] = 0.0
    length = float(np.linalg.norm(ahead))
    if length < 1e-6:
        raise InvalidInput("heel and toe stand above each other on average; are they swapped, or is y not up?")
    return ahead / length


def _peaks(
    time: FloatArray, y: FloatArray, apart: int, lowest: float, allowed: NDArray[np.bool_] | None = None
) -> FloatArray:
    """Times of the clear maxima, by the parabola through three frames; the ends of a recording are none.

    A maximum counts where it is allowed, in the upper half between `lowest` and the highest, and the largest within
    `apart` frames.
    """
    from scipy.signal import find_peaks

    found, _ = find_peaks(y)
    if allowed is not None:
        found = found[allowed[found]]
    if not found.size:
        return np.empty(0)
    found = found[y[found] >= lowest + 0.5 * (y[found].max() - lowest)]
    kept: list[int] = []
    for k in found[np.argsort(-y[found], kind="stable")]:
        if all(abs(int(k) - other) >= apart for other in kept):
            kept.append(int(k))
    times = []
    for k in sorted(kept):
        left, middle, right = y[k - 1], y[k], y[k + 1]
        bend = left - 2.0 * middle + right
        shift = 0.0 if bend >= 0.0 else 0.5 * (left - right) / bend
        times.append(time[k] + shift * 0.5 * (time[k + 1] - time[k - 1]))
    return np.array(times)
