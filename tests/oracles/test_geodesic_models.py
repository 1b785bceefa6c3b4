"""Geodesic wrapping on every model of the data folder: exact moment arms, no jumps, no memory."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from musculo import embedding_of, muscle_geometry, path_geometry, read_osim
from musculo.model.model_path import ConditionalPathPoint
from musculo.muscle.paths.geometry import STATUSES
from support.rule_lengths import rule_length
from support.short_steps import JUMP, MODELS, RANGE_EDGE, jumps, moment_arm_errors, random_poses
from support.who_is_right import Court

WRAPPED = (
    "arm26",
    "mobl_arms",
    "moco_walk_armless",
    "rajagopal_walk",
    "custom_joint_wrap",
    "thoracoscapular_shoulder",
)
# The bound [m].
EXACT = 1e-9
# Steps a model; MUSCULO_STEPS=100000 makes the whole measurement.
N_STEPS = int(os.environ.get("MUSCULO_STEPS", "1500"))
STEP = 5e-3
# Models with paths over surfaces that overlap where the path runs, so that it is a polyline there.
OVERLAPPING = ("mobl_arms", "thoracoscapular_shoulder")
# Ends of steps over which lengths jumped by 0.01 to 4.2 mm before all sides of a ball were looked at.
ONCE_JUMPED = Path(__file__).parents[1] / "support" / "once_jumped.json"
# What a shortest path found without any kernel is good to, and more [m].
JUDGED = 1e-6


@pytest.fixture(scope="module")
def model_of(data_folder):
    models = {}

    def get(name):
        if name not in models:
            models[name] = read_osim(data_folder / MODELS[name])
        return models[name]

    return get


@pytest.mark.parametrize("name", MODELS)
def test_moment_arms_are_minus_the_slope_of_the_length(model_of, name):
    model = model_of(name)
    for q in random_poses(model, 4, np.random.default_rng(1), 0.9):
        error = moment_arm_errors(model, q)
        k, j = np.unravel_index(np.argmax(error), error.shape)
        where = f"{path_geometry(model, q).names[k]} about {model.speed_names[j]}"
        assert error[k, j] < EXACT, where


@pytest.mark.parametrize("name", MODELS)
def test_lengthening_speed_is_minus_moment_arm_times_speed(model_of, name):
    model = model_of(name)
    rng = np.random.default_rng(2)
    q = random_poses(model, 20, rng)
    u = rng.normal(size=(20, len(model.speed_names)))
    g = path_geometry(model, q, u)
    assert np.abs(g.speed + np.einsum("fpu,fu->fp", g.moment_arm, u)).max() < 1e-12


@pytest.mark.parametrize("name", WRAPPED)
def test_lengths_do_not_jump(model_of, name):
    """None by more than 1e-7 m, but where a conditional point comes or goes."""
    model = model_of(name)
    conditional = {
        f.name for f in model.forces if f.path and any(isinstance(p, ConditionalPathPoint) for p in f.path.points)
    }
    rng = np.random.default_rng(5)
    found = []
    for _ in range(0, N_STEPS, 5000):
        found += jumps(model, min(N_STEPS, 5000), STEP, rng)[0]
    for jump in found:
        print(f"{name}: {jump.name} jumps by {1e3 * jump.size:.2f} mm ({jump.reason})")
        assert jump.reason == RANGE_EDGE, jump.name
        assert jump.name in conditional


@pytest.mark.parametrize("name", OVERLAPPING)
def test_lengths_do_not_jump_between_sides_of_a_ball(model_of, name):
    """Steps of 1e-12 rad between two paths of which only one was found once, the shorter of them on one side only."""
    model = model_of(name)
    for path, steps in json.loads(ONCE_JUMPED.read_text())[name].items():
        for step in steps:
            geometry = path_geometry(model, np.array(step))
            before, after = geometry.length[:, geometry.names.index(path)]
            assert abs(after - before) < JUMP, path


def test_lengths_do_not_jump_where_two_cylinders_are_held_the_long_way_round(model_of):
    """TMAJ of MoBL-ARMS, a polyline that is about to slip: it did not come to rest within 1e-4 rad, and another, 4.4 mm
    longer, with a cylinder left out at a penalty, took its place."""
    model = model_of("mobl_arms")
    e = embedding_of(model)
    assert e.coordinate_names == ("elv_angle", "shoulder_elv", "shoulder_rot", "elbow_flexion", "pro_sup")
    at = np.array([2.0902463029156397, 2.684023967825606, -0.25850430470917474, 2.0553167094190776, 0.5634749080556144])
    along = np.array([0.6196, 1.0, -0.4239, -0.1796, 0.6557])
    geometry = path_geometry(model, e.coordinates([at - 1e-6 * along, at + 1e-6 * along]))
    before, after = geometry.length[:, geometry.names.index("TMAJ")]
    assert abs(after - before) < 1e-5


@pytest.mark.parametrize("name", OVERLAPPING)
def test_moment_arms_are_exact_where_surfaces_overlap(model_of, name):
    """There the path is a polyline."""
    model = model_of(name)
    q = random_poses(model, 400, np.random.default_rng(6), 0.9)
    overlapped = path_geometry(model, q).status == STATUSES.index("overlapped")
    assert overlapped.any()
    for f in np.flatnonzero(overlapped.any(axis=1))[:3]:
        error = moment_arm_errors(model, q[f])
        assert error[overlapped[f]].max() < EXACT


@pytest.mark.parametrize("name", OVERLAPPING)
def test_polylines_are_shortest_paths(model_of, name):
    """Of all that keep the rules or pay for breaking some: penalties paid and ends inside surfaces included."""
    model = model_of(name)
    q = random_poses(model, 400, np.random.default_rng(6), 0.9)
    geometry = path_geometry(model, q)
    cases = np.argwhere(geometry.status == STATUSES.index("overlapped"))[:5]
    court = Court(model, q[cases[:, 0]])
    for i, (f, k) in enumerate(cases):
        shortest = rule_length(court, geometry.names[k], i)
        assert shortest is not None
        assert abs(geometry.length[f, k] - shortest.length) < JUDGED, geometry.names[k]


@pytest.mark.parametrize("name", OVERLAPPING)
def test_the_order_of_frames_does_not_matter_for_polylines(model_of, name):
    model = model_of(name)
    q = random_poses(model, 400, np.random.default_rng(6), 0.9)
    polyline = path_geometry(model, q).status == STATUSES.index("overlapped")
    q = q[polyline.any(axis=1)][:20]
    ordered, other = path_geometry(model, q), path_geometry(model, q[::-1], threads=1)
    assert (ordered.length == other.length[::-1]).all()
    assert (ordered.moment_arm == other.moment_arm[::-1]).all()


@pytest.mark.parametrize("name", ["rajagopal_walk", "mobl_arms", "arm26"])
def test_the_order_of_frames_does_not_matter(model_of, name):
    model = model_of(name)
    rng = np.random.default_rng(3)
    q = random_poses(model, 60, rng)
    shuffled = rng.permutation(60)
    ordered, other = muscle_geometry(model, q), muscle_geometry(model, q[shuffled], threads=1)
    assert (ordered.length[shuffled] == other.length).all()
    assert (ordered.moment_arm[shuffled] == other.moment_arm).all()


@pytest.mark.parametrize("name", WRAPPED)
def test_taut_paths_are_found(model_of, name):
    """Less than one path in a thousand is not quite taut, and none leaves out a surface that stands in its way."""
    status = muscle_geometry(model_of(name), random_poses(model_of(name), 300, np.random.default_rng(4))).status
    assert (status == STATUSES.index("ignored")).mean() < 1e-4
    assert (status == STATUSES.index("not converged")).mean() < 1e-3
