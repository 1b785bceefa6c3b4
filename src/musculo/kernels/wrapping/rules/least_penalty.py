"""The toll of a side that is not held, or the detour over the right side where that is shorter; for a second pass."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import add_scaled, dot, load3, rotate_back, scale, subtract
from musculo.kernels.tree.nodes import load_rotation
from musculo.kernels.wrapping.geodesic.taut_path import RESULT_ROWS
from musculo.kernels.wrapping.rules.detour import detour_of_side
from musculo.kernels.wrapping.rules.obstacles import POSE_ROWS, PRICE, PRICE_ROWS, PRICES, side_size, store_price
from musculo.kernels.wrapping.rules.side_penalty import rim_of, toll_of_side


@kernel
def least_toll_of_side(a, axis, sign, P, Q):
    """The toll, or the detour over the quadrant's side where that is shorter; as `toll_of_side`.

    On an ellipsoid no taut path need stay on a side by itself: the way round behind may be a saddle, or come and go. So
    there is no rule to keep, only the shortest path and what it would be longer on the quadrant's side (`detour`). The
    toll joins both edges of the rule: where the line passes the centre, and where it leaves the surface.

    The detour D is that of the surface shrunk to `rim`. It has the degree 1 in semi-axes, P and Q together, so that

        dD/d(rim) = (D - to_P . P - to_Q . Q) / rim
    """
    toll, to_P, to_Q = toll_of_side(a, axis, sign, P, Q)
    if toll > 0.0:
        rim, rim_P, rim_Q = rim_of(a, P, Q)
        detour, by_P, by_Q = detour_of_side(scale(rim, a), axis, sign, P, Q)
        if detour < toll:
            by_rim = (detour - dot(by_P, P) - dot(by_Q, Q)) / rim
            return detour, add_scaled(by_P, by_rim, rim_P), add_scaled(by_Q, by_rim, rim_Q)
    return toll, to_P, to_Q


@kernel
def take_detours(paths, n, P_W, Q_W, C, I, base, tags, most, lane):
    """Make the tolls of all obstacles the least ones."""
    for j in range(n):
        toll = base + (POSE_ROWS + RESULT_ROWS) * most + PRICE_ROWS * PRICES * j
        if C[toll + PRICE, lane] > 0.0:
            surface, x = I[tags + j, lane], base + POSE_ROWS * j
            R, p = load_rotation(C, x, lane), load3(C, x + 9, lane)
            P, Q = rotate_back(R, subtract(P_W, p)), rotate_back(R, subtract(Q_W, p))
            axis, sign = paths.surface_axis[surface], paths.surface_sign[surface]
            price, to_P, to_Q = least_toll_of_side(side_size(paths, surface), axis, sign, P, Q)
            store_price(C, toll, R, price, to_P, to_Q, lane)
