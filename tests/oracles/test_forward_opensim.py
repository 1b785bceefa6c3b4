"""Muscle-driven simulations beside live OpenSim 4.6: single right-hand sides, trajectories, and their energy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_osim, simulate
from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.forces.model_forces import passive_forces
from musculo.model import Model
from musculo.model.coordinate import coordinate_path
from musculo.opensim_tools.forces.simbody_departures import simbody_loads
from musculo.opensim_tools.tools.forward_tool import PART_OF_TOLERANCE
from musculo.simulation.muscles.excitations import control_functions
from musculo.simulation.muscles.muscles_as_force import MuscleForce
from musculo.simulation.simulation import Simulation
from support.opensim_forward import forward, rates
from support.opensim_server import in_opensim
from support.recorded_data import DATA, NO_DATA

pytest.importorskip("opensim")
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)

MODELS = {
    "arm26": "arm26/arm26.osim",
    "tug of war, Thelen": "tug_of_war/Tug_of_War.osim",
    "tug of war, Millard": "tug_of_war/Tug_of_War_Millard.osim",
    "planar walker": "gait10dof18musc/subject01.osim",
    "Rajagopal": "rajagopal_walk/subject_walk_scaled.osim",
    "ball": "small_models/BouncingBall_HuntCrossley.osim",
}
# Of the largest acceleration; the order of sums differs, and the walker's mass matrix has a condition of 1e4. Measured
# 3e-13, of forces and lengths 3e-14, of the rates of fibers (differences of forces over small damping) 6e-12.
ACCELERATION, FORCE, FIBER = 1e-11, 1e-12, 1e-10
# How far trajectories are apart, in tolerances of OpenSim's integrator, over so many seconds; see `apart`.
TIMES, SPAN = 10.0, 0.2
# Errors of steps of ours beside a tolerance of OpenSim's, at which ours add nothing that is seen.
FINER = 1e-3


class Case(NamedTuple):
    """A model, where it starts, and its controls."""

    file: str
    model: Model
    start: Mapping[str, float]  # by OpenSim's names
    q: FloatArray
    u: FloatArray
    activation: FloatArray
    fiber_length: FloatArray
    controls: Mapping[str, Any]

    def job(self, **more: Any) -> dict[str, Any]:
        return {"model": self.file, "start": self.start, "controls": self.controls, "span": [0.0, 1.0], **more}

    def simulated(self, times: Any, tolerance: float, **more: Any) -> Simulation:
        muscular = bool(self.model.muscles)
        own = {"activation": self.activation, "fiber_length": self.fiber_length, "excitations": self.excitations}
        return simulate(
            self.model, self.q, self.u, times, rtol=tolerance, atol=tolerance, **(own if muscular else {}), **more
        )

    @property
    def excitations(self) -> dict[str, Any]:
        return {name: tuple(one) if isinstance(one, list) else one for name, one in self.controls.items()}


@cache
def model_of(name: str) -> Model:
    return read_osim(DATA / MODELS[name], opensim_rounding=True)


def case(name: str, seed: int, moving: float = 0.0) -> Case:
    """A random state near the default pose, at these speeds, and controls between 0.02 and 0.3, some of which ramp."""
    model, rng = model_of(name), np.random.default_rng(seed)
    e = embedding_of(model)
    z = e.independent(e.default_pose())
    z = z + (rng.uniform(-0.1, 0.1, z.shape) if moving else 0.0)
    motion = e.motion(z, moving * rng.uniform(-1.0, 1.0, len(e.speed_names)))
    q, u = motion.q, motion.u
    a = rng.uniform(0.05, 0.3, len(model.muscles))
    # not balanced, in single right-hand sides: fibers must move there
    fiber = np.array([m.optimal_fiber_length for m in model.muscles]) * rng.uniform(0.8, 1.2, len(a))
    start = {}
    for joint in model.joints:
        for c in joint.coordinates:
            path = coordinate_path(joint.name, c.name)
            start[f"{path}/value"] = q[model.coordinate_index(c.name)]
            start[f"{path}/speed"] = u[model.speed_index(c.name)]
    for m, l0, l1 in zip(model.muscle_names, a, fiber, strict=True):
        start |= {f"/forceset/{m}/activation": l0, f"/forceset/{m}/fiber_length": l1}
    levels = rng.uniform(0.02, 0.3, (len(a), 2))
    ramp = [0.0, 3.0]  # beyond these OpenSim's lines go on, and ours are level
    controls = {
        m: float(x[0]) if k % 2 else [ramp, x.tolist()]
        for k, (m, x) in enumerate(zip(model.muscle_names, levels, strict=True))
    }
    return Case(str(DATA / MODELS[name]), model, start, q, u, a, fiber, controls)


def same(ours: FloatArray, theirs: FloatArray, part: float, what: str) -> None:
    assert_allclose(ours, theirs, rtol=0, atol=part * max(np.abs(theirs).max(initial=0.0), 1.0), err_msg=what)


# --- one right-hand side ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "ball"])
def test_one_right_hand_side_is_opensims(name, seed):
    """Accelerations, tensions, rates of fibers and activations, to rounding, with `like="opensim"`.

    Simbody's velocity term of Rajagopal's knee differs, and stands in loads.
    """
    one = case(name, seed, moving=1.0)
    model = one.model
    theirs = in_opensim(rates, one.job())
    off = (lambda t, q, u: simbody_loads(model, q[None], u[None])) if name == "Rajagopal" else None
    found = one.simulated((0.0, 1e-9), 1e-5, like="opensim", loads=off, method="cvode")
    own = dict(zip(theirs["names"], theirs["rates"], strict=True))
    paths = {c.name: coordinate_path(j.name, c.name) for j in model.joints for c in j.coordinates}
    same(found.udot[0], np.array([own[f"{paths[n]}/speed"] for n in model.speed_names]), ACCELERATION, "udot")
    muscles = found.muscles
    assert muscles is not None
    assert tuple(theirs["muscles"]) == model.muscle_names
    for what in ("tension", "length", "speed"):
        same(getattr(muscles, what)[0], theirs[what], FORCE, what)
    fiber = np.array([own[f"/forceset/{m}/fiber_length"] for m in model.muscle_names])
    assert np.abs(fiber).max() > 0.1
    drive = MuscleForce(model, control_functions(model, one.excitations), "opensim", True)
    states = np.stack([one.activation, one.fiber_length], axis=1).ravel()
    rate = drive.now(0.0, one.q, one.u, states).rates
    same(rate[1::2], fiber, FIBER, "rates of fibers")
    same(rate[::2], np.array([own[f"/forceset/{m}/activation"] for m in model.muscle_names]), FORCE, "of activations")


# --- trajectories -----------------------------------------------------------------------------------------------------
def apart(one: Case, accuracy: float, tolerance: float, end: float, **more: Any) -> FloatArray:
    """(steps,) how far all states are apart at OpenSim's steps, in the norm in which its integrators keep errors: the
    root mean square over the states, each beside its largest value, which counts as one at least."""
    theirs = in_opensim(forward, one.job(span=[0.0, end], accuracy=accuracy, equilibrium=True))
    time, at = np.unique(theirs["time"], return_index=True)
    states = theirs["states"][at]
    begin = dict(zip(theirs["names"], states[0], strict=True))
    fiber = np.array([begin[f"/forceset/{m}/fiber_length"] for m in one.model.muscle_names])
    found = one._replace(fiber_length=fiber).simulated(time, tolerance, like="opensim", **more)
    assert found.status == "finished", found.reason
    table = found.to_table()
    ours = np.stack([table.column(name) for name in theirs["names"]], axis=1)
    scale = np.maximum(np.abs(states).max(axis=0), 1.0)
    return np.sqrt((((ours - states) / scale) ** 2).mean(axis=1))


@pytest.mark.parametrize("name", ["arm26", "tug of war, Millard", "planar walker", "ball"])
def test_trajectories_are_within_ten_tolerances_and_converge(name):
    one = case(name, 5)
    for accuracy in (1e-5, 1e-7):
        assert apart(one, accuracy, accuracy * FINER, SPAN).max() < TIMES * accuracy


@pytest.mark.parametrize("name", ["arm26", "tug of war, Millard", "planar walker", "ball"])
def test_steps_of_the_tool_are_within_ten_tolerances_of_what_opensim_converges_to(name):
    one, tolerance = case(name, 5), 1e-5
    assert apart(one, 1e-10, tolerance * PART_OF_TOLERANCE, SPAN).max() < TIMES * tolerance


def test_trajectories_of_thelens_muscles_converge():
    """Their law has kinks, at which OpenSim's errors exceed its tolerance: 40 times at 1e-7."""
    one = case("tug of war, Thelen", 5)
    errors = [apart(one, a, a * FINER, SPAN).max() for a in (1e-4, 1e-6, 1e-8)]
    assert errors[0] < TIMES * 1e-4
    assert errors[1] < 0.1 * errors[0]
    assert errors[2] < 0.2 * errors[1]


def test_rajagopals_motion_differs_by_simbodys_velocity_term():
    one = case("Rajagopal", 5)
    assert apart(one, 1e-7, 1e-9, 0.01, loads=lambda t, q, u: simbody_loads(one.model, q[None], u[None])).max() < 1e-6
    assert 1e-5 < apart(one, 1e-7, 1e-9, 0.01).max() < 1e-2


@pytest.mark.parametrize(("name", "end"), [("arm26", 1.0), ("ball", 2.0)])
def test_long_motions_stay_near(name, end):
    assert apart(case(name, 5), 1e-7, 1e-9, end).max() < 1e-3


# --- energy -----------------------------------------------------------------------------------------------------------
def work_and_change(one: Case, end: float, tolerance: float, like: str | None) -> tuple[float, float, float]:
    """What muscles and passive forces give over a motion, the change of energy, and all that they exchange.

        K + V |_0^end = int (-T . Ldot + u . tau_passive) dt

    by three Gauss points in each of many intervals: where limits of coordinates begin, power has kinks.
    """
    x, w = np.polynomial.legendre.leggauss(3)
    edges = np.linspace(0.0, end, round(end / 1e-4) + 1)
    middle, half = 0.5 * (edges[1:] + edges[:-1]), 0.5 * np.diff(edges)
    times = (middle[:, None] + half[:, None] * x).ravel()
    weights = (half[:, None] * w).ravel()
    found = one.simulated(np.concatenate([[0.0], times, [end]]), tolerance, like=like)
    assert found.status == "finished", found.reason
    power = np.zeros(len(found.time))
    if found.muscles is not None:
        power += found.muscles.power.sum(axis=1)
    tau, _ = passive_forces(one.model, found.q, found.u, found.time, "opensim" if like else "exact", 1)
    power += np.einsum("fu,fu->f", found.u, tau)
    energy = found.kinetic + found.potential
    return float(weights @ power[1:-1]), float(energy[-1] - energy[0]), float(weights @ np.abs(power[1:-1]))


# Energy that does not close, as a part of what is exchanged.
ENERGY = 1e-6


@pytest.mark.parametrize("like", [None, "opensim"])
@pytest.mark.parametrize(
    ("name", "end"), [("arm26", 0.1), ("tug of war, Millard", 0.2), ("planar walker", 0.05), ("ball", 0.8)]
)
def test_energy_is_what_muscles_contacts_and_limits_give(name, end, like):
    work, change, exchanged = work_and_change(case(name, 5), end, 1e-11, like)
    assert exchanged > 0.01
    assert abs(work - change) < ENERGY * exchanged
