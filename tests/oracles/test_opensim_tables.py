"""The frozen tables of OpenSim 4.6 (`../shared/data/oracle`): 50 poses of each model, computed once and kept.

Forces of a motion and accelerations carry Simbody's excess where it has one (`support/simbody_terms.py`).
"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pytest

import musculo
from support.dynamics_models import assert_close
from support.recorded_data import DATA, NO_DATA, recorded
from support.simbody_terms import simbody_excess

TABLES = recorded("oracle/*.npz")
IDS = [t.stem for t in TABLES]

# What the project promises: max |difference| <= 1e-9 max |reference| per quantity and model.
AGREEMENT = 1e-9
# OpenSim solves for multipliers of the couplers at poses that miss them by up to 1e-9; the mass matrix amplifies that.
ACCELERATION = 1e-8

pytestmark = pytest.mark.skipif(not TABLES, reason=NO_DATA)

_FORCES = ("M", "tau_gravity", "tau_bias", "tau_id")
_MOTION = ("com", "R", "com_vel", "body_angvel", "sys_com", "marker", "marker_vel", "qdot")
QUANTITIES = _FORCES + _MOTION


@cache
def table(path):
    """(model, arrays in the model's own order of coordinates)."""
    facts = json.loads(path.with_suffix(".json").read_text())
    model = musculo.read_osim(DATA / facts["model"], opensim_rounding=True)
    assert sorted(facts["coordinates"]) == sorted(model.coordinate_names)
    assert tuple(facts["bodies"]) == model.body_names
    assert tuple(facts["markers"]) == model.marker_names
    order = [facts["coordinates"].index(name) for name in model.coordinate_names]
    with np.load(path) as stored:
        keys = (*QUANTITIES, "q", "u", "udot_in", "udot_fd")
        arrays = {key: stored[key] for key in keys if key in stored}
    for key in ("q", "u", "udot_in", "udot_fd", "qdot", "tau_gravity", "tau_bias", "tau_id"):
        arrays[key] = arrays[key][:, order]
    arrays["M"] = arrays["M"][:, order][:, :, order]
    frames = len(arrays["q"])
    for key in ("marker", "marker_vel"):
        arrays[key] = arrays[key].reshape(frames, -1, 3)
    return model, arrays


@cache
def numbers(path):
    """The same quantities from musculo."""
    model, t = table(path)
    q, u, udot = t["q"], t["u"], t["udot_in"]
    motion = musculo.kinematics(model, q, u)
    excess = simbody_excess(model, q, u)
    return {
        "M": musculo.mass_matrix(model, q),
        "tau_gravity": musculo.gravity_forces(model, q),
        "tau_bias": musculo.bias_forces(model, q, u) + excess,
        "tau_id": musculo.inverse_dynamics(model, q, u, udot) + excess,
        "com": np.stack([motion.position(b.name, b.mass_center) for b in model.bodies], 1),
        "R": np.stack([motion.pose(b.name).R for b in model.bodies], 1),
        "com_vel": np.stack([motion.velocity(b.name, b.mass_center) for b in model.bodies], 1),
        "body_angvel": np.stack([motion.angular_velocity(b.name) for b in model.bodies], 1),
        "sys_com": musculo.center_of_mass(model, q),
        "marker": motion.markers(),
        "marker_vel": motion.marker_velocities(),
        "qdot": musculo.coordinate_rates(model, q, u),
        "excess": excess,
    }


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("path", TABLES, ids=IDS)
def test_numbers_are_those_of_the_table(path, quantity):
    _, stored = table(path)
    assert_close(numbers(path)[quantity], stored[quantity], AGREEMENT, f"{path.stem}: {quantity}")


@pytest.mark.parametrize("path", TABLES, ids=IDS)
def test_forward_dynamics_is_that_of_the_table(path):
    """udot without applied forces; couplers, locks and closed loops embedded.

    The state is taken onto the embedding first: locks stop at velocity zero, couplers and loops hold exactly. OpenSim
    closed each loop from a random pose, so the table's own poses pick the branch.
    """
    model, t = table(path)
    e = musculo.embedding_of(model)
    motion = e.motion(e.independent(t["q"]), e.independent_speeds(t["q"], t["u"]), guess=t["q"])
    assert np.abs(motion.q - t["q"]).max() < 1e-8
    assert np.abs(motion.u - t["u"]).max() < 1e-8
    # Simbody's excess is a force that its equations carry beside ours
    excess = simbody_excess(model, motion.q, motion.u)
    udot = musculo.forward_dynamics(model, motion.q, motion.u, -excess)
    assert_close(udot, t["udot_fd"], ACCELERATION, f"{path.stem}: udot")


@pytest.mark.parametrize("path", TABLES, ids=IDS)
def test_accelerations_of_the_table_leave_no_force(path):
    """J^T (M udot + bias) = 0 for the table's udot, judged in units of the forces that cancel."""
    model, t = table(path)
    e = musculo.embedding_of(model)
    J = e.jacobian(t["q"])
    inertial = np.einsum("fij,fj->fi", numbers(path)["M"], t["udot_fd"])
    left = np.einsum("fij,fi->fj", J, inertial + numbers(path)["tau_bias"])
    scale = np.abs(inertial).max()
    assert np.abs(left).max() <= AGREEMENT * scale
