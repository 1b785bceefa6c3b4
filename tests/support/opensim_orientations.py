"""The OpenSim side of comparisons of sensors and placement: jobs for a fresh process; see `opensim_process`."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np

from support import opensim_process

ask = partial(opensim_process.ask, "opensim_orientations")


# --- what runs in the other process ----------------------------------------------------------------------------------
def _place(o, model, orientations, angles, base, axis, target):
    """OpenSim's placer: rotations (3, 3) of the sensors' frames in their bodies, and a file of the model."""
    placer = o.IMUPlacer()
    placer.set_model_file(model)
    placer.set_orientation_file_for_calibration(orientations)
    placer.set_sensor_to_opensim_rotations(o.Vec3(*angles))
    placer.set_base_imu_label(base)
    placer.set_base_heading_axis(axis)
    placer.set_output_model_file(target)
    assert placer.run(False)
    placed = placer.getCalibratedModel()
    found = {}
    for name in o.TimeSeriesTableQuaternion(orientations).getColumnLabels():
        frame = placed.getComponent(f"/bodyset/{name.removesuffix('_imu')}/{name}")
        X = o.PhysicalOffsetFrame.safeDownCast(frame).findTransformInBaseFrame()  # kept: its rotation is a view
        R = X.R()
        found[name] = np.array([[R.get(i, j) for j in range(3)] for i in range(3)])
    return found


def _tool(o, model, orientations, angles, weights, folder):
    """OpenSim's tool for IMUs: its coordinates and angles of sensors, as its files hold them."""
    Path(folder).mkdir(exist_ok=True)
    entries = "".join(
        f'<OrientationWeight name="{name}"><weight>{weight}</weight></OrientationWeight>'
        for name, weight in weights.items()
    )
    setup = Path(folder) / "setup.xml"
    setup.write_text(
        '<OpenSimDocument Version="40600"><IMUInverseKinematicsTool name="imu">'
        f"<results_directory>{folder}</results_directory><model_file>{model}</model_file>"
        "<time_range>-Inf Inf</time_range><output_motion_file>poses.mot</output_motion_file>"
        f"<report_errors>true</report_errors><sensor_to_opensim_rotations>{' '.join(map(str, angles))}"
        f"</sensor_to_opensim_rotations><orientations_file>{orientations}</orientations_file>"
        f'<OrientationWeightSet name="orientation_weights"><objects>{entries}</objects></OrientationWeightSet>'
        "</IMUInverseKinematicsTool></OpenSimDocument>"
    )
    assert o.IMUInverseKinematicsTool(str(setup)).run(False)
    return sorted(path.name for path in Path(folder).iterdir())


def ready_solver(o, model, orientations, weights, markers, marker_weights, accuracy, lock, goals=None):
    """OpenSim's solver with the first frame assembled; its model and state, and the times of the frames."""
    loaded = o.Model(model)
    if lock:
        loaded.initSystem()
        for k in range(loaded.getCoordinateSet().getSize()):
            coordinate = loaded.updCoordinateSet().get(k)
            if coordinate.getMotionType() == 2:
                coordinate.setDefaultLocked(True)
    state = loaded.initSystem()
    if orientations:
        table = o.TimeSeriesTableQuaternion(orientations)
        listed = o.OrientationWeightSet()
        for name, weight in weights.items():
            listed.cloneAndAppend(o.OrientationWeight(name, weight))
        reference = o.OrientationsReference(o.OpenSenseUtilities.convertQuaternionsToRotations(table), listed)
        times = np.array(table.getIndependentColumn())
    points, listed_markers = o.MarkersReference(), o.SetMarkerWeights()
    if markers:
        for name, weight in marker_weights.items():
            listed_markers.cloneAndAppend(o.MarkerWeight(name, weight))
        points.initializeFromMarkersFile(markers, listed_markers)
        times = np.array(o.TimeSeriesTableVec3(markers).getIndependentColumn())
    tasks = o.SimTKArrayCoordinateReference()
    for name, (weight, value) in (goals or {}).items():
        task = o.CoordinateReference(name, o.Constant(value))
        task.setWeight(weight)
        tasks.push_back(task)
    if orientations:
        solver = o.InverseKinematicsSolver(loaded, points, reference, tasks)
    else:
        solver = o.InverseKinematicsSolver(loaded, points, tasks)
    solver.setAccuracy(accuracy)
    state.setTime(float(times[0]))
    solver.assemble(state)
    # what the solver refers to has to live as long as it does
    return solver, loaded, state, times, (points, tasks, reference if orientations else None)


def _solve(o, model, orientations, weights, markers, marker_weights, accuracy, lock, names, goals=None):
    """OpenSim's solver, asked for more digits than its tools ask for: coordinates (frames, n) in the order of names."""
    solver, loaded, state, times, _ = ready_solver(
        o, model, orientations, weights, markers, marker_weights, accuracy, lock, goals
    )
    coordinates = [loaded.getCoordinateSet().get(name) for name in names]
    q = []
    for time in times:
        state.setTime(float(time))
        solver.track(state)
        q.append([coordinate.getValue(state) for coordinate in coordinates])
    return np.array(q)


def _placer(o, setup):
    """A scale tool that only places markers; its files are in its folder afterwards."""
    os.chdir(Path(setup).parent)
    return o.ScaleTool(Path(setup).name).run()
