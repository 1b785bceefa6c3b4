"""Geodesics from a point along a direction, with the fields that say how their ends move.

Great circles and helices are closed forms; on ellipsoid and torus an eighth-order Runge-Kutta method of Dormand and
Prince follows the curve, with the step set by its own error estimate.
"""

from __future__ import annotations

import math

import numpy as np

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.scalar.vectors import dot, load3, store3
from musculo.kernels.wrapping.geodesic.surface_shape import (
    CYLINDER,
    SPHERE,
    TORUS,
    along_surface,
    bending,
    hessian_times,
    onto,
    slope,
    unit,
)

# What is followed: x (3), t (3), y_1, y_1', y_2, y_2', press.
_STATE = 11
_STAGES = 12
# Rows that `geodesic_end` needs: the state, the slopes of all stages, and the state of a stage.
GEODESIC_STATE = _STATE * (_STAGES + 2)
# Errors a step of position over size and of direction: at first, and at last, when ends are good to 1e-12 of the size.
COARSE, FINE = 1e-6, 1e-11
# A turn of so many radians is the first step's guess, and no step is longer than three times that.
_FIRST_TURN = 0.3
_MOST_STEPS = 2000

# The method's tableau: for every stage its first entry in the lists of the earlier stages' rows and of their weights
# where these are not zero; the weights of the sum, and those of the error estimates of order 5 and 3.
# Source: Hairer, Norsett, Wanner, Solving ODEs I, DOP853.
# fmt: off
_ENTRY = np.array([0, 0, 1, 3, 5, 8, 11, 15, 20, 26, 33, 41, 50])
_EARLIER = _STATE * np.array([
    0, 0, 1, 0, 2, 0, 2, 3, 0, 3, 4, 0, 3, 4, 5, 0, 3, 4, 5, 6, 0, 3, 4, 5, 6, 7, 0, 3, 4, 5, 6, 7, 8, 0, 3, 4, 5,
    6, 7, 8, 9, 0, 3, 4, 5, 6, 7, 8, 9, 10,
])
_WEIGHT = np.array([
    0.05260015195876773, 0.0197250569845379, 0.0591751709536137, 0.02958758547680685, 0.08876275643042054,
    0.2413651341592667, -0.8845494793282861, 0.924834003261792, 0.037037037037037035, 0.17082860872947386,
    0.12546768756682242, 0.037109375, 0.17025221101954405, 0.06021653898045596, -0.017578125, 0.03709200011850479,
    0.17038392571223998, 0.10726203044637328, -0.015319437748624402, 0.008273789163814023, 0.6241109587160757,
    -3.3608926294469414, -0.868219346841726, 27.59209969944671, 20.154067550477894, -43.48988418106996,
    0.47766253643826434, -2.4881146199716677, -0.590290826836843, 21.230051448181193, 15.279233632882423,
    -33.28821096898486, -0.020331201708508627, -0.9371424300859873, 5.186372428844064, 1.0914373489967295,
    -8.149787010746927, -18.52006565999696, 22.739487099350505, 2.4936055526796523, -3.0467644718982196,
    2.273310147516538, -10.53449546673725, -2.0008720582248625, -17.9589318631188, 27.94888452941996,
    -2.8589982771350235, -8.87285693353063, 12.360567175794303, 0.6433927460157636,
])
_SUM = np.array([
    0.054293734116568765, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    0.3111643669578199, -0.1521609496625161, 0.20136540080403034, 0.04471061572777259,
])
_FIFTH = np.array([
    0.01312004499419488, 0.0, 0.0, 0.0, 0.0, -1.2251564463762044, -0.4957589496572502, 1.6643771824549864,
    -0.35032884874997366, 0.3341791187130175, 0.08192320648511571, -0.022355307863886294,
])
_THIRD = np.array([
    -0.18980075407240762, 0.0, 0.0, 0.0, 0.0, 4.450312892752409, 1.8915178993145003, -5.801203960010585,
    -0.4226823213237919, -0.1521609496625161, 0.20136540080403034, 0.02265179219836082,
])
# fmt: on


@kernel
def _slopes(shape, W, state, rates, lane):
    """Right-hand side: writes the rates of the eleven states."""
    x, t = load3(W, state, lane), load3(W, state + 3, lane)
    g = slope(shape, x)
    g2 = dot(g, g)
    f = dot(t, hessian_times(shape, x, t)) / g2
    store3(W, rates, lane, t)
    store3(W, rates + 3, lane, (-f * g[0], -f * g[1], -f * g[2]))
    if shape[0] == TORUS:
        rho = math.sqrt(x[0] * x[0] + x[1] * x[1])
        gauss = (rho - shape[5]) / (shape[4] * shape[4] * rho)
        press = f * math.sqrt(g2) * shape[4]
    else:
        gauss = shape[1] * shape[2] * shape[3] / (g2 * g2)
        press = f * dot(g, x)
    W[rates + 6, lane] = W[state + 7, lane]
    W[rates + 7, lane] = -gauss * W[state + 6, lane]
    W[rates + 8, lane] = W[state + 9, lane]
    W[rates + 9, lane] = -gauss * W[state + 8, lane]
    W[rates + 10, lane] = press


@kernel
def _error(W, rates, h, size, lane):
    """Estimated error of a step of size h in position over size and in direction, as DOP853 blends its estimates."""
    fifth, third = 0.0, 0.0
    for i in range(6):
        e5, e3 = 0.0, 0.0
        for j in range(_STAGES):
            k = W[rates + _STATE * j + i, lane]
            e5 += _FIFTH[j] * k
            e3 += _THIRD[j] * k
        if i < 3:
            e5, e3 = e5 / size, e3 / size
        fifth += e5 * e5
        third += e3 * e3
    if fifth == 0.0:
        return 0.0
    return h * fifth / math.sqrt(6.0 * (fifth + 0.01 * third))


@kernel
def _march(shape, length, error_a_step, W, row, lane):
    """Follow the eleven states in `row` for `length`, in place."""
    rates = row + _STATE
    stage = rates + _STATE * _STAGES
    x, t = load3(W, row, lane), load3(W, row + 3, lane)
    turn = -bending(shape, x, t, t)[0]
    longest = 3.0 * _FIRST_TURN * max(shape[4], shape[5])
    if shape[0] != TORUS:
        longest = 3.0 * _FIRST_TURN / math.sqrt(min(shape[1], min(shape[2], shape[3])))
    h = min(_FIRST_TURN / max(math.fabs(turn), 1e-300), longest)
    sign = 1.0 if length >= 0.0 else -1.0
    left = math.fabs(length)
    for _ in range(_MOST_STEPS):
        if left <= 0.0:
            break
        # the last two steps share what is left, so that none is tiny
        h = left if h >= left else (0.5 * left if 2.0 * h > left else h)
        step = sign * h
        _slopes(shape, W, row, rates, lane)
        for s in range(1, _STAGES):
            for i in range(_STATE):
                total = 0.0
                for k in range(_ENTRY[s], _ENTRY[s + 1]):
                    total += _WEIGHT[k] * W[rates + _EARLIER[k] + i, lane]
                W[stage + i, lane] = W[row + i, lane] + step * total
            _slopes(shape, W, stage, rates + _STATE * s, lane)
        error = _error(W, rates, h, shape[4], lane) / error_a_step
        if error <= 1.0 or h < 1e-9 * shape[4]:
            for i in range(_STATE):
                total = 0.0
                for j in range(_STAGES):
                    total += _SUM[j] * W[rates + _STATE * j + i, lane]
                W[row + i, lane] += step * total
            left -= h
            if left < 1e-15 * math.fabs(length):
                left = 0.0
        h = min(longest, h * min(4.0, max(0.2, 0.9 * max(error, 1e-8) ** -0.125)))


@kernel
def geodesic_end(shape, x, t, length, error_a_step, W, row, lane):
    """Follow the geodesic from x along the unit tangent t for `length` (negative: backwards).

        x'' = II(t, t) n,   y'' + K y = 0,   press' = how much a larger surface lengthens the path

    `row`: GEODESIC_STATE rows that receive x (3), t (3), the Jacobi fields y_1, y_1', y_2, y_2' that start as
    (1, 0) and (0, 1), and press = d(length) / d(ln size) (a torus: per tube radius, times it); then room for the steps.

    Source:     [Scholz2015], eq. 16-20 (natural geodesic variations); [Ruggiero2020] eq. 22-23 for the curve.
    Guarantees: great circles and helices in closed form; elsewhere `error_a_step`, of the size, in every step.
    """
    r = shape[4]
    if shape[0] == SPHERE:
        c, s = math.cos(length / r), math.sin(length / r)
        store3(W, row, lane, (c * x[0] + r * s * t[0], c * x[1] + r * s * t[1], c * x[2] + r * s * t[2]))
        store3(W, row + 3, lane, (c * t[0] - s / r * x[0], c * t[1] - s / r * x[1], c * t[2] - s / r * x[2]))
        store3(W, row + 6, lane, (c, -s / r, r * s))
        W[row + 9, lane] = c
        W[row + 10, lane] = length
    elif shape[0] == CYLINDER:
        # the turn about z: the sign is that of z . (x cross t)
        angle = length * (x[0] * t[1] - x[1] * t[0]) / (r * r)
        c, s = math.cos(angle), math.sin(angle)
        store3(W, row, lane, (c * x[0] - s * x[1], s * x[0] + c * x[1], x[2] + length * t[2]))
        store3(W, row + 3, lane, (c * t[0] - s * t[1], s * t[0] + c * t[1], t[2]))
        store3(W, row + 6, lane, (1.0, 0.0, length))
        W[row + 9, lane] = 1.0
        W[row + 10, lane] = length * (1.0 - t[2] * t[2])
    else:
        store3(W, row, lane, x)
        store3(W, row + 3, lane, t)
        store3(W, row + 6, lane, (1.0, 0.0, 0.0))
        W[row + 9, lane] = 1.0
        W[row + 10, lane] = 0.0
        _march(shape, length, error_a_step, W, row, lane)
        end = onto(shape, load3(W, row, lane))
        n = unit(slope(shape, end))
        store3(W, row, lane, end)
        store3(W, row + 3, lane, along_surface(n, load3(W, row + 3, lane)))
