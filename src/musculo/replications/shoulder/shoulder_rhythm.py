"""The shoulder rhythm of [DeGroot2001] in both angles of the arm, on a model with the joints of [Holzbaur2005]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from musculo.errors import InvalidInput, UnknownName
from musculo.functions.multivariate import MultivariatePolynomial
from musculo.model.model import Model
from musculo.model.model_constraint import CoordinateCoupler


class Slopes(NamedTuple):
    """How an angle of a bone grows with two angles of the arm [rad/rad]."""

    elevation: float
    plane: float

    def reversed(self) -> Slopes:
        """Of a rotation that undoes this one."""
        return Slopes(-self.elevation, -self.plane)


# Rotations of clavicle and scapula in the thorax, about y (up), then z' (backwards), then x'' (to the right).
# Source: [DeGroot2001], whose regressions are  angle = constant + plane Hy + elevation Hz + rest C0, in degrees. The
# slopes are those of public code that cites the paper (`shoulder_regression` in estimate_shoulder_angles.m of the Delft
# shoulder and elbow model); the paper itself was not at hand. Four of the five slopes over elevation are in MoBL-ARMS,
# too, of which [Holzbaur2005] took its own from the same paper: 0.242, 0.123, 0.049, 0.396. The fifth differs: 0.178.
CLAVICLE_Y, CLAVICLE_Z = Slopes(-0.242, 0.120), Slopes(0.123, -0.046)
SCAPULA_Y, SCAPULA_Z, SCAPULA_X = Slopes(-0.049, 0.140), Slopes(0.396, -0.079), Slopes(0.184, -0.028)

# By the coordinates of [Holzbaur2005]: its phantom bodies turn back what the bones before them turned.
DE_GROOT_BRAND: dict[str, Slopes] = {
    "sternoclavicular_r2": CLAVICLE_Y,
    "sternoclavicular_r3": CLAVICLE_Z,
    "unrotscap_r2": CLAVICLE_Y.reversed(),
    "unrotscap_r3": CLAVICLE_Z.reversed(),
    "acromioclavicular_r2": SCAPULA_Y,
    "acromioclavicular_r3": SCAPULA_Z,
    "acromioclavicular_r1": SCAPULA_X,
    "unrothum_r2": SCAPULA_Y.reversed(),
    "unrothum_r3": SCAPULA_Z.reversed(),
    "unrothum_r1": SCAPULA_X.reversed(),
}
ELEVATION, PLANE, ROTATION = "shoulder_elv", "elv_angle", "shoulder_rot"


def with_shoulder_rhythm(model: Model, slopes: Mapping[str, Slopes] = DE_GROOT_BRAND) -> Model:
    """A copy whose clavicle and scapula follow elevation and plane of elevation, not the elevation alone.

        q_k = elevation_k shoulder_elv + plane_k elv_angle

    Source:     [DeGroot2001]; [Ehsani2023], section 4-4 C.
    Departs:    the constants of the regression, and its terms in a subject's posture at rest, are not here: these
                coordinates are zero in the model's own posture at rest, as in [Holzbaur2005].
                The regression knows arms that are raised. Where the arm hangs, the plane says nothing about its pose,
                and yet the bones follow it.
    Guarantees: a coupler of each named coordinate has two independent coordinates, in this order; whatever else the
                model has is unchanged. OpenSim reads the model: its CoordinateCouplerConstraint takes several inputs.

    Args:
        model: with a coupler for each named coordinate, as the upper limbs made from [Holzbaur2005] have.
        slopes: by coordinate.

    Raises:
        UnknownName: the model has no such coordinate.
        InvalidInput: a coordinate without a coupler.
    """
    for name in (*slopes, ELEVATION, PLANE):
        if name not in model.coordinate_names:
            raise UnknownName("coordinate", name, model.coordinate_names, f"model {model.name!r}")
    found = {c.dependent: c for c in model.constraints if isinstance(c, CoordinateCoupler)}
    missing = [name for name in slopes if name not in found]
    if missing:
        raise InvalidInput(f"model {model.name!r} has no coupler for {', '.join(missing)}; couple them to {ELEVATION}")
    for name, slope in slopes.items():
        # of two variables: 1, the last, the first
        function = MultivariatePolynomial(2, 1, (0.0, slope.plane, slope.elevation))
        model = model.with_constraint(
            replace(found[name], independents=(ELEVATION, PLANE), function=function, scale=1.0, enforced=True)
        )
    return model


def elevation_slopes(model: Model, names: tuple[str, ...] = tuple(DE_GROOT_BRAND)) -> dict[str, float]:
    """Slopes of the named coordinates over elevation as the model's own couplers have them at rest [rad/rad]."""
    found = {}
    for one in model.constraints:
        if isinstance(one, CoordinateCoupler) and one.dependent in names and one.independents == (ELEVATION,):
            assert one.function is not None
            found[one.dependent] = one.scale * float(one.function.derivative(0.0))
    return found
