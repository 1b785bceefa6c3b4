"""Scenes: what the page is given is what the mechanics computes, and what is left out of it is noted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import Markers, Table, demo, kinematics, muscle_geometry, view
from musculo.errors import InvalidInput
from musculo.results import ExternalForce, ExternalLoads
from musculo.spatial.rotation import from_quaternion
from musculo.viewer import scene as scenes
from musculo.viewer.scene_inputs import sampled
from support import mesh_files
from support.page_arrays import unpacked


@pytest.fixture(scope="module")
def arm():
    return demo.arm()


@pytest.fixture(scope="module")
def arm_motion():
    return demo.arm_flexion()


# --- what a scene says ----------------------------------------------------------------------------------------------
def test_poses_are_those_of_kinematics(arm, arm_motion):
    data = view(arm, arm_motion).data
    poses = kinematics(arm, arm_motion.coordinates(arm))
    p, r = unpacked(data["poses"]["p"]), unpacked(data["poses"]["r"])
    assert data["bodies"] == ["ground", *arm.body_names]
    for k, name in enumerate(arm.body_names):
        R, position = poses.pose(name)
        np.testing.assert_allclose(p[:, k], position, atol=2e-5)
        np.testing.assert_allclose(from_quaternion(r[:, k]), R, atol=1e-4)
    assert (np.einsum("fbi,fbi->fb", r[1:], r[:-1]) > 0.0).all()  # neighbours may be interpolated


def test_series_have_the_units_of_the_field(arm, arm_motion):
    found = {(s["name"], s["quantity"]): s for s in view(arm, arm_motion).data["series"]}
    elbow = found["elbow_flexion", "angle"]
    assert elbow["unit"] == "°"
    np.testing.assert_allclose(unpacked(elbow["values"]), arm_motion.column("elbow_flexion"), atol=2e-3)
    length = muscle_geometry(arm, arm_motion.coordinates(arm)).length
    triceps = unpacked(found["triceps_long", "length"]["values"])
    np.testing.assert_allclose(triceps, length[:, 0], atol=1e-5)


def test_a_coordinate_that_turns_through_a_curve_stays_in_radians():
    """As in files and in the report: `knee_angle_r_beta` of Rajagopal's model is such a one."""
    bend = np.linspace(0.0, 2.0, 9)
    knee = musculo.model.CustomJoint.from_samples(
        "knee_r", "ground", "leg", {"beta_r": bend, "rz": bend + 0.1 * bend**2}
    )
    model = musculo.Model("knee", (musculo.Body("leg", 5.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0)),), (knee,))
    motion = Table(np.linspace(0.0, 1.0, 11), ("beta_r",), np.linspace(0.2, 1.2, 11)[:, None], degrees=True)
    (series,) = (s for s in view(model, motion).data["series"] if s["name"] == "beta_r")
    assert (series["quantity"], series["unit"]) == ("angle", "rad")
    np.testing.assert_allclose(unpacked(series["values"]), motion.values[:, 0], atol=1e-4)


def test_activation_by_name_at_other_times(arm, arm_motion):
    table = Table([0.2, 0.6], ("biceps_long", "/forceset/brachialis/activation"), [[0.0, 1.0], [1.0, 0.0]])
    data = view(arm, arm_motion, activation=table).data
    active = unpacked(data["muscles"]["activation"])
    time = arm_motion.time
    inside = (time >= 0.2) & (time <= 0.6)
    k, other = arm.muscle_names.index("biceps_long"), arm.muscle_names.index("brachialis")
    np.testing.assert_allclose(active[inside, k], (time[inside] - 0.2) / 0.4, atol=1e-4)
    np.testing.assert_allclose(active[inside, other], 1.0 - (time[inside] - 0.2) / 0.4, atol=1e-4)
    assert np.isnan(active[~inside]).all()
    assert np.isnan(active[:, arm.muscle_names.index("triceps_long")]).all()
    with pytest.raises(InvalidInput, match="no column for any muscle"):
        view(arm, arm_motion, activation=Table([0.0, 1.0], ("gluteus",), [[0.0], [1.0]]))
    with pytest.raises(InvalidInput, match="shape"):
        view(arm, arm_motion, activation=np.zeros((3, 2)))


def test_sampling_leaves_gaps_and_ends_open():
    time, values = np.array([0.0, 1.0, 2.0, 3.0]), np.array([0.0, 1.0, np.nan, 3.0])
    found = sampled(time, values, np.array([-1.0, 0.5, 1.0, 1.5, 3.0, 3.1]))
    np.testing.assert_allclose(found, [np.nan, 0.5, 1.0, np.nan, 3.0, np.nan])


def test_markers_measured_and_model(arm, arm_motion):
    poses = kinematics(arm, arm_motion.coordinates(arm))
    names = (arm.marker_names[1], "unknown", arm.marker_names[0])
    first, last = (poses.markers([name])[:, 0] for name in (names[0], names[2]))
    position = np.stack([first, np.zeros_like(first), last], axis=1)
    position[3, 0] = np.nan
    position[5, 2] += [0.003, 0.0, 0.004]
    whole = view(arm, arm_motion, markers=Markers(arm_motion.time, names, position)).data
    data, errors = (
        whole["markers"],
        {s["name"]: unpacked(s["values"]) for s in whole["series"] if s["kind"] == "marker"},
    )
    assert data["match"] == [1, -1, 0]
    measured, model = unpacked(data["measured"]), unpacked(data["model"])
    assert np.isnan(measured[3, 0]).all()
    moved = np.arange(len(arm_motion)) == 5
    np.testing.assert_allclose(measured[~moved, 2], model[~moved, 0], atol=5e-5)
    assert set(errors) == {names[0], names[2]}
    np.testing.assert_allclose(errors[names[2]], np.where(moved, 5.0, 0.0), atol=1e-3)
    assert np.isnan(errors[names[0]][3])


def test_markers_that_do_not_belong_to_the_model_are_noted(arm, arm_motion):
    position = np.zeros((len(arm_motion), 1, 3))
    strange = view(arm, arm_motion, markers=Markers(arm_motion.time, ("C7",), position))
    assert any("No measured marker has the name" in note and "C7" in note for note in strange.notes)
    name = arm.marker_names[0]
    late = view(arm, arm_motion, markers=Markers(arm_motion.time + 100.0, (name,), position))
    assert any("markers lie at other times" in note for note in late.notes)
    assert "measured" not in late.data["markers"]
    assert view(arm, arm_motion, markers=Markers(arm_motion.time, (name,), position)).notes == view(arm).notes


def test_loads_that_do_not_belong_to_the_model_are_noted(arm, arm_motion):
    names = tuple(f"{what}{axis}" for what in ("f", "p") for axis in "xyz")
    table = Table([0.0, 2.0], names, np.ones((2, 6)))
    forces = (ExternalForce("left", "calcn_l", "f", "p"), ExternalForce("hand", "forearm", "f", "p"))
    scene = view(arm, arm_motion, loads=ExternalLoads("l", forces, table))
    assert scene.data["loads"]["names"] == ["hand on forearm"]
    assert any("left" in note and "calcn_l" in note for note in scene.notes)
    only = view(arm, arm_motion, loads=ExternalLoads("l", forces[:1], table))
    assert only.data["loads"] == {"names": []}
    late = view(arm, arm_motion, loads=ExternalLoads("l", forces[1:], Table([50.0, 51.0], names, np.ones((2, 6)))))
    assert late.data["loads"] == {"names": []}
    assert any("loads lie at other times" in note for note in late.notes)


def test_loads_are_arrows_in_ground(arm, arm_motion):
    """A force of the forearm's frame at a point of it, and one in ground; none outside the data's times."""
    names = tuple(f"{what}{axis}" for what in ("f", "p") for axis in "xyz")
    table = Table([0.0, 0.5], names, np.tile([1.0, 2.0, 3.0, 0.01, -0.2, 0.03], (2, 1)))
    forces = (
        ExternalForce("own", "forearm", "f", "p", "", "forearm", "forearm"),
        ExternalForce("ground", "forearm", "f", "p"),
        ExternalForce("off", "forearm", "f", "p", applies=False),
    )
    data = view(arm, arm_motion, loads=ExternalLoads("l", forces, table)).data["loads"]
    assert data["names"] == ["own on forearm", "ground on forearm"]
    poses = kinematics(arm, arm_motion.coordinates(arm))
    point, force = unpacked(data["point"]), unpacked(data["force"])
    inside = arm_motion.time <= 0.5
    expected = poses.position("forearm", (0.01, -0.2, 0.03))
    np.testing.assert_allclose(point[:, 0], expected, atol=2e-5)
    np.testing.assert_allclose(force[inside, 0], (poses.pose("forearm").R @ [1.0, 2.0, 3.0])[inside], atol=2e-4)
    np.testing.assert_allclose(force[inside, 1], np.tile([1.0, 2.0, 3.0], (inside.sum(), 1)), atol=2e-4)
    assert np.isnan(force[~inside]).all()


def test_reactions_by_opensims_names(arm, arm_motion):
    stem = "elbow_on_forearm_in_"
    columns = [f"{stem}{frame}_{what}{axis}" for frame in ("ground", "forearm") for what in "fmp" for axis in "xyz"]
    row = [1.0, 2.0, 3.0, 0, 0, 0, 0.1, 0.2, 0.3] * 2
    table = Table(arm_motion.time, tuple(columns), np.tile(row, (len(arm_motion), 1)))
    data = view(arm, arm_motion, reactions=table).data["reactions"]
    poses = kinematics(arm, arm_motion.coordinates(arm))
    np.testing.assert_allclose(unpacked(data["point"])[:, 0], np.tile([0.1, 0.2, 0.3], (len(arm_motion), 1)), atol=1e-4)
    np.testing.assert_allclose(unpacked(data["point"])[:, 1], poses.position("forearm", (0.1, 0.2, 0.3)), atol=1e-4)
    with pytest.raises(InvalidInput, match="no column such as"):
        view(arm, arm_motion, reactions=arm_motion)
    with pytest.raises(InvalidInput, match="not a frame of the model"):
        view(arm, arm_motion, reactions=table.rename(lambda name: name.replace("_in_forearm", "_in_child")))


# --- motions --------------------------------------------------------------------------------------------------------
def test_coordinates_that_the_motion_leaves_out_follow_the_others(leg):
    """The patella follows the knee; the hip stays at its default, which a note says."""
    flexion = np.radians([0.0, 30.0, 60.0])
    scene = view(leg, Table([0.0, 0.1, 0.2], ("knee_flexion",), flexion[:, None]))
    found = {s["name"]: unpacked(s["values"]) for s in scene.data["series"] if s["kind"] == "coordinate"}
    e = musculo.embedding_of(leg)
    z = np.zeros((3, len(e.coordinate_names)))
    z[:, e.coordinate_names.index("knee_flexion")] = flexion
    expected = np.degrees(e.coordinates(z)[:, leg.coordinate_index("patella_angle")])
    np.testing.assert_allclose(found["patella_angle"], expected, atol=1e-3)
    assert any("hip_flexion" in note and "patella" not in note for note in scene.notes)


def test_bad_motions_are_named(arm):
    with pytest.raises(InvalidInput, match="no column for any coordinate"):
        view(arm, Table([0.0, 1.0], ("knee",), [[0.0], [1.0]]))
    with pytest.raises(InvalidInput, match="gaps in every frame"):
        view(arm, Table([0.0, 1.0], arm.coordinate_names, [[0.0, np.nan], [np.nan, 0.0]]))
    with pytest.raises(InvalidInput, match="increasing"):
        view(arm, np.zeros((2, 2)), [1.0, 1.0])
    with pytest.raises(InvalidInput, match="no frames"):
        view(arm, np.zeros((0, 2)))
    with pytest.raises(InvalidInput, match="needs a Model"):
        view("arm.osim")
    with pytest.raises(InvalidInput, match="no folder"):
        view(arm, geometry="nowhere")


def test_frames_with_gaps_are_left_out_and_noted(arm, arm_motion):
    """The other frames stay as they are, with the rows of the activations that belong to them."""
    values = arm_motion.values.copy()
    values[[3, 7], 1] = np.nan
    good = np.isfinite(values).all(axis=1)
    active = np.linspace(0.0, 1.0, len(good))[:, None] * np.ones(len(arm.muscles))
    motion = Table(arm_motion.time, arm_motion.names, values, degrees=arm_motion.degrees)
    scene = view(arm, motion, activation=active)
    np.testing.assert_allclose(unpacked(scene.data["time"]), arm_motion.time[good], atol=1e-6)
    np.testing.assert_allclose(unpacked(scene.data["muscles"]["activation"])[:, 0], active[good, 0], atol=1e-4)
    elbow = next(s for s in scene.data["series"] if s["name"] == "elbow_flexion")
    np.testing.assert_allclose(unpacked(elbow["values"]), arm_motion.column("elbow_flexion")[good], atol=2e-3)
    first, last = arm_motion.time[[3, 7]]
    assert f"2 of {len(good)} frames have gaps and are not drawn, from {first:g} s to {last:g} s" in scene.notes[0]


def test_the_default_pose_and_frames_without_times(arm):
    assert view(arm).data["frames"] == {"total": 1, "shown": 1}
    scene = view(arm, np.zeros((30, 2)))
    assert any("60 frames a second" in note for note in scene.notes)


def test_a_long_trial_stays_small(arm, monkeypatch):
    """Of 10^4 frames with 100 muscles as many are drawn as fit, from the first to the last, and the page says so.

    Here at a tenth of the frames: all that may be drawn (`_MOST_FRAMES`) take 4.2 MB with these muscles.
    """
    model = arm.replace(forces=tuple(replace(f, name=f"{f.name}_{k}") for k in range(17) for f in arm.muscles))
    time = np.linspace(0.0, 100.0, 10_000)
    rng = np.random.default_rng(4)
    q = np.stack([0.4 * np.sin(time * 3.1), 1.0 + 0.8 * np.sin(time * 4.7)], axis=1)
    q = q + 0.002 * rng.normal(size=q.shape)
    active = rng.uniform(size=(10_000, 102))
    most, share = scenes._MOST_FRAMES, 10
    monkeypatch.setattr(scenes, "_MOST_FRAMES", most // share)
    scene = view(model, q, time, activation=active)
    assert scene.data["frames"] == {"total": 10_000, "shown": most // share}
    assert share * len(scene.json()) < scenes.LARGEST
    assert any(f"{most // share} of 10000 frames" in note for note in scene.notes)
    drawn = unpacked(scene.data["time"])
    assert (drawn[0], drawn[-1]) == (0.0, 100.0)
    # and where a scene would be larger than it may be, frames are left out until it is not
    limit = len(scene.json()) // 3
    monkeypatch.setattr(scenes, "LARGEST", limit)
    smaller = view(model, q, time, activation=active)
    assert len(smaller.json()) <= limit
    assert 50 < smaller.data["frames"]["shown"] < most // share


# --- bones ----------------------------------------------------------------------------------------------------------
def with_mesh(model, file="bone.vtp"):
    mesh = f"<Mesh name='m'><socket_frame>..</socket_frame><mesh_file>{file}</mesh_file></Mesh>"
    text = f"<attached_geometry>{mesh}</attached_geometry>"
    return model.with_body("forearm", carried=(text,))


def kinds_of(scene, body):
    return {s["kind"] for s in scene.data["shapes"] if scene.data["bodies"][s["body"]] == body}


def test_every_body_gets_a_bone(arm, leg):
    for model in (arm, leg):
        scene = view(model)
        for name in model.body_names:
            assert kinds_of(scene, name)
    # from the shoulder to the elbow
    (bone,) = [s for s in view(arm).data["shapes"] if s["body"] == 1]
    elbow = arm.joint("elbow").parent.translation
    np.testing.assert_allclose(bone["b"], elbow, atol=1e-6)


def test_meshes_are_found_beside_the_model_in_the_variable_and_by_the_option(arm, tmp_path, monkeypatch):
    model = with_mesh(arm, "Bone.VTP")
    missing = view(model)
    assert kinds_of(missing, "forearm") == {"bone"}
    assert any("Bone.VTP" in note and "--geometry" in note for note in missing.notes)
    (tmp_path / "Geometry").mkdir()
    (tmp_path / "Geometry" / "bOnE.vtp").write_bytes(mesh_files.vtp())
    found = view(model, geometry=tmp_path / "Geometry")
    assert kinds_of(found, "forearm") == {"mesh"}
    assert found.notes == ()
    mesh = found.data["meshes"][0]
    points, triangles = unpacked(mesh["points"]), unpacked(mesh["triangles"])
    assert mesh_files.volume(points, triangles) == pytest.approx(mesh_files.VOLUME, rel=1e-3)
    monkeypatch.setenv("MUSCULO_GEOMETRY", str(tmp_path / "Geometry"))
    assert kinds_of(view(model), "forearm") == {"mesh"}
    monkeypatch.delenv("MUSCULO_GEOMETRY")
    assert kinds_of(view(model.replace(source=str(tmp_path / "arm.osim"))), "forearm") == {"mesh"}


def test_a_mesh_that_cannot_be_read_is_noted(arm, tmp_path):
    (tmp_path / "bone.vtp").write_bytes(b"<VTKFile>")
    scene = view(with_mesh(arm), geometry=tmp_path)
    assert kinds_of(scene, "forearm") == {"bone"}
    assert any("bone.vtp" in note and "well-formed" in note for note in scene.notes)


def test_shapes_with_sizes_are_drawn_as_the_file_says(arm):
    text = (
        "<attached_geometry><Brick name='b'><half_lengths>0.1 0.2 0.3</half_lengths><Appearance><color>1 0 0</color>"
        "</Appearance></Brick><Sphere name='s'><radius>0.1</radius><Appearance><visible>false</visible></Appearance>"
        "</Sphere></attached_geometry>"
    )
    scene = view(arm.with_body("forearm", carried=(text,)))
    (brick,) = [s for s in scene.data["shapes"] if scene.data["bodies"][s["body"]] == "forearm"]
    assert (brick["kind"], brick["sizes"], brick["colour"]) == ("brick", [0.1, 0.2, 0.3], [1.0, 0.0, 0.0])


def test_wrap_surfaces_sit_in_their_bodies(arm):
    wraps = {w["name"]: w for w in view(arm).data["wraps"]}
    assert set(wraps) == {w.name for w in arm.wrap_objects}
    surface = next(w for w in arm.wrap_objects if w.name == "elbow_cylinder")
    assert wraps["elbow_cylinder"]["sizes"] == [surface.radius, surface.length]
    np.testing.assert_allclose(wraps["elbow_cylinder"]["a"], surface.translation, atol=1e-7)
