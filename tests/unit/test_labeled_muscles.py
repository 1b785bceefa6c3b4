"""Results of muscles as labelled datasets: names, units, and what made them."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import musculo
from musculo import (
    Body,
    Coordinate,
    Model,
    Placement,
    muscle_equilibrium,
    muscle_geometry,
    path_geometry,
    path_tensions,
)
from musculo.demo import arm as demo_arm
from musculo.errors import InvalidInput
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint, SliderJoint
from musculo.model.model_path import Path, PathPoint
from musculo.model.path_force import PathSpring


@pytest.fixture(scope="module")
def motion(leg):
    q = np.linspace(-0.3, 0.3, 5)[:, None] * np.ones(len(leg.coordinate_names))
    return q, np.full((5, len(leg.speed_names)), 0.5), np.linspace(0.0, 0.4, 5)


def test_geometry_has_names_units_and_provenance(leg, motion):
    q, u, time = motion
    g = muscle_geometry(leg, q, u, like="opensim")
    d = g.to_xarray(time)
    own = g.independent_names
    sizes = {"time": 5, "muscle": len(leg.muscles), "coordinate": len(leg.speed_names), "independent": len(own)}
    assert dict(d.sizes) == sizes
    name, coordinate = leg.muscle_names[1], leg.speed_names[-1]
    picked = d["moment_arm"].sel(muscle=name, coordinate=coordinate).isel(time=3)
    assert float(picked) == g.moment_arm[3, 1, -1]
    followed = d["moment_arm_independent"].sel(muscle=name, independent=own[-1]).isel(time=3)
    assert float(followed) == g.moment_arm_independent[3, 1, -1]
    assert len(own) < len(leg.speed_names)  # the leg has a coupled coordinate
    assert d["length"].attrs["units"] == d["penalty"].attrs["units"] == "m"
    assert d["penalty"].dims == d["length"].dims
    assert d["speed"].attrs["units"] == "m/s"
    assert d["time"].attrs["units"] == "s"
    assert d.attrs["model"] == leg.name
    assert d.attrs["model_hash"] == leg.hash
    assert d.attrs["musculo_version"] == musculo.__version__
    assert d.attrs["option_wrapping"] == "opensim"


def test_without_time_frames_are_counted_and_a_pose_has_none(leg, motion):
    q, u, _ = motion
    assert list(muscle_geometry(leg, q, u, like="opensim").to_xarray()["frame"].values) == [0, 1, 2, 3, 4]
    one = muscle_geometry(leg, q[0], like="opensim").to_xarray()
    assert "frame" not in one.sizes
    assert "speed" not in one


def test_moment_arms_of_distances_have_no_unit(leg, motion):
    """Force times moment arm is a torque or a force."""
    q, _, time = motion
    d = muscle_geometry(leg, q, like="opensim").to_xarray(time)
    for name, unit in zip(d["coordinate"].values, d["unit"].values, strict=True):
        assert unit == ("1" if str(name).endswith(("_tx", "_ty", "_tz")) else "m"), name


def test_units_that_differ_are_no_unit_of_the_array():
    """It says where they are."""
    joints = (
        PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),)),
        SliderJoint("rail", Placement("arm"), Placement("block"), (Coordinate("slide"),)),
    )
    ends = PathPoint("a", "ground", (0.0, 2.0, 0.0)), PathPoint("b", "block", (0.5, 0.0, 0.0))
    bodies = Body("arm", 1.0), Body("block", 1.0)
    model = Model("hinge", bodies, joints, forces=(Muscle("m", "Thelen2003Muscle", path=Path(ends)),))
    d = muscle_geometry(model, np.zeros(2), like="opensim").to_xarray()
    for arm, where in (("moment_arm", "unit"), ("moment_arm_independent", "independent_unit")):
        assert list(d[where].values) == ["m", "1"]
        assert "units" not in d[arm].attrs
        assert d[arm].attrs["comment"] == f"m of angles, 1 of distances: see {where!r}"


def test_moment_arms_of_angles_alone_have_a_unit():
    d = muscle_geometry(demo_arm(), np.zeros(2), like="opensim").to_xarray()
    assert d["moment_arm"].attrs["units"] == d["moment_arm_independent"].attrs["units"] == "m"


def test_the_words_of_a_geometry_are_its_shapes(leg, motion):
    """Not its names, of which there may be hundreds."""
    q, u, _ = motion
    n, n_u = len(leg.muscles), len(leg.speed_names)
    whole, one = (muscle_geometry(leg, *given, like="opensim") for given in ((q, u), (q[0],)))
    start = f"PathGeometry(wrapping='opensim', paths: {n}, "
    assert repr(whole) == f"{start}length (5, {n}), speed (5, {n}), moment_arm (5, {n}, {n_u}))"
    assert repr(one) == f"{start}length ({n},), speed None, moment_arm ({n}, {n_u}))"


def test_other_paths_are_paths(leg, motion):
    q, u, time = motion
    points = leg.muscles[0].path.points
    spring = PathSpring("spring", path=Path((points[0], points[-1])), resting_length=0.1, stiffness=10.0)
    model = leg.replace(forces=(*leg.forces, spring))
    g = path_geometry(model, q, u, like="opensim")
    assert g.to_xarray(time)["length"].dims == ("time", "path")
    t = path_tensions(model, g.length, g.speed)
    d = t.to_xarray(time, model)
    assert d["tension"].attrs["units"] == "N"
    assert list(d["path"].values) == ["spring"]
    assert np.array_equal(d["tension"].values, t.tension)


def test_states_have_units_and_meanings(leg, motion):
    q, u, time = motion
    g = muscle_geometry(leg, q, u, like="opensim")
    forces = muscle_equilibrium(leg, g.length, g.speed, 0.5)
    d = forces.to_xarray(time, leg, activation=0.5)
    assert d["tendon_force"].attrs["units"] == "N"
    assert d["pennation"].attrs["units"] == "rad"
    assert np.array_equal(d["tendon_force"].sel(muscle=leg.muscle_names[0]).values, forces.tendon_force[:, 0])
    meanings = d["status"].attrs["flag_meanings"].split()
    assert meanings[d["status"].attrs["flag_values"].index(0)] == "converged"
    assert d.attrs["option_activation"] == "0.5"


def test_time_that_does_not_fit_is_refused(leg, motion):
    q, u, time = motion
    g = muscle_geometry(leg, q, u, like="opensim")
    with pytest.raises(InvalidInput, match="time has shape"):
        g.to_xarray(time[:3])
    with pytest.raises(InvalidInput, match="increase"):
        g.to_xarray(time[::-1])
    with pytest.raises(InvalidInput, match="single pose"):
        muscle_geometry(leg, q[0], like="opensim").to_xarray(time)


def test_datasets_survive_netcdf(leg, motion, tmp_path):
    import xarray

    q, u, time = motion
    d = muscle_geometry(leg, q, u, like="opensim").to_xarray(time)
    d.to_netcdf(tmp_path / "geometry.nc", engine="scipy")
    with xarray.open_dataset(tmp_path / "geometry.nc", engine="scipy") as again:
        assert np.array_equal(again["moment_arm"].values, d["moment_arm"].values)
        assert list(again["muscle"].values) == list(d["muscle"].values)


def test_xarray_is_imported_when_it_is_needed():
    modules = "musculo.muscle.paths.labeled_paths, musculo.muscle.path_loads.path_forces"
    code = f"import sys, {modules}; print('xarray' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
