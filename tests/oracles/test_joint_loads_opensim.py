"""Joint loads and the kinematics of bodies and points against OpenSim's AnalyzeTool, live and recorded.

Where a model has couplers, OpenSim's tool may give up assembling the coordinates of a motion file and leave them up to
2e-4 rad off (`test_assembly_opensim.py` says when), so these models are compared live, from states that satisfy their
couplers to rounding.
"""

from __future__ import annotations

import importlib.util
import json
from functools import cache

import numpy as np
import pytest

from musculo import (
    ExternalLoad,
    Table,
    body_kinematics,
    joint_loads,
    kinematics,
    point_kinematics,
    read_external_loads,
    read_osim,
    read_storage,
    write_storage,
)
from musculo.io import with_force_sets
from musculo.signals import NaturalSpline
from support.opensim_analyze import analyze
from support.simbody_terms import simbody_excess, simbody_load_excess
from support.static_optimisation_inputs import DATASETS, recorded

# The project promises 1e-6 of the largest value of each quantity; eight printed decimals leave 2e-9 of a moment.
RECORDED = 1e-8
# Sixteen printed decimals; OpenSim assembles couplers to 1e-9, and the states it uses are read back.
LIVE = 1e-12
# What OpenSim 4.6 itself differs by from the tables that an older one printed.
OLDER = 1e-5

needs_opensim = pytest.mark.skipif(importlib.util.find_spec("opensim") is None, reason="needs opensim (extra: oracles)")
REACTION = """<JointReaction name="{name}"><forces_file>{forces}</forces_file><joint_names>{joints}</joint_names>
<apply_on_bodies>{on}</apply_on_bodies><express_in_frame>{frame}</express_in_frame></JointReaction>"""


@pytest.fixture(scope="module")
def case(data_folder):
    return cache(lambda name: recorded(data_folder, name))


def forces_of(data, name, r):
    """Muscle and actuator forces of a recorded static optimisation, by our names, and the table OpenSim reads."""
    store = data / "oracle" / DATASETS[name][1]
    columns = json.loads((store / "results.json").read_text())["columns"]["so_force"]["columns"][1:]
    kept = np.load(store / "results.npz")["so_force"]
    table = Table(kept[:, 0], tuple(columns), kept[:, 1:])
    own = {force.name for force in r.model.forces}
    actuators = {}
    for column in table.names:
        reserve = column.replace("_residual", "_reserve")
        if column in own and column not in r.model.muscle_names:
            actuators[column] = table.column(column)
        elif reserve.removesuffix("_reserve") in r.model.speed_names:
            actuators[reserve] = table.column(column)
    return {"muscle_forces": table, "actuator_forces": actuators}, table


def parts_of(table: Table):
    """(3, frames, loads, 3): force, moment and point."""
    return np.moveaxis(table.values.reshape(len(table), -1, 3, 3), 2, 0)


def assert_parts(ours, theirs, tolerance):
    """Each quantity to a part of its largest value; points to a part of a metre."""
    for what, a, b in zip(("force", "moment", "point"), ours, theirs, strict=True):
        largest = 1.0 if what == "point" else np.abs(b).max()
        assert np.abs(a - b).max() <= tolerance * largest, what


@pytest.mark.parametrize("frame", ["ground", "child"])
@pytest.mark.parametrize("name", ["arm26", "gait10dof18musc", "gait2392"])
def test_recorded_reactions(case, data_folder, name, frame):
    r = case(name)
    forces, _ = forces_of(data_folder, name, r)
    ours = joint_loads(r.model, r.q, r.u, **forces, loads=r.loads, frame=frame, wrapping="opensim").to_table(r.time)
    store = data_folder / "oracle" / DATASETS[name][1]
    columns = json.loads((store / "results.json").read_text())["columns"][f"jr_{frame}"]["columns"][1:]
    assert ours.names == tuple(columns)
    theirs = Table(r.time, ours.names, np.load(store / "results.npz")[f"jr_{frame}"][:, 1:])
    assert_parts(parts_of(ours), parts_of(theirs), RECORDED)


def states_of(model, time, q, u) -> Table:
    joint = {c.name: j.name for j in model.joints for c in j.coordinates}
    names = tuple(f"/jointset/{joint[c]}/{c}/{kind}" for c in model.coordinate_names for kind in ("value", "speed"))
    return Table(time, names, np.stack([q, u], axis=2).reshape(len(q), -1))


@needs_opensim
@pytest.mark.parametrize("name", DATASETS)
def test_live_reactions_with_muscles(case, data_folder, tmp_path, name):
    """Child in ground and parent in child, of every joint, from the forces of static optimisation."""
    r = case(name)
    some = np.arange(0, len(r.time), 9)
    forces, table = forces_of(data_folder, name, r)
    write_storage(table, tmp_path / "forces.sto")
    write_storage(states_of(r.model, r.time[some], r.q[some], r.u[some]), tmp_path / "states.sto")
    place = data_folder / DATASETS[name][0]
    loads_file = place / "oracle_extloads.xml"
    options = {"forces": tmp_path / "forces.sto", "joints": "ALL"}
    analyses = REACTION.format(name="child", on="child", frame="ground", **options)
    analyses += REACTION.format(name="parent", on="parent", frame="child", **options)
    analyze(
        tmp_path,
        place / DATASETS[name][2],
        analyses + '<Kinematics name="K"><in_degrees>false</in_degrees></Kinematics>',
        r.time[0],
        r.time[some[-1]],
        force_sets=place / "oracle_reserves.xml",
        loads=loads_file if loads_file.exists() else "",
        states=tmp_path / "states.sto",
    )
    used = read_storage(tmp_path / "live_K_q.sto")
    q, u = np.stack([used.column(c) for c in r.model.coordinate_names], axis=1), r.u[some]
    assert np.abs(q - r.q[some]).max() < 1e-8
    # Simbody's own accelerations, and what they add to the loads: zero but for Rajagopal's knees.
    forces = {
        "muscle_forces": Table(r.time[some], table.names, table.values[some]),
        "actuator_forces": {key: value[some] for key, value in forces["actuator_forces"].items()},
        "tau": -simbody_excess(r.model, q, u),
        "loads": [ExternalLoad(x.body, x.force[some], x.point[some], x.moment[some]) for x in r.loads],
        "wrapping": "opensim",
    }
    force, moment = simbody_load_excess(r.model, q, u)
    child = joint_loads(r.model, q, u, **forces)
    theirs = parts_of(read_storage(tmp_path / "live_child_ReactionLoads.sto"))
    assert_parts((child.force + force, child.moment + moment, child.point), theirs, LIVE)
    parent = joint_loads(r.model, q, u, **forces, on="parent", frame="child")
    theirs = read_storage(tmp_path / "live_parent_ReactionLoads.sto")
    assert parent.to_table(r.time[some]).names == theirs.names
    here = joint_loads(r.model, q, u, **forces, on="parent").point
    motion = kinematics(r.model, q)
    R = np.stack([motion.pose(frame).R for frame in parent.frames], axis=1)
    added = (-force, -moment - np.cross(child.point - here, force))
    force_P, moment_P = (np.einsum("fjki,fjk->fji", R, x) for x in added)
    assert_parts((parent.force + force_P, parent.moment + moment_P, parent.point), parts_of(theirs), LIVE)
    assert (np.abs(force).max() > 0.01) == (name == "rajagopal_walk")


def test_upstream_double_pendulum(data_folder):
    """OpenSim's own test of its joint reactions: no muscles, accelerations of gravity."""
    folder = data_folder / "small_models" / "DoublePendulum3D_JR"
    model = read_osim(folder / "DoublePendulum3D.osim")
    motion = read_storage(folder / "DoublePendulum3D_states_degrees.mot").in_radians(model)
    # The last two rows are 2e-14 s apart.
    rows = np.flatnonzero(np.diff(motion.time, append=np.inf) > 1e-9)
    spline = NaturalSpline(motion.time[rows], motion.coordinates(model)[rows])
    time = motion.time[rows]
    theirs = read_storage(folder / "std_DoublePendulum3D_JointReaction_ReactionLoads.sto")
    ours = joint_loads(model, spline(time), spline(time, 1), frame="child").to_table(time)
    assert ours.names == theirs.names
    assert np.abs(ours.values - theirs.values[rows]).max() < 1e-11 * np.abs(theirs.values).max()


def tutorial(folder):
    """What upstream's tutorial of static optimisation and joint reactions starts from, every tenth row."""
    model = read_osim(folder / "subject01_simbody_adjusted_StaticOp.osim")
    model = with_force_sets(model, [folder / "gait2392_SO_weak_Residual_Actuators.xml"])
    motion = read_storage(folder / "subject01_walk1_Kinematics.sto").in_radians(model)
    spline = NaturalSpline(motion.time, motion.coordinates(model))
    forces = read_storage(folder / "ref" / "subject01_StaticOptimization_force.sto")
    loads = [ExternalLoad(*x) for x in read_external_loads(folder / "foot_floor_loads.xml").at(forces.time)]
    return model, spline, forces, loads


CHOICES = {
    "joints": ["ground_pelvis", "hip_r", "hip_r"],
    "on": ["child", "child", "parent"],
    "frame": ["ground", "child", "child"],
}


def test_upstream_tutorial(data_folder):
    """Residual actuators on bodies, a joint twice, on either body: the tables that upstream ships."""
    folder = data_folder / "gait2392" / "so_jra_tutorial"
    model, spline, forces, loads = tutorial(folder)
    q, u = spline(forces.time), spline(forces.time, 1)
    given = {"muscle_forces": forces, "actuator_forces": forces, "loads": loads, "wrapping": "opensim"}
    ours = joint_loads(model, q, u, **given, **CHOICES).to_table(forces.time)
    theirs = read_storage(folder / "ref" / "subject01_JointReaction_ReactionLoads.sto")
    assert ours.names == theirs.names
    force = np.abs(parts_of(theirs)[0]).max()
    for k in range(3):
        assert np.abs(parts_of(ours)[k] - parts_of(theirs)[k]).max() < OLDER * force


@needs_opensim
def test_live_tutorial(data_folder, tmp_path):
    """The same with OpenSim 4.6: no difference but rounding, so the one above is between versions of OpenSim."""
    folder = data_folder / "gait2392" / "so_jra_tutorial"
    model, spline, forces, loads = tutorial(folder)
    some = slice(0, 12)
    time = forces.time[some]
    write_storage(states_of(model, time, spline(time), spline(time, 1)), tmp_path / "states.sto")
    words = {key: " ".join(value) for key, value in CHOICES.items()}
    file = folder / "ref" / "subject01_StaticOptimization_force.sto"
    analyze(
        tmp_path,
        folder / "subject01_simbody_adjusted_StaticOp.osim",
        REACTION.format(name="J", forces=file, **words),
        time[0],
        time[-1],
        force_sets=folder / "gait2392_SO_weak_Residual_Actuators.xml",
        loads=folder / "foot_floor_loads.xml",
        states=tmp_path / "states.sto",
    )
    table = Table(time, forces.names, forces.values[some])
    some_loads = [
        ExternalLoad(x.body, x.force[some], x.point[some], x.moment[some], x.force_in, x.point_in) for x in loads
    ]
    given = {"muscle_forces": table, "actuator_forces": table, "loads": some_loads, "wrapping": "opensim"}
    ours = parts_of(joint_loads(model, spline(time), spline(time, 1), **given, **CHOICES).to_table(time))
    theirs = parts_of(read_storage(tmp_path / "live_J_ReactionLoads.sto"))
    for k in range(3):
        # The moments are zero: a ball and a free joint transmit none.
        assert np.abs(ours[k] - theirs[k]).max() < LIVE * np.abs(theirs[0]).max()


@needs_opensim
def test_live_bodies_and_points(case, data_folder, tmp_path):
    """Every file of both analyses, columns and numbers; accelerations are those that OpenSim prints beside them."""
    r = case("gait2392")
    some = np.arange(0, len(r.time), 11)
    time, q, u = r.time[some], r.q[some], r.u[some]
    write_storage(states_of(r.model, time, q, u), tmp_path / "states.sto")
    point = "<body_name>tibia_r</body_name><point_name>knob</point_name><point>0.1 0.2 0.3</point>"
    local = (
        "<bodies>tibia_r torso</bodies><express_results_in_body_local_frame>true</express_results_in_body_local_frame>"
    )
    analyze(
        tmp_path,
        data_folder / "gait2392" / "subject01_simbody.osim",
        '<Kinematics name="K"><in_degrees>false</in_degrees></Kinematics>'
        '<BodyKinematics name="all"><bodies>all</bodies></BodyKinematics>'
        f'<BodyKinematics name="two"><in_degrees>false</in_degrees>{local}</BodyKinematics>'
        f'<PointKinematics name="ground">{point}</PointKinematics>'
        f'<PointKinematics name="torso">{point}<relative_to_body_name>torso</relative_to_body_name></PointKinematics>',
        time[0],
        time[-1],
        states=tmp_path / "states.sto",
    )
    printed = read_storage(tmp_path / "live_K_dudt.sto")
    udot = np.stack([printed.column(c) for c in r.model.speed_names], axis=1)
    given = (r.model, q, u, udot)
    expected = {
        "all_{}_global": body_kinematics(*given).tables(time, degrees=True),
        "two_{}_bodyLocal": body_kinematics(*given, ["tibia_r", "torso"], in_body_frame=True).tables(
            time, center_of_mass=False
        ),
        "ground_knob_{}": point_kinematics(*given, "tibia_r", (0.1, 0.2, 0.3)).tables(time),
        "torso_knob_{}": point_kinematics(*given, "tibia_r", (0.1, 0.2, 0.3), "torso", like="opensim").tables(time),
    }
    for pattern, tables in expected.items():
        for what, ours in tables.items():
            file = pattern.format(what) if what != "pos" else pattern.format(what).replace("bodyLocal", "global")
            theirs = read_storage(tmp_path / f"live_{file}.sto")
            assert ours.names == theirs.names
            assert ours.name == theirs.name
            assert ours.degrees == theirs.degrees
            assert np.abs(ours.values - theirs.values).max() < LIVE * np.abs(theirs.values).max(), file
