"""Muscle-driven forward simulations against OpenSim 4.6 at equal error, in one run.

python benchmarks/forward_simulation.py [MODEL ...]      needs the extra `oracles` and the data folder

Both begin with the same state (fibers in equilibrium) and follow the same constant controls: the walker falls from its
default pose, Rajagopal's model goes on from a frame of its recorded walk. Errors are those of all states, root mean
square over states and steps, each beside its largest value, which counts as one at least, against a solution of the
same equations: OpenSim's own with errors of a step of 1e-9 (a spline through its steps), and ours with 1e-11. Exact
paths are beside fitted ones (polynomials in the place of 77 of 80, within 2 mm; fitting is not timed) and OpenSim's.
Costs at an error lie on the line, of logarithms, through the nearest two tolerances. Times are those of the processor:
of OpenSim's integration alone, and of the whole call of `simulate`, which also computes forces at every step.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicSpline

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import musculo
from musculo import motion_of, read_osim, read_storage, simulate
from musculo.arrays import FloatArray
from musculo.model import Model
from musculo.model.coordinate import coordinate_path
from musculo.muscle import fit_paths
from support.opensim_forward import forward
from support.opensim_server import OpenSimServer
from trees import data_folder

REFERENCE, THEIR_REFERENCE = 1e-11, 1e-9
ERRORS = (1e-3, 1e-4, 1e-5, 1e-6)
RUNS = 3  # of which the fastest counts


class Walk(NamedTuple):
    """A model, how long it moves, tolerances of either side, and the goals beside OpenSim's default and best."""

    file: str
    end: float
    theirs: tuple[float, ...]
    their_methods: tuple[str, ...]
    ours: tuple[float, ...]
    our_methods: tuple[str, ...]
    level: float  # of excitations, least
    motion: str  # where it begins: a third of this motion; the default pose without one
    goal: str


WALKS = {
    "walker": Walk(
        "gait10dof18musc/subject01.osim", 0.5, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7), ("merson", "cpodes"),
        (1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8), ("imex", "rkf45"), 0.04, "", "20x, and 8x beside CPodes",
    ),
    "rajagopal": Walk(
        "rajagopal_walk/subject_walk_scaled.osim", 0.1, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), ("merson", "cpodes"),
        (1e-3, 1e-4, 1e-5, 1e-6, 1e-7), ("imex",), 0.02, "rajagopal_walk/coordinates.sto",
        "20x with exact paths, 40x with fitted ones",
    ),
}  # fmt: skip


class Point(NamedTuple):
    """What one tolerance gives."""

    error: float
    seconds: float  # of the processor
    right_hand_sides: int
    steps: int


def controls(model: Model, level: float) -> dict[str, float]:
    """Different ones for neighbors, up to twice the level."""
    return {name: level * (1.0 + ((7 * k) % 5) / 5) for k, name in enumerate(model.muscle_names)}


def named_start(model: Model, walk: Walk) -> dict[str, float]:
    """Coordinates, speeds and activations by OpenSim's names, where they are no defaults."""
    found = {f"/forceset/{name}/activation": walk.level for name in model.muscle_names}
    if not walk.motion:
        return found
    motion = motion_of(model, read_storage(data_folder() / walk.motion), 6.0)
    k = len(motion) // 3
    for joint in model.joints:
        for c in joint.coordinates:
            path = coordinate_path(joint.name, c.name)
            found[f"{path}/value"] = float(motion.q[k, model.coordinate_index(c.name)])
            found[f"{path}/speed"] = float(motion.u[k, model.speed_index(c.name)])
    return found


def fitted(model: Model, walk: Walk) -> Model | None:
    """The model with polynomials for paths, fitted to exact ones around the motion; None without a motion."""
    if not walk.motion:
        return None
    motion = motion_of(model, read_storage(data_folder() / walk.motion), 6.0)
    return fit_paths(model, motion=motion.q, margin=0.3, tolerance=2e-3).model


def error(ours: FloatArray, reference: FloatArray) -> float:
    scale = np.maximum(np.abs(reference).max(axis=0), 1.0)
    return float(np.sqrt((((ours - reference) / scale) ** 2).mean()))


def columns(model: Model, found: musculo.simulation.Simulation, names: list[str]) -> FloatArray:
    table = found.to_table()
    return np.stack([table.column(name) for name in names], axis=1)


def start_of(model: Model, names: list[str], row: FloatArray) -> dict[str, Any]:
    """What `simulate` begins with, from OpenSim's states."""
    values = dict(zip(names, row, strict=True))
    q, u = np.zeros(len(model.coordinates)), np.zeros(len(model.speed_names))
    for joint in model.joints:
        for c in joint.coordinates:
            path = coordinate_path(joint.name, c.name)
            q[model.coordinate_index(c.name)], u[model.speed_index(c.name)] = (
                values[f"{path}/value"],
                values[f"{path}/speed"],
            )
    states = {
        what: np.array([values[f"/forceset/{m}/{what}"] for m in model.muscle_names])
        for what in ("activation", "fiber_length")
    }
    return {"q0": q, "u0": u, **states}


def at_error(points: list[Point], wanted: float) -> float:
    """Seconds at an error: between points that nothing cheaper is nearer than, or of the cheapest; nan if none is."""
    known = sorted(points)
    known = [p for k, p in enumerate(known) if p.seconds == min(one.seconds for one in known[: k + 1])]
    if known[0].error > wanted:
        return float("nan")
    e, s = np.log([p.error for p in known]), np.log([p.seconds for p in known])
    return float(np.exp(np.interp(np.log(wanted), e, s)))


def run(name: str, walk: Walk) -> None:
    file = str(data_folder() / walk.file)
    model = read_osim(file, opensim_rounding=True)
    server = OpenSimServer(patience=600.0)
    excitations = controls(model, walk.level)
    job = {"model": file, "controls": excitations, "equilibrium": True, "span": [0.0, walk.end]}
    job["start"] = named_start(model, walk)
    first = server.call(forward, {**job, "span": [0.0, 1e-4]}).checked()
    names = [n for n in first["names"] if "_beta" not in n]  # of patellae, which follow
    begin = start_of(model, first["names"], first["states"][0])

    def ours(times: Any, tolerance: float, like: str | None, of: Model = model, **more: Any) -> Any:
        return simulate(
            of, times=times, excitations=excitations, like=like, rtol=tolerance, atol=tolerance, **begin, **more
        )

    print(f"\n{name}: {len(model.muscles)} muscles, {walk.end:g} s; goal {walk.goal}")
    best = server.call(forward, {**job, "accuracy": THEIR_REFERENCE}).checked()
    known, at = np.unique(best["time"], return_index=True)
    tight = CubicSpline(known, best["states"][at])
    found: dict[str, list[Point]] = {}
    for method in walk.their_methods:
        for accuracy in walk.theirs:
            one = server.call(forward, {**job, "accuracy": accuracy, "method": method}).checked()
            times, at = np.unique(one["time"], return_index=True)
            place = [one["names"].index(n) for n in names]
            reference = tight(times)[:, place]
            seconds = min(
                one["seconds"],
                *(
                    server.call(forward, {**job, "accuracy": accuracy, "method": method}).checked()["seconds"]
                    for _ in range(RUNS - 1)
                ),
            )
            point = Point(error(one["states"][at][:, place], reference), seconds, one["right_hand_sides"], one["steps"])
            found.setdefault(f"OpenSim {method}", []).append(point)
            _say(f"OpenSim {method}", accuracy, point, walk.end)
    kinds = [
        (f"musculo {how} {method}", like, of, method)
        for how, like, of in (
            ("exact", None, model),
            ("fitted", None, fitted(model, walk)),
            ("like OpenSim", "opensim", model),
        )
        if of is not None
        for method in walk.our_methods
    ]
    for label, like, of, method in kinds:
        for tolerance in walk.ours:
            span, options = (0.0, walk.end), {"method": method, "dense": False}
            ours(span, tolerance, like, of, **options)
            seconds = []
            for _ in range(RUNS):
                began = time.process_time()
                one = ours(span, tolerance, like, of, **options)
                seconds.append(time.process_time() - began)
            assert one.status == "finished", one.reason
            reference = columns(model, ours(one.time, REFERENCE, like, of), names)
            off = error(columns(model, one, names), reference)
            point = Point(off, min(seconds), one.n_evaluations, one.n_steps)
            found.setdefault(label, []).append(point)
            _say(label, tolerance, point, walk.end)
    print("simulated seconds a second of the processor, and how many times as fast as each of OpenSim's")
    for wanted in ERRORS:
        costs = {label: at_error(points, wanted) for label, points in found.items()}
        told = [f"{label} {walk.end / cost:8.3f}" for label, cost in costs.items()]
        ratios = [
            f"{label.removeprefix('musculo ')} / {peer.removeprefix('OpenSim ')} {costs[peer] / costs[label]:.1f}x"
            for label in costs
            if label.startswith("musculo")
            for peer in costs
            if peer.startswith("OpenSim")
        ]
        print(f"  error {wanted:g}: {'; '.join(told)};   {'; '.join(ratios)}")


def _say(label: str, tolerance: float, p: Point, end: float) -> None:
    print(
        f"  {label:26s} tolerance {tolerance:7.0e}  error {p.error:8.1e}  {p.seconds * 1e3:9.2f} ms  "
        f"{p.right_hand_sides:6d} right-hand sides, {p.seconds / p.right_hand_sides * 1e6:7.1f} us each, "
        f"{p.steps:5d} steps, {end / p.seconds:7.3f} simulated s/s",
        flush=True,
    )


if __name__ == "__main__":
    for wanted in sys.argv[1:] or list(WALKS):
        run(wanted, WALKS[wanted])
