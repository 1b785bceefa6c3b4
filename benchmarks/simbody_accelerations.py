"""Simbody's side of `constrained.py`, for a process of its own: what one acceleration takes through OpenSim.

    python simbody_accelerations.py STATES.npz OUT.npz MODEL.osim ...

STATES.npz holds q_K, u_K (frames, coordinates) and names_K of each model by its number K. OUT.npz gets udot_K and
seconds (models,): the least processor time of one `realizeAcceleration` after q and u have changed, setting them aside.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

ROUNDS = 7


def opened(path: str, names: list[str]):
    """A model without forces but gravity, its state, and its coordinates in our order."""
    import opensim

    model = opensim.Model(path)
    state = model.initSystem()
    for component in model.getComponentsList():
        force = opensim.Force.safeDownCast(component)
        if force is not None:
            force.setAppliesForce(state, False)
    group = model.getCoordinateSet()
    return model, state, [group.get(name) for name in names]


def main(states: str, target: str, *paths: str) -> None:
    import opensim

    opensim.Logger.setLevelString("off")
    given, out, made = np.load(states), {}, []
    for k, path in enumerate(paths):
        model, state, coordinates = opened(path, [str(name) for name in given[f"names_{k}"]])
        udot, kept = [], []
        for q, u in zip(given[f"q_{k}"], given[f"u_{k}"], strict=True):
            for coordinate, value, speed in zip(coordinates, q, u, strict=True):
                if not coordinate.getLocked(state):
                    coordinate.setValue(state, float(value), False)
                    coordinate.setSpeedValue(state, float(speed))
            kept.append((opensim.Vector(state.getQ()), opensim.Vector(state.getU())))
            model.realizeAcceleration(state)
            udot.append([coordinate.getAccelerationValue(state) for coordinate in coordinates])
        out[f"udot_{k}"] = np.array(udot)
        made.append((model, state, kept))
    least = np.full(len(made), np.inf)
    for _ in range(ROUNDS):
        for k, (model, state, kept) in enumerate(made):
            spent = []
            for whole in (True, False):
                start = time.process_time()
                for _ in range(max(1, 300 // len(kept))):
                    for q, u in kept:
                        state.setQ(q)
                        state.setU(u)
                        if whole:
                            model.realizeAcceleration(state)
                spent.append(time.process_time() - start)
            calls = max(1, 300 // len(kept)) * len(kept)
            least[k] = min(least[k], (spent[0] - spent[1]) / calls)
    np.savez(target, seconds=least, **out)


if __name__ == "__main__":
    main(*(str(Path(part).resolve()) for part in sys.argv[1:]))
