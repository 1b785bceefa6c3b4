"""Recorded shoulder girdles: the clavicle's axial rotation, and orientations that close the chain over the thorax."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import BoolArray, FloatArray
from musculo.errors import InvalidInput
from musculo.spatial.rotation import skew

Vec3 = tuple[float, float, float]

# Points are this near the ellipsoid, and slopes of the objective this near to those of the constraints [m, rad].
_CLOSED = 1e-11
_MOST_STEPS = 40
_LONGEST_STEP = 0.3  # [rad]


class ClavicleOrientation(NamedTuple):
    """A clavicle with the axial rotation that markers do not show."""

    rotation: FloatArray  # (frames, 3, 3) axes in ground; z from the sternum to the acromion
    axial: FloatArray  # (frames,) rotation about z from the axes of the ISB, whose x is across the thorax's y [rad]
    acromioclavicular: FloatArray  # (frames,) angle of the joint from its reference [rad]


def clavicle_orientation(
    sternoclavicular: ArrayLike,
    acromioclavicular: ArrayLike,
    thorax: ArrayLike,
    scapula: ArrayLike,
    *,
    reference: ArrayLike | None = None,
) -> ClavicleOrientation:
    """The clavicle's axes with the axial rotation that turns the acromioclavicular joint least.

        R_C = R_0 R_z(a),   a = atan2(Q_21 - Q_12, Q_11 + Q_22),   Q = R_0^T R_S R_CS^T

    where R_0 has z from the sternoclavicular to the acromioclavicular joint and x across the thorax's y and z (the axes
    of the ISB), R_S are the scapula's and R_CS the joint's reference. This a minimizes the angle of R_CS^T R_C^T R_S.

    Source: [VanDerHelm1995]; Antunes2025, section 4.2. Axes by [Wu2005].

    Args:
        sternoclavicular, acromioclavicular: (frames, 3) joint centers in ground [m].
        thorax, scapula: (frames, 3, 3) axes in ground; x forward, y up, z to the right. Mirror a left shoulder first.
        reference: (3, 3) the scapula's axes in the clavicle's where the joint counts as not turned; by default those
            of the first frame, with no axial rotation in it.
    """
    sc, ac = np.asarray(sternoclavicular, dtype=float), np.asarray(acromioclavicular, dtype=float)
    T, S = _rotations(thorax, "thorax"), _rotations(scapula, "scapula")
    if not sc.shape == ac.shape == (len(T), 3) or len(S) != len(T):
        raise InvalidInput(
            f"joint centers have shapes {sc.shape} and {ac.shape}, thorax {T.shape} and scapula {S.shape}; give "
            "(frames, 3) and (frames, 3, 3) of as many frames"
        )
    z = ac - sc
    if not (np.linalg.norm(z, axis=1) > 0.0).all():
        raise InvalidInput("a frame has both ends of the clavicle in one point, or none of them; leave such frames out")
    z = z / np.linalg.norm(z, axis=1, keepdims=True)
    x = np.cross(T[:, :, 1], z)
    across = np.linalg.norm(x, axis=1, keepdims=True)
    if not (across > 1e-6).all():
        raise InvalidInput("the clavicle is along the thorax's y, where its axes by the ISB are not defined")
    x = x / across
    R0 = np.stack([x, np.cross(z, x), z], axis=2)
    joint = np.swapaxes(R0, 1, 2) @ S
    rest = joint[0] if reference is None else _rotations(reference, "reference")[0]
    Q = joint @ rest.T
    axial = np.unwrap(np.arctan2(Q[:, 1, 0] - Q[:, 0, 1], Q[:, 0, 0] + Q[:, 1, 1]))
    turn = np.zeros_like(R0)
    turn[:, 0, 0] = turn[:, 1, 1] = np.cos(axial)
    turn[:, 1, 0], turn[:, 0, 1], turn[:, 2, 2] = np.sin(axial), -np.sin(axial), 1.0
    left = np.trace(np.swapaxes(turn, 1, 2) @ Q, axis1=1, axis2=2)
    return ClavicleOrientation(R0 @ turn, axial, np.arccos(np.clip(0.5 * (left - 1.0), -1.0, 1.0)))


@dataclass(frozen=True)
class ShoulderGirdle:
    """The geometry of thorax, clavicle and scapula: a chain that two points of the scapula close on the rib cage.

    Args:
        sternoclavicular: center of the joint, in the thorax [m].
        clavicle: from there to the acromioclavicular joint, in the clavicle's axes [m].
        points: two points of the scapula that glide on the rib cage, from the acromioclavicular joint, in the scapula's
            axes [m]; often the root of the spine and the lower angle.
        center: of the ellipsoid that stands for the rib cage, in the thorax [m].
        radii: of the ellipsoid, along the thorax's axes [m].
    """

    sternoclavicular: Vec3
    clavicle: Vec3
    points: tuple[Vec3, Vec3]
    center: Vec3
    radii: Vec3

    def __post_init__(self) -> None:
        for name, shape in (
            ("sternoclavicular", (3,)),
            ("clavicle", (3,)),
            ("points", (2, 3)),
            ("center", (3,)),
            ("radii", (3,)),
        ):
            value = np.asarray(getattr(self, name), dtype=float)
            if value.shape != shape or not np.isfinite(value).all():
                raise InvalidInput(f"{name} has shape {value.shape}; it needs {shape}, of finite numbers [m]")
        if min(self.radii) <= 0.0:
            raise InvalidInput(f"radii are {tuple(self.radii)}; an ellipsoid has three above zero")

    def gaps(self, clavicle: ArrayLike, scapula: ArrayLike) -> FloatArray:
        """(frames, 2) about how far both points are outside the ellipsoid, for axes in the thorax [m]."""
        C, S = _rotations(clavicle, "clavicle"), _rotations(scapula, "scapula")
        return np.asarray(_gaps(self, C, S, np.zeros((len(C), 6)))[0])


class ClosedGirdle(NamedTuple):
    """Orientations that close the chain, nearest to the measured ones."""

    clavicle: FloatArray  # (frames, 3, 3) axes in the thorax; NaN in frames without a solution
    scapula: FloatArray  # (frames, 3, 3)
    clavicle_change: FloatArray  # (frames,) angle from the measured one [rad]
    scapula_change: FloatArray  # (frames,)
    gap: FloatArray  # (frames, 2) about how far the points were off the ellipsoid as measured [m]
    found: BoolArray  # (frames,) whether the chain closes


def close_girdle(
    girdle: ShoulderGirdle,
    clavicle: ArrayLike,
    scapula: ArrayLike,
    *,
    weights: tuple[float | Vec3, float | Vec3] = (1.0, 1.0),
) -> ClosedGirdle:
    """The clavicle's and scapula's orientations nearest to measured ones with which both points are on the rib cage.

        minimize w_C . x_C^2 + w_S . x_S^2 over R_C = R_C* exp(x_C), R_S = R_S* exp(x_S)
        subject to p = SC + R_C a + R_S b_k - c on the ellipsoid:   r / 2 (sum_i (p_i / r_i)^2 - 1) = 0,   k = 1, 2

    x are rotation vectors, so that |x| is the angle of the change. Newton's method solves the optimality conditions of
    each frame by itself, with exact second derivatives.

    Source: Antunes2025, section 4.2, after Prinold and Bull 2014 (J Biomech 47:2813); the chain as in section 4.1.

    Args:
        girdle: the geometry.
        clavicle, scapula: (frames, 3, 3) measured axes in the thorax.
        weights: of changes of the clavicle and of the scapula, each one number or three, for rotations about x, y and
            z of the bone. What is measured worse weighs less.
    """
    C, S = _rotations(clavicle, "clavicle"), _rotations(scapula, "scapula")
    if len(C) != len(S):
        raise InvalidInput(f"there are {len(C)} frames of the clavicle and {len(S)} of the scapula")
    try:
        w = np.concatenate([np.broadcast_to(np.asarray(part, dtype=float), (3,)) for part in weights])
    except (TypeError, ValueError):
        w = np.zeros(0)
    if w.size != 6 or not w.min() > 0.0:
        raise InvalidInput(f"weights are {weights}; give one number or three for each bone, above zero")
    w = w / w.max()
    frames = len(C)
    x, force = np.zeros((frames, 6)), np.zeros((frames, 2))
    found = np.zeros(frames, dtype=bool)
    gap = np.asarray(_gaps(girdle, C, S, x)[0])
    whole = np.isfinite(gap).all(axis=1)
    for _ in range(_MOST_STEPS):
        open_ = np.flatnonzero(~found & whole)
        if not open_.size:
            break
        c, s, at = C[open_], S[open_], x[open_]
        g, J = (np.asarray(part) for part in _gaps(girdle, c, s, at))
        slope = w * at + np.einsum("fk,fki->fi", force[open_], J)
        found[open_] = (np.abs(g).max(axis=1) < _CLOSED) & (np.abs(slope).max(axis=1) < _CLOSED)
        K = np.zeros((open_.size, 8, 8))
        K[:, :6, :6] = np.diag(w) + np.einsum("fk,fkij->fij", force[open_], _curvature(girdle, c, s, at))
        K[:, :6, 6:], K[:, 6:, :6] = np.swapaxes(J, 1, 2), J
        right = -np.concatenate([slope, g], axis=1)[:, :, None]
        K[:, range(6, 8), range(6, 8)] -= 1e-14  # a chain that is stretched out has a constraint without slope
        step = np.linalg.solve(K, right)[:, :, 0]
        size = np.abs(step[:, :6]).max(axis=1, keepdims=True)
        part = np.minimum(1.0, _LONGEST_STEP / np.maximum(size, 1e-300))
        step = np.where(found[open_][:, None], 0.0, step * part)
        x[open_] += step[:, :6]
        force[open_] += step[:, 6:]
    closed_C, closed_S = C @ _turned(x[:, :3]), S @ _turned(x[:, 3:])
    closed_C[~found], closed_S[~found] = np.nan, np.nan
    change = [np.where(found, np.linalg.norm(part, axis=1), np.nan) for part in (x[:, :3], x[:, 3:])]
    return ClosedGirdle(closed_C, closed_S, change[0], change[1], gap, found)


Array = NDArray[Any]


def _gaps(girdle: ShoulderGirdle, C: Array, S: Array, x: Array) -> tuple[Array, Array]:
    """g (frames, 2) of both points and its slopes (frames, 2, 6) by x; x may be complex."""
    a, r = np.asarray(girdle.clavicle, dtype=float), np.asarray(girdle.radii, dtype=float)
    mean = r.mean()
    RC, RS = C @ _turned(x[:, :3]), S @ _turned(x[:, 3:])
    TC, TS = _slope(x[:, :3]), _slope(x[:, 3:])
    from_center = np.asarray(girdle.sternoclavicular, dtype=float) - np.asarray(girdle.center, dtype=float)
    g, J = [], []
    for b in np.asarray(girdle.points, dtype=float):
        p = from_center + RC @ a + RS @ b
        n = mean * p / r**2
        g.append(0.5 * (np.sum(n * p, axis=1) - mean))
        by_C = -np.einsum("fi,fij,fjk->fk", n, RC @ skew(a), TC)
        by_S = -np.einsum("fi,fij,fjk->fk", n, RS @ skew(b), TS)
        J.append(np.concatenate([by_C, by_S], axis=1))
    return np.stack(g, axis=1), np.stack(J, axis=1)


def _curvature(girdle: ShoulderGirdle, C: Array, S: Array, x: Array) -> FloatArray:
    """(frames, 2, 6, 6) second derivatives of both gaps, by the complex step of their slopes."""
    h = 1e-30
    columns = [_gaps(girdle, C, S, x + 1j * h * unit)[1].imag / h for unit in np.eye(6)]
    return np.stack(columns, axis=3)


def _turned(x: Array) -> Array:
    """exp(x~) (frames, 3, 3) of rotation vectors (frames, 3), also complex ones."""
    sine, cosine, _ = _series(x)
    K = skew(x)
    return np.eye(3) + sine * K + cosine * (K @ K)


def _slope(x: Array) -> Array:
    """T (frames, 3, 3) with d(exp(x~) a) = -exp(x~) a~ T dx."""
    _, cosine, rest = _series(x)
    K = skew(x)
    return np.eye(3) - cosine * K + rest * (K @ K)


def _series(x: Array) -> tuple[Array, Array, Array]:
    """sin t / t, (1 - cos t) / t^2 and (t - sin t) / t^3 (frames, 1, 1) of t = |x|."""
    square = np.sum(x * x, axis=1)[:, None, None]
    small = np.abs(square) < 1e-6
    t = np.sqrt(np.where(small, 1.0, square))
    return (
        np.where(small, 1.0 - square / 6.0 + square**2 / 120.0, np.sin(t) / t),
        np.where(small, 0.5 - square / 24.0 + square**2 / 720.0, (1.0 - np.cos(t)) / t**2),
        np.where(small, 1.0 / 6.0 - square / 120.0 + square**2 / 5040.0, (t - np.sin(t)) / t**3),
    )


def _rotations(values: ArrayLike, name: str) -> FloatArray:
    """(frames, 3, 3) rotation matrices, also of one frame."""
    R = np.asarray(values, dtype=float)
    if R.shape == (3, 3):
        R = R[None]
    if R.ndim != 3 or R.shape[1:] != (3, 3) or not len(R):
        raise InvalidInput(f"{name} has shape {R.shape}; give rotation matrices (frames, 3, 3)")
    off = np.abs(R @ np.swapaxes(R, 1, 2) - np.eye(3)).max(axis=(1, 2))
    third = np.sum(np.cross(R[:, :, 0], R[:, :, 1]) * R[:, :, 2], axis=1)
    wrong = (off > 1e-6) | (third < 0.0)
    if np.any(wrong):
        raise InvalidInput(
            f"frame {int(np.argmax(wrong))} of {name} is no rotation matrix; its columns are right-handed unit axes"
        )
    return R
