"""A path of either method as a line of points, and the polyline that is pulled tight from it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from support.taut_polyline import Solid, TautPolyline, spaced, taut

# A path keeps out of a surface where it is no deeper than this [m]; OpenSim's points are about so far off.
TOUCHES = 1e-4
# Two lengths are the same where they differ by less than this [m]: the polyline is better than that.
SAME = 1e-6
# Where along a path depths are looked at.
FINE = np.linspace(0.0, 1.0, 2001)


@dataclass(frozen=True)
class Contact:
    """Where a path touches a wrap's surface: first and last point in ground."""

    wrap: int
    first: np.ndarray
    last: np.ndarray


@dataclass
class Segment:
    """Between two path points that follow each other: what may be touched there, and what each method touches."""

    P: np.ndarray
    Q: np.ndarray
    a: int
    b: int
    acting: dict[int, Solid]  # by wrap, at full size
    ours: list[Contact] = field(default_factory=list)
    opensim: list[Contact] = field(default_factory=list)

    def shrink(self, wrap: int) -> float:
        """By how much an end that lies inside shrinks a surface; 1: not."""
        solid = self.acting[wrap]
        return float(min(1.0, solid.gauge(self.P), solid.gauge(self.Q)))


def path_line(s: Segment, contacts: list[Contact], solids: dict[int, Solid]) -> np.ndarray:
    """A method's path as many points; between two contacts on a surface it runs as the tangents say."""
    parts = [s.P[None]]
    for i, c in enumerate(contacts):
        before = s.P if i == 0 else contacts[i - 1].last
        after = s.Q if i + 1 == len(contacts) else contacts[i + 1].first
        parts.append(_arc(solids[c.wrap], c.first, c.last, c.first - before, after - c.last))
    return np.concatenate([*parts, s.Q[None]])


def _arc(solid: Solid, first: np.ndarray, last: np.ndarray, came: np.ndarray, goes: np.ndarray) -> np.ndarray:
    t = np.linspace(0, 1, 257)[:, None]
    if solid.kind == "cylinder":
        a, b = solid.own(first), solid.own(last)
        u, v = came @ solid.R, goes @ solid.R
        way = a[0] * u[1] - a[1] * u[0] + b[0] * v[1] - b[1] * v[0]
        turn = math.remainder(math.atan2(b[1], b[0]) - math.atan2(a[1], a[0]), 2 * math.pi)
        if turn * way < 0.0 and abs(turn) > 1e-6:
            turn += math.copysign(2 * math.pi, way)
        azimuth = math.atan2(a[1], a[0]) + t * turn
        radius = np.hypot(a[0], a[1]) + t * (np.hypot(b[0], b[1]) - np.hypot(a[0], a[1]))
        y = np.hstack([radius * np.cos(azimuth), radius * np.sin(azimuth), a[2] + t * (b[2] - a[2])])
        return y @ solid.R.T + solid.p
    # a cubic with the tangents of both ends, put onto the surface
    d = np.linalg.norm(last - first)
    u, v = (w / max(np.linalg.norm(w), 1e-12) for w in (came, goes))
    reach = d / (1.0 + max(0.0, float(u @ v)) * 2.0)
    x = (1 - t) ** 3 * first + 3 * t * (1 - t) ** 2 * (first + reach * u)
    x = x + 3 * t**2 * (1 - t) * (last - reach * v) + t**3 * last
    g = solid.gauge(x)
    x = solid.pushed(x) if solid.kind == "torus" else solid.p + ((x - solid.p).T / np.maximum(g, 1e-9)).T
    # from contact to contact a path of ours is a shortest one on the surface, and OpenSim's is near it
    tight = taut([solid], x)
    y = spaced(tight.points, t[:, 0])
    return y if tight.settled and np.abs(y - x).max() < solid.narrowest() else x


def pulled(contacts: list[Contact], solids: dict[int, Solid], line: np.ndarray) -> TautPolyline:
    """The polyline pulled tight from a path: over what it touches, and over what it then would run into."""
    fine = spaced(line, FINE)
    used = [c.wrap for c in contacts]
    pierced = [w for w, solid in solids.items() if w not in used and solid.deepest(fine) > TOUCHES]
    for _ in range(3):
        polyline = taut([solids[w] for w in dict.fromkeys(used)], line)
        fine = spaced(polyline.points, FINE)
        others = [w for w in solids if w not in used and w not in pierced]
        new = [w for w in others if solids[w].deepest(fine) > SAME]
        if not new:
            break
        used += new
    return polyline


def through_hole(solid: Solid, fine: np.ndarray) -> bool:
    """Whether a path keeps inside the ring where it crosses its plane; also where it does not cross it."""
    y = solid.own(fine)
    cross = np.flatnonzero((y[1:, 2] > 0) != (y[:-1, 2] > 0))
    return all(math.hypot(y[i, 0], y[i, 1]) < solid.size[1] for i in cross)
