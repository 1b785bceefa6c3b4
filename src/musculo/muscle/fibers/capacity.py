"""What a muscle can give at full activation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.kernels.hill.hill_frames import capacity_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.like import Like, Method, method_of
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.muscle_arrays import muscle_columns


def active_force_capacity(
    model: Model,
    length: ArrayLike,
    speed: ArrayLike,
    *,
    like: Like | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> FloatArray:
    """Active force along the tendon at full activation, with a tendon that does not stretch [N].

        F0 f_L(l) f_V(w) cos a,   l = sqrt((L - l_S)^2 + h^2),   w = Ldot cos a / v_max

    Static optimization multiplies it by the activation.

    Departs:    `like="opensim"` gives OpenSim's calcInextensibleTendonActiveFiberForce, quirks included: Millard's
                cosine is taken at l / l0 instead of l, De Groote-Fregly's is ignored, as is the one in the velocity of
                RigidTendonMuscle, and the deprecated muscles give their static elastic force, passive part included,
                times a generic f_V.
    Guarantees: zero or more; zero where the path is shorter than tendon and shortest fiber.

    Args:
        length: path length of every muscle [m]; (frames, muscles), (muscles,) or a number.
        speed: its rate [m/s], lengthening positive.
        like: "opensim" for OpenSim's own definitions.
        method: another word for it: "exact" or "opensim".
        threads: the number of threads; all cores by default.
    """
    method = method_of(like, method)
    c = compiled_muscles(model, rigid=method == "exact")
    (L, v), single = muscle_columns(c, length=length, speed=speed)
    out = np.empty_like(L)
    over_frames(capacity_frames, (*c.arrays, L, v, method == "opensim", out), len(L), threads)
    return out[0] if single else out
