"""Every path of every model in the data folder against a running OpenSim, in poses beyond those of the frozen tables.

200 random poses within the coordinates' ranges and 200 that reach 10 % beyond: nothing differs by more than 1e-12 m
(measured), so nothing is listed; DELT3 of MoBL-ARMS has one pose beyond its ranges in which its length is not a number,
there and here. What has to be known before comparing is in `test_path_tables.py`.

python test_path_live.py MODEL.osim STATES.npz OUT.npz      the OpenSim side, in a process of its own
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from musculo import embedding_of, path_geometry, read_osim, write_osim
from musculo.demo import MODEL_FILE
from musculo.model import ConditionalPathPoint, PathPoint, model_path
from musculo.results import STATUSES
from support.opensim_server import in_opensim

# The bound [m, m/s]; measured: 6e-13.
WANTED = 1e-7
POSES = 200
# OpenSim's moment arms take long: every so many poses.
EVERY = 20
BEYOND = 0.1
# Ranges without end are cut so far from the default [rad, m].
REACH = 3.2
MODELS = (
    "arm26/arm26.osim",
    "gait10dof18musc/subject01.osim",
    "gait10dof18musc/subject01_DGF.osim",
    "gait10dof18musc/moco_track/walk_gait1018_subject01.osim",
    "gait10dof18musc_rra_cmc/subject01.osim",
    "gait10dof18musc_rra_cmc/CMC/subject01_metabolics.osim",
    "gait2392/subject01_simbody.osim",
    "gait2392/so_jra_tutorial/subject01_simbody_adjusted_StaticOp.osim",
    "leg6dof9musc/leg6dof9musc.osim",
    "leg6dof9musc/leg6dof9musc_added_mass.osim",
    "leg6dof9musc/ref/RRA/leg6dof9musc_RRA_adjusted.osim",
    "mobl_arms/MoBL_ARMS.osim",
    "moco_walk_armless/subject_walk_armless_18musc.osim",
    "rajagopal_walk/subject_walk_scaled.osim",
    "small_models/MovingPathPointMomentArmTest.osim",
    "small_models/P2PBallJointMomentArmTest.osim",
    "small_models/PathOnConstrainedBodyMomentArmTest.osim",
    "small_models/WrapPathCustomJointMomentArmTest.osim",
    "small_models/testMomentArmsConstraintB.osim",
    "thoracoscapular_shoulder/ThoracoscapularShoulderModel.osim",
    "tug_of_war/Tug_of_War.osim",
    "tug_of_war/Tug_of_War_Millard.osim",
)
# OpenSim keeps six digits of the joint frames of these files; so does this test.
SIX_DIGITS = ("walk_gait1018_subject01", "subject_walk_armless_18musc", "P2PBallJointMomentArmTest")


# --- the OpenSim side -------------------------------------------------------------------------------------------------
def opensim_side(model_file: str, states_file: str, out_file: str) -> None:
    from support.opensim_numbers import Numbers, matrix

    states, target = dict(np.load(states_file)), Path(out_file).absolute()
    numbers = Numbers(model_file)
    order = [list(states["coordinates"]).index(name) for name in numbers.names]
    paths = []
    for component in numbers.model.getComponentsList():
        path = numbers.osim.GeometryPath.safeDownCast(component)
        if path is not None:
            paths.append(path)
    length, speed, arms, G = [], [], [], []
    for pose, (q, u) in enumerate(zip(states["q"][:, order], states["u"][:, order], strict=True)):
        numbers.set_q(q)
        numbers.state.setU(numbers.vector(u))
        numbers.model.realizeVelocity(numbers.state)
        length.append([p.getLength(numbers.state) for p in paths])
        speed.append([p.getLengtheningSpeed(numbers.state) for p in paths])
        if pose % EVERY == 0:
            arms.append([[p.computeMomentArm(numbers.state, c) for c in numbers.coordinates] for p in paths])
            g = numbers.osim.Matrix()
            numbers.matter.calcG(numbers.state, g)
            G.append(matrix(g))
    names = [p.getOwner().getName() for p in paths]
    np.savez(target, names=names, coordinates=numbers.names, length=length, speed=speed, moment_arm=arms, G=G)


# --- ours -------------------------------------------------------------------------------------------------------------
def random_poses(model):
    """Half within the ranges, half beyond; couplers hold, closed loops need not: lengths do not ask."""
    low, high = [], []
    for c in model.coordinates:
        a, b = max(c.range[0], c.default_value - REACH), min(c.range[1], c.default_value + REACH)
        low.append(a if a < b else c.default_value - 0.5)
        high.append(b if a < b else c.default_value + 0.5)
    low, high = np.array(low), np.array(high)
    rng = np.random.default_rng(11)
    out = BEYOND * (high - low)
    q = np.concatenate(
        [rng.uniform(low, high, (POSES, len(low))), rng.uniform(low - out, high + out, (POSES, len(low)))]
    )
    e = embedding_of(model)
    q = q if e.loops else e.coordinates(e.independent(q))
    return q, rng.normal(size=(len(q), len(model.speed_names)))


def arms_of(model, geometry, theirs):
    """(ours, theirs) on the independent coordinates; through OpenSim's own projection where loops are closed."""
    e = embedding_of(model)
    order = [list(theirs["coordinates"]).index(name) for name in model.coordinate_names]
    columns = [model.coordinate_names.index(name) for name in e.speed_names]
    arms = theirs["moment_arm"][:, :, order][:, :, columns]
    if not e.loops:
        return geometry.moment_arm_independent[::EVERY], arms
    G = theirs["G"][:, :, order]
    projector = np.eye(len(order)) - np.linalg.pinv(G, rcond=1e-10) @ G
    scale = np.einsum("fii->fi", projector)[:, columns]
    return geometry.moment_arm[::EVERY] @ projector[:, :, columns] / scale[:, None], arms


def ask_opensim(file, folder):
    """What OpenSim says of a model in the poses of `states.npz`."""
    in_opensim(opensim_side, str(file), *(str(folder / name) for name in ("states.npz", "out.npz")))
    return dict(np.load(folder / "out.npz"))


@pytest.mark.parametrize("file", MODELS, ids=lambda file: Path(file).stem)
def test_paths_in_random_poses(file, data_folder, tmp_path):
    pytest.importorskip("opensim")
    from test_path_tables import with_six_digits

    model = read_osim(data_folder / file)
    if Path(file).stem in SIX_DIGITS:
        model = with_six_digits(model)
    q, u = random_poses(model)
    np.savez(tmp_path / "states.npz", q=q, u=u, coordinates=model.coordinate_names)
    theirs = ask_opensim(data_folder / file, tmp_path)
    ours = path_geometry(model, q, u, like="opensim")
    columns = [list(theirs["names"]).index(name) for name in ours.names]
    for name in ("length", "speed", "moment_arm"):
        theirs[name] = theirs[name][:, columns]
    compared = {name: (getattr(ours, name), theirs[name]) for name in ("length", "speed")}
    compared["moment_arm"] = arms_of(model, ours, theirs)
    for name, (mine, yours) in compared.items():
        assert np.array_equal(np.isnan(mine), np.isnan(yours)), name
        assert np.isnan(mine).sum() <= 1
        difference = np.nan_to_num(np.abs(mine - yours))
        worst = np.unravel_index(np.argmax(difference), difference.shape)
        where = f"{name} of {ours.names[worst[1]]}, pose {worst[0]}"
        assert difference.max() < WANTED, f"{where}: {difference.max()}"


def test_no_model_with_paths_is_left_out(data_folder):
    others = {file for file in data_folder.rglob("*.osim") if file.relative_to(data_folder).as_posix() not in MODELS}
    assert not any(force.path is not None for file in others for force in read_osim(file).forces)


def test_paths_whose_ends_come_and_go(tmp_path):
    """OpenSim's path runs between the points that are there, without a word; ours has a status for it."""
    pytest.importorskip("opensim")
    model = read_osim(MODEL_FILE)
    whole = model.muscles[0].path.points
    knee = model.coordinate_names[1]
    end = ConditionalPathPoint("end", whole[-1].frame, whole[-1].location, coordinate=knee, range=(-0.3, 0.3))
    begin = ConditionalPathPoint("begin", whole[0].frame, whole[0].location, coordinate=knee, range=(-0.3, 0.3))
    middle = PathPoint("middle", whole[-1].frame, (0.01, 0.02, 0.0))
    for name, points in (("last", (whole[0], end)), ("first", (begin, middle, whole[-1]))):
        model = model.with_force(model.muscles[0], name=name, path=model_path.Path(points))
    model = model.replace(forces=model.forces[-2:])
    q = np.zeros((3, len(model.coordinate_names)))
    q[:, 1] = 0.1, 0.5, -0.5
    np.savez(tmp_path / "states.npz", q=q, u=np.zeros_like(q), coordinates=model.coordinate_names)
    write_osim(model, tmp_path / "model.osim")
    theirs = ask_opensim(tmp_path / "model.osim", tmp_path)
    for wrapping in ("geodesic", "opensim"):
        ours = path_geometry(model, q, wrapping=wrapping)
        assert list(theirs["names"]) == list(ours.names)
        np.testing.assert_allclose(ours.length, theirs["length"], rtol=0.0, atol=WANTED)
        assert [STATUSES[k] for k in ours.status.ravel()] == ["converged"] * 2 + ["cut short"] * 4
    assert not theirs["length"][1:, 0].any()
