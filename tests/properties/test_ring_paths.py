"""A path through one ring: on either side of the hole it may touch the tube once, twice, or not at all.

Fat rings and rings seen from the side: one contact is not enough there, and the one that is found may be no shortest
path, so that lengths would jump.
"""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Muscle, PinJoint, Placement, path_geometry
from musculo.model import CustomJoint, Path, PathPoint, PathWrap, WrapTorus
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, along
from support.global_path import Obstacle, shortest_path
from support.rule_lengths import rule_length
from support.short_steps import JUMP, jumps, moment_arm_errors
from support.who_is_right import Court

# Ring's and tube's radius [m], and how far the ring's axis is turned away from the path [rad].
RINGS = [(0.03, 0.019, 1.0), (0.03, 0.01, 1.52), (0.02, 0.005, 1.52), (0.03, 0.019, 0.3), (0.035, 0.028, 0.7)]
# What the judge is good to, and more [m].
JUDGED = 1e-6


def model_of(ring, tube, tilt):
    """A muscle from ground through a ring on ground to a body that turns about z."""
    torus = WrapTorus(
        "ring", "ground", orientation=(0.5 * np.pi + tilt, 0.0, 0.0), inner_radius=tube, outer_radius=ring
    )
    points = (PathPoint("a", "ground", (0.01, 0.15, 0.005)), PathPoint("b", "arm", (0.0, -0.15, 0.0)))
    muscle = Muscle("m", "Millard2012EquilibriumMuscle", path=Path(points, (PathWrap("w", "ring"),)), min_control=0.01)
    arm = Body("arm", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    pin = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("q", range=(-1.5, 1.5)),))
    return Model("ring", (arm,), (pin,), wrap_objects=(torus,), forces=(muscle,))


@pytest.mark.parametrize("ring", [RINGS[0], *RINGS[3:]], ids=str)
def test_lengths_do_not_jump(ring):
    """The rings that are left out are seen from the side: lengths jump where an end crosses the plane outside them."""
    found, lengths = jumps(model_of(*ring), 400, 5e-3, np.random.default_rng(4))
    assert lengths == 400
    assert not [(jump.size, jump.before) for jump in found if jump.size > JUMP]


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_lengths_are_those_of_shortest_paths(ring):
    """By a search that shares nothing with the kernels, penalties of a way round the ring included."""
    model = model_of(*ring)
    q = np.array([[-0.7], [0.2], [0.9]])
    length = path_geometry(model, q).length[:, 0]
    court = Court(model, q)
    for f in range(len(q)):
        shortest = rule_length(court, "m", f)
        assert shortest is not None
        assert abs(length[f] - shortest.length) < JUDGED, q[f]


@pytest.mark.parametrize("ring", RINGS, ids=str)
def test_moment_arms_are_minus_the_slope_of_the_length(ring):
    model = model_of(*ring)
    for q in (-0.5, 0.1, 0.4):
        assert moment_arm_errors(model, np.array([q])).max() < 1e-9, q


# Ends for which a path over one contact dips into the tube once more.
TWICE = [
    (
        0.027521981805959952,
        0.0030337420175474902,
        (-0.0021449808136004716, -0.12109114780563067, -0.0063508136227530725),
        (0.005080545336800296, 0.11710106623111138, 0.009814479698762592),
    ),
]


def between_two_bodies(ring, tube):
    """A muscle between the origins of two bodies that move freely, through a ring about z of ground."""
    bodies, joints = [], []
    for name in ("a", "b"):
        coordinates = tuple(Coordinate(f"{name}_{axis}", range=(-1.0, 1.0)) for axis in "xyz")
        moves = tuple(along(axis, c.name) for axis, c in zip((X_AXIS, Y_AXIS, Z_AXIS), coordinates, strict=True))
        bodies.append(Body(name, 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)))
        joints.append(CustomJoint(name, Placement("ground"), Placement(name), coordinates, translations=moves))
    torus = WrapTorus("ring", "ground", inner_radius=tube, outer_radius=ring)
    points = (PathPoint("p", "a", (0.0, 0.0, 0.0)), PathPoint("q", "b", (0.0, 0.0, 0.0)))
    muscle = Muscle("m", "Millard2012EquilibriumMuscle", path=Path(points, (PathWrap("w", "ring"),)), min_control=0.01)
    return Model("free ends", tuple(bodies), tuple(joints), wrap_objects=(torus,), forces=(muscle,))


@pytest.mark.parametrize(("ring", "tube", "P", "Q"), TWICE)
def test_a_tube_that_is_touched_twice(ring, tube, P, Q):
    geometry = path_geometry(between_two_bodies(ring, tube), np.array([*P, *Q]))
    obstacle = Obstacle("torus", (tube, ring), np.eye(3), np.zeros(3), through=True)
    shortest = shortest_path(np.array(P), np.array(Q), [obstacle])
    assert shortest is not None
    assert geometry.penalty[0] == 0.0
    assert abs(geometry.length[0] - shortest.length) < JUDGED
