"""Laws of moment arms: r is minus the slope of the length, the force of tension, and what every speed feels of it."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo.kernels.paths.path_points import (
    ENTRY_ROWS,
    TAG_ROWS,
    CurrentPaths,
    PosedPaths,
    active_points,
    path_lengths,
)
from musculo.model.model_path import PathPoint
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import muscle_geometry
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import random_q, random_state, random_tree
from support.path_models import with_muscles

# Both sides are exact; only rounding along at most 18 joints remains.
ROUNDING = 1e-12


@pytest.fixture(scope="module", params=[0, 1, 2])
def case(request):
    rng = np.random.default_rng(request.param)
    model = with_muscles(random_tree(rng), rng)
    return model, *random_state(model, rng)[:2], rng


def complex_lengths(model, q):
    """Lengths on one complex lane."""
    k = ComplexKernels(model)
    motion = k.motion(q, np.zeros(k.n_u), np.zeros(k.n_u)).reshape(-1, 1)
    p = compiled_paths(model, muscles_only=True)
    entries = int(p.paths.first_point[-1])
    C, I = np.zeros((ENTRY_ROWS * entries, 1), dtype=complex), np.zeros((TAG_ROWS * entries, 1), dtype=np.int64)
    counts, length = np.zeros((len(p.names), 1), dtype=np.int64), np.zeros((len(p.names), 1), dtype=complex)
    x = PosedPaths(p.paths, p.table, np.ascontiguousarray(q[:, None]), motion)
    active_points(x, CurrentPaths(C, I, counts, np.zeros((0, 1), dtype=complex)), False, 0)
    path_lengths(p.paths, False, C, I, counts, length, 0)
    return length[:, 0]


def test_arm_is_minus_the_slope_of_the_length_by_the_complex_step(case):
    """dl/dt along every unit speed, through every kind of joint: speeds that are no coordinate's derivative too."""
    model, q, u, _ = case
    g = muscle_geometry(model, q, u)
    assert np.allclose(complex_lengths(model, q.astype(complex)).real, g.length, rtol=0, atol=ROUNDING)
    for k, unit in enumerate(np.eye(len(u))):
        qdot = musculo.coordinate_rates(model, q, unit)
        slopes = slope(complex_lengths(model, step(q, qdot)))
        assert np.allclose(g.moment_arm[:, k], -slopes, rtol=0, atol=ROUNDING), model.speed_names[k]


def test_speed_is_minus_the_sum_of_arms_times_speeds(case):
    model, q, u, _ = case
    g = muscle_geometry(model, q, u)
    assert np.allclose(g.speed, -g.moment_arm @ u, rtol=0, atol=ROUNDING)
    slopes = slope(complex_lengths(model, step(q, musculo.coordinate_rates(model, q, u))))
    assert np.allclose(g.speed, slopes, rtol=0, atol=ROUNDING)


def test_tension_is_a_force_on_the_points(case):
    """r u is the power of unit tension on the path's points, summed by their Jacobians where none of them moves."""
    model, q, _, _ = case
    g, k = muscle_geometry(model, q), musculo.kinematics(model, q)
    plain = [m for m in model.muscles if all(type(p) is PathPoint for p in m.path.points)]
    assert plain
    for muscle in plain:
        x = [k.position(p.frame, p.location) for p in muscle.path.points]
        total = np.zeros(len(model.speed_names))
        for i in range(len(x) - 1):
            e = (x[i + 1] - x[i]) / np.linalg.norm(x[i + 1] - x[i])
            for end, sign in ((i, 1.0), (i + 1, -1.0)):
                p = muscle.path.points[end]
                total += sign * e @ k.point_jacobian(p.frame, p.location)
        assert np.allclose(g.moment_arm[g.index(muscle.name)], total, rtol=0, atol=ROUNDING)


def test_frames_are_independent_of_each_other(case):
    """A batch, its frames one by one, and its frames shuffled give the same numbers to the last bit."""
    model, _, _, rng = case
    q = random_q(model, rng, 9)
    g, order = muscle_geometry(model, q), rng.permutation(9)
    shuffled = muscle_geometry(model, q[order])
    assert np.array_equal(shuffled.length, g.length[order])
    assert np.array_equal(shuffled.moment_arm, g.moment_arm[order])
    assert np.array_equal(muscle_geometry(model, q[3]).length, g.length[3])


@pytest.mark.parametrize("name", ["gait2392/subject01_simbody.osim", "leg6dof9musc/leg6dof9musc.osim"])
def test_independent_arm_is_the_slope_along_the_couplings(name, data_folder):
    """r J = -dl/dz with the patella and the knee following, for every muscle of real models without wraps."""
    model = musculo.read_osim(data_folder / name)
    e, rng = musculo.embedding_of(model), np.random.default_rng(7)
    low, high = np.array([model.coordinate(n).range for n in e.coordinate_names]).T
    for _ in range(3):
        q = e.coordinates(rng.uniform(np.maximum(low, -0.6), np.minimum(high, 0.6)))
        g, J = muscle_geometry(model, q), e.jacobian(q)
        assert g.independent_names == e.speed_names
        for k, column in enumerate(J.T):
            slopes = slope(complex_lengths(model, step(q, musculo.coordinate_rates(model, q, column))))
            assert np.allclose(g.moment_arm_independent[:, k], -slopes, rtol=0, atol=ROUNDING), e.speed_names[k]
