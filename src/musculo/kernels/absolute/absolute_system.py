"""A model in absolute coordinates as arrays, and the room to work on eight frames of it.

State x: for each body 1 .. n the position of its mass center in ground (3) and its Euler parameters (4), then the
coordinates that are unknowns too. Velocity v: for each body the velocity of its mass center in ground (3) and its
angular velocity in body axes (3), then the derivatives of these coordinates. Body 0 is ground.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, room
from musculo.kernels.scalar.packed import WIDTH

# Kinds of frames: fixed to its body; moved on it by functions of coordinates; moved on it as given over time.
FIXED_FRAME, FUNCTION_FRAME, GIVEN_FRAME = 0, 1, 2
# Rows of a frame in the workspace.
QUATERNION, ROTATION, PLACE, ARM, OMEGA, VELOCITY, GIVEN_OMEGA, GIVEN_VELOCITY, ALPHA_BIAS, ACCEL_BIAS = (
    0,
    4,
    13,
    16,
    19,
    22,
    25,
    28,
    31,
    34,
)
FRAME_ROWS = 37
# Rows of a body: rotation and angular velocity in ground.
BODY_ROWS = 12
# Rows of a function of up to six coordinates: value, gradient, Hessian.
SCRATCH_ROWS = 1 + 6 + 36
# Rows of what is given over time: of a number (value, rate, second derivative), and of the pose of a frame (quaternion
# and place; angular velocity and velocity; their derivatives; all in the frame that it moves in).
NUMBER_ROWS, POSE_ROWS = 3, 19


class AbsoluteSystem(NamedTuple):
    """Bodies, frames and equations; no array is empty."""

    bodies: int  # without ground
    coordinates: int  # that are unknowns too
    equations: int
    mass: FloatArray  # (bodies + 1,)
    inertia: FloatArray  # (bodies + 1, 6) about the mass center in body axes
    gravity: FloatArray  # (3,)
    frame_body: IntArray  # (frames,)
    frame_kind: IntArray  # (frames,)
    frame_quaternion: FloatArray  # (frames, 4) of the frame on its body, before its motion
    frame_place: FloatArray  # (frames, 3) from the mass center
    after_quaternion: FloatArray  # (frames, 4) what follows the motion
    after_place: FloatArray  # (frames, 3)
    frame_given: IntArray  # (frames,) first row of the given pose
    frame_function: IntArray  # (frames, 6) three rotations, three translations; -1 where there is none
    frame_axes: FloatArray  # (frames, 6, 3)
    argument_first: IntArray  # (frames, 6)
    argument_rows: IntArray  # rows of x
    argument_dof: IntArray  # which of the frame's coordinates
    dof_first: IntArray  # (frames + 1,) where the coordinates of a frame begin
    dof_coordinate: IntArray  # number of the coordinate
    first_term: IntArray  # (equations + 1,)
    kind: IntArray  # (terms,)
    first_frame: IntArray  # (terms,)
    second_frame: IntArray  # (terms,)
    coefficient: FloatArray  # (terms,)
    a: FloatArray  # (terms, 4)
    b: FloatArray  # (terms, 3)
    number: IntArray  # (terms,) function of the table, or row of what is given
    term_argument: IntArray  # (terms,) first of the arguments of a function of coordinates, in `argument_rows`
    slots: IntArray  # (terms, 4) elements of J: of the bodies' velocity and angular velocity, first and second frame
    slot_first: IntArray  # (terms,) where the elements of coordinates begin: first frame, second frame, or arguments
    coordinate_slots: IntArray
    row_first: IntArray  # (equations + 1,) where a row of J begins
    column: IntArray  # (elements,) of v
    load_first: IntArray  # (loads + 1,)
    load_rows: IntArray  # equations whose multipliers make a load
    load_body: IntArray  # (loads,) the body it acts on
    load_frame: IntArray  # (loads,) the frame at whose origin it is stated
    load_axes: IntArray  # (loads,) the frame in which it is expressed, -1 for ground
    chain_known: IntArray  # (joints,) frame of each joint on the body that is placed, from ground on
    chain_placed: IntArray  # (joints,) frame that is to coincide with it


class AbsoluteState(NamedTuple):
    """Positions, velocities and what is given over time, the lane last."""

    x: FloatArray
    v: FloatArray
    signals: FloatArray


class PlacedFrames(NamedTuple):
    """Where bodies and frames are and how they move, the lane last."""

    W: FloatArray  # bodies, frames, scratch
    H: FloatArray  # twist of a frame by each of its coordinates, (6 dofs,)


class EquationRows(NamedTuple):
    """The constraint equations Phi = 0, J v = nu, J a = gamma, the lane last."""

    phi: FloatArray  # (equations,)
    nu: FloatArray  # (equations,)
    gamma: FloatArray  # (equations,)
    J: FloatArray  # (elements,)


class NormalEquations(NamedTuple):
    """N = J^T W J, and the mass matrix where it is added, with its factor in its place; the lane last."""

    weight: FloatArray  # (equations,) W, of all lanes
    J: FloatArray  # (elements,)
    N: FloatArray  # (elements of N,)
    pivot: FloatArray  # (columns,) what elimination leaves of each diagonal element, as a part of it
    y: FloatArray  # (columns,) room


class NormalPattern(NamedTuple):
    """Where the elements of N = J^T W J and of its Cholesky factor are; columns in the order of elimination."""

    position: IntArray  # (columns,) of a column of v in the order of elimination
    mass_target: IntArray  # (bodies, 3) elements of N that a body's mass adds to
    inertia_target: IntArray  # (bodies, 6) and its inertia xx, yy, zz, xy, xz, yz
    pair_first: IntArray  # (equations + 1,)
    pair_target: IntArray  # element of N
    pair_left: IntArray  # elements of J
    pair_right: IntArray
    factor_first: IntArray  # (columns + 1,) elements of a column of the factor, its diagonal first
    factor_row: IntArray  # (elements of N,)
    update_first: IntArray  # (columns + 1,)
    update_target: IntArray  # N[target] -= N[left] N[right]
    update_left: IntArray
    update_right: IntArray


class AbsoluteSpace(NamedTuple):
    """What eight frames need."""

    x: FloatArray
    v: FloatArray
    a: FloatArray
    signals: FloatArray
    W: FloatArray  # bodies, frames, scratch
    H: FloatArray  # twist of a frame by each of its coordinates, (6 dofs,)
    phi: FloatArray  # (equations,)
    nu: FloatArray  # (equations,) right-hand side of the velocities
    gamma: FloatArray  # (equations,) right-hand side of the accelerations
    J: FloatArray
    N: FloatArray
    pivot: FloatArray  # (columns,) what elimination leaves of each diagonal element, as a part of it
    step: FloatArray  # (columns,)
    left: FloatArray  # (columns,)
    y: FloatArray  # (columns,)
    rest: FloatArray  # (equations,)
    force: FloatArray  # (columns,)
    multipliers: FloatArray  # (equations,)
    loads: FloatArray  # (6 loads,)


@inline
def frame_row(system, f):
    """First row of a frame."""
    return BODY_ROWS * (system.bodies + 1) + FRAME_ROWS * f


@inline
def scratch_row(system):
    """First row of the room for values of functions."""
    return BODY_ROWS * (system.bodies + 1) + FRAME_ROWS * system.frame_body.size


@inline
def columns_of(system):
    """How many unknown velocities there are."""
    return 6 * system.bodies + system.coordinates


@room
def absolute_space(system, pattern, signals):
    """Room for eight frames with `signals` rows of what is given over time."""
    n, m = columns_of(system), system.equations
    return AbsoluteSpace(
        np.zeros((7 * system.bodies + system.coordinates, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((signals, WIDTH)),
        np.zeros((scratch_row(system) + SCRATCH_ROWS, WIDTH)),
        np.zeros((6 * system.dof_coordinate.size, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((system.column.size, WIDTH)),
        np.zeros((pattern.factor_row.size, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((n, WIDTH)),
        np.zeros((m, WIDTH)),
        np.zeros((6 * system.load_body.size, WIDTH)),
    )
