"""Ehsani2023's mechanisms: four-bar, five-bar and Andrews' squeezer, at the paper's figures or beyond."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import forward_dynamics, mass_matrix
from musculo.embedding.loops.methods.fitted_loop import Fitted
from musculo.replications.closed_loops import (
    andrews,
    five_bar,
    four_bar,
    squeezer_exact,
    squeezer_reduced,
    squeezer_work,
)
from musculo.replications.closed_loops.mechanisms import (
    START,
    andrews_squeezer,
    squeezer_drive,
    squeezer_forces,
    squeezer_in_opensim,
)
from musculo.replications.closed_loops.squeezer_exact import exact_squeezer
from musculo.replications.closed_loops.squeezer_reduced import reduced_squeezer
from musculo.replications.joints.simbody_study import simbody_accelerations
from musculo.replications.peer import opensim_version
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Quantity, Row, Settings, judged, relative_difference
from musculo.simulation.equations.accelerations import EmbeddedRates
from musculo.simulation.equations.embedded_state import is_open
from musculo.simulation.simulate import _embedded_as

# Two independent computations in float64 of numbers that are a few hundred at most.
ROUNDING = 1e-12
# The law of energy at 0.03 s in 40 digits (closed forms of the same geometry, Gauss-Legendre quadrature of beta with 24
# nodes in 100, 200 and 400 panels, which agree in 22 digits): angles and speeds.
FORTY_DIGITS = {
    "beta": (15.810771195153707097, 1139.9203022591060642),
    "theta": (-15.75637105841183947, -1424.3792951775400732),
    "gamma": (0.040822240119645804858, 11.032911910618593745),
    "delta": (0.52440996587995406937, 0.57356991482950245382),
    "phi": (-0.53473011634207959377, 19.293374105032040832),
    "epsilon": (1.0480807410419378731, 0.32317914924913087499),
    "omega": (0.53473011634207959377, -19.293374105032040832),
}


def by_name(rows):
    return {row.quantity: row for row in rows}


def all_met(rows):
    return not [row.quantity for row in rows if row.met is False and not row.timed]


# --- the four-bar ----------------------------------------------------------------------------------------------------
def test_the_four_bar_reaches_seven_figures():
    study = four_bar.study(Settings())
    rows = by_name(study.rows)
    # the paper's recipe falls short of the paper's figure, and says so
    recipe = [f"p's {what}, cubic splines, step 0.01" for what in ("velocity", "acceleration")]
    assert [row.quantity for row in study.short] == recipe
    assert [(rows[name].paper, rows[name].cite) for name in recipe] == [(1e-7, "section 4-3 A")] * 2
    assert {(row.paper, row.limit) for row in study.rows if row.quantity not in recipe} == {(None, 1e-7)}
    for what in ("velocity", "acceleration"):
        assert rows[f"p's {what}, analytical projection"].ours < ROUNDING
        assert rows[f"p's {what}, quintic splines, step 0.0025"].ours < 1e-8
    assert 1e-4 < rows[recipe[1]].ours < 1e-2


def test_errors_of_fits_have_the_orders_of_their_splines():
    """Second derivatives of splines of degree k err with the step to the power k - 1."""
    _, q, qdot, qddot = four_bar.trajectory(201)
    exact = four_bar.classical_point(q, qdot, qddot)[1]

    def error(degree: int, samples: int) -> float:
        fit = Fitted(ranges={"height": (-2.0, 2.0)}, samples=samples, degree=degree)
        return relative_difference(four_bar.embedded_point(fit, q, qdot, qddot)[1], exact)

    for degree, order in ((3, 2), (5, 4)):
        ratio = error(degree, 801) / error(degree, 1601)
        assert 0.6 * 2**order < ratio < 1.6 * 2**order


def test_classical_kinematics_of_the_four_bar_is_the_derivative_of_itself():
    """Velocities and accelerations by central differences of positions and velocities, along a steady height."""
    h = 1e-5
    q = np.linspace(-1.4, 1.4, 15)
    one, zero = np.ones_like(q), np.zeros_like(q)
    velocity, acceleration = four_bar.classical_point(q, one, zero)
    after, before = (four_bar.classical_point(q + s * h, one, zero)[0] for s in (1.0, -1.0))
    assert relative_difference((after - before) / (2.0 * h), acceleration) < 1e-7
    # the ends of the third bar stay at their distances: p turns about the fixed pin
    assert np.abs(velocity).max() > 0.1


# --- the five-bar ----------------------------------------------------------------------------------------------------
def test_the_five_bar_reaches_six_and_seven_figures():
    study = five_bar.study(Settings())
    assert not study.short
    rows = by_name(study.rows)
    for name in ("p's velocity", "p's acceleration", "gradients, projection"):
        assert rows[name].ours < ROUNDING
    for name in ("gradient of the third joint, size", "gradient of the fourth joint, size"):
        assert rows[name].paper == 1e-7
        assert rows[name].ours < 1e-9
    assert rows["manifold of the fourth joint"].ours < ROUNDING
    surface = study.plots[0]
    assert surface.z.shape == (121, 121)
    # the elbow is straightest where the first two bars point away from the pin, with 5 units to reach
    row, column = np.unravel_index(np.argmax(surface.z), surface.z.shape)
    assert abs(surface.x[column]) == pytest.approx(np.pi)
    assert surface.y[row] == pytest.approx(0.0)
    assert surface.z[row, column] == pytest.approx(-np.arccos((25.0 - 18.0) / 18.0))


# --- Andrews' squeezer -----------------------------------------------------------------------------------------------
def test_the_law_of_energy_gives_the_motion_of_forty_digits(monkeypatch):
    model = andrews_squeezer()
    q, u = np.array([FORTY_DIGITS[name] for name in model.coordinate_names]).T
    found = exact_squeezer(np.array([0.01, 0.03]))
    assert np.abs(found.q[1] - q).max() < 5e-13
    assert np.abs(found.u[1] / u - 1.0).max() < 1e-11
    # and does not depend on its panels
    monkeypatch.setattr(squeezer_exact, "_WIDTH", 0.05)
    assert np.abs(exact_squeezer(np.array([0.01, 0.03])).q - found.q).max() < 5e-13


def test_the_published_solution_is_known_to_ten_digits_only():
    """The test set's digits are those of its own integrator; the law of energy differs from the eleventh on."""
    model = andrews_squeezer()
    q, u = np.array([FORTY_DIGITS[name] for name in model.coordinate_names]).T
    theirs = andrews.published(model)
    assert 1e-10 < andrews.apart(theirs[0], q) < 1e-9
    assert 1e-8 < andrews.apart(theirs[1], u) < 1e-7


def test_the_squeezer_is_within_1e_8_of_the_published_solution_and_does_not_drift():
    rows = by_name(judged(andrews.reference_rows(andrews_squeezer(), Settings()))[0])
    assert all_met(rows.values())
    assert rows["angles: ODE with Fourier joint variables against energy"].ours < 1e-9
    for name in ("ODE", "DAE"):
        row = rows[f"angles at 0.03 s: {name} against test set"]
        assert (row.goal, row.limit) == ("at most", 1e-8)
        assert row.ours < 1e-9
        assert rows[f"angles: {name} against energy"].ours < 1e-9
    assert rows["drift of the ODE"].limit == 1e-14
    # speeds and accelerations of the published solution are as far off as its speeds
    assert rows["accelerations: ODE against test set"].ours < 1e-5
    assert rows["reactions: constrained against test set"].ours < 1e-5


def test_the_papers_run_of_the_squeezer():
    """Root mean squares over 1000 points of 0.05 s; the paper's are 1e-4 rad and 3e-3 rad/s."""
    rows, exact = andrews.paper_rows(andrews_squeezer(), Settings())
    assert all_met(rows)
    # only the paper's own method is held to the paper's figures
    assert [(row.paper, row.cite) for row in rows[:2]] == [(1e-4, "section 4-4 B"), (3e-3, "section 4-4 B")]
    assert all("Fourier" in row.quantity for row in rows[:2])
    assert {row.paper for row in rows[2:]} == {None}
    found = by_name(rows)
    assert found["0.05 s, RMS of the angle: exact ODE against DAE"].ours < 1e-6
    assert found["0.05 s, RMS of the speed: exact ODE against DAE"].ours < 1e-4
    assert exact.q.shape == (1000, 7)
    assert exact.q[0, 0] == -0.0620


def test_forces_of_the_squeezer_are_the_same_one_by_one():
    model = andrews_squeezer()
    q = np.random.default_rng(3).uniform(-1.0, 1.0, (20, 7))
    drive, one_by_one = squeezer_drive(model), np.zeros_like(q)
    for row, tau in zip(q, one_by_one, strict=True):
        drive(0.0, row, np.zeros(7), tau)
    assert np.abs(one_by_one - squeezer_forces(model, q)).max() < ROUNDING


def test_the_reduced_squeezer_has_the_mass_and_the_force_of_the_whole_one():
    reduced = reduced_squeezer(andrews_squeezer(), START["beta"], 8.0)
    beta = np.linspace(START["beta"], 8.0, 400)
    mass, force = squeezer_exact._mass_and_force(beta)
    assert np.abs(mass_matrix(reduced.model, beta[:, None])[:, 0, 0] / mass - 1.0).max() < 1e-10
    found = np.zeros((len(beta), 1))
    for x, out in zip(beta, found, strict=True):
        reduced.forces(0.0, np.array([x]), np.zeros(1), out)
    assert np.abs(found[:, 0] - force).max() < 1e-10 * np.abs(force).max()


def test_a_dae_takes_more_evaluations_than_an_ode_at_the_same_error():
    ways = tuple(way for way in squeezer_work.WAYS if way.method == "adams")
    spent = squeezer_work.efforts(andrews_squeezer(), ways, rounds=1)
    *odes, constrained = (spent[way] for way in ways)
    assert [way.kind for way in ways] == ["fourier", "bead", "embedded", "constrained"]
    assert all(effort.seconds > 0.0 for effort in spent.values())
    for effort in odes:
        assert constrained.evaluations > 1.3 * effort.evaluations
    assert squeezer_work.best(spent, ("fourier",)) == ways[0]


def test_fourier_joint_variables_run_compiled_and_agree_with_the_dae():
    """The paper's own method, in the equations of all bodies: as good as the fit, and no Python around its steps."""
    model = andrews_squeezer()
    fit = squeezer_reduced.JOINT_VARIABLES
    error = np.max(list(musculo.embedding_of(model, loops=fit).fit_error.values()), axis=0)
    assert np.all(error < [1e-13, 1e-12, 1e-10])
    used = _embedded_as(model, None, fit, "embedded")
    assert is_open(used)
    calls = []
    run = squeezer_work.runner(model, "fourier")
    rates = EmbeddedRates.__call__
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EmbeddedRates, "__call__", lambda *given: calls.append(given) or rates(*given))
        done = run("rkf45", 1e-8)
    assert done.status == "finished"
    assert done.n_evaluations > 1000
    # rates in Python are asked for at the start, and not at every evaluation
    assert len(calls) < 10
    ours, theirs = andrews.solve(model, "embedded", fit), andrews.solve(model, "constrained")
    # both runs' own tolerances are left: angles grow to 16 rad in a thousand steps
    assert np.abs(ours.q - theirs.q).max() < 1e-9
    assert ours.drift < 1e-14


@pytest.fixture(scope="module")
def speeds():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(squeezer_work, "_AT_LEAST", 0.0)  # that times are there is asked here, not how good they are
        return squeezer_work.speed_rows(andrews_squeezer(), Settings(opensim=False))


def test_the_papers_speed_is_the_goal_of_the_papers_method_alone(speeds):
    told, remarks = speeds
    rows = [one for one in told if isinstance(one, Row)]
    stated = [row for row in rows if row.paper is not None]
    assert [(row.quantity, row.paper, row.goal, row.cite) for row in stated] == [
        (
            "stabilized DAE over ODE with Fourier joint variables, both by TR-BDF2",
            4.0,
            "at least",
            "section 4-4 B",
        )
    ]
    assert all(row.timed for row in rows)
    # the bead is called one, and no paper's figure stands beside it
    beads = [row for row in rows if "bead" in row.quantity]
    assert len(beads) == 3
    assert all("one-coordinate bead with splined inertia and force" in row.quantity for row in beads)
    built = {one.name: one for one in told if isinstance(one, Quantity) and one.name.startswith("built beforehand")}
    assert [name.split(": ")[1] for name in built] == [
        "ODE with Fourier joint variables",
        "one-coordinate bead with splined inertia and force",
        "exact ODE",
        "stabilized DAE",
    ]
    assert all(one.unit == "ms" and one.ours > 0.0 for one in built.values())
    assert "made in" in remarks[1]
    assert all(np.isfinite(row.ours) for row in rows if "Simbody" not in row.quantity)


def test_simbody_has_the_same_squeezer():
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    model = andrews_squeezer()
    exact = exact_squeezer(np.array([0.002, 0.011, 0.023]))
    q, u = exact.q, exact.u
    theirs = simbody_accelerations({"squeezer": (model, q, u)}, rounds=1, repeats=3, prepare=squeezer_in_opensim())[
        "squeezer"
    ]
    ours = forward_dynamics(model, q, u, squeezer_forces(model, q))
    assert relative_difference(ours, theirs.udot) < 1e-11


@pytest.mark.parametrize(("wanted", "told"), [(True, NOT_INSTALLED), (False, NOT_RUN)])
def test_without_opensim_its_rows_say_so(monkeypatch, wanted, told):
    monkeypatch.setattr(squeezer_work, "opensim_version", lambda: "")
    rows = squeezer_work._simbody_rows(andrews_squeezer(), Settings(opensim=wanted), 1.0, 1.0, 1.0)
    assert len(rows) == 3
    assert {(row.ours, row.note, row.met) for row in rows} == {(None, told, None)}
