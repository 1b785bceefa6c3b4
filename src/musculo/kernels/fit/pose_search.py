"""The pose nearest to what was recorded: Newton's method with Levenberg and Marquardt's damping, within bounds.

One lane solves one frame from the pose it is given. `musculo.kernels.fit.pose_fit` gives the objective and its slopes,
`musculo.kernels.fit.bounded_step` the steps.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, kernel, room
from musculo.kernels.fit.bounded_step import BLIND, bounded_step, hold, move, predicted
from musculo.kernels.fit.pose_fit import (
    CURVATURE_ROWS,
    POSE_ROWS,
    SUM_ROWS,
    Misfit,
    Recorded,
    Space,
    fit,
    slopes_of_fit,
)
from musculo.kernels.tree.tree_frames import work_rows

# Outcomes of a frame.
CONVERGED, UNDETERMINED, SLOW, UNSEEN = range(4)

# No unknown moves further in one iteration [rad, m]: beyond it the second-order model says nothing about turns.
_LONGEST_STEP = 1.0
# Damping after the first rejected step, relative to the diagonal, and where no step helps.
_FIRST_DAMPING, _MOST_DAMPING = 1e-3, 1e12
# Changes of the objective J below this times sqrt(J) are rounding of positions of some meters; so is what is below
# the second number [m^2].
_ROUNDING, _NOTHING = 4e-15, 1e-30
# A damped step this part of the tolerance ends the search where the Hessian is not positive definite.
_FLAT = 1e-3
# Two minima are the same up to this part of the objective; another one is taken if it is lower by that part.
_SAME, _CLEARLY = 1e-7, 1e-3
# How often the lowest minimum has to be met again before the search for a lower one ends.
_AGAIN = 3
# An objective so many times that of the frame before [-], and larger than this [m^2], is tried from other poses too.
_JUMP, _WORTH = 4.0, 1e-6
# So many frames in a row that fit badly are stepped over; then they are taken for what they are.
_MOST_DOUBTFUL = 10


@kernel
def nearest_pose(model, unknowns, recorded, limits, q, space, misfit, lane):
    """Move q (n_q, lanes) to the nearest minimum of the fit; returns (objective, status, iterations).

    Newton's Hessian where it is positive definite, else Gauss and Newton's; a step that does not lower the objective
    is damped more.

    Args:
        limits: the tolerance, than which the last step, an undamped one of Newton's, is no longer [rad, m]; the most
            iterations: with none only the objective and the errors at q are found.

    Source: Nocedal & Wright 2006, ch. 10.3 (damping), 16.7 (bounds by projection).
    """
    (tolerance, most), trial = limits, space.trial
    for i in range(unknowns.speed.size):
        space.step[i, lane] = 0.0
    move(unknowns, q, space, 1.0, trial, lane)
    cost, fall, damping, longest = np.inf, 0.0, 0.0, np.inf
    status, iterations, look, done = SLOW, 0, False, False
    # not a literal True, for which the slopes would be compiled once more
    newton = damping == 0.0
    # One fit a round, at `trial`: a pose to accept or turn down, or (look) the present one once more.
    while True:
        new = fit(model, recorded, trial, space, misfit, lane)
        if done:
            break
        fresh = look
        if not look and new <= cost - 0.1 * fall + _ROUNDING * math.sqrt(cost) + _NOTHING:
            for k in range(q.shape[0]):
                q[k, lane] = trial[k, lane]
            if iterations > 0 and newton and damping == 0.0 and longest <= tolerance:
                status, done = CONVERGED, True
            elif iterations > 0 and not newton and longest <= _FLAT * tolerance:
                status, done = UNDETERMINED, True
            if new <= cost - 0.5 * fall:
                damping = 0.1 * damping if damping > _FIRST_DAMPING else 0.0
            cost, fresh, newton = new, True, True
            if done or iterations == most:
                break
            iterations += 1
        elif not look:
            damping = max(_FIRST_DAMPING, 8.0 * damping)
        if fresh:
            slopes_of_fit(model, recorded, newton, q, space, lane)
        look = False
        stepped = False
        while not stepped and not look and damping < _MOST_DAMPING:
            hold(unknowns, q, space, lane)
            stepped = bounded_step(unknowns, q, space, damping, lane)
            if not stepped:
                damping = max(_FIRST_DAMPING, 8.0 * damping)
                look = newton
        length = 0.0
        if stepped:
            longest = 0.0
            for i in range(unknowns.speed.size):
                longest = max(longest, abs(space.step[i, lane]))
            length = _LONGEST_STEP / longest if longest > _LONGEST_STEP else 1.0
            fall = predicted(unknowns, space, length, lane)
        elif look:
            newton = False
        else:
            # no step helps; the pose looked at last is one that was turned down, so look at the present one
            done = True
        move(unknowns, q, space, length, trial, lane)
    return cost, status, iterations


@kernel
def _sees(targets, recorded, lane):
    """Whether any marker, sensor or task of the frame says where the model is."""
    seen = False
    for m in range(targets.node.size):
        seen = seen or (targets.weight[m] > 0.0 and not math.isnan(recorded.markers[3 * m, lane]))
    for m in range(targets.sensor_node.size):
        seen = seen or (targets.sensor_weight[m] > 0.0 and not math.isnan(recorded.sensors[9 * m, lane]))
    for k in range(targets.task_row.size):
        seen = seen or (targets.task_weight[k] > 0.0 and not math.isnan(recorded.goals[k, lane]))
    return seen


@kernel
def _unusual(unknowns, q, lane):
    """By how much coordinates are outside the ranges that the model states, in all [rad, m]."""
    outside = 0.0
    for i in range(unknowns.speed.size):
        c = unknowns.coordinate[i]
        if c >= 0:
            outside += max(unknowns.usual[i, 0] - q[c, lane], q[c, lane] - unknowns.usual[i, 1], 0.0)
    return outside


@kernel
def _keep_blind(unknowns, space, q, other, lane):
    """Put into `other` what q says of unknowns that nothing sees, as the search before this one found."""
    for i in range(unknowns.speed.size):
        c = unknowns.coordinate[i]
        if c >= 0 and space.held[i, lane] == BLIND:
            other[c, lane] = q[c, lane]
    for k in range(unknowns.quaternion.shape[0]):
        rows = unknowns.quaternion[k]
        blind = True
        for j in range(4, 7):
            blind = blind and space.held[rows[j], lane] == BLIND
        if blind:
            for j in range(4):
                other[rows[j], lane] = q[rows[j], lane]


@kernel
def lowest_pose(model, unknowns, recorded, limits, q, space, misfit, lane):
    """The minimum reached from q, or a lower one from one of the starts; as `nearest_pose`.

    limits: those of `nearest_pose`, what objective is expected, and starts (starts, n_q).
    Other starts are tried if the objective is well above `expected` (negative: try them in any case) or the search
    from q failed, and until the lowest minimum has been met again `_AGAIN` times. A lower one counts if it is clearly
    lower; of equal ones (turned by 360 degrees, say) the first found is kept or, if all starts were to be tried, the
    one that is least outside the model's ranges. Unknowns that nothing sees stay what they are in q.
    """
    (tolerance, most, expected, starts), other = limits, space.other
    best, status, total, again = np.inf, SLOW, 0, 0
    s = -1
    while True:
        final = s == starts.shape[0]
        for k in range(q.shape[0]):
            other[k, lane] = q[k, lane] if s < 0 or final else starts[s, k]
        for k in range(model[2].given.size):
            other[model[2].given[k], lane] = q[model[2].given[k], lane]
        if s >= 0 and not final:
            _keep_blind(unknowns, space, q, other, lane)
        cost, outcome, iterations = nearest_pose(
            model, unknowns, recorded, (tolerance, 0 if final else most), other, space, misfit, lane
        )
        if final:
            break
        total += iterations
        settled = outcome == CONVERGED or status != CONVERGED
        if s < 0 or (cost < best * (1.0 - _CLEARLY) and settled) or (outcome == CONVERGED and status == SLOW):
            best, status, again = cost, outcome, 0
            for k in range(q.shape[0]):
                q[k, lane] = other[k, lane]
        elif outcome == CONVERGED and abs(cost - best) <= _SAME * best + _NOTHING:
            again += 1
            if expected < 0.0 and _unusual(unknowns, other, lane) < _unusual(unknowns, q, lane) - _SAME:
                for k in range(q.shape[0]):
                    q[k, lane] = other[k, lane]
        good = status == CONVERGED and (best <= _WORTH or best <= _JUMP * expected)
        if s < 0 and (most == 0 or good):
            break
        # errors are those of the pose looked at last: look at the best one at the end
        s = starts.shape[0] if again >= _AGAIN else s + 1
    return best, status, total


@room
def space_for(model, unknowns, n_q):
    """A workspace of one lane."""
    tree, _, couplings, _, targets = model
    n, n_u, n_free = tree.parent.size, tree.u_rows.size, unknowns.speed.size
    pairs = targets.first_pair[n - 1] + tree.n_u[n - 1] ** 2
    return Space(
        np.zeros((work_rows(tree), 1)),
        np.zeros((POSE_ROWS * n, 1)),
        np.zeros((SUM_ROWS * n, 1)),
        np.zeros((6 * n_u, 1)),
        np.zeros((CURVATURE_ROWS * pairs, 1)),
        np.zeros((n_u, 1)),
        np.zeros((couplings.first_slope[-1] + 1, 1)),
        np.zeros((n_u, 1)),
        np.zeros((n_u * n_u, 1)),
        np.zeros((n_free * n_free, 1)),
        np.zeros((n_free, 1)),
        np.zeros((n_free, 1)),
        np.zeros((n_q, 1)),
        np.zeros((n_q, 1)),
    )


class PoseSearch(NamedTuple):
    """How poses are searched for."""

    starts: FloatArray  # (starts, n_q)
    tolerance: float  # as `nearest_pose` has it [rad, m]
    most: int  # iterations
    robust: bool  # whether the first frame is searched for from all starts
    stride: int  # from frame to frame


class TrackedFrames(NamedTuple):
    """Poses that are found, the frame first."""

    q: FloatArray  # (frames, n_q)
    misfit: Misfit
    objective: FloatArray  # (frames,)
    status: IntArray  # (frames,)
    iterations: IntArray  # (frames,)


@driver
def track_frames(model, unknowns, recorded, given, search, found, start, stop):
    """Frames start, start + stride, ... below stop, each from where the two before lead to.

    The first frame starts from q[start] and, with `robust`, from all of `starts`. So does a frame whose objective jumps
    or that does not converge, and the next one starts from the pose before it.

    Args:
        recorded, given (frames, given): what is known of each frame; all arrays with the frame first.
        search: `PoseSearch`. found: `TrackedFrames`, written.
    """
    _, _, couplings, _, targets = model
    q, misfit, objective, status, iterations = found.q, found.misfit, found.objective, found.status, found.iterations
    tolerance, robust, stride = search.tolerance, search.robust, search.stride
    n_q = q.shape[1]
    space = space_for(model, unknowns, n_q)
    here, trusted = np.zeros((n_q, 1)), np.zeros(n_q)
    for k in range(n_q):
        trusted[k] = q[start, k]
    # before the first frame anything is expected, or nothing
    expected, behind, doubtful = -1.0 if robust else np.inf, 0, 0
    for f in range(start, stop, stride):
        here_recorded = Recorded(
            recorded.markers[f : f + 1].T, recorded.sensors[f : f + 1].T, recorded.goals[f : f + 1].T
        )
        here_misfit = Misfit(misfit.distance[f : f + 1].T, misfit.angle[f : f + 1].T)
        seen = _sees(targets, here_recorded, 0)
        for k in range(n_q):
            if behind == 2 and seen:
                here[k, 0] = 2.0 * q[f - stride, k] - q[f - 2 * stride, k]
            else:
                here[k, 0] = trusted[k]
        for k in range(couplings.given.size):
            here[couplings.given[k], 0] = given[f, k]
        # where nothing is known no iteration is made: the pose stays what it was
        cost, outcome, count = lowest_pose(
            model,
            unknowns,
            here_recorded,
            (tolerance, search.most if seen else 0, expected, search.starts),
            here,
            space,
            here_misfit,
            0,
        )
        for k in range(n_q):
            q[f, k] = here[k, 0]
        objective[f], status[f], iterations[f] = cost, outcome, count
        if not seen:
            objective[f], status[f] = np.nan, UNSEEN
            behind = 0
        elif (outcome != CONVERGED or (cost > _JUMP * expected and cost > _WORTH and expected >= 0.0)) and (
            doubtful < _MOST_DOUBTFUL
        ):
            # a frame with wrong markers, most likely: the next one starts from before it
            doubtful += 1
            behind = 0
        else:
            expected, behind, doubtful = cost, min(behind + 1, 2), 0
            for k in range(n_q):
                trusted[k] = here[k, 0]
