"""The motion that trackers follow: OpenSim's filter by hand, its splines, and the exact way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.analyses.tracking.desired_motion import desired_motion
from musculo.errors import InvalidInput
from musculo.functions import Sine
from musculo.model import CoordinateCoupler
from musculo.results.table import Table
from musculo.signals.filters import opensim_tracking_lowpass
from support.mechanisms import chain

# Sums of a hundred products of numbers of order one.
ROUNDING = 1e-12
# Derivatives of quintic splines over 0.01 s: rounding divided by the step.
RATE_ROUNDING = 1e-9


def reflected(x: np.ndarray, count: int) -> np.ndarray:
    return np.concatenate([2 * x[0] - x[count:0:-1], x, 2 * x[-1] - x[-2 : -count - 2 : -1]])


def test_filter_is_the_sum_that_it_states() -> None:
    time = np.arange(200) * 0.01
    x = np.sin(7.0 * time) + 0.1 * np.sin(150.0 * time)
    found = opensim_tracking_lowpass(time, x, 6.0)
    padded = reflected(reflected(x, 60), 50)
    weights = []
    for k in range(-50, 51):
        a = 2 * np.pi * 6.0 * k * 0.01
        weights.append((1.0 if k == 0 else np.sin(a) / a) * (0.54 + 0.46 * np.cos(k * np.pi / 50)))
    for n in (0, 1, 160, 319):
        by_hand = sum(w * padded[50 + n - k] for w, k in zip(weights, range(-50, 51), strict=True)) / sum(weights)
        assert_allclose(found.values[n], by_hand, atol=ROUNDING)
    assert_allclose(found.time, reflected(time, 60), atol=ROUNDING)


def test_a_straight_line_passes_and_a_negative_cutoff_only_pads() -> None:
    time = np.arange(20) * 0.02  # fewer rows than are added: they are reflected again and again
    line = 3.0 - 2.0 * time
    for cutoff in (None, -1.0, 3.0):
        found = opensim_tracking_lowpass(time, line, cutoff)
        assert len(found.time) == 140
        assert_allclose(found.values, 3.0 - 2.0 * found.time, atol=ROUNDING)
    wave = np.sin(3.0 * time)
    assert_allclose(opensim_tracking_lowpass(time, wave, None).values[60:80], wave, atol=0.0)


def test_uneven_times_are_resampled_to_the_smallest_step() -> None:
    time = np.delete(np.arange(100) * 0.01, 40)
    found = opensim_tracking_lowpass(time, np.sin(time), 6.0)
    assert_allclose(np.diff(found.time), 0.01, atol=ROUNDING)


@pytest.fixture(scope="module")
def walk() -> tuple[musculo.Model, Table]:
    coupler = CoordinateCoupler("bend", True, (), "q1", ("q2",), Sine(0.7, 2.0, 0.3))
    model = chain("walk", (0.3, 0.4, 0.2), 0.5, (0.3, 0.2, -0.4)).replace(constraints=(coupler,))
    model = model.with_coordinate("q0", default_value=0.2)
    time = np.arange(101) * 0.01
    waves = {name: 0.3 * np.sin(2.0 * (k + 1) * time + k) for k, name in enumerate(model.coordinate_names)}
    return model, Table(time, tuple(waves), np.stack(list(waves.values()), axis=1))


def test_opensims_three_splines_agree_at_the_rows(walk: tuple[musculo.Model, Table]) -> None:
    model, table = walk
    desired = desired_motion(model, table, like="opensim")
    assert desired.span == (0.0, 1.0)
    at = table.time
    free = [model.speed_index(name) for name in model.free_coordinate_names]
    same = [model.coordinate_index(name) for name in model.free_coordinate_names]
    assert_allclose(desired.q(at)[:, same], table.coordinates(model)[:, same], atol=ROUNDING)
    assert_allclose(desired.u(at)[:, free], desired.qdot(at)[:, same], atol=RATE_ROUNDING)
    between = at[20:-20] + 0.004  # away from the kinks where the recording is reflected
    apart = np.abs(desired.u(between)[:, free] - desired.qdot(between)[:, same]).max()
    assert 1e-14 < apart < 1e-5  # splines of their own


def test_exact_rates_are_derivatives_everywhere(walk: tuple[musculo.Model, Table]) -> None:
    model, table = walk
    desired = desired_motion(model, table)
    t, h = np.linspace(0.2, 0.8, 7), 1e-5
    numeric = (desired.q(t + h) - desired.q(t - h)) / (2 * h)
    rows = [model.speed_index(name) for name in model.coordinate_names]
    assert_allclose(desired.u(t)[:, rows], numeric, atol=1e-6)
    assert_allclose(desired.udot(t)[:, rows], (desired.u(t + h) - desired.u(t - h))[:, rows] / (2 * h), atol=1e-5)
    whole = desired.motion(t)
    assert_allclose(whole.udot, desired.udot(t), atol=0.0)


def test_rows_that_are_one_are_dropped(walk: tuple[musculo.Model, Table]) -> None:
    model, table = walk
    time = np.sort(np.concatenate([table.time, table.time[20:40] - 3e-14]))
    values = np.stack([np.interp(time, table.time, column) for column in table.values.T], axis=1)
    twice = replace(table, time=time, values=values)
    t = np.linspace(0.0, 1.0, 11)
    for like in (None, "opensim"):
        once = desired_motion(model, table, 6.0, like=like)
        assert_allclose(desired_motion(model, twice, 6.0, like=like).udot(t), once.udot(t), atol=1e-6)


def test_missing_columns_are_zero_in_opensims_way_alone(walk: tuple[musculo.Model, Table]) -> None:
    model, table = walk
    name = "q0"
    k = model.coordinate_index(name)
    kept = [i for i, one in enumerate(table.names) if one != name]
    fewer = replace(table, names=tuple(table.names[i] for i in kept), values=table.values[:, kept])
    assert desired_motion(model, fewer, like="opensim").q([0.5])[0, k] == 0.0
    assert desired_motion(model, fewer).q([0.5])[0, k] == pytest.approx(model.coordinates[k].default_value)


def test_too_few_rows_and_times_that_are_no_times(walk: tuple[musculo.Model, Table]) -> None:
    model, table = walk
    with pytest.raises(InvalidInput, match="six or more"):
        desired_motion(model, replace(table, time=table.time[:4], values=table.values[:4]))
    with pytest.raises(InvalidInput, match="times"):
        desired_motion(model, table).q(0.5)
