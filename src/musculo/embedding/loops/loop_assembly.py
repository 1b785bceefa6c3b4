"""Closing a loop for the first time: from a rough pose to one that satisfies its equations, and their rank there."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import CLOSED, Loop
from musculo.errors import InvalidModel, SingularSystem

# Singular values below this part of the largest are rounding.
RANK = 1e-8
# Other starts are tried where the first finds no closed pose; seeded, so that a model always gives the same pose.
_STARTS, _SPREADS = 24, (0.7, 1.6, np.pi)
_ROUNDS = 60
# So far closed, Newton's method does the rest [rad, units of size].
CLOSE = 1e-6
# How far a pose is moved to see whether its rank is the usual one [rad, units of size].
_PROBE = 0.02
# From so near Newton's method closes a loop in fewer steps, and does not go further than this many times as far.
_STEPS, _FURTHER = 8, 5.0


def _scaled(loop: Loop, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    g, A = loop.evaluate(y[None])
    return g[0] / loop.row_scale, A[0] * loop.scale / loop.row_scale[:, None]


def closed_from(loop: Loop, y: FloatArray, moving: list[int]) -> tuple[FloatArray, float]:
    """The nearest closed pose by least squares over some coordinates, and what is left of the equations.

    That is infinite where the equations or their derivatives are not finite at y, or on the way.
    """
    try:
        return _least_squares(loop, y, moving)
    except (ValueError, np.linalg.LinAlgError):  # SciPy's and NumPy's words for it
        return y, np.inf


def _least_squares(loop: Loop, y: FloatArray, moving: list[int]) -> tuple[FloatArray, float]:
    from scipy.optimize import least_squares

    y = y.copy()

    def at(x: FloatArray) -> FloatArray:
        full = y.copy()
        full[moving] = x * loop.scale[moving]
        return full

    if moving:
        start = y[moving] / loop.scale[moving]
        found = least_squares(
            lambda x: _scaled(loop, at(x))[0],
            start,
            jac=lambda x: _scaled(loop, at(x))[1][:, moving],
            xtol=1e-14,
            ftol=1e-15,
            gtol=1e-15,
            max_nfev=200,
        )
        y = at(found.x)
        for _ in range(4):  # least squares stops at the square root of rounding where equations repeat
            g, A = _scaled(loop, y)
            step = np.linalg.lstsq(A[:, moving], -g, rcond=RANK)[0]
            y[moving] += step * loop.scale[moving]
    return y, float(np.max(np.abs(_scaled(loop, y)[0]), initial=0.0))


def gaps(loop: Loop, Y: FloatArray) -> FloatArray:
    return np.asarray(np.nan_to_num(np.max(np.abs(loop.evaluate(Y)[0] / loop.row_scale), axis=1), nan=np.inf))


def descended(loop: Loop, starts: FloatArray, moving: list[int]) -> tuple[FloatArray, FloatArray]:
    """Where Levenberg's and Marquardt's method leads from many starts at once, and what is left of the equations."""
    Y, unit = starts.copy(), loop.scale[moving]
    damping = np.full(len(Y), 1e-3)
    with np.errstate(all="ignore"):
        g, A = loop.evaluate(Y)
        for _ in range(_ROUNDS):
            residual, J = g / loop.row_scale, A[:, :, moving] * unit / loop.row_scale[:, None]
            cost = np.nan_to_num(np.sum(residual * residual, axis=1), nan=np.inf)
            if not np.any((cost > (0.1 * CLOSE) ** 2) & np.isfinite(cost) & (damping < 1e6)):
                break
            H = np.swapaxes(J, 1, 2) @ J + damping[:, None, None] * np.eye(len(moving))
            slope = np.einsum("fij,fi->fj", J, residual)
            fine = np.isfinite(H).all(axis=(1, 2)) & np.isfinite(slope).all(axis=1)
            step = np.zeros_like(slope)
            step[fine] = -np.linalg.solve(H[fine], slope[fine][:, :, None])[:, :, 0]
            trial = Y.copy()
            trial[:, moving] += step * unit
            g_1, A_1 = loop.evaluate(trial)
            better = np.sum((g_1 / loop.row_scale) ** 2, axis=1) < cost
            Y[better], g[better], A[better] = trial[better], g_1[better], A_1[better]
            damping = np.where(better, np.maximum(0.1 * damping, 1e-12), 10.0 * damping)
    return Y, gaps(loop, Y)


def assemble(loop: Loop, y: FloatArray, held: list[int], fixed: list[int]) -> FloatArray:
    """A closed pose near y (n_y,): `held` coordinates stay if they can, `fixed` ones stay.

    Raises:
        InvalidModel: no pose closes the loop; names the constraint that stays open the most, and by how much. Or an
            equation or a derivative of it is not finite at y; names the constraint.
    """
    _refuse_endless(loop, y)
    everything = [k for k in range(len(y)) if k not in fixed]
    best, gap = y, np.inf
    for moving in ([k for k in everything if k not in held], everything):
        found, left = closed_from(loop, y, moving)
        if left <= CLOSED:
            return found
        if left < gap:
            best, gap = found, left
    rng = np.random.default_rng(0)
    for spread in _SPREADS:
        starts = np.tile(y, (_STARTS, 1))
        starts[:, everything] += spread * rng.uniform(-1.0, 1.0, (_STARTS, len(everything))) * loop.scale[everything]
        reached, open_by = descended(loop, starts, everything)
        nearest = np.argsort(np.sum(((reached - y) / loop.scale) ** 2, axis=1))
        for k in nearest[open_by[nearest] <= CLOSE]:
            found, left = closed_from(loop, reached[k], everything)
            if left <= CLOSED:
                return found
        if open_by.min() < gap:
            best, gap = reached[int(np.argmin(open_by))], float(open_by.min())
    residual = loop.evaluate(best[None])[0][0]
    worst = int(np.argmax(np.abs(residual / loop.row_scale)))
    raise InvalidModel(
        f"the {loop.title} cannot be closed: constraint {loop.equations.name_of(worst)!r} stays open by "
        f"{abs(residual[worst]):.3g} in the nearest pose found; check its bodies and locations, give a pose near a "
        "closed one with embedding_of(model, branch=q), or switch it off (enforced=False)"
    )


def _refuse_endless(loop: Loop, y: FloatArray) -> None:
    g, A = loop.evaluate(y[None])
    bad = np.flatnonzero(~np.isfinite(g[0]) | ~np.isfinite(A[0]).all(axis=1))
    if not bad.size:
        return
    names = (*loop.inputs, *loop.dependents)
    where = ", ".join(f"{name} = {value:.6g}" for name, value in zip(names, y, strict=True))
    what = "value" if not np.isfinite(g[0, bad[0]]) else "derivative"
    raise InvalidModel(
        f"constraint {loop.equations.name_of(int(bad[0]))!r} has a {what} that is not finite at the pose its loop is "
        f"closed from ({where}); give another default pose, or one with embedding_of(model, branch=q)"
    )


def _closed_nearby(loop: Loop, y: FloatArray, moving: list[int]) -> tuple[FloatArray, float]:
    """`closed_from` of a pose that is nearly closed: by Newton's method, where that stays near."""
    found = y.copy()
    with np.errstate(all="ignore"):
        for _ in range(_STEPS):
            g, A = _scaled(loop, found)
            if not (np.isfinite(g).all() and np.isfinite(A).all()):
                break
            step = np.linalg.lstsq(A[:, moving], -g, rcond=RANK)[0]
            found[moving] += step * loop.scale[moving]
            # the last step takes it from closed to rounding
            if np.max(np.abs(g), initial=0.0) <= CLOSED and np.abs(step).max(initial=0.0) <= CLOSE:
                far = np.linalg.norm((found - y)[moving] / loop.scale[moving])
                left = float(np.max(np.abs(_scaled(loop, found)[0]), initial=0.0))
                if far <= _FURTHER * _PROBE and left <= CLOSED:
                    return found, left
                break
    return closed_from(loop, y, moving)


def rank_at(loop: Loop, y: FloatArray, free: list[int]) -> int:
    """How many of the loop's equations are independent at a pose, by the coordinates `free`."""
    values = np.linalg.svd(_scaled(loop, y)[1][:, free], compute_uv=False)
    return int(np.sum(values > RANK * max(values[0], 1e-300))) if values.size else 0


def usual_rank(loop: Loop, y: FloatArray, free: list[int]) -> int:
    """The rank at a closed pose y, which is also that of its neighbors.

    Raises:
        SingularSystem: neighbors have more independent equations: the pose is singular, and branches meet in it.
    """
    rank = rank_at(loop, y, free)
    _, A = _scaled(loop, y)
    null = np.linalg.svd(A[:, free])[2][rank:]
    rng = np.random.default_rng(1)
    for _ in range(2 if len(null) else 0):
        near = y.copy()
        way = rng.uniform(-1.0, 1.0, len(null)) @ null
        near[free] += _PROBE * way / np.linalg.norm(way) * loop.scale[free]
        found, left = _closed_nearby(loop, near, free)
        if left <= CLOSED and rank_at(loop, found, free) > rank:
            raise SingularSystem(
                f"the {loop.title} is in a singular position at the pose it starts from: {rank} of its equations are "
                f"independent there, more beside it, and branches meet; give a pose on the branch that is meant with "
                "embedding_of(model, branch=q), or another default pose"
            )
    return rank
