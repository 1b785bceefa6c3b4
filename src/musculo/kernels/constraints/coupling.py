"""Embedding inside kernels: coordinates that follow others, and how gradients and Hessians are pulled back to the rest.

The rules come from `musculo.embedding.couplers.embedding_tables`, sorted so that inputs come before what depends on
them.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import kernel
from musculo.kernels.functions.function_lanes import evaluate_function
from musculo.kernels.functions.function_values import evaluate_multivariate


class Couplings(NamedTuple):
    """q[dependent] = scale function(q[inputs]), one after the other; given coordinates come with the frame."""

    dependent: IntArray  # (rules,) row of q
    function: IntArray  # (rules,) in the table of functions
    scale: FloatArray  # (rules,)
    first_input: IntArray  # (rules + 1,)
    inputs: IntArray  # (inputs,) row of q
    first_slope: IntArray  # (rules + 1,) rows of value, gradient and Hessian in the workspace
    given: IntArray  # (given,) rows of q that are locked or prescribed
    speed_row: IntArray  # (coordinates,) row of u of each coordinate; -1 for parts of a quaternion


@kernel
def follow(couplings, table, q, slopes, lane):
    """Fill the dependent rows of q; keeps value, gradient and Hessian of every rule in `slopes`."""
    for r in range(couplings.dependent.size):
        row, function, first = couplings.first_slope[r], couplings.function[r], couplings.first_input[r]
        m = table.n_arguments[function]
        if m <= 1:
            f, f1, f2 = evaluate_function(table, function, q[couplings.inputs[first] if m == 1 else 0, lane])
            slopes[row, lane] = f
            if m == 1:
                slopes[row + 1, lane] = f1
                slopes[row + 2, lane] = f2
        else:
            evaluate_multivariate(table, (function, m), q, couplings.inputs, first, lane, slopes, row)
        q[couplings.dependent[r], lane] = couplings.scale[r] * slopes[row, lane]


@kernel
def pull_back(couplings, table, slopes, curved, n, gradient, hessian, lane):
    """Gradient (n,) and Hessian (n n,) by all speeds to those by independent ones, in place.

        g_a += f_a g_k,   H += f_a e_a H_k^T + H_k f_a e_a^T + f_a f_b H_kk e_a e_b^T + g_k f_ab e_a e_b^T

    for every rule q_k = f(q_a, q_b, ...), last rule first, so that chains pass through. The last term, the rule's own
    curvature, is taken if `curved`. Rows of dependent speeds are left as they were and mean nothing afterwards.
    """
    for r in range(couplings.dependent.size - 1, -1, -1):
        k = couplings.speed_row[couplings.dependent[r]]
        m = table.n_arguments[couplings.function[r]]
        first, row, scale = couplings.first_input[r], couplings.first_slope[r], couplings.scale[r]
        for i in range(m):
            a = couplings.speed_row[couplings.inputs[first + i]]
            slope = scale * slopes[row + 1 + i, lane]
            gradient[a, lane] += slope * gradient[k, lane]
            for j in range(n):
                hessian[a * n + j, lane] += slope * hessian[k * n + j, lane]
            for j in range(n):
                hessian[j * n + a, lane] += slope * hessian[j * n + k, lane]
            if curved:
                for j in range(m):
                    b = couplings.speed_row[couplings.inputs[first + j]]
                    bend = scale * slopes[row + 1 + m + i * m + j, lane]
                    hessian[a * n + b, lane] += gradient[k, lane] * bend
