"""Laws of every path over surfaces that overlap, each on a body of its own: polylines obey them as all paths do."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from musculo import coordinate_rates, kinematics, path_geometry
from musculo.model.model_path import MovingPathPoint
from musculo.muscle.paths.geometry import STATUSES
from musculo.spatial.rotation import from_xyz
from support.polyline_models import groove, tangled
from support.short_steps import jumps, random_poses
from support.taut_polyline import Solid

POLYLINE, NOT_CONVERGED = STATUSES.index("overlapped"), STATUSES.index("not converged")
# Moment arms against slopes of lengths [m, or 1 for sliding coordinates].
SLOPE = 1e-9
STEPS = (1e-5, 3e-6)
# Rounding of a polyline's length [m].
LAST_DIGIT = 3e-15
# Contacts that are closer than this follow each other without a piece in between [m].
TOUCH = 1e-12
# Polylines and rows of contacts differ by so much, and so may the two directions of a path [m].
AS_LONG = 3e-8
ROUNDING = 1e-12
POSES = 10
# Of random kinds, and rings with ellipsoids.
CASES = (*((seed, ()) for seed in range(20)), *((seed, ("ring", "ellipsoid")) for seed in range(100, 106)))
# What is not as it should be yet. Not strict: which polylines miss hangs on the last digits of a pose, and rounding on
# another machine may let one of these pass.
MISSED = pytest.mark.xfail(reason="a shorter path over surfaces deep in each other is still missed")
RING = pytest.mark.xfail(reason="polylines through narrow rings do not always come to rest, or on one side")
REVERSED = {0: MISSED, 12: MISSED, 19: RING}


@cache
def sample(seed, kinds=(), base=False):
    """A model, poses and speeds (unit vectors) of it, and its paths there."""
    model = tangled(seed, kinds, base=base)
    rng = np.random.default_rng(1000 + seed)
    q = random_poses(model, POSES, rng)
    u = rng.normal(size=(POSES, len(model.speed_names)))
    u /= np.linalg.norm(u, axis=1)[:, None]
    return model, q, u, path_geometry(model, q, u)


def grooves(geometry):
    """(frames, paths): whether the contact on one surface ends where that on the next begins."""
    found = np.zeros(geometry.status.shape, dtype=bool)
    for f, k in np.argwhere(geometry.status == POLYLINE):
        x, wraps = geometry.path_points.of(geometry.names[k], f)
        gaps = np.linalg.norm(np.diff(x, axis=0), axis=1)
        next_one = [a != b and "" not in (a, b) for a, b in pairwise(wraps)]
        found[f, k] = (np.array(next_one) & (gaps < TOUCH)).any()
    return found


def ends_inside(model, q, points, path):
    """(frames,): whether an end of a path lies inside a surface."""
    found = np.zeros(len(q), dtype=bool)
    for f, pose in enumerate(q):
        motion = kinematics(model, pose)
        x = points.of(path, f)[0][[0, -1]]
        for s in model.wrap_objects:
            R, p = motion.pose(s.frame)
            kind = s.kind.removeprefix("Wrap").lower()
            names = {"cylinder": ["radius"], "sphere": ["radius"], "ellipsoid": ["semi_axes"]}
            size = np.hstack([getattr(s, n) for n in names.get(kind, ["inner_radius", "outer_radius"])])
            solid = Solid(kind, tuple(size), R @ from_xyz(s.orientation), p + R @ np.array(s.translation))
            found[f] |= (solid.gauge(x) < 1.0).any()
    return found


def slope_errors(model, q, u):
    """|ldot - dl/dt| and what kinks may make of it, (frames, paths) each, as the poses move with speeds u.

    A knot of a polyline that touches down leaves a kink in the moment arm. Differences of the length are off by less
    than the second differences of the moment arm then, if this is the slope of the length in all five poses. Of STEPS,
    the one where kinks and rounding weigh least counts.
    """
    moments = np.arange(-2.0, 3.0)
    rates = coordinate_rates(model, q, u)
    error, kinks, least = np.full((3, len(q), len(model.muscles)), np.inf)
    for h in STEPS:
        poses = q + h * moments[:, None, None] * rates
        g = path_geometry(model, poses.reshape(-1, q.shape[1]))
        L = g.length.reshape(5, len(q), -1)
        speed = -np.einsum("tfpu,fu->tfp", g.moment_arm.reshape(5, len(q), len(g.names), -1), u)
        slope = ((L[0] - L[4]) / 12.0 + (L[3] - L[1]) * 8.0 / 12.0) / h
        kinked = np.abs(np.diff(speed, 2, axis=0)).sum(axis=0)
        weight = kinked + LAST_DIGIT / h
        better = weight < least
        least = np.where(better, weight, least)
        error, kinks = np.where(better, np.abs(slope - speed[2]), error), np.where(better, kinked, kinks)
    return error, kinks


def test_the_sample_holds_what_it_is_for():
    """Polylines in grooves of surfaces on two bodies, with ends that move on their bodies or lie inside a surface, over
    rings with ellipsoids too."""
    polylines = in_grooves = moving = inside = ringed = rough = 0
    for seed, kinds in CASES:
        model, q, _, g = sample(seed, kinds)
        frames = [s.frame for s in model.wrap_objects]
        assert len(set(frames)) == len(frames)
        polyline = g.status == POLYLINE
        polylines += polyline.sum()
        ringed += polyline.sum() if kinds else 0
        rough += (g.status >= NOT_CONVERGED).sum()
        in_grooves += grooves(g).sum()
        for k, muscle in enumerate(model.muscles):
            moving += polyline[:, k].sum() * any(isinstance(p, MovingPathPoint) for p in muscle.path.points)
            inside += (polyline[:, k] & ends_inside(model, q, g.path_points, muscle.name)).sum()
    counts = {"polylines": polylines, "grooves": in_grooves, "moving": moving, "inside": inside, "ringed": ringed}
    assert all(counts[name] >= n for name, n in zip(counts, (150, 30, 80, 20, 15), strict=True)), counts
    assert rough <= 0.01 * len(CASES) * POSES * 3, rough


@pytest.mark.parametrize(("seed", "kinds"), CASES)
def test_moment_arms_are_minus_the_slope_of_the_length(seed, kinds):
    """All that is known to be taut; and speeds are sums of moment arms times speeds."""
    model, q, u, g = sample(seed, kinds)
    assert np.abs(g.speed + np.einsum("fpu,fu->fp", g.moment_arm, u)).max() < ROUNDING
    error, kinks = slope_errors(model, q, u)
    known = g.status < NOT_CONVERGED
    assert (error < SLOPE + kinks)[known].all(), (error - kinks)[known].max()
    # kinks are few and small: they excuse little
    assert (kinks[known] < 1e-5).all()
    assert np.median(error[known]) < SLOPE


def test_moment_arms_of_every_speed_in_a_groove():
    """Two balls on two bodies that meet where the polyline lies: the piece between the contacts has no length."""
    model = groove()
    q = random_poses(model, 40, np.random.default_rng(4))
    q = q[grooves(path_geometry(model, q))[:, 0]][:6]
    assert len(q) == 6
    n = len(model.speed_names)
    for pose in q:
        error, kinks = slope_errors(model, np.repeat(pose[None], n, axis=0), np.eye(n))
        assert (error < SLOPE + kinks).all()
        assert kinks.max() < 1e-5


@pytest.mark.parametrize("seed", [2, 4, 18])
def test_frames_do_not_know_of_each_other(seed):
    """In another order, and one by one, the numbers are the same to the last bit."""
    model, q, _, g = sample(seed)
    order = np.random.default_rng(seed).permutation(POSES)
    again = path_geometry(model, q[order])
    alone = [path_geometry(model, pose) for pose in q[:4]]
    for name in ("length", "moment_arm", "status"):
        numbers = getattr(g, name)
        assert np.array_equal(numbers[order], getattr(again, name))
        assert np.array_equal(numbers[:4], [getattr(x, name) for x in alone])


@pytest.mark.parametrize("seed", [2, 4, 10, 15, 17, 18])
def test_the_whole_may_be_anywhere(seed):
    """A rigid motion of all leaves lengths as they are, and no force of a path is felt by what carries all."""
    model, q, _, g = sample(seed, base=True)
    still = q.copy()
    still[:, :6] = 0.0
    known = g.status < NOT_CONVERGED
    assert (g.status == POLYLINE).sum() > 3
    assert np.abs(path_geometry(model, still).length - g.length)[known].max() < ROUNDING
    assert np.abs(g.moment_arm[..., :6])[known].max() < SLOPE


@pytest.mark.parametrize(("seed", "kinds"), [pytest.param(*case, marks=REVERSED.get(case[0], ())) for case in CASES])
def test_a_path_is_as_long_backwards(seed, kinds):
    """Without quadrants: which side these hold is what OpenSim's path takes, and that may differ from end to end."""
    model = tangled(seed, kinds, quadrants=False)
    q = random_poses(model, POSES, np.random.default_rng(2000 + seed))
    forces = tuple(replace(m, path=replace(m.path, points=m.path.points[::-1])) for m in model.muscles)
    g, back = path_geometry(model, q), path_geometry(model.replace(forces=forces), q)
    known = (g.status < NOT_CONVERGED) & (back.status < NOT_CONVERGED)
    assert np.abs(back.length - g.length)[known].max() < AS_LONG


def test_no_jumps_in_a_groove():
    found, watched = jumps(groove(), 2000, 5e-3, np.random.default_rng(7))
    assert watched == 2000
    assert not found, [f"{j.size * 1e3:.3g} mm" for j in found]


@pytest.mark.parametrize(
    ("kinds", "seed", "steps"),
    [
        (("sphere", "sphere"), 201, 1500),
        (("sphere", "ellipsoid"), 200, 500),
        (("cylinder", "ellipsoid"), 200, 250),
        pytest.param(("cylinder", "cylinder"), 200, 200, marks=MISSED),
        (("cylinder", "sphere"), 200, 100),
        pytest.param(("ellipsoid", "ellipsoid"), 201, 200, marks=MISSED),
        pytest.param(("ellipsoid", "ring"), 200, 400, marks=RING),
        pytest.param(("cylinder", "ring"), 200, 100, marks=RING),
    ],
)
def test_no_jumps_over_two_surfaces(kinds, seed, steps):
    model = tangled(seed, kinds, paths=2, quadrants=False)
    found, watched = jumps(model, steps, 5e-3, np.random.default_rng(seed))
    assert watched == 2 * steps
    assert not found, [f"{j.name} {j.size * 1e3:.3g} mm" for j in found]
