"""Muscles as data: one row each, whatever their kind."""

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

# What an answer assumes (`musculo.muscle.equilibrium.Status`).
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


# Columns of MuscleTable.integer.
KIND = 0  # one of the kinds above
RIGID = 1  # 1 where the muscle says that its tendon does not stretch
ACTIVE_CURVE = 2  # where a curve starts in the table of curves
PASSIVE_CURVE = 3
TENDON_CURVE = 4
VELOCITY_CURVE = 5
VELOCITY_INVERSE = 6  # undamped Millard muscles only
ACTIVATION_MODEL = 7  # `activation_rate`
INTEGERS = 8

# Columns of MuscleTable.number. Those that a kind does not use hold zeros.
MAX_FORCE = 0  # [N]
OPTIMAL_LENGTH = 1  # [m]
PER_OPTIMAL_LENGTH = 2  # its inverse, as of the two below: Newton's loop divides by them at every step
PER_SLACK_LENGTH = 3  # zero for a tendon of no length
PER_MAX_SPEED = 4
SLACK_LENGTH = 5  # [m]
WIDTH = 6  # optimal length times the sine of pennation there [m]
LEAST_LENGTH = 7  # shortest fibre [m]
LEAST_ALONG = 8  # its part along the tendon [m]
MAX_SPEED = 9  # largest shortening speed [m/s]
DAMPING = 10  # force over the maximum one at the largest speed [-]
LEAST_ACTIVATION = 11
PER_ACTIVE_WIDTH = 12  # over this: Thelen: gamma; De Groote-Fregly: width scale
PASSIVE_RATE = 13  # Thelen, De Groote-Fregly: f = (e^(rate (l - 1)) - offset) scale
PASSIVE_OFFSET = 14
PASSIVE_SCALE = 15
TOE_STRAIN = 16  # Thelen: end of the toe; De Groote-Fregly: 1 / rate of the exponential
TENDON_STIFFNESS = 17  # Thelen: slope of the linear part
HILL_RATE = 18  # Thelen: 1 / Af
ECCENTRIC_FORCE = 19  # Thelen: Flen
LINEAR_FROM = 20  # Thelen: the force where the velocity curve turns linear
ACTIVATION_TIME = 21  # [s], or a rate [1/s] where the model has rates
DEACTIVATION_TIME = 22  # the same
ACTIVATION_SMOOTHING = 23
COSINE_AT_OPTIMAL = 24
CONTRACTION_VELOCITY = 25  # as the file states it, in optimal lengths a second
PER_TOE_STRAIN = 26
ECCENTRIC_RATE = 27  # Thelen: (2 + 2 / Af) / (Flen - 1)
TOE_FORCE = 28  # Thelen: the tendon's force at the end of the toe
TENDON_FLOOR = 29  # Thelen, deprecated: force of the tendon that grows with its length, slack or not
PASSIVE_FROM = 30  # Thelen: fibre length where the passive force begins, and
PASSIVE_TO = 31  # where it goes on as a straight line
SLOW_PART = 32  # Thelen: largest speed without activation, over that with full activation
HILL_DAMPING = 33  # Thelen, deprecated: damping inside Hill's equation
NUMBERS = 34


class MuscleTable(NamedTuple):
    """All muscles of a model, a row each: two arrays, because a kernel hands them on at every call."""

    integer: IntArray  # (muscles, INTEGERS)
    number: FloatArray  # (muscles, NUMBERS)
