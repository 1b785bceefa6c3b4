"""What OpenSim computes for a document, by the absolute paths of its components: sets, `<components>`, all of them.

The jobs of `support.opensim_process.ask`: ["mechanics", path, poses] gives the default pose (as the file states it, not
assembled) and random poses near it; ["assembled", path] the coordinates of the assembled pose;
["accelerations", path] those of rest in the default pose, under all forces.
"""

from __future__ import annotations

import numpy as np

from support.opensim_numbers import matrix, vec3

# Around the default pose [rad, m].
_REACH = 0.4


def _mechanics(osim, path: str, poses: int) -> dict:
    model = osim.Model(path)
    state = model.initSystem()
    components = list(model.getComponentsList())

    def of_kind(kind):
        cast = getattr(osim, kind).safeDownCast
        return {c.getAbsolutePathString(): cast(c) for c in components if cast(c) is not None}

    coordinates, bodies, markers = of_kind("Coordinate"), of_kind("Body"), of_kind("Marker")
    paths, muscles, forces = of_kind("GeometryPath"), of_kind("Muscle"), of_kind("Force")
    slots = _slots(osim, state, coordinates)
    names = sorted(slots, key=lambda name: slots[name][1])
    q_slots = [slots[name][0] for name in names]
    default = state.getQ().to_numpy().copy()
    for name, slot in zip(names, q_slots, strict=True):
        default[slot] = coordinates[name].getDefaultValue()
    rng = np.random.default_rng(3)
    out: dict = {"coordinates": names, "q": [], "M": []}
    out |= {"bodies": {name: [] for name in bodies}, "markers": {name: [] for name in markers}}
    out |= {"lengths": {p.getOwner().getAbsolutePathString(): [] for p in paths.values()}}
    for pose in range(poses):
        q = default.copy()
        if pose:
            q[q_slots] += rng.uniform(-_REACH, _REACH, len(names))
        state.setQ(_vector(osim, q))
        model.realizePosition(state)
        M = osim.Matrix()
        model.getMatterSubsystem().calcM(state, M)
        out["q"].append(q[q_slots])
        out["M"].append(matrix(M))
        for name, body in bodies.items():
            X = body.getTransformInGround(state)
            out["bodies"][name].append([[X.R().get(i, j) for j in range(3)] + [X.p().get(i)] for i in range(3)])
        for name, marker in markers.items():
            out["markers"][name].append(vec3(marker.getLocationInGround(state)))
        for one in paths.values():
            out["lengths"][one.getOwner().getAbsolutePathString()].append(one.getLength(state))
    out["muscles"] = list(muscles)
    out["counted_muscles"] = [model.getMuscles().get(i).getName() for i in range(model.getMuscles().getSize())]
    out["forces"] = {name: force.getConcreteClassName() for name, force in forces.items()}
    return out


def _assembled(osim, path: str) -> dict:
    """Each coordinate, by its path, in the pose that OpenSim assembles from the default one."""
    model = osim.Model(path)
    state = model.initSystem()
    found = (osim.Coordinate.safeDownCast(c) for c in model.getComponentsList())
    return {c.getAbsolutePathString(): c.getValue(state) for c in found if c is not None}


def _accelerations(osim, path: str) -> dict:
    """Accelerations of each coordinate, by its path, at rest in the default pose under all that acts."""
    model = osim.Model(path)
    state = model.initSystem()
    model.realizeAcceleration(state)
    found = (osim.Coordinate.safeDownCast(c) for c in model.getComponentsList())
    return {c.getAbsolutePathString(): c.getAccelerationValue(state) for c in found if c is not None}


def _slots(osim, state, coordinates) -> dict:
    """Which slot of Simbody's q and u each coordinate has: find out by moving it."""
    found = {}
    for name, c in coordinates.items():
        probe = osim.State(state)
        c.setLocked(probe, False)
        probe.setU(_vector(osim, np.zeros(probe.getNU())))
        c.setSpeedValue(probe, 7.25)
        before = probe.getQ().to_numpy().copy()
        c.setValue(probe, c.getValue(probe) + 0.0123, False)
        moved = np.abs(probe.getQ().to_numpy() - before)
        found[name] = int(np.argmax(moved)), int(np.argmax(np.abs(probe.getU().to_numpy())))
        c.setValue(probe, c.getDefaultValue(), False)
    return found


def _vector(osim, values):
    v = osim.Vector(len(values), 0.0)
    for i, x in enumerate(values):
        v.set(i, float(x))
    return v
