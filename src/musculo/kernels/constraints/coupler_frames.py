"""What couplers, locks and prescribed motions make of coordinates, speeds and accelerations, over frames."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import driver, inline, kernel, unfused
from musculo.kernels.functions.function_values import evaluate, evaluate_many


@unfused
def _follow(rules, functions, time, x, u, bias, slopes, d, f):
    """Frame f: coordinates x (n, 1) and rows f of u and bias that follow others, and the slopes with which they do.

        q_k = s f,   u_k = s f_a u_a (+ f'),   bias_k = s f_a bias_a (+ f'') + s f_ab u_a u_b, in brackets those of time

    Args: d: workspace for value, gradient and Hessian of one function, (rows, 1).
    """
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
def frame_of_rules(rules, functions, time, given_q, given_u, q, u, bias, slopes, d, x, f):
    """Frame f of `rule_frames`. d, x: workspaces, (rows, 1). Returns how far what is given is from the rules."""
    error = 0.0
    for k in range(q.shape[1]):
        x[k, 0] = given_q[f, k]
    for k in range(u.shape[1]):
        u[f, k] = given_u[f, k]
        bias[f, k] = 0.0
    _follow(rules, functions, time, x, u, bias, slopes, d, f)
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
def rule_frames(rules, functions, time, given_q, given_u, q, u, bias, slopes, start, stop):
    """Frames start .. stop - 1: coordinates q and speeds u as the rules make them of the independent ones in `given`.

    Args:
        rules, functions: `RuleRows`, inputs first, and their functions. time: (frames,) [s].
        given_q, q: (frames, n). given_u, u: (frames, n_u).
        bias: (frames, n_u) accelerations at zero independent ones, written. slopes: (frames, inputs), written.

    Returns:
        The largest difference between what is given and what the rules make of it: of coordinates, and of speeds as
        a part of 1 + |speed|.
    """
    d, x = np.zeros((scratch_rows(functions), 1)), np.zeros((q.shape[1], 1))
    error = 0.0
    for f in range(start, stop):
        error = max(error, frame_of_rules(rules, functions, time[f], given_q, given_u, q, u, bias, slopes, d, x, f))
    return error
