"""What a study keeps of a trial: its curves, on 101 points of each gait cycle or of the whole trial."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.trial_quantities import gait_cycles, joint_powers
from musculo.arrays import FloatArray
from musculo.diagnostics.actuators import judged_frames
from musculo.dynamics.energy import total_mass
from musculo.errors import InvalidFile
from musculo.io.text import write_beside
from musculo.model.named_sides import side_of
from musculo.results.angle_columns import shown_units
from musculo.results.table import Table
from musculo.results.trial import BODY, Trial

SUMMARY = "summary.npz"
POINTS = 101  # 0 to 100 % of a cycle


class TrialSummary(NamedTuple):
    """Curves of one trial.

    Each quantity has as many cycles as its side has strikes less one, each from strike to strike; a quantity without
    a side has those of the right foot, or of the left one if the right one has none. A foot without a complete cycle
    leaves the quantities of its side without curves: the other foot's cycle is half a cycle away. Where no foot has
    one, the one curve is the whole trial.
    """

    quantities: tuple[str, ...]  # such as `angle/knee_angle_r`, or `load/hip_r` for the size of the force there
    units: tuple[str, ...]
    curves: FloatArray  # (quantities, cycles, 101); NaN where a quantity has fewer cycles
    cycles: bool  # whether curves are gait cycles
    mass: float = 0.0  # of the model [kg]; zero where it is not known


def summarize(trial: Trial) -> TrialSummary:
    """Angles, moments, powers, activations, metabolic power and joint loads of a trial."""
    kinds: list[tuple[str, Table | None, dict[str, str]]] = []
    model = trial.model
    angles, units = trial.angles, {}
    if angles is not None and model is not None:
        angles, units = angles.in_degrees(model), shown_units(model)
    kinds.append(("angle", angles, units))
    kinds.append(("moment", trial.moments, {}))
    kinds.append(("power", joint_powers(trial), {}))
    kinds.append(("activation", _muscles(trial), {}))
    kinds.append(("metabolic", _body_power(trial), {}))
    kinds += [("load", _sizes(table), {}) for table in trial.reactions]
    known_times = [table.time for _, table, _ in kinds if table is not None and len(table) > 1]
    strikes = _inside(gait_cycles(trial).strikes, known_times[0]) if known_times else {}
    whole = not strikes
    middle = strikes.get("r") or next(iter(strikes.values()), [])
    names: list[str] = []
    shown: list[str] = []
    rows: list[list[FloatArray]] = []
    for kind, table, known in kinds:
        if table is None or len(table) < 2:
            continue
        for k, name in enumerate(table.names):
            short = name.split("/")[-2] if name.endswith("/value") else name
            if f"{kind}/{short}" in names:
                continue
            names.append(f"{kind}/{short}")
            shown.append(known.get(short, "") or _unit(kind, short))
            side = side_of(short)
            marks = strikes.get(side, []) if side else middle
            rows.append(_cycles(table.time, table.values[:, k], marks, whole))
    most = max((len(row) for row in rows), default=0)
    curves = np.full((len(rows), most, POINTS), np.nan)
    for k, row in enumerate(rows):
        for i, curve in enumerate(row):
            curves[k, i] = curve
    mass = total_mass(model) if model is not None else 0.0
    return TrialSummary(tuple(names), tuple(shown), curves, not whole, mass)


def _inside(strikes: Mapping[str, Sequence[float]], time: FloatArray) -> dict[str, list[float]]:
    """Strikes during the motion, of the sides that have a cycle there: plates may record for longer than a span."""
    step = float(np.median(np.diff(time)))
    found = {side: [t for t in marks if time[0] - step <= t <= time[-1] + step] for side, marks in strikes.items()}
    return {side: marks for side, marks in found.items() if len(marks) > 1}


def _muscles(trial: Trial) -> Table | None:
    """Activations without those of reserves."""
    table = trial.activations
    if table is None or trial.model is None:
        return table
    muscles = set(trial.model.muscle_names)
    return table.pick([name for name in table.names if name in muscles])


def _body_power(trial: Trial) -> Table | None:
    """Metabolic power for each kilogram [W/kg]; not a number where forces under a foot are not known."""
    table = trial.metabolic
    mass = total_mass(trial.model) if trial.model is not None else 0.0
    if table is None or table.find(BODY) is None or not mass > 0.0:
        return None
    judged, _ = judged_frames(table, trial)
    return Table(table.time, (BODY,), np.where(judged, table.column(BODY) / mass, np.nan)[:, None])


def _sizes(table: Table) -> Table | None:
    """The size of the force at each joint [N], by the joint's name."""
    names, values = [], []
    for name in table.names:
        if name.endswith("_fx"):
            parts = np.stack([table.column(f"{name[:-1]}{axis}") for axis in "xyz"], axis=1)
            names.append(name.partition("_on_")[0])
            values.append(np.linalg.norm(parts, axis=1))
    return Table(table.time, tuple(names), np.stack(values, axis=1)) if names else None


def _unit(kind: str, name: str) -> str:
    if kind == "moment":
        return "N" if name.endswith("_force") else "N m"
    return {"power": "W", "load": "N", "metabolic": "W/kg"}.get(kind, "")


def _cycles(time: FloatArray, values: FloatArray, marks: list[float], whole: bool) -> list[FloatArray]:
    if whole:
        marks = [float(time[0]), float(time[-1])]
    found = []
    step = float(np.median(np.diff(time)))
    for start, end in pairwise(marks):
        if start >= time[0] - step and end <= time[-1] + step:
            found.append(np.interp(np.linspace(start, end, POINTS), time, values))
    return found


def write_summary(path: Path, summary: TrialSummary) -> None:
    """One file, complete or not there."""
    stream = io.BytesIO()
    np.savez(
        stream,
        quantities=np.array(summary.quantities, dtype=np.str_),
        units=np.array(summary.units, dtype=np.str_),
        curves=summary.curves,
        cycles=summary.cycles,
        mass=summary.mass,
    )

    def write(part: str) -> None:
        Path(part).write_bytes(stream.getvalue())

    write_beside(path, write)


def read_summary(path: Path) -> TrialSummary:
    """What `write_summary` wrote."""
    try:
        with np.load(path, allow_pickle=False) as known:
            return TrialSummary(
                tuple(str(name) for name in known["quantities"]),
                tuple(str(unit) for unit in known["units"]),
                np.asarray(known["curves"]),
                bool(known["cycles"]),
                float(known["mass"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InvalidFile(f"{path} is damaged ({error}); delete it, and run the study again") from None
