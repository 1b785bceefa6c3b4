"""What couplers, locks and prescribed motions make of coordinates, speeds and accelerations, over frames."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver, inline, kernel, unfused
from musculo.kernels.functions.function_values import evaluate, evaluate_many


class RuledFrames(NamedTuple):
    """Frames of coordinates some of which follow others."""

    given_q: FloatArray  # (frames, n)
    given_u: FloatArray  # (frames, n_u)
    q: FloatArray  # (frames, n) as the rules make them of the independent ones that are given
    u: FloatArray  # (frames, n_u)
    bias: FloatArray  # (frames, n_u) accelerations at zero independent ones
    slopes: FloatArray  # (frames, inputs)


class RuleSpace(NamedTuple):
    """What one frame needs."""

    d: FloatArray  # (rows, 1) value, gradient and Hessian of one function
    x: FloatArray  # (n, 1) coordinates


@unfused
def _follow(rules, functions, time, frames, space, f):
    """Frame f: coordinates space.x, speeds and biases that follow others, and the slopes with which they do.

    q_k = s f,   u_k = s f_a u_a (+ f'),   bias_k = s f_a bias_a (+ f'') + s f_ab u_a u_b, in brackets those of time
    """
    x, d, u, bias, slopes = space.x, space.d, frames.u, frames.bias, frames.slopes
    at = 0
    for k in range(rules.function.size):
        function, scale, first = rules.function[k], rules.scale[k], rules.first_input[k]
        m = rules.first_input[k + 1] - first
        value, rate, bend, drift = rules.value[k], 0.0, 0.0, 0.0
        for a in range(m):
            slopes[f, at + a] = 0.0  # as it stays for a constant
        if function >= 0 and rules.timed[k] == 1:
            value, rate, drift, _ = evaluate(functions, function, time)
        elif function >= 0:
            evaluate_many(functions, function, x, rules.input_q, first, 0, d, 0)
            value = scale * d[0, 0]
            m = functions.n_arguments[function]
            for a in range(m):
                slope, row = scale * d[1 + a, 0], rules.input_u[first + a]
                slopes[f, at + a] = slope
                rate += slope * u[f, row]
                drift += slope * bias[f, row]
                for b in range(m):
                    bend += scale * d[1 + m + a * m + b, 0] * u[f, row] * u[f, rules.input_u[first + b]]
        at += rules.first_input[k + 1] - first
        own, own_u = rules.follower[k, 0], rules.follower[k, 1]
        x[own, 0] = value
        u[f, own_u] = rate
        bias[f, own_u] = drift + bend


@kernel
def frame_of_rules(rules, functions, time, frames, space, f):
    """Frame f of `rule_frames`; how far what is given is from the rules."""
    given_q, given_u, q, u, x = frames.given_q, frames.given_u, frames.q, frames.u, space.x
    error = 0.0
    for k in range(q.shape[1]):
        x[k, 0] = given_q[f, k]
    for k in range(u.shape[1]):
        u[f, k] = given_u[f, k]
        frames.bias[f, k] = 0.0
    _follow(rules, functions, time, frames, space, f)
    for k in range(q.shape[1]):
        q[f, k] = x[k, 0]
        error = max(error, abs(given_q[f, k] - q[f, k]))
    for k in range(u.shape[1]):
        error = max(error, abs(given_u[f, k] - u[f, k]) / (1.0 + abs(u[f, k])))
    return error


@inline
def scratch_rows(functions):
    """Rows for value, gradient and Hessian of any function of the table."""
    most = 0
    for k in range(functions.n_arguments.size):
        most = max(most, functions.n_arguments[k])
    return 1 + most + most * most + 2


@driver
def rule_frames(rules, functions, time, frames, start, stop):
    """Frames start .. stop - 1: coordinates and speeds as the rules make them of the independent ones that are given.

    Args: rules, functions: `RuleRows`, inputs first, and their functions. time: (frames,) [s]. frames: `RuledFrames`.

    Returns:
        The largest difference between what is given and what the rules make of it: of coordinates, and of speeds as
        a part of 1 + |speed|.
    """
    space = RuleSpace(np.zeros((scratch_rows(functions), 1)), np.zeros((frames.q.shape[1], 1)))
    error = 0.0
    for f in range(start, stop):
        error = max(error, frame_of_rules(rules, functions, time[f], frames, space, f))
    return error
