"""The pose nearest to recorded markers: Newton's method with Levenberg and Marquardt's damping, within bounds.

One lane solves one frame from the pose it is given. `musculo.kernels.marker_fit` gives the objective and its slopes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.kernels.frames import work_rows
from musculo.kernels.jit import driver, kernel
from musculo.kernels.marker_fit import CURVATURE_ROWS, POSE_ROWS, SUM_ROWS, Space, fit, slopes_of_fit

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Outcomes of a frame.
CONVERGED, UNDETERMINED, SLOW, UNSEEN = range(4)

# No unknown moves further in one iteration [rad, m]: beyond it the second-order model says nothing about turns.
_LONGEST_STEP = 1.0
# Damping after the first rejected step, relative to the diagonal, and where no step helps.
_FIRST_DAMPING, _MOST_DAMPING = 1e-3, 1e12
# A pivot smaller than this part of its diagonal element is zero to rounding: the matrix is not positive definite.
_SMALLEST_PIVOT = 1e-11
# Of the largest diagonal element: below it no marker and no task sees the unknown, and it stays where it is.
_SEEN = 1e-14
# Changes of the objective J below this times sqrt(J) are rounding of positions of some metres; so is what is below
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


class Unknowns(NamedTuple):
    """What the solver moves."""

    speed: IntArray  # (free,) row of u
    coordinate: IntArray  # (free,) row of q; -1 for a speed of a quaternion
    lower: FloatArray  # (free,)
    upper: FloatArray  # (free,)
    usual: FloatArray  # (free, 2) the range the model states, whether or not it binds
    quaternion: IntArray  # (quaternions, 7) rows of q (w, x, y, z), then which unknowns turn it


@kernel
def _factor(unknowns, space, damping, lane):
    """H + damping diag(H) = L^T L over the unknowns no bound holds; False where it is not positive definite.

    From the last unknown to the first, so that zeros between branches of the tree stay (Featherstone 2008, 6.5).
    """
    n = unknowns.speed.size
    n_u = space.gradient.shape[0]
    F, held = space.factor, space.held
    for i in range(n):
        for j in range(i + 1):
            free = held[i, lane] == 0.0 and held[j, lane] == 0.0
            F[i * n + j, lane] = space.hessian[unknowns.speed[i] * n_u + unknowns.speed[j], lane] if free else 0.0
        if held[i, lane] == 0.0:
            F[i * n + i, lane] += damping * abs(F[i * n + i, lane])
        else:
            F[i * n + i, lane] = 1.0
    for k in range(n - 1, -1, -1):
        pivot = F[k * n + k, lane]
        own = space.hessian[unknowns.speed[k] * n_u + unknowns.speed[k], lane]
        if held[k, lane] == 0.0 and not pivot > _SMALLEST_PIVOT * abs(own):
            return False
        root = np.sqrt(pivot)
        F[k * n + k, lane] = root
        for i in range(k):
            F[k * n + i, lane] /= root
        for i in range(k):
            x = F[k * n + i, lane]
            if x != 0.0:
                for j in range(i + 1):
                    F[i * n + j, lane] -= x * F[k * n + j, lane]
    return True


@kernel
def _bounded_step(unknowns, q, space, damping, lane):
    """The step that minimises the damped second-order model within the bounds; returns whether there is one.

    Unknowns that would leave their range are put on its edge and the others solved again, until none leaves.
    """
    n = unknowns.speed.size
    n_u = space.gradient.shape[0]
    F, d, held = space.factor, space.step, space.held
    pushed = False
    for i in range(n):
        d[i, lane] = 0.0
    for _ in range(n + 1):
        if not _factor(unknowns, space, damping, lane):
            return False
        for i in range(n):
            if held[i, lane] == 0.0:
                row = unknowns.speed[i]
                right = -space.gradient[row, lane]
                if pushed:
                    for j in range(n):
                        if held[j, lane] != 0.0:
                            right -= space.hessian[row * n_u + unknowns.speed[j], lane] * d[j, lane]
                d[i, lane] = right
        # L^T y = right, then L d = y; held unknowns have unit rows and keep what they have
        for i in range(n - 1, -1, -1):
            d[i, lane] /= F[i * n + i, lane]
            if held[i, lane] == 0.0:
                for j in range(i):
                    d[j, lane] -= F[i * n + j, lane] * d[i, lane]
        for i in range(n):
            if held[i, lane] == 0.0:
                value = d[i, lane]
                for j in range(i):
                    value -= F[i * n + j, lane] * d[j, lane]
                d[i, lane] = value / F[i * n + i, lane]
        # F is zero between free and held unknowns, so neither sweep has mixed them
        left = False
        for i in range(n):
            c = unknowns.coordinate[i]
            if c >= 0 and held[i, lane] == 0.0:
                if q[c, lane] + d[i, lane] < unknowns.lower[i]:
                    d[i, lane] = unknowns.lower[i] - q[c, lane]
                    held[i, lane] = 1.0
                    left = True
                elif q[c, lane] + d[i, lane] > unknowns.upper[i]:
                    d[i, lane] = unknowns.upper[i] - q[c, lane]
                    held[i, lane] = 1.0
                    left = True
        if not left:
            break
        pushed = True
    return True


@kernel
def _hold(unknowns, q, space, lane):
    """Mark the unknowns that a bound holds against the gradient, and those that nothing sees."""
    n_u = space.gradient.shape[0]
    largest = 0.0
    for i in range(unknowns.speed.size):
        largest = max(largest, abs(space.hessian[unknowns.speed[i] * (n_u + 1), lane]))
    for i in range(unknowns.speed.size):
        c, g = unknowns.coordinate[i], space.gradient[unknowns.speed[i], lane]
        on_edge = c >= 0 and (
            (q[c, lane] <= unknowns.lower[i] and g > 0.0) or (q[c, lane] >= unknowns.upper[i] and g < 0.0)
        )
        seen = abs(space.hessian[unknowns.speed[i] * (n_u + 1), lane]) > _SEEN * largest
        space.held[i, lane] = 1.0 if on_edge or not seen else 0.0


@kernel
def _move(unknowns, q, space, length, trial, lane):
    """trial = q + length step, within the bounds; quaternions turn by qdot = (0, w) q / 2 and keep unit length."""
    for k in range(q.shape[0]):
        trial[k, lane] = q[k, lane]
    for i in range(unknowns.speed.size):
        c = unknowns.coordinate[i]
        if c >= 0:
            value = q[c, lane] + length * space.step[i, lane]
            trial[c, lane] = min(max(value, unknowns.lower[i]), unknowns.upper[i])
    for k in range(unknowns.quaternion.shape[0]):
        rows = unknowns.quaternion[k]
        w, x, y, z = q[rows[0], lane], q[rows[1], lane], q[rows[2], lane], q[rows[3], lane]
        a = 0.5 * length * space.step[rows[4], lane]
        b = 0.5 * length * space.step[rows[5], lane]
        c = 0.5 * length * space.step[rows[6], lane]
        w, x, y, z = (
            w - x * a - y * b - z * c,
            x + w * a + z * b - y * c,
            y - z * a + w * b + x * c,
            z + y * a - x * b + w * c,
        )
        size = np.sqrt(w * w + x * x + y * y + z * z)
        trial[rows[0], lane], trial[rows[1], lane] = w / size, x / size
        trial[rows[2], lane], trial[rows[3], lane] = y / size, z / size


@kernel
def _predicted(unknowns, space, length, lane):
    """How much the undamped second-order model falls along length times the step."""
    n_u = space.gradient.shape[0]
    fall = 0.0
    for i in range(unknowns.speed.size):
        row = unknowns.speed[i]
        bent = 0.0
        for j in range(unknowns.speed.size):
            bent += space.hessian[row * n_u + unknowns.speed[j], lane] * space.step[j, lane]
        fall -= length * space.step[i, lane] * (space.gradient[row, lane] + 0.5 * length * bent)
    return fall


@kernel
def nearest_pose(model, unknowns, markers, goals, tolerance, most, q, space, errors, lane):
    """Move q (n_q, lanes) to the nearest minimum of the fit; returns (objective, status, iterations).

    Newton's Hessian where it is positive definite, else Gauss and Newton's; a step that does not lower the objective
    is damped more. The last step is one of Newton's, undamped and no longer than `tolerance` [rad, m]. With most = 0
    only the objective and the errors at q are found.

    Source: Nocedal & Wright 2006, ch. 10.3 (damping), 16.7 (bounds by projection).
    """
    tree, table, couplings, coupling_table, targets = model
    trial = space.trial
    for i in range(unknowns.speed.size):
        space.step[i, lane] = 0.0
    _move(unknowns, q, space, 1.0, trial, lane)
    cost, fall, damping, longest = np.inf, 0.0, 0.0, np.inf
    status, iterations, look, done = SLOW, 0, False, False
    # not a literal True, for which the slopes would be compiled once more
    newton = damping == 0.0
    # One fit a round, at `trial`: a pose to accept or turn down, or (look) the present one once more.
    while True:
        new = fit(tree, table, couplings, coupling_table, targets, markers, goals, trial, space, errors, lane)
        if done:
            break
        fresh = look
        if not look and new <= cost - 0.1 * fall + _ROUNDING * np.sqrt(cost) + _NOTHING:
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
            slopes_of_fit(tree, couplings, coupling_table, targets, goals, newton, q, space, lane)
        look = False
        stepped = False
        while not stepped and not look and damping < _MOST_DAMPING:
            _hold(unknowns, q, space, lane)
            stepped = _bounded_step(unknowns, q, space, damping, lane)
            if not stepped:
                damping = max(_FIRST_DAMPING, 8.0 * damping)
                look = newton
        length = 0.0
        if stepped:
            longest = 0.0
            for i in range(unknowns.speed.size):
                longest = max(longest, abs(space.step[i, lane]))
            length = _LONGEST_STEP / longest if longest > _LONGEST_STEP else 1.0
            fall = _predicted(unknowns, space, length, lane)
        elif look:
            newton = False
        else:
            # no step helps; the pose looked at last is one that was turned down, so look at the present one
            done = True
        _move(unknowns, q, space, length, trial, lane)
    return cost, status, iterations


@kernel
def _sees(targets, markers, goals, lane):
    """Whether any marker or task of the frame says where the model is."""
    seen = False
    for m in range(targets.node.size):
        seen = seen or (targets.weight[m] > 0.0 and not np.isnan(markers[3 * m, lane]))
    for k in range(targets.task_row.size):
        seen = seen or (targets.task_weight[k] > 0.0 and not np.isnan(goals[k, lane]))
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
def lowest_pose(model, unknowns, markers, goals, starts, tolerance, most, expected, q, other, space, errors, lane):
    """The minimum reached from q, or a lower one from one of `starts` (starts, n_q); as `nearest_pose`.

    Other starts are tried if the objective is well above `expected` (negative: try them in any case) or the search
    from q failed, and until the lowest minimum has been met again `_AGAIN` times. A lower one counts if it is clearly
    lower; of equal ones (turned by 360 degrees, say) the first found is kept or, if all starts were to be tried, the
    one that is least outside the model's ranges.
    """
    best, status, total, again = np.inf, SLOW, 0, 0
    s = -1
    while True:
        final = s == starts.shape[0]
        for k in range(q.shape[0]):
            other[k, lane] = q[k, lane] if s < 0 or final else starts[s, k]
        for k in range(model[2].given.size):
            other[model[2].given[k], lane] = q[model[2].given[k], lane]
        cost, outcome, iterations = nearest_pose(
            model, unknowns, markers, goals, tolerance, 0 if final else most, other, space, errors, lane
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


@driver
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
    )


@driver
def track_frames(
    model,
    unknowns,
    markers,
    goals,
    given,
    starts,
    tolerance,
    most,
    robust,
    stride,
    q,
    errors,
    objective,
    status,
    iterations,
    start,
    stop,
):
    """Frames start, start + stride, ... below stop, each from where the two before lead to.

    The first frame starts from q[start] and, with `robust`, from all of `starts`. So does a frame whose objective jumps
    or that does not converge, and the next one starts from the pose before it.

    Args:
        markers (frames, 3 markers), goals (frames, tasks), given (frames, given): what is known of each frame.
        q, errors, objective, status, iterations: results with the frame first; written.
    """
    _, _, couplings, _, targets = model
    n_q = q.shape[1]
    space = space_for(model, unknowns, n_q)
    here, other, trusted = np.zeros((n_q, 1)), np.zeros((n_q, 1)), np.zeros(n_q)
    for k in range(n_q):
        trusted[k] = q[start, k]
    # before the first frame anything is expected, or nothing
    expected, behind, doubtful = -1.0 if robust else np.inf, 0, 0
    for f in range(start, stop, stride):
        M, G, E = markers[f : f + 1].T, goals[f : f + 1].T, errors[f : f + 1].T
        seen = _sees(targets, M, G, 0)
        for k in range(n_q):
            if behind == 2 and seen:
                here[k, 0] = 2.0 * q[f - stride, k] - q[f - 2 * stride, k]
            else:
                here[k, 0] = trusted[k]
        for k in range(couplings.given.size):
            here[couplings.given[k], 0] = given[f, k]
        # where nothing is known no iteration is made: the pose stays what it was
        cost, outcome, count = lowest_pose(
            model, unknowns, M, G, starts, tolerance, most if seen else 0, expected, here, other, space, E, 0
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
