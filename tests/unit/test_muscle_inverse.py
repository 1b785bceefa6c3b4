"""Excitations that make a known motion: exact slopes, the equations of the answer, and Moco's stored solution."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import musculo
import musculo.demo
from musculo.errors import InvalidInput, UnknownName
from musculo.muscle import with_de_groote_fregly_muscles
from musculo.results import Table
from musculo.trajectory import muscle_inverse
from musculo.trajectory.muscles.inverse_program import Effort, InverseProgram, KnownMotion
from musculo.trajectory.muscles.muscle_nodes import SmoothMuscles
from support.recorded_data import DATA, NO_DATA

# Central differences of rows in steps of 1e-6, over rows of up to 1e3.
DIFFERENCES = 1e-6
STEP = 1e-6
# What the search was asked for.
TOLERANCE = 1e-6

WALK = DATA / "moco_walk_armless"
# As testMocoInverse asks of the root mean square over all controls, and all states: 1e-2. A tenth of that.
AS_MOCO = 1e-3
# OpenSim's paths and ours differ by its approximations of wrapping.
EXACT_PATHS = 1e-2


@pytest.fixture(scope="module")
def arm():
    """The demo's arm; one tendon is rigid, and one muscle is its excitation."""
    model = with_de_groote_fregly_muscles(musculo.demo.arm())
    model = model.with_force("biceps_short", ignore_tendon_compliance=True)
    return model.with_force("brachialis", ignore_activation_dynamics=True)


@pytest.fixture(scope="module")
def lifted(arm):
    return muscle_inverse(arm, musculo.demo.arm_flexion(), interval=0.05, reserves=10.0, tolerance=TOLERANCE)


def small_program(model, seed=0):
    """Random data for seven nodes, and a point inside the bounds."""
    rng = np.random.default_rng(seed)
    muscles = SmoothMuscles(model)
    nodes, count = 7, len(muscles.names)
    length = muscles.slack_length + muscles.table.optimal_length * rng.uniform(0.8, 1.2, (nodes, count))
    known = KnownMotion(
        np.linspace(0.0, 0.15, nodes), rng.normal(0.0, 20.0, (nodes, 2)), rng.normal(0.0, 0.05, (nodes, count, 2)),
        length, rng.normal(0.0, 0.1, (nodes, count)), rng.normal(0.0, 1.0, (nodes, 2, 3)),
        -np.ones(3), np.ones(3), ("one", "two"), ("x", "y", "z"),
    )  # fmt: skip
    program = InverseProgram(muscles, known, Effort(np.ones(count), np.ones(3), 0.01, 0.1))
    x = rng.uniform(0.1, 0.6, len(program.lower))
    x[program.tension_rate] = rng.normal(0.0, 2.0, program.tension_rate.shape)
    return program, x


def test_slopes_and_curvatures_of_the_program(arm):
    program, x = small_program(arm)
    size, rows = len(x), len(program.row_names)
    multipliers = np.random.default_rng(1).normal(size=rows)

    def jacobian(at):
        return sparse.coo_matrix((program.jacobian(at), program.jacobian_pattern), (rows, size)).toarray()

    def lagrangian_slope(at):
        return 0.7 * program.gradient(at) + jacobian(at).T @ multipliers

    steps = STEP * np.eye(size)
    of_rows = np.array([program.rows(x + d) - program.rows(x - d) for d in steps]).T / (2 * STEP)
    assert jacobian(x) == pytest.approx(of_rows, abs=DIFFERENCES)
    slopes = np.array([program.objective(x + d) - program.objective(x - d) for d in steps]) / (2 * STEP)
    assert program.gradient(x) == pytest.approx(slopes, abs=DIFFERENCES)
    lower = sparse.coo_matrix((program.hessian(x, 0.7, multipliers), program.hessian_pattern), (size, size)).toarray()
    second = np.array([lagrangian_slope(x + d) - lagrangian_slope(x - d) for d in steps]) / (2 * STEP)
    assert lower + np.tril(lower, -1).T == pytest.approx(second, abs=DIFFERENCES)
    keys = program.jacobian_pattern[0] * size + program.jacobian_pattern[1]
    assert len(np.unique(keys)) == len(keys)


def test_stages_hold_what_the_interface_promises(arm):
    program, _ = small_program(arm)
    rows, columns = program.jacobian_pattern
    ahead = program.variable_stages[columns] - program.row_stages[rows]
    assert ((ahead == 0) | (ahead == 1)).all()


def test_the_answer_meets_its_equations(arm, lifted):
    assert lifted.status == 0
    assert np.abs(lifted.balance_residual).max() < TOLERANCE
    assert lifted.activation[0] == pytest.approx(lifted.excitation[0], abs=TOLERANCE)
    direct = arm.muscle_names.index("brachialis")
    assert (lifted.activation[:, direct] == lifted.excitation[:, direct]).all()
    assert "biceps_short" not in lifted.tendon_names
    paths = musculo.muscle_geometry(arm, lifted.q, lifted.u)
    rigid = arm.muscle_names.index("biceps_short")
    stiff = musculo.muscle_equilibrium(arm, paths.length, paths.speed, lifted.activation, tendon="rigid")
    assert lifted.tension[:, rigid] == pytest.approx(stiff.tendon_force[:, rigid], rel=1e-9)
    given = np.einsum("fm,fmz->fz", lifted.tension, paths.moment_arm_independent) + 10.0 * lifted.control
    assert given == pytest.approx(lifted.moment, abs=10 * TOLERANCE)


def test_more_effort_than_necessary_is_none(arm, lifted):
    """A goal that counts one muscle ten times makes it work less, and the rest more."""
    motion = musculo.demo.arm_flexion()
    worst = lifted.muscle_names[int((lifted.excitation**2).mean(axis=0).argmax())]
    other = muscle_inverse(arm, motion, interval=0.05, reserves=10.0, weights={worst: 10.0})
    k = lifted.muscle_names.index(worst)
    assert (other.excitation[:, k] ** 2).mean() < (lifted.excitation[:, k] ** 2).mean()
    assert other.objective > lifted.objective


def test_bad_arguments(arm):
    motion = musculo.demo.arm_flexion()
    with pytest.raises(InvalidInput, match="spans 0 to 1 s"):
        muscle_inverse(arm, motion, start=0.5, end=1.5)
    with pytest.raises(InvalidInput, match="interval"):
        muscle_inverse(arm, motion, interval=0.0)
    with pytest.raises(UnknownName, match="biceps_long"):
        muscle_inverse(arm, motion, weights={"biceps": 2.0})


def test_what_cannot_be_served_is_said(arm):
    heavy = arm.with_body(arm.body_names[-1], mass=500.0)
    found = muscle_inverse(heavy, musculo.demo.arm_flexion(), interval=0.25, max_iterations=60)
    assert found.status != 0
    assert found.notes


# --- Moco's stored solution of a walk with 18 muscles -----------------------------------------------------------------
@pytest.fixture(scope="module")
def walk():
    if not WALK.is_dir():
        pytest.skip(NO_DATA)
    model = with_de_groote_fregly_muscles(musculo.read_osim(WALK / "subject_walk_armless_18musc.osim"), passive=False)
    for name in ("subtalar_angle_r", "subtalar_angle_l", "mtp_angle_r", "mtp_angle_l"):
        model = model.with_coordinate(name, locked=True)
    motion = musculo.read_storage(WALK / "subject_walk_armless_coordinates.mot")
    loads = musculo.read_external_loads(WALK / "subject_walk_armless_external_loads.xml")
    stored = musculo.read_storage(WALK / "std_testMocoInverse_subject_18musc_solution.sto")
    return model, motion, loads, stored


def differences(found, stored: Table) -> tuple[float, float]:
    """Root mean squares of all controls and of all states of muscles, as Moco's test takes them."""
    controls = [found.excitation[:, k] - stored.column(f"/forceset/{n}") for k, n in enumerate(found.muscle_names)]
    controls += [found.control[:, k] - stored.column(f"/forceset/{n}") for k, n in enumerate(found.actuator_names)]
    states = [
        found.activation[:, k] - stored.column(f"/forceset/{n}/activation") for k, n in enumerate(found.muscle_names)
    ]
    states += [
        found.normalized_tension[:, k] - stored.column(f"/forceset/{n}/normalized_tendon_force")
        for k, n in enumerate(found.tendon_names)
    ]
    return float(np.sqrt(np.mean(np.square(controls)))), float(np.sqrt(np.mean(np.square(states))))


@pytest.mark.parametrize(("like", "limit"), [("opensim", 2 * AS_MOCO), (None, EXACT_PATHS)])
def test_stored_solution_of_moco(walk, like, limit):
    model, motion, loads, stored = walk
    if like is None:
        stored_motion = motion.lowpass(6.0, like="opensim")
        options = {}
    else:
        stored_motion, options = motion, {"cutoff": 6.0, "like": "opensim"}
    found = muscle_inverse(model, stored_motion, loads=loads, start=0.45, end=1.0, interval=0.025, **options)
    assert found.status == 0
    assert found.time == pytest.approx(stored.time, abs=1e-9)
    controls, states = differences(found, stored)
    assert controls < limit
    assert states < limit
