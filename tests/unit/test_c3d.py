"""C3D files: plates that can be checked by hand, axes, gaps, events, and damage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo import read_c3d
from musculo.errors import InvalidFile, InvalidInput
from musculo.io.marker_columns import read_markers
from musculo.results import ExternalLoads, plates_to_table
from support.c3d_files import DEC, INTEL, SGI, C3DMaker, plate_group

# Values pass through float32.
SINGLE = 2e-7
POINTS = np.arange(18.0).reshape(3, 2, 3) + 1.0
# A plate of 600 by 400 mm around (1000, 500, 0) with its z down, in a laboratory with z up.
CORNERS = np.array([[1300, 300, 0], [700, 300, 0], [700, 700, 0], [1300, 700, 0]], dtype=float)


def write(folder: Path, **changes) -> Path:
    made = C3DMaker(changes.pop("points", POINTS), changes.pop("labels", ["A", "B"]))
    for key, value in changes.items():
        setattr(made, key, value)
    (folder / "a.c3d").write_bytes(made.bytes())
    return folder / "a.c3d"


def with_plate(folder: Path, kind: int, channels: list[float], origin=(0.0, 0.0, -40.0), **changes) -> Path:
    group = plate_group(
        [kind], [CORNERS], [origin], [np.arange(1, len(channels) + 1)], changes.pop("calibration", None)
    )
    return write(
        folder,
        analog=np.tile(channels, (6, 1)),
        analog_labels=[f"c{k}" for k in range(len(channels))],
        extra={"FORCE_PLATFORM": group},
        **changes,
    )


@pytest.mark.parametrize("processor", [INTEL, DEC, SGI])
@pytest.mark.parametrize("scale", [-1.0, 0.5], ids=["floats", "integers"])
def test_points_in_every_byte_order(tmp_path, processor, scale):
    analog = np.arange(12.0).reshape(6, 2) - 5.0
    options = {"analog": analog, "analog_labels": ["EMG", "Fz"], "analog_units": ["V", "N"], "first_frame": 11}
    recording = read_c3d(write(tmp_path, processor=processor, scale=scale, **options), up="y")
    assert recording.markers.names == ("A", "B")
    assert_allclose(recording.markers.position, POINTS * 0.001, rtol=SINGLE)
    assert_allclose(recording.markers.time, [0.1, 0.11, 0.12])
    assert_allclose(recording.analog.values, analog, rtol=SINGLE)
    assert_allclose(recording.analog.time, 0.1 + np.arange(6) / 200.0)
    assert (recording.analog.names, recording.analog.units) == (("EMG", "Fz"), ("V", "N"))


def test_unseen_points_are_gaps(tmp_path):
    points = np.array(POINTS)
    points[1, 0] = np.nan
    recording = read_c3d(write(tmp_path, points=points), up="y")
    assert_array_equal(recording.markers.missing, [[0, 0], [1, 0], [0, 0]])
    assert "1 gaps in 1 markers" in " ".join(recording.notes)


@pytest.mark.parametrize(
    ("up", "forward", "expected"),
    [
        ("y", None, (1, 2, 3)),
        ("z", None, (1, 3, -2)),
        ("x", None, (2, 1, -3)),
        ("z", "y", (2, 3, 1)),
        ("Z", "-X", (-1, 3, 2)),
        ("-z", "x", (1, -3, 2)),
    ],
)
def test_axes(tmp_path, up, forward, expected):
    first = read_c3d(write(tmp_path), up=up, forward=forward).markers.position[0, 0] * 1000.0
    assert_allclose(first, expected, rtol=SINGLE)


def test_the_file_may_say_which_axis_is_up(tmp_path):
    path = write(tmp_path, extra={"POINT": {"X_SCREEN": ["+X"], "Y_SCREEN": ["+Z"]}})
    recording = read_c3d(path)
    assert_allclose(recording.markers.position[0, 0] * 1000.0, (1, 3, -2), rtol=SINGLE)
    assert not recording.notes
    assert "z was assumed" in read_c3d(write(tmp_path)).notes[0]
    for options in ({"up": "w"}, {"up": "z", "forward": "-z"}, {"up": 2}):
        with pytest.raises(InvalidInput):
            read_c3d(path, **options)


def test_markers_of_a_c3d_file_take_the_stated_axis_or_say_what_was_taken(tmp_path):
    path = write(tmp_path)
    assert "z was assumed" in read_markers(path).notes[0]
    stated = read_markers(path, up="y")
    assert not any("axis is up" in note for note in stated.notes)
    assert_array_equal(stated.position, read_c3d(path, up="y").markers.position)


def test_odd_names_and_units(tmp_path):
    path = write(tmp_path, labels=["A", "A"], units="m")
    recording = read_c3d(path, up="y")
    assert recording.markers.names == ("A", "A_2")
    assert_allclose(recording.markers.position, POINTS, rtol=SINGLE)
    recording = read_c3d(write(tmp_path, labels=[], units="furlong"), up="y")
    assert recording.markers.names == ("marker_1", "marker_2")
    assert "millimeters were assumed" in recording.notes[0]


def test_events(tmp_path):
    group = {"USED": 2, "TIMES": np.array([[1.0, 0.0], [2.5, 0.5]]), "LABELS": ["Foot Off", "Foot Strike"]}
    recording = read_c3d(write(tmp_path, extra={"EVENT": group | {"CONTEXTS": ["Left", "Right"]}}), up="y")
    assert recording.events == ((0.5, "Foot Strike", "Right"), (62.5, "Foot Off", "Left"))


# --- plates ----------------------------------------------------------------------------------------------------------
# The subject stands 100 mm along the plate's x and 50 mm along its y, presses 700 N, pushes 30 N forward (reaction
# -30), and twists by 4 N m about the vertical. In the plate's axes (z down) the reaction is (-30, 0, -700).
FORCE, COP, TWIST = np.array([-30.0, 0.0, -700.0]), np.array([0.1, 0.05, 0.0]), np.array([0.0, 0.0, 4.0])
MOMENT = np.cross(COP, FORCE) + TWIST  # about the centre of the surface


def check(plate) -> None:
    """In ground, y up: plate x is ground x, plate y (laboratory -y) is ground z, plate z is ground -y."""
    assert_allclose(plate.force, np.tile([-30.0, 700.0, 0.0], (6, 1)), atol=1e-3)
    # laboratory (1.1, 0.45, 0) is ground (1.1, 0, -0.45)
    assert_allclose(plate.point, np.tile([1.1, 0.0, -0.45], (6, 1)), atol=1e-6)
    assert_allclose(plate.free_moment, np.tile([0.0, -4.0, 0.0], (6, 1)), atol=1e-3)
    assert_allclose(plate.moment, np.tile([MOMENT[0], -MOMENT[2], MOMENT[1]], (6, 1)), atol=1e-3)
    assert_allclose(plate.center, [1.0, 0.0, -0.5], rtol=SINGLE)


def at_transducer(r: np.ndarray) -> np.ndarray:
    """The moment about a point from which the centre of the surface is at r."""
    return MOMENT + np.cross(r, FORCE)


def test_type_1(tmp_path):
    channels = [*FORCE, *(COP[:2] * 1000.0), TWIST[2] * 1000.0]
    check(read_c3d(with_plate(tmp_path, 1, channels), up="z").plates[0])


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_type_2_with_either_sign_of_its_origin(tmp_path, sign):
    r = np.array([0.002, -0.003, -0.04])
    channels = [*FORCE, *(at_transducer(r) * 1000.0)]
    check(read_c3d(with_plate(tmp_path, 2, channels, sign * r * 1000.0), up="z").plates[0])


def test_type_2_in_newton_metres(tmp_path):
    r = np.array([0.0, 0.0, -0.04])
    path = with_plate(tmp_path, 2, [*FORCE, *at_transducer(r)], r * 1000.0, analog_units=["N"] * 3 + ["Nm"] * 3)
    check(read_c3d(path, up="z").plates[0])


def test_type_2_in_kilonewtons(tmp_path):
    r = np.array([0.0, 0.0, -0.04])
    channels = [*(FORCE / 1000.0), *(at_transducer(r) / 1000.0)]
    path = with_plate(tmp_path, 2, channels, r * 1000.0, analog_units=["kN"] * 3 + ["kN.m"] * 3)
    check(read_c3d(path, up="z").plates[0])


def test_force_channels_of_another_unit_are_told(tmp_path):
    channels = [*FORCE, *(at_transducer(np.array([0.0, 0.0, -0.04])) * 1000.0)]
    for units, told in ((["V"] * 6, True), (["N"] * 3 + ["Nmm"] * 3, False), ([], False)):
        notes = read_c3d(with_plate(tmp_path, 2, channels, analog_units=units), up="z").notes
        assert any("the force channels of force plate 1 are in 'v'" in note for note in notes) == told
    calibrated = with_plate(tmp_path, 4, channels, calibration=[np.eye(6)], analog_units=["V"] * 6)
    assert not any("channels" in note for note in read_c3d(calibrated, up="z").notes)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_type_3(tmp_path, sign):
    a, b, c = 0.24, 0.16, -0.05
    M = at_transducer(np.array([0.0, 0.0, c]))
    # Four pillars at (a, b), (-a, b), (-a, -b), (a, -b): solve for what they carry.
    fz = np.linalg.solve([[1, 1, 1, 1], [b, b, -b, -b], [-a, a, a, -a], [1, -1, 1, -1]], [FORCE[2], M[0], M[1], 0.0])
    fx = np.linalg.solve([[1, 1], [-b, b]], [FORCE[0], M[2]])  # no force along y
    channels = [*fx, 0.0, 0.0, *fz]
    check(read_c3d(with_plate(tmp_path, 3, channels, (a * 1000, b * 1000, sign * c * 1000)), up="z").plates[0])


def test_type_4(tmp_path):
    r = np.array([0.0, 0.0, -0.04])
    matrix = np.diag([2.0, 2.0, 4.0, 100.0, 100.0, 50.0])
    matrix[0, 1] = 0.5  # crosstalk
    raw = np.linalg.solve(matrix, [*FORCE, *(at_transducer(r) * 1000.0)])
    check(read_c3d(with_plate(tmp_path, 4, list(raw), r * 1000.0, calibration=[matrix]), up="z").plates[0])


def test_an_empty_plate_has_no_centre_of_pressure(tmp_path):
    plate = read_c3d(with_plate(tmp_path, 2, [0.0, 0.0, -1.0, 5.0, 5.0, 0.0]), up="z").plates[0]
    assert np.isnan(plate.point).all()
    assert np.isfinite(plate.force).all()
    assert not plate.loaded().any()


def test_plates_that_cannot_be_read_are_named(tmp_path):
    six = [*FORCE, 1.0, 2.0, 3.0]
    for kind, words in ((7, "type 7"), (4, "calibration")):
        recording = read_c3d(with_plate(tmp_path, kind, six), up="z")
        assert not recording.plates
        assert words in " ".join(recording.notes)
    for kind in (2, 4):
        recording = read_c3d(with_plate(tmp_path, kind, [np.nan, *six[1:]], calibration=[np.eye(6)]), up="z")
        assert not recording.plates
        assert "not finite numbers" in " ".join(recording.notes)
    upside_down = [FORCE[0], 0.0, 700.0, 0.0, 0.0, 0.0]
    assert "pulls the subject down" in " ".join(read_c3d(with_plate(tmp_path, 2, upside_down), up="z").notes)


def test_plates_become_loads(tmp_path):
    r = np.array([0.0, 0.0, -0.04])
    channels = np.tile([*FORCE, *(at_transducer(r) * 1000.0)], (6, 1))
    channels[[0, 1, 4]] = 0.0
    group = plate_group([2], [CORNERS], [r * 1000.0], [np.arange(1, 7)])
    path = write(tmp_path, analog=channels, analog_labels=list("abcdef"), extra={"FORCE_PLATFORM": group})
    plates = read_c3d(path, up="z").plates
    table = plates_to_table(plates)
    assert np.isfinite(table.values).all()
    assert_array_equal(table.column("ground_force_1_vy") > 0.0, [0, 0, 1, 1, 0, 1])
    assert_allclose(table.column("ground_force_1_px"), 1.1, atol=1e-6)  # also where nothing stands
    loads = ExternalLoads.from_plates(plates, ["calcn_r"])
    (load,) = loads.at(plates[0].time)
    assert load.body == "calcn_r"
    assert_allclose(load.force, table.values[:, :3], atol=1e-9)
    with pytest.raises(InvalidInput, match="1 plates and 2 bodies"):
        ExternalLoads.from_plates(plates, ["a", "b"])
    with pytest.raises(InvalidInput, match="no force plate"):
        plates_to_table([])


# --- damage ----------------------------------------------------------------------------------------------------------
def test_long_recordings_count_in_parameters(tmp_path):
    """The header's frame numbers end at 65535; longer ones stand in TRIAL or in POINT:LONG_FRAMES."""
    points = np.zeros((70000, 1, 3))
    trial = {"TRIAL": {"ACTUAL_START_FIELD": np.array([1, 0]), "ACTUAL_END_FIELD": np.array([70000 - 65536, 1])}}
    assert len(read_c3d(write(tmp_path, points=points, labels=["A"], extra=trial), up="y").markers) == 70000


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda b: b"", "empty"),
        (lambda b: b"hello" * 200, "does not begin like a C3D file"),
        (lambda b: b[:600], "needs|promised|cut off"),
        (lambda b: b[:-10], "3 frames of 2 points and 0 channels are promised, the file has room for 2"),
        (lambda b: b[:515] + b"\x07" + b[516:], "processor type 7 is unknown"),
        (lambda b: b"\xff" + b[1:], "parameters should begin at byte"),
    ],
)
def test_damaged_files_are_refused(tmp_path, damage, words):
    path = write(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InvalidFile, match=words):
        read_c3d(path)


def test_what_a_laboratory_computed_is_no_marker(tmp_path):
    """Its angles and moments are stored as points; as places they would be nonsense, and spoil axes and units."""
    standing = np.array([[0, 0, 1700], [100, 0, 1000], [100, 50, 40], [100, -50, 40]], dtype=float)
    angles, moments = np.array([[60.0, -5.0, 3.0]]), np.array([[9e5, -4e4, -8e4]])
    points = np.tile(np.vstack((standing, angles, moments)), (3, 1, 1))
    labels = ["C7", "RASI", "RTOE", "LTOE", "RKneeAngles", "RKneeMoment"]
    lists = {"ANGLES": labels[4:5], "ANGLE_UNITS": ["deg"], "MOMENTS": labels[5:], "MOMENT_UNITS": ["Nmm"]}
    path = write(tmp_path, points=points, labels=labels, extra={"POINT": {"Y_SCREEN": ["+Z"], **lists}})
    recording = read_c3d(path)
    assert recording.markers.names == tuple(labels[:4])
    assert_allclose(recording.markers.position[0, 0], [0.0, 1.7, 0.0], atol=1e-6)
    assert recording.outputs.names == tuple(f"{name}_{axis}" for name in labels[4:] for axis in "xyz")
    assert recording.outputs.units == ("deg",) * 3 + ("Nmm",) * 3
    assert_allclose(recording.outputs.values[0], [60.0, -5.0, 3.0, 9e5, -4e4, -8e4], rtol=SINGLE)
    assert len(recording.notes) == 1
    assert "2 points are angles, forces, moments or powers" in recording.notes[0]
    assert read_c3d(write(tmp_path)).outputs is None
