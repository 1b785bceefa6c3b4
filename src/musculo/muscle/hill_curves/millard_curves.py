"""Millard's curves as Bezier sections, from the parameters that a file states or OpenSim's own."""

from __future__ import annotations

from musculo.errors import InvalidInput
from musculo.model.force import MuscleCurve
from musculo.muscle.hill_curves.bezier_sections import BezierCurve, Knot, bezier_curve


def active_force_length(curve: MuscleCurve, minimum_value: float | None = None) -> BezierCurve:
    """Active force over fiber length: a shallow ascending limb, a peak at 1, a descending limb.

    Source:     [Millard2013]; OpenSim's ActiveForceLengthCurve and its defaults.
    Guarantees: f(1) = 1 with zero slope; the minimum value at and beyond both ends, with zero slope.

    Args:
        curve: its parameters; those missing take OpenSim's defaults.
        minimum_value: replaces the curve's own, as OpenSim does for damped muscles and rigid tendons.
    """
    x0 = curve.parameter("min_norm_active_fiber_length", 0.4441)
    x1 = curve.parameter("transition_norm_fiber_length", 0.73)
    x3 = curve.parameter("max_norm_active_fiber_length", 1.8123)
    s = curve.parameter("shallow_ascending_slope", 0.8616)
    low = curve.parameter("minimum_value", 0.1) if minimum_value is None else minimum_value
    if not 0.0 <= x0 < x1 < 1.0 < x3:
        raise InvalidInput(
            f"ActiveForceLengthCurve: lengths {x0:g}, {x1:g}, 1, {x3:g} (minimum, transition, optimum, maximum) "
            "must increase from 0 on"
        )
    if not 0.0 <= s < 1.0 / (1.0 - x1):
        raise InvalidInput(
            f"ActiveForceLengthCurve: the shallow ascending slope is {s:g}; give zero or more, less than "
            f"{1.0 / (1.0 - x1):g}, so that the force is positive at the transition"
        )
    # how far from the optimum the limbs begin, and how steep they are between
    delta = 0.05
    shoulder = 1.0 - delta
    y1 = 1.0 - s * (shoulder - x1)
    steep = 1.25 * y1 / (x1 - x0)
    down = -1.0 / ((x3 - delta) - (1.0 + delta))
    knots = [
        Knot(x0, low, 0.0),
        Knot(0.5 * (x0 + x1), 0.5 * y1, steep),
        Knot(0.5 * (x1 + shoulder), 0.5 * (1.0 + y1), s),
        Knot(1.0, 1.0, 0.0),
        Knot(0.5 * (1.0 + delta + x3), 0.5, down),
        Knot(x3, low, 0.0),
    ]
    return bezier_curve(knots, [1.0] * 5)


def force_velocity(curve: MuscleCurve, slopes_at_vmax: tuple[float, float] | None = None) -> BezierCurve:
    """Active force over fiber velocity, from -1 (largest shortening speed) to 1.

    Source:     [Millard2013]; OpenSim's ForceVelocityCurve and its defaults.
    Guarantees: f(-1) = 0, f(0) = 1 with the isometric slope, f(1) = the eccentric multiplier; increasing.

    Args:
        curve: its parameters; those missing take OpenSim's defaults.
        slopes_at_vmax: replace the slopes at -1 and 1.
    """
    near_c = curve.parameter("concentric_slope_near_vmax", 0.25)
    near_e = curve.parameter("eccentric_slope_near_vmax", 0.15)
    at_c, at_e = slopes_at_vmax or (
        curve.parameter("concentric_slope_at_vmax", 0.0),
        curve.parameter("eccentric_slope_at_vmax", 0.0),
    )
    top = curve.parameter("max_eccentric_velocity_force_multiplier", 1.4)
    isometric = curve.parameter("isometric_slope", 5.0)
    if not (0.0 <= at_c < near_c <= 1.0 < isometric and 0.0 <= at_e <= near_e < top - 1.0):
        raise InvalidInput(
            f"ForceVelocityCurve: slopes {at_c:g}, {near_c:g}, {isometric:g}, {near_e:g}, {at_e:g} (from largest "
            f"shortening to largest lengthening speed) and the multiplier {top:g} make no increasing curve; the first "
            "must be less than the second, that at most 1, the third above 1, the last at most the one before it, and "
            "that less than the multiplier less 1"
        )
    shortening, lengthening = curve.parameter("concentric_curviness", 0.6), curve.parameter("eccentric_curviness", 0.9)
    knots = [
        Knot(-1.0, 0.0, at_c),
        Knot(-0.9, 0.05 * (near_c + at_c), near_c),
        Knot(0.0, 1.0, isometric),
        Knot(0.9, top - 0.05 * (near_e + at_e), near_e),
        Knot(1.0, top, at_e),
    ]
    return bezier_curve(knots, [shortening, shortening, lengthening, lengthening])


def undamped_slopes(curve: MuscleCurve) -> tuple[float, float]:
    """Slopes at the largest speeds that let the curve be inverted: at least half of those near them."""
    return (
        max(
            curve.parameter("concentric_slope_at_vmax", 0.0), 0.5 * curve.parameter("concentric_slope_near_vmax", 0.25)
        ),
        max(curve.parameter("eccentric_slope_at_vmax", 0.0), 0.5 * curve.parameter("eccentric_slope_near_vmax", 0.15)),
    )


def fiber_force_length(curve: MuscleCurve) -> BezierCurve:
    """Passive force over fiber length: zero, a toe, then a straight line through the unit force.

    Source:     [Millard2013]; OpenSim's FiberForceLengthCurve and its defaults.
    Guarantees: f = 0 up to 1 + e0, f(1 + e1) = 1 with the stated stiffness, which it keeps beyond; increasing.
    """
    e0 = curve.parameter("strain_at_zero_force", 0.0)
    e1 = curve.parameter("strain_at_one_norm_force", 0.7)
    if not e1 > e0:
        raise InvalidInput(f"FiberForceLengthCurve: the strain at unit force, {e1:g}, must exceed that at none, {e0:g}")
    stiffness = curve.parameter("stiffness_at_one_norm_force", 2.0 / (e1 - e0))
    low = curve.parameter("stiffness_at_low_force", 0.2)
    curviness = curve.parameter("curviness", 0.75)
    delta = min(0.1 / stiffness, 0.1 * (e1 - e0))
    knots = [
        Knot(1.0 + e0, 0.0, 0.0),
        Knot(1.0 + e0 + delta, 0.5 * low * delta, low),
        Knot(1.0 + e1, 1.0, stiffness),
    ]
    return bezier_curve(knots, [curviness, curviness])


def tendon_force_length(curve: MuscleCurve) -> BezierCurve:
    """Tendon force over tendon length: zero when slack, a toe, then a straight line through the unit force.

    Source:     [Millard2013]; OpenSim's TendonForceLengthCurve and its defaults.
    Guarantees: f(1) = 0, f(1 + strain at unit force) = 1, linear beyond the toe; increasing.
    """
    strain = curve.parameter("strain_at_one_norm_force", 0.049)
    if not strain > 0.0:
        raise InvalidInput(f"TendonForceLengthCurve: the strain at unit force is {strain:g}; give a number above zero")
    stiffness = curve.parameter("stiffness_at_one_norm_force", 1.375 / strain)
    toe = curve.parameter("norm_force_at_toe_end", 2.0 / 3.0)
    curviness = curve.parameter("curviness", 0.5)
    x_toe = 1.0 + strain + (toe - 1.0) / stiffness
    x_foot = 1.0 + 0.1 * (x_toe - 1.0)
    y_middle = 0.5 * toe
    x_middle = 1.0 + strain + (y_middle - 1.0) / stiffness
    slope = y_middle / (x_middle - x_foot)
    knots = [
        Knot(1.0, 0.0, 0.0),
        Knot(0.5 * (x_foot + x_middle), 0.5 * slope * (x_middle - x_foot), slope),
        Knot(x_toe, toe, stiffness),
    ]
    return bezier_curve(knots, [curviness, curviness])
