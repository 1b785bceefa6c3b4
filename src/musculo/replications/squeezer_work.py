"""Andrews' squeezer: what a formulation and an integrator cost at equal accuracy, ours and Simbody's."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.dynamics.constraints import constrained_acceleration
from musculo.dynamics.forward import forward_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.model.model import Model
from musculo.replications.mechanisms import START, squeezer_drive, squeezer_forces, squeezer_in_opensim
from musculo.replications.peer import opensim_version
from musculo.replications.rival_times import Work
from musculo.replications.simbody import simbody_accelerations, simbody_simulations
from musculo.replications.squeezer_exact import exact_squeezer
from musculo.replications.squeezer_reduced import reduced_squeezer
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Row, Settings
from musculo.replications.timing import seconds_per_call
from musculo.simulation.rates import ConstrainedRates, EmbeddedRates
from musculo.simulation.simulate import BAUMGARTE, Method, simulate
from musculo.simulation.simulation import Simulation

END = 0.03  # [s]
PAPER_SPEEDUP = 4.0
# Errors of beta at the end [rad] at which times are compared; TR-BDF2, of second order, at a larger one.
ERROR, LOOSE_ERROR = 1e-6, 3e-3
# Tolerances of Simbody's runs, which enclose the first of them.
_SIMBODY = (1e-6, 1e-7, 1e-8, 1e-9)
_ROUNDS = 2
# Quick runs are repeated for so long in each round [s]: what others do on the machine only adds time.
_AT_LEAST = 0.1
# States at once, so that what is done once a call does not count.
_BATCH = 4096

Kind = Literal["modelled", "embedded", "constrained", "stabilised"]
_ODES: tuple[Kind, ...] = ("modelled", "embedded")
# One-step methods project the DAE; stabilised, they keep it near by Baumgarte's rate, as multistep methods do.
_DAES: tuple[Kind, ...] = ("constrained", "stabilised")
_KINDS: dict[Kind, str] = {
    "modelled": "pre-modelled ODE",
    "embedded": "exact ODE",
    "constrained": "DAE",
    "stabilised": "stabilised DAE",
}
_INTEGRATORS = {"adams": "Adams", "rkf45": "Runge-Kutta-Fehlberg", "tr-bdf2": "TR-BDF2", "ida": "IDA"}


class Way(NamedTuple):
    """Equations and an integrator, with tolerances whose errors enclose the one compared at."""

    kind: Kind
    method: Method
    tolerances: tuple[float, ...]
    error: float = ERROR

    @property
    def name(self) -> str:
        return f"{_KINDS[self.kind]}, {_INTEGRATORS[self.method]}"


WAYS = (
    Way("modelled", "adams", (1e-7, 1e-8, 1e-9)),
    Way("modelled", "rkf45", (1e-7, 1e-8, 1e-9)),
    Way("modelled", "tr-bdf2", (1e-4, 1e-5, 1e-6), LOOSE_ERROR),
    Way("embedded", "adams", (1e-7, 1e-8, 1e-9)),
    Way("embedded", "rkf45", (1e-7, 1e-8, 1e-9)),
    Way("embedded", "tr-bdf2", (1e-5, 1e-6), LOOSE_ERROR),
    Way("constrained", "adams", (1e-7, 1e-8, 1e-9)),
    Way("constrained", "rkf45", (1e-6, 1e-7, 1e-8)),
    Way("stabilised", "rkf45", (3e-6, 1e-7, 1e-8)),
    Way("constrained", "ida", (1e-8, 1e-9, 1e-10)),
    Way("constrained", "tr-bdf2", (1e-3, 1e-4), LOOSE_ERROR),
)


class Effort(NamedTuple):
    """What an error costs: seconds and evaluations of the equations."""

    seconds: float
    evaluations: float


def efforts(model: Model, ways: tuple[Way, ...] = WAYS, rounds: int = _ROUNDS) -> dict[Way, Effort]:
    """The cost of each way at its error, from runs at several tolerances, all in turn; NaN where none encloses it."""
    exact = exact_squeezer(np.array([END])).q[0, 0]
    start = embedding_of(model).coordinates([START["beta"]])
    modelled = reduced_squeezer(model, START["beta"], exact)
    drive = squeezer_drive(model)

    def run(way: Way, tolerance: float) -> Simulation:
        alone = way.kind == "modelled"
        q0 = start[:1] if alone else start
        return simulate(
            modelled.model if alone else model,
            q0,
            np.zeros(len(q0)),
            (0.0, END),
            forces=modelled.forces if alone else drive,
            method=way.method,
            formulation="constrained" if way.kind in _DAES else "embedded",
            stabilisation=BAUMGARTE if way.kind == "stabilised" else None,
            rtol=tolerance,
            atol=0.1 * tolerance,
            dense=False,
        )

    jobs = [(way, tolerance) for way in ways for tolerance in way.tolerances]
    seconds = dict.fromkeys(jobs, float("inf"))
    error, evaluations = {}, {}
    for _ in range(rounds):
        for job in jobs:
            since = time.process_time()
            while True:
                begun = time.process_time()
                done = run(*job)
                now = time.process_time()
                seconds[job] = min(seconds[job], now - begun)
                if now - since >= _AT_LEAST:
                    break
            error[job] = abs(float(done.q[-1, 0]) - exact) if done.status == "finished" else np.inf
            evaluations[job] = float(done.n_evaluations)
    found = {}
    for way in ways:
        own = [(way, tolerance) for tolerance in way.tolerances]
        errors, spent, calls = (np.array([part[job] for job in own]) for part in (error, seconds, evaluations))
        found[way] = Effort(Work(errors, spent).at(way.error), Work(errors, calls).at(way.error))
    return found


def acceleration_seconds(model: Model) -> dict[str, float]:
    """Seconds of one acceleration of one state, as an integrator asks for it."""
    q, u = (part[0] for part in _states(model, 1))
    e = embedding_of(model)
    z, zu = e.independent(q), e.independent_speeds(q, u)
    tau = squeezer_forces(model, q)
    embedded, constrained = EmbeddedRates(model), ConstrainedRates(model)
    return seconds_per_call({"exact ODE": lambda: embedded(z, zu, tau, q), "DAE": lambda: constrained(q, u, tau)})


def batch_seconds(model: Model) -> dict[Kind, float]:
    """Seconds of one acceleration among many, on one processor: what the equations cost without Python around them."""
    q, u = _states(model, _BATCH)
    tau = squeezer_forces(model, q)
    reduced = reduced_squeezer(model, 0.0, 6.0)
    alone = np.zeros((_BATCH, 1))
    for row, out in zip(q[:, :1], alone, strict=True):
        reduced.forces(0.0, row, row, out)
    calls: dict[Kind, Callable[[], object]] = {
        "modelled": lambda: forward_dynamics(reduced.model, q[:, :1], u[:, :1], alone, threads=1),
        "embedded": lambda: forward_dynamics(model, q, u, tau, threads=1),
        "constrained": lambda: constrained_acceleration(model, q, u, tau, threads=1),
    }
    found = seconds_per_call({str(kind): call for kind, call in calls.items()})
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
    runs = simbody_simulations({"squeezer": (model, q0, np.zeros(len(q0)))}, END, _SIMBODY, prepare=forces)["squeezer"]
    q, u = _states(model, 10)
    one = simbody_accelerations({"squeezer": (model, q, u)}, prepare=forces)["squeezer"]
    return Simbody(Work(np.abs(runs.q[:, 0] - exact), runs.seconds).at(ERROR), one.seconds)


def best(spent: Mapping[Way, Effort], kinds: tuple[Kind, ...], error: float = ERROR) -> Way:
    """The quickest way of some kinds to an error."""
    known = [way for way in spent if way.kind in kinds and way.error == error]
    return min(known, key=lambda way: np.nan_to_num(spent[way].seconds, nan=np.inf))


def speed_rows(model: Model, settings: Settings) -> tuple[list[Row], tuple[str, ...]]:
    """Ratios of times at equal errors, and what explains them."""
    settings.say("andrews: runs at several tolerances, timed ...")
    spent, one, many = efforts(model), acceleration_seconds(model), batch_seconds(model)
    found = {(way.kind, way.method): effort for way, effort in spent.items()}
    dae, ode = best(spent, _DAES), best(spent, ("modelled",))

    def ratio(what: str, over: Effort, under: Effort, note: str, must: bool = False) -> Row:
        value = over.seconds / under.seconds
        return Row(what, PAPER_SPEEDUP, value, "x", note, "at least" if must else "", timed=True)

    def calls(kind: Kind, method: Method) -> float:
        return found[kind, method].evaluations

    alike: tuple[tuple[Method, str], ...] = (
        ("tr-bdf2", "at 3e-3 rad; the paper's integrator"),
        ("rkf45", "at 1e-6 rad; the DAE projected"),
        ("adams", "at 1e-6 rad; the DAE stabilised"),
    )
    rows = [
        ratio(f"DAE over {_KINDS[kind]}, both by {_INTEGRATORS[method]}", found["constrained", method],
              found[kind, method], note, kind == "modelled" and method == "tr-bdf2")
        for kind in _ODES
        for method, note in alike
    ]  # fmt: skip
    rows += [
        ratio("stabilised DAE over pre-modelled ODE, both by Runge-Kutta-Fehlberg", found["stabilised", "rkf45"],
              found["modelled", "rkf45"], "at 1e-6 rad; steps are not projected"),
        ratio("quickest DAE over quickest pre-modelled ODE", spent[dae], spent[ode], f"{dae.name}; {ode.name}"),
        ratio("DAE by IDA over quickest pre-modelled ODE", found["constrained", "ida"], spent[ode], "at 1e-6 rad"),
    ]  # fmt: skip
    for kind in _ODES:
        alone = calls("constrained", "adams") * many["constrained"] / (calls(kind, "adams") * many[kind])
        note = "evaluations by Adams, times an acceleration in a batch"
        rows.append(Row(f"equations alone: DAE over {_KINDS[kind]}", PAPER_SPEEDUP, alone, "x", note, timed=True))
    rows += [
        Row(f"run at {way.error:.0e} rad: {way.name}", None, 1e3 * effort.seconds, "ms",
            f"{effort.evaluations:.0f} evaluations", timed=True)
        for way, effort in spent.items()
    ]  # fmt: skip
    rows += [Row(f"one acceleration, {name}", None, 1e6 * one[name], "us", "alone", timed=True) for name in one]
    rows += [
        Row(f"one acceleration, {_KINDS[kind]}", None, 1e6 * many[kind], "us", f"of {_BATCH} at once", timed=True)
        for kind in many
    ]
    rows += _simbody_rows(model, settings, spent[ode].seconds, spent[dae].seconds, one["DAE"])
    return rows, (
        f"What explains the ratios: by Adams' method equations are evaluated {calls('modelled', 'adams'):.0f} times "
        f"pre-modelled and {calls('constrained', 'adams'):.0f} times as a DAE, since errors of 14 states bound its "
        "steps instead of 2; TR-BDF2 and IDA also take a Jacobian of 14 columns and more by differences, and one-step "
        f"methods project every step. One acceleration costs {1e6 * many['modelled']:.2f} us pre-modelled, "
        f"{1e6 * many['embedded']:.1f} us with exact loops, which Newton's method closes first, and "
        f"{1e6 * many['constrained']:.1f} us with multipliers, as long as no Python stands around it. One-step methods "
        "run compiled, many steps in one call, on both sides; Adams' method and IDA ask for one state at a time "
        f"({1e6 * one['exact ODE']:.0f} us with exact loops and {1e6 * one['DAE']:.0f} us with multipliers), and what "
        "Python does around each of their steps weighs on all alike.",
    )


def _simbody_rows(model: Model, settings: Settings, ode: float, dae: float, alone: float) -> list[Row]:
    names = (
        "time at 1e-6 rad: Simbody's DAE over pre-modelled ODE",
        "time at 1e-6 rad: best DAE over Simbody's DAE",
        "one acceleration, Simbody's DAE",
        "one acceleration: our DAE over Simbody's",
    )
    missing = "" if settings.opensim and opensim_version() else NOT_INSTALLED if settings.opensim else NOT_RUN
    if missing:
        return [Row(name, None, None, note=missing) for name in names]
    settings.say("andrews: Simbody through OpenSim ...")
    theirs = simbody(model)
    merson = "OpenSim's Runge-Kutta-Merson, projected"
    return [
        Row(names[0], PAPER_SPEEDUP, theirs.run / ode, "x", merson, "at least", timed=True),
        Row(names[1], None, dae / theirs.run, "x", merson, "at most", 1.0, True),
        Row(names[2], None, 1e6 * theirs.acceleration, "us", timed=True),
        Row(names[3], None, alone / theirs.acceleration, "x", "", "at most", 1.0, True),
    ]
