"""Metabolic power on the page: what the motion costs, and which muscles take it."""

from __future__ import annotations

from musculo.analyses.walking_cost import TrialCost, trial_cost
from musculo.model.named_sides import side_of, without_side
from musculo.report.page_parts import Bars, Curve, Panel, Section, TextTable
from musculo.results.trial import BODY, Trial
from musculo.signals.gaps import runs

_MOST = 24  # muscles in the plot
_SIDES = {"r": "right", "l": "left", "": "muscle"}


def metabolic_section(trial: Trial) -> Section | None:
    """Power of the body over time, means by muscle, and the cost of transport of a walk."""
    found, table = trial_cost(trial), trial.metabolic
    if found is None or table is None:
        return None
    muscles = Curve("muscles", table.time, table.column(BODY) - found.basal)
    spans = tuple((float(table.time[a]), float(table.time[b - 1])) for a, b in runs(~found.judged))
    panels = (Panel("all muscles", "W", (muscles,), not_judged=spans),)
    text = (
        "Heat and work of the muscles by the model of Bhargava (2004), with OpenSim's parameters for all: half of the "
        "fibers are slow, and masses of muscles follow from their strength. Reserves and residual actuators cost "
        "nothing. Such numbers compare trials of one model; they are no measurement of what a person consumes."
    )
    if not found.known:
        why = f" ({'; '.join(found.reasons)})" if found.reasons else ""
        return Section(
            "Metabolic power", panels, f"{text} No mean is stated: no frame can be judged{why}.", by_time=True
        )
    if found.reasons:
        text += f" Shaded frames are in no mean: {'; '.join(found.reasons)}."
    numbers = (_numbers(found),)
    return Section("Metabolic power", panels, text, True, bars=_bars(found), tables=numbers, by_time=True)


def _numbers(found: TrialCost) -> TextTable:
    rows = [
        ("body", *_powers(found.body_power, found.mass)),
        ("muscles", *_powers(found.muscle_power, found.mass)),
        ("at rest", *_powers(found.basal, found.mass)),
    ]
    transport, of_muscles = found.cost_of_transport, found.muscles_cost_of_transport
    title, columns = f"Means over {found.over}", ("power", "W", "W/kg", "J/(kg m)")
    costs = {"body": transport, "muscles": of_muscles}
    if transport is None:
        return TextTable(title, columns[:3], tuple(rows), columns[1:3])
    shown = tuple((*row, f"{cost:.2f}" if (cost := costs.get(row[0])) is not None else "") for row in rows)
    return TextTable(title, columns, shown, columns[1:])


def _powers(power: float, mass: float) -> tuple[str, str]:
    return f"{power:.0f}", f"{power / mass:.2f}" if mass > 0.0 else ""


def _bars(found: TrialCost) -> tuple[Bars, ...]:
    """Means by muscle, both sides beside each other, the most expensive first."""
    by_name: dict[str, dict[str, float]] = {}
    for name, power in found.muscles.items():
        by_name.setdefault(without_side(name), {})[side_of(name)] = power
    order = sorted(by_name, key=lambda name: -sum(by_name[name].values()))[:_MOST]
    if not order:
        return ()
    sides = [side for side in _SIDES if any(side in by_name[name] for name in order)]
    series = {_SIDES[side]: [by_name[name].get(side, float("nan")) for name in order] for side in sides}
    left = len(by_name) - len(order)
    title = "mean power by muscle" + (f", the first {len(order)} of {len(by_name)}" if left else "")
    return (Bars(title, "W", tuple(order), series),)
