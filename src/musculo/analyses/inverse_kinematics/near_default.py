"""Angles half a turn from the default pose, or far outside their range, that the recording hardly asks for.

Where hardly anything tells an angle, the best fit may have it anywhere: noise decides. OpenSim's search stops near the
default pose there, where the objective is flat. Such angles are kept near it where that fits as well.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace

import numpy as np

from musculo.analyses.inverse_kinematics.tracked_poses import InverseKinematics, Status
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.diagnostics.implausible_angles import BEYOND
from musculo.errors import InvalidInput
from musculo.model.body import GROUND
from musculo.results.angle_columns import angle_columns

ROUNDING = 1e-4
"""Root mean square errors that differ by less are alike: no recording is more accurate [m, rad]."""
TURNED = np.radians(120.0)
"""An angle so far from its default is turned by half a turn, or of a joint that was moved so far [rad]."""
# Frames with an objective of so many times the median one are not looked at.
_BAD = 4.0
# An angle is back where it is less than this part of far.
_BACK = 0.5
# Of two fits, the worse one is worth a word where its error is less than so many times that of the better one.
_COMPARABLE = 2.0

Pull = dict[str, tuple[float, float]]  # weight and target by coordinate
Refit = Callable[[int | None, Pull], InverseKinematics]  # one frame or all once more, with these tasks besides


def near_poses(
    found: InverseKinematics, held: Collection[str], refit: Refit
) -> tuple[InverseKinematics, list[Finding]]:
    """The poses with far angles kept near their defaults where that fits as well, and what is to be said of them.

    The worst frame is solved with weak tasks first. The whole recording is solved again only where these help.

    Args:
        found: what inverse kinematics found.
        held: coordinates that have tasks of their own, which are left alone.
        refit: solves frames of the recording again.
    """
    far = {name: size for name, size in _far(found).items() if name not in held}
    solved = np.isfinite(found.objective) & (found.status == Status.CONVERGED)
    if not far or not solved.any():
        return found, []
    usual = float(np.median(found.objective[solved]))
    # frames with outliers or wrong labels tell nothing
    solved &= np.nan_to_num(found.objective) <= _BAD * usual + ROUNDING**2
    far = {name: np.where(solved, size, 0.0) for name, size in far.items() if size[solved].any()}
    if not far:
        return found, []
    worst = max(far, key=lambda name: float(far[name].max()))
    frame = int(far[worst].argmax())
    size = float(np.sqrt(2.0 * usual))
    # the objective of an error that is larger by the rounding, less its own
    weight = ROUNDING * size + 0.5 * ROUNDING**2
    pull: Pull = {name: (weight, found.model.coordinate(name).default_value) for name in far}
    try:
        there = refit(frame, pull)
    except InvalidInput:  # a frame that shows too little to be taken alone
        return found, []
    back = {name: task for name, task in pull.items() if name not in _far(there, _BACK)}
    if not back:
        return found, _in_words(found, far, worst, frame, refit)
    near = _without(refit(None, back), back)
    before, after = (float(np.sqrt(2.0 * np.maximum(one.objective[solved], 0.0)).mean()) for one in (found, near))
    again = _far(near, _BACK)
    fewer = sum(int((again[name] > 0.0).sum()) for name in back if name in again) < sum(
        int((far[name] > 0.0).sum()) for name in back
    )
    if after > before + ROUNDING or not fewer or (near.status[solved] != Status.CONVERGED).any():
        return found, _in_words(found, far, worst, frame, refit)
    text = (
        f"{', '.join(back)}: kept near the default, because the recording hardly determines it; the best fit is far "
        f"from there, and its error is smaller by only {1e3 * max(after - before, 0.0):.2g} mm or mrad on average"
    )
    return replace(near, provenance=found.provenance), [Finding(text)]


def _far(found: InverseKinematics, part: float = 1.0) -> dict[str, FloatArray]:
    """Angles of joints that are far from their default or outside their range: (frames,) by how much, zero elsewhere.

    With a `part` less is far.

    Those between ground and the bodies on it do not count: they tell which way a subject faces.
    """
    model = found.model
    on_ground = {c.name for j in model.joints if GROUND in (j.parent.body, j.child.body) for c in j.coordinates}
    free = set(model.independent_coordinate_names) - on_ground
    angles = {}
    for k in angle_columns(model.coordinate_names, model):
        one = model.coordinates[k]
        if one.name not in free:
            continue
        q = np.nan_to_num(found.q[:, k])
        turned = np.abs(q - one.default_value) - part * TURNED
        outside = np.maximum(min(one.range) - q, q - max(one.range)) - part * BEYOND
        size = np.maximum(np.maximum(turned, outside), 0.0)
        if size.any():
            angles[one.name] = size
    return angles


def _without(found: InverseKinematics, pull: Pull) -> InverseKinematics:
    """With the objective less what these tasks add to it."""
    objective = np.array(found.objective)
    for name, (weight, target) in pull.items():
        objective -= 0.5 * weight * (found.q[:, found.model.coordinate_index(name)] - target) ** 2
    objective.setflags(write=False)
    return replace(found, objective=objective)


def _in_words(
    found: InverseKinematics, far: dict[str, FloatArray], worst: str, frame: int, refit: Refit
) -> list[Finding]:
    """An angle that is far and fits better, where the fit near the default is not much worse."""
    pull: Pull = {name: (1.0, found.model.coordinate(name).default_value) for name in far}
    near = _without(refit(frame, pull), pull)
    better, other = (float(np.sqrt(2.0 * max(o, 0.0))) for o in (found.objective[frame], near.objective[0]))
    if other > _COMPARABLE * better + ROUNDING:
        return []
    angle = np.degrees(found.q[frame, found.model.coordinate_index(worst)])
    text = (
        f"{worst} is {angle:.0f} deg at {found.time[frame]:g} s, far from its default; near it the recording is fitted "
        f"with an error of {1e3 * other:.3g} instead of {1e3 * better:.3g} mm or mrad: a task or a clamped range keeps "
        "it there"
    )
    return [Finding(text, Severity.DOUBTFUL)]
