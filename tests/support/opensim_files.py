"""The OpenSim side of comparisons of files and signals: jobs for a fresh process; see `opensim_process`."""

from __future__ import annotations

from functools import partial

import numpy as np

from support import opensim_process

ask = partial(opensim_process.ask, "opensim_files")


# --- what runs in the other process ----------------------------------------------------------------------------------
def _storage(o, path):
    storage = o.Storage(path)
    labels = storage.getColumnLabels()
    rows = [storage.getStateVector(i) for i in range(storage.getSize())]
    return {
        "names": [labels.get(i) for i in range(1, labels.getSize())],
        "time": np.array([row.getTime() for row in rows]),
        "values": np.array([[row.getData().get(j) for j in range(row.getSize())] for row in rows]),
        "degrees": storage.isInDegrees(),
        "title": storage.getName(),
    }


def _table(o, path):
    table = o.TimeSeriesTable(path)
    return {
        "names": list(table.getColumnLabels()),
        "time": np.array(table.getIndependentColumn()),
        "values": table.getMatrix().to_numpy(),
        "meta": {key: table.getTableMetaDataAsString(key) for key in table.getTableMetaDataKeys()},
    }


def _trc(o, path):
    """The strict reader, in the units of the file."""
    table = o.TimeSeriesTableVec3(path)
    flat = table.flatten()  # kept: its matrix is a view
    return {
        "names": list(table.getColumnLabels()),
        "time": np.array(table.getIndependentColumn()),
        "values": flat.getMatrix().to_numpy(),
        "units": table.getTableMetaDataAsString("Units"),
    }


def _reference(o, path, count):
    """What inverse kinematics takes of a file: positions in metres, frame by frame."""
    reference = o.MarkersReference()
    reference.initializeFromMarkersFile(path, o.SetMarkerWeights())
    names = reference.getNames()
    times = np.array(o.TimeSeriesTableVec3(path).getIndependentColumn())[:count]
    values = []
    for t in times:
        row = reference.getValues(float(t))
        values.append([[row.at(i).get(k) for k in range(3)] for i in range(row.size())])
    return {"names": [names.getElt(i) for i in range(names.size())], "time": times, "values": np.array(values)}


def _marker_data(o, path):
    """The lenient reader, in metres."""
    data = o.MarkerData(path)
    data.convertToUnits(o.Units("m"))
    names = data.getMarkerNames()
    frames = [data.getFrame(i) for i in range(data.getNumFrames())]
    return {
        "names": [names.get(i) for i in range(names.getSize())],
        "time": np.array([frame.getFrameTime() for frame in frames]),
        "values": np.array(
            [[[frame.getMarker(m).get(k) for k in range(3)] for m in range(names.getSize())] for frame in frames]
        ),
    }


def _motion_types(o, path):
    """Rotational coordinates, and the columns that OpenSim converts."""
    model = o.Model(path)
    coordinates = model.getCoordinateSet()
    model.initSystem()
    kinds = {coordinates.get(i).getName(): coordinates.get(i).getMotionType() for i in range(coordinates.getSize())}
    return sorted(name for name, kind in kinds.items() if kind == 1)


def _to_radians(o, model_path, path):
    model = o.Model(model_path)
    model.initSystem()
    storage = o.Storage(path)
    model.getSimbodyEngine().convertDegreesToRadians(storage)
    return np.array(
        [
            [storage.getStateVector(i).getData().get(j) for j in range(storage.getStateVector(i).getSize())]
            for i in range(storage.getSize())
        ]
    )


def _loads(o, model_path, path, times):
    """Force, point and torque (times, 3) of each load."""
    model = o.Model(model_path)
    loads = o.ExternalLoads(path, True)
    model.addModelComponent(loads)
    model.initSystem()
    result = []
    for i in range(loads.getSize()):
        force = loads.get(i)
        result.append(
            [
                [[getter(t).get(k) for k in range(3)] for t in times]
                for getter in (force.getForceAtTime, force.getPointAtTime, force.getTorqueAtTime)
            ]
        )
    return np.array(result)


def _lowpass(o, path, cutoff):
    storage = o.Storage(path)
    storage.pad(storage.getSize() // 2)
    storage.lowpassIIR(cutoff)
    rows = [storage.getStateVector(i) for i in range(storage.getSize())]
    return {
        "time": np.array([row.getTime() for row in rows]),
        "values": np.array([[row.getData().get(j) for j in range(row.getSize())] for row in rows]),
    }


def _spline(o, degree, x, y, at):
    """Value, first and second derivative (3, at)."""
    spline = o.GCVSpline()
    spline.setDegree(degree)
    for a, b in zip(x, y, strict=True):
        spline.addPoint(a, b)
    points = [o.Vector(1, t) for t in at]
    first, second = o.StdVectorInt([0]), o.StdVectorInt([0, 0])
    return np.array(
        [
            [spline.calcValue(p) for p in points],
            [spline.calcDerivative(first, p) for p in points],
            [spline.calcDerivative(second, p) for p in points],
        ]
    )
