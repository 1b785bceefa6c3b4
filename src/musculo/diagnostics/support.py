"""At which frames all that carries the body is measured: each foot is on a plate, or off the ground.

Residuals of inverse dynamics say something about model, motion and plates only there. A foot that stands beside its
plate carries weight that nobody measured, which shows as a residual and is not a fault of the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.diagnostics.loads import other_side, unknown_loads
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.signals.gaps import runs

CARRIED = 20.0
"""A plate carries a foot beyond this force [N]."""
STANDING = 0.1
"""A foot that is as low and slow as on a plate for this long stands; it touches down and lifts off faster [s]."""
MARGIN = 0.01
"""Floors beside plates may be so much higher than the plates [m]."""
# A foot has few bodies; a load on the pelvis does not act on both legs.
_BODIES_OF_A_FOOT = 3

Frames = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Support:
    """What carries the body, frame by frame.

    Args:
        time: (frames,) [s].
        known: (frames,) where all of it is measured: every foot is on a plate or off the ground.
        standing: by foot, (frames,) where it stands on the ground without a plate.
        unmeasured: (frames,) outside the times of the loads.
        carried: whether a plate ever carries anything.
    """

    time: FloatArray
    known: Frames
    standing: Mapping[str, Frames]
    unmeasured: Frames
    carried: bool = True

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why frames are not known, and which: a sentence for each foot."""
        if not self.carried:
            return (f"no plate ever carries more than {CARRIED:g} N",)
        found = [
            f"{foot} stands on the ground and no plate measures it: {self.spans_in_words(frames)}"
            for foot, frames in self.standing.items()
            if frames.any()
        ]
        if self.unmeasured.any():
            found.append(f"the external loads do not reach there: {self.spans_in_words(self.unmeasured)}")
        return tuple(found)

    def spans_in_words(self, frames: Frames, most: int = 4) -> str:
        """Spans of time, and how many frames they hold."""
        spans = [(self.time[a], self.time[b - 1]) for a, b in runs(frames)]
        parts = [f"{a:.4g} to {b:.4g} s" if b > a else f"{a:.4g} s" for a, b in spans[:most]]
        rest = f" and {len(spans) - most} more spans" if len(spans) > most else ""
        count = int(frames.sum())
        return f"{', '.join(parts)}{rest} ({count} frame{'s' if count != 1 else ''})"


class _Foot(NamedTuple):
    """How a foot moves, and whether a plate carries it, frame by frame."""

    carried: Frames
    height: FloatArray  # of its lowest point [m]
    speed: FloatArray  # of its slowest point [m/s]


def known_support(model: Model, time: ArrayLike, q: ArrayLike, loads: ExternalLoads) -> Support:
    """The frames in which every foot is on a plate or off the ground.

    Feet are the bodies that loads act on and those of the other side by their names, with the toes on them. A foot
    stands on the ground without a plate where it carries less than 20 N and is as low and as slow as feet are while
    plates carry them (1 cm higher at most), for 0.1 s or longer, or at an end of the recording. Heights and speeds are
    those of the lowest and of the slowest of its points: markers, mass centers and origins of its bodies.

    Stairs without a plate are not detected: a foot on one is higher than the plates. Neither is a hand on a rail.

    Args:
        model: the model.
        time: (frames,) [s].
        q: (frames, n) the motion [rad, m].
        loads: on its feet, over time.

    Raises:
        InvalidInput: arrays of different lengths.
    """
    times, Q = np.asarray(time, dtype=float), np.asarray(q, dtype=float)
    if Q.ndim != 2 or times.shape != Q.shape[:1]:
        raise InvalidInput(f"time has shape {times.shape} and q {Q.shape}; give (frames,) and (frames, coordinates)")
    unmeasured = unknown_loads(loads, times)
    inside = np.flatnonzero(~unmeasured)
    standing: dict[str, Frames] = {}
    carried = False
    if inside.size:
        feet = _feet(model, times[inside], Q[inside], loads)
        carried = any(foot.carried.any() for foot in feet.values())
        for name, foot in feet.items():
            standing[name] = np.zeros(len(times), dtype=bool)
            pair = [feet[one] for one in dict.fromkeys((name, other_side(name))) if one in feet]
            standing[name][inside] = _stands(times[inside], foot, pair)
    known = ~unmeasured & carried
    for frames in standing.values():
        known &= ~frames
    return Support(times, known, standing, unmeasured, carried)


def _stands(time: FloatArray, foot: _Foot, pair: list[_Foot]) -> Frames:
    """(frames,) where a foot is not carried, and as low and slow as those of both sides are while they are carried."""
    heights = np.concatenate([one.height[one.carried] for one in pair])
    speeds = np.concatenate([one.speed[one.carried] for one in pair])
    found = np.zeros(len(time), dtype=bool)
    if not heights.size:
        return found
    near = ~foot.carried & (foot.height <= heights.max() + MARGIN) & (foot.speed <= speeds.max())
    for first, stop in runs(near):
        cut = first == 0 or stop == len(time)
        if cut or time[stop - 1] - time[first] >= STANDING:
            found[first:stop] = True
    return found


def _feet(model: Model, time: FloatArray, q: FloatArray, loads: ExternalLoads) -> dict[str, _Foot]:
    series = loads.at(time)
    motion = kinematics(model, q)
    up = -np.asarray(model.gravity, dtype=float)
    size = float(np.linalg.norm(up))
    up = up / size if size > 0.0 else np.array([0.0, 1.0, 0.0])
    feet = {}
    for name, bodies in _bodies_of_feet(model, [one.body for one in series]).items():
        force = np.zeros(len(time))
        for one in series:
            if one.body in bodies:
                force += np.linalg.norm(one.force, axis=1)
        points = _points(model, motion, bodies, len(time))
        rates = np.gradient(points, time, axis=0) if len(time) > 1 else np.zeros_like(points)
        speed = np.linalg.norm(rates, axis=2).min(axis=1)
        feet[name] = _Foot(force > CARRIED, (points @ up).min(axis=1), speed)
    return feet


def _bodies_of_feet(model: Model, loaded: list[str]) -> dict[str, tuple[str, ...]]:
    """Bodies of each foot by the name of its first; a load on toes acts on the foot that they belong to."""
    names = [name for body in loaded for name in (body, other_side(body)) if name in model.body_names]
    groups = {name: _beyond(model, name) for name in dict.fromkeys(names)}
    return {
        name: bodies
        for name, bodies in groups.items()
        if not any(name in others for other, others in groups.items() if other != name)
    }


def _beyond(model: Model, body: str) -> tuple[str, ...]:
    """A body and those that it carries, if they are few."""
    found = [body]
    for one in found:  # which grows
        found += [j.child.body for j in model.joints if j.parent.body == one and j.child.body not in found]
        if len(found) > _BODIES_OF_A_FOOT:
            return (body,)
    return tuple(found)


def foot_points(model: Model, motion: Kinematics, foot: str, frames: int) -> FloatArray:
    """(frames, points, 3) in ground of a foot and its toes: markers, mass centers and origins [m]."""
    return _points(model, motion, _beyond(model, foot), frames)


def _points(model: Model, motion: Kinematics, bodies: tuple[str, ...], frames: int) -> FloatArray:
    """(frames, points, 3) in ground [m]."""
    found = [
        motion.position(name, at).reshape(frames, 3)
        for name in bodies
        for at in ((0.0, 0.0, 0.0), model.body(name).mass_center)
    ]
    markers = [marker.name for marker in model.markers if model.placement(marker.frame).body in bodies]
    if markers:
        found += list(np.moveaxis(motion.markers(markers).reshape(frames, len(markers), 3), 1, 0))
    return np.stack(found, axis=1)
