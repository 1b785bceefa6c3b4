"""Geodesic wrapping on every model of the data folder: exact moment arms, no jumps, no memory."""

from __future__ import annotations

import os

import numpy as np
import pytest

from musculo import muscle_geometry, path_geometry, read_osim
from musculo.model.path import ConditionalPathPoint
from musculo.muscle.geometry import STATUSES
from support.short_steps import MODELS, OVERLAP, RANGE_EDGE, jumps, moment_arm_errors, random_poses

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
# The paths whose surfaces overlap where they run, and the largest jump that was ever seen [m]: there the longest
# of several paths counts, and one of them may cease to be. `docs/wrapping.md` says how and why.
OVERLAPPING = {
    "mobl_arms": {"TMAJ": 0.0163, "CORB": 8.2e-3, "TRIlong": 8.5e-4, "LAT1": 3e-4, "LAT2": 3e-4, "PECM2": 2e-4},
    "thoracoscapular_shoulder": {"TeresMajor": 2.2e-3, "Supraspinatus_A": 2.2e-3},
}
# Paths with several local shortest paths, of which the shortest is not always found, and the largest jump seen [m].
SEVERAL = {"mobl_arms": {"TMIN": 1.3e-3}}


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
    """None by more than 1e-7 m, but where a conditional point comes or goes and on the listed paths, for the reason
    that they are listed for."""
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
        if jump.reason == RANGE_EDGE:
            assert jump.name in conditional
        else:
            allowed = (OVERLAPPING if jump.reason == OVERLAP else SEVERAL).get(name, {})
            assert jump.size < allowed.get(jump.name, 0.0), jump.name


@pytest.mark.parametrize("name", OVERLAPPING)
def test_moment_arms_are_exact_where_surfaces_overlap(model_of, name):
    """There the longest of several paths counts, and straight pieces may run backwards."""
    model = model_of(name)
    q = random_poses(model, 400, np.random.default_rng(6), 0.9)
    overlapped = path_geometry(model, q).status == STATUSES.index("overlapped")
    assert overlapped.any()
    for f in np.flatnonzero(overlapped.any(axis=1))[:4]:
        error = moment_arm_errors(model, q[f])
        assert error[overlapped[f]].max() < EXACT


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
    assert (status == STATUSES.index("left out")).mean() < 1e-4
    assert (status == STATUSES.index("rough")).mean() < 1e-3
