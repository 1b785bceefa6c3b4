"""Curves of muscles pass their anchor points, do not turn back, and have the slopes they say."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.kernels.hill.curve_values import STRAIGHT_FROM
from musculo.model.force import MuscleCurve
from musculo.muscle.hill_curves import millard_curves
from musculo.muscle.hill_curves.bezier_sections import Knot, bezier_curve, corner
from musculo.muscle.hill_curves.curves import muscle_curves
from support.muscle_rig import KINDS, model_of, muscle, one_of_each

# Curves are polynomials and exponentials of numbers near 1.
ROUNDING = 1e-12
# OpenSim's coefficients of De Groote and Fregly make f_L(1) = 1 to nine digits, f_V(0) = 1 to four.
DGF_PEAK, DGF_ISOMETRIC = 1e-9, 2e-4
MILLARD, THELEN, DGF, SCHUTTE, DELP, RIGID, OLD_THELEN = KINDS
COMPLEX_STEP = 1e-30


@pytest.fixture(scope="module")
def curves():
    model = one_of_each()
    return {name: muscle_curves(model, name) for name in model.muscle_names}


def test_active_force_is_one_at_the_optimal_length(curves):
    for name in (MILLARD, THELEN, "undamped"):
        assert_allclose(curves[name].active_force_length(1.0), 1.0, atol=ROUNDING)
        assert_allclose(curves[name].active_force_length(1.0, order=1), 0.0, atol=1e-9)
    assert_allclose(curves[DGF].active_force_length(1.0), 1.0, atol=DGF_PEAK)


def test_millard_active_force_has_its_least_value_at_and_beyond_its_ends(curves):
    """Damped muscles have zero there, undamped ones at least 0.1, as OpenSim sets them."""
    ends = np.array([0.1, 0.4441, 1.8123, 2.5])
    assert_allclose(curves[MILLARD].active_force_length(ends), 0.0, atol=ROUNDING)
    assert_allclose(curves["undamped"].active_force_length(ends), 0.1, atol=ROUNDING)


def test_thelen_active_force_is_a_bell(curves):
    x = np.linspace(0.2, 2.0, 7)
    assert_allclose(curves[THELEN].active_force_length(x), np.exp(-((x - 1.0) ** 2) / 0.45), atol=ROUNDING)


def test_passive_force_is_one_at_its_strain(curves):
    for name, strain in ((MILLARD, 0.7), (THELEN, 0.6), (DGF, 0.6)):
        assert_allclose(curves[name].passive_force_length(1.0 + strain), 1.0, atol=ROUNDING)
    for name in (MILLARD, THELEN):
        assert_allclose(curves[name].passive_force_length([0.5, 1.0]), 0.0, atol=ROUNDING)
    assert_allclose(curves[DGF].passive_force_length(0.2), 0.0, atol=ROUNDING)
    assert_allclose(curves[MILLARD].passive_force_length(1.7, order=1), 2.0 / 0.7, rtol=1e-9)


def test_tendon_force_is_zero_when_slack_and_one_at_its_strain(curves):
    for name, strain in ((MILLARD, 0.049), (THELEN, 0.04), (DGF, 0.049)):
        assert_allclose(curves[name].tendon_force_length([1.0, 1.0 + strain]), [0.0, 1.0], atol=ROUNDING)
    for name in (MILLARD, THELEN, SCHUTTE):
        assert curves[name].tendon_force_length(0.9) == 0.0
    # Millard's is straight beyond its toe
    assert_allclose(curves[MILLARD].tendon_force_length(1.1, order=1), 1.375 / 0.049, rtol=1e-9)


def test_thelen_tendon_turns_linear_with_the_same_slope(curves):
    e3 = np.exp(3.0)
    toe = 1.0 + 99.0 * 0.04 * e3 / (166.0 * e3 - 67.0)
    left, right = (curves[THELEN].tendon_force_length(toe + d, order=1) for d in (-1e-9, 1e-9))
    assert_allclose(left, right, rtol=1e-6)
    assert_allclose(curves[THELEN].tendon_force_length(toe), 0.33, atol=ROUNDING)


def _dgf_passive_scale():
    lowest = np.exp(4.0 * (0.2 - 1.0) / 0.6)
    return 1.0 / (np.exp(4.0) - lowest), lowest / (np.exp(4.0) - lowest)


@pytest.mark.parametrize(
    ("kind", "curve", "start", "rate", "scale", "offset"),
    [
        (DGF, "tendon", 1.0, np.log(6.0) / 0.049, 0.2, 0.2),
        (DGF, "passive", 1.0, 4.0 / 0.6, *_dgf_passive_scale()),
        (SCHUTTE, "passive", 1.5, 8.0, 1.0, 0.0),
    ],
)
def test_exponentials_go_on_straight_beyond_e40(kind, curve, start, rate, scale, offset):
    """Below, they are what they were; there, value and slope go on; nothing overflows."""
    f = getattr(muscle_curves(model_of(muscle(kind)), "m"), f"{curve}_force_length")
    z = np.linspace(-1.0, 39.999, 200)
    # a length has 1e-16 of it left for the strain, and e^(rate strain) makes that larger
    assert_allclose(f(start + z / rate), scale * np.exp(z) - offset, rtol=1e-12, atol=ROUNDING)
    edge = start + STRAIGHT_FROM / rate
    below, above = edge - 1e-9, edge + 1e-9
    for order in (0, 1):
        assert_allclose(f(above, order), f(below, order), rtol=1e-6)
    beyond = np.array([1.0, 1e3, 1e100])
    slope = f(edge + beyond, 1)
    assert_allclose(slope, slope[0], rtol=ROUNDING)
    assert_allclose(f(edge + beyond), f(edge) + beyond * slope, rtol=1e-12)


def test_force_velocity_anchor_points(curves):
    assert_allclose(curves[MILLARD].force_velocity([-1.0, 0.0, 1.0]), [0.0, 1.0, 1.4], atol=ROUNDING)
    assert_allclose(curves[MILLARD].force_velocity(0.0, order=1), 5.0, rtol=1e-9)
    assert_allclose(curves[THELEN].force_velocity([-1.0, 0.0]), [0.0, 1.0], atol=ROUNDING)
    # at half activation Thelen's muscle is only 0.25 + 0.75 / 2 as fast
    assert_allclose(curves[THELEN].force_velocity(-0.625, activation=0.5), 0.0, atol=ROUNDING)
    assert_allclose(curves[DGF].force_velocity(0.0), 1.0, atol=DGF_ISOMETRIC)
    assert_allclose(curves[SCHUTTE].force_velocity([-1.0, 0.0, 1e9]), [0.0, 1.0, 1.4], atol=1e-8)
    for name in (DELP, RIGID):
        assert_allclose(curves[name].force_velocity([-1.0, 0.0, 0.5]), [0.0, 1.0, 1.75049], atol=ROUNDING)


def test_spline_curves_pass_their_knots(curves):
    for name in (SCHUTTE, DELP, RIGID):
        assert_allclose(curves[name].active_force_length([0.62875, 1.2175]), [0.636667, 0.77], atol=ROUNDING)
    assert_allclose(curves[DELP].passive_force_length([1.1, 1.5]), [0.035, 1.17], atol=ROUNDING)
    assert_allclose(curves[SCHUTTE].passive_force_length(1.5), 1.0, atol=ROUNDING)
    assert_allclose(curves[SCHUTTE].tendon_force_length(1.0103), 0.161, atol=ROUNDING)


def test_curves_that_must_increase_do(curves):
    w, x = np.linspace(-1.0, 1.0, 2001), np.linspace(1.0, 1.1, 2001)
    for name in (MILLARD, "undamped", THELEN, DGF, SCHUTTE):
        assert (np.diff(curves[name].force_velocity(w)) > 0.0).all(), name
        assert (np.diff(curves[name].tendon_force_length(x)) > 0.0).all(), name
        assert (np.diff(curves[name].passive_force_length(1.0 + 10.0 * (x - 1.0))) > 0.0).all(), name


@pytest.mark.parametrize(
    "curve", ["active_force_length", "passive_force_length", "tendon_force_length", "force_velocity"]
)
def test_slopes_are_derivatives(curves, curve):
    """By the complex step, to rounding, inside and beyond the ends of every curve."""
    x = np.random.default_rng(3).uniform(0.3, 1.9, 400)
    if curve == "tendon_force_length":
        x = 1.0 + 0.1 * (x - 0.6)
    if curve == "force_velocity":
        x = 2.0 * (x - 1.0)
    for name, muscle_ in curves.items():
        of = getattr(muscle_, curve)
        exact = np.imag(of(x + 1j * COMPLEX_STEP)) / COMPLEX_STEP
        assert_allclose(of(x, order=1), exact, rtol=1e-9, atol=1e-9, err_msg=name)
        assert_allclose(np.real(of(x + 0j)), of(x), rtol=ROUNDING, atol=ROUNDING, err_msg=name)


def test_the_table_is_the_bezier_curve():
    """Kernels evaluate polynomials fitted to the Bezier sections; the sections themselves are the judge."""
    default = MuscleCurve("")
    exact = {
        "active_force_length": millard_curves.active_force_length(default, 0.0),
        "passive_force_length": millard_curves.fiber_force_length(default),
        "tendon_force_length": millard_curves.tendon_force_length(default),
        "force_velocity": millard_curves.force_velocity(default),
    }
    table = muscle_curves(model_of(muscle(MILLARD)), "m")
    for name, curve in exact.items():
        for k in range(len(curve.x)):
            x = np.linspace(curve.x[k, 0], curve.x[k, -1], 999)
            assert_allclose(getattr(table, name)(x), curve.section(k, x), atol=5e-14, err_msg=name)


def test_a_section_keeps_the_knots_and_slopes_it_is_given():
    start, end = Knot(0.0, 0.0, 0.2), Knot(1.0, 1.0, 3.0)
    x, y = corner(start, end, 0.5)
    assert_allclose([x[0], y[0], x[-1], y[-1]], [0.0, 0.0, 1.0, 1.0])
    assert_allclose((y[1] - y[0]) / (x[1] - x[0]), 0.2)
    assert_allclose((y[-1] - y[-2]) / (x[-1] - x[-2]), 3.0)
    with pytest.raises(InvalidInput, match="tangents at x = 0 and x = 1 meet"):
        bezier_curve([Knot(0.0, 0.0, 2.0), Knot(1.0, 1.0, 3.0)], [0.5])


def test_bad_curves_are_refused():
    model = one_of_each()
    with pytest.raises(UnknownName, match="no muscle 'n'"):
        muscle_curves(model, "n")
    with pytest.raises(InvalidInput, match="order is 0"):
        muscle_curves(model, MILLARD).force_velocity(0.0, order=3)
    bad = MuscleCurve("ActiveForceLengthCurve", "", (("min_norm_active_fiber_length", 0.9),))
    with pytest.raises(InvalidModel, match=r"muscle 'm': ActiveForceLengthCurve: lengths 0.9"):
        muscle_curves(model_of(muscle(MILLARD, curves=(bad,))), "m")
