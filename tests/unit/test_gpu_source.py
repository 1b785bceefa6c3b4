"""The GPU runs the kernels' own source: shown without a device by Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Both run the same operations; the CPU fuses products and sums, the simulator does not.
ROUNDING = 1e-13
# Accelerations carry that rounding times the condition of the mass matrix.
CONDITIONED = 1e-11

SCRIPT = """
import numpy as np
from musculo import (Body, Coordinate, ExternalLoad, Model, Placement, forward_dynamics, inverse_dynamics,
    forward_dynamics_derivatives, inverse_dynamics_derivatives, mass_matrix)
from musculo.model.joints import BallJoint, CustomJoint, EllipsoidJoint, PinJoint, SliderJoint

def coordinates(*names):
    return tuple(Coordinate(name) for name in names)

bodies = tuple(Body(f"b{i}", 1.0 + i, (0.1, -0.2, 0.05 * i), (0.3, 0.4, 0.5, 0.01, 0.02, 0.03)) for i in range(5))
x = np.linspace(-1.5, 1.5, 9)
joints = (
    SliderJoint("slide", Placement("ground"), Placement("b0"), coordinates("s")),
    BallJoint("ball", Placement("b0", (0.1, 0.2, 0.3), (0.1, 0.2, 0.3)), Placement("b1"), coordinates("x", "y", "z")),
    CustomJoint.from_samples("knee", "b1", "b2", {"rz": x, "tx": 0.1 * np.sin(x), "ty": 0.2 * x**2}, "rz"),
    EllipsoidJoint("scapula", Placement("b3"), Placement("b2"), coordinates("e", "f", "g"), radii=(0.1, 0.2, 0.3)),
    PinJoint("pin", Placement("b3"), Placement("b4"), coordinates("p")),
)
model = Model("mixed", bodies, joints)
rng = np.random.default_rng(0)
q, u, udot = rng.uniform(-1, 1, size=(3, 5, len(model.coordinate_names)))
load = [ExternalLoad("b4", force=(1.0, 2.0, 3.0), point=(0.1, 0.0, 0.2), point_in="b4", moment=(0.3, 0.1, 0.2))]
for external in ([], load):
    cpu = inverse_dynamics(model, q, u, udot, external)
    gpu = inverse_dynamics(model, q, u, udot, external, device="gpu")
    print("rounding", abs(gpu - cpu).max() / abs(cpu).max())
    again = forward_dynamics(model, q, u, cpu, external, device="gpu")
    print("conditioned", abs(again - udot).max())
cpu, gpu = mass_matrix(model, q), mass_matrix(model, q, device="gpu")
print("rounding", abs(gpu - cpu).max() / abs(cpu).max())
for external in ([], load):
    cpu, gpu = (
        inverse_dynamics_derivatives(model, q, u, udot, loads=external, device=device) for device in ("cpu", "gpu")
    )
    for name in ("dtau_dq", "dtau_du", "dtau_dudot"):
        a, b = getattr(cpu, name), getattr(gpu, name)
        print("rounding", abs(a - b).max() / abs(a).max())
locked = model.with_coordinate("p", locked=True, default_value=0.2)
q[:, -1], u[:, -1], tau = 0.2, 0.0, np.ones_like(u)
cpu, gpu = (forward_dynamics(locked, q, u, tau, device=device) for device in ("cpu", "gpu"))
print("conditioned", abs(gpu - cpu).max() / abs(cpu).max())
for one in (model, locked):
    cpu, gpu = (forward_dynamics_derivatives(one, q, u, tau, device=device) for device in ("cpu", "gpu"))
    for name in ("dudot_dq", "dudot_du", "dudot_dtau"):
        a, b = getattr(cpu, name), getattr(gpu, name)
        print("conditioned", abs(a - b).max() / abs(a).max())
"""


def test_simulated_gpu_agrees_with_cpu():
    """Prismatic, ball, spline and reversed ellipsoid nodes: inverse and forward dynamics with and without external
    loads, mass matrix, derivatives of both, and a locked coordinate."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False)
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    errors = [line.split() for line in done.stdout.splitlines()]
    assert len(errors) == 18
    for kind, error in errors:
        assert float(error) < {"rounding": ROUNDING, "conditioned": CONDITIONED}[kind]
