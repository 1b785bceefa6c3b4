"""Monte Carlo of a trial as the GPU gets it: plain source under Numba's CUDA simulator, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# The same kernels on the same numbers; products and sums are fused on one side only.
ROUNDING = 1e-11

SCRIPT = """
import warnings
import numpy as np
import musculo
from musculo import CenterOfPressure, ExternalLoad, MarkerPlacement, MuscleParameter, SegmentMass
from musculo.demo.chain import ArmChain

warnings.simplefilter("ignore")
chain = ArmChain(0.5e-3, 6.0, 0)
markers = chain.markers.between(*chain.markers.time[[20, 25]])
inputs = (MarkerPlacement(0.003), SegmentMass(0.1), MuscleParameter("max_isometric_force", 0.2), CenterOfPressure(0.01))
hand = ExternalLoad(chain.model.body_names[-1], (3.0, 10.0, 1.0), (0.1, -0.2, 0.0), (0.1, 0.2, 0.3))
given = dict(samples=3, seed=3, cutoff=None, percentiles=(0, 100))
cpu, gpu = (musculo.uncertainty(chain.model, markers, hand, inputs, device=one, **given) for one in ("cpu", "gpu"))
for name in cpu.outputs:
    a, b = np.array(cpu.percentiles[name]), np.array(gpu.percentiles[name])
    print(name, np.abs(a - b).max() / np.abs(a).max(), np.ptp(a, axis=0).max() > 0.0)
"""


def test_simulated_gpu_agrees_with_cpu() -> None:
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": "1"}
    run = [sys.executable, "-c", SCRIPT]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, check=False)
    if "No module named 'numba.cuda" in done.stderr:
        pytest.skip("this Numba has no CUDA simulator")
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line.split() for line in done.stdout.splitlines()]
    assert len(lines) == 7
    for name, off, varies in lines:
        assert float(off) < ROUNDING, name
        assert varies == "True", name
