"""IPOPT behind our interface: stated optima, and what it says of programs without a solution."""

import signal
import sys
import time

import numpy as np
import pytest

from musculo.errors import InvalidInput
from musculo.trajectory.solvers import told_progress
from musculo.trajectory.solvers.interrupts import ending_searches
from musculo.trajectory.solvers.ipopt import solve
from musculo.trajectory.solvers.outcome import SolverStatus
from support.small_programs import HOCK_SCHITTKOWSKI, SmallProgram

TOLERANCE = 1e-8  # asked of the solver
# Stated optima have nine digits or so; the solver's own tolerance is relative to the scale of the problem.
STATED = 2e-7

CIRCLE = {"f": lambda x: x[0] + x[1], "g": lambda x: [x[0] ** 2 + x[1] ** 2, x[0] * x[1]], "size": 2}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", HOCK_SCHITTKOWSKI)
def test_stated_optimum(number, exact):
    known = HOCK_SCHITTKOWSKI[number]
    program = known.make(len(known.start), exact=exact)
    found = solve(program, known.start, tolerance=TOLERANCE)
    assert found.status == SolverStatus.SOLVED
    assert found.objective == pytest.approx(known.objective, abs=STATED * max(1, abs(known.objective)))
    assert found.largest_violation <= TOLERANCE
    assert ("hessian" in found.times.evaluations) == exact


@pytest.mark.parametrize("number", HOCK_SCHITTKOWSKI)
def test_multipliers_balance_the_gradient(number):
    known = HOCK_SCHITTKOWSKI[number]
    program = known.make(len(known.start))
    found = solve(program, known.start, tolerance=TOLERANCE)
    slopes = program.jacobian(found.x).reshape(-1, len(found.x))
    pull = program.gradient(found.x) + slopes.T @ found.row_multipliers
    residual = pull - found.lower_multipliers + found.upper_multipliers
    # IPOPT scales gradients above 100 down, and its tolerance with them.
    np.testing.assert_allclose(residual, 0, atol=1e3 * TOLERANCE * max(1, np.abs(found.row_multipliers).max()))


def test_active_bounds_are_named():
    known = HOCK_SCHITTKOWSKI[71]
    found = solve(known.make(4), known.start)
    assert {(one.name, one.side) for one in found.active_bounds()} == {("x[1]", "lower"), ("g[1]", "lower")}
    assert "lower bound of x[1]" in found.explain()
    assert "No constraint is violated" in found.explain()


def test_infeasible_program_names_its_rows():
    program = SmallProgram(**CIRCLE, rows=[(0, 1), (5, np.inf)])
    found = solve(program, [0.3, 0.4])
    assert found.status == SolverStatus.INFEASIBLE
    assert not found.solved
    assert {one.name for one in found.violations()} <= {"g[1]", "g[2]"}
    assert found.violations()[0].amount > 1
    assert "contradict each other" in found.explain()
    assert "below its limit 5" in found.explain()


def test_equations_that_fail_say_what_is_asked_for():
    program = SmallProgram(**CIRCLE, rows=[(1, 1), (5, 5)])
    assert "where 5 is asked for" in solve(program, [0.3, 0.4], max_iterations=50).explain()


def test_nan_at_the_start_names_row_and_variable():
    program = SmallProgram(lambda x: x[0], lambda x: [x[0], np.log(x[1])], rows=[(0, 1), (0, 1)], size=2)
    with np.errstate(all="ignore"):
        found = solve(program, [0.5, -1])
    assert found.status == SolverStatus.INVALID_NUMBER
    assert "the rows has nan in row g[2]" in found.explain()


def test_steps_into_nan_are_shortened():
    program = SmallProgram(lambda x: x[0] - 10 * np.log(x[0]), size=1)
    with np.errstate(all="ignore"):
        found = solve(program, [1.0], options={"bound_push": 1e-8})
    assert found.solved
    assert found.x[0] == pytest.approx(10)


def test_errors_of_the_program_come_through():
    def broken(x):
        raise ZeroDivisionError("of the program")

    with pytest.raises(ZeroDivisionError, match="of the program"):
        solve(SmallProgram(lambda x: x[0] ** 2, broken, rows=[(0, 1)], size=1), [1.0])


def test_progress_can_stop():
    seen = []
    known = HOCK_SCHITTKOWSKI[100]
    found = solve(known.make(7), known.start, progress=lambda one: seen.append(one) or len(seen) < 4)
    assert found.status == SolverStatus.STOPPED
    assert [one.iteration for one in seen] == [0, 1, 2, 3]
    assert seen[-1].objective == pytest.approx(found.objective, rel=1e-6)


def test_ctrl_c_returns_the_last_iterate():
    known = HOCK_SCHITTKOWSKI[100]
    before = signal.getsignal(signal.SIGINT)
    found = solve(known.make(7), known.start, progress=lambda one: signal.raise_signal(signal.SIGINT))
    assert found.status == SolverStatus.STOPPED
    assert np.isfinite(found.x).all()
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_ends_a_search_where_half_a_result_is_of_no_use():
    known, seen = HOCK_SCHITTKOWSKI[100], []
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), ending_searches():
        solve(known.make(7), known.start, progress=lambda one: seen.append(one) or signal.raise_signal(signal.SIGINT))
    assert len(seen) == 1
    assert signal.getsignal(signal.SIGINT) is before
    assert solve(known.make(7), known.start, progress=lambda one: seen.append(one) or len(seen) < 3).iterations == 1


def test_warm_start_needs_few_iterations():
    known = HOCK_SCHITTKOWSKI[71]
    cold = solve(known.make(4), known.start)
    warm = solve(known.make(4), cold.x, warm_start=cold)
    assert warm.solved
    assert warm.iterations <= cold.iterations // 2
    with pytest.raises(InvalidInput, match="same sizes"):
        solve(SmallProgram(**CIRCLE), [1.0, 1.0], warm_start=cold)


def test_every_point_is_evaluated_once():
    known = HOCK_SCHITTKOWSKI[71]
    counts = solve(known.make(4), known.start).times.evaluations
    assert counts["rows"] == counts["objective"]
    # One more at the start itself, where IPOPT scales the functions before it moves off the bounds.
    assert counts["jacobian"] <= counts["rows"] + 1


def test_too_few_variables():
    program = SmallProgram(lambda x: x[0], lambda x: [x[0], x[0] ** 2 - 3], rows=[(1, 1), (0, 0)], size=1)
    assert solve(program, [1.0]).status != SolverStatus.SOLVED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"start": [1.0]}, "2 variables"),
        ({"start": [1.0, np.nan]}, r"nan in x\[2\]"),
        ({"options": {"no_such_option": 1}}, "no_such_option"),
        ({"exact_hessian": True}, "no Hessian"),
    ],
)
def test_what_is_wrong_is_said(change, words):
    with pytest.raises(InvalidInput, match=words):
        solve(SmallProgram(**CIRCLE, rows=[(0, 1), (0, 1)]), **{"start": [1.0, 1.0], **change})


def test_limits_the_wrong_way_round_are_named():
    program = SmallProgram(lambda x: x[0], size=1, lower=2.0, upper=1.0)
    with pytest.raises(InvalidInput, match=r"x\[1\]: its lower limit 2.0"):
        solve(program, [1.0])


def test_outcome_has_labels():
    known = HOCK_SCHITTKOWSKI[71]
    found = solve(known.make(4), known.start)
    data = found.to_xarray()
    assert float(data["x"].sel(variable="x[1]")) == pytest.approx(1)
    assert "solved" in repr(found)


def test_a_time_limit_ends_a_search_where_it_is():
    def slow(x):
        time.sleep(0.02)
        return x[0] + x[1]

    program = SmallProgram(**{**CIRCLE, "f": slow}, rows=[(1, 1), (5, 5)])
    found = solve(program, [0.3, 0.4], time_limit=0.05, max_iterations=1000)
    assert found.status == SolverStatus.ITERATIONS
    assert found.iterations < 100
    with pytest.raises(InvalidInput, match="time_limit is 0"):
        solve(program, [0.3, 0.4], time_limit=0)


def test_progress_is_told_where_it_is_asked_for(monkeypatch, capsys):
    """Lines on stderr with True; otherwise none where stderr is no terminal; a line that goes away where it is one."""
    program = SmallProgram(**CIRCLE, rows=[(1, 1), (0, 5)])
    solve(program, [0.3, 0.4], progress=True)
    assert capsys.readouterr().err == ""  # short searches are not worth a line
    monkeypatch.setattr(told_progress, "_AFTER", -1.0)
    solve(program, [0.3, 0.4], progress=True)
    assert "iteration 0: objective" in capsys.readouterr().err
    for quiet in (None, False):
        solve(program, [0.3, 0.4], progress=quiet)
        assert capsys.readouterr().err == ""
    monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr(told_progress, "is_quiet", lambda: False)
    solve(program, [0.3, 0.4])
    assert capsys.readouterr().err.count("iteration") == 1  # a notebook, and not a line for each iteration
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setattr(told_progress, "is_terminal", lambda: True)
    monkeypatch.setattr(told_progress, "is_quiet", lambda: False)
    solve(program, [0.3, 0.4])
    shown = capsys.readouterr().err
    assert "iteration 0: objective" in shown
    assert "Ctrl-C ends with what is found" in shown
    assert shown.endswith("\r")
    assert not shown.rstrip("\r").split("\r")[-1].strip()
    with ending_searches():
        solve(program, [0.3, 0.4])
    assert "Ctrl-C ends the command" in capsys.readouterr().err
    assert solve(program, [0.3, 0.4], progress=lambda at: at.iteration < 2).status == SolverStatus.STOPPED
