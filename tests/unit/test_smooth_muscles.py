"""Muscles at the nodes of a mesh: slopes, second slopes, and the equation of elastic tendons."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo.errors import UnknownName, Unsupported
from musculo.kernels.hill.muscle_slopes import force_slopes, rate_slopes
from musculo.muscle import activation_rate, with_de_groote_fregly_muscles
from musculo.trajectory import MuscleDriven, muscle_inverse
from musculo.trajectory.muscles.muscle_nodes import SmoothMuscles

STEP = 1e-30
# A complex step has no difference: rounding through exponentials and roots is all.
ROUNDING = 1e-12
# Second slopes are central differences of exact slopes; so says the kernel.
SECOND = 1e-7
# The search for the fiber's velocity ends at 1e-10 of the maximum isometric force.
BALANCED = 1e-9


@pytest.fixture(scope="module")
def model():
    """The demo's arm, its fibers damped and one of its muscles pennate."""
    converted = with_de_groote_fregly_muscles(musculo.demo.arm())
    first = converted.muscles[0]
    damped = tuple((k, 0.05 if k == "fiber_damping" else v) for k, v in first.parameters)
    return converted.with_force(first.name, parameters=damped, pennation_angle_at_optimal=0.3)


@pytest.fixture(scope="module")
def nodes(model):
    """(muscles, e, a, s, v) of random nodes."""
    muscles = SmoothMuscles(model)
    rng = np.random.default_rng(3)
    e, a = rng.uniform(0.02, 1.0, (2, 9, len(muscles.names)))
    s = muscles.table.optimal_length * rng.uniform(0.6, 1.4, e.shape)
    v = muscles.table.max_speed * rng.uniform(-0.7, 0.7, e.shape)
    return muscles, e, a, s, v


def test_slopes_by_complex_steps(nodes):
    muscles, e, a, s, v = nodes
    for i in range(len(muscles.names)):
        x = np.array([a[0, i], s[0, i], v[0, i]], dtype=complex)
        exact = force_slopes(muscles.table, muscles.curves, i, *x)
        for k in range(3):
            moved = x + 1j * STEP * (np.arange(3) == k)
            stepped = np.imag(force_slopes(muscles.table, muscles.curves, i, *moved)[0]) / STEP
            assert stepped == pytest.approx(exact[1 + k].real, rel=ROUNDING, abs=ROUNDING)
        y = np.array([e[0, i], a[0, i]], dtype=complex)
        exact = rate_slopes(muscles.table, i, *y)
        for k in range(2):
            stepped = np.imag(rate_slopes(muscles.table, i, *(y + 1j * STEP * (np.arange(2) == k)))[0]) / STEP
            assert stepped == pytest.approx(exact[1 + k].real, rel=ROUNDING)


def test_second_slopes(nodes):
    muscles, e, a, s, v = nodes
    b = muscles.fibers(e, a, s, v, bends=True).bends
    for i in range(len(muscles.names)):
        at = np.array([a[0, i], s[0, i], v[0, i]], dtype=complex)

        def slope(of, by, i=i, at=at):
            moved = at + 1j * STEP * (np.arange(3) == by)
            return np.imag(force_slopes(muscles.table, muscles.curves, i, *moved)[1 + of]) / STEP

        l0, w = muscles.table.optimal_length[i], muscles.table.max_speed[i]
        scales = (l0, w, l0 * l0, l0 * w, w * w)
        pairs = ((0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
        for k, ((of, by), scale) in enumerate(zip(pairs, scales, strict=True)):
            assert b[0, k, i] * scale == pytest.approx(slope(of, by) * scale, rel=SECOND, abs=SECOND)


def test_force_is_that_of_the_public_functions(model, nodes):
    """At the fiber velocity that `muscle_force` finds, f = g holds, whatever the tendon's force."""
    muscles, e, a, s, _ = nodes
    rng = np.random.default_rng(4)
    f = rng.uniform(0.1, 0.8, (len(a), len(muscles.elastic)))
    tendon = muscles.tendons(f)
    length = tendon.length + s[:, muscles.elastic]
    fiber = np.sqrt(s**2 + muscles.table.width**2)
    state = musculo.muscle_force(model, length, np.zeros_like(length), a, fiber)
    assert state.tendon_force / muscles.max_force == pytest.approx(f, rel=BALANCED)
    along_rate = state.fiber_velocity * fiber / s
    g = muscles.fibers(e, a, s, along_rate)
    # beyond its largest speed a fiber of `muscle_force` moves no faster, whatever pulls
    moving = np.abs(state.fiber_velocity) < muscles.table.max_speed
    assert moving.mean() > 0.5
    assert g.force[moving] == pytest.approx(f[moving], abs=BALANCED)
    assert g.rate == pytest.approx(activation_rate(model, e, a), rel=ROUNDING)


def test_derivatives_of_the_tendon(nodes):
    muscles = nodes[0]
    f, h = np.full((1, len(muscles.elastic)), 0.4), 1e-5
    ahead, behind, here = muscles.tendons(f + h), muscles.tendons(f - h), muscles.tendons(f)
    for k in range(3):
        assert (ahead[k] - behind[k]) / (2 * h) == pytest.approx(here[k + 1], rel=1e-8)


def test_muscles_with_corners_are_refused():
    with pytest.raises(Unsupported, match="with_de_groote_fregly_muscles"):
        SmoothMuscles(musculo.demo.arm())


def test_conversion_keeps_what_muscles_state(model):
    before, after = musculo.demo.arm().muscles[1], model.muscles[1]
    assert after.kind == "DeGrooteFregly2016Muscle"
    for key in ("max_isometric_force", "optimal_fiber_length", "tendon_slack_length", "min_control", "path"):
        assert getattr(after, key) == getattr(before, key)
    assert after.parameter("tendon_strain_at_one_norm_force", 0.0) == before.parameter("FmaxTendonStrain", 0.0)
    assert with_de_groote_fregly_muscles(model).muscles == model.muscles
    silent = with_de_groote_fregly_muscles(model, passive=False).muscles[0]
    assert silent.parameter("ignore_passive_fiber_force", False) is True


def test_an_unknown_word_for_tendons_is_refused(model):
    for ask in (SmoothMuscles, MuscleDriven):
        with pytest.raises(UnknownName, match="'stiff' in tendons; known: stated, rigid"):
            ask(model, tendons="stiff")
    with pytest.raises(UnknownName, match="did you mean 'rigid'"):
        muscle_inverse(model, musculo.demo.arm_flexion(), tendons="rigit")
