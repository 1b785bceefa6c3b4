"""A judge for wrapping: the shortest polyline that stays outside solids, found without any of the package's kernels.

A polyline of n pieces x_0 .. x_n between two fixed points minimises

    sum |x_i+1 - x_i|^2 / (2 w_i)   such that   every x_i lies outside every solid,

whose least value has pieces proportional to w_i and the least length. Each step replaces a solid, for each point, by
a half-space: the solid's gauge is convex, so its linearisation in any point outside leaves a half-space that is outside
too. The energy falls from step to step, and the polyline ends in a shortest path of the side and winding it starts in.
Newton's method on the same conditions then finishes. Points gather where the polyline touches; two spacings, one half
the other, are extrapolated.

The solids may overlap, and the polyline may touch them in any order and any number of times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from scipy.linalg.lapack import dgbsv

# Pieces of the first polyline, and of the pieces that touch in the finest but one.
_COARSE, _TOUCHING, _FREE = 80, 160, 6
# A point that moves less than this in a step rests [m].
_REST = 1e-11
_SAG = 1e-9
_MANY = np.linspace(0.0, 1.0, 2001)


@dataclass(frozen=True)
class Solid:
    """A cylinder (radius), sphere (radius), ellipsoid (semi-axes) or ring (radius of tube and of ring) at a pose [m].

    A cylinder is infinite for the polyline; `half` is where it ends for `deepest`.
    """

    kind: str
    size: tuple[float, ...]
    R: np.ndarray
    p: np.ndarray
    half: float = math.inf

    def scaled(self, factor: float) -> Solid:
        """The solid shrunk about its centre (a ring: its tube)."""
        if self.kind == "torus":
            return replace(self, size=(factor * self.size[0], self.size[1]))
        return replace(self, size=tuple(factor * s for s in self.size))

    def own(self, x: np.ndarray) -> np.ndarray:
        """Points (..., 3) in the solid's frame."""
        return (x - self.p) @ self.R

    def _stretch(self) -> np.ndarray:
        if self.kind == "cylinder":
            return np.array([1 / self.size[0], 1 / self.size[0], 0.0])
        return 1 / np.broadcast_to(np.array(self.size, dtype=float), 3)

    def gauge(self, x: np.ndarray) -> np.ndarray:
        """1 on the surface, less inside (...,)."""
        y = self.own(x)
        if self.kind == "torus":
            return np.hypot(np.hypot(y[..., 0], y[..., 1]) - self.size[1], y[..., 2]) / self.size[0]
        return np.sqrt(((y * self._stretch()) ** 2).sum(axis=-1))

    def slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """About how far outside points lie [m], the unit outward normals, and the Hessians that go with them."""
        y = self.own(x)
        if self.kind == "torus":
            rho = np.hypot(y[:, 0], y[:, 1])
            ring = np.stack([y[:, 0] / rho, y[:, 1] / rho, 0 * rho], axis=1)
            far = np.hypot(rho - self.size[1], y[:, 2])
            c, s = (rho - self.size[1]) / far, y[:, 2] / far
            up = np.array([0.0, 0.0, 1.0])
            n = c[:, None] * ring + s[:, None] * up
            t = -s[:, None] * ring + c[:, None] * up
            phi = np.stack([-ring[:, 1], ring[:, 0], 0 * rho], axis=1)
            H = (
                np.einsum("ni,nj->nij", t, t) / far[:, None, None]
                + np.einsum("ni,nj->nij", phi, phi) * (c / rho)[:, None, None]
            )
            slack = far - self.size[0]
        else:
            a = self._stretch()
            g = np.maximum(np.sqrt(((y * a) ** 2).sum(axis=1)), 1e-9)
            d = y * a**2 / g[:, None]
            steep = np.maximum(np.sqrt((d**2).sum(axis=1)), 1e-9)
            H = (np.diag(a**2) - np.einsum("ni,nj->nij", d, d)) / (g * steep)[:, None, None]
            n, slack = d / steep[:, None], (g - 1) / steep
        return slack, n @ self.R.T, self.R @ H @ self.R.T

    def pushed(self, x: np.ndarray) -> np.ndarray:
        """Points, those inside moved onto the surface."""
        y = self.own(x)
        g = np.maximum(self.gauge(x), 1e-9)[..., None]
        if self.kind == "torus":
            rho = np.hypot(y[..., 0], y[..., 1])[..., None]
            centre = self.size[1] * np.concatenate([y[..., :2] / rho, 0 * rho], axis=-1)
            out = centre + (y - centre) / g
        elif self.kind == "cylinder":
            out = np.concatenate([y[..., :2] / g, y[..., 2:]], axis=-1)
        else:
            out = y / g
        return np.where(g < 1, out @ self.R.T + self.p, x)

    def narrowest(self) -> float:
        """The smallest radius; of a ring, that of its tube or hole [m]."""
        return min(self.size[0], self.size[1] - self.size[0]) if self.kind == "torus" else min(self.size)

    def deepest(self, x: np.ndarray) -> float:
        """How deep the deepest of points (n, 3) lies inside [m]; zero where none does."""
        slack = self.slopes(x)[0]
        return float(max(0.0, (-slack[np.abs(self.own(x)[:, 2]) <= self.half]).max(initial=0.0)))

    def turn(self, x: np.ndarray) -> float:
        """Angle about the z axis along a polyline [rad]."""
        y = self.own(x)
        return float(np.unwrap(np.arctan2(y[:, 1], y[:, 0]))[[0, -1]] @ [-1, 1])


@dataclass(frozen=True)
class TautPolyline:
    """A shortest polyline: its length, about how far that is off, its points and which solids it touches."""

    length: float
    error: float
    points: np.ndarray
    touches: tuple[bool, ...]
    settled: bool


def spaced(x: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Points at these fractions of the length of a polyline."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    return np.column_stack([np.interp(fractions * s[-1], s, c) for c in x.T])


def taut(solids: Sequence[Solid], start: np.ndarray) -> TautPolyline:
    """Pull a polyline tight that starts as the polyline `start` (n, 3); its ends stay where they are."""
    solids, start = list(solids), np.asarray(start, dtype=float)
    for crowd in (1.0, 3.0):
        polyline = _taut(solids, start, crowd)
        # too few points near a thin cylinder, and the polyline slips through it
        turns = [abs(s.turn(polyline.points) - s.turn(spaced(start, _MANY))) for s in solids if s.kind == "cylinder"]
        if polyline.settled and max(turns, default=0.0) < math.pi:
            return polyline
    return replace(polyline, settled=False)


def _taut(solids: list[Solid], start: np.ndarray, crowd: float) -> TautPolyline:
    straight = float(np.linalg.norm(start[-1] - start[0]))
    if not solids:
        return TautPolyline(straight, 0.0, start[[0, -1]], (), True)
    fractions = _crowded(solids, start, crowd)
    w = np.diff(fractions) * (len(fractions) - 1)
    x = spaced(start, fractions)
    for _ in range(30):
        for solid in solids:
            x[1:-1] = solid.pushed(x[1:-1])
    x, force, settled = _settle(solids, x, w)
    if not (force > 0).any():
        return TautPolyline(straight, 0.0, start[[0, -1]], (False,) * len(solids), settled)
    for pieces in (_TOUCHING // 2, _TOUCHING):
        fractions = _gathered(x, force, pieces)
        w = np.diff(fractions) * (len(fractions) - 1)
        x, force, settled = _settle(solids, spaced(x, fractions), w)
    coarse = _length(x)
    halves = np.interp(np.arange(0, 2 * len(fractions) - 1) / 2, np.arange(len(fractions)), fractions)
    x, force, settled = _settle(solids, spaced(x, halves), np.diff(halves) * (len(halves) - 1))
    fine = _length(x)
    best = fine + (fine - coarse) / 3
    return TautPolyline(best, abs(best - fine), x, tuple(bool((f > 0).any()) for f in force.T), settled)


def _crowded(solids: list[Solid], x: np.ndarray, crowd: float) -> np.ndarray:
    """Fractions of a polyline's length, most of them near solids, the smaller the more."""
    s = _MANY
    y = spaced(x, s)
    whole = np.linalg.norm(np.diff(x, axis=0), axis=1).sum()
    density = np.full(len(s), 10.0)
    for solid in solids:
        # six pieces to a radius, where the polyline is within two radii
        density = np.maximum(density, np.where(solid.gauge(y) < 3.0, 6.0 * crowd * whole / solid.narrowest(), 0.0))
    count = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) / (len(s) - 1))])
    pieces = int(np.clip(count[-1], _COARSE, 6 * crowd * _COARSE))
    return np.interp(np.linspace(0, count[-1], pieces + 1), count, s)


def _length(x: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(x, axis=0), axis=1).sum())


def _energy(x: np.ndarray, w: np.ndarray) -> float:
    return float(((np.diff(x, axis=0) ** 2).sum(axis=1) / (2 * w)).sum())


def _gathered(x: np.ndarray, force: np.ndarray, pieces: int) -> np.ndarray:
    """Fractions of the length: close together where the polyline touches, and a little beyond."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    s /= s[-1]
    near = np.concatenate([[False], (force > 0).any(axis=1), [False]])
    for _ in range(2):
        near[1:-1] |= near[:-2] | near[2:]
    edges = [0, *(np.flatnonzero(near[1:] != near[:-1]) + 1), len(s) - 1]
    whole = sum(s[b] - s[a] for a, b in pairwise(edges) if near[a])
    parts = []
    for a, b in pairwise(edges):
        if b > a:
            n = _FREE if not near[a] else max(8, round(pieces * (s[b] - s[a]) / whole))
            parts.append(np.linspace(s[a], s[b], n + 1)[:-1])
    return np.append(np.concatenate(parts), 1.0)


def _settle(solids: list[Solid], x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray, bool]:
    """Half-spaces, then Newton's method, in turns until one rests; (points, forces (inner points, solids), rests)."""
    force = np.zeros((len(x) - 2, len(solids)))
    steps = 6
    for _ in range(7):
        for _ in range(steps):
            x, force, shift = _half_spaces(solids, x, w, force)
            if shift < _REST:
                return x, force, True
        y, pull, rests = _newton(solids, x, w, force)
        if rests and _energy(y, w) <= _energy(x, w) * (1 + _SAG) and np.abs(y - x).max() < 0.2 * _length(x):
            return y, pull, True
        steps = min(2 * steps, 100)
    return x, force, False


def _half_spaces(
    solids: list[Solid], x: np.ndarray, w: np.ndarray, force: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """The least energy with every point in its half-spaces, by a primal-dual active set."""
    slack, normal, H = _constraints(solids, x)
    active = force - slack > 0
    # a ring is cupped towards its hole, which half-spaces do not know; its bend is put into the energy
    rings = np.array([solid.kind == "torus" for solid in solids])
    bend = np.zeros((len(x) - 2, 3, 3))
    for k in np.flatnonzero(rings):
        value, axis = np.linalg.eigh(-H[:, k])
        cupped = np.einsum("nij,nj,nkj->nik", axis, np.maximum(value, 0.0), axis)
        bend += np.maximum(force[:, k], 0.0)[:, None, None] * cupped
    seen: list[np.ndarray] = []
    for _ in range(25):
        d, pull = _kkt(x, w, normal, slack, active, bend)
        now = pull - (np.einsum("nki,ni->nk", normal, d) + slack) > 0
        if (now == active).all() or any((now == a).all() for a in seen):
            break
        seen.append(active)
        active = now
    # planes through a hole hold only close by
    reach = min((0.4 * solid.narrowest() for solid in solids if solid.kind == "torus"), default=math.inf)
    d = d * min(1.0, reach / max(float(np.abs(d).max()), 1e-300))
    out = x.copy()
    out[1:-1] += d
    return out, np.where(active, pull, 0.0), float(np.abs(d).max())


def _newton(
    solids: list[Solid], x: np.ndarray, w: np.ndarray, force: np.ndarray
) -> tuple[np.ndarray, np.ndarray, bool]:
    """Newton's method on the conditions of the least energy, which contacts included."""
    x = x.copy()
    for _ in range(25):
        slack, normal, H = _constraints(solids, x)
        active = force - slack > 0
        d, pull = _kkt(x, w, normal, slack, active, -np.einsum("nk,nkij->nij", np.maximum(force, 0.0), H))
        shift = np.abs(d).max()
        if not np.isfinite(shift) or shift > 0.3:
            return x, force, False
        x[1:-1] += d
        same = ((pull > 0) == active)[active].all()
        force = np.where(active, pull, 0.0)
        if shift < _REST and same:
            return x, np.maximum(force, 0.0), bool((slack > -_SAG).all())
    return x, force, False


def _constraints(solids: list[Solid], x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    parts = [solid.slopes(x[1:-1]) for solid in solids]
    slack, normal, H = (np.stack([p[i] for p in parts], axis=1) for i in range(3))
    return slack, normal, H


def _kkt(
    x: np.ndarray, w: np.ndarray, normal: np.ndarray, slack: np.ndarray, active: np.ndarray, bend: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shifts and forces where active points go onto their planes: a banded system, node by node."""
    m, k = slack.shape
    b = 3 + k
    block = np.zeros((m, b, b))
    c = 1.0 / w
    diagonal = c[:-1] + c[1:]
    block[:, range(3), range(3)] = diagonal[:, None]
    block[:, :3, :3] += bend
    block[:, :3, 3:] = np.where(active[:, None], -normal.transpose(0, 2, 1), 0.0)
    block[:, 3:, :3] = np.where(active[..., None], normal, 0.0)
    # two solids that touch in one point with almost one normal would otherwise share a force at will
    block[:, range(3, b), range(3, b)] = np.where(active, 1e-10, 1.0)
    pieces = np.diff(x, axis=0) * c[:, None]
    right = np.concatenate([pieces[1:] - pieces[:-1], np.where(active, -slack, 0.0)], axis=1)
    band = np.zeros((3 * b + 1, m, b))
    for i in range(b):
        for j in range(b):
            band[2 * b + i - j, :, j] = block[:, i, j]
    band[b, 1:, :3] = -c[1:-1, None]
    band[3 * b, :-1, :3] = -c[1:-1, None]
    _, _, solution, info = dgbsv(b, b, band.reshape(3 * b + 1, m * b), right.ravel())
    if info != 0:
        solution = np.full(m * b, np.nan)
    solution = solution.reshape(m, b)
    return solution[:, :3], solution[:, 3:]
