"""Simulations against live OpenSim: the same motion, and files of states that it reads."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import musculo
from support.opensim_process import ask

pytestmark = pytest.mark.skipif(importlib.util.find_spec("opensim") is None, reason="opensim is not installed")
# Both integrate with errors of 1e-10 a step over some hundred steps.
MOTION = 1e-6
CASES = {
    "arm26/arm26.osim": 0.4,
    "small_models/DoublePendulum3D_JR/DoublePendulum3D.osim": 0.5,
    "small_models/PathOnConstrainedBodyMomentArmTest.osim": 0.2,
    "leg6dof9musc/leg6dof9musc.osim": 0.2,
}


def started(model: musculo.Model) -> tuple[np.ndarray, np.ndarray]:
    """The default pose, moving."""
    e = musculo.embedding_of(model)
    zu = 0.5 * np.cos(np.arange(len(e.speed_names)))
    m = e.motion(e.independent(e.default_pose()), zu)
    return m.q, m.u


@pytest.fixture(scope="module")
def compared(data_folder, tmp_path_factory):
    """Ours and OpenSim's last states of every case, and the file of states as OpenSim reads it."""
    folder, jobs, ours = tmp_path_factory.mktemp("states"), [], {}
    for name, end in CASES.items():
        model = musculo.read_osim(data_folder / name)
        q, u = started(model)
        done = musculo.simulate(
            model, q, u, np.linspace(0.0, end, 5), rtol=1e-10, atol=1e-10, method="adams", model_forces=False
        )
        assert done.status == "finished", done.reason
        file = folder / f"{model.name or 'model'}.sto"
        musculo.write_storage(done.to_table(), file)
        start = {c: [q[k], u[model.speed_index(c)]] for k, c in enumerate(model.coordinate_names)}
        jobs += [["integrate", str(data_folder / name), start, end], ["read", str(data_folder / name), str(file)]]
        ours[name] = done
    answers = ask("opensim_states", jobs, folder)
    return {name: (ours[name], *answers[2 * k : 2 * k + 2]) for k, name in enumerate(CASES)}


@pytest.mark.parametrize("name", CASES)
def test_the_motion_is_that_of_opensim(compared, name):
    done, theirs, _ = compared[name]
    assert "error" not in theirs, theirs
    model = done.model
    found = np.array([theirs[c] for c in model.coordinate_names])
    assert np.abs(done.q[-1] - done.q[0]).max() > 0.05  # it did move
    assert np.abs(found[:, 0] - done.q[-1]).max() < MOTION
    assert np.abs(found[:, 1] - done.u[-1]).max() < 10 * MOTION


@pytest.mark.parametrize("name", CASES)
def test_opensim_reads_the_states(compared, name):
    done, _, read = compared[name]
    assert "error" not in read, read
    model = done.model
    locked = {c.name for c in model.coordinates if c.locked}
    assert np.array_equal([t for t, _ in read], done.time)
    for k, (_, state) in enumerate(read):
        for i, c in enumerate(model.coordinate_names):
            if c not in locked:
                assert state[c] == [done.q[k, i], done.u[k, model.speed_index(c)]], c
