"""The lines of a table that tell what a joint costs as a mobilizer and as constraints, ours beside Simbody's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from musculo.arrays import FloatArray
from musculo.replications.joints.rival_times import CROWD, TOLERANCES, Work, simbody_work
from musculo.replications.joints.rivals import Rivals, acceleration, largest
from musculo.replications.joints.simbody_study import simbody_accelerations
from musculo.replications.peer import opensim_version
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Quantity, Row, Settings

# Of integration and of constraints in the paper's simulations.
PAPER_TOLERANCE = 1e-4
# Two programs in float64: what their accelerations may differ by, of the largest.
_AGREE = 1e-10


class Printed(NamedTuple):
    """A paper's times: mobilizer and constraints over the plain joint, and constraints over the mobilizer."""

    mobilizer: float
    constrained: float
    speedup: float


class Names(NamedTuple):
    """What the three forms are called in a table."""

    plain: str
    mobilizer: str
    constrained: str


def time_rows(what: str, seconds: Mapping[str, float], paper: Printed, names: Names, cite: str) -> list[Row]:
    """Ratios of times that the paper states, too: a mobilizer costs at most, and its rival at least what it says."""
    ratios = time_ratios(what, seconds, names)
    goals: tuple[tuple[float, Literal["at most", "at least"]], ...] = (
        (paper.mobilizer, "at most"),
        (paper.constrained, "at least"),
        (paper.speedup, "at least"),
    )
    return [
        Row(one.name, stated, one.ours, one.unit, goal=goal, timed=True, cite=cite)
        for one, (stated, goal) in zip(ratios, goals, strict=True)
    ]


def time_ratios(what: str, seconds: Mapping[str, float], names: Names) -> list[Quantity]:
    """The same ratios where nobody states them: mobilizer and constraints over the plain joint, and over each other."""
    pairs = (("mobilizer", "plain"), ("constrained", "plain"), ("constrained", "mobilizer"))
    return [
        Quantity(f"{what}: {getattr(names, over)} over {getattr(names, under)}", "x", seconds[over] / seconds[under])
        for over, under in pairs
    ]


class Simulated(NamedTuple):
    """Our simulations: until when, at which error they are compared, and what they cost."""

    end: float  # [s]
    error: float  # [m]
    work: Mapping[str, Work]  # one by one
    crowd: Mapping[str, Work]  # many at once

    def rows(self, paper: Printed, names: Names, cite: str) -> list[Row | Quantity]:
        """Ratios of times where tolerances are equal, as in the paper, and beside them where errors are."""
        k = TOLERANCES.index(PAPER_TOLERANCE)
        alike = {name: float(one.seconds[k]) for name, one in self.work.items()}
        equal, many = ({name: one.at(self.error) for name, one in x.items()} for x in (self.work, self.crowd))
        return [
            *time_rows(f"simulation, equal tolerance {PAPER_TOLERANCE:g}", alike, paper, names, cite),
            *time_ratios(f"simulation, equal error {self.error:g} m", equal, names),
            *time_ratios(f"{CROWD} simulations at once, equal error {self.error:g} m", many, names),
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
) -> list[Row | Quantity]:
    """Simbody's accelerations beside ours, its ratios, and its times over ours, all in this run.

    Args: q, u: (frames, n) states of the mobilizer, of which the first starts the simulations. ours: seconds of
        `acceleration_seconds`. simulated: our simulations, where Simbody's shall stand beside them.
        flawed: why Simbody's own mobilizer is not right, where it is known not to be.
    """
    agree = f"accelerations against Simbody's, {names.plain} and {names.constrained}"
    own = f"accelerations against Simbody's, {names.mobilizer}"
    faster: tuple[str, ...] = (
        f"one acceleration, {names.constrained}: ours in a batch over Simbody's",
        f"one acceleration, {names.constrained}: ours alone over Simbody's",
        f"simulation, equal error, {names.constrained}: ours over Simbody's",
        f"simulation, equal error, {names.constrained}: ours of {CROWD} at once over Simbody's",
    )
    faster = faster if simulated is not None else faster[:2]
    missing = opensim_missing(settings)
    if missing:
        equal = (agree,) if flawed else (agree, own)
        return [
            *(Row(name, None, None, "relative", missing, limit=_AGREE) for name in equal),
            *(Row(name, None, None, "x", missing, limit=1.0, timed=True) for name in faster),
        ]
    settings.say("Simbody through OpenSim: the same models ...")
    states, models = rivals.states(q, u), rivals.models()
    found = simbody_accelerations({name: (models[name], *states[name]) for name in models})
    size = max(largest(found[n].udot) for n in models)
    apart = {n: largest(acceleration(models[n], *states[n]) - found[n].udot) / size for n in models}
    theirs = {name: found[name].seconds for name in models}
    mine = [ours["constrained"] / theirs["constrained"], ours["one"] / theirs["constrained"]]
    beside = time_ratios("Simbody, one acceleration", theirs, names)
    if simulated is not None:
        runs = simbody_work(rivals, q[0], u[0], simulated.end)
        spent = {name: runs[name].at(simulated.error) for name in models}
        beside += time_ratios(f"Simbody, simulation, equal error {simulated.error:g} m", spent, names)
        mine += [work["constrained"].at(simulated.error) / spent["constrained"]
                 for work in (simulated.work, simulated.crowd)]  # fmt: skip
    return [
        small(agree, max(apart["plain"], apart["constrained"]), "relative", _AGREE),
        Quantity(own, "relative", apart["mobilizer"], note=flawed) if flawed else
        small(own, apart["mobilizer"], "relative", _AGREE),
        *(Row(name, None, value, "x", limit=1.0, timed=True) for name, value in zip(faster, mine, strict=True)),
        *beside,
    ]  # fmt: skip


def small(quantity: str, ours: float, unit: str, limit: float, *, note: str = "") -> Row:
    """An error or a difference, which may be at most `limit`, a goal of our own."""
    return Row(quantity, None, ours, unit, note, "at most", limit)
