"""Loads of hips, knees and ankles in words of anatomy: compression, forward and outward force, in body weights."""

from __future__ import annotations

import re

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.energy import total_mass
from musculo.dynamics.poses import kinematics
from musculo.errors import MusculoError
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.model.named_sides import side_of
from musculo.results.table import Table
from musculo.results.trial import Trial

_GRAVITY = 9.80665
# `walker_knee_r_on_tibia_r_in_ground_fx`
_COLUMN = re.compile(r"^(?P<joint>.+)_on_(?P<body>.+)_in_(?P<frame>.+)_fx$")
_JOINTS = ("hip", "knee", "ankle")


def anatomical_loads(trial: Trial) -> Table | None:
    """Forces on the bodies beyond hips, knees and ankles, along these bodies' own axes [body weights]; None without.

    Compression is what presses the body away along its y axis, which is that of the bone in OpenSim's models; forward
    is along x, outward along z to the right, mirrored on the left.
    """
    model = trial.model
    if model is None or not total_mass(model) > 0.0:
        return None
    weight = total_mass(model) * _GRAVITY
    names: list[str] = []
    columns: list[FloatArray] = []
    time: FloatArray | None = None
    for table in trial.reactions:
        for name in table.names:
            match = _COLUMN.match(name)
            joint = next((one for one in _JOINTS if match and one in match["joint"].lower()), None)
            if match is None or joint is None or not side_of(match["joint"]) or "patell" in match["joint"].lower():
                continue
            own = _in_body(trial, model, table, match)
            if own is None or (time is not None and len(table.time) != len(time)):
                continue
            time, side = table.time, side_of(match["joint"])
            for what, values in (
                ("compression", -own[:, 1]),
                ("forward", own[:, 0]),
                ("outward", own[:, 2] if side == "r" else -own[:, 2]),
            ):
                label = f"{joint}_{what}_{side}"
                if label not in names:
                    names.append(label)
                    columns.append(values / weight)
    if time is None:
        return None
    return Table(time, tuple(names), np.stack(columns, axis=1), units=("BW",) * len(names), name="joint_loads")


def _in_body(trial: Trial, model: Model, table: Table, match: re.Match[str]) -> FloatArray | None:
    """(frames, 3) a force on a child body, along that body's axes [N]."""
    stem = match.group(0)[:-1]
    force = np.stack([table.column(f"{stem}{axis}") for axis in "xyz"], axis=1)
    body, frame = match["body"], match["frame"]
    if frame == body:
        return force
    joint = next((one for one in model.joints if one.child.body == body), None)
    if joint is None or frame != GROUND or trial.angles is None:
        return None
    try:
        angles = trial.angles.in_radians(model)
        at = np.stack([np.interp(table.time, angles.time, column) for column in angles.values.T], axis=1)
        q = Table(table.time, angles.names, at).coordinates(model, missing="default")
        R_WB = kinematics(model, q).pose(body).R
    except MusculoError:
        return None
    return np.asarray(np.einsum("fij,fi->fj", R_WB, force))
