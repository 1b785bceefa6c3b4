"""Metabolic power of a trial: means over whole cycles in which all forces are known, and the cost of transport."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Table, demo
from musculo.analyses import walking_cost
from musculo.analyses.gait import FORCE, Feet, Parameter
from musculo.analyses.walking_cost import trial_cost
from musculo.dynamics.energy import total_mass
from musculo.report.metabolic_section import metabolic_section
from musculo.results.trial import Trial
from musculo.signals.gait_events import GaitEvents

TIME = np.linspace(0.0, 2.0, 201)
POWER = 100.0 + 50.0 * np.sin(2.0 * np.pi * TIME) ** 2  # W, mean 125 over a whole second


@pytest.fixture
def trial(tmp_path):
    known = Trial(tmp_path, model=demo.arm())
    first, *others = known.model.muscle_names
    columns = [POWER, *(np.zeros_like(TIME) for _ in others), np.full(len(TIME), 3.0), POWER + 3.0]
    known.metabolic = Table(TIME, (first, *others, "basal", "body"), np.stack(columns, axis=1))
    return known


def walks(monkeypatch, judged, strikes=(0.25, 1.25, 1.9)):
    reasons = () if judged.all() else ("nobody measured the left foot",)
    events = GaitEvents(np.array(strikes), np.array([]))
    monkeypatch.setattr(walking_cost, "judged_frames", lambda *_: (judged.copy(), reasons))
    monkeypatch.setattr(walking_cost, "feet_events", lambda _: Feet({"r": events}, {"r": FORCE}, {}))
    speed = Parameter("speed", "m/s", {"r": np.array([1.2, 1.3])})
    monkeypatch.setattr(walking_cost, "spatiotemporal", lambda *_: (speed,))


def test_a_trial_without_steps_counts_as_a_whole(trial):
    found = trial_cost(trial)
    assert (found.over, found.speed, found.cost_of_transport) == ("the whole trial", None, None)
    assert_allclose(found.muscle_power, np.trapezoid(POWER, TIME) / 2.0)
    assert_allclose(found.body_power, found.muscle_power + 3.0)
    section = metabolic_section(trial)
    assert section.tables[0].columns == ("power", "W", "W/kg")
    assert section.bars[0].names[0] == trial.model.muscle_names[0].replace("_", " ")


def test_whole_cycles_count(trial, monkeypatch):
    """One of 1 s whose mean is 125 W, and one of 0.65 s in which a foot is not measured."""
    walks(monkeypatch, TIME < 1.5)
    found = trial_cost(trial)
    assert found.over == "one gait cycle"
    assert_allclose(found.muscle_power, 125.0, rtol=1e-12)
    assert_allclose(found.cost_of_transport, 128.0 / (total_mass(trial.model) * 1.25), rtol=1e-12)
    assert_allclose(found.muscles_cost_of_transport, 125.0 / (total_mass(trial.model) * 1.25), rtol=1e-12)
    section = metabolic_section(trial)
    assert section.tables[0].rows[0][-1] == f"{found.cost_of_transport:.2f}"
    assert "nobody measured the left foot" in section.text
    assert section.panels[0].not_judged == ((1.5, 2.0),)


def test_no_cost_is_stated_where_no_cycle_is_measured(trial, monkeypatch):
    walks(monkeypatch, (TIME > 0.3) & (TIME < 0.9))
    found = trial_cost(trial)
    assert (found.speed, found.cost_of_transport) == (None, None)
    assert found.over == "59 of 201 frames"
    walks(monkeypatch, TIME < 0.0)
    assert not trial_cost(trial).known
    section = metabolic_section(trial)
    assert section.tables == ()
    assert "no frame can be judged (nobody measured the left foot)" in section.text


def test_a_trial_without_metabolic_power_has_no_section(trial):
    trial.metabolic = None
    assert trial_cost(trial) is None
    assert metabolic_section(trial) is None
