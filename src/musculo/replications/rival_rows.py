"""The lines of a table that tell what a joint costs as a mobilizer and as constraints, ours beside Simbody's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from musculo.replications.peer import opensim_version
from musculo.replications.rival_times import CROWD, TOLERANCES, Work, simbody_work
from musculo.replications.rivals import Rivals, acceleration, largest
from musculo.replications.simbody import simbody_accelerations
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, FloatArray, Row, Settings

# Of integration and of constraints in the paper's simulations.
PAPER_TOLERANCE = 1e-4


class Printed(NamedTuple):
    """A paper's times: mobilizer and constraints over the plain joint, and constraints over the mobilizer."""

    mobilizer: float | None = None
    constrained: float | None = None
    speedup: float | None = None


class Names(NamedTuple):
    """What the three forms are called in a table."""

    plain: str
    mobilizer: str
    constrained: str


def time_rows(what: str, seconds: Mapping[str, float], paper: Printed, names: Names, most: float | None) -> list[Row]:
    """Ratios of times; `most` is the goal of the mobilizer over the plain joint."""
    over = seconds["mobilizer"] / seconds["plain"]
    both = seconds["constrained"] / seconds["plain"], seconds["constrained"] / seconds["mobilizer"]
    first = Row(f"{what}: {names.mobilizer} over {names.plain}", paper.mobilizer, over, "x", timed=True)
    return [
        first if most is None else replace(first, goal="at most", limit=most),
        Row(f"{what}: {names.constrained} over {names.plain}", paper.constrained, both[0], "x", timed=True),
        Row(f"{what}: {names.constrained} over {names.mobilizer}", paper.speedup, both[1], "x", timed=True),
    ]


class Simulated(NamedTuple):
    """Our simulations: until when, at which error they are compared, and what they cost."""

    end: float  # [s]
    error: float  # [m]
    work: Mapping[str, Work]  # one by one
    crowd: Mapping[str, Work]  # many at once

    def rows(self, paper: Printed, names: Names) -> list[Row]:
        """Ratios of times where tolerances are equal, as in the paper, and where errors are."""
        k = TOLERANCES.index(PAPER_TOLERANCE)
        alike = {name: float(one.seconds[k]) for name, one in self.work.items()}
        equal, many = ({name: one.at(self.error) for name, one in x.items()} for x in (self.work, self.crowd))
        return [
            *time_rows(f"simulation, equal tolerance {PAPER_TOLERANCE:g}", alike, paper, names, None),
            *time_rows(f"simulation, equal error {self.error:g} m", equal, paper, names, None),
            *time_rows(f"{CROWD} simulations at once, equal error {self.error:g} m", many, paper, names, None),
        ]


def opensim_missing(settings: Settings) -> str:
    """Why OpenSim's figures cannot be had; empty where they can."""
    if not settings.opensim:
        return NOT_RUN
    return "" if opensim_version() else NOT_INSTALLED


def simbody_rows(
    settings: Settings,
    rivals: Rivals,
    q: FloatArray,
    u: FloatArray,
    names: Names,
    ours: Mapping[str, float],
    simulated: Simulated | None = None,
    flawed: str = "",
) -> list[Row]:
    """Simbody's accelerations beside ours, its ratios, and its times over ours, all in this run.

    Args: q, u: (frames, n) states of the mobilizer, of which the first starts the simulations. ours: seconds of
        `acceleration_seconds`. simulated: our simulations, where Simbody's shall stand beside them.
        flawed: why Simbody's own mobilizer is not right, where it is known not to be.
    """
    lines = ("accelerations", "times")
    missing = opensim_missing(settings)
    if missing:
        return [Row(f"Simbody's {what}", None, None, note=missing) for what in lines]
    settings.say("Simbody through OpenSim: the same models ...")
    states, models = rivals.states(q, u), rivals.models()
    found = simbody_accelerations({name: (models[name], *states[name]) for name in models})
    size = max(largest(found[n].udot) for n in models)
    apart = {n: largest(acceleration(models[n], *states[n]) - found[n].udot) / size for n in models}
    others = max(apart["plain"], apart["constrained"])
    theirs = {name: found[name].seconds for name in models}
    rows = [
        small(f"accelerations against Simbody's, {names.plain} and {names.constrained}", others, "relative", 1e-10),
        Row(f"accelerations against Simbody's, {names.mobilizer}", None, apart["mobilizer"], "relative", note=flawed,
            goal="" if flawed else "at most", limit=1e-10),
        *time_rows("Simbody, one acceleration", theirs, Printed(), names, None),
        Row(f"one acceleration, {names.constrained}: ours in a batch over Simbody's", None,
            ours["constrained"] / theirs["constrained"], "x", goal="at most", limit=1.0, timed=True),
        Row(f"one acceleration, {names.constrained}: ours alone over Simbody's", None,
            ours["one"] / theirs["constrained"], "x", timed=True),
    ]  # fmt: skip
    if simulated is None:
        return rows
    runs = simbody_work(rivals, q[0], u[0], simulated.end)
    spent = {name: runs[name].at(simulated.error) for name in models}
    return [
        *rows,
        *time_rows(f"Simbody, simulation, equal error {simulated.error:g} m", spent, Printed(), names, None),
        Row(f"simulation, equal error, {names.constrained}: ours over Simbody's", None,
            simulated.work["constrained"].at(simulated.error) / spent["constrained"], "x", goal="at most", limit=1.0,
            timed=True),
        Row(f"simulation, equal error, {names.constrained}: ours of {CROWD} at once over Simbody's", None,
            simulated.crowd["constrained"].at(simulated.error) / spent["constrained"], "x", goal="at most", limit=1.0,
            timed=True),
    ]  # fmt: skip


def small(
    quantity: str, ours: float, unit: str, limit: float | None = None, *, paper: float | None = None, note: str = ""
) -> Row:
    """An error or a difference, which may be at most `limit`, or else the paper's figure."""
    return Row(quantity, paper, ours, unit, note, "at most", limit)
