"""Fibers at known tensions: the state of muscles such as De Groote and Fregly's is the force of the tendon."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.muscle_arrays import muscle_columns
from musculo.muscle.hill_curves.curves import MuscleCurves

# Strain from which a tendon's curve is climbed, and Newton's steps after that: the curves are convex, so each step
# from above stays above, and the number of right digits doubles.
_STRAIN, _STEPS = 0.05, 60
# Times the maximum isometric force: beyond it no muscle pulls, and the numbers are no newtons.
_STRONGEST = 20.0


def fiber_length_at_tension(model: Model, length: ArrayLike, tendon_force: ArrayLike) -> FloatArray:
    """Fiber lengths with which tendons carry given forces [m].

        l = sqrt((L - l_S f_T^-1(F / F0))^2 + h^2)

    Guarantees: the inverse of the tendon's curve to rounding. A tendon without force has its slack length.

    Args:
        length: path length of every muscle [m]; (frames, muscles), (muscles,) or a number.
        tendon_force: [N], zero or more, likewise.
    """
    c = compiled_muscles(model)
    (L, F), single = muscle_columns(c, length=length, tendon_force=tendon_force)
    if F.size and F.min() < 0.0:
        frame, worst = np.unravel_index(int(F.argmin()), F.shape)
        pull = f"{F[frame, worst]:g} N in frame {frame}"
        raise InvalidInput(f"tendon_force of {c.names[int(worst)]!r} is {pull}; tendons only pull")
    fiber = np.empty_like(L)
    for k, muscle in enumerate(model.muscles):
        strength = muscle.max_isometric_force or 1.0  # of a muscle that pulls nothing, all forces are zero
        stretched = _inverse(MuscleCurves(muscle.name, c, k), F[:, k] / strength, muscle.name)
        along = L[:, k] - muscle.tendon_slack_length * stretched
        thickness = muscle.optimal_fiber_length * np.sin(muscle.pennation_angle_at_optimal)
        fiber[:, k] = np.hypot(along, thickness)
    return fiber[0] if single else fiber


def _inverse(curves: MuscleCurves, force: FloatArray, name: str) -> FloatArray:
    """Tendon lengths over slack length at forces over the maximum one."""
    strain, most = _STRAIN, float(force.max(initial=0.0))
    if most > _STRONGEST:
        raise InvalidInput(f"tendon_force of {name!r} is {most:.3g} times its maximum force; is it in newtons?")
    while curves.tendon_force_length(1.0 + strain) < most:
        strain *= 2.0
    x = np.full_like(force, 1.0 + strain)
    for _ in range(_STEPS):
        slope = curves.tendon_force_length(x, order=1)
        step = (curves.tendon_force_length(x) - force) / np.where(slope > 0.0, slope, np.inf)
        x = np.maximum(x - step, 1.0)
        if np.abs(step).max(initial=0.0) < 4.0 * np.finfo(float).eps:
            break
    return x
