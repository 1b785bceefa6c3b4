"""How far an orientation is from a measured one, and what that adds to the sums of a fit.

    2 J = sum_s w_s theta_s^2 / sum_s w_s,   R_model = exp([e]) R_measured,   theta = |e|,   e in ground

The slope of theta^2 / 2 along an angular velocity w is e . w, and its second derivative along w and alpha is

    w^T A w + e . alpha,   A = (1 - k theta^2) 1 + k e e^T,   k = (1 - (theta / 2) cot(theta / 2)) / theta^2

(A is the symmetric part of the inverse left Jacobian of the rotation group: Sola, Deray & Atchuthan 2018, eq. 146.)
Those are a torque and an inertia, so a sensor goes into the sums that markers make (`musculo.kernels.fit.pose_fit`):
the inertia as the second moment S = tr(A) / 2 - A = 1/2 - k e e^T, the torque as the mixed moment [e] / 2, whose
antisymmetric part is what turns and what second derivatives need.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.scalar.vectors import matmul, scale, transpose
from musculo.kernels.tree.nodes import load_rotation

# Below this angle [rad] the factor k is taken from its series, whose next term is 5e-17 there.
_SMALL = 0.02


@spliced
def turn_between(R_model, R_measured):
    """(e, theta): R_model = exp([e]) R_measured, theta = |e| in [0, pi]."""
    R = matmul(R_model, transpose(R_measured))
    s = (0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1]))
    sine = math.sqrt(s[0] * s[0] + s[1] * s[1] + s[2] * s[2])
    cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0)
    theta = math.atan2(sine, cosine)
    if cosine > 0.0:
        return scale(theta / sine if sine > 0.0 else 1.0, s), theta
    # near half a turn the sine says little of the axis: (1 - cosine) a a^T = symmetric part - cosine
    x, y, z = R[0] - cosine, R[4] - cosine, R[8] - cosine
    if x >= y and x >= z:
        a = (x, 0.5 * (R[1] + R[3]), 0.5 * (R[2] + R[6]))
    elif y >= z:
        a = (0.5 * (R[1] + R[3]), y, 0.5 * (R[5] + R[7]))
    else:
        a = (0.5 * (R[2] + R[6]), 0.5 * (R[5] + R[7]), z)
    size = math.sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    along = a[0] * s[0] + a[1] * s[1] + a[2] * s[2]
    return scale(theta / size if along >= 0.0 else -theta / size, a), theta


@spliced
def _bend(theta):
    """k = (1 - (theta / 2) cot(theta / 2)) / theta^2, which is 1/12 at zero and 1/pi^2 at half a turn."""
    square = theta * theta
    if theta < _SMALL:
        return 1.0 / 12.0 + square * (1.0 / 720.0 + square / 30240.0)
    half = 0.5 * theta
    return (1.0 - half * math.cos(half) / math.sin(half)) / square


@kernel
def fit_sensors(targets, sensors, poses, sums, rows, angles, lane):
    """The sensors' part of 2 J; adds them to the sums of their nodes.

    Args:
        sensors: (9 sensors, lanes) measured R_WS, row-major; NaN in the first: not measured.
        poses, sums: of the nodes. rows: of a pose, of a node's sums, and where in these second and mixed moments begin.
        angles: (sensors, lanes), written [rad]; NaN where there was no measurement.
    """
    pose_rows, sum_rows, second, mixed = rows
    total = 0.0
    for m in range(targets.sensor_node.size):
        if not math.isnan(sensors[9 * m, lane]):
            total += targets.sensor_weight[m]
    share = 1.0 / total if total > 0.0 else 0.0
    cost = 0.0
    for m in range(targets.sensor_node.size):
        if math.isnan(sensors[9 * m, lane]):
            angles[m, lane] = np.nan
            continue
        i = targets.sensor_node[m]
        R = matmul(load_rotation(poses, i * pose_rows, lane), load_rotation(targets.sensor_rotation, 9 * m, 0))
        e, theta = turn_between(R, load_rotation(sensors, 9 * m, lane))
        angles[m, lane] = theta
        w = targets.sensor_weight[m] * share
        if w > 0.0:
            cost += w * theta * theta
            k, o = w * _bend(theta), i * sum_rows + second
            for j in range(3):
                sums[o + j, lane] += 0.5 * w - k * e[j] * e[j]
            sums[o + 3, lane] -= k * e[0] * e[1]
            sums[o + 4, lane] -= k * e[0] * e[2]
            sums[o + 5, lane] -= k * e[1] * e[2]
            o, h = i * sum_rows + mixed, 0.5 * w
            sums[o + 7, lane] += h * e[0]
            sums[o + 5, lane] -= h * e[0]
            sums[o + 2, lane] += h * e[1]
            sums[o + 6, lane] -= h * e[1]
            sums[o + 3, lane] += h * e[2]
            sums[o + 1, lane] -= h * e[2]
    return cost
