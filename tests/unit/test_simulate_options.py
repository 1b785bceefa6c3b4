"""What acts in a simulation, which coordinates carry it, how constraints are kept, and what is told about it."""

from __future__ import annotations

import numba
import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.errors import InvalidInput, UnknownName
from musculo.replications.closed_loops.mechanisms import REST, SC, SD, STIFFNESS, TORQUE, B, C
from support.dynamics_models import random_q, random_tree
from support.mechanisms import andrews_squeezer, chain, closing, five_bar, four_bar, hinge, link, squeezer_forces

ROUNDING = 1e-12
# Motions of 1e-10 a step, by other steps.
AGREE = 1e-7


def pendulum() -> Model:
    bodies = (link("b", 1.0, (0.0, -0.5), 0.1), link("c", 0.5, (0.0, -0.3), 0.05))
    return Model("pendulum", bodies, (hinge("a", "ground", (0.0, 0.0), "b"), hinge("k", "b", (0.0, -1.0), "c")))


@numba.njit
def spring(t, q, u, tau):
    for k in range(q.size):
        tau[k] -= 2.0 * np.sin(q[k])


@numba.njit
def damper(t, q, u, tau):
    for k in range(u.size):
        tau[k] -= (0.1 + 0.05 * t) * u[k]


@numba.njit
def function_of_three(t, q, u):
    return -2.0 * np.sin(q)


@numba.njit
def too_far(t, q, u, tau):
    tau[7] += 1.0


@numba.njit
def untyped(t, q, u, tau):
    tau[0] += "a"


@numba.njit
def raising(t, q, u, tau):
    if t > 0.1:
        raise ValueError("no force is known")
    tau[0] += 0.0


@numba.njit
def infinite(t, q, u, tau):
    tau[1] += np.inf if t > 0.1 else 1.0


def plain(t, q, u):
    return -2.0 * np.sin(q) - (0.1 + 0.05 * t) * u


SPAN = np.linspace(0.0, 0.4, 5)
TIGHT = {"rtol": 1e-10, "atol": 1e-10}
WAYS = [("embedded", "rkf45"), ("embedded", "cvode"), ("constrained", "rkf45"), ("constrained", "ida")]


@pytest.mark.parametrize(("formulation", "method"), WAYS)
@pytest.mark.parametrize("make", [pendulum, four_bar])
def test_kernels_are_the_functions_they_say(make, formulation, method):
    """Compiled forces, one or several, with constants and functions among them, and all of it in Python."""
    model, options = make(), {**TIGHT, "formulation": formulation, "method": method}
    push = np.linspace(0.1, 0.3, len(model.speed_names))
    expected = musculo.simulate(model, None, None, SPAN, forces=lambda t, q, u: plain(t, q, u) + push, **options)
    assert expected.status == "finished"
    for forces in ([spring, damper, push], (function_of_three, damper, push)):
        found = musculo.simulate(model, None, None, SPAN, forces=forces, **options)
        assert method != "rkf45" or found.n_steps == expected.n_steps
        assert np.abs(found.q - expected.q).max() < AGREE
        assert np.abs(found.udot - expected.udot).max() < 100 * AGREE


def test_the_squeezer_runs_on_a_kernel():
    """Andrews' spring and torque, compiled: the motion is that of the function in Python, step by step."""
    model = andrews_squeezer()
    gamma = model.coordinate_index("gamma")

    @numba.njit
    def squeeze(t, q, u, tau):
        s, c = np.sin(q[gamma]), np.cos(q[gamma])
        x, y = SD * c + SC * s + B[0] - C[0], SD * s - SC * c + B[1] - C[1]
        length = np.sqrt(x * x + y * y)
        pull = -STIFFNESS * (length - REST) / length
        tau[gamma] += pull * (x * (-SD * s + SC * c) + y * (SD * c + SC * s))
        tau[0] += TORQUE

    one, two = (
        musculo.simulate(model, None, None, (0.0, 0.005), forces=force, method="rkf45", rtol=1e-9, atol=1e-9)
        for force in (squeeze, lambda t, q, u: squeezer_forces(model, q))
    )
    assert one.status == two.status == "finished"
    assert one.n_steps == two.n_steps
    assert np.abs(one.q - two.q).max() < AGREE


def test_kernels_that_cannot_serve_are_named():
    for kernel, words in ((too_far, "'too_far' fails with 2 coordinates"), (untyped, "'untyped'")):
        with pytest.raises(InvalidInput, match=words):
            musculo.simulate(pendulum(), None, None, SPAN, forces=kernel)
    done = musculo.simulate(pendulum(), None, None, SPAN, forces=infinite)
    assert done.status == "failed"
    assert "inf on the speed 'k'" in done.reason
    with pytest.raises(ValueError, match="no force is known"):
        musculo.simulate(pendulum(), None, None, SPAN, forces=raising, method="rkf45")
    with pytest.raises(InvalidInput, match=r"forces: shape \(3,\)"):
        musculo.simulate(pendulum(), None, None, SPAN, forces=[spring, [1.0, 2.0, 3.0]])


# --- independent coordinates ------------------------------------------------------------------------------------------
def test_any_coordinate_of_a_loop_may_carry_the_motion():
    """The motion is the same whichever angles are integrated, as long as they do not come to a dead point."""
    times = np.linspace(0.0, 0.2, 5)
    model = five_bar()
    expected = musculo.simulate(model, None, None, times, **TIGHT)
    assert expected.provenance.options["independent"] == "q0, q1"
    for names in ("q3", ("q2", "q3"), ("q1", "q2")):
        found = musculo.simulate(model, expected.q[0], None, times, independent=names, **TIGHT)
        assert found.status == "finished", found.reason
        chosen = found.provenance.options["independent"].split(", ")
        assert set(chosen) >= {names} if isinstance(names, str) else tuple(chosen) == names
        assert np.abs(found.q - expected.q).max() < AGREE
        assert np.abs(found.udot - expected.udot).max() < 1e3 * AGREE
        assert found.drift.position.max() < ROUNDING
        assert found.model is model


def test_angles_of_a_ball_may_be_independent_one_by_one():
    """A rod holds a ball's body, so that two of its three angles are left; whichever they are, the motion is one."""
    rng = np.random.default_rng(3)
    model = random_tree(rng, ("pin", "ball"), backwards=0.0, depth=1)
    q = random_q(model, rng)
    last = max(model.body_names, key=lambda body: body[-1])
    rod = closing(model, q, "distance", "ground", last, rng)
    for k, name in enumerate(model.coordinate_names):
        model = model.with_coordinate(name, default_value=q[k])
    model = model.replace(constraints=(rod,))
    angles = next(joint for joint in model.joints if joint.kind == "BallJoint").coordinate_names
    u = musculo.simulation.project_velocity(model, q, 0.5 * rng.normal(size=4))
    times = np.linspace(0.0, 0.15, 4)
    expected = musculo.simulate(model, q, u, times, formulation="constrained", method="rkf45", **TIGHT)
    assert expected.status == "finished", expected.reason
    for left_out in range(3):
        chosen = tuple(name for k, name in enumerate(angles) if k != left_out)
        found = musculo.simulate(model, q, u, times, independent=chosen, method="adams", **TIGHT)
        assert found.status == "finished", found.reason
        assert np.abs(found.q - expected.q).max() < 10 * AGREE
        assert np.ptp(found.energy) < 10 * AGREE


def test_a_crank_goes_on_where_the_rocker_has_a_dead_point():
    """Grashof's crank turns round; its rocker turns back, and there it cannot carry the motion."""
    model, start = four_bar(), musculo.embedding_of(four_bar()).default_pose()
    e = musculo.embedding_of(model)
    u = e.motion(e.independent(start), [8.0]).u
    crank = musculo.simulate(model, start, u, (0.0, 1.5), independent="q0", **TIGHT)
    assert crank.status == "finished"
    rocker = musculo.simulate(model, start, u, (0.0, 1.5), independent="q2", **TIGHT)
    assert rocker.status == "failed"
    assert "'closure'" in rocker.reason
    assert "dead point of 'q2'" in rocker.reason or "singular" in rocker.reason
    assert np.abs(rocker.at(0.9 * rocker.end)[0] - crank.at(0.9 * rocker.end)[0]).max() < 1e2 * AGREE


def test_what_cannot_be_independent_is_named():
    with pytest.raises(UnknownName, match="'q9'"):
        musculo.simulate(five_bar(), None, None, SPAN, independent="q9")
    with pytest.raises(InvalidInput, match="cannot all be independent: the loop 'closure' leaves 2 of 4"):
        musculo.simulate(five_bar(), None, None, SPAN, independent=("q0", "q1", "q2"))
    locked = five_bar().with_coordinate("q1", locked=True, default_value=0.4)
    with pytest.raises(InvalidInput, match="'q1' cannot be independent: it is locked"):
        musculo.simulate(locked, None, None, SPAN, independent="q1")


# --- projection -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", ["cvode", "adams", "ida", "rkf45"])
def test_projected_states_are_on_the_constraints_at_every_time(method):
    """Loose steps, and times between them: positions and velocities satisfy the loop, also those of events."""
    options = {"method": method, "formulation": "constrained", "rtol": 1e-5, "atol": 1e-5}
    low = musculo.simulation.SimulationEvent("low", lambda t, q, u: q[0] - 0.5)
    held = musculo.simulate(
        four_bar(), None, None, np.linspace(0.0, 1.0, 37), stabilization="project", events=[low], **options
    )
    assert held.status == "finished"
    assert held.drift.position.max() < 1e-10
    assert held.drift.velocity.max() < 1e-10
    assert held.provenance.options["stabilization"].startswith("project")
    at = musculo.simulation.constraint_drift(four_bar(), *held.at(0.123456))
    assert max(at.position, at.velocity) < 1e-10
    for event in held.events:
        assert musculo.simulation.constraint_drift(four_bar(), event.q, event.u).position < 1e-10
    assert held.events
    if method != "rkf45":
        left = musculo.simulate(four_bar(), None, None, np.linspace(0.0, 1.0, 37), **options)
        assert left.drift.position.max() > 1e-8  # by Baumgarte's rate alone they are not
        assert np.abs(left.q - held.q).max() < 1e-2


# --- what is told -----------------------------------------------------------------------------------------------------
def test_results_say_where_they_come_from():
    model = four_bar()
    done = musculo.simulate(
        model, None, None, SPAN, forces=[plain, spring, [0.1, 0.0, 0.0]], formulation="constrained", max_step=0.1
    )
    made = done.provenance
    assert (made.made_by, made.model, made.model_hash) == ("simulate", "four-bar", model.hash)
    assert made.options["forces"] == "plain, kernels, constant"
    assert made.options["stabilization"] == "10 /s"
    assert made.options["method"] == "cvode"
    assert made.options["max_step"] == "0.1"
    assert "independent" not in made.options
    assert done.to_table().provenance is made
    assert done.to_xarray().attrs["model_hash"] == model.hash
    assert done.to_xarray()["q"].attrs["option_rtol"] == "1e-08"


def test_energy_and_drift_come_as_a_table():
    done = musculo.simulate(four_bar(), None, None, SPAN, formulation="constrained")
    table = done.monitors()
    assert table.names == ("kinetic_energy", "potential_energy", "energy", "position_drift", "velocity_drift")
    assert table.units[0] == "J"
    assert np.array_equal(table.column("energy"), done.energy)
    assert np.array_equal(table.column("position_drift"), done.drift.position)
    free = musculo.simulate(pendulum(), [0.1, 0.0], None, SPAN).monitors()
    assert free.names == ("kinetic_energy", "potential_energy", "energy")


def test_states_are_written_and_read_again(tmp_path):
    done = musculo.simulate(chain("triangle", (0.5, 0.4, 0.3), 0.6, (0.7, -1.0, -1.0)), None, None, SPAN)
    musculo.write_storage(done.to_table(), tmp_path / "states.sto")
    again = musculo.read_storage(tmp_path / "states.sto")
    assert again.names == done.to_table().names
    assert np.array_equal(again.values, np.hstack([done.q, done.u]))
    assert again.provenance.made_by == "simulate"
