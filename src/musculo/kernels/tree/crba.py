"""Composite rigid bodies: the mass matrix of the tree, O(n depth)."""

from __future__ import annotations

from musculo.kernels.compiler.parts import apart, inline, kernel, spliced, traced
from musculo.kernels.scalar.vectors import (
    add,
    add_scaled,
    cross,
    dot,
    load3,
    rotate,
    rotate_symmetric,
    store3,
    symmetric_times,
)
from musculo.kernels.tree.mobilizer import place
from musculo.kernels.tree.nodes import PRISMATIC, REVOLUTE, hinge_row, pose

COMPOSITE_ROWS = 10  # mass, first moment (3), tensor about the origin (6)


@traced
def shift_inertia(m, h, J, R, p):
    """Mass, first moment and tensor of M, expressed in and about the origin of P.

    h_P = R h + m p,   J_P = R J R^T + 2 (p . R h) 1 - p (R h)^T - (R h) p^T + m (p . p 1 - p p^T).
    """
    g = rotate(R, h)
    J = rotate_symmetric(R, J)
    # with k = R h + m p / 2 both corrections are one: 2 (p . k) 1 - p k^T - k p^T
    k = add_scaled(g, 0.5 * m, p)
    d = 2.0 * dot(p, k)
    J = (
        J[0] + d - 2.0 * p[0] * k[0],
        J[1] + d - 2.0 * p[1] * k[1],
        J[2] + d - 2.0 * p[2] * k[2],
        J[3] - p[0] * k[1] - k[0] * p[1],
        J[4] - p[0] * k[2] - k[0] * p[2],
        J[5] - p[1] * k[2] - k[1] * p[2],
    )
    return add_scaled(g, m, p), J


@inline
def _load_tensor(C, row, lane):
    return (
        C[row, lane],
        C[row + 1, lane],
        C[row + 2, lane],
        C[row + 3, lane],
        C[row + 4, lane],
        C[row + 5, lane],
    )


@spliced
def _project(tree, j, force, moment, W, M, column, lane):
    """Row entries of M that node j's hinge columns take from a wrench expressed in j, both halves of the matrix."""
    n_u = tree.u_rows.size
    first = tree.u_first[j]
    kind = tree.kind[j]
    if kind == REVOLUTE:
        row = tree.u_rows[first]
        M[row * n_u + column, lane] = moment[2]
        M[column * n_u + row, lane] = moment[2]
    elif kind == PRISMATIC:
        row = tree.u_rows[first]
        M[row * n_u + column, lane] = force[2]
        M[column * n_u + row, lane] = force[2]
    else:
        for k in range(tree.n_u[j]):
            row = tree.u_rows[first + k]
            at = hinge_row(tree, first + k)
            entry = dot(load3(W, at, lane), moment) + dot(load3(W, at + 3, lane), force)
            M[row * n_u + column, lane] = entry
            M[column * n_u + row, lane] = entry


@kernel
def crba(tree, table, q, W, C, M, lane):
    """Mass matrix of one lane: M (n_u n_u, lanes), written where two speeds act on a common path to ground.

    Entries of unrelated speeds are zero and never written: hand in zeros.

    Args:
        tree, table: the model. q: (rows, lanes). W: workspace. C: composites (COMPOSITE_ROWS n, lanes).
    """
    apart()
    n = tree.parent.size
    moving = n < 0  # no literal, as in `rnea`
    for i in range(1, n):
        place(tree, table, i, q, q, moving, W, lane)
    placed_mass_matrix(tree, W, C, M, lane)


@kernel
def placed_mass_matrix(tree, W, C, M, lane):
    """As `crba`, of nodes that `rnea` or `kinematics` placed in W for the same q: a third of its time less."""
    n = tree.parent.size
    for i in range(1, n):
        for k in range(COMPOSITE_ROWS):
            C[i * COMPOSITE_ROWS + k, lane] = tree.inertia[i, k]
    for i in range(n - 1, 0, -1):
        c = i * COMPOSITE_ROWS
        m = C[c, lane]
        h = load3(C, c + 1, lane)
        J = _load_tensor(C, c + 4, lane)
        first = tree.u_first[i]
        kind = tree.kind[i]
        for k in range(tree.n_u[i]):
            column = tree.u_rows[first + k]
            # wrench that a unit of this udot needs from the composite body: f = m a + alpha x h, t = J alpha + h x a
            zero = m - m
            if kind == REVOLUTE:
                force = (-h[1], h[0], zero)
                moment = (J[4], J[5], J[2])
            elif kind == PRISMATIC:
                force = (zero, zero, m)
                moment = (h[1], -h[0], zero)
            else:
                row = hinge_row(tree, first + k)
                angular, linear = load3(W, row, lane), load3(W, row + 3, lane)
                force = add_scaled(cross(angular, h), m, linear)
                moment = add(symmetric_times(J, angular), cross(h, linear))
            j = i
            while j > 0:
                _project(tree, j, force, moment, W, M, column, lane)
                R, p = pose(tree, j, W, lane)
                force = rotate(R, force)
                moment = add(rotate(R, moment), cross(p, force))
                j = tree.parent[j]
        P = tree.parent[i]
        if P > 0:
            R, p = pose(tree, i, W, lane)
            h, J = shift_inertia(m, h, J, R, p)
            up = P * COMPOSITE_ROWS
            C[up, lane] = C[up, lane] + m
            store3(C, up + 1, lane, add(load3(C, up + 1, lane), h))
            for k in range(6):
                C[up + 4 + k, lane] = C[up + 4 + k, lane] + J[k]
