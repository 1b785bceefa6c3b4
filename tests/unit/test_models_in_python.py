"""Models built or edited in Python meet the same checks as those from a file, copy and travel, and are freed."""

from __future__ import annotations

import copy
import dataclasses
import gc
import math
import os
import pickle
import weakref

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, ExternalLoad, Marker, Model, Muscle, PinJoint, Placement
from musculo.errors import InvalidFile, InvalidInput, InvalidModel, UnknownName
from musculo.functions import Linear
from musculo.model import CoordinateCoupler, EllipsoidJoint

INERTIA = (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)


def pin(name: str = "j", **changes) -> PinJoint:
    return PinJoint(name, "ground", "b", (Coordinate("c", **changes),))


def model(body: Body | None = None, joint=None, **rest) -> Model:
    return Model("m", (body or Body("b", 1.0, (1.0, 0.0, 0.0), INERTIA),), (joint or pin(),), **rest)


def ellipsoid(radii) -> EllipsoidJoint:
    return EllipsoidJoint("e", "ground", "b", tuple(map(Coordinate, "xyz")), radii=radii)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: model(gravity=()), "gravity is .*give 3 finite numbers"),
        (lambda: model(gravity=5), "gravity is 5"),
        (lambda: model(gravity=(0.0, 0.0, math.nan)), "gravity"),
        (lambda: model(Body("b", -1.0)), "body 'b': its mass is -1 kg; give zero or more"),
        (lambda: model(Body("b", math.nan)), "body 'b': its mass is nan"),
        (lambda: model(Body("b", "heavy")), "body 'b': its mass is 'heavy'"),
        (lambda: model(Body("b", 1.0, (1.0, 1.0))), "mass center .*give 3 finite numbers"),
        (lambda: model(Body("b", 1.0, inertia=(1.0, 1.0, 1.0))), "inertia .*give 6 finite numbers"),
        (lambda: model(joint=PinJoint("j", Placement("ground", (0.0, 0.0)), "b", (Coordinate("c"),))), "translation"),
        (lambda: model(joint=PinJoint("j", "b", "b", (Coordinate("c"),))), "joins the body 'b' to itself"),
        (lambda: model(joint=PinJoint("j", 3, "b", (Coordinate("c"),))), "its parent is 3"),
        (lambda: model(joint=PinJoint("j", "ground", "b", ("c",))), r"give Coordinate\('c'\)"),
        (lambda: model(joint=ellipsoid((1.0, 1.0))), "radii"),
        (lambda: model(joint=ellipsoid((-1.0, 1.0, 0.0))), "above zero"),
        (lambda: model(joint=pin(default_value=math.nan)), "coordinate 'c': its default value is nan"),
        (lambda: model(joint=pin(default_value="x")), "its default value is 'x'"),
        (lambda: model(joint=pin(prescribed=True, prescribed_function=np.sin)), "SampledSpline.through"),
    ],
)
def test_impossible_models_are_refused(make, message):
    with pytest.raises(InvalidModel, match=message):
        make()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_isometric_force": -3.0}, "muscle 'p': its max_isometric_force is -3 N; give zero or more"),
        ({"max_isometric_force": math.nan}, "its max_isometric_force is nan N"),
        ({"optimal_fiber_length": 0.0}, "its optimal_fiber_length is 0"),
        ({"tendon_slack_length": -0.1}, "its tendon_slack_length is -0.1 m; give zero or more"),
        ({"min_control": 1.0, "max_control": 0.5}, "its min_control is 1 and its max_control 0.5"),
        ({"min_control": "low"}, "its min_control is 'low'; give a number"),
        ({"max_control": math.nan}, "its max_control nan"),
    ],
)
def test_impossible_muscles_are_refused_with_their_model(changes, message):
    fine = Muscle("p", "Thelen2003Muscle")
    with pytest.raises(InvalidModel, match=message):
        model(forces=(dataclasses.replace(fine, **changes),))
    with pytest.raises(InvalidModel, match=message):
        model(forces=(fine,)).with_force("p", **changes)


def test_unknown_kinds_of_muscle_are_refused_but_those_of_plugins():
    with pytest.raises(UnknownName, match="no kind of muscle 'Millard2012' in muscle 'p'; known: Thelen2003Muscle, "):
        model(forces=(Muscle("p", "Millard2012"),))
    assert model(forces=(Muscle("p", "Blob2020Muscle"),)).muscle_names == ("p",)


def test_edits_are_checked_too():
    m = model()
    with pytest.raises(InvalidModel, match="its mass is -2"):
        m.with_body("b", mass=-2.0)
    with pytest.raises(InvalidModel, match="default value is nan"):
        m.with_coordinate("c", locked=True, default_value=math.nan)
    with pytest.raises(UnknownName, match="did you mean 'locked'"):
        m.with_coordinate("c", lokced=True)
    with pytest.raises(UnknownName, match="no field of a Model 'foo'"):
        m.replace(foo=1)
    assert m.with_body("b", mass=3.0).body("b").mass == 3.0


def test_forces_are_added_replaced_and_changed(leg):
    name = leg.muscle_names[0]
    strong = leg.with_force(name, max_isometric_force=1.5)
    assert strong.muscle_names == leg.muscle_names
    assert strong.muscle(name).max_isometric_force == 1.5
    more = leg.with_force(leg.muscles[0], name="twin")
    assert more.muscle_names == (*leg.muscle_names, "twin")
    assert leg.with_force(strong.muscle(name)).muscle(name) == strong.muscle(name)
    with pytest.raises(UnknownName, match="no force 'sol'"):
        leg.with_force("sol", max_isometric_force=1.5)
    with pytest.raises(UnknownName, match=r"'max_isometric_forc'.*did you mean 'max_isometric_force'"):
        leg.with_force(name, max_isometric_forc=1.5)


def test_constraints_are_added_and_replaced(leg):
    coupler = next(c for c in leg.constraints if isinstance(c, CoordinateCoupler))
    looser = leg.with_constraint(dataclasses.replace(coupler, enforced=False))
    assert [c.name for c in looser.constraints] == [c.name for c in leg.constraints]
    assert [c.enforced for c in looser.constraints if c.name == coupler.name] == [False]
    twin = leg.with_constraint(dataclasses.replace(coupler, name="twin"))
    assert [c.name for c in twin.constraints] == [*(c.name for c in leg.constraints), "twin"]


def test_a_name_stands_for_the_frame_of_a_body():
    assert model().joints[0].parent == Placement("ground")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: musculo.inverse_dynamics("arm26.osim", [0], [0], [0]), "read one with read_osim"),
        (lambda m: musculo.embedding_of("arm26.osim"), "read one with read_osim"),
        (lambda m: musculo.inverse_dynamics(m, [0], [0], [0], loads=[{"force": 1}]), "ExternalLoad"),
        (lambda m: musculo.inverse_dynamics(m, [0], [0], [0], threads=0), "threads is 0"),
        (lambda m: musculo.inverse_dynamics(m, [0], [0], [1.7e308]), "beyond the range of floating-point"),
        (lambda m: musculo.inverse_dynamics(m, np.ma.masked_array([9.0], [True]), [0], [0]), "masked"),
        (lambda m: musculo.embedding_of(m).pull_back_mass([0.0], np.eye(3)), r"M has shape \(3, 3\)"),
        (lambda m: musculo.write_osim("out.osim", m), "needs a Model and a path"),
    ],
)
def test_wrong_arguments_are_named(call, message):
    with pytest.raises(InvalidInput, match=message):
        call(model())


def test_paths_that_are_none():
    for nothing in ("", None, b"x"):
        with pytest.raises(InvalidFile, match="path"):
            musculo.read_osim(nothing)


def test_a_single_load_needs_no_list():
    m, load = model(), ExternalLoad("b", force=(0.0, 1.0, 0.0), point=(1.0, 0.0, 0.0))
    listed = musculo.inverse_dynamics(m, [0.0], [0.0], [0.0], [load])
    assert_allclose(musculo.inverse_dynamics(m, [0.0], [0.0], [0.0], load), listed)


def test_models_and_errors_travel_between_processes():
    m = model(markers=(Marker("tip", "b", (1.0, 0.0, 0.0)),))
    musculo.kinematics(m, [0.0]).markers("tip")
    musculo.embedding_of(m)
    for twin in (pickle.loads(pickle.dumps(m)), copy.deepcopy(m)):
        assert twin.hash == m.hash
        assert_allclose(musculo.gravity_forces(twin, [0.3]), musculo.gravity_forces(m, [0.3]))
    error = pickle.loads(pickle.dumps(UnknownName("body", "b", ["c"], "somewhere")))
    assert str(error) == str(UnknownName("body", "b", ["c"], "somewhere"))


def test_models_are_freed():
    m = model()
    musculo.forward_dynamics(m, [0.0], [0.0], [0.0])
    kept = weakref.ref(m)
    del m
    gc.collect()
    assert kept() is None


def coupled() -> Model:
    follow = CoordinateCoupler("follow", dependent="e", independents=("c",), function=Linear(2.0, 0.1))
    bodies = (*model().bodies, Body("d", 1.0, (0.0, 1.0, 0.0), INERTIA))
    return Model("m", bodies, (pin(), PinJoint("k", "b", "d", (Coordinate("e"),))), (follow,))


def test_default_pose_follows_couplers():
    m = coupled().with_coordinate("c", default_value=0.3)
    assert_allclose(musculo.embedding_of(m).default_pose(), [0.3, 0.7])


def test_long_trials_of_embedded_models_are_done_in_parts(monkeypatch):
    m = coupled()
    e, rng = musculo.embedding_of(m), np.random.default_rng(0)
    motion = e.motion(rng.normal(size=(50, 1)), rng.normal(size=(50, 1)))
    tau = rng.normal(size=(50, 2))
    load = ExternalLoad("d", force=rng.normal(size=(50, 3)))
    whole = musculo.forward_dynamics(m, motion.q, motion.u, tau, load)
    monkeypatch.setattr("musculo.dynamics.forward._CHUNK", 7)
    assert_allclose(musculo.forward_dynamics(m, motion.q, motion.u, tau, load), whole, rtol=1e-12)
    wrong = motion.u.copy()
    wrong[33, 1] += 1.0
    with pytest.raises(InvalidInput, match="frame 33"):
        musculo.forward_dynamics(m, motion.q, wrong, tau, load)


def test_names_that_opensim_refuses(tmp_path):
    notes = musculo.write_osim(model().replace(name="my model"), tmp_path / "a.osim")
    assert musculo.read_osim(tmp_path / "a.osim").name == "my_model"
    assert "my_model" in notes[0].why
    for bad in ("upper arm", "a/b", "\x01"):
        spaced = Model("m", (Body(bad, 1.0),), (PinJoint("j", "ground", bad, (Coordinate("c"),)),))
        with pytest.raises(InvalidModel, match="OpenSim refuses to open"):
            musculo.write_osim(spaced, tmp_path / "b.osim")
    assert not (tmp_path / "b.osim").exists()


def test_links_and_modes_of_replaced_files_stay(tmp_path):
    target, link = tmp_path / "model.osim", tmp_path / "link.osim"
    musculo.write_osim(model(), target)
    target.chmod(0o640)
    os.symlink(target, link)
    musculo.write_osim(model(), link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
