"""Power and work of joints and muscles."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput


class Work(NamedTuple):
    """Work of each column over a span of time [J]."""

    positive: FloatArray  # while power is above zero
    negative: FloatArray  # while it is below
    net: FloatArray


def joint_power(tau: ArrayLike, u: ArrayLike) -> FloatArray:
    """(frames, speeds) power of joints: generalized force times speed [W]; positive where the joint drives the motion.

    Args:
        tau: (frames, speeds) generalized forces, as `inverse_dynamics` gives them [N m, N].
        u: (frames, speeds) [rad/s, m/s].
    """
    forces, speeds = np.asarray(tau, dtype=float), np.asarray(u, dtype=float)
    if forces.shape != speeds.shape:
        raise InvalidInput(f"tau has shape {forces.shape} and u {speeds.shape}; they belong to the same speeds")
    return np.asarray(forces * speeds)


def muscle_power(force: ArrayLike, lengthening_speed: ArrayLike) -> FloatArray:
    """(frames, muscles) power of muscles with their tendons: minus force times lengthening speed of the path [W].

    Positive where the muscle shortens, and so drives the motion. The sum over muscles, actuators and loads is the rate
    of the energy of the body.

    Args:
        force: (frames, muscles) along the tendon [N].
        lengthening_speed: (frames, muscles), `muscle_geometry(...).speed` [m/s].
    """
    forces, speeds = np.asarray(force, dtype=float), np.asarray(lengthening_speed, dtype=float)
    if forces.shape != speeds.shape:
        raise InvalidInput(f"force has shape {forces.shape} and the speed {speeds.shape}; give the same muscles")
    return np.asarray(-forces * speeds)


def work(time: ArrayLike, power: ArrayLike) -> Work:
    """Positive, negative and net work of each column: the integral of power, taken as straight between frames.

    Args:
        time: (frames,) [s].
        power: (frames,) or (frames, columns) [W].
    """
    t, P = np.asarray(time, dtype=float), np.asarray(power, dtype=float)
    if t.ndim != 1 or P.shape[:1] != t.shape or len(t) < 2 or not (np.diff(t) > 0.0).all():
        raise InvalidInput(f"time has shape {t.shape} and power {P.shape}; give rising (frames,) and (frames, columns)")
    step = np.diff(t).reshape(-1, *[1] * (P.ndim - 1))
    a, b = P[:-1], P[1:]
    net = ((a + b) / 2.0 * step).sum(axis=0)
    # Where a line crosses zero, the part above is a triangle.
    with np.errstate(invalid="ignore", divide="ignore"):
        crossing = np.maximum(a, b) ** 2 / (2.0 * np.abs(b - a))
    above = np.where((a >= 0.0) & (b >= 0.0), (a + b) / 2.0, np.where((a <= 0.0) & (b <= 0.0), 0.0, crossing))
    positive = (above * step).sum(axis=0)
    return Work(np.asarray(positive), np.asarray(net - positive), np.asarray(net))
