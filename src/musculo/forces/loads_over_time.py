"""External loads as forces of the model: functions of time, which simulations evaluate in compiled code."""

from __future__ import annotations

from collections.abc import Sequence

from musculo.arrays import FloatArray
from musculo.errors import Unsupported
from musculo.functions import Constant, Function, GCVSpline, PiecewiseLinear
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.results.external_loads import ExternalForce, ExternalLoads

# Frames that a cubic spline needs at least.
_CUBIC = 4


def forces_of_loads(loads: ExternalLoads, taken: Sequence[str] = ()) -> tuple[Force, ...]:
    """A `PrescribedForce` for each load that applies: the same numbers as `ExternalLoads.at`.

    Args:
        loads: what acts.
        taken: names of other forces; a load of such a name gets another one.

    Raises:
        Unsupported: a load whose parts are given in frames other than ground and the body it acts on.
    """
    known, found = set(taken), []
    for force in loads.forces:
        if not force.applies:
            continue
        odd = [frame for frame in (force.force_in, force.point_in) if frame not in (GROUND, force.body)]
        if odd:
            raise Unsupported(
                f"external force {force.name!r} is expressed in {odd[0]!r}; simulations know loads in ground or in the "
                f"frame of {force.body!r}, on which it acts"
            )
        name = next(one for k in range(len(known) + 1) if (one := force.name + "_load" * k) not in known)
        known.add(name)
        parts = (
            ("force", force.force_identifier),
            ("point", force.point_identifier),
            ("torque", force.torque_identifier),
        )
        functions = tuple(
            (f"{part}Functions/{axis}", function)
            for part, identifier in parts
            if identifier
            for axis, function in enumerate(_functions(loads, force, identifier))
        )
        properties = (
            ("socket_frame", "/ground" if force.body == GROUND else f"/bodyset/{force.body}"),
            ("pointIsGlobal", str(force.point_in == GROUND).lower()),
            ("forceIsGlobal", str(force.force_in == GROUND).lower()),
        )
        found.append(Force(name, "PrescribedForce", properties=properties, functions=functions))
    return tuple(found)


def _functions(loads: ExternalLoads, force: ExternalForce, identifier: str) -> tuple[Function, ...]:
    """Of x, y and z: natural cubic splines, lines through few frames, or constants."""
    values = loads.columns(force, identifier)
    return tuple(_function(loads.table.time, values[:, axis]) for axis in range(3))


def _function(time: FloatArray, values: FloatArray) -> Function:
    t, y = tuple(time.tolist()), tuple(values.tolist())
    if len(t) >= _CUBIC:
        return GCVSpline(t, y, half_order=2)
    if len(t) == 1:
        return Constant(y[0])
    return PiecewiseLinear((t[0] - 1.0, *t, t[-1] + 1.0), (y[0], *y, y[-1]))
