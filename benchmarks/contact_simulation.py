"""Simulations with contacts, beside OpenSim's in the same run, one thread; and what the forces of a state take.

python benchmarks/contact_simulation.py      OpenSim needs the extra `oracles`; models need the data folder

A ball that bounces three times, and the walking model of gait10dof18musc, without its muscles, that falls on six
spheres under its feet. Ours is "rkf45", OpenSim's its default, Runge-Kutta-Merson, with the same tolerance. Least
processor time of several rounds, of the simulation alone, without reading a model.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import musculo
from musculo import MusculoWarning
from musculo.arrays import FloatArray
from musculo.kernels.integrate.forced_tree import model_force
from musculo.model.contact_model import ContactGeometry, ContactMaterial, contact_force
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.simulation.forces.model_force import ModelForce
from trees import data_folder

CALLS, REPEATS = 2000, 5
ACCURACY = 1e-6
WALKER = "gait10dof18musc/moco_track/walk_gait1018_subject01.osim"
FLOOR = ContactGeometry("floor", "ContactHalfSpace", "/ground", (0.0, 0.0, 0.0), (0.0, 0.0, -np.pi / 2))
SOLE = {"heel": (0.0, -0.02, 0.0), "outside": (0.12, -0.02, 0.03), "inside": (0.18, -0.02, -0.02)}


def walker(folder: Path, smooth: bool) -> tuple[Model, FloatArray]:
    """With six contacts, a hand above the floor."""
    model = musculo.read_osim(folder / WALKER)
    spheres = [
        ContactGeometry(f"{name}_{side}", "ContactSphere", f"calcn_{side}", at, (0.0, 0.0, 0.0), (0.03,))
        for side in "rl"
        for name, at in SOLE.items()
    ]
    numbers = {"stiffness": 1e6, "dissipation": 1.0, "static_friction": 0.8, "dynamic_friction": 0.7}
    forces = [contact_force("feet", "HuntCrossleyForce", [_material(spheres)], 0.1)]
    if smooth:
        stated = tuple((key, str(value)) for key, value in {**numbers, "transition_velocity": 0.1}.items())
        sides = (("socket_half_space", "/contactgeometryset/floor"),)
        forces = [
            Force(f"under_{ball.name}", "SmoothSphereHalfSpaceForce",
                  properties=(*stated, *sides, ("socket_sphere", f"/contactgeometryset/{ball.name}")))
            for ball in spheres
        ]  # fmt: skip
    model = model.replace(forces=forces, contact_geometries=(FLOOR, *spheres), name="walker")
    q = np.array([c.default_value for c in model.coordinates])
    q[model.coordinate_index("pelvis_ty")] = 0.95
    return model, q


def _material(spheres: list[ContactGeometry]) -> ContactMaterial:
    return ContactMaterial(("floor", *(ball.name for ball in spheres)), 1e6, 1.0, 0.8, 0.7, 0.0)


def thrown(folder: Path) -> tuple[Model, FloatArray]:
    """A ball in the air."""
    model = musculo.read_osim(folder / "small_models/BouncingBall_HuntCrossley.osim")
    q = np.zeros(6)
    q[model.coordinate_index("ball_ty")] = 1.0
    return model, q


def least(run: Callable[[], object]) -> float:
    """Processor time of one run, the least of several [s]."""
    run()
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def opensim_run(model: Model, q: FloatArray, end: float) -> tuple[float, FloatArray] | None:
    """The time of OpenSim's simulation, and where it ends."""
    try:
        import opensim
    except ImportError:
        return None
    opensim.Logger.setLevelString("Off")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.osim"
        musculo.write_osim(model, file)
        theirs = opensim.Model(str(file))
        state = theirs.initSystem()
        coordinates = [theirs.getCoordinateSet().get(name) for name in model.coordinate_names]
        last: list[float] = []

        def run() -> None:
            start = opensim.State(state)
            for coordinate, value in zip(coordinates, q.tolist(), strict=True):
                coordinate.setValue(start, value, False)
            manager = opensim.Manager(theirs)
            manager.setWriteToStorage(False)
            manager.setIntegratorAccuracy(ACCURACY)
            manager.initialize(start)
            done = manager.integrate(end)
            last[:] = [coordinate.getValue(done) for coordinate in coordinates]

        return least(run), np.array(last)


def compare(name: str, model: Model, q: FloatArray, end: float, max_step: float = np.inf) -> None:
    """One row."""
    options = {"method": "rkf45", "rtol": ACCURACY, "atol": ACCURACY, "dense": False, "max_step": max_step}
    ours = least(lambda: musculo.simulate(model, q, None, (0.0, end), **options))
    done = musculo.simulate(model, q, None, (0.0, end), **options)
    at = (done.time[-1], *(np.ascontiguousarray(x[-1]) for x in (done.q, done.u)), np.zeros(len(model.speed_names)))
    force = model_force.bound(*at, *ModelForce(model).data)

    def states() -> None:
        for _ in range(CALLS):
            force()

    one = least(states) / CALLS
    pressed = int(np.count_nonzero(musculo.model_forces(model, done.q, done.u).wrench.any(axis=(1, 2))))
    told = f"{name:28s} {one * 1e6:9.2f} us {ours * 1e3:9.2f} ms, {done.n_steps} steps"
    told += f" ({pressed} in contact)"
    theirs = opensim_run(model, q, end)
    if theirs is not None:
        apart = np.abs(theirs[1] - done.q[-1]).max()
        told += f" {theirs[0] * 1e3:9.1f} ms {theirs[0] / ours:7.0f}x   end {apart:.1e} apart"
    print(told)


def main() -> None:
    folder = data_folder()
    if folder is None:
        print("no data folder: nothing to simulate")
        return
    warnings.simplefilter("ignore", MusculoWarning)
    print(f"{'':28s} forces of a state, simulation; OpenSim's simulation, ratio")
    # steps of free flight are longer than an impact
    compare("ball, 2 s", *thrown(folder), 2.0, 0.01)
    compare("walker, Hunt-Crossley, 0.5 s", *walker(folder, False), 0.5)
    compare("walker, smooth, 0.5 s", *walker(folder, True), 0.5)


if __name__ == "__main__":
    main()
