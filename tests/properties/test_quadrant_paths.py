"""Paths over an ellipsoid or a sphere with a quadrant are those over one without: shortest paths, at no penalty."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Muscle, Placement, path_geometry
from musculo.model import GimbalJoint, Path, PathPoint, PathWrap, WrapEllipsoid, WrapSphere
from support.short_steps import JUMP, jumps, moment_arm_errors

# Moment arms are exact slopes of the length.
SLOPE = 1e-9
QUADRANTS = ("x", "-x", "y", "-y", "z", "-z")


def random_model(seed, kind):
    """Twelve muscles past surfaces with a quadrant each, ends now and then inside their surface."""
    rng = np.random.default_rng(seed)
    muscles, surfaces = [], []
    for i in range(12):
        start, end = np.array([[0.0, 0.1, 0.0], [0.0, -0.12, 0.0]]) + rng.normal(0.0, 0.04, (2, 3))
        placed = {
            "name": f"s{i}",
            "frame": ("ground", "arm")[i % 2],
            "translation": tuple(rng.normal(0.0, 0.02, 3)),
            "orientation": tuple(rng.normal(0.0, 1.0, 3)),
            "quadrant": QUADRANTS[i % 6],
        }
        size = rng.uniform(0.02, 0.09, 3)
        if kind == "sphere":
            surfaces.append(WrapSphere(**placed, radius=size[0]))
        else:
            surfaces.append(WrapEllipsoid(**placed, semi_axes=tuple(size)))
        points = PathPoint(f"a{i}", "ground", tuple(start)), PathPoint(f"b{i}", "arm", tuple(end))
        path = Path(points, (PathWrap(f"w{i}", f"s{i}"),))
        muscles.append(Muscle(f"m{i}", "Millard2012EquilibriumMuscle", path=path, min_control=0.01))
    ranges = (Coordinate(n, range=(-1.3, 1.3)) for n in ("rx", "ry", "rz"))
    joint = GimbalJoint("j", Placement("ground"), Placement("arm"), tuple(ranges))
    arm = Body("arm", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    return Model("q", (arm,), (joint,), wrap_objects=tuple(surfaces), forces=tuple(muscles))


@pytest.mark.parametrize("kind", ["ellipsoid", "sphere"])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_do_not_jump(kind, seed):
    found, lengths = jumps(random_model(seed, kind), 1500, 5e-3, np.random.default_rng(seed))
    assert lengths == 1500 * 12
    assert not [(jump.name, jump.size, jump.before) for jump in found if jump.size > JUMP]


@pytest.mark.parametrize("kind", ["ellipsoid", "sphere"])
def test_a_quadrant_says_nothing(kind):
    model = random_model(7, kind)
    free = replace(model, wrap_objects=tuple(replace(w, quadrant="all") for w in model.wrap_objects))
    q = np.random.default_rng(7).uniform(-1.2, 1.2, (40, 3))
    g, shortest = path_geometry(model, q), path_geometry(free, q)
    assert np.array_equal(g.length, shortest.length)
    assert np.array_equal(g.moment_arm, shortest.moment_arm)
    assert not g.penalty.any()
    # OpenSim's paths do mind
    assert np.nanmax(np.abs(path_geometry(model, q, like="opensim").length - g.length)) > 1e-3


def test_slopes():
    model = random_model(8, "ellipsoid")
    for pose in np.random.default_rng(8).uniform(-1.0, 1.0, (6, 3)):
        assert moment_arm_errors(model, pose).max() < SLOPE
