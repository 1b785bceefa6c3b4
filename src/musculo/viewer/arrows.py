"""Arrows: external loads and joint reactions in ground, over the frames of a motion."""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.results.external_loads import ExternalLoads
from musculo.results.table import Table
from musculo.viewer.scene_inputs import sampled

# OpenSim's joint reaction tables: joint_on_body_in_frame_fx, ..._mx, ..._px.
_REACTION = re.compile(r"^(?P<joint>.+)_on_(?P<body>.+)_in_(?P<frame>.+)_(?P<what>[fmp])(?P<axis>[xyz])$")


class Arrow(NamedTuple):
    """A force over time, in ground; NaN where there is none."""

    name: str
    point: FloatArray  # (frames, 3) [m]
    force: FloatArray  # (frames, 3) [N]


def load_arrows(loads: ExternalLoads, poses: Kinematics, time: FloatArray) -> tuple[list[Arrow], tuple[str, ...]]:
    """The external loads that apply a force on a body of the model, and notes on those that are ignored."""
    table = loads.table.time
    outside = (time < table[0] - 1e-6) | (time > table[-1] + 1e-6) if len(table) else np.ones(len(time), dtype=bool)
    arrows: list[Arrow] = []
    notes: list[str] = []
    forces = [force for force in loads.forces if force.applies]
    if outside.all() and forces:
        return arrows, ("The external loads lie at other times than the motion; none is drawn.",)
    for stated, load in zip(forces, loads.at(time), strict=True):
        if not stated.force_identifier:
            continue
        try:
            poses.batch_pose(load.body)
        except UnknownName:
            notes.append(f"The external load {stated.name} is not drawn: the model has no body {load.body}.")
            continue
        R, _ = poses.batch_pose(load.force_in)
        R_point, p_point = poses.batch_pose(load.point_in)
        force = np.einsum("fij,fj->fi", R, load.force)
        point = p_point + np.einsum("fij,fj->fi", R_point, load.point)
        force[outside] = np.nan
        arrows.append(Arrow(f"{stated.name} on {load.body}", point, force))
    return arrows, tuple(notes)


def reaction_arrows(reactions: Table, poses: Kinematics, time: FloatArray) -> list[Arrow]:
    """The forces of a joint reaction table, as OpenSim names its columns, each at its point.

    Raises:
        InvalidInput: no column has such a name.
    """
    groups: dict[tuple[str, str, str], dict[str, int]] = {}
    for k, name in enumerate(reactions.names):
        found = _REACTION.match(name)
        if found:
            key = (found["joint"], found["body"], found["frame"])
            groups.setdefault(key, {})[found["what"] + found["axis"]] = k
    if not groups:
        raise InvalidInput(
            f"{reactions.source or 'the table of reactions'} has no column such as knee_r_on_tibia_r_in_ground_fx; "
            f"its columns: {', '.join(reactions.names[:6])}"
        )
    arrows = []
    for (joint, body, frame), columns in groups.items():
        if not {"fx", "fy", "fz", "px", "py", "pz"} <= columns.keys():
            continue
        try:
            R, p = poses.batch_pose(frame)
        except UnknownName:
            raise InvalidInput(
                f"{reactions.source or 'the table of reactions'}: the reaction of {joint!r} is expressed in {frame!r}, "
                "which is not a frame of the model; compute it again, expressed in ground"
            ) from None
        force, point = (
            sampled(reactions.time, reactions.values[:, [columns[what + axis] for axis in "xyz"]], time)
            for what in "fp"
        )
        in_ground = np.einsum("fij,fj->fi", R, force)
        arrows.append(Arrow(f"{joint} on {body}", p + np.einsum("fij,fj->fi", R, point), in_ground))
    return arrows
