"""Markers placed by a trial, beside OpenSim's marker placer: the pose, and where the markers end up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

pytest.importorskip("opensim")
from musculo import Markers, kinematics, read_osim, read_storage, write_storage
from musculo.analyses.scaling.scale_factors import time_window
from musculo.io import write_trc
from musculo.model import place_markers
from musculo.opensim import ScaleSetup, read_setup, tasks_of_setup
from musculo.results.table import Table
from support.ik_setups import DATASETS
from support.ik_setups import read_setup as read_ik_setup
from support.opensim_orientations import ask

# The part of each walk that stands in for a static trial [s].
LENGTH = 0.1
# OpenSim's solver asked for eleven digits, and what is then left [deg].
TIGHT_ACCURACY, TIGHT_DEG = 1e-11, 0.01
# The placer asks for four digits; what that leaves of its pose, most with couplers, moves markers this far [m].
LEFT = {"arm26": 1e-5, "gait10dof18musc": 1e-4, "gait2392": 1e-3, "rajagopal_walk": 1e-2}
# It prints eight decimals of poses, which is far below this in an objective near its minimum [m^2].
PRINTED = 1e-13


@pytest.fixture(scope="module", params=DATASETS)
def placement(request, data_folder, tmp_path_factory):
    """A set-up that only places markers, with tasks of every kind; what OpenSim and what we make of it."""
    folder = tmp_path_factory.mktemp("placed")
    ik = read_ik_setup(data_folder / request.param)
    model = read_osim(ik.model_file, opensim_rounding=True)
    times = ik.markers.time
    span = (float(times[3]), float(times[3] + LENGTH))
    free = [name for name in model.independent_coordinate_names if not model.coordinate(name).locked]
    ways = dict(zip(free[-3:], ("default_value", "manual_value", "from_file"), strict=False))
    # angles in degrees, as OpenSim's reader wants them
    grid = np.linspace(times[0], times[-1], 20)
    curve = Table(grid, tuple(free), 3.0 * np.sin(grid)[:, None] + np.zeros(len(free)), degrees=True)
    write_storage(curve, folder / "coordinates.mot")
    tasks = "".join(
        f'<IKMarkerTask name="{name}"><apply>true</apply><weight>{1.0 + k % 3}</weight></IKMarkerTask>'
        for k, name in enumerate((*ik.weights, "nobody"))
    ) + "".join(
        f'<IKCoordinateTask name="{name}"><apply>true</apply><weight>0.02</weight><value_type>{way}</value_type>'
        f"<value>0.1</value></IKCoordinateTask>"
        for name, way in ways.items()
    )
    (folder / "setup.xml").write_text(
        '<OpenSimDocument Version="40000"><ScaleTool name="t"><mass>70</mass>'
        f"<GenericModelMaker><model_file>{ik.model_file}</model_file></GenericModelMaker>"
        "<ModelScaler><apply>false</apply></ModelScaler>"
        f"<MarkerPlacer><apply>true</apply><IKTaskSet><objects>{tasks}</objects></IKTaskSet>"
        f"<marker_file>{ik.marker_file}</marker_file><coordinate_file>coordinates.mot</coordinate_file>"
        f"<time_range>{span[0]} {span[1]}</time_range><output_motion_file>pose.sto</output_motion_file>"
        "<output_model_file>placed.osim</output_model_file></MarkerPlacer></ScaleTool></OpenSimDocument>"
    )
    (done,) = ask([["placer", str(folder / "setup.xml")]], folder)
    assert done is True, done
    setup = read_setup(folder / "setup.xml")
    assert isinstance(setup, ScaleSetup)
    table = read_storage(folder / "coordinates.mot")
    ours = place_markers(model, ik.markers, setup.placer.tasks, coordinates=table, time_range=setup.placer.time_range)
    still = ik.markers.between(*span)
    mean = replace(still, time=still.time[:1], position=still.position.mean(axis=0)[None])
    asked = tasks_of_setup(setup.placer.tasks, model, mean, table)
    return request.param, folder, ik.model_file, ours, mean, asked, ik.markers, span


def objective(model, q, mean: Markers, asked) -> float:
    names = list(asked.followed)
    w = np.array([asked.weights[name] for name in names])
    squares = ((kinematics(model, q).markers(names) - mean.pick(names).position[0]) ** 2).sum(axis=1)
    fit = (w * squares).sum() / w.sum()
    for name, (weight, target) in asked.tasks.items():
        fit += weight * (q[model.coordinate_index(name)] - float(np.ravel(target)[0])) ** 2
    return 0.5 * float(fit)


def test_pose_fits_no_worse_than_the_placers(placement):
    _, folder, _, ours, mean, asked, *_ = placement
    assert ours.pose.converged
    assert asked.notes == ours.notes
    assert "nobody" in ours.notes[0]
    model = ours.pose.model
    theirs = read_storage(folder / "pose.sto").coordinates(model)[0]
    assert ours.pose.objective[0] == pytest.approx(objective(model, ours.q, mean, asked), rel=1e-9)
    assert ours.pose.objective[0] <= objective(model, theirs, mean, asked) + PRINTED
    assert list(ours.errors) == [name for name in model.marker_names if name in mean.names]


def test_pose_is_the_one_opensim_converges_to(placement, tmp_path):
    _, _, model_file, ours, mean, asked, *_ = placement
    model = ours.pose.model
    # a file needs two frames to have a rate
    twice = Markers([0.0, 0.01], mean.names, np.repeat(mean.position, 2, axis=0))
    write_trc(twice, tmp_path / "still.trc")
    goals = {name: (weight, float(np.ravel(target)[0])) for name, (weight, target) in asked.tasks.items()}
    weights = {name: asked.weights[name] for name in asked.followed}
    job = ["solve", str(model_file), "", {}, str(tmp_path / "still.trc"), weights, TIGHT_ACCURACY, False]
    (theirs,) = ask([[*job, list(model.coordinate_names), goals]], tmp_path)
    assert np.degrees(np.abs(ours.q - theirs[1]).max()) < TIGHT_DEG


def test_markers_end_up_where_the_placer_puts_them(placement):
    name, folder, _, ours, mean, _, trial, span = placement
    theirs = read_osim(folder / "placed.osim")
    assert ours.model.marker_names == theirs.marker_names
    assert set(ours.dropped) == set(ours.pose.model.marker_names) - set(mean.names)
    for mine, other in zip(ours.model.markers, theirs.markers, strict=True):
        assert mine.fixed == other.fixed
        assert_allclose(mine.location, other.location, atol=LEFT[name], err_msg=mine.name)
    # in the pose found every marker is now where it was measured, in whole frames at both ends, as OpenSim has it
    moved = list(ours.moved)
    measured = trial.pick(moved).position[time_window(trial, span)].mean(axis=0)
    assert_allclose(kinematics(ours.model, ours.q).markers(moved), measured, atol=1e-12)
