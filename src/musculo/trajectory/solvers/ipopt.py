"""Nonlinear programs by IPOPT: an interior-point method with a filter line search.

Source: Wächter and Biegler (2006), On the implementation of an interior-point filter line-search algorithm for
large-scale nonlinear programming, Mathematical Programming 106, 25-57.
"""

from __future__ import annotations

import ctypes
import re
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput
from musculo.trajectory.solvers import ipopt_library as c_types
from musculo.trajectory.solvers import ma57
from musculo.trajectory.solvers.evaluations import Evaluations, NotFinite
from musculo.trajectory.solvers.interrupts import interruptible
from musculo.trajectory.solvers.ipopt_library import ipopt
from musculo.trajectory.solvers.nonlinear_program import NonlinearProgram, Scaling
from musculo.trajectory.solvers.outcome import SolverOutcome, SolverStatus, SolverTimes
from musculo.trajectory.solvers.program_check import checked_start
from musculo.trajectory.solvers.told_progress import Progress, Tell, Told

# ApplicationReturnStatus of IPOPT.
_STATUSES = {
    0: SolverStatus.SOLVED,
    1: SolverStatus.ACCEPTABLE,
    2: SolverStatus.INFEASIBLE,
    3: SolverStatus.STEP_TOO_SMALL,
    4: SolverStatus.DIVERGING,
    5: SolverStatus.STOPPED,
    6: SolverStatus.SOLVED,  # a feasible point of a square system
    -1: SolverStatus.ITERATIONS,
    -2: SolverStatus.RESTORATION_FAILED,
    -4: SolverStatus.ITERATIONS,
    -5: SolverStatus.ITERATIONS,
    -10: SolverStatus.TOO_FEW_VARIABLES,
    -13: SolverStatus.INVALID_NUMBER,
}
_INVALID_PROBLEM, _INVALID_OPTION = -11, -12
# The file's level of output from which on IPOPT reports its times.
_TIMES = 3
# Nested dissection keeps the factors of collocation's equations sparse, and a matching that permutes large entries to
# the diagonal spoils it (measured on synthetic walks with 92 muscles: without these choices 8 and 31 times the time).
_OF_LINEAR_SOLVERS: dict[str, dict[str, str | float | int]] = {
    "mumps": {"mumps_pivot_order": 5, "mumps_permuting_scaling": 0},
    "multifrontal": {"ma57_pivtol": 1e-6, "ma57_pivtolmax": 1e-2, "linear_system_scaling": "none"},
}
# How far a warm start is pushed off its bounds; IPOPT's 1e-2 would spoil it.
_WARM_PUSH = 1e-8


def solve(
    program: NonlinearProgram,
    start: ArrayLike,
    *,
    tolerance: float = 1e-6,
    max_iterations: int = 1000,
    linear_solver: str = "auto",
    exact_hessian: bool | None = None,
    warm_start: SolverOutcome | None = None,
    time_limit: float | None = None,
    progress: Tell = None,
    options: Mapping[str, str | float | int] | None = None,
) -> SolverOutcome:
    """The solution of a nonlinear program from a start, by IPOPT.

    Ctrl-C stops after the iteration under way, and the last iterate is returned; a second Ctrl-C interrupts at once.
    Where a function of the program is not finite, shorter steps are tried. What a function raises is raised here.

    Args:
        program: what to solve; scaled as its `scaling` says, if it has one, else by its slopes at the start.
        start: (variables,) from which the search starts; it need not be feasible.
        tolerance: of optimality (scaled) and of constraints (as they are).
        max_iterations: after which the search stops.
        linear_solver: `multifrontal` (ours), `mumps` or `spral`; `auto` chooses.
        exact_hessian: whether to use the program's Hessian, by default where it has one; else it is approximated
            (L-BFGS).
        warm_start: an outcome whose multipliers and barrier the search starts from.
        time_limit: on the clock, after which the search stops [s].
        progress: a function that is called after each iteration; False stops the search. True writes lines on stderr,
            False nothing; by default a search of more than two seconds shows a line in a terminal, and lines in a
            notebook.
        options: of IPOPT, by its names, over those chosen here.
    """
    x = checked_start(program, start)
    exact = program.hessian_pattern is not None if exact_hessian is None else exact_hessian
    if exact and program.hessian_pattern is None:
        raise InvalidInput("exact_hessian: the program has no Hessian; leave exact_hessian away to approximate it")
    linear_solver = _linear_solver(linear_solver)
    chosen: dict[str, str | float | int] = {
        "linear_solver": linear_solver,
        "tol": tolerance,
        "constr_viol_tol": tolerance,
        "max_iter": max_iterations,
        "mu_strategy": "adaptive",
        "hessian_approximation": "exact" if exact else "limited-memory",
        "honor_original_bounds": "yes",
        "option_file_name": "",  # no ipopt.opt in the folder where someone works changes what is solved
        "print_level": 0,
        "sb": "yes",
        "print_timing_statistics": "yes",
    }
    chosen |= _OF_LINEAR_SOLVERS.get(linear_solver, {})
    if time_limit is not None:
        if not time_limit > 0.0:
            raise InvalidInput(f"time_limit is {time_limit!r}; give seconds above zero, or None for no limit")
        chosen["max_wall_time"] = float(time_limit)
    if warm_start is not None:
        pushes = ("bound_push", "bound_frac", "slack_bound_push", "slack_bound_frac", "mult_bound_push")
        chosen |= {"warm_start_init_point": "yes", "mu_init": max(warm_start.barrier, tolerance / 10)}
        chosen |= {f"warm_start_{name}": _WARM_PUSH for name in pushes}
    told = Told(progress)
    run = _Run(program, exact, told)
    try:
        with tempfile.TemporaryDirectory() as folder, interruptible(run):
            return run.solve(x, chosen | dict(options or {}), warm_start, tolerance, Path(folder))
    finally:
        told.end()


class _Run:
    """One call of IPOPT: the callbacks, and what they learn."""

    def __init__(self, program: NonlinearProgram, exact: bool, told: Told) -> None:
        self.program = program
        self.exact = exact
        self.told = told
        self.evaluations = Evaluations(program)
        self.raised: BaseException | None = None
        self.stop = False
        self.last = Progress(0, np.nan, np.nan, np.nan, 0.1, np.nan, 0.0, np.nan, False)

    def solve(
        self,
        x: FloatArray,
        options: Mapping[str, str | float | int],
        warm_start: SolverOutcome | None,
        tolerance: float,
        folder: Path,
    ) -> SolverOutcome:
        """What IPOPT finds with these options."""
        program, library, report = self.program, ipopt(), folder / "ipopt.txt"
        linear_solver = options["linear_solver"]
        if linear_solver == "multifrontal":
            ours = ma57.Ma57(self.fail)
            options = {**options, "linear_solver": "ma57", "hsllib": str(ours.write(folder))}
        n, m = len(x), len(program.row_lower)
        callbacks = self._callbacks(n, m)
        limits = [
            np.clip(np.array(a, dtype=float), -2e19, 2e19)
            for a in (program.lower, program.upper, program.row_lower, program.row_upper)
        ]
        curvatures = len(program.hessian_pattern[0]) if self.exact and program.hessian_pattern else 0
        problem = library.CreateIpoptProblem(
            n, _pointer(limits[0]), _pointer(limits[1]), m, _pointer(limits[2]), _pointer(limits[3]),
            len(program.jacobian_pattern[0]), curvatures, 0, *callbacks[:5],
        )  # fmt: skip
        if not problem:
            raise InvalidInput("IPOPT refuses the program: its sizes or limits are not valid")
        try:
            for name, value in options.items():
                _set_option(problem, name, value)
            library.OpenIpoptOutputFile(problem, str(report).encode(), _TIMES)
            library.SetIntermediateCallback(problem, callbacks[5])
            if hasattr(program, "scaling") and "nlp_scaling_method" not in options:
                scaling: Scaling = program.scaling(x)
                _set_option(problem, "nlp_scaling_method", "user-scaling")
                library.SetIpoptProblemScaling(
                    problem, scaling.objective, _pointer(scaling.variables), _pointer(scaling.rows)
                )
            rows, objective = np.zeros(m), np.zeros(1)
            pulls = [np.zeros(m), np.zeros(n), np.zeros(n)]
            if warm_start is not None:
                pulls = [
                    _multipliers(warm_start.row_multipliers, m, "rows"),
                    _multipliers(warm_start.lower_multipliers, n, "variables"),
                    _multipliers(warm_start.upper_multipliers, n, "variables"),
                ]
            wall, cpu = time.perf_counter(), time.process_time()
            code = library.IpoptSolve(problem, *map(_pointer, (x, rows, objective, *pulls)), None)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        finally:
            library.FreeIpoptProblem(problem)
        if self.raised is not None:
            raise self.raised
        if code in (_INVALID_PROBLEM, _INVALID_OPTION):
            raise InvalidInput(f"IPOPT refuses the {'program' if code == _INVALID_PROBLEM else 'options'}: {options}")
        known = self.evaluations
        algebra_wall, algebra_cpu = _linear_algebra(report)
        status = _STATUSES.get(code, SolverStatus.FAILED)
        notes = [f"Shorter steps were tried where {known.not_finite}."] if known.not_finite else []
        if status == SolverStatus.INVALID_NUMBER:
            notes = [f"No step is possible where {known.not_finite or 'a number is not finite'}."]
        return SolverOutcome(
            x=x,
            objective=float(objective[0]),
            rows=rows,
            row_multipliers=pulls[0],
            lower_multipliers=pulls[1],
            upper_multipliers=pulls[2],
            status=status,
            iterations=self.last.iteration,
            barrier=self.last.barrier,
            dual_infeasibility=self.last.dual_infeasibility,
            times=SolverTimes(wall, cpu, known.wall, known.cpu, algebra_wall, algebra_cpu, dict(known.counts)),
            linear_solver=str(linear_solver),
            tolerance=tolerance,
            variable_names=program.variable_names,
            row_names=program.row_names,
            lower=np.array(program.lower, dtype=float),
            upper=np.array(program.upper, dtype=float),
            row_lower=np.array(program.row_lower, dtype=float),
            row_upper=np.array(program.row_upper, dtype=float),
            notes=tuple(notes),
        )

    def fail(self, error: BaseException) -> None:
        """What goes wrong first is raised when IPOPT has ended."""
        self.raised = self.raised or error

    def _callbacks(self, n: int, m: int) -> list[Any]:
        """As IPOPT calls them. What they raise is kept; from then on they refuse everything, and IPOPT ends."""
        known = self.evaluations

        def array(pointer: Any, size: int) -> FloatArray:
            return np.ctypeslib.as_array(pointer, (size,)) if size else np.zeros(0)

        def guarded(call: Callable[[], None]) -> bool:
            if self.raised is not None:
                return False
            try:
                call()
            except NotFinite:
                return False
            except BaseException as error:
                self.fail(error)
                return False
            return True

        def objective(n: int, x: Any, new: bool, value: Any, data: Any) -> bool:
            def call() -> None:
                value[0] = known.objective(array(x, n))

            return guarded(call)

        def gradient(n: int, x: Any, new: bool, value: Any, data: Any) -> bool:
            def call() -> None:
                array(value, n)[:] = known.gradient(array(x, n))

            return guarded(call)

        def rows(n: int, x: Any, new: bool, m: int, value: Any, data: Any) -> bool:
            def call() -> None:
                array(value, m)[:] = known.rows(array(x, n))

            return guarded(call)

        def jacobian(
            n: int, x: Any, new: bool, m: int, entries: int, row: Any, column: Any, value: Any, data: Any
        ) -> bool:
            def call() -> None:
                if value:
                    array(value, entries)[:] = known.jacobian(array(x, n))
                else:
                    _fill_pattern(row, column, self.program.jacobian_pattern)

            return guarded(call)

        def hessian(*given: Any) -> bool:
            n, x, _, factor, m, pull, _, entries, row, column, value, _ = given

            def call() -> None:
                if not value:
                    _fill_pattern(row, column, self.program.hessian_pattern)
                else:
                    array(value, entries)[:] = known.hessian(array(x, n).copy(), factor, array(pull, m).copy())

            return guarded(call) if self.exact else False

        def after_iteration(mode: int, *given: Any) -> bool:
            iteration, objective, violation, dual, barrier, step, regularization, _, length, _, _ = given
            self.last = Progress(
                iteration, objective, violation, dual, barrier, step, regularization, length, mode == 1
            )

            def call() -> None:
                if not self.told(self.last):
                    self.stop = True

            return guarded(call) and not self.stop

        return [
            c_types.EvaluateObjective(objective),
            c_types.EvaluateRows(rows),
            c_types.EvaluateGradient(gradient),
            c_types.EvaluateJacobian(jacobian),
            c_types.EvaluateHessian(hessian),
            c_types.AfterIteration(after_iteration),
        ]


def _linear_solver(asked: str) -> str:
    """The linear solver that is asked for, if it is here."""
    if asked == "auto":
        return "multifrontal" if ma57.is_available() else "mumps"
    if asked == "multifrontal" and not ma57.is_available():
        raise InvalidInput(
            "linear_solver='multifrontal' needs Linux, METIS from casadi's wheel and a folder for temporary files from "
            "which libraries may be loaded; linear_solver='mumps' works everywhere"
        )
    return asked


def _set_option(problem: int, name: str, value: str | float | int) -> None:
    library = ipopt()
    key = name.encode()
    if isinstance(value, str):
        ok = library.AddIpoptStrOption(problem, key, value.encode())
    elif isinstance(value, bool):
        ok = library.AddIpoptStrOption(problem, key, b"yes" if value else b"no")
    elif isinstance(value, int):
        # an option that is a number may be given as a whole one
        ok = library.AddIpoptIntOption(problem, key, value) or library.AddIpoptNumOption(problem, key, float(value))
    else:
        ok = library.AddIpoptNumOption(problem, key, float(value))
    if not ok:
        raise InvalidInput(
            f"IPOPT does not know the option {name!r} or its value {value!r}; see coin-or.github.io/Ipopt/OPTIONS.html"
        )


def _fill_pattern(row: Any, column: Any, pattern: tuple[IntArray, IntArray] | None) -> None:
    for pointer, indices in zip((row, column), pattern or (), strict=False):
        if len(indices):
            np.ctypeslib.as_array(pointer, (len(indices),))[:] = indices


def _pointer(values: FloatArray) -> Any:
    return values.ctypes.data_as(ctypes.POINTER(ctypes.c_double))


def _multipliers(values: FloatArray, size: int, what: str) -> FloatArray:
    if np.shape(values) != (size,):
        raise InvalidInput(
            f"warm_start has multipliers of {np.size(values)} {what}; the program has {size}. "
            "A warm start needs the outcome of a program of the same sizes"
        )
    return np.array(values, dtype=float)


def _linear_algebra(report: Path) -> tuple[float, float]:
    """Wall and CPU time that IPOPT reports of its linear solver [s]."""
    text = report.read_text(encoding="utf-8", errors="replace") if report.exists() else ""
    found = re.search(r"^ *StdAugSystemSolverMultiSolve\.*:(.*)$", text, re.MULTILINE)
    numbers = [float(one) for one in re.findall(r"[-\d.]+", found[1])] if found else []
    if len(numbers) != 3:
        return 0.0, 0.0
    user, system, wall = numbers
    return wall, user + system
