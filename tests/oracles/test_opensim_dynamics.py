"""Every model of the data folder against live OpenSim: poses, velocities, markers, M, tau; again after `write_osim`.

OpenSim runs in a fresh process for each file, because the `<defaults>` of one model leak into the next.

Where a joint's first coordinate also drives its third rotation, Simbody's bias is not that of Seth2010 eq. 28
(`support/simbody_terms.py` says exactly when and by how much). There our numbers are judged by Lagrange's equation, on
whose mass matrix both agree, and agree with OpenSim once the difference is added.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

import musculo
from musculo import Coordinate, Model, Placement, read_osim, write_osim
from musculo.functions import Constant, Linear, SimmSpline
from musculo.model.joints import Axis, CustomJoint
from musculo.model.model_constraint import CoordinateCoupler
from support import opensim_numbers
from support.complex_kernels import ComplexKernels
from support.dynamics_models import assert_close, random_body, random_unit
from support.opensim_server import in_opensim
from support.recorded_data import NO_DATA, recorded, within
from support.simbody_terms import simbody_excess

FILES = recorded("**/*.osim")
IDS = within(FILES)

# What the project promises: max |difference| <= 1e-9 max |reference| per quantity and model.
AGREEMENT = 1e-9
# OpenSim against itself, before and after writing: numbers pass through text of 17 digits.
REWRITTEN = 1e-9
# Exact slopes of M against a recursion: rounding over a tree of 40 joints.
LAGRANGE = 1e-11
# OpenSim polishes its assembly to 1e-12 in the coupler's own equation.
ASSEMBLED = 1e-9
# Small models: rounding alone.
ROUNDING = 1e-12

POSES = 10
QUANTITIES = ("R", "p", "w", "v", "marker", "marker_velocity", "qdot", "M", "tau_gravity", "tau_bias", "tau_id")

needs_opensim = pytest.mark.skipif(importlib.util.find_spec("opensim") is None, reason="needs opensim (extra: oracles)")
needs_data = pytest.mark.skipif(not FILES, reason=NO_DATA)
pytestmark = needs_opensim


def numbers_of(path, target, seed=0, poses=POSES, states="") -> dict:
    """What OpenSim computes for a model, in a process of its own."""
    in_opensim(opensim_numbers.main, str(path), str(target), seed, poses, str(states))
    return dict(np.load(target))


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """{file: (numbers of the file, numbers of its rewritten copy at the same states)}."""
    folder = tmp_path_factory.mktemp("opensim")

    def both(k):
        name = IDS[k].replace("/", "__")
        first = numbers_of(FILES[k], folder / f"{k}_first.npz", seed=k)
        copy = folder / name
        write_osim(read_osim(FILES[k], opensim_rounding=True), copy)
        again = numbers_of(copy, folder / f"{k}_again.npz", states=folder / f"{k}_first.npz")
        return first, again

    return {file: both(k) for k, file in enumerate(FILES)}


def ours(model: Model, run: dict, q, u, udot) -> dict:
    """The same quantities from musculo; forces with Simbody's excess added, and without under `tau_*_true`."""
    motion = musculo.kinematics(model, q, u)
    bodies = [str(name) for name in run["bodies"]]
    out = {
        "R": np.stack([motion.pose(b).R for b in bodies], 1),
        "p": np.stack([motion.pose(b).p for b in bodies], 1),
        "w": np.stack([motion.angular_velocity(b) for b in bodies], 1),
        "v": np.stack([motion.velocity(b) for b in bodies], 1),
        "marker": motion.markers(),
        "marker_velocity": motion.marker_velocities(),
        "qdot": musculo.coordinate_rates(model, q, u),
        "M": musculo.mass_matrix(model, q),
        "tau_gravity": musculo.gravity_forces(model, q),
        "tau_bias_true": musculo.bias_forces(model, q, u),
        "tau_id_true": musculo.inverse_dynamics(model, q, u, udot),
    }
    excess = simbody_excess(model, q, u)
    out["tau_bias"], out["tau_id"] = out["tau_bias_true"] + excess, out["tau_id_true"] + excess
    return out


def in_file_order(model: Model, run: dict) -> dict:
    """A run with its coordinates in the order of the model."""
    order = [list(run["coordinates"]).index(name) for name in model.coordinate_names]
    run = dict(run)
    for key in ("q", "u", "udot", "qdot", "tau_gravity", "tau_bias", "tau_id"):
        run[key] = run[key][:, order]
    run["M"] = run["M"][:, order][:, :, order]
    return run


@pytest.fixture(scope="module")
def compared(runs):
    """{file: (model, OpenSim's numbers, our numbers)} at the same states."""
    out = {}
    for file, (first, _) in runs.items():
        model = read_osim(file, opensim_rounding=True)
        run = in_file_order(model, first)
        out[file] = model, run, ours(model, run, run["q"], run["u"], run["udot"])
    return out


@needs_data
@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_numbers_are_those_of_opensim(file, quantity, compared):
    _, run, numbers = compared[file]
    assert_close(numbers[quantity], run[quantity], AGREEMENT, f"{file.stem}: {quantity}")


@needs_data
@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_a_rewritten_model_has_the_same_numbers_in_opensim(file, runs):
    model = read_osim(file, opensim_rounding=True)
    first, again = (in_file_order(model, run) for run in runs[file])
    assert list(first["bodies"]) == list(again["bodies"])
    for quantity in ("q", *QUANTITIES):
        assert_close(again[quantity], first[quantity], REWRITTEN, f"{file.stem}: {quantity}")


@needs_data
@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_couplers_and_locks_are_those_that_opensim_assembles(file, compared):
    """OpenSim's assembled poses satisfy our q = f(z), model by model; closed loops have tests of their own."""
    model, run, _ = compared[file]
    couplers = [c for c in model.constraints if isinstance(c, CoordinateCoupler) and c.enforced]
    e = musculo.embedding_of(model.replace(constraints=tuple(couplers)))
    assert set(e.coordinate_names) == set(model.free_coordinate_names)
    q = e.coordinates(e.independent(run["q"]))
    driven = [name for name in model.coordinate_names if name not in e.coordinate_names]
    assert {c.dependent for c in couplers} <= set(driven)
    at = [model.coordinate_index(name) for name in driven]
    assert np.abs(q[:, at] - run["q"][:, at]).max(initial=0.0) < ASSEMBLED


# --- Simbody's bias ---------------------------------------------------------------------------------------------------
DISTURBED = [f for f in FILES if f.stem in ("subject_walk_scaled", "subject_walk_armless_18musc")]


@needs_data
@pytest.mark.parametrize("file", DISTURBED, ids=lambda f: f.stem)
def test_where_opensim_disagrees_lagranges_equation_is_with_us(file, compared):
    """Both agree on M to rounding; the bias that follows from M is ours, and OpenSim's is off by up to 1e-4."""
    model, run, numbers = compared[file]
    assert_close(numbers["M"], run["M"], AGREEMENT, "M")
    kernels = ComplexKernels(model)
    lagrange = np.stack([kernels.coriolis(q, u) for q, u in zip(run["q"], run["u"], strict=True)])
    lagrange = lagrange + numbers["tau_gravity"]
    assert_close(numbers["tau_bias_true"], lagrange, LAGRANGE, "bias against Lagrange")
    theirs = np.abs(run["tau_bias"] - lagrange).max() / np.abs(lagrange).max()
    assert theirs > 1e-6, "OpenSim agrees with Lagrange here: the correction is no longer needed"
    assert_close(run["tau_bias"], numbers["tau_bias"], AGREEMENT, "OpenSim's bias with its excess")


@needs_data
@pytest.mark.parametrize("file", [f for f in FILES if f not in DISTURBED], ids=lambda f: f.stem)
def test_nowhere_else_is_a_correction_needed(file, compared):
    _, _, numbers = compared[file]
    assert np.array_equal(numbers["tau_bias"], numbers["tau_bias_true"])


# Which coordinate drives each of the three rotations (None: a constant of zero), and whether OpenSim's bias is off.
SHARING = {
    (0, 0, 0): True,
    (0, 1, 2): False,
    (2, 1, 0): False,
    (0, 0, 1): False,
    (0, 1, 1): False,
    (1, 0, 0): False,
    (0, 1, 0): True,
    (1, 0, 1): True,
    (None, 0, 0): True,
    (0, None, 0): False,
    (0, 0, None): False,
    (None, 0, 1): False,
}


def sharing_joint(rng, name, parent, child, assign, constant=0.0) -> CustomJoint:
    functions = (
        Linear(0.7, 0.1),
        SimmSpline((-4.0, -1.0, 0.0, 1.0, 4.0), (0.1, 0.3, -0.2, 0.4, 0.1)),
        Linear(1.1, 0.1),
    )
    coordinates = tuple(Coordinate(f"{name}_{k}") for k in range(max(a for a in assign if a is not None) + 1))
    rotations = tuple(
        Axis(tuple(random_unit(rng)), function, (f"{name}_{a}",))
        if a is not None
        else Axis(tuple(random_unit(rng)), Constant(constant))
        for function, a in zip(functions, assign, strict=True)
    )
    return CustomJoint(name, parent, child, coordinates, rotations=rotations)


def sharing_model(constant=0.0, assigns=tuple(SHARING)) -> Model:
    """One body on ground for each way in which rotations may share coordinates."""
    rng = np.random.default_rng(1)
    names = ["j" + "".join("c" if a is None else str(a) for a in assign) for assign in assigns]
    bodies = tuple(random_body(rng, f"b_{name}") for name in names)
    joints = tuple(
        sharing_joint(rng, name, Placement("ground"), Placement(f"b_{name}"), assign, constant)
        for name, assign in zip(names, assigns, strict=True)
    )
    return Model("sharing", bodies, joints)


def live(model, folder, poses=4):
    path = folder / "model.osim"
    write_osim(model, path)
    model = read_osim(path)
    run = in_file_order(model, numbers_of(path, folder / "numbers.npz", poses=poses))
    return model, run, ours(model, run, run["q"], run["u"], run["udot"])


def test_when_simbody_departs_from_the_equation(tmp_path):
    """Joint by joint: OpenSim's bias is off exactly where the first coordinate drives the third rotation as well.

    Rotations with coordinates of their own agree, whatever the order in which the joint lists them, as do joints whose
    first two or last two rotations share one. With the excess added all agree to rounding.
    """
    model, run, numbers = live(sharing_model(), tmp_path)
    assert_close(numbers["M"], run["M"], ROUNDING, "M")
    assert_close(numbers["w"], run["w"], ROUNDING, "w")
    assert_close(numbers["tau_bias"], run["tau_bias"], ROUNDING, "bias with the excess")
    for joint, off in zip(model.joints, SHARING.values(), strict=True):
        at = [model.speed_index(name) for name in joint.speed_names]
        difference = np.abs(numbers["tau_bias_true"] - run["tau_bias"])[:, at].max()
        assert bool(difference > 1e-6) is off, f"{joint.name}: {difference:.1e}"


def test_simbody_turns_by_constant_rotations_but_forgets_them_in_its_speeds(tmp_path):
    """A constant rotation other than zero before a moving one: poses agree, and Simbody's w is not their derivative.

    Simbody evaluates a function without coordinates for the pose alone; its W takes the angle as zero. Ours are
    derivatives of the poses (a law checked elsewhere). No model of the data folder has such a joint.
    """
    _, run, numbers = live(sharing_model(0.3, ((None, 0, 1), (0, None, 1), (0, 1, None))), tmp_path)
    assert_close(numbers["R"], run["R"], ROUNDING, "R")
    bodies = list(run["bodies"])
    for name, off in (("b_jc01", True), ("b_j0c1", True), ("b_j01c", False)):
        k = bodies.index(name)
        assert bool(np.abs(numbers["w"] - run["w"])[:, k].max() > 1e-3) is off, name
