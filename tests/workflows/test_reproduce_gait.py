"""Barman2020's step of walking, in the paper's mode and with a foot that stands exactly."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.dynamics.poses import kinematics
from musculo.replications.prediction.predicted_gait import (
    BAND,
    SPEED_BAND,
    coordinates_of_step,
    exact_step,
    features_of,
    paper_step,
    stride_of,
)
from musculo.replications.prediction.skeleton import skeleton

# The tolerances that are asked for.
PAPER, EXACT = 1e-3, 1e-6


@pytest.fixture(scope="module")
def paper():
    return paper_step()


@pytest.fixture(scope="module")
def exact():
    return exact_step()


def test_the_papers_mode_keeps_all_constraints(paper):
    assert paper.motion.solved
    assert paper.motion.solver.largest_violation < PAPER
    # six control points for each of 38 coordinates; the paper counts the 17 frozen ones, too
    assert len(paper.motion.program.variable_names) + 17 * 6 == 330


def test_the_standing_foot_stands_exactly(exact):
    assert exact.motion.solver.largest_violation < EXACT
    # the optimum of the same problem by a search with other linear equations, to four figures
    assert exact.motion.solved
    assert exact.motion.objective == pytest.approx(0.2333, abs=1e-4)
    table = coordinates_of_step(exact, frames=201)
    k = kinematics(skeleton(root="left_foot"), table.values)
    flat = (table.time >= 0.1) & (table.time <= 0.3)
    heel, ball = k.position("foot_l"), k.position("toes_l")
    assert np.ptp(heel[flat], axis=0).max() < 1e-12
    assert np.ptp(ball[table.time >= 0.1], axis=0).max() < 1e-12


def test_a_step_ends_as_the_next_begins(paper):
    table = coordinates_of_step(paper, steps=2, frames=51)
    k = kinematics(skeleton(), table.values)
    # heels strike a step length apart, within the band
    heel_r = k.position("foot_r")[50]
    heel_l = k.position("foot_l")[0]
    assert heel_r[0] - heel_l[0] == pytest.approx(0.6, abs=2 * BAND)
    speed = np.gradient(k.position("toes_l")[10:30, 0], table.time[10:30])
    assert np.abs(speed).max() < 10 * SPEED_BAND


@pytest.mark.parametrize("mode", ["paper", "exact"])
def test_it_walks(mode, request):
    found = features_of(stride_of(request.getfixturevalue(mode)))
    # two peaks of the vertical reaction, with less than the weight between them
    assert found["vertical ground reaction, first peak"] > 1.1
    assert found["vertical ground reaction, valley"] < 0.85
    assert found["vertical ground reaction, second peak"] > found["vertical ground reaction, valley"] + 0.1
    assert 55 < found["knee flexion in swing, largest"] < 70
    assert found["braking, largest"] > 0.05
    assert found["propulsion, largest"] > 0.05
