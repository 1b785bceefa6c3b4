"""What OpenSim makes of a model file, and how two such views differ.

OpenSim runs in a process of its own for each file, because the `<defaults>` of one model leak into the next.
"""

from __future__ import annotations

import math
from pathlib import Path

from support.opensim_server import the_server

# Numbers pass through text with 17 digits and OpenSim's frames through one rotation matrix: rounding only.
ROUNDING = 1e-12


def opensim_facts(path: Path) -> dict:
    """OpenSim's view of a file, or {"error": what it said}."""
    ended = the_server().call(facts_of, str(path))
    return {"error": ended.log[-2000:]} if ended.failure else ended.answer


def differences(a, b, where: str, tolerance: float) -> list[str]:
    """One line for each place at which two views differ; numbers by more than the tolerance of the larger, or of 1."""
    if isinstance(a, dict) and isinstance(b, dict):
        if list(a) != list(b):
            return [f"{where}: {sorted(set(a) ^ set(b))[:6] or 'order'}"]
        return [d for key in a for d in differences(a[key], b[key], f"{where}/{key}", tolerance)]
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        return [
            d for i, (x, y) in enumerate(zip(a, b, strict=True)) for d in differences(x, y, f"{where}[{i}]", tolerance)
        ]
    if isinstance(a, float | int) and isinstance(b, float | int) and not isinstance(a, bool):
        same = a == b or (math.isnan(a) and math.isnan(b)) or abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))
        return [] if same else [f"{where}: {a!r} != {b!r}"]
    return [] if a == b else [f"{where}: {a!r} != {b!r}"]


# --- in the other process -------------------------------------------------------------------------------
def facts_of(path: str) -> dict:
    """What OpenSim makes of a file, in the default pose that initSystem assembles."""
    import opensim

    opensim.Logger.setLevelString("off")
    model = opensim.Model(path)
    state = model.initSystem()

    def vec(v, n=3):
        return [v.get(i) for i in range(n)]

    def pose(X):
        R = X.R()
        return [R.get(i, j) for i in range(3) for j in range(3)] + vec(X.p())

    def members(group):
        return [group.get(i) for i in range(group.getSize())]

    facts: dict = {"gravity": vec(model.getGravity()), "total_mass": model.getTotalMass(state)}
    facts["bodies"] = {
        b.getName(): [b.getMass(), vec(b.getMassCenter()), vec(b.get_inertia(), 6), pose(b.getTransformInGround(state))]
        for b in members(model.getBodySet())
    }
    facts["joints"] = {
        j.getName(): [
            j.getConcreteClassName(),
            j.getParentFrame().findBaseFrame().getName(),
            j.getChildFrame().findBaseFrame().getName(),
            pose(j.getParentFrame().findTransformInBaseFrame()),
            pose(j.getChildFrame().findTransformInBaseFrame()),
            [j.get_coordinates(i).getName() for i in range(j.numCoordinates())],
        ]
        for j in members(model.getJointSet())
    }
    facts["coordinates"] = {
        c.getName(): [
            c.getDefaultValue(),
            c.getDefaultSpeedValue(),
            c.getRangeMin(),
            c.getRangeMax(),
            c.getDefaultClamped(),
            c.getDefaultLocked(),
            c.get_prescribed(),
            c.get_is_free_to_satisfy_constraints(),
            c.getMotionType(),
            c.getValue(state),
        ]
        for c in members(model.getCoordinateSet())
    }
    facts["muscles"] = {
        m.getName(): [
            m.getConcreteClassName(),
            m.getMaxIsometricForce(),
            m.getOptimalFiberLength(),
            m.getTendonSlackLength(),
            m.getPennationAngleAtOptimalFiberLength(),
            m.getMaxContractionVelocity(),
            m.get_ignore_tendon_compliance(),
            m.get_ignore_activation_dynamics(),
            m.getMinControl(),
            m.getMaxControl(),
            m.get_appliesForce(),
            m.getLength(state),
        ]
        for m in members(model.getMuscles())
    }
    facts["markers"] = {
        m.getName(): [m.getParentFrame().getAbsolutePathString(), vec(m.get_location()), m.get_fixed()]
        for m in members(model.getMarkerSet())
    }
    facts["constraints"] = {
        c.getName(): [c.getConcreteClassName(), c.get_isEnforced()] for c in members(model.getConstraintSet())
    }
    for key, group in (
        ("controllers", model.getControllerSet()),
        ("forces", model.getForceSet()),
        ("probes", model.getProbeSet()),
        ("contact", model.getContactGeometrySet()),
    ):
        facts[key] = {m.getName(): m.getConcreteClassName() for m in members(group)}
    facts["components"] = {c.getAbsolutePathString(): _properties(c) for c in model.getComponentsList()}
    return facts


def _properties(component) -> list:
    """A component's class, its plain properties as OpenSim prints them, and what its sockets hold."""
    plain = {}
    for index in range(component.getNumProperties()):
        entry = component.getPropertyByIndex(index)
        if not entry.isObjectProperty() and not entry.getName().startswith("socket_"):
            plain[entry.getName()] = entry.toString()
    return [component.getConcreteClassName(), plain]
