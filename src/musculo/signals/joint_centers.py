"""Joint centers from recorded markers: by moving the joint, or by a regression from landmarks."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, warn

# The markers' spread in the weakest direction must exceed their noise by this factor. Of a hinge it is about 1.
_LEAST_SPREAD = 3.0
# Skin of a thigh moves by 10 to 30 mm on its bone (Leardini et al. 2005, Gait & Posture 21:212) [m].
_SKIN = 0.01
_MOST_ROUNDS = 50
# A cluster thinner than this part of its length does not show how it turns about its own axis.
_THIN = 1e-3


class ClusterPoses(NamedTuple):
    """How a cluster of markers moved from its reference positions: x = rotation x_reference + translation."""

    rotation: FloatArray  # (frames, 3, 3); NaN where fewer than three markers are visible
    translation: FloatArray  # (frames, 3) [m]
    residual: FloatArray  # (frames,) RMS distance of the markers from where a rigid cluster has them [m]

    def carry(self, points: ArrayLike) -> FloatArray:
        """Points (3,) or (k, 3), known at the reference, as the cluster carries them: (frames, 3) or (frames, k, 3)."""
        x = np.asarray(points, dtype=float)
        if x.ndim not in (1, 2) or x.shape[-1] != 3:
            raise InvalidInput(f"points have shape {x.shape}; give (3,) or (points, 3)")
        moved = np.einsum("fij,kj->fki", self.rotation, np.atleast_2d(x)) + self.translation[:, None]
        return np.asarray(moved if x.ndim == 2 else moved[:, 0])


def cluster_poses(reference: ArrayLike, markers: ArrayLike) -> ClusterPoses:
    """The rotation and translation of a rigid cluster in every frame, by least squares.

        minimize sum_k |R x_k + p - y_k|^2:
        R = U diag(1, 1, det U V^T) V^T,   U S V^T = sum_k (y_k - ybar)(x_k - xbar)^T

    Source: Soderkvist and Wedin 1993, J Biomech 26:1473.

    Args:
        reference: (markers, 3) positions in one pose, for instance of a static trial [m].
        markers: (frames, markers, 3) positions over time; NaN where a marker is not visible.
    """
    y = _trajectories(markers, "markers")
    x = np.asarray(reference, dtype=float)
    if x.shape != y.shape[1:]:
        raise InvalidInput(f"the reference has shape {x.shape}; it needs {y.shape[1:]}, one row for each marker")
    if not np.isfinite(x).all():
        raise InvalidInput("the reference holds a marker that is not visible; give a frame in which all are")
    size = np.linalg.svd(x - x.mean(axis=0), compute_uv=False)
    if len(x) < 3 or size[1] < _THIN * size[0]:
        raise InvalidInput(
            f"{len(x)} markers that are on one line do not show how a segment turns; give at least three, not in line"
        )
    seen = np.asarray(np.isfinite(y).all(axis=2))
    weight = seen / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    there = np.where(seen[:, :, None], y, 0.0)
    mean_x, mean_y = weight @ x, np.einsum("fk,fki->fi", weight, there)
    dx, dy = x[None] - mean_x[:, None], there - mean_y[:, None]
    U, s, Vt = np.linalg.svd(np.einsum("fk,fki,fkj->fij", weight, dy, dx))
    U[:, :, 2] *= np.sign(np.linalg.det(U @ Vt))[:, None]
    R = U @ Vt
    # three visible markers may be in line, too
    R[(seen.sum(axis=1) < 3) | (s[:, 1] < _THIN**2 * s[:, 0])] = np.nan
    p = mean_y - np.einsum("fij,fj->fi", R, mean_x)
    off = np.einsum("fij,kj->fki", R, x) + p[:, None] - there
    return ClusterPoses(R, p, np.sqrt(np.sum(weight * np.sum(off**2, axis=2), axis=1)))


class FunctionalCenter(NamedTuple):
    """A joint center that was found by moving the joint."""

    center: FloatArray  # (3,) at the reference pose of the fixed markers, in ground [m]
    path: FloatArray  # (frames, 3) in every frame, in ground [m]
    radii: FloatArray  # (markers,) distances of the moving markers from it [m]
    noise: float  # RMS of what distances vary by [m]
    standard_error: FloatArray  # (3,) of the center, from how distances vary [m]
    spread: float  # RMS of the markers about their means along the direction in which they move least [m]
    determined: bool  # whether that spread exceeds the noise enough


def functional_joint_center(
    moving: ArrayLike, fixed: ArrayLike | None = None, *, reference: ArrayLike | None = None, correct_bias: bool = True
) -> FunctionalCenter:
    """The point from which all markers of a moving segment keep their distances: a shoulder or a hip.

        minimize sum_p sum_k (|v_pk - m|^2 - r_p^2)^2 over m and r:   A m = b,
        A = 2 sum_p (mean v v^T - vbar vbar^T),   b = sum_p (mean v |v|^2 - vbar mean |v|^2)

    with v_pk marker p in frame k, seen from the fixed segment. Noise of variance s^2 pulls this center towards the
    markers; its expected part, 2 s^2 on each diagonal element and 2 s^2 vbar, is subtracted for each marker, with s
    from how far distances vary.

    Source:     [Gamage2002], eq. 5-7; the correction after Halvorsen 2003, J Biomech 36:999.
    Departs:    the mean over the frames in which each marker is visible.
    Guarantees: exact where markers keep their distances and do not all move in one plane.

    Args:
        moving: (frames, markers, 3) of the segment that moves, in ground; NaN where not visible.
        fixed: (frames, markers, 3) of three or more markers on the segment in which the center stays; without them
            it stays in ground.
        reference: (markers, 3) of the fixed markers in the pose in which the center is wanted, such as that of a static
            trial; by default the first frame in which all are visible.
        correct_bias: whether the pull of noise is corrected.
    """
    y = _trajectories(moving, "moving")
    poses = None
    if fixed is not None:
        held = _trajectories(fixed, "fixed")
        if len(held) != len(y):
            raise InvalidInput(f"there are {len(y)} frames of moving markers and {len(held)} of fixed ones")
        if reference is None:
            whole = np.flatnonzero(np.isfinite(held).all(axis=(1, 2)))
            if not whole.size:
                raise InvalidInput("no frame has all fixed markers; give their positions in one pose as reference")
            reference = held[whole[0]]
        poses = cluster_poses(reference, held)
        y = np.einsum("fji,fkj->fki", poses.rotation, y - poses.translation[:, None])
    elif reference is not None:
        raise InvalidInput("a reference is the pose of fixed markers; give these, too, or leave it out")
    v = [y[np.isfinite(y[:, k]).all(axis=1), k] for k in range(y.shape[1])]
    short = [k for k, one in enumerate(v) if len(one) < 4]
    if short:
        raise InvalidInput(f"moving marker {short[0]} is visible in {len(v[short[0]])} usable frames; four are needed")
    m, noise, weakest, spread = _center(v, correct_bias)
    determined = bool(spread > _LEAST_SPREAD * noise and spread > 1e-9)
    if not determined:
        along = ", ".join(f"{x:.2f}" for x in weakest)
        warn(
            f"the joint center is not determined along ({along}): the markers move by {1e3 * spread:.2g} mm in that "
            f"direction, with {1e3 * noise:.2g} mm of noise; a joint that turns about one axis has no center, so "
            "move it about several"
        )
    elif spread < _SKIN:
        warn(
            f"the markers move by {1e3 * spread:.2g} mm in the direction in which they move least; skin moves as much "
            "by itself, so the joint center may be off by more than its standard error says; move the joint further, "
            "about several axes (a walk is not enough for a hip)"
        )
    error = _standard_error(y, m)
    path = np.broadcast_to(m, (len(y), 3)).copy() if poses is None else poses.carry(m)
    radii = np.array([np.linalg.norm(one - m, axis=1).mean() for one in v])
    return FunctionalCenter(m, path, radii, noise, error, spread, determined)


def _center(v: list[FloatArray], correct: bool) -> tuple[FloatArray, float, FloatArray, float]:
    """The center, the noise, the direction in which markers move least and how far they move in it."""
    origin = np.mean([one.mean(axis=0) for one in v], axis=0)  # near the markers, where little cancels
    near = [one - origin for one in v]
    means = np.stack([one.mean(axis=0) for one in near])
    A, b = np.zeros((3, 3)), np.zeros(3)
    for one, mean in zip(near, means, strict=True):
        square = np.sum(one**2, axis=1)
        A += 2.0 * (one.T @ one / len(one) - np.outer(mean, mean))
        b += (one * square[:, None]).mean(axis=0) - mean * square.mean()
    values, axes = np.linalg.eigh(A)
    spread = float(np.sqrt(max(values[0], 0.0) / (2.0 * len(v))))
    m: FloatArray = np.asarray(np.linalg.lstsq(A, b, rcond=1e-12)[0], dtype=float)
    noise = _noise(near, m)
    for _ in range(_MOST_ROUNDS if correct and spread > _LEAST_SPREAD * noise else 0):
        pull = 2.0 * noise**2
        corrected = np.linalg.solve(A - len(v) * pull * np.eye(3), b - pull * means.sum(axis=0))
        before, m = m, np.asarray(corrected, dtype=float)
        noise = _noise(near, m)
        if np.linalg.norm(m - before) < 1e-12:
            break
    return m + origin, noise, axes[:, 0], spread


def _noise(v: list[FloatArray], m: FloatArray) -> float:
    """RMS of what distances vary by, for as many numbers as are left when center and distances are found."""
    distances = [np.linalg.norm(one - m, axis=1) for one in v]
    total = sum(float(np.sum((d - d.mean()) ** 2)) for d in distances)
    return float(np.sqrt(total / max(sum(map(len, v)) - len(v) - 3, 1)))


def _standard_error(y: FloatArray, m: FloatArray) -> FloatArray:
    """(3,) from the residuals d of distances, with slopes u of distances by the center where their means are free.

        cov = N^-1 (sum_k s_k s_k^T) N^-1,   N = sum u u^T,   s_k = sum_p u_pk d_pk of frame k

    Markers of one frame may err together: all do where the fixed segment's pose is off.
    """
    away = y - m
    distance = np.linalg.norm(away, axis=2)
    d = np.nan_to_num(distance - np.nanmean(distance, axis=0))
    u = away / distance[:, :, None]
    u = np.nan_to_num(u - np.nanmean(u, axis=0))
    inverse = np.linalg.pinv(np.einsum("fpi,fpj->ij", u, u), rcond=1e-14, hermitian=True)
    each = np.einsum("fpi,fp->fi", u, d) @ inverse
    return np.asarray(np.sqrt(np.sum(each**2, axis=0)))


class HipCenters(NamedTuple):
    """Predicted hip centers, in ground, and the pelvis that they are predicted in."""

    right: FloatArray  # (..., 3) [m]
    left: FloatArray  # (..., 3) [m]
    pelvis: FloatArray  # (..., 3, 3) its axes in ground: x forward, y up, z to the right


def predicted_hip_centers(
    asis_right: ArrayLike,
    asis_left: ArrayLike,
    psis: ArrayLike,
    leg_length: float | ArrayLike,
    *,
    marker_height: float = 0.0,
) -> HipCenters:
    """Hip centers from the length of the legs, in the axes of the pelvis, from the middle between both ASIS.

        forward 11 - 0.063 L,   up -9 - 0.078 L,   sideways +-(8 + 0.086 L)   [mm]

    z points from the left ASIS to the right one, x forward in the plane of both and the middle of the PSIS, y up.

    Source:  [Hara2016], the equations of leg length alone, from computed tomography of 157 people of all ages.
    Departs: a marker's center is in front of the bone that they are stated for; `marker_height` takes that back.

    Args:
        asis_right, asis_left: (..., 3) anterior superior iliac spines [m].
        psis: (..., 3) middle of the posterior superior iliac spines, or a marker on the sacrum between them [m].
        leg_length: L, from ASIS to medial malleolus [m]; one, or right and left.
        marker_height: from the skin to the centers of the markers [m].
    """
    right, left, back = (np.asarray(x, dtype=float) for x in (asis_right, asis_left, psis))
    for name, x in (("asis_right", right), ("asis_left", left), ("psis", back)):
        if x.shape != right.shape or x.shape[-1:] != (3,):
            raise InvalidInput(f"{name} has shape {x.shape}; give all three landmarks as (..., 3) of the same shape")
    try:
        L_right, L_left = np.broadcast_to(np.asarray(leg_length, dtype=float), (2,))
    except ValueError:
        raise InvalidInput(f"leg_length has shape {np.shape(leg_length)}; give one, or right and left") from None
    if not (0.2 < L_right < 1.5 and 0.2 < L_left < 1.5):
        raise InvalidInput(f"leg lengths of {L_right:g} and {L_left:g} m are impossible; give meters, such as 0.87")
    z = right - left
    forward = 0.5 * (right + left) - back
    y = np.cross(z, forward)
    with np.errstate(invalid="ignore"):
        thin = np.linalg.norm(y, axis=-1) < _THIN * np.sum(z * z, axis=-1)
    if np.any(thin):
        raise InvalidInput("both ASIS and the middle of the PSIS are on one line, or one point; check which is which")
    x = np.cross(y, z)
    pelvis = np.stack([axis / np.linalg.norm(axis, axis=-1, keepdims=True) for axis in (x, y, z)], axis=-1)
    middle = 0.5 * (right + left)
    hips = []
    for length, side in ((float(L_right), 1.0), (float(L_left), -1.0)):
        local = np.array(
            [0.011 - 0.063 * length - marker_height, -0.009 - 0.078 * length, side * (0.008 + 0.086 * length)]
        )
        hips.append(middle + pelvis @ local)
    return HipCenters(hips[0], hips[1], pelvis)


def _trajectories(values: Any, name: str) -> FloatArray:
    """(frames, markers, 3), also of one marker (frames, 3)."""
    if hasattr(values, "position") and hasattr(values, "names"):
        values = values.position
    x = np.array(values, dtype=float)
    if x.ndim == 2:
        x = x[:, None]
    if x.ndim != 3 or x.shape[2] != 3 or 0 in x.shape:
        raise InvalidInput(f"{name} has shape {np.shape(values)}; give (frames, markers, 3), such as markers.position")
    return x
