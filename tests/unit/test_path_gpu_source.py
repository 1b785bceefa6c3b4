"""Path kernels as the GPU gets them: their plain source under Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The same operations, products and sums fused or not; the ellipsoid's early stopped iterations multiply that.
ROUNDING = 1e-10

SCRIPT = """
import types
import numpy as np
from musculo import Body, Coordinate, Model, Placement, kinematics
from musculo.compile.compiled import compiled
from musculo.functions.elementary_functions import Linear
from musculo.kernels.cuda import cuda_device as gpu
from musculo.kernels.paths.path_points import ENTRY_ROWS, TAG_ROWS, CurrentPaths, PosedPaths
from musculo.kernels.paths.path_points import active_points, path_lengths
from musculo.kernels.paths.path_arms import moment_arms, path_speeds
from musculo.kernels.wrapping.opensim.opensim_wraps import WRAP_ROWS, wrap_opensim
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.muscle.paths.compile_paths import compiled_paths

surfaces = (
    WrapCylinder("c", "ground", (0.0, 0.02, 0.0), radius=0.1),
    WrapSphere("s", "ground", radius=0.1, quadrant="-y"),
    WrapEllipsoid("e", "arm", semi_axes=(0.1, 0.12, 0.09)),
    WrapTorus("t", "ground", (0.0, 0.05, 0.0), (0.0, 1.5, 0.0), inner_radius=0.03, outer_radius=0.1),
)
ends = PathPoint("a", "ground", (-0.3, 0.01, 0.02)), PathPoint("b", "arm", (0.3, 0.01, -0.03))
via = (
    ConditionalPathPoint("v", "arm", (0.2, 0.12, 0.0), coordinate="turn", range=(0.0, 1.0)),
    MovingPathPoint("m", "arm", x=Linear(0.1, 0.25), x_coordinate="turn"),
)
wraps = [(PathWrap("w", name),) for name in "cset"] + [(PathWrap("w", "c"), PathWrap("w2", "e"))]
muscles = [Muscle(f"m{i}", "Thelen2003Muscle", path=Path(ends, w)) for i, w in enumerate(wraps)]
muscles.append(Muscle("via", "Thelen2003Muscle", path=Path((ends[0], *via, ends[1]))))
joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
model = Model("gpu", (Body("arm", 1.0),), (joint,), wrap_objects=surfaces, forces=tuple(muscles))
q, u = np.array([[-0.2], [0.1], [0.4]]), np.array([[1.0], [0.5], [-2.0]])

p, k, lanes = compiled_paths(model, True), kinematics(model, q), len(q)
nodes = compiled(model).tree.parent.size
motion = np.zeros((24 * nodes, lanes))
for i in range(nodes):
    motion[24 * i : 24 * i + 9] = k._R[:, i].reshape(lanes, 9).T
    motion[24 * i + 9 : 24 * i + 12] = k._motion[:, i, 0].T
columns = np.ascontiguousarray(k._twists.reshape(lanes, -1).T)
n, entries = len(p.names), int(p.paths.path_entry[-1])
C = np.zeros((ENTRY_ROWS * entries + WRAP_ROWS * len(p.wrap_names), lanes))
I = np.zeros((TAG_ROWS * entries, lanes), dtype=np.int64)
counts, S = np.zeros((n, lanes), dtype=np.int64), np.zeros((6 * p.paths.slot_node.size, lanes))
length, speed, arms = np.zeros((n, lanes)), np.zeros((n, lanes)), np.zeros((n, lanes))


names = {f.py_func.__name__: gpu.device_function(f)
         for f in (active_points, wrap_opensim, path_lengths, moment_arms, path_speeds)}
names |= {"cuda": gpu.cuda_module(), "PosedPaths": PosedPaths, "CurrentPaths": CurrentPaths}
def lane(paths, table, q, u, motion, columns, C, I, counts, S, length, speed, arms):
    lane = cuda.grid(1)
    if lane < q.shape[1]:
        x, now = PosedPaths(paths, table, q, motion), CurrentPaths(C, I, counts, S)
        active_points(x, now, True, lane)
        wrap_opensim(paths, motion, C, I, counts, lane)
        path_lengths(paths, True, C, I, counts, length, lane)
        moment_arms(x, now, columns, True, arms, lane)
        path_speeds(x, now, columns, u, speed, lane)
launch = gpu.cuda_module().jit(types.FunctionType(lane.__code__, names, "lane"))
QT, UT = np.ascontiguousarray(q.T), np.ascontiguousarray(u.T)
launch[1, 4](p.paths, p.table, QT, UT, motion, columns, C, I, counts, S, length, speed, arms)
g = muscle_geometry(model, q, u, like="opensim")
print(counts.sum(), abs(length.T - g.length).max(), abs(speed.T - g.speed).max(),
      abs(arms.T - g.moment_arm[:, :, 0]).max(), (counts.T != g.path_points.count).sum())
"""

# The whole road from coordinates to lengths and moment arms, with geodesics; the model of `SCRIPT`.
GEODESIC = (
    SCRIPT[: SCRIPT.index("p, k, lanes =")]
    + """
for wrapping in ("geodesic", "opensim"):
    g = muscle_geometry(model, q, wrapping=wrapping)
    gpu = muscle_geometry(model, q, wrapping=wrapping, device="gpu")
    print(abs(gpu.length - g.length).max(), abs(gpu.moment_arm - g.moment_arm).max(), (gpu.status != g.status).sum())
    print(abs(gpu.path_points.position - g.path_points.position).max())
"""
)


def simulated(script):
    """The numbers a script prints under the simulator."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    return [float(x) for x in done.stdout.split()]


def test_simulated_gpu_takes_the_whole_road():
    errors = simulated(GEODESIC)
    assert len(errors) == 8
    assert max(errors) < ROUNDING


def test_simulated_gpu_agrees_with_cpu():
    """All surfaces, two wraps on one path, and points that come, go and move."""
    points, *errors, different = simulated(SCRIPT)
    # six paths of two ends in three frames, and contacts on most of them
    assert points > 50
    assert max(errors) < ROUNDING
    assert different == 0
