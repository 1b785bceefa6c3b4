"""Actuators of every kind that run along no path against a running OpenSim, with controls at random states."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_osim, write_osim
from musculo.forces.actuator_rows import control_names
from support.acting import generalized
from support.force_models import driven, every_state
from support.opensim_forces import ask

pytest.importorskip("opensim")

# Closed formulas that both sides compute to rounding; relative to the largest force.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("driven")
    file = folder / "model.osim"
    assert not write_osim(driven(folder), file)
    model = read_osim(file)
    q, u, _ = every_state(model, 40)
    controls = np.random.default_rng(3).uniform(-2.0, 2.0, (len(q), len(control_names(model))))
    return model, q, u, controls, file


def test_each_does_what_opensim_says(both):
    model, q, u, controls, file = both
    names = control_names(model)
    slow = names.index("slow")
    # OpenSim has a column for the one that is switched off, too
    given = np.concatenate([controls, np.ones((len(q), 1))], axis=1)
    alone = [np.where(np.arange(given.shape[1]) == k, given, 0.0) for k in range(len(names))]
    jobs = [
        ["actuators", str(file), q.tolist(), u.tolist(), c.tolist(), {"slow": c[:, slow].tolist()}]
        for c in (*alone, given)
    ]
    found = ask(jobs, file.parent)
    for k, (theirs, c) in enumerate(zip(found, (*alone, given), strict=True)):
        assert "error" not in theirs, theirs
        # OpenSim leaves the one that is switched off out of the names, not out of the controls
        assert theirs["controls"] == [f"/forceset/{name}" for name in names]
        ours = generalized(model, q, u, c[:, : len(names)])
        scale = np.abs(theirs["tau"]).max()
        assert scale > 0.1, names[k]
        assert_allclose(ours, theirs["tau"], rtol=0, atol=ROUNDING * scale, err_msg=str([*names, "all"][k]))


def test_rows_may_be_given_and_left_out(both):
    model, q, u, controls, _ = both
    names = control_names(model)
    far = np.zeros((len(q), 30))
    far[:, 20], far[:, 3:9] = controls[:, names.index("push")], controls[:, names.index("storm_0") :]
    some = np.zeros_like(controls)
    for name in ("push", *(f"storm_{k}" for k in range(6))):
        some[:, names.index(name)] = controls[:, names.index(name)]
    ours = generalized(model, q, u, far, rows={"push": 20, "storm": 3})
    assert_allclose(ours, generalized(model, q, u, some), rtol=0, atol=1e-13 * np.abs(ours).max())
