"""The OpenSim side of comparisons of forces that are no muscles: jobs for a fresh process; see `opensim_process`."""

from __future__ import annotations

from functools import partial

import numpy as np

from support import opensim_process

ask = partial(opensim_process.ask, "opensim_forces")


# --- what runs in the other process ----------------------------------------------------------------------------------
def _forces(o, path, q, u, time):
    """Every force alone at every state: columns of the reporter, energy, wrenches on bodies, generalised forces.

    q, u are (frames, n) in the order of `coordinates`, which is the order of the model. Gravity must be zero: what the
    system applies is then the force that is switched on.
    """
    model = o.Model(path)
    state = model.initSystem()
    matter = model.getMatterSubsystem()
    coordinates = [model.getCoordinateSet().get(k) for k in range(model.getCoordinateSet().getSize())]
    group = [model.getForceSet().get(k) for k in range(model.getForceSet().getSize())]
    group = [getattr(o, f.getConcreteClassName()).safeDownCast(f) for f in group if f.get_appliesForce()]
    bodies = [model.getGround()] + [model.getBodySet().get(k) for k in range(model.getBodySet().getSize())]
    found = {
        "coordinates": [c.getName() for c in coordinates],
        "names": [f.getName() for f in group],
        "bodies": [b.getName() for b in bodies],
        "labels": [],
    }
    columns = [_speed_column(state, c) for c in coordinates]
    rows = {"tau": [], "wrench": [], "energy": [], "values": []}
    for force in group:
        labels = force.getRecordLabels()
        found["labels"].append([labels.get(k) for k in range(labels.getSize())])
        for other in group:
            other.setAppliesForce(state, other.getName() == force.getName())
        part = {key: [] for key in rows}
        for x, v, t in zip(q, u, time, strict=True):
            _set(state, coordinates, x, v, t)
            model.realizeDynamics(state)
            on_bodies, on_speeds = model.getRigidBodyForces(state), model.getMobilityForces(state)
            pulled = o.Vector()
            matter.multiplyBySystemJacobianTranspose(state, on_bodies, pulled)
            total = [pulled.get(k) + on_speeds.get(k) for k in range(pulled.size())]
            part["tau"].append([total[k] for k in columns])
            part["wrench"].append([_about_ground(state, b, on_bodies.get(b.getMobilizedBodyIndex())) for b in bodies])
            part["energy"].append(model.calcPotentialEnergy(state))
            values = force.getRecordValues(state)
            part["values"].append([values.get(k) for k in range(values.getSize())])
        for key, values in part.items():
            rows[key].append(np.array(values))
    # (forces, frames, ...), columns of the reporter as a list
    return {**found, **{key: np.array(rows[key]) for key in ("tau", "wrench", "energy")}, "values": rows["values"]}


def _actuators(o, path, q, u, controls, activations):
    """tau (states, n) of all actuators of a model without gravity, under its controls, and the names of these.

    controls are (states, n) in the order of the model, activations (states,) by actuator.
    """
    model = o.Model(path)
    state = model.initSystem()
    matter = model.getMatterSubsystem()
    coordinates = [model.getCoordinateSet().get(k) for k in range(model.getCoordinateSet().getSize())]
    columns = [_speed_column(state, c) for c in coordinates]
    found = []
    for i, (x, v, given) in enumerate(zip(q, u, controls, strict=True)):
        _set(state, coordinates, x, v, 0.0)
        for name, values in activations.items():
            model.setStateVariableValue(state, f"/forceset/{name}/activation", values[i])
        model.realizeVelocity(state)
        vector = model.updControls(state)
        assert vector.size() == len(given), (vector.size(), len(given))
        for k, value in enumerate(given):
            vector.set(k, value)
        model.markControlsAsValid(state)
        model.realizeDynamics(state)
        pulled = o.Vector()
        matter.multiplyBySystemJacobianTranspose(state, model.getRigidBodyForces(state), pulled)
        on_speeds = model.getMobilityForces(state)
        total = [pulled.get(k) + on_speeds.get(k) for k in range(pulled.size())]
        found.append([total[k] for k in columns])
    labels = o.createControlNamesFromModel(model)
    return {"tau": np.array(found), "controls": [str(name) for name in labels]}


def _simulate(o, path, q, u, times, accuracy):
    """q (times, n) of a simulation by OpenSim's integrator from a state at the first of the times."""
    model = o.Model(path)
    state = model.initSystem()
    coordinates = [model.getCoordinateSet().get(k) for k in range(model.getCoordinateSet().getSize())]
    _set(state, coordinates, q, u, times[0])
    manager = o.Manager(model)
    manager.setIntegratorAccuracy(accuracy)
    manager.initialize(state)
    found = [[float(x) for x in q]]
    for time in times[1:]:
        state = manager.integrate(time)
        found.append([c.getValue(state) for c in coordinates])
    return np.array(found)


def _set(state, coordinates, q, u, time):
    state.setTime(float(time))
    for c, x, v in zip(coordinates, q, u, strict=True):
        c.setValue(state, float(x), False)
        c.setSpeedValue(state, float(v))


def _speed_column(state, coordinate):
    """Which of Simbody's speeds a coordinate has: the one that moves with it."""
    for k in range(state.getNU()):
        state.updU().set(k, 0.0)
    coordinate.setSpeedValue(state, 1.0)
    return next(k for k in range(state.getNU()) if state.getU().get(k) == 1.0)


def _about_ground(state, body, wrench):
    """Moment about ground's origin, and force."""
    p = body.getPositionInGround(state)
    force, moment = (np.array([wrench.get(part).get(k) for k in range(3)]) for part in (1, 0))
    return np.concatenate([moment + np.cross([p.get(k) for k in range(3)], force), force])
