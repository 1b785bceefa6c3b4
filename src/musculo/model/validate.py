"""Whether mechanics can be done with a model, whoever made it; the reader adds lines of the file to what it finds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from musculo.errors import InvalidModel, UnknownName
from musculo.functions.function import Function
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.force import Force, Muscle, MuscleCurve
from musculo.model.joints.joint import Joint
from musculo.model.model_path import Path
from musculo.model.muscle_parameters import CURVES, PARAMETERS, is_muscle, parameter_names
from musculo.spatial.inertia import tensor

# Measured inertias of small bones can have a slightly negative principal moment (1.2 % of the largest in a published
# shoulder model): up to this share nothing is said, beyond it a note is made.
NEGATIVE_MOMENT_TOLERANCE = 0.05
NEGATIVE_MOMENT = "its inertia has a negative moment"  # how the notes begin


def check_numbers(what: str, values: Any, count: int) -> None:
    """`count` finite numbers, or an error that says what they belong to."""
    try:
        array = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        array = None
    if array is None or array.shape != ((count,) if count > 1 else ()) or not np.isfinite(array).all():
        wanted = f"{count} finite numbers" if count > 1 else "a finite number"
        raise InvalidModel(f"{what} is {values!r}; give {wanted}")


def negative_moment(inertia: Sequence[float]) -> float | None:
    """The negative moment of a tensor (xx, yy, zz, xy, xz, yz) that no body can have; None where there is none."""
    moments = np.linalg.eigvalsh(tensor(inertia))
    if moments[0] < -NEGATIVE_MOMENT_TOLERANCE * abs(moments[2]) or min(inertia[:3]) < 0.0:
        return float(min(*inertia[:3], moments[0]))
    return None


def check_body(body: Body) -> None:
    """Mass of zero or more, and finite numbers; an inertia that no body has is noted (`negative_inertias`)."""
    where = f"body {body.name!r}"
    check_numbers(f"{where}: its mass", body.mass, 1)
    if body.mass < 0.0:
        raise InvalidModel(f"{where}: its mass is {body.mass:g} kg; give zero or more")
    check_numbers(f"{where}: its mass center", body.mass_center, 3)
    check_numbers(f"{where}: its inertia (xx, yy, zz, xy, xz, yz)", body.inertia, 6)


def negative_inertias(bodies: Sequence[Body]) -> dict[str, str]:
    """Bodies with a moment of inertia that no body can have, and what that means; OpenSim takes them without a word."""
    found = {body.name: negative_moment(body.inertia) for body in bodies}
    return {
        name: f"{NEGATIVE_MOMENT} ({moment:.6g} kg m^2), which no body can have; it is used as it stands, as in "
        "OpenSim. Poses and lengths do not depend on it, inverse dynamics and energies do, and where it leaves a mass "
        "matrix that is singular or indefinite, forward dynamics and simulations stop; check the signs and the order "
        "xx yy zz xy xz yz"
        for name, moment in found.items()
        if moment is not None
    }


def check_joint(joint: Joint) -> None:
    """Placements, coordinates and sizes that a joint can be computed with."""
    where = f"joint {joint.name!r}"
    for side, placement in (("parent", joint.parent), ("child", joint.child)):
        if not isinstance(placement, Placement):
            raise InvalidModel(f"{where}: its {side} is {placement!r}; give a Placement or the name of a body")
        check_numbers(f"{where}: the translation of its {side} frame", placement.translation, 3)
        check_numbers(f"{where}: the orientation of its {side} frame", placement.orientation, 3)
    if joint.parent.body == joint.child.body:
        raise InvalidModel(f"{where} joins the body {joint.parent.body!r} to itself; name two bodies")
    for coordinate in joint.coordinates:
        check_coordinate(coordinate, where)
    radii = getattr(joint, "radii", None)
    if radii is not None:
        check_numbers(f"{where}: its radii", radii, 3)
        if min(radii) <= 0.0:
            raise InvalidModel(f"{where}: its radii are {tuple(radii)}; give three numbers above zero [m]")


def check_force(force: Force) -> None:
    """A path where there is one; what its points and wraps are is checked where they are put together."""
    if force.path is not None and not isinstance(force.path, Path):
        raise InvalidModel(
            f"force {force.name!r}: its path is {force.path!r}; give Path(points) or Path(points, wraps)"
        )


def check_muscle(muscle: Muscle) -> None:
    """A kind of muscle, and numbers that some muscle has; what its equations ask beyond is asked where forces are."""
    if not is_muscle(muscle.kind):
        raise UnknownName("kind of muscle", str(muscle.kind), PARAMETERS, f"muscle {muscle.name!r}")
    what = f"muscle {muscle.name!r}: its"
    for key in (
        "max_isometric_force",
        "optimal_fiber_length",
        "tendon_slack_length",
        "pennation_angle_at_optimal",
        "max_contraction_velocity",
        "min_control",
        "max_control",
    ):
        value = getattr(muscle, key)
        if isinstance(value, bool) or not isinstance(value, Real):
            raise InvalidModel(f"{what} {key} is {value!r}; give a number")
    if not 0.0 < muscle.optimal_fiber_length < math.inf:
        raise InvalidModel(f"{what} optimal_fiber_length is {muscle.optimal_fiber_length:g}; give a number above zero")
    if not 0.0 <= muscle.max_isometric_force < math.inf:
        raise InvalidModel(f"{what} max_isometric_force is {muscle.max_isometric_force:g} N; give zero or more")
    if not 0.0 <= muscle.tendon_slack_length < math.inf:
        raise InvalidModel(f"{what} tendon_slack_length is {muscle.tendon_slack_length:g} m; give zero or more")
    if not muscle.min_control <= muscle.max_control:
        low, high = muscle.min_control, muscle.max_control
        raise InvalidModel(f"{what} min_control is {low:g} and its max_control {high:g}; give the smaller one first")
    where = f"muscle {muscle.name!r}, a {muscle.kind}"
    known = parameter_names(muscle.kind)
    if known is not None:
        _check_names(muscle.parameters, known, where)
    curves = muscle.curves if isinstance(muscle.curves, Sequence) else ()
    if curves is not muscle.curves or not all(isinstance(curve, MuscleCurve) for curve in curves):
        raise InvalidModel(
            f"{what} curves are {muscle.curves!r}; give a tuple of MuscleCurves, for instance "
            "(MuscleCurve('TendonForceLengthCurve', parameters=(('strain_at_one_norm_force', 0.05),)),)"
        )
    for curve in curves:
        if curve.element in CURVES:
            _check_names(curve.parameters, CURVES[curve.element], f"the {curve.element} of {where}")


def _check_names(parameters: Any, known: Sequence[str], where: str) -> None:
    """Names and values in pairs, and no name that nothing would look at."""
    pairs = isinstance(parameters, tuple) and all(isinstance(p, tuple) and len(p) == 2 for p in parameters)
    if not pairs:
        example = f"({known[0]!r}, 0.1)" if known else "(name, value)"
        raise InvalidModel(f"the parameters of {where} are {parameters!r}; give pairs: ({example},)")
    for name, _ in parameters:
        if name not in known:
            raise UnknownName("parameter", str(name), known, where)


def check_coordinate(coordinate: Any, where: str) -> None:
    """Finite defaults, an ordered range, and a function where motion is prescribed."""
    if not isinstance(coordinate, Coordinate):
        raise InvalidModel(f"{where}: a coordinate is {coordinate!r}; give Coordinate({str(coordinate)!r})")
    what = f"{where}: coordinate {coordinate.name!r}:"
    check_numbers(f"{what} its default value", coordinate.default_value, 1)
    check_numbers(f"{what} its default speed", coordinate.default_speed, 1)
    if len(coordinate.range) != 2 or any(math.isnan(end) for end in coordinate.range):
        raise InvalidModel(f"{what} its range is {coordinate.range!r}; give the lowest and the highest value")
    function = coordinate.prescribed_function
    if function is not None and not isinstance(function, Function):
        raise InvalidModel(
            f"{what} its prescribed function is {function!r}; give one of musculo.functions, for instance "
            "SampledSpline.through(time, values)"
        )
