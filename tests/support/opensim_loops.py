"""Accelerations of models with closed loops from OpenSim, for a process of its own.

STATES.npz holds q_K, u_K (frames, coordinates) and names_K of each model by its number K; OUT.npz gets udot_K,
force_K (G^T lambda) and microseconds_K, the time that OpenSim takes for one acceleration.
"""

from __future__ import annotations

import os
import time

import numpy as np

from support.opensim_numbers import Numbers

_TIMED = 200


def constraint_forces(numbers: Numbers) -> np.ndarray:
    """G^T lambda (speeds,)."""
    force = numbers.osim.Vector()
    numbers.matter.multiplyByGTranspose(numbers.state, numbers.state.getMultipliers(), force)
    return force.to_numpy().copy()


def main(states: str, target: str, *paths: str) -> None:
    given, target = np.load(os.path.abspath(states)), os.path.abspath(target)
    out = {}
    for k, path in enumerate(map(os.path.abspath, paths)):
        numbers = Numbers(path)
        order = [list(given[f"names_{k}"]).index(name) for name in numbers.names]
        back = np.argsort(order)
        udot, force = [], []
        for q, u in zip(given[f"q_{k}"], given[f"u_{k}"], strict=True):
            numbers.set_q(q[order])
            numbers.state.setU(numbers.vector(u[order]))
            numbers.model.realizeAcceleration(numbers.state)
            udot.append(numbers.state.getUDot().to_numpy()[back].copy())
            force.append(constraint_forces(numbers)[back])
        out[f"udot_{k}"], out[f"force_{k}"] = np.array(udot), np.array(force)
        start = time.process_time()
        for _ in range(_TIMED):
            numbers.state.updQ()
            numbers.model.realizeAcceleration(numbers.state)
        out[f"microseconds_{k}"] = (time.process_time() - start) / _TIMED * 1e6
    np.savez(target, **out)
