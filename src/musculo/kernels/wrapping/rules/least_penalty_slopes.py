"""How the slopes of the least tolls (`least_penalty`) change as the ends of a stretch move; for a second pass."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add, add_scaled, dot, scale
from musculo.kernels.wrapping.rules.detour import detour_of_side, detour_slopes
from musculo.kernels.wrapping.rules.penalty_slopes import rim_slopes, toll_slopes
from musculo.kernels.wrapping.rules.side_penalty import rim_of, toll_of_side


@kernel
def least_toll_slopes(a, axis, sign, P, Q, dP, dQ):
    """d(to_P), d(to_Q) of `least_toll_of_side`, where a toll is paid.

    With x = (P, Q) and the detour D(x, rim) of degree 1 in both: D_x of degree 0 gives D_x,rim = -D_xx x / rim, and
    D_rim = (D - x . D_x) / rim changes by (-x . D_xx dx + x . D_xx x d(rim) / rim) / rim.
    """
    rim, rim_P, rim_Q = rim_of(a, P, Q)
    shrunk = scale(rim, a)
    detour, by_P, by_Q = detour_of_side(shrunk, axis, sign, P, Q)
    if not detour < toll_of_side(a, axis, sign, P, Q)[0]:
        return toll_slopes(a, axis, sign, P, Q, dP, dQ)
    x, y = detour_slopes(shrunk, axis, sign, P, Q, dP, dQ)
    if rim == 1.0:
        return x, y
    grows = (dot(rim_P, dP) + dot(rim_Q, dQ)) / rim
    v, w = detour_slopes(shrunk, axis, sign, P, Q, P, Q)
    by_rim = (detour - dot(by_P, P) - dot(by_Q, Q)) / rim
    turns = (grows * (dot(P, v) + dot(Q, w)) - dot(P, x) - dot(Q, y)) / rim
    bent_P, bent_Q = rim_slopes(a, P, Q, dP, dQ)
    x = add(add_scaled(x, -grows, v), add_scaled(scale(turns, rim_P), by_rim, bent_P))
    y = add(add_scaled(y, -grows, w), add_scaled(scale(turns, rim_Q), by_rim, bent_Q))
    return x, y
