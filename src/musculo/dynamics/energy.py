"""Energies, momenta and the mass center of the whole model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.model.model import Model
from musculo.spatial.inertia import tensor


class Momentum(NamedTuple):
    """Linear [kg m/s] and angular momentum about the whole model's mass center [kg m^2/s], (frames, 3) or (3,)."""

    linear: FloatArray
    angular: FloatArray


def total_mass(model: Model) -> float:
    """Sum of the bodies' masses [kg]."""
    return float(sum(body.mass for body in model.bodies))


def center_of_mass(model: Model, q: ArrayLike) -> FloatArray:
    """(frames, 3) or (3,) mass center of the whole model in ground [m]; the origin for a model without mass."""
    motion = kinematics(model, q)
    total = np.zeros(3 if motion.single else (motion.frames, 3))
    for body in model.bodies:
        total = total + body.mass * motion.position(body.name, body.mass_center)
    return total / total_mass(model) if total_mass(model) > 0 else total


def kinetic_energy(model: Model, q: ArrayLike, u: ArrayLike) -> FloatArray:
    """(frames,) or () sum of m v^2 / 2 + w I w / 2 over the bodies [J]."""
    motion = kinematics(model, q, u)
    energy = np.zeros(() if motion.single else motion.frames)
    for body in model.bodies:
        v = motion.velocity(body.name, body.mass_center)
        w = motion.angular_velocity(body.name)
        energy = energy + 0.5 * (body.mass * np.sum(v * v, -1) + np.sum(w * _spin(motion, body.name, w), -1))
    return energy


def _spin(motion: Kinematics, name: str, w: FloatArray) -> FloatArray:
    """I w about the body's mass center, in ground."""
    R = motion.pose(name).R
    I_W = R @ tensor(motion.model.body(name).inertia) @ np.swapaxes(R, -1, -2)
    return np.einsum("...ij,...j->...i", I_W, w)


def potential_energy(model: Model, q: ArrayLike) -> FloatArray:
    """(frames,) or () of gravity, zero with the mass center at ground's origin [J]."""
    return -total_mass(model) * (center_of_mass(model, q) @ np.asarray(model.gravity, dtype=float))


def momentum(model: Model, q: ArrayLike, u: ArrayLike) -> Momentum:
    """Linear momentum, and angular momentum about the model's mass center."""
    motion = kinematics(model, q, u)
    center = center_of_mass(model, q)
    linear, angular = np.zeros_like(center), np.zeros_like(center)
    for body in model.bodies:
        v = motion.velocity(body.name, body.mass_center)
        arm = motion.position(body.name, body.mass_center) - center
        linear = linear + body.mass * v
        spin = _spin(motion, body.name, motion.angular_velocity(body.name))
        angular = angular + np.cross(arm, body.mass * v) + spin
    return Momentum(linear, angular)
