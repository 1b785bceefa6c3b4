"""Actuators with a control: at coordinates, at points, of torques, between points and on whole bodies."""

from __future__ import annotations

import math
from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.forces.fixed_frames import FixedFrames, frame_point, node_rotation
from musculo.kernels.scalar.vectors import accumulate3, add, cross, dot, rotate, scale, subtract


class CoordinateActuators(NamedTuple):
    """Forces on speeds."""

    control: IntArray  # (actuators,) row of the control; of an actuator with an activation, of that
    speed: IntArray  # (actuators,) row of u
    optimal_force: FloatArray


class PointActuators(NamedTuple):
    """Forces at points of bodies."""

    control: IntArray
    frame: FixedFrames  # the point of the body; where it is given in ground, its place there, and the frame is not used
    point: FloatArray  # (actuators, 3) in ground
    point_in_ground: IntArray
    force: FloatArray  # (actuators, 3) at a control of one, in the node or in ground
    force_in_ground: IntArray


class TorqueActuators(NamedTuple):
    """Torques on a body, and the opposite on another."""

    control: IntArray
    first: IntArray  # (actuators,) node
    second: IntArray
    torque: FloatArray  # (actuators, 3) at a control of one on the first, in its node or in ground
    in_ground: IntArray


class PairActuators(NamedTuple):
    """Forces that push a point of each of two bodies apart."""

    control: IntArray
    first: FixedFrames
    second: FixedFrames
    first_point: FloatArray  # (actuators, 3) in ground
    second_point: FloatArray
    in_ground: IntArray  # whether points are given in ground
    optimal_force: FloatArray


class BodyActuators(NamedTuple):
    """Torque and force on a body with a control for each of six components, torque first."""

    control: IntArray  # (actuators,) row of the first of six controls
    frame: FixedFrames
    point: FloatArray  # (actuators, 3) in ground
    point_in_ground: IntArray
    in_ground: IntArray  # whether torque and force are
    R: FloatArray  # (actuators, 9) of the body in its node


class Actuators(NamedTuple):
    """All actuators of a model that are no muscles and run along no path."""

    coordinate: CoordinateActuators
    point: PointActuators
    torque: TorqueActuators
    pair: PairActuators
    body: BodyActuators


@inline
def _row3(rows, k):
    return rows[k, 0], rows[k, 1], rows[k, 2]


@inline
def put_wrench(E, node, force, point, torque, lane):
    """Add a force at a point and a torque, in ground, to the wrench on a node."""
    accumulate3(E, 6 * node, lane, force)
    accumulate3(E, 6 * node + 3, lane, add(torque, cross(point, force)))


@kernel
def actuator_forces(a, controls, motion, E, tau, lane):
    """Add what actuators do under their controls x: x F, with F the optimal force.

        coordinate  x F on the speed          point   x F direction, at the point of the body
        torque      x F axis on the first body, the opposite on the second
        pair        x F (p_1 - p_2) / |p_1 - p_2| on the first body, the opposite on the second
        body        torque (x_1, x_2, x_3) and force (x_4, x_5, x_6) at the point of the body

    Source:  OpenSim 4.6, observed behavior. Controls are taken as they are, as there: no bound is applied here.
    Departs: where the points of a pair meet there is no direction and no force; OpenSim gives NaN.

    Args:
        a: `Actuators`. controls: (rows, lanes). motion: (MOTION_ROWS nodes, lanes) as `kinematics` writes it.
        E: (6 nodes, lanes), tau: (speeds, lanes), added to; as in `acting_forces`.
    """
    zero = (0.0, 0.0, 0.0)
    c = a.coordinate
    for k in range(c.control.size):
        row = c.speed[k]
        tau[row, lane] = tau[row, lane] + c.optimal_force[k] * controls[c.control[k], lane]
    p = a.point
    for k in range(p.control.size):
        node = p.frame.node[k]
        force = scale(controls[p.control[k], lane], _row3(p.force, k))
        if p.force_in_ground[k] == 0:
            force = rotate(node_rotation(node, motion, lane), force)
        point = _row3(p.point, k)
        if p.point_in_ground[k] == 0:
            point = frame_point(p.frame, k, motion, lane)
        put_wrench(E, node, force, point, zero, lane)
    t = a.torque
    for k in range(t.control.size):
        torque = scale(controls[t.control[k], lane], _row3(t.torque, k))
        if t.in_ground[k] == 0:
            torque = rotate(node_rotation(t.first[k], motion, lane), torque)
        accumulate3(E, 6 * t.first[k] + 3, lane, torque)
        accumulate3(E, 6 * t.second[k] + 3, lane, scale(-1.0, torque))
    b = a.pair
    for k in range(b.control.size):
        p_1, p_2 = _row3(b.first_point, k), _row3(b.second_point, k)
        if b.in_ground[k] == 0:
            p_1, p_2 = frame_point(b.first, k, motion, lane), frame_point(b.second, k, motion, lane)
        apart = subtract(p_1, p_2)
        length = math.sqrt(dot(apart, apart))
        if length > 0.0:
            force = scale(controls[b.control[k], lane] * b.optimal_force[k] / length, apart)
            put_wrench(E, b.first.node[k], force, p_1, zero, lane)
            put_wrench(E, b.second.node[k], scale(-1.0, force), p_2, zero, lane)
    d = a.body
    for k in range(d.control.size):
        first, node = d.control[k], d.frame.node[k]
        torque = (controls[first, lane], controls[first + 1, lane], controls[first + 2, lane])
        force = (controls[first + 3, lane], controls[first + 4, lane], controls[first + 5, lane])
        if d.in_ground[k] == 0:
            B = d.R
            R = (B[k, 0], B[k, 1], B[k, 2], B[k, 3], B[k, 4], B[k, 5], B[k, 6], B[k, 7], B[k, 8])
            R_WN = node_rotation(node, motion, lane)
            torque, force = rotate(R_WN, rotate(R, torque)), rotate(R_WN, rotate(R, force))
        point = _row3(d.point, k)
        if d.point_in_ground[k] == 0:
            point = frame_point(d.frame, k, motion, lane)
        put_wrench(E, node, force, point, torque, lane)
