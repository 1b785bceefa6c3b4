"""The scalars that each kind of muscle and of curve has, with OpenSim 4.6's values where a file states none."""

from __future__ import annotations

Scalar = float | bool | str

# The angle whose cosine is 0.1: OpenSim's bound on pennation [rad].
_MAXIMUM_PENNATION = 1.4706289056333368

# OpenSim's class defaults of the lower bound on excitation; zero for the others.
_MIN_CONTROL = {"Thelen2003Muscle": 0.01, "Millard2012EquilibriumMuscle": 0.01}

PARAMETERS: dict[str, dict[str, Scalar]] = {
    "Thelen2003Muscle": {
        "default_activation": 0.05,
        "default_fiber_length": 0.1,
        "FmaxTendonStrain": 0.04,
        "FmaxMuscleStrain": 0.6,
        "KshapeActive": 0.45,
        "KshapePassive": 5.0,
        "Af": 0.25,
        "Flen": 1.4,
        "fv_linear_extrap_threshold": 0.95,
        "maximum_pennation_angle": _MAXIMUM_PENNATION,
        "activation_time_constant": 0.015,
        "deactivation_time_constant": 0.05,
        "minimum_activation": 0.01,
    },
    "Millard2012EquilibriumMuscle": {
        "fiber_damping": 0.1,
        "default_activation": 0.05,
        "default_fiber_length": 0.1,
        "activation_time_constant": 0.01,
        "deactivation_time_constant": 0.04,
        "minimum_activation": 0.01,
        "maximum_pennation_angle": _MAXIMUM_PENNATION,
    },
    "DeGrooteFregly2016Muscle": {
        "activation_time_constant": 0.015,
        "deactivation_time_constant": 0.06,
        "default_activation": 0.5,
        "default_normalized_tendon_force": 0.5,
        "active_force_width_scale": 1.0,
        "fiber_damping": 0.0,
        "passive_fiber_strain_at_one_norm_force": 0.6,
        "tendon_strain_at_one_norm_force": 0.049,
        "ignore_passive_fiber_force": False,
        "tendon_compliance_dynamics_mode": "explicit",
        "activation_dynamics_smoothing": 0.1,
    },
    "Schutte1993Muscle_Deprecated": {
        "time_scale": 0.1,
        "activation1": 7.667,
        "activation2": 1.459854,
        "damping": 0.1,
    },
    "Delp1990Muscle_Deprecated": {
        "time_scale": 0.1,
        "activation1": 7.667,
        "activation2": 1.459854,
        "mass": 0.00287,
    },
    "Thelen2003Muscle_Deprecated": {
        "activation_time_constant": 0.01,
        "deactivation_time_constant": 0.04,
        "Vmax": 10.0,
        "Vmax0": 5.0,
        "FmaxTendonStrain": 0.033,
        "FmaxMuscleStrain": 0.6,
        "KshapeActive": 0.5,
        "KshapePassive": 4.0,
        "damping": 0.05,
        "Af": 0.3,
        "Flen": 1.8,
    },
    "RigidTendonMuscle": {},
}

# What is looked at in every kind, whether or not OpenSim's class of that name has it.
_EVERY_KIND = ("default_activation", "default_fiber_length", "maximum_pennation_angle")
_ALSO = {"Thelen2003Muscle_Deprecated": ("fv_linear_extrap_threshold",)}

# Parameters of the curves that a muscle may describe so.
CURVES = {
    "ActiveForceLengthCurve": (
        *("min_norm_active_fiber_length", "transition_norm_fiber_length", "max_norm_active_fiber_length"),
        *("shallow_ascending_slope", "minimum_value"),
    ),
    "ForceVelocityCurve": (
        *("concentric_slope_at_vmax", "concentric_slope_near_vmax", "isometric_slope", "eccentric_slope_at_vmax"),
        *("eccentric_slope_near_vmax", "max_eccentric_velocity_force_multiplier", "concentric_curviness"),
        "eccentric_curviness",
    ),
    "FiberForceLengthCurve": (
        *("strain_at_zero_force", "strain_at_one_norm_force", "stiffness_at_low_force"),
        *("stiffness_at_one_norm_force", "curviness"),
    ),
    "TendonForceLengthCurve": (
        *("strain_at_one_norm_force", "stiffness_at_one_norm_force", "norm_force_at_toe_end", "curviness"),
    ),
}


def is_muscle(kind: str) -> bool:
    """Whether an element of this name is a muscle: OpenSim's kinds, and those of plugins, which are kept."""
    return kind.endswith(("Muscle", "Muscle_Deprecated"))


def min_control(kind: str) -> float:
    """The least excitation of a muscle of this kind that states none."""
    return _MIN_CONTROL.get(kind, 0.0)


def parameter_names(kind: str) -> tuple[str, ...] | None:
    """Names of the parameters that a muscle of this kind may have; None where the kind is not known."""
    own = PARAMETERS.get(kind)
    return None if own is None else tuple(dict.fromkeys((*own, *_EVERY_KIND, *_ALSO.get(kind, ()))))
