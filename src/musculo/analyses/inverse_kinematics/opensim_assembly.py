"""The poses that OpenSim's `Model::assemble` makes of recorded coordinates, before its analyses look at them.

In a model with constraints it asks, frame by frame, for

    minimize 1/2 sum_c (q_c - recorded_c)^2   subject to the constraints, clamped coordinates in their range

over all coordinates that are not locked; dependent ones of couplers, and those that are free to satisfy constraints,
have no part in the sum. With couplers alone that leaves independent coordinates as they are, up to their ranges; closed
loops move all that take part in them.

Source:  OpenSim 4.6, `Model::assemble`, `AssemblySolver`; Simbody 3.8, `Assembler`.
Departs: this is the minimum, to rounding. OpenSim's own pose is within 4e-9 of it until a coordinate that drives a
         coupler meets the end of its range, be it in a frame that the filter added. IPOPT then leaves the coupler open
         by 1e-8, the assembler refuses that (it wants 1e-10), and OpenSim takes constraints for goals of weight 20 from
         there on, in all frames that follow. A quasi-Newton method that stops where it happens to leaves coordinates up
         to 2e-4 rad off (`tests/oracles/test_assembly_opensim.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.inverse_kinematics.fit_recording import Wanted, fit_poses
from musculo.analyses.inverse_kinematics.tracked_poses import Status
from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.model.model import Model
from musculo.results.markers import Markers

# What is worth a word [rad, m].
_MOVED = 1e-6


def assembled(
    model: Model, time: FloatArray, q: FloatArray, shown: NDArray[np.bool_]
) -> tuple[FloatArray, tuple[str, ...]]:
    """(frames, n) coordinates as OpenSim's assembly leaves them but for couplers and locks, and what to say of it.

    Args:
        model: the model; without constraints nothing changes.
        time: (frames,) [s].
        q: (frames, n) coordinates as recorded [rad, m].
        shown: (frames,) which frames are spoken of: not what a filter added, nor what is not analyzed.
    """
    if not model.constraints or not len(q):
        return q, ()
    e = embedding_of(model)
    if not e.loops or e.unsolved:
        return _within_ranges(model, time, q, shown)
    # goals of all that no coupler, lock or prescribed motion determines; nothing else is followed
    driven = {rule.dependent for rule in e.rules} - {name for loop in e.loops for name in loop.dependents}
    driven |= {c.name for c in model.coordinates if c.free_to_satisfy_constraints}
    goals = {name: (1.0, q[:, model.coordinate_index(name)]) for name in model.speed_names if name not in driven}
    nothing = Markers(time, (), np.zeros((len(q), 0, 3)))
    found = fit_poses(model, Wanted(nothing, tasks=goals), start=q[0])
    apart = np.abs(found.q - q)[shown].max(axis=0, initial=0.0)
    moved = {name: float(apart[model.coordinate_index(name)]) for name in goals}
    worst = max(moved, key=lambda name: moved[name])
    notes = []
    if moved[worst] > _MOVED:
        notes.append(
            "closed loops: poses are the nearest to those of the file that close them, as OpenSim assembles them; that "
            f"moves coordinates by up to {moved[worst]:.3g} rad or m ({worst}); exact is to keep the independent ones "
            "(--exact)"
        )
    lost = int((found.status[shown] == Status.SLOW).sum())
    if lost:
        frames = f"{lost} of {int(shown.sum())} frames"
        notes.append(f"closed loops: in {frames} the search for the nearest pose did not end")
    return found.q, tuple(notes)


def _within_ranges(
    model: Model, time: FloatArray, q: FloatArray, shown: NDArray[np.bool_]
) -> tuple[FloatArray, tuple[str, ...]]:
    """q with clamped independent coordinates put to the end of the range that they leave."""
    free = set(model.free_coordinate_names)
    held, told, drives = q.copy(), [], False
    for c in model.coordinates:
        if not c.clamped or c.name not in free:
            continue
        k = model.coordinate_index(c.name)
        held[:, k] = np.clip(q[:, k], *c.range)
        beyond = np.abs(held[:, k] - q[:, k]) * shown
        if beyond.any():
            out = np.flatnonzero(beyond)
            told.append(
                f"{c.name} (by up to {beyond.max():.3g} at {len(out)} of {int(shown.sum())} frames between "
                f"{time[out[0]]:g} and {time[out[-1]]:g} s)"
            )
            drives |= any(c.name in rule.inputs for rule in embedding_of(model).rules)
    if not told:
        return held, ()
    said = (
        f"clamped coordinates leave their range [rad, m]: {', '.join(told)}; they are put at its end, as OpenSim's "
        "assembly does in a model with constraints"
    )
    if drives:
        said += (
            "; OpenSim fails to assemble such a frame, goes on with constraints that it no longer enforces, and has "
            "coordinates that are off by 1e-6 to 2e-4 rad in the frames after it, which are not reproduced"
        )
    return held, (said,)
