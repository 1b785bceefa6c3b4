"""Muscles as data, whatever their kind."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray

# Kinds of force law.
MILLARD_2012 = 0
THELEN_2003 = 1
DE_GROOTE_FREGLY_2016 = 2
SCHUTTE_1993 = 3
DELP_1990 = 4
RIGID_TENDON = 5
THELEN_DEPRECATED = 6

# What an answer assumes (`musculo.muscle.fibers.equilibrium.Status`).
CONVERGED = 0
TENDON_SLACK = 1
FIBER_AT_MINIMUM = 2
NOT_CONVERGED = 3

# Rows of what kernels give for one muscle at one instant.
FIBER_LENGTH = 0
FIBER_VELOCITY = 1
PENNATION = 2
TENDON_LENGTH = 3
TENDON_FORCE = 4
ACTIVE_FORCE = 5
PASSIVE_FORCE = 6
FORCE_ALONG_TENDON = 7
STIFFNESS = 8
STATUS = 9  # one of those above, as a float64
OUTPUTS = 10


# Curves of a muscle, as `curve_lanes` takes them.
ACTIVE_CURVE = 0
PASSIVE_CURVE = 1
TENDON_CURVE = 2
VELOCITY_CURVE = 3


class MuscleTable(NamedTuple):
    """All muscles of a model: a field a parameter, (muscles,). Parameters that a kind does not use are zero.

    Inverses stand beside what they invert, since Newton's loop divides at every step; the inverse of zero is zero.
    """

    kind: IntArray  # one of the kinds above
    rigid: IntArray  # 1 where the muscle says that its tendon does not stretch
    active_curve: IntArray  # where a curve starts in the table of curves
    passive_curve: IntArray
    tendon_curve: IntArray
    velocity_curve: IntArray
    velocity_inverse: IntArray  # undamped Millard muscles only
    activation_model: IntArray  # `activation_rate`
    max_force: FloatArray  # [N]
    optimal_length: FloatArray  # [m]
    per_optimal_length: FloatArray  # [1/m]
    per_slack_length: FloatArray  # [1/m]
    per_max_speed: FloatArray
    slack_length: FloatArray  # [m]
    width: FloatArray  # optimal length times the sine of pennation there [m]
    least_length: FloatArray  # shortest fiber [m]
    least_along: FloatArray  # its part along the tendon [m]
    max_speed: FloatArray  # largest shortening speed [m/s]
    damping: FloatArray  # force over the maximum one at the largest speed [-]
    least_activation: FloatArray
    per_active_width: FloatArray  # over this: Thelen: gamma; De Groote-Fregly: width scale
    passive_rate: FloatArray  # Thelen, De Groote-Fregly: f = (e^(rate (l - 1)) - offset) scale
    passive_offset: FloatArray
    passive_scale: FloatArray
    toe_strain: FloatArray  # Thelen: end of the toe; De Groote-Fregly: 1 / rate of the exponential
    tendon_stiffness: FloatArray  # Thelen: slope of the linear part
    hill_rate: FloatArray  # Thelen: 1 / Af
    eccentric_force: FloatArray  # Thelen: Flen
    linear_from: FloatArray  # Thelen: the force where the velocity curve turns linear
    activation_time: FloatArray  # [s], or a rate [1/s] where the model has rates
    deactivation_time: FloatArray  # the same
    activation_smoothing: FloatArray
    cosine_at_optimal: FloatArray
    contraction_velocity: FloatArray  # as the file states it, in optimal lengths a second
    per_toe_strain: FloatArray
    eccentric_rate: FloatArray  # Thelen: (2 + 2 / Af) / (Flen - 1)
    toe_force: FloatArray  # Thelen: the tendon's force at the end of the toe
    tendon_floor: FloatArray  # Thelen, deprecated: force of the tendon that grows with its length, slack or not
    passive_from: FloatArray  # Thelen: fiber length where the passive force begins, and
    passive_to: FloatArray  # where it goes on as a straight line
    slow_part: FloatArray  # Thelen: largest speed without activation, over that with full activation
    hill_damping: FloatArray  # Thelen, deprecated: damping inside Hill's equation
