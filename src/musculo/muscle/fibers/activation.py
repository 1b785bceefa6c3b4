"""How fast activation follows excitation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.kernels.hill.hill_frames import activation_frames
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.muscle_arrays import muscle_columns

# OpenSim 4.6; kinds that have no such property (the deprecated ones, RigidTendonMuscle) start at rest.
_AT_START = {"Thelen2003Muscle": 0.05, "Millard2012EquilibriumMuscle": 0.05, "DeGrooteFregly2016Muscle": 0.5}


def activation_at_start(muscle: Muscle) -> float:
    """The default activation that the file states, else that of OpenSim's class."""
    return float(muscle.parameter("default_activation", _AT_START.get(muscle.kind, 0.0)))


def activation_rate(model: Model, excitation: ArrayLike, activation: ArrayLike) -> FloatArray:
    """Rate of activation of every muscle [1/s].

        Millard2012, Thelen2003:    (e - a) / tau,  tau = tau_a k if e > a else tau_d / k,  k = 1/2 + 3/2 a
        De Groote-Fregly 2016:      (e - a) ((1/2 + g) / (tau_a k) + (1/2 - g) k / tau_d),  g = tanh(b (e - a)) / 2
        Schutte1993, Delp1990:      (e - a) (k1 e + k2) / T if e >= a else (e - a) k2 / T
        Thelen2003_Deprecated:      (e - a) / tau_a if e >= a else (e - a) / tau_d

    Muscles without activation dynamics (RigidTendonMuscle, `ignore_activation_dynamics`) have the excitation for
    their activation: it is not a state, and its rate is given as zero.

    Source:     [Thelen2003] eq. 1-2; [DeGroote2016] eq. 1-2; [Schutte1993].
    Departs:    OpenSim's DeGrooteFregly2016Muscle uses the time constants of whichever muscle it evaluates first for
                all of them; here each has its own.
    Guarantees: zero where e = a, and the sign of e - a; a below the muscle's least activation counts as that.

    Args:
        excitation: 0 to 1; (frames, muscles), (muscles,) or a number.
        activation: the same.

    Returns: (frames, muscles), or (muscles,) for a single frame.
    """
    c = compiled_muscles(model, rigid=True)
    (e, a), single = muscle_columns(c, excitation=excitation, activation=activation)
    out = np.empty_like(a)
    over_frames(activation_frames, (c.muscles, e, a, out), len(a))
    return out[0] if single else out
