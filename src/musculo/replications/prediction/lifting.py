"""Lifting a box with least effort: once with rested joints, and again and again with joints that tire.

Fatigue is slow: a lift changes it by less than a hundredth. What repetition tends to is a lift that ends as tired as
the next one begins, with the rest in between: one problem of optimal control with a state of fatigue for each joint.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.muscle.fibers.fatigue import FatigueRates, fatigue_rate
from musculo.replications.prediction.lifting_problem import Lift, LiftParts, lift_parts, rates_of
from musculo.replications.prediction.skeleton import skeleton
from musculo.replications.study import Part, Plot, Quantity, Row, Settings, Study, judged
from musculo.results.table import Table
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.transcription.schemes import Radau

SOURCE = "Xia & Frey Law 2008, a three-compartment model of fatigue; the skeleton of Barman 2020, chapter V"
VIOLATION, SECONDS = 1e-6, 20.0
# Fatigue is a sum of small changes, which an error of the method must not hide: order 5.
MESH = Radau(30, 3)
# How much more than all that is left a joint may be asked for between nodes.
BETWEEN = 1e-2
# Where the search starts: half squatting, and upright with the box before the chest [deg]. Straight lines between them.
_FROM = {"ankle": 15, "knee": 80, "hip": 90, "lumbar": -5, "thoracic": -5, "arm": 40, "elbow": 20}
_TO = {"ankle": 0, "knee": 5, "hip": 5, "lumbar": 0, "thoracic": 0, "arm": 40, "elbow": 60}
# Times at which motions are compared.
_FRAMES = 601
# Lifts and steps [s] over which the closed form of fatigue is compared with the controller of Xia and Frey Law.
_CONTROLLED, _STEP = 20, 0.02


@dataclass(frozen=True, eq=False)
class PredictedLift:
    """A lift that was found, and what it took."""

    motion: PredictedMotion
    wall: float  # [s]
    cpu: float  # [s]


class Repeated(NamedTuple):
    """What the repetition of a lift does to the joints, when nothing changes any more."""

    time: FloatArray  # (frames,) [s]
    moments: FloatArray  # (frames, joints) [N m]
    loads: FloatArray  # of rested strength
    fatigue: FloatArray  # the fatigued part
    effort: FloatArray  # of the strength that is left
    lasts: float  # how many lifts there are before a joint is asked for more than it has left

    @property
    def objective(self) -> float:
        """The integral of squared efforts [s]."""
        return float(np.trapezoid((self.effort**2).sum(axis=1), self.time))


def single_lift(parts: LiftParts) -> PredictedLift:
    """The lift of rested joints."""
    guess = {}
    for name in parts.fatigue.coordinates:
        (region,) = (one for one in _FROM if name.startswith(one))
        guess[f"{name}/value"] = np.radians([_FROM[region], _TO[region]])
    return _timed(lambda: parts.single.solve(MESH, guess, max_iterations=300))


def repeated_lift(parts: LiftParts, single: PredictedLift) -> PredictedLift:
    """The lift of joints that have done it for ever; the search starts from that of rested joints."""
    return _timed(lambda: parts.repeated.solve(MESH, single.motion, max_iterations=300))


def _timed(solve: Callable[[], PredictedMotion]) -> PredictedLift:
    wall, cpu = time.perf_counter(), time.process_time()
    motion = solve()
    return PredictedLift(motion, time.perf_counter() - wall, time.process_time() - cpu)


def repetition(parts: LiftParts, motion: PredictedMotion, frames: int = _FRAMES) -> Repeated:
    """A lift that is repeated for ever, each joint giving what it must.

        M_F(t) = exp(-R t) (M_F(0) + G(t)),    G(t) = integral of F a exp(R s) over s from 0 to t
        M_F(0) = exp(-R P) (M_F(0) + G(T)) = G(T) / (exp(R P) - 1)

    and n lifts after rest M_F(0) (1 - exp(-n R P)), with the period P.
    """
    lift, names = parts.lift, parts.fatigue.coordinates
    t = np.linspace(0.0, lift.duration, frames)
    table = motion.at(t)
    variables = np.column_stack([table.column(name) for name in parts.moments.inputs])
    tau = parts.moments.values(variables)
    relative = tau / np.array([parts.strength[name] for name in names])
    loads = parts.fatigue.load(tau)
    F, R = np.array([rates_of(name) for name in names]).T
    inflow = F * loads * np.exp(R * t[:, None])
    step = 0.5 * np.diff(t)[:, None] * (inflow[1:] + inflow[:-1])
    G = np.vstack([np.zeros(len(names)), np.cumsum(step, axis=0)])
    first = G[-1] / np.expm1(R * lift.period)
    fading = np.exp(-R * t[:, None])
    fatigue = fading * (first + G)
    # a joint fails where its load and its fatigue are one: its fatigue at the start is then
    most = (1.0 - np.abs(relative)) / fading - G
    with np.errstate(divide="ignore", invalid="ignore"):
        count = np.where(most < first, np.log1p(-np.clip(most / first, 0.0, 1.0)) / (-R * lift.period), np.inf)
    return Repeated(t, tau, loads, fatigue, relative / (1.0 - fatigue), float(np.ceil(count.min())))


def coordinates_of_lift(parts: LiftParts, motion: PredictedMotion, frames: int = 51) -> Table:
    """All 55 coordinates of the skeleton that stands on its left foot, both sides alike: to write, or to view.

    The model is `skeleton(root="left_foot")`.
    """
    names = skeleton(root="left_foot").coordinate_names
    table = motion.at(np.linspace(0.0, parts.lift.duration, frames))
    values = np.zeros((frames, len(names)))
    for k, name in enumerate(names):
        left = f"{name[:-1]}l" if name.endswith("_r") else name
        if left in parts.fatigue.coordinates:
            values[:, k] = table.column(f"{left}/value")
    return Table(table.time, names, values, name="lift")


def with_controller(parts: LiftParts, done: Repeated, lifts: int = _CONTROLLED) -> FloatArray:
    """(joints,) fatigued parts after some lifts from rest, by the controller of [Xia2008], which is late by a tenth of
    a second; Runge and Kutta's method of fourth order."""
    lift, names = parts.lift, parts.fatigue.coordinates
    state = np.zeros((len(names), 3))
    state[:, 0] = 1.0
    steps = round(lift.period / _STEP)
    at = np.arange(2 * steps + 1) * 0.5 * _STEP
    loads = np.array([np.interp(at, done.time, done.loads[:, k], right=0.0) for k in range(len(names))]).T
    rates = FatigueRates(*np.array([rates_of(name) for name in names]).T)
    for _ in range(lifts):
        for k in range(steps):
            before, middle, after = loads[2 * k], loads[2 * k + 1], loads[2 * k + 2]
            a = fatigue_rate(state, before, rates)
            b = fatigue_rate(state + 0.5 * _STEP * a, middle, rates)
            c = fatigue_rate(state + 0.5 * _STEP * b, middle, rates)
            d = fatigue_rate(state + _STEP * c, after, rates)
            state = state + _STEP / 6.0 * (a + 2.0 * b + 2.0 * c + d)
    return np.asarray(state[:, 2])


def study(settings: Settings) -> Study:
    """Both lifts, and what repetition does to the joints by either."""
    lift = Lift()
    parts = lift_parts(lift)
    names = parts.fatigue.coordinates
    settings.say("lifting: a single lift of rested joints ...")
    rested = single_lift(parts)
    settings.say("lifting: a lift that is repeated for ever ...")
    tired = repeated_lift(parts, rested)
    before, after = repetition(parts, rested.motion), repetition(parts, tired.motion)
    closed = _after(parts, before, _CONTROLLED)
    late = float(np.abs(with_controller(parts, before) - closed).max())
    worst, left = float(np.abs(before.effort).max()), float(np.abs(after.effort).max())
    found: list[Row | Quantity] = []
    for label, one in (("single", rested), ("repeated", tired)):
        motion = one.motion
        found += [
            Row(f"largest violation, {label} lift", None, motion.solver.largest_violation, limit=VIOLATION,
                note="rows of the problem: m, rad and fractions"),
            Row(f"CPU time, {label} lift", None, one.cpu, "s", limit=SECONDS, timed=True),
            Quantity(f"objective, {label} lift", "s", motion.objective, note=motion.status.name.lower()),
            Quantity(f"iterations, {label} lift", "", motion.solver.iterations),
            Quantity(f"wall time, {label} lift", "s", one.wall),
            Quantity(f"variables, {label} lift", "", len(motion.program.variable_names)),
            Quantity(f"rows, {label} lift", "", len(motion.program.row_names)),
        ]  # fmt: skip
        # limits of jerk, which is a control, only keep the search away from jumps
        beyond = [one for one in motion.violations(10, 0.0) if "/jerk" not in one.name][:1]
        for most in beyond:
            where = most.name.replace(" at ", ", ")
            found.append(Quantity(f"violation between nodes, {label} lift", "", most.amount, note=where))
    found += [
        Row("largest effort if the single lift is repeated", None, worst, goal="at least", limit=1.0,
            note=f"of the strength that is left: it fails in lift {before.lasts + 1:.0f}"),
        Row("largest effort of the repeated lift", None, left, limit=1.0 + BETWEEN, note="between nodes, too"),
        Row("objective of the repeated lift over that of the single one, both repeated", None,
            after.objective / before.objective, limit=1.0),
        Row("fatigue of the states beside its closed form, largest difference", None,
            float(np.abs(_states(names, tired.motion, after.time) - after.fatigue).max()), limit=1e-3),
        Row(f"fatigue after {_CONTROLLED} lifts, controller beside closed form", None, late, limit=1e-2),
        Quantity("objective of the single lift, repeated", "s", before.objective),
        Quantity("objective of the repeated lift, repeated", "s", after.objective),
        Quantity("objective of the repeated lift, rested joints", "s", _rested(parts, after)),
        Quantity("largest fatigue, single lift repeated", "", float(before.fatigue.max())),
        Quantity("largest fatigue, repeated lift", "", float(after.fatigue.max())),
    ]  # fmt: skip
    rows, others = judged(found)
    means = [one.loads.mean(axis=0) for one in (after, before)]
    loads = tuple(
        Quantity(name.removesuffix("_l"), "", float(new), float(old), float(new - old),
                 note=f"fatigue {after.fatigue[:, k].max():.2f} and {before.fatigue[:, k].max():.2f}, largest effort "
                      f"{np.abs(after.effort[:, k]).max():.2f} and {np.abs(before.effort[:, k]).max():.2f}")
        for k, (name, new, old) in enumerate(zip(names, *means, strict=True))
    )  # fmt: skip
    return Study(
        "lifting",
        f"A box of {lift.mass:g} kg is lifted by {lift.end[1] - lift.start[1]:.1f} m, once and every {lift.period:g} s",
        SOURCE,
        "Least integral of squared joint moments over their limits, in the sagittal plane, both feet standing; at rest "
        "at both ends. Rested joints first. Then every lift ends as tired as the next one begins, and limits are "
        "what fatigue leaves of them. Choices are stated in `lifting_problem.py`.",
        parts=(
            *others,
            Part("Mean loads of joints, of rested strength", "the single lift", loads,
                 "Fatigue and largest efforts: of endless repetition, of the repeated and of the single lift."),
        ),
        rows=rows,
        remarks=(_given_up(names, *means),),
        plots=_plots(parts, before, after),
    )  # fmt: skip


def _after(parts: LiftParts, done: Repeated, lifts: int) -> FloatArray:
    """(joints,) fatigued parts some lifts after rest, in closed form."""
    R = np.array([rates_of(name).recovery for name in parts.fatigue.coordinates])
    return np.asarray(done.fatigue[0] * -np.expm1(-R * lifts * parts.lift.period))


def _rested(parts: LiftParts, done: Repeated) -> float:
    strength = np.array([parts.strength[name] for name in parts.fatigue.coordinates])
    return float(np.trapezoid(((done.moments / strength) ** 2).sum(axis=1), done.time))


def _states(names: tuple[str, ...], motion: PredictedMotion, t: FloatArray) -> FloatArray:
    table = motion.at(t)
    return np.column_stack([table.column(f"{name}/fatigue") for name in names])


def _given_up(names: tuple[str, ...], new: FloatArray, old: FloatArray) -> str:
    change = new / old - 1.0
    order = np.argsort(change)
    told = [f"{names[k].removesuffix('_l').replace('_', ' ')} {100.0 * change[k]:+.0f} %" for k in order]
    return "With fatigue, mean loads of joints change: " + ", ".join(told) + "."


def _plots(parts: LiftParts, before: Repeated, after: Repeated) -> tuple[Plot, ...]:
    names = [name.removesuffix("_l").replace("_", " ") for name in parts.fatigue.coordinates]
    plots = []
    for file, done in (("single", before), ("repeated", after)):
        for what, title in (
            ("loads", "Loads, of rested strength"),
            ("effort", "Efforts, of the strength that is left"),
        ):
            curves = {name: getattr(done, what)[:, k] for k, name in enumerate(names)}
            plots.append(Plot(f"{file}_{what}", f"{title}, {file} lift", "time [s]", "", done.time, curves))
    return tuple(plots)
