"""The model as data: the tree of nodes that all kernels walk, and how a lane's workspace is laid out.

Node 0 is ground; a parent comes before its children. A node is one mobilizer and the mass that hangs on its outboard
frame M (welded bodies merged). Its frame is M itself: everything of a node is expressed in M, about M's origin.
X_PM = X_PF X_FM(q), with X_PF constant in the parent's frame.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, spliced, traced
from musculo.kernels.scalar.scalars import like
from musculo.kernels.scalar.vectors import load3

# Kinds of nodes. A revolute turns about z of F, a prismatic slides along z of F; all other mobilizers are general.
WELD, REVOLUTE, PRISMATIC, FUNCTION, BALL, FREE, ELLIPSOID = range(7)

# Rows of a node in the workspace. A revolute keeps cos and sin in the first two rows, a prismatic its coordinate in
# the first; a general node keeps its whole pose, and its joint's velocity and bias.
POSE = 0  # R_PM (9), p_PM (3)
OMEGA = 12  # angular velocity
ALPHA = 15  # angular acceleration
ACCEL = 18  # acceleration of the origin, less gravity
FORCE = 21  # force through the joint onto the node
MOMENT = 24  # moment through the joint onto the node, about M's origin
JOINT_OMEGA = 27  # w_FM; in the outboard frame, as the three below
JOINT_VELOCITY = 30  # v_FM
JOINT_ALPHA = 33  # angular acceleration at zero udot
JOINT_ACCEL = 36  # acceleration at zero udot
WORLD = 39  # R_WM (9), p_WM (3): kept only where external wrenches need it
NODE_ROWS = 51


class Tree(NamedTuple):
    """Arrays over the nodes (n, ...), node 0 being ground; `slots` number the speeds in tree order."""

    parent: IntArray  # (n,)
    kind: IntArray  # (n,)
    q_first: IntArray  # (n,) first entry of the node in q_rows
    q_rows: IntArray  # (coordinates,) row of q
    u_first: IntArray  # (n,) first slot of the node
    n_u: IntArray  # (n,) number of slots
    u_rows: IntArray  # (slots,) row of u, udot, tau
    R_PF: FloatArray  # (n, 9) row-major
    p_PF: FloatArray  # (n, 3)
    inertia: FloatArray  # (n, 10) mass, first moment (3), tensor about the origin xx yy zz xy xz yz
    massless: IntArray  # (n,) 1 where all of inertia is zero
    reversed: IntArray  # (n,) 1 where F is the outboard frame (general nodes only)
    guided: IntArray  # (n,) 1 where a function node only turns about z of F by its coordinate, and slides
    quaternion: IntArray  # (n,) 1 where a ball or free node takes w, x, y, z
    radii: FloatArray  # (n, 3) of an ellipsoid
    axes: FloatArray  # (n, 6, 3) unit axes of a function node: three rotations, three translations
    function: IntArray  # (n, 6) which function of the table drives the axis; -1: none
    argument_first: IntArray  # (n, 6) first entry of the axis in the two lists below
    argument_rows: IntArray  # (arguments,) row of q
    argument_dof: IntArray  # (arguments,) number of the slot within the node
    gravity: FloatArray  # (3,)


class Motion(NamedTuple):
    """A motion of all coordinates, the lane last."""

    q: FloatArray  # (n_q, lanes)
    u: FloatArray  # (n_u, lanes)
    udot: FloatArray  # (n_u, lanes)


class Loads(NamedTuple):
    """What acts on nodes from outside, in ground: force, then moment about ground's origin."""

    wrench: FloatArray  # (6 n, lanes)
    acting: bool  # whether there are any; else `wrench` is not read


@spliced
def hinge_row(tree, slot):
    """First of the six rows that hold a general node's column of H (angular, linear), in M."""
    return NODE_ROWS * tree.parent.size + 6 * slot


@spliced
def scratch_row(tree):
    """First of the rows in which functions of several coordinates are evaluated."""
    return NODE_ROWS * tree.parent.size + 6 * tree.u_rows.size


@spliced
def fixed_rotation(tree, i):
    """R_PF of node i."""
    F = tree.R_PF
    return F[i, 0], F[i, 1], F[i, 2], F[i, 3], F[i, 4], F[i, 5], F[i, 6], F[i, 7], F[i, 8]


@spliced
def fixed_position(tree, i):
    """p_PF of node i."""
    return tree.p_PF[i, 0], tree.p_PF[i, 1], tree.p_PF[i, 2]


@traced
def turned_about_z(F, c, s):
    """F R(z), given cos and sin: only the first two columns change."""
    return (
        F[0] * c + F[1] * s,
        F[1] * c - F[0] * s,
        F[2],
        F[3] * c + F[4] * s,
        F[4] * c - F[3] * s,
        F[5],
        F[6] * c + F[7] * s,
        F[7] * c - F[6] * s,
        F[8],
    )


@inline
def load_rotation(W, row, lane):
    """Nine rows from `row` on."""
    return (
        W[row, lane],
        W[row + 1, lane],
        W[row + 2, lane],
        W[row + 3, lane],
        W[row + 4, lane],
        W[row + 5, lane],
        W[row + 6, lane],
        W[row + 7, lane],
        W[row + 8, lane],
    )


@inline
def store_rotation(W, row, lane, R):
    """Write nine rows from `row` on."""
    W[row, lane] = R[0]
    W[row + 1, lane] = R[1]
    W[row + 2, lane] = R[2]
    W[row + 3, lane] = R[3]
    W[row + 4, lane] = R[4]
    W[row + 5, lane] = R[5]
    W[row + 6, lane] = R[6]
    W[row + 7, lane] = R[7]
    W[row + 8, lane] = R[8]


@inline
def pose(tree, i, W, lane):
    """R_PM (9) and p_PM (3) of a placed node."""
    b = i * NODE_ROWS
    kind = tree.kind[i]
    F = fixed_rotation(tree, i)
    p = fixed_position(tree, i)
    x = W[b, lane]
    if kind == REVOLUTE:
        R = turned_about_z(F, x, W[b + 1, lane])
        position = (like(x, p[0]), like(x, p[1]), like(x, p[2]))
    elif kind == PRISMATIC:
        R = (
            like(x, F[0]),
            like(x, F[1]),
            like(x, F[2]),
            like(x, F[3]),
            like(x, F[4]),
            like(x, F[5]),
            like(x, F[6]),
            like(x, F[7]),
            like(x, F[8]),
        )
        position = (p[0] + F[2] * x, p[1] + F[5] * x, p[2] + F[8] * x)
    else:
        R = load_rotation(W, b + POSE, lane)
        position = load3(W, b + POSE + 9, lane)
    return R, position


@spliced
def hinge_column(tree, i, k, W, lane):
    """Column k of H_M of node i: (angular, linear)."""
    zero = like(W[0, lane], 0.0)
    one = like(W[0, lane], 1.0)
    kind = tree.kind[i]
    if kind == REVOLUTE:
        angular = (zero, zero, one)
        linear = (zero, zero, zero)
    elif kind == PRISMATIC:
        angular = (zero, zero, zero)
        linear = (zero, zero, one)
    else:
        row = hinge_row(tree, tree.u_first[i] + k)
        angular = load3(W, row, lane)
        linear = load3(W, row + 3, lane)
    return angular, linear
