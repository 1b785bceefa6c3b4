"""Whether external loads act where their bodies are: a plate under one foot that is told to act on the other."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from musculo.compile.frames import FloatArray
from musculo.dynamics.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND
from musculo.model.model import Model

# A plate is loaded beyond this part of its largest force, and beyond this force [N].
_LOADED, _LEAST = 0.1, 20.0
# The other body is nearer by this factor, in more than this part of the frames, of at least so many.
_NEARER, _MOST, _FRAMES = 2.0, 0.5, 5
# `calcn_r`, `r_foot`: a single r or l between underscores, or at an end.
_SIDE = re.compile(r"(?:(?<=_)|^)([rlRL])(?=_|$)")
_OTHER = {"r": "l", "l": "r", "R": "L", "L": "R"}


class MisplacedLoad(NamedTuple):
    """A load whose points are at another body than the one it acts on."""

    load: int  # which one
    body: str
    other: str
    part: float  # of the loaded frames in which the other body is much nearer
    distance: float  # median of the loaded frames, to the body [m]
    other_distance: float


def free_base(model: Model) -> tuple[str, ...]:
    """Coordinates of the joint that sets the body free in space: from ground, with three or six of them."""
    for joint in model.joints:
        if joint.parent.body == GROUND and len(joint.coordinates) in (3, 6):
            return tuple(coordinate.name for coordinate in joint.coordinates)
    return ()


def misplaced_loads(model: Model, q: FloatArray, loads: Sequence[ExternalLoad]) -> list[MisplacedLoad]:
    """Loads whose points are twice as near to another body as to their own, in most of the frames that are loaded.

    Other bodies are those that other loads act on, and the one of the other side by its name. Residuals of inverse
    dynamics do not tell: they are the same whichever body of the model a load acts on. Distances are to mass centres;
    loads whose points are not given in ground are left out.

    Args:
        model: the model.
        q: (frames, n) [rad, m].
        loads: at these frames.
    """
    if not len(q):
        return []
    motion = kinematics(model, q)
    centre = {
        name: motion.position(name, model.body(name).mass_center).reshape(-1, 3)
        for name in {one for load in loads for one in (load.body, _other_side(load.body))}
        if name in model.body_names
    }
    found = []
    for k, load in enumerate(loads):
        others = [
            name for name in centre if name in {_other_side(load.body), *(one.body for one in loads)} - {load.body}
        ]
        if load.point_in != GROUND or load.body not in centre or not others:
            continue
        size = np.linalg.norm(np.broadcast_to(np.atleast_2d(load.force), (len(q), 3)), axis=1)
        at = np.broadcast_to(np.atleast_2d(load.point), (len(q), 3))
        rows = np.flatnonzero((size > max(_LOADED * size.max(), _LEAST)) & np.isfinite(at).all(axis=1))
        if rows.size < _FRAMES:
            continue
        own = np.linalg.norm(at - centre[load.body], axis=1)[rows]
        for other in others:
            there = np.linalg.norm(at - centre[other], axis=1)[rows]
            part = float((own > _NEARER * there).mean())
            if part > _MOST:
                found.append(MisplacedLoad(k, load.body, other, part, float(np.median(own)), float(np.median(there))))
    return found


def _other_side(name: str) -> str:
    """`calcn_l` for `calcn_r`; the name itself where it tells no side."""
    return _SIDE.sub(lambda match: _OTHER[match.group(1)], name)
