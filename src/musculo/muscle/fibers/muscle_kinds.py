"""Parameters of each kind of muscle as its file states them, with OpenSim's defaults: a row of numbers a muscle."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

from musculo.errors import InvalidModel, MusculoError
from musculo.functions.function import Function
from musculo.kernels.hill.activation_rate import DIRECT, FIRST_ORDER, LINEAR, RATES, SMOOTH
from musculo.kernels.hill.curve_values import EXPONENTIAL_PASSIVE
from musculo.kernels.hill.muscle_table import (
    DE_GROOTE_FREGLY_2016,
    DELP_1990,
    MILLARD_2012,
    RIGID_TENDON,
    SCHUTTE_1993,
    THELEN_2003,
    THELEN_DEPRECATED,
)
from musculo.model.force import Muscle
from musculo.muscle.hill_curves import hill_defaults, millard_curves
from musculo.muscle.hill_curves.curve_table import CurveTable

# The angle whose cosine is 0.1: where OpenSim stops fibers from turning, for kinds that state no other [rad].
MAXIMUM_PENNATION = math.acos(0.1)
# Below this damping OpenSim's Millard muscle counts as undamped.
LEAST_DAMPING = 0.001
# Fibers of kinds without a shortest length stay longer than this part of the optimal one: a fiber of no length pulls in
# no direction.
LEAST_FIBER = 1e-8
# Fiber length over the optimal one at which De Groote and Fregly's passive force is zero. It is no bound: shorter
# fibers push a little, and go on contracting.
_DGF_PASSIVE_ZERO = 0.2
_DGF_PASSIVE_SHAPE = 4.0
# Passive forces that grow exponentially go straight on from here, before float64 ends.
_LARGEST_EXPONENT = 600.0


# --- parameters that every kind has -----------------------------------------------------------------------------------
def refuse(muscle: Muscle, what: str) -> MusculoError:
    return InvalidModel(f"muscle {muscle.name!r}: {what}")


def refuse_subnormal(muscle: Muscle) -> None:
    """Refuse numbers so small that one over them is none: only a damaged file has them."""
    stated = [(key, value) for key, value in muscle.parameters if not isinstance(value, str)]
    stated += [(f"{key} of {curve.element}", value) for curve in muscle.curves for key, value in curve.parameters]
    stated += [(key, getattr(muscle, key)) for key in _LENGTHS_AND_FORCES]
    for key, value in stated:
        if 0.0 < abs(value) < sys.float_info.min:
            raise refuse(muscle, f"its {key} is {value:g}, too small to compute with; give 0 or a larger number")


_LENGTHS_AND_FORCES = (
    "max_isometric_force",
    "optimal_fiber_length",
    "tendon_slack_length",
    "pennation_angle_at_optimal",
    "max_contraction_velocity",
)


def _number(muscle: Muscle, key: str, default: float) -> float:
    value = muscle.parameter(key, default)
    if isinstance(value, str) or not math.isfinite(value):
        raise refuse(muscle, f"its {key} is {value!r}; give a number")
    return float(value)


def _positive(muscle: Muscle, key: str, default: float) -> float:
    value = _number(muscle, key, default)
    if not value > 0.0:
        raise refuse(muscle, f"its {key} is {value:g}; give a number above zero")
    return value


def check(muscle: Muscle) -> None:
    angle = muscle.pennation_angle_at_optimal
    if not math.isfinite(muscle.max_contraction_velocity):
        value = muscle.max_contraction_velocity
        raise refuse(muscle, f"its max_contraction_velocity is {value:g}; give a number above zero")
    limit = _number(muscle, "maximum_pennation_angle", MAXIMUM_PENNATION)
    if not 0.0 < limit <= 0.5 * math.pi:
        raise refuse(
            muscle, f"its maximum_pennation_angle is {limit:g} rad; give a number above zero, up to a right angle"
        )
    if not 0.0 <= angle < limit:
        raise refuse(
            muscle,
            f"its pennation_angle_at_optimal is {angle:g} rad; give zero or more and less than {limit:.4g} "
            "(near 90 degrees fibers pull across the tendon, not along it)",
        )


def common(muscle: Muscle) -> dict[str, Any]:
    """Columns of the table that every kind has."""
    optimal = muscle.optimal_fiber_length
    return {
        "rigid": int(muscle.ignore_tendon_compliance),
        "max_force": muscle.max_isometric_force,
        "optimal_length": optimal,
        "slack_length": muscle.tendon_slack_length,
        "width": optimal * math.sin(muscle.pennation_angle_at_optimal),
        "cosine_at_optimal": math.cos(muscle.pennation_angle_at_optimal),
        "contraction_velocity": muscle.max_contraction_velocity,
    }


def _lengths(muscle: Muscle, shortest: float) -> dict[str, float]:
    """Shortest fiber, no shorter than its width lets it turn."""
    width = muscle.optimal_fiber_length * math.sin(muscle.pennation_angle_at_optimal)
    limit = _number(muscle, "maximum_pennation_angle", MAXIMUM_PENNATION)
    if width > 0.0:
        shortest = max(shortest, width / math.sin(limit))
    return {"least_length": shortest, "least_along": math.sqrt(shortest**2 - width**2)}


def _free_lengths(muscle: Muscle) -> dict[str, float]:
    """Fibers of De Groote and Fregly and of the deprecated kinds may turn until they stand across the tendon."""
    width = muscle.optimal_fiber_length * math.sin(muscle.pennation_angle_at_optimal)
    along = LEAST_FIBER * muscle.optimal_fiber_length
    return {"least_along": along, "least_length": math.hypot(width, along)}


def _speed(muscle: Muscle) -> dict[str, float]:
    if not (math.isfinite(muscle.max_contraction_velocity) and muscle.max_contraction_velocity > 0.0):
        raise refuse(
            muscle, f"its max_contraction_velocity is {muscle.max_contraction_velocity:g}; give a number above zero"
        )
    return {"max_speed": muscle.max_contraction_velocity * muscle.optimal_fiber_length}


def _first_order(muscle: Muscle, model: int, rise: float, fall: float) -> dict[str, Any]:
    return {
        "activation_model": DIRECT if muscle.ignore_activation_dynamics else model,
        "activation_time": _positive(muscle, "activation_time_constant", rise),
        "deactivation_time": _positive(muscle, "deactivation_time_constant", fall),
    }


def _least_activation(muscle: Muscle) -> float:
    value = _number(muscle, "minimum_activation", 0.01)
    if not 0.0 <= value < 1.0:
        raise refuse(muscle, f"its minimum_activation is {value:g}; give zero or more and less than 1")
    return value


def _not_negative(muscle: Muscle, key: str, default: float) -> float:
    value = _number(muscle, key, default)
    if value < 0.0:
        raise refuse(muscle, f"its {key} is {value:g}; give zero or more")
    return value


# --- kinds ------------------------------------------------------------------------------------------------------------
def _millard(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    """OpenSim's finalization: damped muscles and rigid tendons get f_L = 0 and f_V' = 0 at the ends of their curves;
    undamped elastic ones f_L >= 0.1, an invertible f_V and an activation of at least 0.01."""
    damping = _not_negative(muscle, "fiber_damping", 0.1)
    damping = 0.0 if damping < LEAST_DAMPING else damping
    undamped = damping == 0.0 and not muscle.ignore_tendon_compliance
    active, velocity = muscle.curve("ActiveForceLengthCurve"), muscle.curve("ForceVelocityCurve")
    least = max(active.parameter("minimum_value", 0.1), 0.1) if undamped else 0.0
    fv = millard_curves.force_velocity(velocity, millard_curves.undamped_slopes(velocity) if undamped else (0.0, 0.0))
    shortest = active.parameter("min_norm_active_fiber_length", 0.4441) * muscle.optimal_fiber_length
    activation = _least_activation(muscle)
    return {
        "kind": MILLARD_2012,
        "damping": damping,
        "least_activation": max(activation, 0.01) if undamped else activation,
        "active_curve": curves.bezier(millard_curves.active_force_length(active, least)),
        "passive_curve": curves.bezier(millard_curves.fiber_force_length(muscle.curve("FiberForceLengthCurve"))),
        "tendon_curve": curves.bezier(millard_curves.tendon_force_length(muscle.curve("TendonForceLengthCurve"))),
        "velocity_curve": curves.bezier(fv),
        "velocity_inverse": curves.bezier(fv.inverse()) if undamped else -1,
        **_speed(muscle),
        **_lengths(muscle, max(shortest, LEAST_FIBER * muscle.optimal_fiber_length)),
        **_first_order(muscle, FIRST_ORDER, 0.01, 0.04),
    }


def _exponent(muscle: Muscle, key: str, default: float) -> float:
    """A shape that stands in an exponent, so that a float64 holds the power."""
    value = _positive(muscle, key, default)
    if value > _LARGEST_EXPONENT:
        raise refuse(muscle, f"its {key} is {value:g}; give a number of {_LARGEST_EXPONENT:g} at most (usual: 3 to 6)")
    return value


def _thelen(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    strain = _positive(muscle, "FmaxTendonStrain", 0.04)
    # exact values; [Thelen2003] prints 0.609 and 1.712
    rate = _exponent(muscle, "KshapePassive", 5.0)
    stretch = _positive(muscle, "FmaxMuscleStrain", 0.6)
    e3 = math.exp(3.0)
    toe = 99.0 * strain * e3 / (166.0 * e3 - 67.0)
    return {
        **_hill(muscle, 0.25, 1.4),
        "kind": THELEN_2003,
        "least_activation": _least_activation(muscle),
        "per_active_width": 1.0 / _positive(muscle, "KshapeActive", 0.45),
        "passive_rate": rate / stretch,
        "passive_offset": 1.0,
        "passive_scale": 1.0 / math.expm1(rate),
        "passive_from": 1.0,
        "passive_to": 1.0 + _LARGEST_EXPONENT * stretch / rate,
        "toe_strain": toe,
        "toe_force": 0.33,
        "tendon_stiffness": 0.67 / (strain - toe),
        "slow_part": 0.25,
        **_speed(muscle),
        **_lengths(muscle, LEAST_FIBER * muscle.optimal_fiber_length),
        **_first_order(muscle, FIRST_ORDER, 0.015, 0.05),
    }


def _hill(muscle: Muscle, shape: float, top: float) -> dict[str, float]:
    """Thelen's force-velocity curve: Af, Flen, and where it turns straight."""
    hill, top = 1.0 / _positive(muscle, "Af", shape), _number(muscle, "Flen", top)
    if not top > 1.0:
        raise refuse(muscle, f"its Flen is {top:g}; the force of fast lengthening exceeds 1")
    part = _number(muscle, "fv_linear_extrap_threshold", 0.95)
    if not 1.0 / top < part < 1.0:
        raise refuse(muscle, f"its fv_linear_extrap_threshold is {part:g}; give a number between 1 / Flen and 1")
    rate = (2.0 + 2.0 * hill) / (top - 1.0)
    return {"hill_rate": hill, "eccentric_force": top, "eccentric_rate": rate, "linear_from": part * top}


def _thelen_deprecated(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    """Thelen's muscle as OpenSim had it first: printed roundings of the tendon's constants, damping inside Hill's
    equation, and a tendon and a fiber that always pull a little."""
    strain, rate = _positive(muscle, "FmaxTendonStrain", 0.033), _exponent(muscle, "KshapePassive", 4.0)
    stretch = _positive(muscle, "FmaxMuscleStrain", 0.6)
    fastest, slowest = _positive(muscle, "Vmax", 10.0), _positive(muscle, "Vmax0", 5.0)
    return {
        **_hill(muscle, 0.3, 1.8),
        "kind": THELEN_DEPRECATED,
        "per_active_width": 1.0 / _positive(muscle, "KshapeActive", 0.5),
        "passive_rate": rate / stretch,
        "passive_scale": math.exp(-rate),
        "passive_from": -math.inf,
        "passive_to": 1.0 + stretch,
        "toe_strain": 0.609 * strain,
        "toe_force": 0.333333,
        "tendon_stiffness": 1.712 / strain,
        "tendon_floor": 0.001,
        "slow_part": slowest / fastest,
        "hill_damping": _not_negative(muscle, "damping", 0.05),
        "max_speed": fastest * muscle.optimal_fiber_length,
        **_free_lengths(muscle),
        **_first_order(muscle, LINEAR, 0.01, 0.04),
    }


def _de_groote_fregly(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    rate = _DGF_PASSIVE_SHAPE / _positive(muscle, "passive_fiber_strain_at_one_norm_force", 0.6)
    offset = math.exp(rate * (_DGF_PASSIVE_ZERO - 1.0))
    scale = 1.0 / (math.exp(_DGF_PASSIVE_SHAPE) - offset)
    return {
        "kind": DE_GROOTE_FREGLY_2016,
        "damping": _not_negative(muscle, "fiber_damping", 0.0),
        "per_active_width": 1.0 / _positive(muscle, "active_force_width_scale", 1.0),
        "passive_rate": rate,
        "passive_offset": offset,
        "passive_scale": 0.0 if muscle.parameter("ignore_passive_fiber_force", False) is True else scale,
        "toe_strain": _positive(muscle, "tendon_strain_at_one_norm_force", 0.049) / math.log(6.0),
        "activation_smoothing": _not_negative(muscle, "activation_dynamics_smoothing", 0.1),
        **_speed(muscle),
        **_free_lengths(muscle),
        **_first_order(muscle, SMOOTH, 0.015, 0.06),
    }


def _spline_muscle(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    given = dict(muscle.functions)

    def curve(name: str, default: Function, usual: tuple[float, float]) -> int:
        return curves.function(given.get(name, default), usual)

    return {
        "active_curve": curve("active_force_length_curve", hill_defaults.ACTIVE_FORCE_LENGTH, (0.45, 1.6)),
        "passive_curve": curve("passive_force_length_curve", hill_defaults.PASSIVE_FORCE_LENGTH, (0.45, 1.6)),
        "tendon_curve": curve("tendon_force_length_curve", hill_defaults.TENDON_FORCE_STRAIN, (0.0, 0.1)),
        "velocity_curve": curve("force_velocity_curve", hill_defaults.FORCE_VELOCITY, (-0.3, 0.3)),
        **_lengths(muscle, LEAST_FIBER * muscle.optimal_fiber_length),
    }


def _deprecated(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    """Schutte and Delp measure time in `time_scale`."""
    scale = _positive(muscle, "time_scale", 0.1)
    return {
        **_spline_muscle(muscle, curves),
        **_free_lengths(muscle),
        "max_speed": muscle.optimal_fiber_length / scale,
        "activation_model": DIRECT if muscle.ignore_activation_dynamics else RATES,
        "activation_time": _number(muscle, "activation1", 7.667) / scale,
        "deactivation_time": _number(muscle, "activation2", 1.459854) / scale,
    }


def _schutte(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    row = {**_deprecated(muscle, curves), "kind": SCHUTTE_1993, "damping": _positive(muscle, "damping", 0.1)}
    if "passive_force_length_curve" not in dict(muscle.functions):
        row["passive_curve"] = EXPONENTIAL_PASSIVE
    return row


def _delp(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    return {**_deprecated(muscle, curves), "kind": DELP_1990}


def _rigid_tendon(muscle: Muscle, curves: CurveTable) -> dict[str, Any]:
    row = _spline_muscle(muscle, curves)
    return {**row, "kind": RIGID_TENDON, "rigid": 1, "activation_model": DIRECT, **_speed(muscle)}


KINDS: dict[str, Callable[[Muscle, CurveTable], dict[str, Any]]] = {
    "Millard2012EquilibriumMuscle": _millard,
    "Thelen2003Muscle": _thelen,
    "DeGrooteFregly2016Muscle": _de_groote_fregly,
    "Schutte1993Muscle_Deprecated": _schutte,
    "Delp1990Muscle_Deprecated": _delp,
    "Thelen2003Muscle_Deprecated": _thelen_deprecated,
    "RigidTendonMuscle": _rigid_tendon,
}

# Kinds that OpenSim has and musculo does not, with the reason and the way out.
REFUSED = {
    "Millard2012AccelerationMuscle": (
        "whose fiber has a mass and a velocity of its own, so that no length, speed and activation settle its force; "
        "make it a Millard2012EquilibriumMuscle, which has the same curves without the mass"
    ),
}
