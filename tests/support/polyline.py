"""A polyline outside solids pulled tight by an interior point method: the local half of `support.global_path`.

Knots x_0 .. x_n between fixed ends minimise

    sum |x_i+1 - x_i|^2 / (2 w_i) - mu sum_ik log c_k(x_i),    sum w_i = 1,

where c_k is how far a knot lies outside solid k, and mu goes to zero. The least energy is length^2 / 2. Each Newton
step is one block tridiagonal system; a knot never enters a solid, and never moves through one. Knots gather where the
polyline touches; lengths of n and 2 n pieces are extrapolated, as pieces cut corners by the square of their length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numba import njit

CYLINDER, QUADRIC, RING = range(3)
# Pieces on what is touched, of every straight part, and the most while polylines are told apart.
_TOUCHING, _FREE, _COARSE = 120, 5, 400
# The barrier over length^2 a piece, at first and at last.
_FIRST, _ROUGH, _LAST = 1e-3, 1e-7, 1e-11


class Solids(NamedTuple):
    """Forms (kind, 1 / semi-axes, scale; or tube, ring), rotations and centres of some solids."""

    form: np.ndarray  # (m, 6)
    R: np.ndarray  # (m, 3, 3)
    p: np.ndarray  # (m, 3)


class Tight(NamedTuple):
    """Knots, length, about how far that is off, and which solids are touched."""

    points: np.ndarray
    length: float
    error: float
    touches: tuple[bool, ...]


def pack(kinds: Sequence[str], sizes: Sequence[tuple[float, ...]], R: np.ndarray, p: np.ndarray) -> Solids:
    """Solids as arrays; kinds and sizes as `global_path.Obstacle` has them."""
    form = np.zeros((len(kinds), 6))
    for row, kind, size in zip(form, kinds, sizes, strict=True):
        if kind == "torus":
            row[:] = RING, 0.0, 0.0, 0.0, size[0], size[1]
        else:
            a = np.broadcast_to(np.array(size, dtype=float), 3)
            row[0], row[1:4], row[4] = QUADRIC, 1.0 / a, a.min()
            if kind == "cylinder":
                row[0], row[3] = CYLINDER, 0.0
    return Solids(form, np.ascontiguousarray(R, dtype=float), np.ascontiguousarray(p, dtype=float))


@njit(cache=True)
def slack(form, R, p, x):
    """c (about how far outside x lies [m]), its gradient and Hessian in ground."""
    y, g, H = np.empty(3), np.zeros(3), np.zeros((3, 3))
    for i in range(3):
        y[i] = R[0, i] * (x[0] - p[0]) + R[1, i] * (x[1] - p[1]) + R[2, i] * (x[2] - p[2])
    if form[0] == RING:
        rho = max(math.hypot(y[0], y[1]), 1e-12)
        far = max(math.hypot(rho - form[5], y[2]), 1e-12)
        c, s, u, v = (rho - form[5]) / far, y[2] / far, y[0] / rho, y[1] / rho
        n, t, q = (c * u, c * v, s), (-s * u, -s * v, c), (-v, u, 0.0)
        for i in range(3):
            g[i] = n[i]
            for j in range(3):
                H[i, j] = t[i] * t[j] / far + c / rho * q[i] * q[j]
        value = far - form[4]
    else:
        e = 0.0
        for i in range(3):
            e += (form[1 + i] * y[i]) ** 2
        e = max(math.sqrt(e), 1e-12)
        for i in range(3):
            g[i] = form[4] * form[1 + i] ** 2 * y[i] / e
        for i in range(3):
            for j in range(3):
                H[i, j] = -g[i] * g[j] / (form[4] * e)
            H[i, i] += form[4] * form[1 + i] ** 2 / e
        value = form[4] * (e - 1.0)
    return value, R @ g, R @ H @ R.T


@njit(cache=True)
def value_of(form, R, p, x):
    """As the first of `slack`."""
    y0 = R[0, 0] * (x[0] - p[0]) + R[1, 0] * (x[1] - p[1]) + R[2, 0] * (x[2] - p[2])
    y1 = R[0, 1] * (x[0] - p[0]) + R[1, 1] * (x[1] - p[1]) + R[2, 1] * (x[2] - p[2])
    y2 = R[0, 2] * (x[0] - p[0]) + R[1, 2] * (x[1] - p[1]) + R[2, 2] * (x[2] - p[2])
    if form[0] == RING:
        return math.hypot(math.hypot(y0, y1) - form[5], y2) - form[4]
    return form[4] * (math.sqrt((form[1] * y0) ** 2 + (form[2] * y1) ** 2 + (form[3] * y2) ** 2) - 1.0)


@njit(cache=True)
def deepest(form, R, p, u, v):
    """The least of c on the straight piece u v; of a ring, by steps as long as its distance or a 50th of its tube."""
    if form[0] == RING:
        l = math.sqrt((v[0] - u[0]) ** 2 + (v[1] - u[1]) ** 2 + (v[2] - u[2]) ** 2)
        least, s = 1e300, 0.0
        x = np.empty(3)
        while True:
            t = min(1.0, s / l) if l > 0.0 else 1.0
            for i in range(3):
                x[i] = u[i] + t * (v[i] - u[i])
            c = value_of(form, R, p, x)
            least = min(least, c)
            if t >= 1.0 or least < -1e-3:
                return least
            s += max(c, 0.02 * form[4])
    a, d = np.empty(3), np.empty(3)
    ad, dd = 0.0, 0.0
    for i in range(3):
        a[i] = form[1 + i] * (R[0, i] * (u[0] - p[0]) + R[1, i] * (u[1] - p[1]) + R[2, i] * (u[2] - p[2]))
        d[i] = form[1 + i] * (R[0, i] * (v[0] - u[0]) + R[1, i] * (v[1] - u[1]) + R[2, i] * (v[2] - u[2]))
        ad += a[i] * d[i]
        dd += d[i] * d[i]
    t = min(1.0, max(0.0, -ad / dd)) if dd > 0.0 else 0.0
    return form[4] * (math.sqrt((a[0] + t * d[0]) ** 2 + (a[1] + t * d[1]) ** 2 + (a[2] + t * d[2]) ** 2) - 1.0)


@njit(cache=True)
def clear(form, R, p, x, depth):
    """Whether the polyline x is nowhere deeper inside a solid than `depth` [m]."""
    for k in range(len(form)):
        for i in range(len(x) - 1):
            if deepest(form[k], R[k], p[k], x[i], x[i + 1]) < -depth:
                return False
    return True


@njit(cache=True)
def outside(form, R, p, x, own):
    """Which points lie outside all solids but `own` (-1: all)."""
    keep = np.ones(len(x), dtype=np.bool_)
    for i in range(len(x)):
        for k in range(len(form)):
            if k != own and value_of(form[k], R[k], p[k], x[i]) <= 0.0:
                keep[i] = False
                break
    return keep


@njit(cache=True)
def _density(form, R, p, x, least, whole):
    """Pieces a length of one at points of a polyline: four to the radius of a solid that is within one."""
    density = np.full(len(x), least)
    for k in range(len(form)):
        small = min(form[k, 4], form[k, 5] - form[k, 4]) if form[k, 0] == RING else form[k, 4]
        for i in range(len(x)):
            if value_of(form[k], R[k], p[k], x[i]) < small:
                density[i] = max(density[i], 4.0 * whole / small)
    return density


@njit(cache=True)
def _take_out(form, R, p, x):
    """Move knots that are inside solids, where chords cut corners, just out; in a groove, out of all at once."""
    m = len(form)
    for i in range(1, len(x) - 1):
        on = np.zeros(m, dtype=np.bool_)
        for _ in range(30):
            inside = False
            for k in range(m):
                if value_of(form[k], R[k], p[k], x[i]) < 1e-9:
                    on[k], inside = True, True
            if not inside:
                break
            number = on.sum()
            J, b = np.zeros((number, 3)), np.zeros(number)
            at = 0
            for k in range(m):
                if on[k]:
                    c, g, _ = slack(form[k], R[k], p[k], x[i])
                    J[at], b[at] = g, 2e-9 - c
                    at += 1
            x[i] += J.T @ np.linalg.solve(J @ J.T + 1e-9 * np.eye(number), b)


@njit(cache=True)
def _solve(H, c, r, dx):
    """Solve the block tridiagonal system (H_i on the diagonal, -c_i I beside it); whether it is positive definite."""
    n = len(H)
    G = np.empty((n, 3, 3))
    z = np.empty((n, 3))
    for i in range(n):
        B, b = H[i].copy(), r[i].copy()
        if i > 0:
            B -= c[i] * c[i] * G[i - 1]
            b += c[i] * (G[i - 1] @ z[i - 1])
        m = B[0, 0] * B[1, 1] - B[0, 1] * B[1, 0]
        det = np.linalg.det(B)
        if not (B[0, 0] > 0.0 and m > 0.0 and det > 0.0):
            return False
        G[i] = np.linalg.inv(B)
        z[i] = b
    for i in range(n - 1, -1, -1):
        b = z[i].copy()
        if i < n - 1:
            b += c[i + 1] * dx[i + 1]
        dx[i] = G[i] @ b
    return True


@njit(cache=True)
def _merit(form, R, p, x, w, mu):
    """The function to be minimised; infinite where a knot is inside."""
    f = 0.0
    for i in range(len(w)):
        f += ((x[i + 1, 0] - x[i, 0]) ** 2 + (x[i + 1, 1] - x[i, 1]) ** 2 + (x[i + 1, 2] - x[i, 2]) ** 2) / (2 * w[i])
    for i in range(1, len(x) - 1):
        for k in range(len(form)):
            c = value_of(form[k], R[k], p[k], x[i])
            if c <= 0.0:
                return np.inf
            f -= mu * math.log(c)
    return f


@njit(cache=True)
def relax(form, R, p, x, w, first, last):
    """Minimise with mu from `first` to `last`; returns forces (inner knots, solids), and whether it came to rest."""
    n, m = len(x) - 2, len(form)
    force, dforce = np.empty((n, m)), np.empty((n, m))
    c, g = np.empty((n, m)), np.empty((n, m, 3))
    H, r, dx, Hess = np.empty((n, 3, 3)), np.empty((n, 3)), np.zeros((n, 3)), np.empty((n, m, 3, 3))
    inv = 1.0 / w
    mu = first
    wide = 1e300
    for k in range(m):
        if form[k, 0] == RING:
            wide = min(wide, 0.4 * min(form[k, 4], form[k, 5] - form[k, 4]))
    for i in range(n):
        for k in range(m):
            force[i, k] = mu / value_of(form[k], R[k], p[k], x[i + 1])
    for _ in range(40):
        rests = False
        for _ in range(40):
            for i in range(n):
                for k in range(m):
                    c[i, k], g[i, k], Hess[i, k] = slack(form[k], R[k], p[k], x[i + 1])
                r[i] = inv[i + 1] * (x[i + 2] - x[i + 1]) - inv[i] * (x[i + 1] - x[i])
                for k in range(m):
                    r[i] += mu / c[i, k] * g[i, k]
            good = False
            for convex in range(2):
                for i in range(n):
                    H[i] = (inv[i] + inv[i + 1]) * np.eye(3)
                    for k in range(m):
                        H[i] += force[i, k] / c[i, k] * np.outer(g[i, k], g[i, k])
                        if convex == 0:
                            H[i] -= force[i, k] * Hess[i, k]
                good = _solve(H, inv, r, dx)
                if good:
                    break
            if not good:
                return force, False
            decrement = (r * dx).sum()
            # how far: forces stay positive, knots outside and do not pass through solids, the function falls
            a_force = 1.0
            for i in range(n):
                for k in range(m):
                    dforce[i, k] = mu / c[i, k] - force[i, k] - force[i, k] / c[i, k] * (g[i, k] @ dx[i])
                    if dforce[i, k] < 0.0:
                        a_force = min(a_force, -0.99 * force[i, k] / dforce[i, k])
            a = min(1.0, wide / max(np.abs(dx).max(), 1e-300))
            f = _merit(form, R, p, x, w, mu)
            y = x.copy()
            moved = False
            for _ in range(40):
                y[1:-1] = x[1:-1] + a * dx
                ok = True
                for i in range(n):
                    for k in range(m):
                        now = value_of(form[k], R[k], p[k], y[i + 1])
                        if now < 0.02 * c[i, k]:
                            ok = False
                            break
                        if form[k, 0] != RING and deepest(form[k], R[k], p[k], x[i + 1], y[i + 1]) < -0.1 * form[k, 4]:
                            ok = False
                            break
                    if not ok:
                        break
                if ok and _merit(form, R, p, y, w, mu) <= f - 1e-4 * a * decrement + 1e-14 * abs(f):
                    moved = True
                    break
                a *= 0.6
            if not moved:
                rests = decrement < 10.0 * mu
                break
            x[:] = y
            force += min(a_force, 1.0) * dforce
            # forces that have run off from mu / c lead nowhere
            for i in range(n):
                for k in range(m):
                    now = mu / value_of(form[k], R[k], p[k], x[i + 1])
                    force[i, k] = min(max(force[i, k], 1e-3 * now), 1e3 * now)
            if decrement < 0.1 * mu:
                rests = True
                break
        if not rests or mu <= last:
            return force, rests
        mu = max(0.15 * mu, last)
    return force, False


def spaced(x: np.ndarray, fractions: np.ndarray) -> np.ndarray:
    """Points at these fractions of the length of a polyline."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    return np.column_stack([np.interp(fractions * s[-1], s, c) for c in x.T])


def length_of(x: np.ndarray) -> float:
    """Length of a polyline."""
    return float(np.linalg.norm(np.diff(x, axis=0), axis=1).sum())


def roughly(solids: Solids, line: np.ndarray) -> Tight | None:
    """A polyline whose pieces keep out of all solids pulled tight, to about a thousandth; None if it does not rest."""
    s = np.linspace(0.0, 1.0, 1001)
    y = spaced(line, s)
    whole = length_of(line)
    density = _density(*solids, y, 40.0, whole)
    count = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) / (len(s) - 1))])
    pieces = int(np.clip(count[-1], 60, _COARSE))
    fractions = np.interp(np.linspace(0.0, count[-1], pieces + 1), count, s)
    x, _, rests = _rest(solids, line, fractions, _FIRST, _ROUGH)
    return Tight(x, length_of(x), 1e-3 * whole, ()) if rests else None


def tightly(solids: Solids, line: np.ndarray) -> Tight | None:
    """A polyline that is roughly tight pulled tight to 1e-8 of its length or so; None if it does not rest."""
    x = line
    for pieces in (_TOUCHING // 2, _TOUCHING):
        fractions = _gathered(x, pieces)
        x, _, rests = _rest(solids, x, fractions, 1e-6, 1e-9 if pieces < _TOUCHING else _LAST)
        if not rests:
            return None
    coarse = length_of(x)
    halves = np.interp(np.arange(0, 2 * len(fractions) - 1) / 2, np.arange(len(fractions)), fractions)
    x, force, rests = _rest(solids, x, halves, 1e-8, _LAST)
    fine = length_of(x)
    if not rests:
        return None
    touches = tuple(bool(f > 1e-6 * fine) for f in force.max(axis=0))
    return Tight(x, fine + (fine - coarse) / 3, abs(fine - coarse) / 3, touches)


def _rest(
    solids: Solids, line: np.ndarray, fractions: np.ndarray, first: float, last: float
) -> tuple[np.ndarray, np.ndarray, bool]:
    x = spaced(line, fractions)
    x[0], x[-1] = line[0], line[-1]
    _take_out(*solids, x)
    scale = length_of(x) ** 2 / (len(x) - 1)
    force, rests = relax(*solids, x, np.diff(fractions), first * scale, last * scale)
    return x, force, rests


def _gathered(x: np.ndarray, pieces: int) -> np.ndarray:
    """Fractions of the length: close together where the polyline touches, and a little beyond."""
    s = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(x, axis=0), axis=1))])
    s /= s[-1]
    turn = np.zeros(len(x), dtype=bool)
    d = np.diff(x, axis=0)
    d /= np.maximum(np.linalg.norm(d, axis=1), 1e-300)[:, None]
    turn[1:-1] = np.linalg.norm(np.diff(d, axis=0), axis=1) > 1e-5
    for _ in range(2):
        turn[1:-1] |= turn[:-2] | turn[2:]
    turn[0], turn[-1] = turn[1], turn[-2]
    edges = [0, *(np.flatnonzero(turn[1:] != turn[:-1]) + 1), len(s) - 1]
    whole = sum(s[b] - s[a] for a, b in pairwise(edges) if turn[a])
    parts = []
    for a, b in pairwise(edges):
        if b > a:
            n = _FREE if not turn[a] else max(6, round(pieces * (s[b] - s[a]) / whole))
            parts.append(np.linspace(s[a], s[b], n + 1)[:-1])
    return np.append(np.concatenate(parts), 1.0)
