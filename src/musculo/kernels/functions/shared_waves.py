"""Fourier series of one argument that share their frequencies: the joint variables of a loop that goes round."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.scalars import sincos


@kernel
def evaluate_together(table, functions, first, stop, x, out):
    """Value, first and second derivative of the FOURIER functions[first .. stop - 1] at x, three rows of `out` each.

        f = a_0 + sum_k a_k cos(k w x) + b_k sin(k w x)

    Departs:    `function_table.evaluate` asks for a sine and a cosine for each frequency of each series; here all
                series take the same waves, and each wave comes from the one before by the addition theorems. Rounding
                errors grow with k at most, as they do in k w x.
    """
    of_first = functions[first]
    omega = table.data[table.data_offsets[of_first] + 1]
    for i in range(first, stop):
        out[3 * i] = table.data[table.data_offsets[functions[i]]]
        out[3 * i + 1] = 0.0
        out[3 * i + 2] = 0.0
    s_1, c_1 = sincos(omega * x)
    s, c = s_1, c_1
    for k in range(table.counts[of_first]):
        frequency = (k + 1) * omega
        square = frequency * frequency
        for i in range(first, stop):
            at = table.data_offsets[functions[i]] + 2 + 2 * k
            a, b = table.data[at], table.data[at + 1]
            wave = a * c + b * s
            out[3 * i] += wave
            out[3 * i + 1] += frequency * (b * c - a * s)
            out[3 * i + 2] -= square * wave
        s, c = s * c_1 + c * s_1, c * c_1 - s * s_1
