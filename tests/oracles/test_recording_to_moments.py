"""From recorded files to joint moments: readers, filter, splines and loads together give OpenSim's inverse dynamics."""

from __future__ import annotations

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import ExternalLoad, inverse_dynamics, read_external_loads, read_osim, read_storage
from musculo.signals import NaturalSpline
from support.simbody_terms import simbody_excess

# OpenSim prints results with eight decimals: half a unit of the last, and some rounding of moments up to 1000 N m.
PRINTED = 2e-8  # [N m, N]


@pytest.mark.parametrize(
    ("folder", "dataset", "file"),
    [
        ("gait2392", "gait2392_walk", "subject01_simbody.osim"),
        ("gait10dof18musc", "gait10dof18musc_walk", "subject01.osim"),
        ("rajagopal_walk", "rajagopal_walk", "subject_walk_scaled.osim"),
    ],
)
def test_joint_moments_are_opensims(data_folder, folder, dataset, file):
    results = data_folder / "oracle" / dataset
    columns = json.loads((results / "results.json").read_text())["columns"]["id"]["columns"]
    theirs = np.load(results / "results.npz")["id"]

    model = read_osim(data_folder / folder / file)
    motion = read_storage(results / "ik.mot").lowpass(6.0, like="opensim").in_radians(model)
    spline = NaturalSpline(motion.time, motion.coordinates(model, missing="default"))
    loads = read_external_loads(data_folder / folder / "oracle_extloads.xml")

    time = theirs[:, 0]
    external = [ExternalLoad(*load) for load in loads.at(time)]
    q, u, udot = (spline(time, order) for order in range(3))
    # Rajagopal's knee is one of the joints where Simbody's forces are off by a known amount.
    ours = inverse_dynamics(model, q, u, udot, loads=external) + simbody_excess(model, q, u)
    named = {name.rsplit("_", 1)[0]: theirs[:, k] for k, name in enumerate(columns) if k}
    assert len(named) > 5
    # Padding reaches half a recording beyond the file, where both extrapolate.
    for k, name in enumerate(model.speed_names):
        if name in named:
            assert_allclose(ours[:, k], named[name], rtol=0, atol=PRINTED, err_msg=name)
