"""Andrews' squeezer: what a formulation and an integrator cost at equal accuracy, ours and Simbody's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.constrained_dynamics import constrained_acceleration
from musculo.dynamics.forward import forward_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.methods.loop_projection import Projection
from musculo.model.model import Model
from musculo.replications.closed_loops.mechanisms import (
    START,
    andrews_squeezer,
    squeezer_drive,
    squeezer_forces,
    squeezer_in_opensim,
)
from musculo.replications.closed_loops.squeezer_exact import exact_squeezer
from musculo.replications.closed_loops.squeezer_reduced import JOINT_VARIABLES, reduced_squeezer
from musculo.replications.joints.rival_times import Work
from musculo.replications.joints.simbody_study import (
    accelerations_found,
    accelerations_question,
    simulations_found,
    simulations_question,
)
from musculo.replications.peer import ask_opensim_all, opensim_version
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Quantity, Row, Settings
from musculo.replications.timing import seconds_per_call
from musculo.simulation.equations.accelerations import ConstrainedRates, EmbeddedRates
from musculo.simulation.simulate import BAUMGARTE, Method, simulate
from musculo.simulation.simulation import Simulation

END = 0.03  # [s]
PAPER_SPEEDUP = 4.0
# Goals of our own: an ODE takes no longer than a DAE, and the bead a quarter of its time.
NO_SLOWER, BEAD_SPEEDUP = 1.0, 4.0
# Errors of beta at the end [rad] at which times are compared; TR-BDF2, of second order, at a larger one.
ERROR, LOOSE_ERROR = 1e-6, 3e-3
# Tolerances of Simbody's runs, whose errors enclose the first of them.
_SIMBODY = (1e-7, 1e-8)
_ROUNDS = 2
# Of the runs whose preparation is timed, and how many follow each other.
_TOLERANCE, _AGAIN = 1e-8, 4
# Quick runs are repeated for so long in each round after the first [s]: what others do on the machine only adds time.
# A run that takes longer than the second number [s] is timed once: what else the machine does averages out over it.
_AT_LEAST, _LONG = 0.01, 0.2
# States at once, so that what is done once a call does not count.
_BATCH = 4096

Kind = Literal["fourier", "bead", "embedded", "constrained", "stabilized"]
# One-step methods project the DAE; stabilized, they keep it near by Baumgarte's rate, as multistep methods do.
_DAES: tuple[Kind, ...] = ("constrained", "stabilized")
_KINDS: dict[Kind, str] = {
    "fourier": "ODE with Fourier joint variables",
    "bead": "one-coordinate bead with splined inertia and force",
    "embedded": "exact ODE",
    "constrained": "DAE",
    "stabilized": "stabilized DAE",
}
_BUILT: tuple[Kind, ...] = ("fourier", "bead", "embedded", "stabilized")
_BUILDS: dict[Kind, str] = {
    "fourier": "630 positions solved, their series, and how far these err",
    "bead": "the same, splines of inertia and force, and code for the force",
    "embedded": "which coordinates depend on which",
    "stabilized": "the tree and its constraints",
}
_INTEGRATORS = {"adams": "Adams", "rkf45": "Runge-Kutta-Fehlberg", "tr-bdf2": "TR-BDF2", "ida": "IDA"}


class Way(NamedTuple):
    """Equations and an integrator, with tolerances whose errors enclose the one compared at.

    Those of the first two do, up to rounding; another is for where they do not.
    """

    kind: Kind
    method: Method
    tolerances: tuple[float, ...]
    error: float = ERROR

    @property
    def name(self) -> str:
        return f"{_KINDS[self.kind]}, {_INTEGRATORS[self.method]}"


WAYS = (
    Way("fourier", "adams", (1e-7, 1e-8, 1e-9)),
    Way("fourier", "rkf45", (1e-8, 1e-9, 1e-7)),
    Way("fourier", "tr-bdf2", (1e-5, 1e-6, 1e-4), LOOSE_ERROR),
    Way("bead", "adams", (1e-7, 1e-9, 1e-8)),
    Way("bead", "rkf45", (1e-8, 1e-9, 1e-7)),
    Way("bead", "tr-bdf2", (1e-5, 1e-6, 1e-4), LOOSE_ERROR),
    Way("embedded", "adams", (1e-7, 1e-9, 1e-8)),
    Way("embedded", "rkf45", (1e-8, 1e-9, 1e-7)),
    Way("embedded", "tr-bdf2", (1e-5, 1e-6), LOOSE_ERROR),
    Way("constrained", "adams", (1e-8, 1e-9, 1e-7)),
    Way("constrained", "rkf45", (1e-7, 1e-8, 1e-6)),
    Way("stabilized", "rkf45", (3e-6, 1e-7, 1e-8)),
    Way("constrained", "ida", (1e-9, 1e-10, 1e-8)),
    Way("constrained", "tr-bdf2", (1e-3, 1e-4), LOOSE_ERROR),
    Way("stabilized", "tr-bdf2", (1e-5, 1e-6, 1e-7), LOOSE_ERROR),
)


class Run(NamedTuple):
    """The error of beta at the end [rad], seconds, and evaluations of the equations."""

    error: float
    seconds: float
    evaluations: float


class Effort(NamedTuple):
    """What an error costs: seconds and evaluations of the equations."""

    seconds: float
    evaluations: float


def runner(model: Model, kind: Kind) -> Callable[[Method, float], Simulation]:
    """Runs of the test set's motion by equations of a kind, as a function of integrator and tolerance."""
    q0, drive, loops = embedding_of(model).coordinates([START["beta"]]), squeezer_drive(model), Projection()
    moved: Model = model
    if kind == "bead":
        moved, drive = reduced_squeezer(model, START["beta"], float(exact_squeezer(np.array([END])).q[0, 0]))
        q0 = q0[:1]

    def run(method: Method, tolerance: float) -> Simulation:
        return simulate(
            moved,
            q0,
            np.zeros(len(q0)),
            (0.0, END),
            forces=drive,
            method=method,
            formulation="constrained" if kind in _DAES else "embedded",
            stabilization=BAUMGARTE if kind == "stabilized" else None,
            loops=JOINT_VARIABLES if kind == "fourier" else loops,
            rtol=tolerance,
            atol=0.1 * tolerance,
            dense=False,
        )

    return run


def efforts(model: Model, ways: tuple[Way, ...] = WAYS, rounds: int = _ROUNDS) -> dict[Way, Effort]:
    """The cost of each way at its error, from two runs whose errors enclose it, all in turn; NaN where no two do."""
    exact = exact_squeezer(np.array([END])).q[0, 0]
    runs = {kind: runner(model, kind) for kind in {way.kind for way in ways}}
    found: dict[Way, dict[float, Run]] = {}
    for way in ways:
        known = found[way] = {}
        for tolerance in way.tolerances:
            known[tolerance] = _timed(runs[way.kind], way.method, tolerance, exact, 0.0)
            if _work(known).enclosing(way.error):
                break
    for _ in range(rounds - 1):
        for way, known in found.items():
            pair = _work(known).enclosing(way.error)
            for k, (tolerance, before) in enumerate(known.items()):
                if k in pair and before.seconds < _LONG:
                    again = _timed(runs[way.kind], way.method, tolerance, exact, _AT_LEAST)
                    known[tolerance] = before._replace(seconds=min(before.seconds, again.seconds))
    return {
        way: Effort(_work(known).at(way.error), _work(known, "evaluations").at(way.error))
        for way, known in found.items()
    }


def _work(known: Mapping[float, Run], what: Literal["seconds", "evaluations"] = "seconds") -> Work:
    """What runs at several tolerances cost."""
    return Work(
        np.array([run.error for run in known.values()]), np.array([getattr(run, what) for run in known.values()])
    )


def _timed(
    run: Callable[[Method, float], Simulation], method: Method, tolerance: float, exact: float, at_least: float
) -> Run:
    """A run, and the least processor time of as many of the same as follow each other in so many seconds."""
    least, since = float("inf"), time.process_time()
    while True:
        begun = time.process_time()
        done = run(method, tolerance)
        now = time.process_time()
        least = min(least, now - begun)
        if now - since >= at_least:
            error = abs(float(done.q[-1, 0]) - exact) if done.status == "finished" else np.inf
            return Run(error, least, float(done.n_evaluations))


def acceleration_seconds(model: Model) -> dict[str, float]:
    """Seconds of one acceleration of one state, as an integrator asks for it."""
    q, u = (part[0] for part in _states(model, 1))
    e = embedding_of(model)
    z, zu = e.independent(q), e.independent_speeds(q, u)
    tau = squeezer_forces(model, q)
    embedded, constrained = EmbeddedRates(model), ConstrainedRates(model)
    calls = {"exact ODE": lambda: embedded(z, zu, tau, q), "DAE": lambda: constrained(q, u, tau)}
    return seconds_per_call(calls, at_least=_AT_LEAST)


def batch_seconds(model: Model) -> dict[Kind, float]:
    """Seconds of one acceleration among many, on one processor: what the equations cost without Python around them."""
    q, u = _states(model, _BATCH)
    tau = squeezer_forces(model, q)
    reduced = reduced_squeezer(model, 0.0, 6.0)
    alone = np.zeros((_BATCH, 1))
    for row, out in zip(q[:, :1], alone, strict=True):
        reduced.forces(0.0, row, row, out)
    calls: dict[Kind, Callable[[], object]] = {
        "bead": lambda: forward_dynamics(reduced.model, q[:, :1], u[:, :1], alone, threads=1),
        "embedded": lambda: forward_dynamics(model, q, u, tau, threads=1),
        "constrained": lambda: constrained_acceleration(model, q, u, tau, threads=1),
    }
    found = seconds_per_call({str(kind): call for kind, call in calls.items()}, rounds=5, at_least=_AT_LEAST)
    return {kind: found[kind] / _BATCH for kind in calls}


def _states(model: Model, frames: int) -> tuple[FloatArray, FloatArray]:
    """Poses of one turn with speeds of the run's size."""
    beta = np.linspace(0.5, 6.0, frames)[:, None]
    m = embedding_of(model).motion(beta, np.full((frames, 1), 500.0))
    return m.q, m.u


class Simbody(NamedTuple):
    """Seconds of Simbody, through OpenSim: of a run at `ERROR`, and of one acceleration."""

    run: float
    acceleration: float


def simbody(model: Model) -> Simbody:
    """Simbody's squeezer: its tree with the same three constraints, spring and torque."""
    q0 = embedding_of(model).coordinates([START["beta"]])
    exact = exact_squeezer(np.array([END])).q[0, 0]
    forces = squeezer_in_opensim()
    start = {"squeezer": (model, q0, np.zeros(len(q0)))}
    states = {"squeezer": (model, *_states(model, 10))}
    simulated, accelerated = ask_opensim_all(
        [
            simulations_question(start, END, _SIMBODY, rounds=2, prepare=forces),
            accelerations_question(states, rounds=3, repeats=1000, prepare=forces),
        ]
    )
    runs = simulations_found(start, simulated)["squeezer"]
    one = accelerations_found(states, accelerated)["squeezer"]
    return Simbody(Work(np.abs(runs.q[:, 0] - exact), runs.seconds).at(ERROR), one.seconds)


def best(spent: Mapping[Way, Effort], kinds: tuple[Kind, ...], error: float = ERROR) -> Way:
    """The quickest way of some kinds to an error."""
    known = [way for way in spent if way.kind in kinds and way.error == error]
    return min(known, key=lambda way: np.nan_to_num(spent[way].seconds, nan=np.inf))


class Building(NamedTuple):
    """Seconds of the first run with a model that was just made, and of the later ones."""

    first: float
    later: float

    @property
    def build(self) -> float:
        """What is made once, before the first run."""
        return max(self.first - self.later, 0.0)


def building(kinds: tuple[Kind, ...] = _BUILT, rounds: int = 2) -> dict[Kind, Building]:
    """What it takes to get ready: the same run by Runge-Kutta-Fehlberg with a new model, and again with it.

    Kernels are compiled before. The bead's force is compiled for every new bead, since its splines are in the code.
    """
    found = {}
    for kind in kinds:
        least = [float("inf"), float("inf")]
        for _ in range(rounds):
            since = time.process_time()
            run = runner(andrews_squeezer(), kind)
            for k in range(_AGAIN):
                run("rkf45", _TOLERANCE)
                now = time.process_time()
                least[min(k, 1)], since = min(least[min(k, 1)], now - since), now
        found[kind] = Building(*least)
    return found


def speed_rows(model: Model, settings: Settings) -> tuple[list[Row | Quantity], tuple[str, ...]]:
    """Ratios of times at equal errors, and what explains them."""
    settings.say("andrews: runs at several tolerances, timed ...")
    spent, one, many, made = efforts(model), acceleration_seconds(model), batch_seconds(model), building()
    found = {(way.kind, way.method): effort for way, effort in spent.items()}
    dae, ode = best(spent, _DAES), best(spent, ("fourier",))

    def named(over: Kind, under: Kind, method: Method) -> tuple[str, float, str]:
        what = f"{_KINDS[over]} over {_KINDS[under]}, both by {_INTEGRATORS[method]}"
        error = LOOSE_ERROR if method == "tr-bdf2" else ERROR
        kept = "; the DAE stabilized" if method == "adams" else "; the DAE projected" if over == "constrained" else ""
        return what, found[over, method].seconds / found[under, method].seconds, f"at {error:.0e} rad{kept}"

    def own(over: Kind, under: Kind, method: Method, goal: float) -> Row:
        what, value, note = named(over, under, method)
        return Row(what, None, value, "x", note, "at least", goal, True)

    def calls(kind: Kind, method: Method) -> float:
        return found[kind, method].evaluations

    what, value, note = named("stabilized", "fourier", "tr-bdf2")
    told: list[Row | Quantity] = [
        Row(what, PAPER_SPEEDUP, value, "x", note, "at least", timed=True, cite="section 4-4 B"),
        own("constrained", "fourier", "tr-bdf2", NO_SLOWER),
        own("stabilized", "fourier", "rkf45", NO_SLOWER),
        own("constrained", "fourier", "rkf45", NO_SLOWER),
        own("constrained", "fourier", "adams", NO_SLOWER),
        Row(
            f"the first run, with all that it needs: {_KINDS['stabilized']} over {_KINDS['fourier']}",
            None,
            made["stabilized"].first / made["fourier"].first,
            "x",
            f"Runge-Kutta-Fehlberg at tolerance {_TOLERANCE:g}; a fit is worth it for many runs",
            "at least",
            NO_SLOWER,
            True,
        ),
        *(own("constrained", "bead", method, BEAD_SPEEDUP) for method in ("tr-bdf2", "rkf45", "adams")),
        *(own("constrained", "embedded", method, NO_SLOWER) for method in ("tr-bdf2", "rkf45", "adams")),
    ]
    told += _simbody_rows(model, settings, spent[ode].seconds, spent[dae].seconds, one["DAE"])
    told += [
        Quantity(f"built beforehand: {_KINDS[kind]}", "ms", 1e3 * cost.build, note=_BUILDS[kind])
        for kind, cost in made.items()
    ]
    told += [
        Quantity(f"run at {way.error:.0e} rad: {way.name}", "ms", 1e3 * effort.seconds,
                 note=f"{effort.evaluations:.0f} evaluations")
        for way, effort in spent.items()
    ]  # fmt: skip
    told += [Quantity(f"one acceleration, {name}", "us", 1e6 * one[name], note="alone") for name in one]
    told += [
        Quantity(f"one acceleration, {_KINDS[kind]}", "us", 1e6 * many[kind], note=f"of {_BATCH} at once")
        for kind in many
    ]
    return told, (
        f"What explains the ratios: by Adams' method equations are evaluated {calls('fourier', 'adams'):.0f} times "
        f"with Fourier joint variables and {calls('constrained', 'adams'):.0f} times as a DAE, since errors of 14 "
        "states bound its steps instead of 2; TR-BDF2 and IDA also take a Jacobian of 14 columns and more by "
        "differences. Exact loops are closed by Newton's method at every evaluation; series of one angle share their "
        "waves and cost little beside the mechanics of seven bodies. One-step methods run compiled, many steps in one "
        "call, on all sides; Adams' method and IDA ask for one state at a time, and what Python does around each of "
        "their steps weighs on all alike.",
        f"A run of the stabilized DAE takes {1e3 * made['stabilized'].later:.0f} ms at tolerance {_TOLERANCE:g}. "
        f"Series are made in {1e3 * made['fourier'].build:.0f} ms, which {_runs_until(made, 'fourier')}; the bead is "
        f"made in {1e3 * made['bead'].build:.0f} ms, which {_runs_until(made, 'bead')}.",
    )


def _runs_until(made: Mapping[Kind, Building], kind: Kind) -> str:
    """How many runs save, beside a stabilized DAE, the time of what was built, in words."""
    dae, ode = made["stabilized"], made[kind]
    saved = dae.later - ode.later
    if saved <= 0.0:
        return "no number of runs saves"
    return f"{np.ceil(max(ode.build - dae.build, 0.0) / saved):.0f} runs save"


def _simbody_rows(model: Model, settings: Settings, ode: float, dae: float, alone: float) -> list[Row]:
    names = (
        "time at 1e-6 rad: Simbody's DAE over ODE with Fourier joint variables",
        "time at 1e-6 rad: best DAE over Simbody's DAE",
        "one acceleration: our DAE over Simbody's",
    )
    missing = "" if settings.opensim and opensim_version() else NOT_INSTALLED if settings.opensim else NOT_RUN
    merson = "OpenSim's Runge-Kutta-Merson, projected"
    if missing:
        values: list[float | None] = [None, None, None]
    else:
        settings.say("andrews: Simbody through OpenSim ...")
        theirs = simbody(model)
        values = [theirs.run / ode, dae / theirs.run, alone / theirs.acceleration]
    goals: tuple[Literal["at most", "at least"], ...] = ("at least", "at most", "at most")
    return [
        Row(name, None, value, "x", missing or note, goal, NO_SLOWER, True)
        for name, value, note, goal in zip(names, values, (merson, merson, ""), goals, strict=True)
    ]
