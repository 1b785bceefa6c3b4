"""Sensors on models whose answer is known, and what is read, placed and refused of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Markers, Model, Placement, inverse_kinematics, kinematics, read_osim, write_osim
from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.io import read_orientations, write_orientations
from musculo.io.orientation_files import space_fixed_xyz
from musculo.model import place_sensors
from musculo.model.body import Frame, Marker
from musculo.model.joints import BallJoint, FreeJoint, PinJoint
from musculo.results import Orientations
from musculo.spatial.rotation import axis_rotation, from_quaternion, from_xyz, to_quaternion

# The accuracy asked for by default [rad, m].
ACCURACY = 1e-9
ROUNDING = 1e-14

X, Y, Z = np.eye(3)


def random_rotations(count: int, seed: int = 0) -> np.ndarray:
    return from_quaternion(np.random.default_rng(seed).normal(size=(count, 4)))


def body_chain() -> Model:
    """A free pelvis, a ball at the hip and a pin at the knee; a sensor askew on each body."""
    names = ("tilt", "list", "turn", "tx", "ty", "tz")
    joints = (
        FreeJoint("root", Placement("ground"), Placement("pelvis"), tuple(map(Coordinate, names))),
        BallJoint("hip", Placement("pelvis", (0.0, -0.1, 0.1)), Placement("thigh"), tuple(map(Coordinate, "abc"))),
        PinJoint("knee", Placement("thigh", (0.0, -0.4, 0.0)), Placement("shank"), (Coordinate("knee"),)),
    )
    bodies = tuple(Body(name, 1.0, (0.0, 0.1 * k, 0.2)) for k, name in enumerate(("pelvis", "thigh", "shank")))
    frames = tuple(
        Frame(
            f"/bodyset/{body.name}/{body.name}_imu", Placement(body.name, (0.0, 0.1, 0.0), (0.3 * k + 0.2, 1.0, -0.7))
        )
        for k, body in enumerate(bodies)
    )
    markers = (Marker("m1", "pelvis", (0.1, 0.0, 0.0)), Marker("m2", "shank", (0.0, -0.3, 0.1)))
    return Model("chain", bodies, joints, frames=frames, markers=markers)


def measured(model: Model, q: np.ndarray, names: tuple[str, ...] = ("pelvis_imu", "thigh_imu", "shank_imu")):
    moved = kinematics(model, np.atleast_2d(q))
    paths = {frame.path.rsplit("/", 1)[-1]: frame.path for frame in model.frames}
    R = np.stack([moved.pose(paths[name]).R for name in names], axis=1)
    return Orientations.from_rotations(0.01 * np.arange(len(R)), names, R)


def motion(frames: int, size: float = 0.6, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t = np.arange(frames)[:, None] / 100.0
    return size * np.sin(2.0 * t * rng.uniform(0.5, 1.5, 10) + rng.uniform(0.0, 6.0, 10))


# --- inverse kinematics -----------------------------------------------------------------------------------------------
def pinned(*angles: float) -> tuple[Model, Orientations]:
    """One body on a pin, with sensors that say it is turned by each of the angles."""
    pin = PinJoint("pin", Placement("ground"), Placement("a"), (Coordinate("turn"),))
    names = tuple(f"s{k}" for k in range(len(angles)))
    frames = tuple(Frame(f"/bodyset/a/{name}", Placement("a", orientation=(0.5, 0.2, -0.1))) for name in names)
    model = Model("pin", (Body("a", 1.0),), (pin,), frames=frames)
    R = [axis_rotation(Z, angle) @ from_xyz((0.5, 0.2, -0.1)) for angle in angles]
    return model, Orientations.from_rotations([0.0], names, [R])


def test_pin_turns_to_the_weighted_mean_of_its_sensors():
    """J = sum w (q - a)^2 / 2 sum w has its minimum at the weighted mean."""
    model, sensors = pinned(0.2, 0.8, np.nan, 0.5)
    weights = {"s1": 3.0, "s2": 5.0, "s3": 0.0}
    result = inverse_kinematics(model, orientations=sensors, orientation_weights=weights)
    assert_allclose(result.q, [[0.65]], atol=ACCURACY)
    assert_allclose(result.orientation_errors, [[0.45, 0.15, np.nan, 0.15]], atol=ACCURACY)
    assert_allclose(result.objective, 0.5 * (0.45**2 + 3.0 * 0.15**2) / 4.0, rtol=1e-12)
    assert result.sensor_names == ("s0", "s1", "s2", "s3")
    assert "4 sensors" in repr(result)
    assert_allclose(result.rms_angle, np.sqrt((0.45**2 + 2 * 0.15**2) / 3), rtol=1e-9)
    assert result.orientation_error_table().names == result.sensor_names
    assert result.to_xarray()["orientation_error"].dims == ("time", "sensor")


def test_sensors_and_tasks_weigh_against_one_another():
    model, sensors = pinned(0.4)
    result = inverse_kinematics(model, orientations=sensors, tasks={"turn": (3.0, 0.8)})
    assert_allclose(result.q, [[0.7]], atol=ACCURACY)


@pytest.mark.parametrize("angle", [np.pi, np.pi - 1e-9, -np.pi + 1e-5, 3.0])
def test_half_a_turn_away(angle):
    model, sensors = pinned(angle)
    result = inverse_kinematics(model, orientations=sensors, start=[0.0])
    assert result.converged
    assert_allclose(np.cos(result.q - angle), 1.0, atol=ROUNDING)
    assert result.orientation_errors.max() < 1e-7


def test_recovers_the_motion_that_turned_the_sensors():
    """Translations are not seen: they stay what they were at the start, whichever start is the best."""
    model = body_chain()
    q = motion(30)
    q[:, 1] += 2.5  # the subject faces elsewhere
    q[:, 3:6] = (0.1, 0.9, -0.2)
    start = np.zeros(10)
    start[3:6] = q[0, 3:6]
    result = inverse_kinematics(model, orientations=measured(model, q), start=start)
    assert result.converged
    assert (result.q[:, 3:6] == q[:, 3:6]).all()
    assert result.orientation_errors.max() < 1e-8
    again = measured(model, result.q).rotation
    assert_allclose(again, measured(model, q).rotation, atol=1e-8)
    assert result.iterations[2:].max() <= 4


def test_markers_place_what_sensors_turn():
    model = body_chain()
    q = motion(12)
    markers = Markers(0.01 * np.arange(12), ("m1", "m2"), kinematics(model, q).markers(["m1", "m2"]))
    result = inverse_kinematics(model, markers, orientations=measured(model, q))
    assert result.converged
    assert_allclose(result.q, q, atol=ACCURACY)
    assert result.marker_errors.max() < 10 * ACCURACY
    assert result.orientation_errors.max() < 10 * ACCURACY


def test_a_frame_without_measurement_keeps_the_pose():
    model = body_chain()
    sensors = measured(model, motion(6))
    quaternion = np.array(sensors.quaternion)
    quaternion[3] = np.nan
    quaternion[4, 1] = np.nan
    result = inverse_kinematics(model, orientations=replace(sensors, quaternion=quaternion))
    assert result.status[3] == Status.UNSEEN
    assert (result.q[3] == result.q[2]).all()
    assert np.isnan(result.orientation_errors[4, 1])
    assert result.status[[0, 1, 2, 5]].max() == Status.CONVERGED


def test_sensors_may_measure_any_frame():
    model = body_chain()
    q = motion(3)
    sensors = measured(model, q).rename(lambda name: name.upper())
    where = {frame.path.rsplit("/", 1)[-1].upper(): frame.path for frame in model.frames}
    result = inverse_kinematics(model, orientations=sensors, sensor_frames=where)
    assert result.orientation_errors.max() < 1e-8
    R = kinematics(model, q).pose("thigh").R[:, None]
    bare = inverse_kinematics(model, orientations=Orientations.from_rotations(sensors.time, ["thigh"], R))
    assert bare.sensor_names == ("thigh",)
    assert bare.orientation_errors.max() < 1e-8


def test_wrong_input_is_named():
    model = body_chain()
    sensors = measured(model, motion(3))
    markers = Markers([0.0, 1.0], ("m1",), np.zeros((2, 1, 3)))
    with pytest.raises(InvalidInput, match="nothing to follow"):
        inverse_kinematics(model)
    with pytest.raises(InvalidInput, match="read_orientations"):
        inverse_kinematics(model, orientations=np.zeros((3, 4)))
    with pytest.raises(InvalidInput, match="'shank_umi' is near 'shank_imu'"):
        inverse_kinematics(model, orientations=sensors.pick(["shank_imu"]).rename({"shank_imu": "shank_umi"}))
    with pytest.raises(UnknownName, match="shank_umi"):
        inverse_kinematics(model, orientations=sensors, orientation_weights={"shank_umi": 1.0})
    with pytest.raises(UnknownName, match="frame 'foot'"):
        inverse_kinematics(model, orientations=sensors, sensor_frames={"shank_imu": "foot"})
    with pytest.raises(InvalidInput, match="weights are zero"):
        inverse_kinematics(model, orientations=sensors, orientation_weights=dict.fromkeys(sensors.names, 0.0))
    with pytest.raises(InvalidInput, match="same frames"):
        inverse_kinematics(model, markers, orientations=sensors)
    with pytest.raises(InvalidInput, match="without orientations"):
        inverse_kinematics(model, markers, orientation_weights={"shank_imu": 0.0})


# --- placing sensors --------------------------------------------------------------------------------------------------
def test_frames_are_turned_as_the_sensors_were():
    model = body_chain()
    bare = model.replace(frames=model.frames[:1])  # one frame is there and is turned; two are made
    q = motion(1)[0]
    sensors = measured(model, q)
    lost = Orientations(
        sensors.time, (*sensors.names, "foot_imu"), np.append(sensors.quaternion, [[[*X.tolist(), 0.0]]], 1)
    )
    placed = place_sensors(bare, lost, pose=q)
    assert placed.unplaced == ("foot_imu",)
    assert placed.heading == 0.0
    assert placed.frames == {name: f"/bodyset/{name[:-4]}/{name}" for name in sensors.names}
    for k, frame in enumerate(model.frames):
        there = placed.model.placement(frame.path)
        assert_allclose(from_xyz(there.orientation), from_xyz(frame.placement.orientation), atol=ROUNDING)
        assert there.translation == (frame.placement.translation if k == 0 else model.bodies[k].mass_center)
    found = inverse_kinematics(placed.model, orientations=sensors, start=q)
    assert_allclose(found.q[0], q, atol=ACCURACY)


def test_placed_frames_are_written_and_read_back(tmp_path):
    placed = place_sensors(body_chain().replace(frames=()), measured(body_chain(), np.zeros(10)))
    write_osim(placed.model, tmp_path / "placed.osim")
    again = read_osim(tmp_path / "placed.osim")
    assert sorted(frame.path for frame in again.frames) == sorted(placed.frames.values())
    for path in placed.frames.values():
        assert_allclose(again.placement(path).orientation, placed.model.placement(path).orientation, atol=ROUNDING)


@pytest.mark.parametrize(("axis", "tilt"), [("z", 0.0), ("-z", 0.5), ("x", 0.0)])
def test_heading_is_level(axis, tilt):
    """The base's axis points 0.8 rad from ahead about the vertical, and up by the tilt."""
    model = body_chain()
    sign = -1.0 if axis[0] == "-" else 1.0
    ahead = axis_rotation(Y, 0.8) @ axis_rotation(Z, tilt) @ X
    k, side = "xyz".index(axis[-1]), axis_rotation(Y, 0.8) @ Z
    R = np.empty((3, 3))
    R[:, k], R[:, (k + 1) % 3], R[:, (k + 2) % 3] = sign * ahead, side, np.cross(sign * ahead, side)
    sensors = Orientations.from_rotations([0.0], ["pelvis_imu"], [[R]])
    placed = place_sensors(model, sensors, base="pelvis_imu", heading_axis=axis)
    assert placed.heading == pytest.approx(-0.8)
    turned = placed.rotation @ ahead
    assert_allclose(turned, [np.cos(tilt), np.sin(tilt), 0.0], atol=ROUNDING)
    opensim = place_sensors(model, sensors, base="pelvis_imu", heading_axis=axis, like="opensim")
    assert opensim.heading == pytest.approx(-np.arccos(np.cos(0.8) * np.cos(tilt)))


def test_the_mean_of_a_time_range_is_taken():
    """Turned by -a, 0 and a about any axis: the mean is the middle."""
    model = body_chain()
    R = random_rotations(1)[0]
    spread = [axis_rotation((1.0, 2.0, -1.0), angle) @ R for angle in (-0.3, 0.0, 0.3)]
    still = Orientations.from_rotations([0.0, 0.1, 0.2], ["pelvis_imu"], np.array(spread)[:, None])
    assert_allclose(still.mean("pelvis_imu"), R, atol=ROUNDING)
    whole, first = place_sensors(model, still, time_range=(0.0, 0.2)), place_sensors(model, still)
    assert_allclose(from_xyz(whole.model.placement("/bodyset/pelvis/pelvis_imu").orientation), R, atol=ROUNDING)
    assert_allclose(from_xyz(first.model.placement("/bodyset/pelvis/pelvis_imu").orientation), spread[0], atol=ROUNDING)


def test_placements_that_cannot_be():
    model = body_chain()
    sensors = measured(model, np.zeros(10))
    with pytest.raises(InvalidInput, match="has a body"):
        place_sensors(model, sensors.pick(["shank_imu"]).rename({"shank_imu": "foot_imu"}))
    with pytest.raises(InvalidInput, match="both base"):
        place_sensors(model, sensors, base="pelvis_imu")
    with pytest.raises(InvalidInput, match="heading_axis='w'"):
        place_sensors(model, sensors, base="pelvis_imu", heading_axis="w")
    with pytest.raises(InvalidInput, match="like='level'"):
        place_sensors(model, sensors, like="level")
    with pytest.raises(UnknownName, match="no body 'foot'"):
        place_sensors(model.replace(frames=()), sensors, bodies={"shank_imu": "foot"})
    with pytest.raises(InvalidInput, match="on 'shank' already"):
        place_sensors(model, sensors, bodies={"shank_imu": "thigh"})
    with pytest.raises(UnknownName, match="no sensor 'foot_imu'"):
        place_sensors(model, sensors, bodies={"foot_imu": "shank"})
    with pytest.raises(InvalidInput, match="pose has shape"):
        place_sensors(model, sensors, pose=np.zeros(3))
    with pytest.raises(InvalidInput, match="measured nothing"):
        place_sensors(model, replace(sensors, quaternion=np.full((1, 3, 4), np.nan)))
    upright = Orientations.from_rotations([0.0], ["pelvis_imu"], [[np.eye(3)]])
    with pytest.raises(InvalidInput, match="upright"):
        place_sensors(model, upright, base="pelvis_imu", heading_axis="y")


# --- the recording and its file ---------------------------------------------------------------------------------------
def test_quaternions_of_matrices_and_back():
    R = np.concatenate([random_rotations(200), [axis_rotation(e, np.pi) for e in (X, Y, Z, X + Y + Z)]])
    q = to_quaternion(R)
    assert_allclose(np.linalg.norm(q, axis=1), 1.0, atol=ROUNDING)
    assert (q[:, 0] >= 0.0).all()
    assert_allclose(from_quaternion(q), R, atol=ROUNDING)
    assert np.isnan(to_quaternion(np.full((3, 3), np.nan))).all()


def test_file_round_trip(tmp_path):
    sensors = Orientations.from_rotations(
        0.01 * np.arange(4), ("a_imu", "b imu"), random_rotations(8).reshape(4, 2, 3, 3)
    )
    quaternion = np.array(sensors.quaternion)
    quaternion[1, 0] = np.nan
    sensors = replace(sensors, quaternion=quaternion)
    write_orientations(sensors, tmp_path / "o.sto")
    again = read_orientations(tmp_path / "o.sto")
    assert again.names == sensors.names
    assert_allclose(again.quaternion, sensors.quaternion, atol=ROUNDING)
    assert [gap.channel for gap in again.gaps()] == ["a_imu"]
    assert "2 sensors" in repr(again)
    turned = read_orientations(tmp_path / "o.sto", (-np.pi / 2, 0.3, 0.1))
    R = axis_rotation(Z, 0.1) @ axis_rotation(Y, 0.3) @ axis_rotation(X, -np.pi / 2)
    assert_allclose(turned.sensor("b imu"), R @ sensors.sensor("b imu"), atol=ROUNDING)
    assert_allclose(space_fixed_xyz((-np.pi / 2, 0.0, 0.0)) @ Z, Y, atol=ROUNDING)


def test_lengths_of_quaternions_do_not_matter():
    sensors = Orientations([0.0], ("a",), [[[2.0, 0.0, 0.0, 2.0]]])
    assert_allclose(sensors.rotation[0, 0], axis_rotation(Z, np.pi / 2), atol=ROUNDING)
    assert sensors.to_xarray().dims == ("time", "sensor", "part")


def test_recordings_that_cannot_be(tmp_path):
    with pytest.raises(InvalidInput, match="'a' is zero at 0 s"):
        Orientations([0.0], ("a",), np.zeros((1, 1, 4)))
    with pytest.raises(InvalidInput, match="is not a rotation"):
        Orientations.from_rotations([0.0], ("a",), -np.eye(3)[None, None])
    with pytest.raises(InvalidInput, match="orthonormal"):
        Orientations([0.0], ("a",), [[[1.0, 0.0, 0.0, 0.0]]]).rotated(2.0 * np.eye(3))
    sensors = Orientations([0.0], ("a",), [[[1.0, 0.0, 0.0, 0.0]]])
    with pytest.raises(UnknownName, match="no sensor 'b'"):
        sensors.pick(["b"])
    plain = tmp_path / "plain.sto"
    plain.write_text("version=3\nDataType=double\nendheader\ntime\ta\n0\t1\n")
    with pytest.raises(InvalidFile, match="DataType=Quaternion"):
        read_orientations(plain)
    plain.write_text("version=3\nDataType=Quaternion\nendheader\ntime\ta\n0\t0,0,0,0\n")
    with pytest.raises(InvalidFile, match="is zero"):
        read_orientations(plain)
    with pytest.raises(InvalidInput, match="three angles"):
        read_orientations(plain, (1.0, 2.0))
