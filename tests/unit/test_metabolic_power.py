"""Metabolic power of muscles: a case by hand, exact slopes, and the node function beside the everyday one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
import musculo.demo
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.hill.metabolic_rate import NODE_ROWS, MetabolicNodes, metabolic_slope_nodes
from musculo.muscle import Bhargava2004, fit_paths, metabolic_rate, with_de_groote_fregly_muscles
from musculo.trajectory import MetabolicRate, MuscleDriven
from support.complex_kernels import STEP, slope

# Both are exact to rounding; powers go up to 1e2 W.
COMPLEX = 1e-10
ROUNDING = 1e-10
# Differences of exact slopes in steps of 1e-5, where smooth choices bend within 1e-3.
CURVATURE = 1e-3
ENERGIES = {
    "tanh": Bhargava2004(smoothing=10.0),
    "by force": Bhargava2004(smoothing=(10.0, 5.0, 20.0), force_dependent_shortening=True, negative_work=False),
    "unbounded": Bhargava2004(smoothing=5.0, not_negative=False, least_heat=False),
}


@pytest.fixture(scope="module")
def arm():
    """One tendon is rigid, one muscle is its excitation, and one is pennate."""
    model = with_de_groote_fregly_muscles(musculo.demo.arm())
    model = model.with_force("biceps_short", ignore_tendon_compliance=True)
    model = model.with_force("triceps_long", pennation_angle_at_optimal=0.2)
    return model.with_force("brachialis", ignore_activation_dynamics=True)


@pytest.fixture(scope="module")
def equations(arm):
    polynomials = fit_paths(arm, tolerance=0.1).model
    return {"elastic": MuscleDriven(polynomials), "rigid": MuscleDriven(polynomials, tendons="rigid")}


def states(f, nodes=4):
    rng, x = np.random.default_rng(2), f.layout
    v = rng.normal(0.0, 1.0, (nodes, len(f.inputs)))
    v[:, x.value] = rng.uniform(0.4, 1.2, (nodes, len(x.value)))
    for columns in (x.excitation, x.activation, x.tension):
        v[:, columns] = rng.uniform(0.1, 0.9, (nodes, len(columns)))
    return v


def dense(f, v):
    found = np.zeros((len(v), len(f.outputs), len(f.inputs)))
    found[:, f.pattern[0], f.pattern[1]] = f.slopes(v)[1]
    return found


def test_an_isometric_muscle_by_hand(arm):
    """Full excitation at rest: sin = 1 and cos = 0, nothing shortens, and the fiber is where L(x) is known."""
    name = "biceps_long"
    k = arm.muscle_names.index(name)
    muscle = arm.muscle(name)
    fiber = np.array([m.optimal_fiber_length for m in arm.muscles])
    fiber[k] *= 1.25
    found = metabolic_rate(
        arm,
        np.array([0.5, 0.7]),
        np.zeros(2),
        1.0,
        fiber_length=fiber,
        energy=Bhargava2004(slow_twitch={name: 0.4}, not_negative=False, least_heat=False),
    )
    mass = muscle.max_isometric_force * muscle.optimal_fiber_length * 1059.7 / 0.25e6
    assert found.activation_heat[k] == pytest.approx(mass * (0.4 * 40 + 0.6 * 133))
    assert found.maintenance_heat[k] == pytest.approx(mass * 0.5 * (0.4 * 74 + 0.6 * 111))
    parts = found.activation_heat + found.maintenance_heat + found.shortening_heat + found.work
    assert_allclose(found.rate, parts)
    assert found.basal == pytest.approx(1.2 * sum(body.mass for body in arm.bodies))
    assert found.body == pytest.approx(found.rate.sum() + found.basal)


@pytest.mark.parametrize("energy", ENERGIES)
def test_slopes_by_the_complex_step(equations, energy):
    f = equations["elastic"]
    rate = MetabolicRate(f, ENERGIES[energy])
    v = states(f, 20)
    stretch, _ = rate._stretch(v, bends=False)
    given = [np.ascontiguousarray(x) for x in rate._arguments(v, stretch)]
    exact = rate._powers(*given)
    for k in range(4):
        moved = [x.astype(complex) for x in given]
        moved[k] += 1j * STEP
        out = np.empty((len(v), NODE_ROWS, len(f.muscles.names)), dtype=complex)
        metabolic_slope_nodes(f.muscles.table, f.muscles.curves, rate._table, MetabolicNodes(*moved), out, 0, len(v))
        assert_allclose(slope(out[:, 0]), exact[1 + k], rtol=COMPLEX, atol=COMPLEX * np.abs(exact[1 + k]).max())


@pytest.mark.parametrize("kind", ["elastic", "rigid"])
def test_slopes_and_curvatures_by_variables(equations, kind):
    f = MetabolicRate(equations[kind])
    v = states(equations[kind])
    exact = dense(f, v)
    assert_allclose(f.slopes(v)[0], f.values(v), atol=ROUNDING)
    multipliers = np.random.default_rng(0).normal(size=(len(v), len(f.outputs)))
    rows, columns = f.curvature_pattern
    assert (rows >= columns).all()
    second = np.zeros((len(v), len(f.inputs), len(f.inputs)))
    second[:, rows, columns] = second[:, columns, rows] = f.curvatures(v, multipliers)
    for k, e in enumerate(1e-5 * np.eye(len(f.inputs))[:-1]):
        near, far = (f.values(v + j * e) - f.values(v - j * e) for j in (1, 2))
        assert_allclose(exact[:, :, k], (8 * near - far) / 12e-5, atol=1e-7)
        change = np.einsum("nov,no->nv", dense(f, v + e) - dense(f, v - e), multipliers) / 2e-5
        assert_allclose(second[:, k], change, atol=CURVATURE * np.abs(second).max())


def test_the_node_function_is_the_everyday_one(equations):
    f = equations["rigid"]
    energy = ENERGIES["by force"]
    v, x = states(f), f.layout
    everyday = metabolic_rate(
        f.model,
        v[:, x.value],
        v[:, x.speed],
        v[:, x.activation],
        excitation=v[:, x.excitation],
        tendon="rigid",
        energy=energy,
    )
    assert_allclose(MetabolicRate(f, energy).values(v), everyday.rate, atol=ROUNDING)


def test_energy_over_a_motion(arm):
    time = np.linspace(0.0, 2.0, 5)
    still = np.tile([0.5, 0.7], (5, 1))
    found = metabolic_rate(arm, still, np.zeros((5, 2)), 0.3, time=time)
    mass = sum(body.mass for body in arm.bodies)
    assert found.energy() == pytest.approx(2.0 * found.body[0])
    assert found.cost_of_transport(3.0) == pytest.approx(2.0 * found.body[0] / (3.0 * mass))
    # a muscle that is switched off costs nothing
    off = arm.with_force("brachialis", applies_force=False)
    assert metabolic_rate(off, still, np.zeros((5, 2)), 0.3).rate[0, off.muscle_names.index("brachialis")] == 0.0
    with pytest.raises(InvalidInput, match="times of two"):
        metabolic_rate(arm, still[0], np.zeros(2), 0.3).energy()


def test_outcomes_bring_what_they_have(arm):
    """Rigid tendons of static optimization; excitations and fiber lengths of simulations."""
    motion = musculo.motion_of(arm, musculo.demo.arm_flexion())
    q, u = motion.q[:20], motion.u[:20]
    effort = musculo.static_optimization(arm, q, u, motion.udot[:20], reserves=1.0)
    stated = metabolic_rate(arm, q, u, effort.activation, tendon="rigid")
    assert_allclose(metabolic_rate(arm, q, u, effort).rate, stated.rate)

    excited = dict.fromkeys(arm.muscle_names, 0.2)
    moved = musculo.simulate(arm, [0.2, 0.4], [0.0, 0.0], np.linspace(0.0, 0.1, 6), excitations=excited)
    found, muscles = metabolic_rate(arm, moved.q, moved.u, moved.muscles), moved.muscles
    arrays = {"excitation": muscles.excitation, "fiber_length": muscles.fiber_length, "time": moved.time}
    stated = metabolic_rate(arm, moved.q, moved.u, muscles.activation, **arrays)
    assert_allclose(found.rate, stated.rate)
    assert found.energy() == pytest.approx(stated.energy())
    assert np.abs(metabolic_rate(arm, moved.q, moved.u, muscles.activation).rate - found.rate).max() > 0.1


def test_what_cannot_be_is_refused(arm):
    with pytest.raises(InvalidInput, match="density"):
        Bhargava2004(density=-1.0)
    with pytest.raises(UnknownName, match="biceps_logn"):
        Bhargava2004(slow_twitch={"biceps_logn": 0.4}).table(arm)
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        Bhargava2004(slow_twitch=50.0).table(arm)
    with pytest.raises(InvalidInput, match=r"MuscleDriven\(model\)"):
        MetabolicRate(arm)
