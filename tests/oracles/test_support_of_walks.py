"""Recorded walks: which frames have a foot beside the plates, and what that makes of residuals."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from support.recorded_data import DATA, NO_DATA

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)


def support_of(model, motion, loads):
    model = musculo.read_osim(DATA / model)
    table = musculo.read_storage(DATA / motion)
    acting = musculo.read_external_loads(DATA / loads)
    return model, table, acting, musculo.known_support(model, table.time, table.coordinates(model), acting)


def test_over_ground_a_step_before_and_after_the_plates():
    """Rajagopal's walk has plates for three steps: the left foot stands beside them at both ends, the right never.

    The residual that is left where all is measured is less than a tenth of what it is where a foot is not.
    """
    model, table, acting, found = support_of(
        "rajagopal_walk/subject_walk_scaled.osim", "oracle/rajagopal_walk/ik.mot", "rajagopal_walk/oracle_extloads.xml"
    )
    assert not found.standing["calcn_r"].any()
    stands = found.standing["calcn_l"]
    assert stands[(table.time < 0.4) | (table.time > 2.05)].all()
    assert not stands[(table.time > 0.5) & (table.time < 1.95)].any()
    motion = table.lowpass(6.0)
    q = motion.coordinates(model)
    u, udot = (np.gradient(x, table.time, axis=0) for x in (q, np.gradient(q, table.time, axis=0)))
    loads = [musculo.ExternalLoad(*one) for one in acting.at(table.time)]
    moments = musculo.inverse_dynamics(model, q, u, udot, loads=loads)
    up = np.abs(moments[:, model.coordinate_names.index("pelvis_ty")])
    assert up[found.known].max() < up[~found.known].max() / 10.0
    assert up[found.known].max() < 0.1 * musculo.total_mass(model) * 9.80665


@pytest.mark.parametrize(
    ("model", "motion", "loads"),
    [
        (
            "gait10dof18musc/subject01.osim",
            "oracle/gait10dof18musc_walk/ik.mot",
            "gait10dof18musc/oracle_extloads.xml",
        ),
        ("gait2392/subject01_simbody.osim", "gait2392/subject01_walk1_ik.mot", "gait2392/oracle_extloads.xml"),
    ],
)
def test_on_an_instrumented_treadmill_no_foot_is_beside_a_plate(model, motion, loads):
    _, table, acting, found = support_of(model, motion, loads)
    measured = table.time <= acting.table.time[-1] + 0.01
    assert found.known[measured].all()
    assert not found.known[~measured].any()
