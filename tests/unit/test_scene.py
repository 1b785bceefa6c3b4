"""Scenes: what the page is given is what the mechanics computes, to the width of a 16-bit step, and safe to embed."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import musculo
from musculo import (
    ExternalForce,
    ExternalLoads,
    InvalidInput,
    Markers,
    Scene,
    Table,
    WrapCylinder,
    WrapEllipsoid,
    WrapSphere,
    WrapTorus,
    demo,
    kinematics,
    muscle_geometry,
    view,
)
from musculo.spatial.rotation import from_quaternion
from musculo.viewer import page as pages
from musculo.viewer import scene as scenes
from musculo.viewer.arcs import arc
from musculo.viewer.arrays import floats, integers, steps, unpacked
from musculo.viewer.inputs import sampled
from musculo.viewer.paths import polylines
from musculo.viewer.straight import lengths as straight_lengths
from musculo.viewer.straight import straight_paths
from support import mesh_files

# Chords are shorter than their arcs by the square of the turn of each, (0.22 rad)^2 / 24.
CHORDS = 0.22**2 / 24
# Arcs on ellipsoids and tori are pulled taut to a share of their length.
TAUT = 2e-3


@pytest.fixture(scope="module")
def arm():
    return demo.arm()


@pytest.fixture(scope="module")
def arm_motion():
    return demo.arm_flexion()


# --- arrays ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("per", ["all", "last"])
def test_steps_keep_numbers_to_half_a_step(per):
    rng = np.random.default_rng(1)
    values = np.cumsum(rng.normal(size=(40, 3, 2)), axis=0) * [1.0, 1e-3]
    values[5, 1] = np.nan
    packed = steps(values, per)
    back = unpacked(packed)
    np.testing.assert_array_equal(np.isnan(back), np.isnan(values))
    assert np.nanmax(np.abs(back - values) / np.array(packed["scale"])) <= 0.5 + 1e-9


def test_arrays_without_extent():
    for values in (np.zeros((0, 3)), np.full((2, 3), np.nan), np.full((2, 3), 7.0), np.zeros((4, 0, 3))):
        np.testing.assert_array_equal(unpacked(steps(values)), values)


@pytest.mark.parametrize("most", [10, 70_000, (1 << 32) - 1])
def test_integers_and_floats_are_exact(most):
    values = np.random.default_rng(2).integers(0, most, size=(30, 3), endpoint=True)
    np.testing.assert_array_equal(unpacked(integers(values)), values)
    numbers = np.linspace(0, 1, 7, dtype=np.float32)
    np.testing.assert_array_equal(unpacked(floats(numbers)), numbers)
    with pytest.raises(ValueError, match="without a sign"):
        integers([-1])


# --- paths over surfaces --------------------------------------------------------------------------------------------
def arc_length(samples, a, b):
    whole = np.concatenate([a[:, None], samples, b[:, None]], axis=1)
    return np.linalg.norm(np.diff(whole, axis=1), axis=2).sum(axis=1)


@pytest.mark.parametrize("angle", [0.3, 2.0, 4.5, -2.0, -4.5])
def test_a_helix_on_a_cylinder(angle):
    """Exact points, also the long way round: the direction of arrival decides."""
    surface = WrapCylinder("c", "ground", radius=0.3, length=2.0)
    a, b = np.array([[0.3, 0.0, 0.0]]), np.array([[0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.2]])
    way = np.sign(angle)
    leaving = way * np.array([[-np.sin(angle), np.cos(angle), 0.0]])
    samples = arc(surface, a, b, np.array([[0.0, way, 0.0]]), leaving)
    np.testing.assert_allclose(np.hypot(samples[..., 0], samples[..., 1]), 0.3, rtol=1e-12)
    expected = np.hypot(0.3 * angle, 0.2)
    assert arc_length(samples, a, b)[0] == pytest.approx(expected, rel=2 * CHORDS)
    middle = samples[0, samples.shape[1] // 2]
    share = middle[2] / 0.2
    np.testing.assert_allclose(middle[:2], 0.3 * np.array([np.cos(share * angle), np.sin(share * angle)]), atol=1e-12)


def test_a_great_circle_on_a_sphere():
    surface = WrapSphere("s", "ground", radius=0.5)
    a, b = np.array([[0.5, 0.0, 0.0]]), np.array([[0.0, 0.3, 0.4]])
    samples = arc(surface, a, b, b - a, b - a)
    np.testing.assert_allclose(np.linalg.norm(samples, axis=2), 0.5, rtol=1e-12)
    np.testing.assert_allclose(samples @ np.cross(a[0], b[0]), 0.0, atol=1e-12)
    assert arc_length(samples, a, b)[0] == pytest.approx(0.5 * np.pi / 2, rel=CHORDS)


def test_an_ellipsoid_of_equal_axes_is_a_sphere_and_an_equator_is_a_geodesic():
    a, b = np.array([[0.5, 0.0, 0.0]]), np.array([[0.0, 0.3, 0.4]])
    ball = arc(WrapEllipsoid("e", "ground", semi_axes=(0.5, 0.5, 0.5)), a, b, b - a, b - a)
    np.testing.assert_allclose(np.linalg.norm(ball, axis=2), 0.5, rtol=1e-6)
    np.testing.assert_allclose(ball @ np.cross(a[0], b[0]), 0.0, atol=1e-9)
    # in a plane of symmetry the geodesic stays in the plane
    a, b = np.array([[0.4, 0.0, 0.0]]), np.array([[0.0, 0.2, 0.0]])
    samples = arc(WrapEllipsoid("e", "ground", semi_axes=(0.4, 0.2, 0.1)), a, b, b - a, b - a)
    np.testing.assert_allclose(samples[..., 2], 0.0, atol=1e-12)
    np.testing.assert_allclose((samples[..., 0] / 0.4) ** 2 + (samples[..., 1] / 0.2) ** 2, 1.0, atol=1e-6)


def test_arcs_on_an_ellipsoid_are_geodesics():
    """Off the planes of symmetry: the curve bends along the surface's normal only, and its samples are even."""
    axes = np.array([0.4, 0.25, 0.15])
    a, b = (axes * x / np.linalg.norm(x) for x in (np.array([[1.0, 0.2, 0.3]]), np.array([[-0.3, 0.9, 0.5]])))
    samples = arc(WrapEllipsoid("e", "ground", semi_axes=tuple(axes)), a, b, b - a, b - a)
    whole = np.concatenate([a, samples[0], b])
    pieces = np.diff(whole, axis=0)
    gaps = np.linalg.norm(pieces, axis=1)
    assert gaps.max() < 1.02 * gaps.min()
    along = pieces / gaps[:, None]
    normal = samples[0] / axes**2
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    bend = np.diff(along, axis=0)
    sideways = np.einsum("ni,ni->n", bend, np.cross(normal, along[1:] + along[:-1]) / 2.0)
    assert np.abs(sideways).max() < 0.02 * np.linalg.norm(bend, axis=1).max()


def test_around_the_tube_of_a_torus():
    """In a plane through the axis the way is a circle about the tube's centre."""
    surface = WrapTorus("t", "ground", inner_radius=0.1, outer_radius=0.5)
    a, b = np.array([[0.5, 0.0, 0.1]]), np.array([[0.4, 0.0, 0.0]])
    samples = arc(surface, a, b, np.array([[-1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(samples[..., 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.hypot(samples[..., 0] - 0.5, samples[..., 2]), 0.1, rtol=1e-9)
    assert arc_length(samples, a, b)[0] == pytest.approx(0.1 * np.pi / 2, rel=CHORDS)


def lengths_of(lines):
    lengths = np.linalg.norm(np.diff(lines.points, axis=1), axis=2)
    return np.stack(
        [lengths[:, lines.first[k] : lines.first[k + 1] - 1].sum(axis=1) for k in range(len(lines.names))], axis=1
    )


def test_drawn_paths_are_as_long_as_the_muscles(arm):
    """The law that ties drawing to mechanics: over cylinders and ellipsoids, engaged and not, lengths agree."""
    rng = np.random.default_rng(3)
    q = rng.uniform([-0.5, 0.0], [1.5, 2.2], size=(60, 2))
    paths = muscle_geometry(arm, q)
    lines = polylines(paths.path_points, kinematics(arm, q))
    assert (np.unique(lines.layout, axis=0).shape[0]) > 1  # contacts come and go
    np.testing.assert_allclose(lengths_of(lines), paths.length, rtol=CHORDS + TAUT)
    # a chord cuts an arc short and never makes it longer
    assert (lengths_of(lines) <= paths.length * (1 + 1e-9)).all()


def test_drawn_paths_of_a_model_with_many_wraps(data_folder):
    """Forty cylinders of Rajagopal's model."""
    model = musculo.read_osim(data_folder / "rajagopal_walk" / "subject_walk_scaled.osim")
    motion = musculo.read_storage(data_folder / "oracle" / "rajagopal_walk" / "ik.mot").coordinates(model)[::8]
    paths = muscle_geometry(model, motion)
    lines = polylines(paths.path_points, kinematics(model, motion))
    np.testing.assert_allclose(lengths_of(lines), paths.length, rtol=CHORDS)


def test_straight_paths_are_those_of_a_model_without_surfaces(data_folder):
    """Points that move and points that count at some angles only, of gait2392."""
    model = musculo.read_osim(data_folder / "gait2392" / "subject01_simbody.osim")
    kinds = {type(point).__name__ for muscle in model.muscles for point in muscle.path.points}
    assert {"ConditionalPathPoint", "MovingPathPoint"} <= kinds
    bare = model.replace(
        forces=tuple(replace(f, path=replace(f.path, wraps=())) if f.path else f for f in model.forces)
    )
    q = np.random.default_rng(7).uniform(-1.0, 1.0, (40, len(model.coordinates)))
    points, lost = straight_paths(kinematics(model, q), q)
    expected = muscle_geometry(bare, q, wrapping="opensim")
    assert (points.names, lost) == (expected.names, ())
    np.testing.assert_allclose(straight_lengths(points), expected.length, rtol=1e-12)
    lines = polylines(points, kinematics(model, q))
    np.testing.assert_allclose(lengths_of(lines), expected.length, rtol=1e-12)


def test_a_straight_scene_says_so(arm, arm_motion):
    bare = arm.replace(forces=tuple(replace(f, path=replace(f.path, wraps=())) if f.path else f for f in arm.forces))
    told = {name: view(m, arm_motion, wrapping="straight").notes for name, m in (("arm", arm), ("bare", bare))}
    assert [any("straight through" in note for note in told[name]) for name in ("arm", "bare")] == [True, False]
    assert not any("straight through" in note for note in view(arm, arm_motion).notes)
    with pytest.raises(InvalidInput, match="wrapping 'crooked'"):
        view(arm, arm_motion, wrapping="crooked")


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
    knee = musculo.CustomJoint.from_samples("knee_r", "ground", "leg", {"beta_r": bend, "rz": bend + 0.1 * bend**2})
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
    with pytest.raises(InvalidInput, match="no frame of the model"):
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


def test_bad_motions_are_named(arm, arm_motion):
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


# --- the page -------------------------------------------------------------------------------------------------------
def test_names_cannot_leave_their_script_element(arm):
    name = "</script><script>alert(1)</script><!-- & \u2028"
    scene = view(arm.replace(name=name))
    text = scene.json()
    assert not re.search("[<>&]", text)
    assert json.loads(text)["title"] == name
    whole = scene.html()
    assert whole.count("</script>") == pages.PAGE.read_text(encoding="utf-8").count("</script>")


def test_a_frame_for_other_pages(arm):
    scene = view(arm.replace(name='"><b>'))
    frame = scene.iframe(300)
    inside = re.fullmatch(r'<iframe title="[^"]*" sandbox="allow-scripts" [^>]*srcdoc="([^"]*)"></iframe>', frame)
    assert html.unescape(inside[1]) == scene.html()
    assert scene._repr_html_() == scene.iframe()
    assert scene.notebook(300)._repr_html_() == frame


def test_writing_the_page(arm, tmp_path):
    scene = view(arm, path=tmp_path / "arm.html")
    assert isinstance(scene, Scene)
    assert (tmp_path / "arm.html").read_text(encoding="utf-8").strip() == scene.html().strip()


def test_the_shipped_page_allows_its_own_script_only_and_nothing_from_a_network():
    text = pages.PAGE.read_text(encoding="utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
    script = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(script) == 1
    digest = base64.b64encode(hashlib.sha256(script[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}';" in policy
    assert "default-src 'none'" in policy
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", text)
    assert len(text) < 800_000


def test_the_shipped_page_is_built_from_its_sources():
    """Change `viewer/web` and the page must be built again: npm ci && npm run build in that folder."""
    web = Path(pages.__file__).parent / "web"
    files = sorted([*(f"src/{p.name}" for p in (web / "src").iterdir()), "build.mjs", "package-lock.json"])
    digest = hashlib.sha256()
    for name in files:
        digest.update(name.encode() + b"\0" + (web / name).read_bytes())
    stated = re.search(r'name="musculo-sources" content="(\w+)"', pages.PAGE.read_text(encoding="utf-8"))[1]
    assert stated == digest.hexdigest()
