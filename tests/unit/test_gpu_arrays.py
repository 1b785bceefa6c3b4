"""Arrays that stay on the GPU, and batches on several streams: Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, forward_dynamics, inverse_dynamics, mass_matrix, muscle_geometry
from musculo.errors import InvalidInput
from musculo.model.joints import PinJoint

# Both run the same operations; the CPU fuses products and sums, the simulator does not.
ROUNDING = 1e-12

MODEL = """
import numpy as np
from musculo import Body, Coordinate, Model, Placement, forward_dynamics, inverse_dynamics, mass_matrix, muscle_geometry
from musculo.errors import InvalidInput, SingularSystem, Unsupported
from musculo.kernels.cuda import cuda_batches as batches
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder

bodies = (
    Body("a", 1.0, (0.1, -0.2, 0.0), (0.3, 0.4, 0.5, 0.0, 0.0, 0.0)),
    Body("b", 2.0, (0.0, -0.1, 0.0), (0.2, 0.1, 0.2, 0.0, 0.0, 0.0)),
)
joints = (
    PinJoint("first", Placement("ground"), Placement("a"), (Coordinate("p"),)),
    PinJoint("second", Placement("a", (0.0, -0.4, 0.0)), Placement("b"), (Coordinate("r"),)),
)
ends = PathPoint("o", "ground", (-0.3, 0.01, 0.02)), PathPoint("i", "a", (0.3, 0.01, -0.03))
muscle = Muscle("m", "Thelen2003Muscle", path=Path(ends, (PathWrap("w", "c"),)))
surfaces = (WrapCylinder("c", "ground", (0.0, 0.02, 0.0), radius=0.1),)
model = Model("two", bodies, joints, wrap_objects=surfaces, forces=(muscle,))
rng = np.random.default_rng(0)
q, u, udot = rng.uniform(-0.5, 0.5, (3, 11, 2))


class Foreign:  # as CuPy's arrays and PyTorch's tensors show themselves; the simulator's device is the host
    def __init__(self, array):
        self.array, self.shape, self.dtype = array, array.shape, "torch.float64"
        self.__cuda_array_interface__ = dict(array.__array_interface__, version=3, strides=array.strides)
"""

SCRIPT = (
    MODEL
    + """
batches.SMALL_BATCH = batches.LARGE_BATCH = 4  # 11 frames: three streams, and a last batch that overlaps
streams = []
begin = batches._Slot.begin
def noted(self, *rest):
    streams.append(id(self.stream))
    begin(self, *rest)
batches._Slot.begin = noted

def off(found, expected):
    return abs(found - expected).max() / abs(expected).max()

cpu, mass = inverse_dynamics(model, q, u, udot), mass_matrix(model, q)
tau = inverse_dynamics(model, q, u, udot, device="gpu")
print(off(tau, cpu), type(tau).__name__, len(set(streams)), len(streams))
there = inverse_dynamics(model, q, u, udot, device="gpu", to_device=True)
print(off(there.copy_to_host(), cpu), type(there).__name__)
given = [Foreign(np.asfortranarray(q)), Foreign(u), udot]
print(off(inverse_dynamics(model, *given, device="gpu"), cpu))
there = mass_matrix(model, Foreign(q), device="gpu", to_device=True)
print(off(there.copy_to_host(), mass), there.shape)
udot_there = forward_dynamics(model, Foreign(q), u, inverse_dynamics(model, q, u, udot, device="gpu", to_device=True),
                              device="gpu", to_device=True)
print(off(udot_there.copy_to_host(), udot), udot_there.shape)
print(off(forward_dynamics(model, q[0], Foreign(u[0]), cpu[0], device="gpu"), udot[0]))
g, there = muscle_geometry(model, q), muscle_geometry(model, Foreign(q), device="gpu", to_device=True)
print(max(off(there.length.copy_to_host(), g.length), off(there.moment_arm.copy_to_host(), g.moment_arm)),
      (there.status != g.status).sum(), there.moment_arm.shape)
g, there = (muscle_geometry(model, x, like="opensim", device="gpu") for x in (q, Foreign(q)))
print(off(there.length, g.length))
"""
)

REFUSED = (
    MODEL
    + """
def said(call, kind=InvalidInput):
    try:
        call()
    except kind as error:
        print(error)

said(lambda: inverse_dynamics(model, Foreign(q.astype(np.float32)), u, udot, device="gpu"))
said(lambda: inverse_dynamics(model, Foreign(q[:, :1].copy()), u, udot, device="gpu"))
said(lambda: inverse_dynamics(model, Foreign(q[:3].copy()), u, udot, device="gpu"))
said(lambda: inverse_dynamics(model, q, u, udot, device="gpu", acting=u, to_device=True))
locked = model.with_coordinate("r", locked=True, default_value=0.0)
said(lambda: forward_dynamics(locked, q, u, u, device="gpu", to_device=True), Unsupported)
said(lambda: muscle_geometry(model, q, u, device="gpu", to_device=True), Unsupported)
light = Model("light", (bodies[0], Body("b", 0.0)), joints)
said(lambda: forward_dynamics(light, q, u, u, device="gpu", to_device=True), SingularSystem)
"""
)


def simulated(script):
    """The lines that a script prints under the simulator."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=False)
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_arrays_go_in_and_stay_on_the_device():
    lines = [line.split() for line in simulated(SCRIPT)]
    assert len(lines) == 8
    assert max(float(line[0]) for line in lines) < ROUNDING
    # NumPy's by default; three batches on three streams
    assert lines[0][1:] == ["ndarray", "3", "3"]
    assert lines[1][1] != "ndarray"
    assert lines[3][1:] == ["(11,", "2,", "2)"]
    assert lines[4][1:] == ["(11,", "2)"]
    assert lines[6][1:] == ["0", "(11,", "1,", "2)"]


def test_what_cannot_be_done_on_the_device_is_said():
    lines = simulated(REFUSED)
    expected = (
        "q is on the device and holds float32",
        "q is on the device and has shape (11, 1)",
        "different numbers of frames (q: 3",
        "acting cannot be taken off",
        "'r' and others depend on other coordinates or are locked",
        "lengthening speeds do not stay",
        "no inertia resists the speed 'r' of joint 'second' at frame 0",
    )
    assert len(lines) == len(expected)
    for line, words in zip(lines, expected, strict=True):
        assert words in line


class OnDevice:
    """An array that says it is in a GPU's memory."""

    shape = (3, 1)
    __cuda_array_interface__ = {"shape": (3, 1), "typestr": "<f8", "data": (0, False), "version": 3}  # noqa: RUF012


JOINT = PinJoint("pin", Placement("ground"), Placement("a"), (Coordinate("p"),))
PENDULUM = Model("pendulum", (Body("a", 1.0, (0, -0.5, 0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),), (JOINT,))
Q = np.zeros((3, 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda x, **options: inverse_dynamics(PENDULUM, x, Q, Q, **options),
        lambda x, **options: inverse_dynamics(PENDULUM, Q, Q, x, **options),
        lambda x, **options: mass_matrix(PENDULUM, x, **options),
        lambda x, **options: forward_dynamics(PENDULUM, x, Q, Q, **options),
        lambda x, **options: muscle_geometry(PENDULUM, x, **options),
    ],
)
def test_the_cpu_takes_no_arrays_of_the_device(call):
    with pytest.raises(InvalidInput, match="on a GPU, but device is 'cpu'; give device='gpu', or copy"):
        call(OnDevice())
    with pytest.raises(InvalidInput, match=r"to_device=True leaves .* on a GPU, but device is 'cpu'"):
        call(Q, to_device=True)
