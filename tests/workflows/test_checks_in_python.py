"""What the shell says of a recording reaches Python: the same weights, the same sentences, as warnings and notes."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import musculo
from musculo import Body, Coordinate, Marker, Markers, Model, MusculoWarning, Placement
from musculo.cli.main import app
from musculo.cli.summary import motion_of as motion_type
from musculo.demo import ARM_FILE, arm, arm_flexion
from musculo.functions import Constant, Linear, Scaled, SimmSpline
from musculo.model import FreeJoint
from musculo.model.joints import Axis, CustomJoint, PinJoint, PlanarJoint
from musculo.results.angle_columns import sliding_coordinates, translational_coordinates


def flexion() -> Markers:
    """The markers of the arm that ships, a little off, so that weights count."""
    model, pose = arm(), arm_flexion()
    place = musculo.kinematics(model, pose.coordinates(model)).markers(list(model.marker_names))
    noise = np.random.default_rng(7).normal(0.0, 0.003, place.shape[1:])
    return Markers(pose.time, model.marker_names, place + noise)


def test_weights_mean_the_same_in_the_shell(tmp_path):
    """Those not named weigh 1, zero leaves a marker out."""
    markers = flexion()
    musculo.write_trc(markers, tmp_path / "arm.trc")
    read = musculo.read_markers(tmp_path / "arm.trc")
    weights = {"elbow_lateral": 7.0, "forearm": 0.0}
    words = [word for name, weight in weights.items() for word in ("-w", f"{name}={weight}")]
    call = ["ik", str(ARM_FILE), str(tmp_path / "arm.trc"), *words, "-o", str(tmp_path / "out"), "--no-report"]
    result = CliRunner().invoke(app, call)
    assert result.exit_code == 0, result.output
    theirs = musculo.read_storage(tmp_path / "out" / "arm_ik.mot").coordinates(arm())
    ours = musculo.inverse_kinematics(arm(), read, weights=weights)
    # degrees are printed with eight digits
    np.testing.assert_allclose(ours.q, theirs, atol=1e-7)
    everyone = {name: weights.get(name, 1.0) for name in arm().marker_names}
    assert np.array_equal(musculo.inverse_kinematics(arm(), read, weights=everyone).q, ours.q)
    only = dict.fromkeys(arm().marker_names, 0.0) | {"elbow_lateral": 7.0, "wrist_radial": 1.0}
    assert np.abs(musculo.inverse_kinematics(arm(), read, weights=only).q - ours.q).max() > 1e-4


def test_leaps_are_warned_of_in_the_shells_words(tmp_path):
    markers = flexion()
    position = np.array(markers.position)
    elbow = position[:, markers.names.index("elbow_lateral")]
    for name in ("forearm", "wrist_radial", "wrist_ulnar"):
        k = markers.names.index(name)
        position[20:23, k] = 2.0 * elbow[20:23] - position[20:23, k]
    bad = replace(markers, position=position)
    with pytest.warns(MusculoWarning, match="angles jump from one frame to the next: elbow_flexion by") as told:
        found = musculo.inverse_kinematics(arm(), bad)
    assert told[0].filename == __file__
    assert str(told[0].message) in found.notes
    musculo.write_trc(bad, tmp_path / "arm.trc")
    words = ["ik", str(ARM_FILE), str(tmp_path / "arm.trc"), "-o", str(tmp_path / "out"), "--no-report"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)  # the shell has it in its log, and once
        result = CliRunner().invoke(app, words)
    assert result.exit_code == 3
    assert " ".join(result.output.split()).count("angles jump from one frame to the next") == 1


def test_a_good_recording_is_not_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        assert musculo.inverse_kinematics(arm(), flexion()).notes == ()


def test_markers_without_a_partner_and_holes_are_notes():
    markers = flexion().rename({"forearm": "stranger"})
    keep = np.ones(len(markers), dtype=bool)
    keep[30:50] = False
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        notes = musculo.inverse_kinematics(
            arm(), replace(markers, time=markers.time[keep], position=markers.position[keep])
        ).notes
    assert [note.split("; ")[0].split(" (1)")[0] for note in notes][1:] == [
        "markers of the model that the recording lacks, so not followed",
        "recorded markers that the model lacks, so not followed",
    ]
    assert "s without a frame after" in notes[0]


def test_another_axis_up_is_warned_of():
    """A body that is free in space fits markers that lie on their side, and lies on its side."""
    places = [(0.1, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.2), (-0.1, 0.5, 0.1)]
    base = FreeJoint("base", "ground", "b", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz")))
    on = tuple(Marker(f"m{k}", "b", at) for k, at in enumerate(places))
    model = Model("walker", (Body("b", 70.0, inertia=(0.1, 0.2, 0.3, 0, 0, 0)),), (base,), markers=on)
    q = np.zeros((30, 6))
    q[:, 3], q[:, 2] = np.linspace(0.0, 1.0, 30), 0.1 * np.sin(np.linspace(0.0, 6.0, 30))
    upright = Markers(
        0.01 * np.arange(30), model.marker_names, musculo.kinematics(model, q).markers(model.marker_names)
    )
    lying = upright.rotated(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0)))
    with pytest.warns(MusculoWarning, match=r"points along z here; if the subject stands, .*markers.rotated in Python"):
        assert musculo.inverse_kinematics(model, lying).converged
    with warnings.catch_warnings():
        warnings.simplefilter("error", MusculoWarning)
        musculo.inverse_kinematics(model, upright)


def scaled_walker(factor: float = -1.0) -> Model:
    """A body that is free in space by lines under a factor, as OpenSim's scaling writes them."""
    turns = tuple(Axis(tuple(d), Linear(), (n,)) for d, n in zip(np.eye(3), ("rx", "ry", "rz"), strict=True))
    slides = tuple(
        Axis(tuple(d), Scaled(Scaled(Linear(1.0 / factor, 0.01), factor)), (n,))
        for d, n in zip(np.eye(3), ("tx", "ty", "tz"), strict=True)
    )
    names = tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz"))
    base = CustomJoint("base", Placement("ground"), Placement("b"), names, rotations=turns, translations=slides)
    places = [(0.1, 0.0, 0.0), (0.0, 0.3, 0.0), (0.0, 0.0, 0.2), (-0.1, 0.5, 0.1)]
    on = tuple(Marker(f"m{k}", "b", at) for k, at in enumerate(places))
    return Model("walker", (Body("b", 70.0, inertia=(0.1, 0.2, 0.3, 0, 0, 0)),), (base,), markers=on)


@pytest.mark.parametrize("factor", [1.0, -1.0, 2.0])
def test_translations_under_a_factor_do_not_switch_checks_off(factor):
    """A model that was scaled has translations that are lines times one; its base slides all the same."""
    model = scaled_walker(factor)
    (joint,) = model.joints
    assert sliding_coordinates(joint) == {"tx", "ty", "tz"}
    assert translational_coordinates(joint) == frozenset()  # to OpenSim they are coupled
    assert {motion_type(name, joint) for name in ("tx", "ty", "tz")} == {"mixed"}
    q = np.zeros((30, 6))
    q[:, 3] = np.linspace(0.0, 1.0, 30)
    upright = Markers(
        0.01 * np.arange(30), model.marker_names, musculo.kinematics(model, q).markers(model.marker_names)
    )
    with pytest.warns(MusculoWarning, match="points along z here"):
        musculo.inverse_kinematics(model, upright.rotated(((1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 1.0, 0.0))))
    for force, words in ((0.686, "are forces in kN"), (-686.0, "pull the model down"), (686.0, "")):
        load = musculo.ExternalLoad("b", force=np.tile((0.0, force, 0.0), (30, 1)), point=np.zeros((30, 3)))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", MusculoWarning)
            musculo.inverse_dynamics(model, q, 0.0 * q, 0.0 * q, [load])
        assert [words in str(one.message) for one in told] == ([True] if words else [])


def test_only_translations_that_equal_their_coordinate_slide():
    (joint,) = scaled_walker().joints
    first, *others = joint.translations
    for function in (Scaled(Linear(), 0.5), Linear(0.5), Scaled(SimmSpline((0.0, 1.0), (0.0, 1.0))), Constant(1.0)):
        assert sliding_coordinates(replace(joint, translations=(replace(first, function=function), *others))) == {
            "ty",
            "tz",
        }


def planar_walk() -> tuple[Model, Markers]:
    """A body that moves in the plane of x and y, as gait10dof18musc, with markers at both sides of it."""
    places = [(0.3, 0.0, 0.3), (0.0, 0.8, -0.3), (-0.2, 0.4, 0.35), (0.1, -0.5, -0.25), (0.25, 1.1, 0.3)]
    names = tuple(Coordinate(name) for name in ("tilt", "tx", "ty"))
    base = PlanarJoint("base", Placement("ground"), Placement("b"), names)
    on = tuple(Marker(f"m{k}", "b", at) for k, at in enumerate(places))
    model = Model("planar", (Body("b", 70.0, inertia=(0.1, 0.2, 0.3, 0, 0, 0)),), (base,), markers=on)
    q = np.column_stack([0.1 * np.sin(np.linspace(0.0, 6.0, 30)), np.linspace(0.0, 1.0, 30), np.full(30, 0.9)])
    at = musculo.kinematics(model, q).markers(model.marker_names)
    return model, Markers(0.01 * np.arange(30), model.marker_names, at)


AROUND = ((-1, 0, 0), (0, 1, 0), (0, 0, -1))


@pytest.mark.parametrize(
    ("turn", "words"),
    [
        (((1, 0, 0), (0, 1, 0), (0, 0, 1)), ""),
        (AROUND, r"turned by 180 degrees about the vertical.* (markers.rotated([[-1, 0, 0], [0, 1, 0], [0, 0, -1]])"),
        (((1, 0, 0), (0, -1, 0), (0, 0, -1)), "mm where -y is assumed to point up,"),
        (((1, 0, 0), (0, 0, -1), (0, 1, 0)), "mm where z is assumed to point up,"),
        (
            ((0, 0, 1), (1, 0, 0), (0, 1, 0)),
            "mm where z is assumed to point up and they are turned by -90 degrees about",
        ),
        (((1, 0, 0), (0, 1, 0), (0, 0, -1)), "mm where they are mirrored,"),
    ],
    ids=["as it is", "backwards", "upside down", "z up", "z up, y ahead", "mirrored"],
)
def test_a_model_that_cannot_turn_is_never_put_on_its_head(turn, words):
    """Turned by half a turn about x, a subject that walks backwards fits a planar model, which stands on its head."""
    model, walk = planar_walk()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", MusculoWarning)
        musculo.inverse_kinematics(model, walk.rotated(turn))
    said = [text for one in told if " fit with " in (text := str(one.message)) or "points along" in text]
    assert len(said) == bool(words)
    for part in words.split(".*"):
        assert all(part in text for text in said)
    assert ("--up -y" in " ".join(said)) == ("-y is" in words)


def test_an_axis_that_was_taken_to_point_up_is_not_advised_again(tmp_path):
    model, walk = planar_walk()
    musculo.write_trc(walk.rotated(AROUND), tmp_path / "walk.trc")
    with pytest.warns(
        MusculoWarning, match="points along -y here.*the axis that was assumed to point up may be the wrong one"
    ):
        musculo.inverse_kinematics(model, musculo.read_markers(tmp_path / "walk.trc", up="-y"))


def test_a_turn_that_merely_brings_markers_nearer_is_not_advised():
    """What hangs at a ceiling, recorded somewhere in the laboratory: turned upside down it is 0.2 m away."""
    walker, over = planar_walk()[0], np.diag((1.0, -1.0, -1.0))
    hinge = PinJoint("hinge", Placement("ground", (0.0, 2.0, 0.0)), Placement("b"), (Coordinate("swing"),))
    model = walker.replace(joints=(hinge,))
    at = musculo.kinematics(model, 0.1 * np.sin(np.linspace(0.0, 6.0, 30))[:, None]).markers(model.marker_names)
    away = Markers(0.01 * np.arange(30), model.marker_names, at + np.array((0.0, 0.0, 0.2))).rotated(over)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", MusculoWarning)
        found = musculo.inverse_kinematics(model, away)
        turned = musculo.inverse_kinematics(model, away.rotated(over))
    bad, better = (float(np.sqrt(np.mean(np.square(one.marker_errors)))) for one in (found, turned))
    assert 0.15 < better < 0.5 * bad
    assert not [one for one in told if " fit with " in str(one.message)]
