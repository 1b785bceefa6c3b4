"""External loads that only other units or axes explain: kN, N mm, cm, and forces that pull a subject down or aside.

Nothing is changed by it: a sentence names what was found, and what to look at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.recording_doubts import FAR
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.poses import kinematics
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.results.angle_columns import sliding_coordinates

LOADS = "External loads"
"""The title of what is found here, in a report."""
# What carries a body that moves freely is not below this part of its weight.
_LIGHT = 0.03
# Between these parts it is what kN, or parts of the weight, make of usual forces; above, what N/kg make.
_KILO = 0.008
# No free moment has a longer arm [m], not even one about the origin of a laboratory.
_ARM = 5.0
# No force acts further from its body [m].
_AWAY = 3.0
# Less force is an empty plate [N], in any unit but kN; and so is this part of its largest force.
_EMPTY, _ACTING = 20.0, 0.1
_FRAMES, _FEW = 50, 5  # that are looked at, and that a recording has at least
# Loads of this part of the weight carry it; so many frames tell where to; the least cosine along an axis.
_BEARS, _ENOUGH, _ALONG = 0.3, 3, 0.8


def load_unit_findings(
    model: Model, q: FloatArray, loads: Sequence[ExternalLoad], far: Collection[str] = ()
) -> list[Finding]:
    """External loads (at the frames of q) too small for the weight of the model, too far from it, or too twisted.

    Only those that were recorded: what acts in a few poses, or is one force for all frames, was made by hand. Points on
    bodies that are known to be `far` off are not reported again.
    """
    loads = [one for one in loads if np.ndim(one.force) == 2]
    if len(q) < _FEW or not loads:
        return []
    rows = np.arange(0, len(q), max(len(q) // _FRAMES, 1))
    found = []
    parts = [[_each_frame(x, len(q)) for x in (one.force, one.point, one.moment)] for one in loads]
    source = next((one.source for one in loads if one.source), "the external loads").split(": external force")[0]
    total = sum((force for force, _, _ in parts), start=np.zeros((len(q), 3)))
    weight, peak = _weight(model), float(np.linalg.norm(total, axis=1).max(initial=0.0))
    light = carry_nothing(model, total)
    if light and peak == 0.0:
        text = (
            f"{source}: no force acts in any frame, and the model weighs {weight:.3g} N: moments are those of a body "
            "that hangs in the air, or is in flight"
        )
        return [Finding(text, Severity.DOUBTFUL, LOADS)]
    if light:
        unit = "kN, or in parts of the weight" if peak < _KILO * weight else "N/kg"
        found.append(
            f"{source}: the largest force is {peak:.3g} N, and the model weighs {weight:.3g} N: are forces in {unit}? "
            "They must be in N"
        )
    elif _carried(model):
        found += _push(model, total, weight, source)
    poses = kinematics(model, q[rows])
    for load, (force, point, moment) in zip(loads, parts, strict=True):
        size = np.linalg.norm(force, axis=1)
        largest = float(size.max(initial=0.0))
        twist = float(np.linalg.norm(moment, axis=1).max(initial=0.0))
        if largest > _EMPTY and twist > _ARM * largest:
            found.append(
                f"{source}: the moment on {load.body} is {twist:.4g} N m where its force is {largest:.4g} N: are "
                "moments in N mm? They must be in N m"
            )
        acting = rows[size[rows] > max(_ACTING * largest, 0.0 if light else _EMPTY)]
        if load.point_in != GROUND or load.body not in model.body_names or load.body in far or not acting.size:
            continue
        center = poses.position(load.body, model.body(load.body).mass_center).reshape(-1, 3)[np.isin(rows, acting)]
        away = float(np.median(np.linalg.norm(point[acting] - center, axis=1)))
        if away > _AWAY and np.abs(point[acting]).max() < FAR and np.abs(center).max() < FAR:
            found.append(
                f"{source}: the force on {load.body} acts {away:.3g} m from it: are points in cm, or in other axes "
                "than the motion? They must be in m, in ground"
            )
    return [Finding(text, Severity.WRONG, LOADS) for text in found]


def carry_nothing(model: Model, total: FloatArray) -> bool:
    """Whether the external force (frames, 3) on a model that nothing else carries is never a match for its weight."""
    return _carried(model) and float(np.linalg.norm(total, axis=1).max(initial=0.0)) < _LIGHT * _weight(model)


def _weight(model: Model) -> float:
    return sum(body.mass for body in model.bodies) * float(np.linalg.norm(model.gravity))


def _push(model: Model, total: FloatArray, weight: float, source: str) -> list[str]:
    """Whether what carries the model (frames, 3) pushes it up, against gravity, on the whole."""
    up = -np.asarray(model.gravity, dtype=float) / (np.linalg.norm(model.gravity) or 1.0)
    size = np.linalg.norm(total, axis=1)
    bears = total[size > _BEARS * weight]
    if weight <= 0.0 or len(bears) < _ENOUGH:
        return []
    mean = bears.mean(axis=0) / np.linalg.norm(bears, axis=1).mean()
    lift, k = float(mean @ up), int(np.abs(mean).argmax())
    along = f"{'-' if mean[k] < 0.0 else '+'}{'xyz'[k]}"
    if lift < -_ALONG:
        return [
            f"{source}: external loads pull the model down ({along}): do they hold forces on the plates instead of "
            "those on the subject? Then change their sign"
        ]
    if lift < 1.0 - _ALONG and abs(mean[k]) > _ALONG:
        return [
            f"{source}: external loads push the model along {along}, and gravity requires them to point up: are they "
            "in the axes of another laboratory? Rotate them as the markers were rotated"
        ]
    return []


def _each_frame(values: ArrayLike, frames: int) -> FloatArray:
    return np.broadcast_to(np.asarray(values, dtype=float), (frames, 3))


def _carried(model: Model) -> bool:
    """Whether nothing but loads can carry the model: its base slides freely, and it weighs something."""
    return any(len(sliding_coordinates(j)) >= 2 for j in model.joints if GROUND in (j.parent.body, j.child.body))
