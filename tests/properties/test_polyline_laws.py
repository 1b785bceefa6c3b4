"""What holds for every polyline over solids that overlap: its slope, its symmetries, what a further solid does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from musculo.kernels.paths.path_points import CYLINDER, ELLIPSOID, SPHERE
from musculo.kernels.wrapping.geodesic.obstacle_workspace import CONTACT, FIRST, LAST
from musculo.kernels.wrapping.polyline.polyline_search import WRENCH
from support.geodesic_segments import Surfaces
from support.polyline_segments import solve_polylines
from support.taut_polyline import Solid, taut

# Central differences of these steps; the best counts, as the set of knots in contact changes now and then.
STEPS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6)
SLOPE = 1e-9
NAMES = {CYLINDER: "cylinder", SPHERE: "sphere", ELLIPSOID: "ellipsoid"}
EXAMPLES = settings(max_examples=15, deadline=None)


def scene(seed, n):
    """n solids of 15 to 40 mm about the origin, all of which overlap, between two points that they come between."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice([CYLINDER, SPHERE, ELLIPSOID], n)
    size = rng.uniform(0.015, 0.04, (n, 3))
    R = Rotation.random(n, rng=rng).as_matrix()
    for k in np.flatnonzero(kinds == CYLINDER):  # across the polyline
        R[k] = Rotation.from_rotvec([rng.uniform(0, 6.3), 0, 0]).as_matrix()
        R[k] = R[k] @ Rotation.from_rotvec(0.4 * rng.normal(size=3)).as_matrix()
    p = 0.012 * rng.normal(size=(n, 3))
    ends = np.array([[-0.12, 0, 0], [0.12, 0, 0]]) + 0.01 * rng.normal(size=(2, 3))
    return Surfaces(kinds, size), ends[0], ends[1], R, p


def lengths(case, order=None, back=False):
    surfaces, start, end, R, p = case
    if order is not None:
        surfaces, R, p = Surfaces(*(x[order] for x in surfaces)), R[order], p[order]
    if back:
        start, end = end, start
    return solve_polylines(surfaces, start[None], end[None], R[None], p[None])


@given(st.integers(0, 10**6), st.integers(2, 3))
@EXAMPLES
def test_forces_are_the_slope_of_the_length(seed, n):
    """By a motion of all ends and solids of about a radian and 30 mm."""
    case = scene(seed, n)
    surfaces, start, end, R, p = case
    _, ends, solids = lengths(case)
    rng = np.random.default_rng(seed + 1)
    d_ends, d_p, d_turn = 0.03 * rng.normal(size=(2, 3)), 0.03 * rng.normal(size=(n, 3)), rng.normal(size=(n, 3))
    wrench = solids[0, :, WRENCH : WRENCH + 6]
    # a solid that turns about its centre p moves the origin by d_p - d_turn x p
    moved = d_p - np.cross(d_turn, p)
    expected = -(ends[0] * d_ends).sum() - (wrench[:, :3] * d_turn).sum() - (wrench[:, 3:] * moved).sum()
    best = np.inf
    for h in STEPS:
        a = h * np.array([-2, -1, 1, 2])
        turns = np.array([Rotation.from_rotvec(x * d_turn).as_matrix() @ R for x in a])
        L = solve_polylines(
            surfaces, start + a[:, None] * d_ends[0], end + a[:, None] * d_ends[1], turns, p + a[:, None, None] * d_p
        )[0]
        best = min(best, abs((L[0] - L[3]) / 12 + (L[2] - L[1]) * 8 / 12 - h * expected) / h)
    assert best < SLOPE


@given(st.integers(0, 10**6), st.integers(2, 3))
@EXAMPLES
def test_what_is_known_changes_nothing(seed, n):
    """Directions that cannot hold a path as short as the known one are not looked into: a shorter one is found still,
    and none where there is none."""
    surfaces, start, end, R, p = scene(seed, n)
    known = [0.0, 1.0, 1.0001, 1.01, 1.1]
    frames = len(known)
    alike = [np.repeat(x[None], frames, axis=0) for x in (start, end, R, p)]
    (length,) = solve_polylines(surfaces, *(x[:1] for x in alike))[0]
    expected = [length, 0.0, *[length] * 3]
    assert solve_polylines(surfaces, *alike, known=length * np.array(known))[0] == pytest.approx(expected, abs=1e-9)


@given(st.integers(0, 10**6), st.integers(2, 3))
@EXAMPLES
def test_order_and_direction_do_not_matter(seed, n):
    case = scene(seed, n)
    length = lengths(case)[0]
    assert lengths(case, order=np.arange(n)[::-1])[0] == pytest.approx(length, abs=1e-11)
    assert lengths(case, back=True)[0] == pytest.approx(length, abs=1e-9)


@given(st.integers(0, 10**6))
@EXAMPLES
def test_no_solid_makes_a_polyline_shorter(seed):
    case = scene(seed, 3)
    whole = lengths(case)[0][0]
    for left_out in range(3):
        order = np.delete(np.arange(3), left_out)
        assert lengths(case, order=order)[0][0] < whole + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_the_judge_agrees(seed):
    """A polyline found without any kernel, from the contacts and from the straight line pulled out, is not shorter."""
    case = scene(100 + seed, 2 + seed % 2)
    surfaces, start, end, R, p = case
    length, _, rows = lengths(case)
    kinds, sizes = surfaces
    solids = [
        Solid(NAMES[k], tuple(size[: 3 if k == ELLIPSOID else 1]), R_k, p_k)
        for k, size, R_k, p_k in zip(kinds, sizes, R, p, strict=True)
    ]
    touched = sorted((r for r in rows[0] if r[CONTACT]), key=lambda r: r[FIRST])
    points = [start, *(x for r in touched for x in (r[FIRST : FIRST + 3], r[LAST : LAST + 3])), end]
    own = taut(solids, np.array(points))
    assert own.settled
    assert abs(own.length - length[0]) < max(2e-8, 3 * own.error)
    for angle in np.arange(0, 2 * np.pi, np.pi / 3):
        out = 0.08 * np.array([0.0, np.cos(angle), np.sin(angle)])
        other = taut(solids, np.array([start, 0.7 * start + out, 0.7 * end + out, end]))
        assert not other.settled or other.length > length[0] - max(2e-8, 3 * other.error)
