"""Splines, filters and gaps on signals whose answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.signal import butter, filtfilt

from musculo import Markers, Table, time_derivative
from musculo.errors import InvalidInput
from musculo.signals import NaturalSpline, lowpass, resample, residual_cutoff, smoothing_spline
from musculo.signals.filters import corrected_cutoff
from musculo.signals.gaps import fill_gaps, find_gaps, runs
from musculo.signals.named_arrays import sampling_rate
from musculo.signals.natural_smoothing import even_times

ROUNDING = 1e-12
# Times of 60 Hz rounded to milliseconds are off by up to 1/3 ms, and so is the last, which the rate is taken from: at a
# stated time stands the motion of another, up to 2/3 ms away. What that makes of the acceleration of a sine of half a
# metre, once a second, is its jerk times that: 0.083 m/s^2 of 20 (measured 0.075; splines through stated times: 17).
SHIFTED = 0.5 * (2.0 * np.pi) ** 3 * 2e-3 / 3.0


# --- splines ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_a_spline_passes_through_its_points_and_continues_as_a_polynomial(degree):
    t = np.array([0.0, 0.1, 0.3, 0.4, 0.45, 0.7, 0.8, 1.0, 1.3])
    half = (degree + 1) // 2
    polynomial = np.polynomial.Polynomial(np.arange(1.0, half + 1))  # of degree m - 1: reproduced, also outside
    spline = NaturalSpline(t, polynomial(t), degree)
    outside = np.array([-0.5, 0.05, 0.6, 2.0])
    for order in range(half):
        assert_allclose(spline(outside, order), polynomial.deriv(order)(outside), rtol=1e-9, atol=1e-9)
    y = np.cos(7 * t)
    assert_allclose(NaturalSpline(t, y, degree)(t), y, atol=ROUNDING)


def test_a_natural_spline_is_free_at_its_ends():
    t = np.linspace(0.0, 1.0, 20)
    spline = NaturalSpline(t, np.stack((np.sin(5 * t), t**3), axis=1), 5)
    for order in (3, 4):
        ends = spline(t[[0, -1]], order)
        inside = np.abs(spline(t, order)).max()
        assert np.abs(ends).max() < 1e-8 * inside


def test_derivatives_of_a_sine():
    t = np.arange(0.0, 2.0, 0.01)
    inner = slice(20, -20)  # a sine does not end like a natural spline
    for order, expected in ((1, 3 * np.cos(3 * t)), (2, -9 * np.sin(3 * t))):
        assert_allclose(time_derivative(t, np.sin(3 * t), order)[inner], expected[inner], atol=1e-5)


def test_shapes_follow_the_values():
    t = np.arange(10) / 10.0
    values = np.arange(60.0).reshape(10, 2, 3)
    assert time_derivative(t, values).shape == (10, 2, 3)
    assert NaturalSpline(t, values)(0.5).shape == (2, 3)
    assert resample(t, values, [0.1, 0.2]).shape == (2, 2, 3)


def test_resampling_stays_inside():
    t = np.arange(11) / 10.0
    assert_array_equal(even_times(t, 20.0), np.arange(21) / 20.0)
    with pytest.raises(InvalidInput, match="beyond its ends"):
        resample(t, t, [0.0, 1.1])


def test_smoothing_finds_the_signal_under_noise():
    t = np.linspace(0.0, 2.0, 200)
    rng = np.random.default_rng(0)
    noise = 0.05 * rng.normal(size=t.size)
    smoothed = smoothing_spline(t, np.sin(4 * t) + noise)(t)
    assert np.std(smoothed - np.sin(4 * t)) < 0.4 * np.std(noise)


# --- filters ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [2, 4, 8])
@pytest.mark.parametrize("cutoff", [3.0, 6.0, 30.0])
def test_half_the_power_is_left_at_the_cutoff(order, cutoff):
    """Two passes of the plain design would leave a quarter."""
    t = np.arange(4000) / 100.0
    wave = np.sin(2 * np.pi * cutoff * t)
    middle = slice(1000, -1000)
    filtered = lowpass(t, wave, cutoff, order).values
    gain = (filtered[middle] @ wave[middle]) / (wave[middle] @ wave[middle])
    assert_allclose(gain, np.sqrt(0.5), rtol=1e-6)
    quadrature = np.cos(2 * np.pi * cutoff * t)
    assert abs(filtered[middle] @ quadrature[middle]) / (wave[middle] @ wave[middle]) < 1e-3  # no lag


def test_the_filter_is_scipys():
    t = np.arange(500) / 200.0
    x = np.cumsum(np.random.default_rng(1).normal(size=500))
    b, a = butter(2, 2 * corrected_cutoff(6.0, 200.0, 4) / 200.0)
    inner = slice(150, -150)  # the ends depend on the padding
    assert_allclose(lowpass(t, x, 6.0).values[inner], filtfilt(b, a, x, padlen=100)[inner], atol=1e-5)
    # Winter 2009: dividing by 0.802 for two passes of second order, when the cutoff is far below the rate.
    assert_allclose(corrected_cutoff(6.0, 1e5, 4), 6.0 / 0.802, rtol=1e-3)


def test_a_line_passes_and_a_constant_stays():
    t = np.arange(200) / 50.0
    assert_allclose(lowpass(t, 3.0 - 2.0 * t, 4.0).values, 3.0 - 2.0 * t, atol=1e-9)


def test_each_column_has_its_cutoff():
    t = np.arange(300) / 100.0
    x = np.random.default_rng(2).normal(size=(300, 2))
    both = lowpass(t, x, [5.0, 20.0]).values
    assert_array_equal(both[:, 0], lowpass(t, x[:, 0], 5.0).values)
    assert_array_equal(both[:, 1], lowpass(t, x[:, 1], 20.0).values)


def test_gaps_stay_and_part_the_signal():
    t = np.arange(300) / 100.0
    x = np.random.default_rng(2).normal(size=(300, 2))
    x[100:110, 0] = np.nan
    filtered = lowpass(t, x, 5.0).values
    assert_array_equal(np.isnan(filtered), np.isnan(x))
    assert_array_equal(filtered[:100, 0], lowpass(t[:100], x[:100, 0], 5.0).values)
    assert_array_equal(filtered[110:, 0], lowpass(t[110:], x[110:, 0], 5.0).values)
    assert_array_equal(filtered[:, 1], lowpass(t, x[:, 1], 5.0).values)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cutoff": 50.0}, "is not possible with 100 frames a second"),
        ({"cutoff": -1.0}, "is not possible"),
        ({"cutoff": np.nan}, "is not possible"),
        ({"cutoff": [1.0, 2.0, 3.0]}, "one per column"),
        ({"order": 3}, "is even"),
        ({"like": "bessel"}, "it is 'opensim', or None"),
        ({"like": "opensim", "cutoff": [1.0, 2.0]}, "one cutoff"),
        ({"like": "opensim", "cutoff": 0.0}, "impossible"),
        ({"time": np.r_[np.arange(50), np.arange(49.5, 99)] / 100.0}, "resample first"),
        ({"time": np.zeros(100)}, r"does not increase from frame 0 \(0\.0 s\) to 1 \(0\.0 s\)"),
        ({"time": np.arange(99) / 100.0}, r"shape \(99,\)"),
        ({"values": np.full((100, 1), "x")}, "must be numbers"),
    ],
)
def test_what_cannot_be_filtered_is_refused(change, words):
    arguments = {"time": np.arange(100) / 100.0, "values": np.ones((100, 2)), "cutoff": 6.0} | change
    with pytest.raises(InvalidInput, match=words):
        lowpass(**arguments)


def test_opensims_filter_refuses_gaps_by_frame():
    x = np.ones((50, 2))
    x[7, 1] = np.nan
    with pytest.raises(InvalidInput, match=r"column 1 has 1 frames .* frame 7 \(0.07 s\); fill"):
        lowpass(np.arange(50) / 100.0, x, 6.0, like="opensim")


def test_a_lone_frame_between_gaps_is_refused():
    x = np.ones(50)
    x[10], x[12] = np.nan, np.nan
    with pytest.raises(InvalidInput, match="single frame between two gaps"):
        lowpass(np.arange(50) / 100.0, x, 6.0)


def test_rates_of_rounded_times():
    assert_allclose(sampling_rate(np.round(np.arange(151) / 60.0, 3)), 60.0, rtol=1e-3)
    with pytest.raises(InvalidInput, match="steps from its place"):
        sampling_rate([0.0, 0.1, 0.2, 0.4])


# --- residual analysis -----------------------------------------------------------------------------------------------
def test_filtered_motion_of_rounded_times_can_be_differentiated():
    """Times rounded to milliseconds, as recordings state them, do not bury the acceleration of a slow sine in noise."""
    even = np.arange(150) / 60.0
    stated, motion = np.round(even, 3), 0.5 * np.sin(2.0 * np.pi * even)
    inner = slice(10, -10)
    expected = time_derivative(even, lowpass(even, motion, 6.0).values, 2)[inner]
    found = time_derivative(stated, lowpass(stated, motion, 6.0).values, 2)[inner]
    assert np.abs(expected).max() == pytest.approx(0.5 * (2.0 * np.pi) ** 2, rel=0.01)
    assert_allclose(found, expected, rtol=0, atol=SHIFTED)


def test_residual_analysis_finds_noise_and_a_cutoff_above_the_movement():
    rng = np.random.default_rng(0)
    t = np.arange(2000) / 200.0
    movement = sum(a * np.sin(2 * np.pi * f * t) for f, a in ((1.0, 1.0), (2.0, 0.5), (4.0, 0.1)))
    noise = np.array([0.002, 0.02])
    found = residual_cutoff(t, movement[:, None] + noise * rng.normal(size=(2000, 2)))
    assert_allclose(found.noise, noise, rtol=0.1)
    assert (found.cutoff > 4.0).all()
    assert (found.cutoff < 20.0).all()
    assert found.cutoff[1] < found.cutoff[0]  # more noise, less to be had
    # The filter it proposes is a good one: the error left is near the least of any cutoff.
    for k in range(2):
        noisy = movement + noise[k] * np.random.default_rng(1).normal(size=2000)
        errors = [np.std(lowpass(t, noisy, float(f)).values - movement) for f in np.arange(2.0, 40.0, 0.5)]
        assert np.std(lowpass(t, noisy, float(found.cutoff[k])).values - movement) < 1.3 * min(errors)


def test_residual_analysis_without_noise_keeps_all():
    t = np.arange(400) / 100.0
    found = residual_cutoff(t, 1.0 + t)
    assert found.cutoff.shape == (1,)
    assert np.isfinite(found.cutoff).all()
    with pytest.raises(InvalidInput, match="too few"):
        residual_cutoff(t[:10], t[:10])


# --- gaps ------------------------------------------------------------------------------------------------------------
def test_runs():
    assert runs(np.array([True, False, True, True, False])) == [(0, 1), (2, 4)]
    assert runs(np.zeros(3, dtype=bool)) == []
    assert runs(np.ones(2, dtype=bool)) == [(0, 2)]


def test_gaps_are_listed():
    t = np.arange(6) / 10.0
    missing = np.array([[1, 0], [0, 0], [0, 1], [0, 1], [0, 0], [0, 0]], dtype=bool)
    first, second = find_gaps(t, missing, ("a", "b"))
    assert (first.channel, first.frames, first.inside) == ("a", 1, False)
    assert (second.channel, second.start, second.stop, second.inside) == ("b", 2, 4, True)
    assert str(second) == "b: 2 frames from 0.2 to 0.3 s"
    assert "at an end" in str(first)


def test_only_short_inner_gaps_are_filled():
    t = np.arange(100) / 100.0
    truth = np.stack((np.sin(3 * t), np.cos(3 * t)), axis=1)
    x = np.array(truth)
    x[:3, 0] = x[20:25, 0] = x[50:61, 0] = x[97:, 1] = np.nan
    filled = fill_gaps(t, x, longest=10)
    assert_allclose(filled[20:25, 0], truth[20:25, 0], atol=1e-4)
    assert np.isnan(filled[:3, 0]).all()
    assert np.isnan(filled[50:61, 0]).all()
    assert np.isnan(filled[97:, 1]).all()
    known = np.isfinite(x)
    assert_array_equal(filled[known], x[known])
    assert np.isnan(x[20, 0])  # the argument is left alone


@pytest.mark.parametrize("longest", [0, -1, 2.5, True, "3"])
def test_the_longest_gap_is_a_whole_number(longest):
    with pytest.raises(InvalidInput, match="whole number of frames"):
        fill_gaps(np.arange(5.0), np.ones(5), longest)


# --- holes in times ---------------------------------------------------------------------------------------------------
def test_a_pause_parts_a_filter():
    """Each part is what it is alone, wherever the second begins; a single frame that is missing parts it, too."""
    time = np.arange(200) / 100.0
    values = (
        np.sin(2.0 * np.pi * 3.0 * time)[:, None] + np.array([0.0, 1.0]) * np.sin(2.0 * np.pi * 40.0 * time)[:, None]
    )
    for keep, later in (((time < 0.8) | (time > 1.3), 0.0034), (np.arange(200) != 90, 0.0)):
        t, y = time[keep], values[keep]
        first = int(np.flatnonzero(np.diff(t) > 0.015)[0]) + 1
        t = np.concatenate((t[:first], t[first:] + later))
        found = lowpass(t, y, 9.7)
        assert_array_equal(found.time, t)
        for part in (slice(0, first), slice(first, None)):
            assert_allclose(found.values[part], lowpass(t[part], y[part], 9.7).values, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("time", "said"),
    [
        (np.arange(60) / 100.0 + 0.003 * (np.arange(60) % 2), "not evenly spaced.*--resample"),
        (np.concatenate((np.arange(30) / 100.0, 1.0 + np.arange(30) / 80.0)), "not evenly spaced"),  # two rates
        (np.delete(np.arange(90) / 100.0, [20, 25]), "fewer than a period of the cutoff"),
        (np.delete(np.arange(90) / 100.0, [20, 22]), "fewer than a period of the cutoff"),  # a single frame
    ],
)
def test_uneven_frames_are_not_filtered(time, said):
    with pytest.raises(InvalidInput, match=said):
        lowpass(time, np.sin(time), 6.0)
    with pytest.raises(InvalidInput, match=f"walk.mot: .*{said}"):
        Table(time, ("a",), np.sin(time)[:, None], source="walk.mot").lowpass(6.0)


def test_tables_and_markers_say_that_parts_were_filtered():
    time = np.concatenate((np.arange(50), np.arange(80, 130))) / 100.0
    table = Table(time, ("a",), np.sin(time)[:, None])
    assert (
        table.lowpass(6.0).notes[-1].endswith("; frames are missing at 1 place, and each part was filtered by itself")
    )
    assert "missing" not in table.between(0.0, 0.49).lowpass(6.0).notes[-1]
    markers = Markers(time, ("a",), np.ones((100, 1, 3)))
    assert markers.lowpass(6.0).notes[-1].endswith("each part was filtered by itself")


# --- labels ----------------------------------------------------------------------------------------------------------
TIME = np.arange(60) / 50.0
ANGLES = np.degrees(np.stack([np.sin(3.0 * TIME), np.cos(2.0 * TIME)], axis=1))
DENSE = np.linspace(0.1, 1.0, 37)


def labeled(kind):
    """Two angles in degrees and what they are called, as users hold them."""
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    table = Table(TIME, ("hip", "knee"), ANGLES, degrees=True)
    if kind == "xarray":
        given = table.to_xarray("coordinate").assign_coords(unit=("coordinate", ["deg", "deg/s"]), frame=("time", TIME))
        assert isinstance(given, xarray.DataArray)
        return given
    frame = table.to_pandas()
    frame.attrs["units"] = {"hip": "deg", "knee": "deg/s"}
    assert isinstance(frame, pandas.DataFrame)
    return frame["hip"] if kind == "series" else frame


@pytest.mark.parametrize("kind", ["data frame", "series", "xarray", "xarray, time last"])
@pytest.mark.parametrize(
    ("work", "order"),
    [
        (lambda t, y: (t, time_derivative(t, y)), 1),
        (lambda t, y: (t, time_derivative(t, y, 2)), 2),
        (lambda t, y: (DENSE, resample(t, y, DENSE)), 0),
        (lambda t, y: (t, fill_gaps(t, y, 3)), 0),
        (lambda t, y: lowpass(t, y, 6.0), 0),
        (lambda t, y: lowpass(t, y, 6.0, like="opensim"), 0),
    ],
    ids=["derivative", "second derivative", "resample", "fill", "lowpass", "lowpass as OpenSim"],
)
def test_labelled_signals_keep_kind_names_and_units(kind, work, order):
    given = labeled(kind.split(",")[0])
    plain = np.asarray(given)
    time, found = work(TIME, given.transpose() if "last" in kind else given)
    known_time, known = work(TIME, plain)
    assert type(known) is np.ndarray
    assert type(found) is type(given)
    assert_array_equal(np.asarray(found), known)
    assert_array_equal(time, known_time)
    assert found.attrs["degrees"] == 1
    units = [["deg", "deg/s"], ["deg/s", "deg/s^2"], ["deg/s^2", "deg/s^3"]][order]
    if "xarray" in kind:
        assert found.dims == ("time", "coordinate")
        assert found.coords["coordinate"].values.tolist() == ["hip", "knee"]
        assert found.coords["unit"].values.tolist() == units
        assert found.coords["time"].attrs == {"units": "s"}
        assert_array_equal(found.coords["time"], time)
    else:
        assert list(found.attrs["units"].values()) == units
        assert found.index.name == "time"
        assert_array_equal(found.index, time)
        assert list(found.columns) == ["hip", "knee"] if kind == "data frame" else found.name == "hip"
    assert given.attrs["degrees"] == 1  # what was given stays as it was
    assert "unit" not in given.attrs


@pytest.mark.parametrize("make", [NaturalSpline, smoothing_spline])
def test_splines_have_no_unit_and_refuse_degrees(make):
    for kind in ("data frame", "series", "xarray"):
        with pytest.raises(InvalidInput, match=r"values are in deg.*convert first \(table.in_radians\(model\)"):
            make(TIME, labeled(kind))
    given = labeled("data frame")
    given.attrs = {"degrees": 1}
    with pytest.raises(InvalidInput, match="values are in degrees, as their attrs say"):
        make(TIME, given)
    for unit in ("mm", "mm/s"):
        given.attrs = {"units": unit}
        with pytest.raises(InvalidInput, match=f"values are in {unit}, as their attrs say"):
            make(TIME, given)
    given.attrs = {"units": "rad"}
    assert_array_equal(make(TIME, given)(DENSE), make(TIME, ANGLES)(DENSE))


@pytest.mark.parametrize("work", [time_derivative, NaturalSpline, residual_cutoff, lambda t, y: lowpass(t, y, 6.0)])
def test_tables_have_their_own_filters(work):
    with pytest.raises(InvalidInput, match="are a Table; use its own lowpass, derivative, resample and fill"):
        work(TIME, Table(TIME, ("hip", "knee"), ANGLES, degrees=True))


def test_units_of_derivatives_of_derivatives():
    table = Table(TIME, ("hip", "knee"), ANGLES, units=("deg", ""))
    assert table.derivative().derivative().units == table.derivative(2).units == ("deg/s^2", "")
    assert table.derivative().units == ("deg/s", "")
