"""The recursion of a linear filter, for all columns of a recording at once."""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver, unfused


@unfused
def _frame(b, a, state, x, f):
    last = state.shape[0] - 1
    for c in range(x.shape[1]):
        u = x[f, c]
        y = b[0] * u + state[0, c]
        for k in range(last):
            state[k, c] = b[k + 1] * u - a[k + 1] * y + state[k + 1, c]
        state[last, c] = b[last + 1] * u - a[last + 1] * y
        x[f, c] = y


@driver
def recursion_frames(b, a, state, x):
    """y of a_0 y_t + a_1 y_t-1 + ... = b_0 x_t + b_1 x_t-1 + ..., a_0 = 1, in place of x (frames, columns).

        y = b_0 x + s_1,   s_k = b_k x - a_k y + s_k+1        (direct form II, transposed)

    Source: Oppenheim & Schafer 1999, Discrete-Time Signal Processing, chapter 6.

    Args:
        b, a: (order + 1,).
        state: (order, columns), s before the first frame; overwritten with s after the last.
    """
    for f in range(x.shape[0]):
        _frame(b, a, state, x, f)
