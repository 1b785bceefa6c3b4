"""Springs and ligaments along paths: what they store, and the columns that OpenSim reports of them."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.forces.placed import Columns
from musculo.model.model import Model
from musculo.model.path_force import Blankevoort1991Ligament, PathSpring
from musculo.muscle.path_loads.path_forces import path_tensions

# How OpenSim calls the column of a tension.
_ENDINGS = {"PathSpring": "_tension", "ExpressionBasedPathForce": "_tension", "ClutchedPathSpring": "_tension"}


def stored_energy(along: Model, length: FloatArray) -> FloatArray:
    """(frames, paths) energy of springs and of Blankevoort's ligaments; zero of curves and expressions.

    Departs: OpenSim counts no energy of springs.

        spring    k s^2 / 2
        ligament  L_s k e^3 / (6 e_t) up to the strain e_t, L_s k (e^2 - e_t e + e_t^2 / 3) / 2 beyond
    """
    energy = np.zeros_like(length)
    for k, force in enumerate(along.forces):
        if isinstance(force, PathSpring):
            energy[:, k] = 0.5 * force.stiffness * np.maximum(length[:, k] - force.resting_length, 0.0) ** 2
        elif isinstance(force, Blankevoort1991Ligament):
            e, e_t = np.maximum(length[:, k] / force.slack_length - 1.0, 0.0), force.transition_strain
            toe, line = e**3 / (6.0 * e_t), 0.5 * (e * e - e_t * e + e_t * e_t / 3.0)
            energy[:, k] = force.slack_length * force.linear_stiffness * np.where(e < e_t, toe, line)
    return energy


def path_columns(along: Model, length: FloatArray, speed: FloatArray, tension: FloatArray) -> Columns:
    """OpenSim's columns of all forces of a model whose forces are all along paths, in its order.

    Args:
        along: the model; no force of it is a muscle.
        length, speed, tension: (frames, paths) [m, m/s, N].
    """
    found: Columns = []
    still = None
    for k, force in enumerate(along.forces):
        if not isinstance(force, Blankevoort1991Ligament):
            found.append((k, force.name + _ENDINGS.get(force.kind, ""), tension[:, k]))
            continue
        if still is None:
            still = path_tensions(along, length, np.zeros_like(speed), control=0.0).tension
        slack = force.slack_length
        for what, values in (
            ("force_spring", still[:, k]),
            ("force_damping", tension[:, k] - still[:, k]),
            ("force_total", tension[:, k]),
            ("length", length[:, k]),
            ("lengthening_speed", speed[:, k]),
            ("strain", length[:, k] / slack - 1.0),
            ("strain_rate", speed[:, k] / slack),
        ):
            found.append((k, f"{force.name}.{what}", values))
    return found
