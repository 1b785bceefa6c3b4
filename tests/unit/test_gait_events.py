"""Gait events: of made steps, and of recorded walking from plates and from markers."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_storage, read_trc
from musculo.errors import InvalidInput
from musculo.signals import events_from_force, events_from_markers

# Between frames a ramp is a line, so that only rounding is left.
ROUNDING = 1e-12
# Events from markers are a few frames from those of a plate (Zeni et al. 2008 report 1 to 2 frames at 60 Hz, others up
# to 50 ms).
MARKERS = 0.06  # [s]


def stances(time, spans, ramp=0.02, force=700.0):
    """Trapezoids that reach the force within `ramp`."""
    total = np.zeros_like(time)
    for start, end in spans:
        total += np.interp(time, [start, start + ramp, end - ramp, end], [0.0, force, force, 0.0])
    return total


def test_strikes_and_offs_between_frames():
    t = np.arange(0.0, 3.0, 0.001)
    found = events_from_force(t, stances(t, [(0.5, 1.1), (1.6, 2.2)]), threshold=35.0)
    shift = 0.02 * 35.0 / 700.0
    assert_allclose(found.strikes, [0.5 + shift, 1.6 + shift], atol=ROUNDING)
    assert_allclose(found.offs, [1.1 - shift, 2.2 - shift], atol=ROUNDING)


def test_a_recording_may_begin_and_end_in_stance():
    t = np.arange(0.0, 2.0, 0.01)
    force = stances(t, [(-0.5, 0.4), (0.9, 1.5), (1.8, 2.5)])
    found = events_from_force(t, force)
    assert (len(found.strikes), len(found.offs)) == (2, 2)
    assert found.offs[0] < found.strikes[0]


def test_bumps_and_flicker_are_no_events():
    t = np.arange(0.0, 2.0, 0.005)
    force = stances(t, [(0.5, 1.2)])
    force[np.searchsorted(t, 0.8) : np.searchsorted(t, 0.83)] = 0.0  # a sample or two lost in stance
    force[np.searchsorted(t, 1.6) : np.searchsorted(t, 1.63)] = 90.0  # a bump in swing
    found = events_from_force(t, force)
    assert (len(found.strikes), len(found.offs)) == (1, 1)


def test_an_empty_plate_has_no_events():
    found = events_from_force(np.arange(10.0), np.zeros(10))
    assert found.strikes.size == found.offs.size == 0


def steps(rate=100.0, period=1.1, seconds=6.0, speed=1.3, heading=0.0):
    """A foot that swings sinusoidally under a pelvis that walks along a heading in the horizontal plane."""
    t = np.arange(0.0, seconds, 1.0 / rate)
    phase = 2 * np.pi * t / period
    zero = np.zeros_like(t)
    sacrum = np.stack((speed * t, zero + 1.0, zero), axis=1)
    heel = sacrum + np.stack((0.35 * np.cos(phase) - 0.1, -0.93 + 0.05 * np.cos(phase + 0.5), zero), axis=1)
    toe = heel + np.array([0.2, -0.03, 0.0])
    c, s = np.cos(heading), np.sin(heading)
    R = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])
    return t, heel @ R.T, toe @ R.T, sacrum @ R.T, period


@pytest.mark.parametrize("heading", [0.0, 1.0, np.pi])
def test_zeni_finds_the_farthest_points(heading):
    t, heel, toe, sacrum, period = steps(heading=heading)
    found = events_from_markers(t, heel, toe, sacrum)
    assert_allclose(found.strikes, period * np.arange(1, 6), atol=1e-3)
    assert_allclose(found.offs, period * (np.arange(6) + 0.5)[: len(found.offs)], atol=1e-3)


def test_velocity_finds_the_steepest_points():
    t, heel, toe, _, period = steps()
    found = events_from_markers(t, heel, toe, method="velocity")
    # The height goes as cos(phase + 0.5): steepest upwards a quarter period before its top.
    tops = period * (np.arange(1, 6) - 0.5 / (2 * np.pi))
    assert_allclose(found.offs, (tops - period / 4)[: len(found.offs)], atol=2e-3)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sacrum": None}, "pass sacrum="),
        ({"method": "guess"}, "known: zeni, velocity"),
        ({"heel": np.ones((600, 2))}, r"shape \(600, 2\)"),
        ({"toe": np.full((600, 3), np.nan)}, "fill the gaps first"),
        ({"toe": steps()[1]}, "above each other"),
    ],
)
def test_bad_markers_are_refused(change, words):
    t, heel, toe, sacrum, _ = steps()
    arguments = {"heel": heel, "toe": toe, "sacrum": sacrum} | change
    with pytest.raises(InvalidInput, match=words):
        events_from_markers(t, **arguments)


def test_bad_thresholds_are_refused():
    with pytest.raises(InvalidInput, match="positive"):
        events_from_force(np.arange(3.0), np.ones(3), threshold=-1.0)
    with pytest.raises(InvalidInput, match="one foot"):
        events_from_force(np.arange(3.0), np.ones((3, 2)))


# --- recorded walking ------------------------------------------------------------------------------------------------
WALKS = [
    ("gait2392/subject01_walk1", ("ground_force_vy", "1_ground_force_vy"), "{}.Toe.Tip", "V.Sacral"),
    ("rajagopal_walk/", ("ground_force_r_vy", "ground_force_l_vy"), "{}.Toe", "S2"),
]


@pytest.mark.parametrize("method", ["zeni", "velocity"])
@pytest.mark.parametrize(("folder", "columns", "toe", "sacrum"), WALKS)
def test_plates_and_markers_agree_about_recorded_walking(data_folder, folder, columns, toe, sacrum, method):
    names = ("markers_walk.trc", "grf_walk.mot") if folder.endswith("/") else (".trc", "_grf.mot")
    markers, forces = read_trc(data_folder / (folder + names[0])), read_storage(data_folder / (folder + names[1]))
    markers = markers.fill(10).lowpass(7.0)
    compared = 0
    for column, side in zip(columns, "RL", strict=True):
        plate = events_from_force(forces.time, forces.column(column))
        points = (markers.marker(name) for name in (f"{side}.Heel", toe.format(side), sacrum))
        seen = events_from_markers(markers.time, *points, method=method)
        for ours, theirs in ((plate.strikes, seen.strikes), (plate.offs, seen.offs)):
            for event in ours[(ours > markers.time[0] + 0.1) & (ours < markers.time[-1] - 0.1)]:
                assert np.abs(theirs - event).min() < MARKERS, (side, event, theirs)
                compared += 1
            assert len(theirs) <= len(ours) + 1
    assert compared >= 5
