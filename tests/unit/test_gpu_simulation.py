"""Simulations as the GPU gets them: their plain source under Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# The same steps from the same kernels, products and sums fused on one side only; stiff fibers multiply rounding.
ROUNDING = 1e-9

HEAD = """
import numpy as np
import musculo
from musculo import simulate_many

def compared(model, times, **given):
    cpu, gpu = (simulate_many(model, times=times, device=device, **given) for device in ("cpu", "gpu"))
    assert cpu.q.shape == gpu.q.shape and np.array_equal(np.isnan(cpu.q), np.isnan(gpu.q))
    off = [np.nanmax(abs(a - b), initial=0.0) for a, b in (
        (cpu.q, gpu.q), (cpu.u, gpu.u), (cpu.activation, gpu.activation), (cpu.fiber_length, gpu.fiber_length))]
    print(max(off), int(abs(cpu.n_steps - gpu.n_steps).max()), cpu.status == gpu.status)
    return cpu, gpu
"""

MUSCLES = """
from musculo.demo import arm
from musculo.muscle import fit_paths
arm = arm()
model = fit_paths(arm, tolerance=0.02, samples=200, degree=2).model
times = np.linspace(0.0, 0.012, 5)
ramp = {name: ([0.0, 0.01, 0.02], [0.1, 0.4, 0.2]) for name in model.muscle_names}
given = dict(q0=[[0.1, 0.5], [0.3, 1.0]], u0=None, excitations=[0.1, ramp], activation=[[0.05] * 6, [0.2] * 6])
fixed = dict(rtol=1e9, atol=1e9, max_step=0.003)  # any error is allowed: all steps but the first few are equally long
compared(model, times, method="rkf45", **fixed, **given)
compared(model, times, method="imex", rtol=1e-3, atol=1e-4, **given)
stronger = model.with_force(model.muscle_names[0], max_isometric_force=1500.0)
compared([model, stronger], times, method="imex", **{**given, "excitations": 0.3}, **fixed)
"""

OTHERS = """
from dataclasses import replace
from pathlib import Path
from musculo.demo import arm
from support.force_models import driven, every_state, zoo

fixed = dict(rtol=1e9, atol=1e9, max_step=0.004, method="rkf45")
starts = dict(q0=[[0.2, 0.5], [1.0, 0.3]], u0=[[1.0, 0.0], [0.0, -2.0]])
compared(replace(arm(), forces=()), np.linspace(0.0, 0.02, 4), **starts, **fixed)
for make in (zoo, driven):
    model = make(Path("."))
    q, u, _ = every_state(model, 2)
    compared(model, [0.0, 0.001], q0=q, u0=u, **{**fixed, "max_step": 1.0})
"""


def lines_of(script: str) -> list[list[str]]:
    """What a script prints under the simulator."""
    tests = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": paths}
    done = subprocess.run(
        [sys.executable, "-c", HEAD + script], capture_output=True, text=True, env=environment, check=False
    )
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split() for line in done.stdout.splitlines()]


@pytest.mark.parametrize("script", [MUSCLES, OTHERS], ids=["muscles", "other forces"])
def test_simulated_gpu_agrees_with_cpu(script: str) -> None:
    """Both methods, steps of given length and those that errors choose, other excitations, starts and models; a
    pendulum, and every force that acts by itself, contacts among them."""
    lines = lines_of(script)
    assert len(lines) == 3
    for off, steps, alike in lines:
        assert float(off) < ROUNDING
        assert (steps, alike) == ("0", "True")
