"""The OpenSim side of comparisons of set-up files and scaling: jobs for a fresh process; see `opensim_process`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

from support import opensim_process

ask = partial(opensim_process.ask, "opensim_tools")


_UNLOADED = {
    **dict.fromkeys(("AnalyzeTool", "InverseKinematicsTool", "RRATool", "CMCTool"), (False,)),
    "ForwardTool": (True, False),
}


# --- what runs in the other process ----------------------------------------------------------------------------------
def _setup(o, tool, path):
    """A set-up file as OpenSim understands it: all its properties in the layout of 4.6."""
    o.OpenSimObject.setSerializeAllDefaults(True)
    make = getattr(o, tool)
    # what comes after the path says whether to read the elements, and whether to load the model
    read = make(path, *_UNLOADED.get(tool, ()))
    target = Path(path).with_suffix(".printed")
    read.printToXML(str(target))
    return target.read_text()


def _default(o, kind, path):
    """An object of a class as it is made, with all its properties."""
    made = getattr(o, kind)()
    made.setAllPropertiesUseDefault(False)
    made.printToXML(path)
    return Path(path).read_text()


def _scale_set(o, factors):
    scales = o.ScaleSet()
    for body, (x, y, z) in factors.items():
        scale = o.Scale()
        scale.setName(body)
        scale.setSegmentName(body)
        scale.setScaleFactors(o.Vec3(x, y, z))
        scale.setApply(True)
        scales.cloneAndAppend(scale)
    return scales


def _scaled(o, path, factors, mass, preserve, target):
    """OpenSim's own scaling, written to a file, and its numbers."""
    model = o.Model(path)
    state = model.initSystem()
    model.scale(state, _scale_set(o, factors), preserve, mass)
    model.printToXML(target)
    return _numbers(model)


def _scale_tool(o, setup, target, factors_file):
    """A whole scale tool: the numbers of what it writes, and the factors it found."""
    os.chdir(Path(setup).parent)  # where absolute paths are given, the tool writes elsewhere
    done = o.ScaleTool(Path(setup).name).run()
    scales = o.ScaleSet(factors_file)
    found = {}
    for k in range(scales.getSize()):
        scale, factors = scales.get(k), o.Vec3()
        scale.getScaleFactors(factors)
        found[scale.getSegmentName()] = [factors.get(i) for i in range(3)]
    return {"done": done, "factors": found, "numbers": _numbers(o.Model(target))}


def _force_set(o, path):
    """Name, class and, of actuators, optimal force and limits of the control."""
    forces = o.ForceSet(path)
    found = []
    for k in range(forces.getSize()):
        force = forces.get(k)
        row = [force.getName(), force.getConcreteClassName()]
        kind = getattr(o, row[1])
        if hasattr(kind, "getOptimalForce"):
            actuator = kind.safeDownCast(force)
            row += [actuator.getOptimalForce(), actuator.getMinControl(), actuator.getMaxControl()]
        found.append(row)
    return found


def _tracking_tasks(o, path):
    """Name, class, and of its three components weight, activity and gains, of every task."""
    tasks = o.CMC_TaskSet(path)
    found = []
    for k in range(tasks.getSize()):
        task = o.CMC_Task.safeDownCast(tasks.get(k))
        what = (task.getWeight, task.getActive, task.getKP, task.getKV, task.getKA)
        parts = [[float(get(i)) for i in range(3)] for get in what]
        found.append([task.getName(), task.getConcreteClassName(), tasks.get(k).getOn(), *parts])
    return found


def _control_limits(o, path, times):
    """Name, and the least and largest value at some times, of every control."""
    controls = o.ControlSet(path)
    every = [controls.get(k) for k in range(controls.getSize())]
    return [
        [c.getName(), [c.getControlValueMin(t) for t in times], [c.getControlValueMax(t) for t in times]] for c in every
    ]


def _model_numbers(o, path):
    return _numbers(o.Model(path))


def _numbers(model):
    """What scaling changes, by name, as OpenSim states it of a model."""
    state = model.initSystem()
    model.realizePosition(state)
    found = {}

    def put(kind, name, values):
        found[f"{kind} {name}"] = [float(v) for v in values]

    for body in model.getBodyList():
        inertia = body.get_inertia()
        put("mass", body.getName(), [body.getMass()])
        put("mass center", body.getName(), [body.getMassCenter().get(k) for k in range(3)])
        put("inertia", body.getName(), [inertia.get(k) for k in range(6)])
        put("position", body.getName(), [body.getPositionInGround(state).get(k) for k in range(3)])
    for joint in model.getJointList():
        for side, frame in (("parent", joint.getParentFrame()), ("child", joint.getChildFrame())):
            offset = frame.findTransformInBaseFrame()
            put(f"{side} frame", joint.getName(), [offset.p().get(k) for k in range(3)])
    for k in range(model.getMarkerSet().getSize()):
        marker = model.getMarkerSet().get(k)
        put("marker", marker.getName(), [marker.get_location().get(i) for i in range(3)])
    for muscle in model.getMuscleList():
        lengths = [muscle.getOptimalFiberLength(), muscle.getTendonSlackLength(), muscle.getMaxIsometricForce()]
        put("muscle", muscle.getName(), [*lengths, muscle.getGeometryPath().getLength(state)])
        points = muscle.getGeometryPath().getPathPointSet()
        for i in range(points.getSize()):
            at = points.get(i).getLocation(state)
            put("point", f"{muscle.getName()} {i}", [at.get(j) for j in range(3)])
    return found
