"""C3D files against ezc3d, which OpenSim's own reader is built on (its Python wheel has no C3D reader)."""

from __future__ import annotations

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("ezc3d")
import ezc3d

from musculo import read_c3d
from support.c3d_files import DEC, INTEL, C3DMaker, plate_group
from support.recorded_data import NO_DATA, recorded, within

# Laboratory with z up to ground with y up.
TO_GROUND = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
# Sums of a few products in float64, relative to the largest value; free moments are differences of larger numbers.
ROUNDING, CANCELLED = 1e-14, 1e-12


def corners(angle: float, center: tuple[float, float, float]) -> np.ndarray:
    """A plate of 500 by 400 mm, turned about the vertical; its z points into the floor."""
    flat = np.array([[250, -200, 0], [-250, -200, 0], [-250, 200, 0], [250, 200, 0]], dtype=float)
    c, s = np.cos(angle), np.sin(angle)
    return flat @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + center


def maker(processor: int = INTEL, scale: float = -1.0) -> C3DMaker:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(12, 3, 3)) * 300
    points[3:5, 1] = np.nan
    analog = rng.normal(size=(120, 26)) * 50
    analog[:, [2, 8, 22]] -= 600.0
    analog[:, 16:20] -= 150.0
    calibration = np.zeros((4, 6, 6))
    calibration[3] = np.eye(6) + 0.1 * rng.normal(size=(6, 6))
    channels = np.zeros((4, 8), dtype=int)
    for k, (start, count) in enumerate(((1, 6), (7, 6), (13, 8), (21, 6))):
        channels[k, :count] = np.arange(start, start + count)
    places = [corners(0.0, (0, 0, 0)), corners(0.3, (600, 10, 0)), corners(-1.0, (0, 600, 5)), corners(2.0, (9, 9, 0))]
    origins = [[0, 0, -40], [1, 2, -40], [120, 80, -50], [3, -1, 45]]
    made = C3DMaker(points, ["A", "B", "C"], first_frame=5, analog=analog, analog_labels=[f"c{k}" for k in range(26)])
    made.extra = {"FORCE_PLATFORM": plate_group([1, 2, 3, 4], places, origins, channels, calibration)}
    made.processor, made.scale = processor, scale
    if scale > 0.0:
        made.analog_scale, made.analog_offset, made.gen_scale = [0.05] * 26, [3] * 26, 0.5
    return made


@pytest.mark.parametrize("processor", [INTEL, DEC])
@pytest.mark.parametrize("scale", [-1.0, 0.1], ids=["floats", "integers"])
def test_points_and_channels_are_ezc3ds(processor, scale, tmp_path):
    (tmp_path / "a.c3d").write_bytes(maker(processor, scale).bytes())
    ours, theirs = read_c3d(tmp_path / "a.c3d", up="z"), ezc3d.c3d(str(tmp_path / "a.c3d"))
    points = theirs["data"]["points"][:3].transpose(2, 1, 0)
    assert_array_equal(np.isnan(points), np.isnan(ours.markers.position))
    assert_allclose(ours.markers.position, (points * 0.001) @ TO_GROUND.T, rtol=ROUNDING)
    assert_allclose(ours.analog.values, theirs["data"]["analogs"][0].T, rtol=ROUNDING)
    assert list(ours.markers.names) == theirs["parameters"]["POINT"]["LABELS"]["value"]
    # ezc3d counts frames from zero.
    assert_allclose(ours.markers.time[0], theirs["header"]["points"]["first_frame"] / 100.0, rtol=ROUNDING)


def test_plates_are_ezc3ds(tmp_path):
    (tmp_path / "a.c3d").write_bytes(maker().bytes())
    ours = read_c3d(tmp_path / "a.c3d", up="z")
    theirs = ezc3d.c3d(str(tmp_path / "a.c3d"), extract_forceplat_data=True)["data"]["platform"]
    assert [plate.kind for plate in ours.plates] == [1, 2, 3, 4]
    for plate, other in zip(ours.plates, theirs, strict=True):
        moment = -other["moment"] if plate.kind == 1 else other["moment"]  # see the docstring of `wrench`
        for mine, yours, unit, tolerance in (
            (plate.force, other["force"], 1.0, ROUNDING),
            (plate.moment, moment, 1e-3, ROUNDING),
            (plate.point, other["center_of_pressure"], 1e-3, ROUNDING),
            (plate.free_moment, other["Tz"], 1e-3, CANCELLED),
            (plate.corners.T, other["corners"], 1e-3, ROUNDING),
        ):
            expected = yours.T @ TO_GROUND.T * unit if yours.shape[1] != 4 else (yours.T @ TO_GROUND.T * unit).T
            assert_allclose(mine, expected, rtol=0, atol=tolerance * np.abs(mine).max())


# --- recordings of laboratories --------------------------------------------------------------------------------------
RECORDED = [file for file in recorded("c3d/*.c3d") if "Rotation" not in file.name]
SCREEN = re.compile(rb"(Y_SCREEN....\x02?)\+Z", re.DOTALL)


@pytest.mark.skipif(not RECORDED, reason=NO_DATA)
@pytest.mark.parametrize("screen", [b"+Z", b"-Z", b"+Y", b"-Y", b"+X", b"  ", b"??"])
@pytest.mark.parametrize("file", RECORDED, ids=within(RECORDED))
def test_recorded_subjects_stand_on_their_plates_whatever_the_screen_says(file, screen, tmp_path):
    content, count = SCREEN.subn(rb"\g<1>" + screen, file.read_bytes())
    assert count == 1
    (tmp_path / "a.c3d").write_bytes(content)
    ours = read_c3d(tmp_path / "a.c3d")
    theirs = ezc3d.c3d(str(tmp_path / "a.c3d"), extract_forceplat_data=True)["data"]
    assert ours.up == "z"
    points = theirs["points"][:3].transpose(2, 1, 0)
    assert_allclose(ours.markers.position, (points * 0.001) @ TO_GROUND.T, rtol=ROUNDING, equal_nan=True)
    high = np.nanmedian(ours.markers.marker("C7" if "C7" in ours.markers.names else "Sternum")[:, 1])
    feet = [name for name in ours.markers.names if "HEEL" in name.upper()]
    assert high > np.nanmedian(ours.markers.pick(feet).position[:, :, 1]) + 0.5
    for plate, other in zip(ours.plates, theirs["platform"], strict=True):
        assert_allclose(plate.corners[:, 1], 0.0, atol=1e-6)  # on the floor
        assert_allclose(plate.force, other["force"].T @ TO_GROUND.T, rtol=0, atol=1e-9)
        assert plate.force[plate.loaded(50.0), 1].min(initial=0.0) >= 0.0  # the ground pushes up
    assert any("was assumed" in note for note in ours.notes) == (screen != b"+Z")


@pytest.mark.skipif(not recorded("c3d/C3DRotationExample.c3d"), reason=NO_DATA)
def test_recorded_poses_are_ezc3ds():
    (file,) = recorded("c3d/C3DRotationExample.c3d")
    ours, theirs = read_c3d(file, up="z").segments, ezc3d.c3d(str(file))["data"]["rotations"]
    poses = theirs.transpose(3, 2, 0, 1)  # frames, segments, rows, columns
    assert_array_equal(ours.R, TO_GROUND @ poses[..., :3, :3])
    assert_allclose(ours.origin, 1e-3 * poses[..., :3, 3] @ TO_GROUND.T, rtol=ROUNDING)
    assert np.isfinite(ours.R).all(axis=(1, 2, 3)).sum() > 300
