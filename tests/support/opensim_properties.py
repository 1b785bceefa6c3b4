"""OpenSim's own list of classes: the properties of each (sockets and inputs included), its bases, and its XML."""

from __future__ import annotations

from typing import Any

_BASES = (
    *("Component", "Force", "Actuator", "Muscle", "Joint", "Constraint", "AbstractPathPoint", "WrapObject"),
    *("ContactGeometry", "Function", "Frame", "Probe", "Controller", "Geometry", "AbstractGeometryPath"),
)


def _classes(opensim: Any) -> dict[str, dict[str, Any]]:
    names = opensim.ArrayStr()
    opensim.OpenSimObject.getRegisteredTypenames(names)
    found = {}
    for k in range(names.getSize()):
        one = opensim.OpenSimObject.newInstanceOfType(names.get(k))
        properties = [one.getPropertyByIndex(i) for i in range(one.getNumProperties())]
        found[names.get(k)] = {
            "properties": [p.getName() for p in properties],
            "optional objects": [p.getName() for p in properties if p.isObjectProperty() and p.isOptionalProperty()],
            "bases": [base for base in _BASES if getattr(opensim, base).safeDownCast(one) is not None],
            "xml": one.dump(),
        }
    return found
