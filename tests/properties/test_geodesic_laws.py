"""What holds for every taut path: its slope, its symmetry, its continuity, and that one is found at all."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.transform import Rotation

from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE, TORUS
from support import geodesic_segments as gd
from support.geodesic_segments import Surfaces, solve_segments
from support.section_lengths import least_length

# Central differences with steps of h, 2 h, 4 h, extrapolated: h^6 and 1e-13 / h are both below 1e-9.
STEP = 3e-4
SLOPE = 1e-9
# Ends of geodesics are good to 1e-12 of the size; poses here are of size one.
SAME_PATH = 1e-10
KINDS = {"cylinder": CYLINDER, "sphere": SPHERE, "ellipsoid": ELLIPSOID, "torus": TORUS}


def scene(kinds, frames, rng, near=0.25):
    """Obstacles in a row along x between the origin and an end, each turned and shifted at random, open sides."""
    n = len(kinds)
    size = np.array([(rng.uniform(0.1, 0.3), 0.6, 0.0) if k == TORUS else rng.uniform(0.3, 0.5, 3) for k in kinds])
    surfaces = Surfaces(np.array(kinds), size)
    R = Rotation.random(frames * n, rng=rng).as_matrix().reshape(frames, n, 3, 3)
    p = np.zeros((frames, n, 3))
    p[:, :, 0] = 1.3 * np.arange(1, n + 1)
    p[:, :, 1:] = near * rng.normal(size=(frames, n, 2))
    for i, kind in enumerate(kinds):
        tilt = Rotation.from_rotvec(0.3 * rng.normal(size=(frames, 3))).as_matrix()
        if kind == CYLINDER:  # across the path
            about_x = np.column_stack([rng.uniform(0, 6.3, frames), np.zeros((frames, 2))])
            R[:, i] = Rotation.from_rotvec(about_x).as_matrix() @ tilt
        if kind == TORUS:  # round the path, which then hangs on its inner side
            R[:, i] = Rotation.from_euler("y", 90, degrees=True).as_matrix() @ tilt
            p[:, i, 1:] *= 0.6 / near
    start, end = np.zeros((frames, 3)), np.tile([1.3 * (n + 1), 0.0, 0.0], (frames, 1))
    return surfaces, start, end, R, p


def rows_of(G, first):
    return G[..., first : first + 3]


def predicted_slope(scene, G, d_start, d_end, d_p, d_turn):
    """d(length) by the formula of `geodesic_segment`, for small displacements of ends and obstacles."""
    _, start, end, _, p = scene
    total, before, moved, leaving = 0.0, start, d_start, 0.0 * start
    n = p.shape[1]
    for k in range(n + 1):
        if k < n:
            on = G[:, k, gd.CONTACT, None]
            first, last = rows_of(G[:, k], gd.FIRST), rows_of(G[:, k], gd.LAST)
            d_first = d_p[:, k] + np.cross(d_turn[:, k], first - p[:, k])
            d_last = d_p[:, k] + np.cross(d_turn[:, k], last - p[:, k])
            for x, dx, shrinker in ((start, d_start, 1), (end, d_end, 2)):
                own = d_p[:, k] + np.cross(d_turn[:, k], x - p[:, k])
                gain = G[:, k, gd.PRESS, None] * rows_of(G[:, k], gd.GRADIENT)
                total += np.where(G[:, k, gd.SHRINKER] == shrinker, np.sum(gain * (dx - own), axis=1), 0.0)
        else:
            on, first, d_first = np.ones((len(start), 1)), end, d_end
            last, d_last = end, d_end
        piece = first - before
        size = np.linalg.norm(piece, axis=1, keepdims=True)
        # a piece without a length, at an end on the surface, has the direction of the tangent there
        tangent = rows_of(G[:, k], gd.FIRST_TANGENT) if k < n else leaving
        unit = np.where(size > 1e-9, piece / np.maximum(size, 1e-300), tangent)
        total += np.sum(on * unit * (d_first - moved), axis=1)
        before, moved = np.where(on > 0, last, before), np.where(on > 0, d_last, moved)
        if k < n:
            leaving = np.where(on > 0, rows_of(G[:, k], gd.LAST_TANGENT), leaving)
    return total


def extrapolated_slope(scene, directions):
    surfaces, start, end, R, p = scene
    d_start, d_end, d_p, d_turn = directions

    def length(h):
        turn = Rotation.from_rotvec(h * d_turn.reshape(-1, 3)).as_matrix().reshape(R.shape)
        return solve_segments(surfaces, start + h * d_start, end + h * d_end, turn @ R, p + h * d_p)[0]

    slopes = [(length(h) - length(-h)) / (2 * h) for h in (STEP, 2 * STEP, 4 * STEP)]
    once = [(4 * a - b) / 3 for a, b in itertools.pairwise(slopes)]
    return (16 * once[0] - once[1]) / 15


@pytest.mark.parametrize("kinds", [["cylinder"], ["sphere"], ["ellipsoid"], ["torus"], ["ellipsoid", "cylinder"], ["torus", "sphere", "ellipsoid"]])  # fmt: skip  # noqa: E501
def test_slope_of_the_length_is_that_of_the_straight_pieces(kinds):
    rng = np.random.default_rng(3)
    frames = 300
    case = scene([KINDS[k] for k in kinds], frames, rng, near=0.15)
    n = len(kinds)
    directions = (*rng.normal(size=(2, frames, 3)), *rng.normal(size=(2, frames, n, 3)))
    _, status, G = solve_segments(*case)
    # frames where a contact comes or goes within the steps, or where the side switches, have no fourth derivative
    clear = (np.where(G[:, :, gd.CONTACT] > 0, G[:, :, gd.LENGTH], 1.0) > 0.08).all(axis=1) & (status == gd.CONVERGED)
    for h in (-4 * STEP, 4 * STEP):
        turn = Rotation.from_rotvec(h * directions[3].reshape(-1, 3)).as_matrix().reshape(case[3].shape)
        moved = (case[0], case[1] + h * directions[0], case[2] + h * directions[1], turn @ case[3])
        _, _, G_h = solve_segments(*moved, case[4] + h * directions[2])
        clear &= (G_h[:, :, gd.CONTACT] == G[:, :, gd.CONTACT]).all(axis=1)
        shift = np.linalg.norm(rows_of(G_h, gd.FIRST) - rows_of(G, gd.FIRST), axis=2) * G[:, :, gd.CONTACT]
        clear &= (shift < 0.05).all(axis=1)
    error = extrapolated_slope(case, directions) - predicted_slope(case, G, *directions)
    clear &= (G[:, :, gd.CONTACT] > 0).any(axis=1)
    assert np.count_nonzero(clear) > 20
    # where a side is about to switch, higher derivatives are large and differences see them
    assert np.quantile(np.abs(error[clear]), 0.95) < SLOPE
    assert_allclose(error[clear], 0, atol=1e-6)


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid", "torus"])
def test_slope_with_an_end_inside(kind):
    """Shrinking adds START_GAIN and END_GAIN, and nothing else."""
    rng = np.random.default_rng(5)
    frames = 200
    surfaces, start, end, R, p = scene([KINDS[kind]], frames, rng)
    inside = rng.uniform(-0.3, 0.3, (frames, 3)) * (0.5 if kind == "torus" else 1.0)
    if kind == "torus":
        inside[:, 0] += 0.6
        inside[:, 1] *= 0.1
    start = p[:, 0] + np.einsum("fij,fj->fi", R[:, 0], inside)
    case = (surfaces, start, end, R, p)
    directions = (*rng.normal(size=(2, frames, 3)), *rng.normal(size=(2, frames, 1, 3)))
    _, status, G = solve_segments(*case)
    ok = (status == gd.INSIDE) & (G[:, 0, gd.LENGTH] > 0.15) & (G[:, 0, gd.SHRINK] > 0.5) & (G[:, 0, gd.SHRINK] < 0.95)
    error = extrapolated_slope(case, directions) - predicted_slope(case, G, *directions)
    assert np.count_nonzero(ok) > 5
    assert np.median(np.abs(error[ok])) < 100 * SLOPE


@pytest.mark.parametrize("kinds", [["cylinder"], ["sphere"], ["ellipsoid"], ["torus"], ["cylinder", "ellipsoid"]])
def test_a_path_is_as_long_backwards_and_wherever_the_world_is(kinds):
    rng = np.random.default_rng(7)
    surfaces, start, end, R, p = scene([KINDS[k] for k in kinds], 200, rng)
    there, status, _ = solve_segments(surfaces, start, end, R, p)
    reverse = Surfaces(*(np.ascontiguousarray(a[::-1]) for a in surfaces))
    back, _, _ = solve_segments(reverse, end, start, R[:, ::-1], p[:, ::-1])
    T, shift = Rotation.random(rng=rng).as_matrix(), rng.normal(size=3)
    moved, _, _ = solve_segments(surfaces, start @ T.T + shift, end @ T.T + shift, T @ R, p @ T.T + shift)
    assert (status <= gd.INSIDE).all()
    if len(kinds) == 1:  # several obstacles take sides in their order; polylines compare these in paths
        assert_allclose(back, there, atol=SAME_PATH, rtol=0)
    else:
        assert np.mean(np.abs(back - there) < SAME_PATH) > 0.9
    assert_allclose(moved, there, atol=SAME_PATH, rtol=0)


@pytest.mark.parametrize("kinds", [["ellipsoid"], ["torus"], ["cylinder", "ellipsoid", "sphere"]])
def test_shuffled_frames_give_the_same_bits(kinds):
    rng = np.random.default_rng(11)
    case = scene([KINDS[k] for k in kinds], 300, rng)
    length, _, _ = solve_segments(*case)
    order = rng.permutation(300)
    shuffled, _, _ = solve_segments(case[0], *(a[order] for a in case[1:]))
    assert_array_equal(shuffled, length[order])


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid", "torus"])
def test_length_is_continuous(kind):
    """10^4 short random steps of ends and pose: no change beyond what the steps allow, sides open.

    Moving an end by d changes the length by d at most; moving an obstacle by d, by 2 d. Ends stay outside.
    """
    rng = np.random.default_rng(13)
    frames = 10_000
    surfaces, start, end, R, p = scene([KINDS[kind]], frames, rng, near=0.35)
    start, end = start + 0.3 * rng.normal(size=(frames, 3)), end + 0.3 * rng.normal(size=(frames, 3))
    start[:, 0], end[:, 0] = np.minimum(start[:, 0], 0.3), np.maximum(end[:, 0], 2.3)
    size = 10.0 ** rng.uniform(-9, -3, frames)
    d = [v / np.linalg.norm(v, axis=1, keepdims=True) * size[:, None] for v in rng.normal(size=(3, frames, 3))]
    before, status, G = solve_segments(surfaces, start, end, R, p)
    after, status_2, G_2 = solve_segments(surfaces, start + d[0], end + d[1], R, p + d[2][:, None])
    outside = (G[:, 0, gd.SHRINK] == 1) & (G_2[:, 0, gd.SHRINK] == 1)
    # no contact over a torus is found now and then; a polyline takes its place in paths
    found = (status <= gd.INSIDE) & (status_2 <= gd.INSIDE)
    assert found.all() if kind != "torus" else found.mean() > 0.99
    outside &= found
    jump = np.abs(after - before) - 4.0 * size
    assert outside.mean() > 0.9
    assert jump[outside].max() < SAME_PATH


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid", "torus"])
def test_nothing_jumps_where_contact_comes_or_goes(kind):
    """Between a frame in contact and one without, halve the way to the switch: both sides are equally long.

    Left out: an end that crosses the plane of a torus outside its ring, where the path is pulled in by definition.
    """
    rng = np.random.default_rng(19)
    frames = 400
    surfaces, start, end, R, p = scene([KINDS[kind]], frames, rng, near=0.35)
    other = p.copy()
    other[:, :, 1:] = 0.35 * rng.normal(size=(frames, 1, 2))
    G_a, G_b = (solve_segments(surfaces, start, end, R, q)[2] for q in (p, other))
    pick = G_a[:, 0, gd.CONTACT] != G_b[:, 0, gd.CONTACT]
    assert np.count_nonzero(pick) > 40
    start, end, R, p, other = start[pick], end[pick], R[pick], p[pick], other[pick]
    first = G_a[pick, 0, gd.CONTACT]
    low, high = np.zeros(len(p)), np.ones(len(p))
    for _ in range(48):
        middle = 0.5 * (low + high)
        contact = solve_segments(surfaces, start, end, R, p + middle[:, None, None] * (other - p))[2][:, 0, gd.CONTACT]
        low, high = np.where(contact == first, middle, low), np.where(contact == first, high, middle)
    sides = [solve_segments(surfaces, start, end, R, p + s[:, None, None] * (other - p))[0] for s in (low, high)]
    keep = np.ones(len(p), bool)
    if kind == "torus":
        at = p[:, 0] + low[:, None] * (other - p)[:, 0]
        keep = np.min([np.abs(np.sum(R[:, 0, :, 2] * (x - at), axis=1)) for x in (start, end)], axis=0) > 1e-9
    assert keep.mean() > 0.95
    assert_allclose(sides[0][keep], sides[1][keep], atol=SAME_PATH, rtol=0)


def outside_points(shape, size, frames, rng):
    """Points from just above the surface to ten sizes away."""
    height = 10.0 ** rng.uniform(-6, 1, (frames, 1))
    u = rng.normal(size=(frames, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    if shape == TORUS:
        ring = u * [1, 1, 0] / np.linalg.norm(u[:, :2], axis=1, keepdims=True)
        tube = rng.uniform(0, 2 * np.pi, (frames, 1))
        out = np.cos(tube) * ring + np.sin(tube) * [0, 0, 1]
        # the far side of the axis would be the inside of the ring's other half
        reach = np.where(np.cos(tube) < 0, np.minimum(1 + height, 0.9 * size[1] / size[0]), 1 + height)
        return size[1] * ring + np.maximum(reach, 1 + 1e-6) * size[0] * out
    if shape == CYLINDER:
        return u / np.linalg.norm(u[:, :2], axis=1, keepdims=True) * size[0] * (1 + height)
    return u * size * (1 + height)


@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid", "torus"])
def test_a_path_is_found_everywhere(kind):
    """Random sizes (ratios up to 10) and ends, from a millionth of the size off the surface to ten sizes away.

    A torus whose chord lies almost in its ring's plane would touch the tube twice; one contact cannot be taut there,
    and LEFT_OUT says so. Of other paths over a torus one in twenty is not found, over an ellipsoid one in 800;
    a polyline takes their place in paths.
    """
    rng = np.random.default_rng(17)
    failures, contacts, batches, frames = 0, 0, 50, 50
    for _ in range(batches):
        size = 10.0 ** rng.uniform(-1, 0, 3)
        if kind == "torus":
            size = np.array([10.0 ** rng.uniform(-1.5, -0.1), 1.0, 0.0])
        if kind == "sphere":
            size[:] = size[0]
        surfaces = Surfaces(np.array([KINDS[kind]]), size[None])
        start = outside_points(KINDS[kind], size, frames, rng)
        end = outside_points(KINDS[kind], size, frames, rng)
        R, p = np.tile(np.eye(3), (frames, 1, 1, 1)), np.zeros((frames, 1, 3))
        length, status, G = solve_segments(surfaces, start, end, R, p)
        failures += np.count_nonzero(status > gd.INSIDE)
        contacts += int(G[:, 0, gd.CONTACT].sum())
        assert np.isfinite(length).all()
        assert (length >= np.linalg.norm(end - start, axis=1) - 1e-12).all()
    assert contacts > 0.2 * batches * frames
    assert failures <= {"torus": 0.05, "ellipsoid": 0.005}.get(kind, 0.0) * batches * frames


def test_no_path_over_an_ellipsoid_is_longer_than_one_in_a_plane():
    """Ellipsoids with axes as 10 to 1 at most, ends down to 1e-6 of the size above them. A path in a plane through both
    ends is one of many, so the shortest is no longer; where none is found, LEFT_OUT says so."""
    rng = np.random.default_rng(23)
    frames, lost, touching = 40, 0, 0
    R, p = np.tile(np.eye(3), (frames, 1, 1, 1)), np.zeros((frames, 1, 3))
    for _ in range(40):
        size = 10.0 ** rng.uniform(-1, 0, 3)
        surfaces = Surfaces(np.array([ELLIPSOID]), size[None])
        start, end = (outside_points(ELLIPSOID, size, frames, rng) for _ in range(2))
        length, status, G = solve_segments(surfaces, start, end, R, p)
        lost += np.count_nonzero(status > gd.INSIDE)
        for f in np.flatnonzero((G[:, 0, gd.CONTACT] > 0) & (status <= gd.INSIDE))[::4]:
            P, Q = start[f] / size, end[f] / size
            least = min(least_length(size, P, Q, 2, sign) for sign in (1.0, -1.0))
            assert length[f] <= least + 2e-4 * size.max(), (size, start[f], end[f])
            touching += 1
    assert touching > 80
    assert lost <= 4


def test_ends_just_above_a_long_ellipsoid():
    """A start that was joined on the far side of the body gave a path of 2.2355."""
    size, start, end = (0.16436, 0.93994, 0.25714), (-0.10875, 0.53275, 0.12671), (0.13275, -0.52374, -0.05108)
    surfaces = Surfaces(np.array([ELLIPSOID]), np.array([size]))
    R, p = np.eye(3)[None, None], np.zeros((1, 1, 3))
    length, status, _ = solve_segments(surfaces, np.array([start]), np.array([end]), R, p)
    assert status[0] == gd.CONVERGED
    assert abs(length[0] - 1.1947) < 1e-4
