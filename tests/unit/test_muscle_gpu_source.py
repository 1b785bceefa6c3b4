"""Muscle kernels as the GPU gets them: their plain source under Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

# Both balance fibre and tendon to 1e-10; products and sums are fused on one side only, and packs have an e^x of their
# own.
ROUNDING = 1e-9

SCRIPT = """
import numpy as np
from musculo.muscle.fibers.equilibrium import muscle_equilibrium
from support.muscle_rig import OPTIMAL, one_of_each

model = one_of_each()
rng = np.random.default_rng(2)
shape = (5, len(model.muscles))
length, speed, activation = rng.uniform(0.15, 0.45, shape), rng.uniform(-1.5, 1.5, shape), rng.uniform(0, 1, shape)
speed[::3] = 0.0
for tendon in ("as stated", "rigid"):
    for method in ("exact", "opensim"):
        cpu, gpu = (
            muscle_equilibrium(model, length, speed, activation, tendon=tendon, method=method, device=device)
            for device in ("cpu", "gpu")
        )
        force = np.maximum(1000.0, cpu.tendon_force)
        errors = [
            (abs(gpu.tendon_force - cpu.tendon_force) / force).max(),
            (abs(gpu.active_fiber_force - cpu.active_fiber_force) / force).max(),
            abs(gpu.fiber_length - cpu.fiber_length).max() / OPTIMAL,
            abs(gpu.pennation - cpu.pennation).max(),
            abs(gpu.tendon_length - cpu.tendon_length).max() / OPTIMAL,
        ]
        print(max(errors), (gpu.status != cpu.status).sum(), len(set(cpu.status.ravel())))
"""


def test_simulated_gpu_agrees_with_cpu():
    """Every kind of muscle, far beyond its range: both methods, elastic and rigid tendons."""
    tests = str(Path(__file__).resolve().parent.parent)
    paths = os.pathsep.join(filter(None, [tests, os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=environment, check=False)
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 4
    for error, different, outcomes in lines:
        assert float(error) < ROUNDING
        assert int(different) == 0
        # balanced and slack at least, so the comparison reaches beyond the usual
        assert int(outcomes) >= 2
