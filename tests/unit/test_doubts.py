"""Runs that come to their end and are still not to be trusted: drift, energy, singular positions stepped over."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import Model, embedding_of, simulate
from musculo.model.model_constraint import PointOnLineConstraint
from musculo.simulation.checks.doubts import first_doubt
from musculo.simulation.equations.systems import ConstrainedSystem
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.called_steps import StepFailed
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.stepped_run import Course
from musculo.simulation.integrators.sundials import Ida
from support.mechanisms import four_bar
from support.redundant import Plane, coupled_cranks

CONTROL = Control(1e-8, 1e-10)


def course_of(model: Model, z: np.ndarray, zu: np.ndarray) -> tuple[ConstrainedSystem, Course]:
    """Closed states along a course that need not be one of dynamics."""
    motion = embedding_of(model).motion(z[:, None], zu[:, None])
    system = ConstrainedSystem(model, Acting(model, None, None), 0.0)
    system.state(0.0, motion.q[0], motion.u[0])
    y = np.hstack([motion.q, motion.u])
    return system, Course(np.linspace(0.0, 1.0, len(z)), y, np.gradient(y, axis=0), None)


def test_energy_from_nowhere_is_a_doubt():
    model, z = four_bar(), np.full(9, 0.9)
    system, course = course_of(model, z, np.full(9, 2.0))
    assert first_doubt(system, course, CONTROL, conserved=True) is None
    system, course = course_of(model, z, np.where(np.arange(9) < 5, 2.0, 2.01))
    found = first_doubt(system, course, CONTROL, conserved=True)
    assert found is not None
    assert found.step == 4
    assert "energy" in found.reason
    assert "'closure'" in found.reason
    # forces may do that, and loose tolerances explain it
    assert first_doubt(system, course, CONTROL, conserved=False) is None
    assert first_doubt(system, course, Control(1e-2, 1e-2), conserved=True) is None


def test_drift_is_a_doubt():
    model = four_bar()
    system, course = course_of(model, np.full(9, 0.9), np.zeros(9))
    course.y[6:, 1] += 3e-3
    found = first_doubt(system, course, CONTROL, conserved=False)
    assert found is not None
    assert found.step == 5
    assert "left the constraint 'closure'" in found.reason


@pytest.mark.parametrize("method", ["adams", "ida"])
def test_a_run_that_drifts_away_is_not_finished(method):
    done = simulate(
        four_bar(),
        *(None, None, np.linspace(0.0, 4.0, 9)),
        method=method,
        formulation="constrained",
        stabilization=0.0,
        rtol=3e-2,
        atol=3e-2,
    )
    assert done.status == "failed"
    assert "'closure'" in done.reason
    assert done.drift is not None
    assert done.drift.position.max() < 1e-2


@pytest.mark.parametrize("method", ["rkf45", "tr-bdf2", "ida"])
def test_long_steps_do_not_pass_a_singular_position_unseen(method):
    model, q, u = coupled_cranks(), [0.8, -0.8, 0.8, 0.8], [-6.0, 6.0, -6.0, -6.0]
    done = simulate(model, q, u, np.linspace(0.0, 1.0, 5), formulation="constrained", method=method, rtol=0.3, atol=0.1)
    assert done.status == "failed"
    assert "singular position" in done.reason
    assert "'pin2'" in done.reason
    assert done.q[-1, 0] > 0.0


def test_steps_that_grow_do_not_pass_a_singular_position_unseen():
    # a slider-crank of equal bars meets another branch at a right angle; rod = -2 crank on ours
    p = Plane(np.eye(3))
    p.bar("crank", "ground", (0.0, 0.0), 0.6)
    p.bar("rod", "crank", (0.3, 0.0), -1.2)
    line = ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.3, 0.0, 0.0))
    model = p.model("equal bars", PointOnLineConstraint("guide", True, (), "ground", "rod", *line))

    def watched(z: np.ndarray) -> tuple[ConstrainedSystem, Course]:
        system = ConstrainedSystem(model, Acting(model, None, None), 0.0)
        y, t = np.stack([z, -2.0 * z, np.ones_like(z), np.full_like(z, -2.0)], axis=1), z - z[0]
        system.state(0.0, y[0, :2], y[0, 2:])
        for k in range(1, len(z)):
            G = system.equations.by_speeds(y[k : k + 1, :2], None, t[k : k + 1]).jacobian
            system.loops.step(t[k], y[k, :2], float(system.loops.volumes(G)[0]))
        return system, Course(t, y, np.hstack([y[:, 2:], np.zeros((len(z), 2))]), None)

    z = np.concatenate([np.linspace(0.6, 1.5, 60)[:-1], np.linspace(1.5, 1.5687, 41), np.linspace(1.5772, 1.7, 15)])
    found = first_doubt(*watched(z), CONTROL, conserved=False)
    assert found is not None
    assert found.step == 99
    assert "the loop 'guide' passes a singular position" in found.reason
    assert first_doubt(*watched(z[:100]), CONTROL, conserved=False) is None


def test_a_run_without_headway_ends():
    done = simulate(four_bar(), None, None, (0.0, 1.0), formulation="constrained", method="rkf45", max_step=1e-9)
    assert done.status == "failed"
    assert "no headway" in done.reason


def test_errors_of_the_solver_are_reasons_and_not_printed(capfd):
    def residual(t, y, yp):
        print("mine")
        return np.ones(1)  # feels nothing: no step solves it

    stepper = Ida(lambda t, y: np.zeros(1), 0.0, np.ones(1), CONTROL, residual)
    with pytest.raises(StepFailed, match=r"SUNDIALS stops: .*At t = 0"):
        stepper.advance(1.0)
    said, errors = capfd.readouterr()
    assert errors == ""
    assert set(said.split()) == {"mine"}
