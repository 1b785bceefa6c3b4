"""An oracle for wrapping: the shortest of all paths between two points outside solids, from no start at all.

1. Graph. Points are spread evenly over every solid, a little off it, as far as a shortest path can reach: all of it
   lies in the ellipsoid |x - P| + |x - Q| <= length of any path that is known. Two points are joined where the straight
   line between them keeps out. A place in the graph also has, for every cylinder whose side is held, how often the way
   there went round it, and for every ring how often through its hole. Dijkstra's search from both ends gives the
   shortest way through every place, on the sides that are held.
2. Candidates. The shortest way of all, then the shortest through a place that no candidate came near, and so on, up to
   a margin above what the graph may be off.
3. Each is pulled tight (`support.polyline`); the shortest is the answer.

Nothing is shared with the kernels or with `support.taut_polyline`, and nothing is known of the path that is judged.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numba import njit

from support.polyline import Solids, clear, deepest, outside, pack, roughly, spaced, tightly

# Points a solid, and how far off it they lie, over its size: to know any path, and to know all.
_FEW, _MANY = (250, 0.08), (600, 0.02)
# Ways longer than the shortest of the graph by this part are no candidates; of them so many are pulled tight.
_MARGIN, _CANDIDATES = 0.08, 24
# How far apart ways are asked to be, over the size of the solid, one after the other.
_FAR = (3.0, 1.5, 0.7)
# Of these, the ones longer than the shortest by no more than this part are pulled tighter.
_NEAR = 3e-3
# What is no deeper inside a solid than this is outside: polylines cut corners [m].
_ROUGHLY, _TIGHTLY = 1e-3, 2e-5


@dataclass(frozen=True)
class Obstacle:
    """A solid at a pose: cylinder (radius), sphere (radius), ellipsoid (semi-axes), torus (radii of tube and ring) [m].

    A cylinder has no ends. Its side is held where the whole `turn` about its z axis from start to end is given [rad].
    A ring is passed through its hole as often as the ends lie on other sides of its plane where `through`.
    """

    kind: str
    size: tuple[float, ...]
    R: np.ndarray
    p: np.ndarray
    turn: float | None = None
    through: bool = False

    @property
    def held(self) -> bool:
        """Whether not every way past counts."""
        return self.turn is not None or (self.kind == "torus" and self.through)

    def own(self, x: np.ndarray) -> np.ndarray:
        """Points (..., 3) in the obstacle's frame."""
        return (x - self.p) @ self.R

    def rounds(self, x: np.ndarray) -> int:
        """How often a polyline crosses the half-plane behind a cylinder's axis, or the disc in a ring, one way less the
        other."""
        return int(sum(_shift(a, b, self.size[1] if self.kind == "torus" else 0.0) for a, b in pairwise(self.own(x))))

    def target(self, P: np.ndarray, Q: np.ndarray) -> int:
        """`rounds` of a path that passes as it is held."""
        a, b = self.own(P), self.own(Q)
        if self.kind == "torus":
            return int(b[2] > 0) - int(a[2] > 0)
        return round((self.turn - math.atan2(b[1], b[0]) + math.atan2(a[1], a[0])) / (2 * math.pi))


@dataclass(frozen=True)
class GlobalPath:
    """The shortest path: length, about how far that is off, points, which obstacles it touches; other taut lengths."""

    length: float
    error: float
    points: np.ndarray
    touches: tuple[bool, ...]
    others: tuple[float, ...] = ()


def shortest_path(P: np.ndarray, Q: np.ndarray, obstacles: Sequence[Obstacle]) -> GlobalPath | None:
    """The shortest path from P to Q outside all obstacles, on the sides that are held; None where none is found."""
    P, Q = np.asarray(P, dtype=float), np.asarray(Q, dtype=float)
    line, straight = np.array([P, Q]), float(np.linalg.norm(Q - P))
    if not obstacles:
        return GlobalPath(straight, 0.0, line, ())
    solids = pack(
        [o.kind for o in obstacles], [o.size for o in obstacles], [o.R for o in obstacles], [o.p for o in obstacles]
    )
    if clear(*solids, line, 1e-12) and right_side(obstacles, line):
        return GlobalPath(straight, 0.0, line, (False,) * len(obstacles))
    reach = straight + sum(_girth(o, P, Q) for o in obstacles)
    known = None
    for more in (1, 2, 4):
        known = _search(P, Q, obstacles, solids, more * _FEW[0], _FEW[1], reach, 6)
        if known is not None:
            break
    if known is None:
        return None
    best = _search(P, Q, obstacles, solids, *_MANY, known.length * (1 + 1e-6), _CANDIDATES)
    return known if best is None or known.length < best.length - 1e-9 else best


def right_side(obstacles: Sequence[Obstacle], x: np.ndarray) -> bool:
    """Whether a polyline passes what is held as it is held."""
    return all(o.rounds(x) == o.target(x[0], x[-1]) for o in obstacles if o.held)


def _girth(o: Obstacle, P: np.ndarray, Q: np.ndarray) -> float:
    """By how much an obstacle lengthens a path at most, about [m]."""
    if o.kind == "torus":
        return float(np.linalg.norm(P - o.p) + np.linalg.norm(Q - o.p) - np.linalg.norm(P - Q)) + 2 * sum(o.size)
    return 2.0 * math.pi * sorted(o.size)[len(o.size) // 2] * max(1.0, abs(o.turn or 0.0) / math.pi)


def _search(
    P: np.ndarray,
    Q: np.ndarray,
    obstacles: Sequence[Obstacle],
    solids: Solids,
    number: int,
    off: float,
    reach: float,
    most: int,
) -> GlobalPath | None:
    """The shortest path through points spread over the solids, pulled tight."""
    x, thick = _spread(P, Q, obstacles, solids, number, off, reach)
    held = [o for o in obstacles if o.held]
    y = np.array([o.own(x) for o in held]).reshape(len(held), len(x), 3)
    rings = np.array([o.size[1] if o.kind == "torus" else 0.0 for o in held])
    target = np.array([o.target(P, Q) for o in held], dtype=np.int64)
    low = np.minimum(target, 0) - 1
    radix = np.maximum(target, 0) + 2 - low
    place = np.concatenate([[1], np.cumprod(radix)]).astype(np.int64)
    W = _visible(*solids, x, 1.15 * reach)
    M = _shifts(y, rings, W)
    begin, end = int((-low * place[:-1]).sum()), int(((target - low) * place[:-1]).sum())
    D_P, from_P = _dijkstra(W, M, radix, place, 0, begin, x, 1, 1.15 * reach)
    if not np.isfinite(D_P[end, 1]):
        return None
    limit = D_P[end, 1] * (1 + _MARGIN)
    D_Q, from_Q = _dijkstra(W, M, radix, place, 1, end, x, 0, limit)
    whole = D_P + D_Q
    near = np.full(whole.shape, np.inf)
    found = []
    for i in range(most):
        # at first only places that are far from all ways, as the ones near the shortest would be many
        for far in _FAR[i * len(_FAR) // most :]:
            left = np.where(near > far, whole, np.inf)
            s, v = np.unravel_index(np.argmin(left), left.shape)
            if left[s, v] <= limit:
                break
        else:
            break
        way = _way(from_P, s, v)[::-1] + _way(from_Q, s, v)[1:]
        for (state, a), (_, b) in pairwise(way):
            for t in np.linspace(0.0, 1.0, 6):
                away = np.linalg.norm(x - x[a] - t * (x[b] - x[a]), axis=1)
                near[state] = np.minimum(near[state], away / thick)
        near[s, v] = 0.0
        rough = roughly(solids, x[[i for _, i in way]])
        if rough is not None and right_side(obstacles, rough.points) and clear(*solids, rough.points, _ROUGHLY):
            found.append(rough)
    found.sort(key=lambda f: f.length)
    done = []
    for rough in found:
        new = all(_apart(rough.points, points) > 2e-4 for points, _ in done)
        if new and len(done) < 5 and rough.length < found[0].length * (1 + _NEAR):
            tight = tightly(solids, rough.points)
            if tight is not None and right_side(obstacles, tight.points) and clear(*solids, tight.points, _TIGHTLY):
                done.append((rough.points, tight))
    if not done:
        return None
    best = min((tight for _, tight in done), key=lambda t: t.length)
    return GlobalPath(best.length, best.error, best.points, best.touches, tuple(f.length for f in found))


def _apart(x: np.ndarray, y: np.ndarray) -> float:
    """How far two polylines are apart [m]."""
    s = np.linspace(0, 1, 65)
    return float(np.linalg.norm(spaced(x, s) - spaced(y, s), axis=1).max())


def _spread(
    P: np.ndarray, Q: np.ndarray, obstacles: Sequence[Obstacle], solids: Solids, number: int, off: float, reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """P, Q and points round every obstacle that a path no longer than `reach` may come to; and how thick each's is."""
    x, thick = [np.array([P, Q])], [np.array([math.inf, math.inf])]
    for k, o in enumerate(obstacles):
        y = np.empty((0, 3))
        for n in (8000, 80000):
            if len(y) < number:
                y = _round(o, n, 1 + off, o.own(0.5 * (P + Q))[2], reach) @ o.R.T + o.p
                y = y[np.linalg.norm(y - P, axis=1) + np.linalg.norm(y - Q, axis=1) < reach * (1 + 0.25 * off)]
                y = y[outside(*solids, y, k)][:number]
        x.append(y)
        thick.append(np.full(len(y), min(min(o.size), 0.02)))
    return np.concatenate(x), np.concatenate(thick)


def _round(o: Obstacle, n: int, by: float, middle: float, reach: float) -> np.ndarray:
    """n points (its frame) all over an obstacle that is grown `by` so much; of a cylinder `reach` about the middle."""
    # multiples of two irrational steps fill the square evenly, and every first part of them does
    azimuth, v = ((np.arange(1, n + 1)[:, None] * [0.7548776662466927, 0.5698402909980532]) % 1.0).T
    azimuth = 2 * math.pi * azimuth
    if o.kind == "torus":
        tube, angle = o.size[0] * by, 2 * math.pi * v
        rho, z = o.size[1] + tube * np.cos(angle), tube * np.sin(angle)
    elif o.kind == "cylinder":
        rho, z = np.full(n, o.size[0] * by), middle + reach * (v - 0.5)
    else:
        rho, z = np.sqrt(1 - (2 * v - 1) ** 2), 2 * v - 1
    y = np.column_stack([rho * np.cos(azimuth), rho * np.sin(azimuth), z])
    return y * np.broadcast_to(np.array(o.size), 3) * by if o.kind in ("sphere", "ellipsoid") else y


@njit(cache=True)
def _shift(a, b, ring):
    """How the straight piece from a to b (a cylinder's or ring's frame) crosses what `Obstacle.rounds` counts."""
    if ring > 0.0:
        if (a[2] > 0.0) == (b[2] > 0.0):
            return 0
        t = a[2] / (a[2] - b[2])
        if math.hypot(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])) > ring:
            return 0
        return 1 if b[2] > 0.0 else -1
    turn = math.atan2(b[1], b[0]) - math.atan2(a[1], a[0])
    return -1 if turn > math.pi else (1 if turn < -math.pi else 0)


@njit(cache=True)
def _visible(form, R, p, x, limit):
    """Distances between points that see each other; infinite where not, and where no way within the limit leads."""
    n = len(x)
    a, b = np.empty(n), np.empty(n)
    for i in range(n):
        a[i], b[i] = math.sqrt(((x[i] - x[0]) ** 2).sum()), math.sqrt(((x[i] - x[1]) ** 2).sum())
    W = np.full((n, n), np.inf, dtype=np.float32)
    for i in range(n):
        for j in range(i):
            d = math.sqrt((x[i, 0] - x[j, 0]) ** 2 + (x[i, 1] - x[j, 1]) ** 2 + (x[i, 2] - x[j, 2]) ** 2)
            seen = d + min(a[i] + b[j], a[j] + b[i]) <= limit
            for k in range(len(form)):
                if not seen:
                    break
                if deepest(form[k], R[k], p[k], x[i], x[j]) < -1e-9:
                    seen = False
                    break
            if seen:
                W[i, j] = d
                W[j, i] = d
    return W


@njit(cache=True)
def _shifts(y, rings, W):
    """What every edge adds to the counts of the obstacles that are held (held, n, n)."""
    h, n = len(rings), len(W)
    M = np.zeros((h, n, n), dtype=np.int8)
    for k in range(h):
        for i in range(n):
            for j in range(i):
                if np.isfinite(W[i, j]):
                    M[k, i, j] = _shift(y[k, i], y[k, j], rings[k])
                    M[k, j, i] = -M[k, i, j]
    return M


@njit(cache=True)
def _dijkstra(W, M, radix, place, source, state, x, goal, limit):
    """Shortest ways from a place; those that cannot reach the goal within the limit are left out."""
    n, h, states = len(W), len(radix), place[-1]
    D = np.full((states, n), np.inf)
    before = np.full((states, n), -1, dtype=np.int64)
    ahead = np.empty(n)
    for i in range(n):
        ahead[i] = math.sqrt(((x[i] - x[goal]) ** 2).sum())
    done = np.zeros((states, n), dtype=np.bool_)
    D[state, source] = 0.0
    heap = [(0.0, state * n + source)]
    while len(heap) > 0:
        d, at = heapq.heappop(heap)
        s, i = at // n, at % n
        if done[s, i]:
            continue
        done[s, i] = True
        for j in range(n):
            e = d + W[i, j]
            if not e + ahead[j] <= limit:
                continue
            t, inside = s, True
            for k in range(h):
                m = M[k, i, j]
                if m != 0:
                    count = (s // place[k]) % radix[k] + m
                    if count < 0 or count >= radix[k]:
                        inside = False
                    t += m * place[k]
            if inside and e < D[t, j]:
                D[t, j] = e
                before[t, j] = at
                heapq.heappush(heap, (e, t * n + j))
    return D, before


def _way(before: np.ndarray, s: int, v: int) -> list[tuple[int, int]]:
    """(state, point) from a place back to where the search began."""
    way = [(int(s), int(v))]
    while before[s, v] >= 0:
        s, v = divmod(int(before[s, v]), before.shape[1])
        way.append((s, v))
    return way
