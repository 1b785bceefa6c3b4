"""The number of threads changes no bit of any result: frames are cut at places that do not depend on it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.analyses.static_optimization.least_effort import least_effort
from musculo.demo import arm, arm_flexion

THREADS = (2, 3, 5, 8)
# So many frames that kernels are shared out among five threads, and no multiple of a pack.
FRAMES = 1307


def swinging(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The motion of the arm that ships, drawn out."""
    motion = musculo.motion_of(model, arm_flexion().resample(time=np.linspace(0.0, 1.0, FRAMES)))
    return motion.q, motion.u, motion.udot


def recorded(data_folder, folder: str, osim: str, results: str) -> tuple[Model, tuple, dict]:
    model = musculo.read_osim(data_folder / folder / osim)
    table = musculo.read_storage(data_folder / "oracle" / results / "ik.mot")
    motion = musculo.motion_of(model, table, 6.0).rows(slice(0, 75))
    loads = musculo.read_external_loads(data_folder / folder / "oracle_extloads.xml").at(motion.time)
    return model, (motion.q, motion.u, motion.udot), {"loads": loads}


def arrays(result: object) -> dict[str, np.ndarray]:
    """The arrays of a result, by name."""
    if isinstance(result, np.ndarray):
        return {"": result}
    return {name: value for name, value in vars(result).items() if isinstance(value, np.ndarray)}


def same_for_all(call: Callable[[int], object]) -> None:
    one = arrays(call(1))
    assert one
    for threads in THREADS:
        found = arrays(call(threads))
        for name, values in one.items():
            assert np.array_equal(found[name], values, equal_nan=True), f"{name!r} with {threads} threads"


@pytest.mark.parametrize("options", [{}, {"power": 3.0}, {"tendon": "elastic", "passive": True}])
def test_static_optimisation_of_the_arm(options):
    model = arm()
    q, u, udot = (part[:200] for part in swinging(model))
    same_for_all(lambda n: musculo.static_optimization(model, q, u, udot, reserves=5.0, threads=n, **options))


@pytest.mark.parametrize(
    ("folder", "osim", "results"),
    [
        ("gait10dof18musc", "subject01.osim", "gait10dof18musc_walk"),
        ("gait2392", "subject01_simbody.osim", "gait2392_walk"),
    ],
)
def test_static_optimisation_of_walking(data_folder, folder, osim, results):
    model, motion, loads = recorded(data_folder, folder, osim, results)
    same_for_all(lambda n: musculo.static_optimization(model, *motion, reserves=10.0, threads=n, **loads))


def test_everything_else_of_the_arm():
    model = arm()
    q, u, udot = swinging(model)
    tension = np.full((FRAMES, len(model.muscles)), 20.0)
    calls = {
        "inverse_dynamics": lambda n: musculo.inverse_dynamics(model, q, u, udot, threads=n),
        "forward_dynamics": lambda n: musculo.forward_dynamics(model, q, u, udot, threads=n),
        "mass_matrix": lambda n: musculo.mass_matrix(model, q, threads=n),
        "geodesic": lambda n: musculo.muscle_geometry(model, q, u, threads=n),
        "opensim": lambda n: musculo.muscle_geometry(model, q, u, like="opensim", threads=n),
        "joint_loads": lambda n: musculo.joint_loads(model, q, u, udot, muscle_forces=tension, threads=n),
        "muscle_analysis": lambda n: muscle_analysis(model, q, u, 0.3, threads=n),
    }
    for call in calls.values():
        same_for_all(call)


def test_frames_that_take_working_sets_from_others():
    """Problems that change slowly, so that the working set of the frame before is taken: 40 x within [0, 1], 6 rows."""
    rng = np.random.default_rng(11)
    t = np.linspace(0.0, 1.0, 130)[:, None, None]
    A = rng.normal(size=(1, 6, 40)) + t * rng.normal(size=(1, 6, 40))
    b = np.einsum("fij,fj->fi", A, rng.uniform(0.0, 1.0, size=(1, 40)) + 0.2 * np.sin(6.0 * t[:, :, 0]))
    bounds = (np.zeros(40), np.ones(40), np.ones(40))
    same_for_all(lambda n: least_effort(A, b, *bounds, 2.0, n).x)
