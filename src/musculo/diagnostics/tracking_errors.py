"""How far a model that follows a motion stays from it.

Limits: OpenSim's checklist ("Simulation with OpenSim: Best Practices") asks for differences of less than 2 to 5 degrees
of joint angles, and less than 2 cm of translations, in residual reduction. So angles are good up to 2 degrees and bad
beyond 5, and translations good up to 2 cm. That they are bad beyond 5 cm is our own, and so are 1 and 2 cm in computed
muscle control: it comes after residual reduction, and follows a motion that forces can give. The largest error counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, graded, listed_names
from musculo.model.model import Model
from musculo.results.angle_columns import coordinate_units
from musculo.results.table import Table
from musculo.results.trial import Trial

MUSCLE_CONTROL = "CMCTool"
_ADVICE = {
    MUSCLE_CONTROL: "Look for windows without a solution, weak muscles, missing reserves, and gains (kv = 2 sqrt(kp))",
    "": "Raise the weight of its task or the limits of residuals; look at motion, loads and gains (kv = 2 sqrt(kp))",
}


class ErrorLimits(NamedTuple):
    """Up to where the largest error of coordinates is good, and beyond where bad, in the unit in which it is shown."""

    title: str
    unit: str
    scale: float  # from rad or m
    good: float
    bad: float


def error_limits(tool: str) -> dict[str, ErrorLimits]:
    """Limits of the errors of a tool, by the unit of the coordinate, "rad" or "m"."""
    good, bad = (10.0, 20.0) if tool == MUSCLE_CONTROL else (20.0, 50.0)
    return {
        "rad": ErrorLimits("Tracking errors of angles", "°", 180.0 / np.pi, 2.0, 5.0),
        "m": ErrorLimits("Tracking errors of translations", "mm", 1e3, good, bad),
    }


class Largest(NamedTuple):
    """The largest error of some coordinates."""

    name: str
    value: float  # [rad, m]
    time: float  # [s]


def largest_errors(names: Sequence[str], time: FloatArray, error: FloatArray, model: Model) -> dict[str, Largest]:
    """The largest error of all coordinates of a unit, "rad" or "m"; tasks with other names than coordinates have none.

    Args:
        names: of the tasks.
        time: (frames,) [s].
        error: (frames, tasks) [rad, m].
        model: whose coordinates they are.
    """
    units = coordinate_units(model)
    found: dict[str, Largest] = {}
    for kind in ("rad", "m"):
        columns = [k for k, name in enumerate(names) if units.get(name) == kind]
        if columns and len(time):
            size = np.abs(error[:, columns])
            row, place = np.unravel_index(int(size.argmax()), size.shape)  # the first NaN, where there is one
            found[kind] = Largest(names[columns[int(place)]], float(size[row, place]), float(time[row]))
    return found


def tracking_findings(errors: Table, trial: Trial) -> list[Finding]:
    """The largest error of angles, and that of translations."""
    model = trial.model
    assert model is not None
    tool = trial.tool_of(errors)
    found = largest_errors(errors.names, errors.time, errors.values, model)
    if not found:
        text = f"no coordinate of the model is called as these tasks are: {listed_names(errors.names)}"
        return [Finding(text, Severity.UNJUDGED, "Tracking errors")]
    if not errors.values.any():
        text = "none: the motion to follow was taken as it is, and not simulated"
        return [Finding(text, title="Tracking errors")]
    checks = []
    for kind, limits in error_limits(tool).items():
        if kind in found:
            one = found[kind]
            value, unit = one.value * limits.scale, limits.unit if limits.unit == "°" else f" {limits.unit}"
            severity = graded(value, limits.good, limits.bad)
            text = (
                f"{value:.3g}{unit} at most, {one.name} at {one.time:.4g} s (limit {limits.good:g}{unit}, bad beyond "
                f"{limits.bad:g}{unit})"
            )
            advice = "" if severity is Severity.GOOD else _ADVICE.get(tool, _ADVICE[""])
            checks.append(Finding(text, severity, limits.title, advice))
    return checks
