"""Motions that follow a recording: equations of the answer, periodicity, Moco's stored solution, a walk."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo.errors import InvalidInput, MusculoWarning, UnknownName
from musculo.io import with_function_paths
from musculo.muscle import fit_paths, with_de_groote_fregly_muscles
from musculo.trajectory import (
    HermiteSimpson,
    StraightControls,
    Trapezoidal,
    muscle_inverse,
    tendon_forces,
    track_motion,
)
from musculo.trajectory.solvers.outcome import SolverStatus
from support.recorded_data import DATA, NO_DATA

TOLERANCE = 1e-6

PLANAR = DATA / "gait10dof18musc" / "moco_track"
WALK = DATA / "rajagopal_walk"
# testMocoTrack asks for a root mean square over all states of 1e-2. Moco stops at 1e-4, which is what is left.
AS_MOCO = 5e-3


@pytest.fixture(scope="module")
def arm():
    return fit_paths(with_de_groote_fregly_muscles(musculo.demo.arm()), tolerance=0.01).model


@pytest.fixture(scope="module")
def lifted(arm):
    return track_motion(arm, musculo.demo.arm_flexion(), Trapezoidal(20), reserves=1.0, tolerance=TOLERANCE)


def test_tracked_arm(arm, lifted):
    assert lifted.solved
    assert not lifted.violations()
    recorded = musculo.demo.arm_flexion().in_radians(arm)
    for name in arm.coordinate_names:
        reference = np.interp(lifted.time, recorded.time, recorded.column(name))
        assert np.abs(lifted[f"{name}/value"] - reference).max() < np.deg2rad(5.0)
    forces = tendon_forces(lifted)
    assert forces.shape == (len(lifted.time), len(arm.muscles))
    k = arm.muscle_names.index("brachialis")
    strength = arm.muscles[k].max_isometric_force
    assert forces[:, k] == pytest.approx(strength * lifted["brachialis/normalized_tendon_force"], abs=1e-9)


def test_a_tracked_motion_is_drawn_with_its_activations(arm, lifted):
    drawn = musculo.demo.arm()  # polynomials have no lines to draw
    q = np.stack([lifted[f"{name}/value"] for name in arm.coordinate_names], axis=1)
    active = np.stack([lifted[f"{name}/activation"] for name in arm.muscle_names], axis=1)
    assert musculo.view(drawn, lifted).data == musculo.view(drawn, q, lifted.time, activation=active).data
    assert musculo.view(drawn, lifted).data != musculo.view(drawn, q, lifted.time).data


def test_weights_count(arm, lifted):
    motion = musculo.demo.arm_flexion()
    stiff = track_motion(arm, motion, Trapezoidal(20), reserves=1.0, weights={"elbow_flexion/*": 1e3})
    recorded = motion.in_radians(arm)
    reference = np.interp(lifted.time, recorded.time, recorded.column("elbow_flexion"))
    off = [np.abs(found["elbow_flexion/value"] - reference).max() for found in (stiff, lifted)]
    assert off[0] < off[1]
    with pytest.raises(UnknownName, match="elbow_flexion/value"):
        track_motion(arm, motion, Trapezoidal(20), weights={"elbow_flexon/value": 2.0})
    with pytest.raises(InvalidInput, match="spans 0 to 1 s"):
        track_motion(arm, motion, start=0.5, end=2.0)


def test_a_recording_in_degrees_is_warned_of_once(arm):
    wrong = replace(musculo.demo.arm_flexion(), degrees=False)
    for ask in (partial(track_motion, transcription=Trapezoidal(10)), muscle_inverse):
        with pytest.warns(MusculoWarning, match="q: elbow_flexion reaches 90 rad, .*: are these degrees") as told:
            ask(arm, wrong, reserves=1.0, max_iterations=3)
        assert len([one for one in told if str(one.message).startswith("q:")]) == 1


def test_the_time_of_a_search_is_limited(arm):
    short = {"time_limit": 1e-3, "reserves": 1.0}
    tracked = track_motion(arm, musculo.demo.arm_flexion(), Trapezoidal(20), **short)
    assert tracked.status == SolverStatus.ITERATIONS
    found = muscle_inverse(arm, musculo.demo.arm_flexion(), **short)
    assert found.status == SolverStatus.ITERATIONS


def test_periodic_motion(arm):
    found = track_motion(arm, musculo.demo.arm_flexion(), Trapezoidal(20), reserves=1.0, periodic=True)
    assert found.solved
    for name in ("elbow_flexion/value", "elbow_flexion/speed", "brachialis/activation", "brachialis/excitation"):
        assert found[name][0] == pytest.approx(found[name][-1], abs=10 * TOLERANCE)


def test_straight_controls(arm):
    found = track_motion(
        arm, musculo.demo.arm_flexion(), HermiteSimpson(8), reserves=1.0, constraints=[StraightControls("*/control")]
    )
    control = found["elbow_flexion_reserve/control"]
    assert control[1::2] == pytest.approx(0.5 * (control[:-1:2] + control[2::2]), abs=TOLERANCE)
    with pytest.raises(InvalidInput, match="midpoints"):
        track_motion(arm, musculo.demo.arm_flexion(), Trapezoidal(7), constraints=[StraightControls("*/control")])


def test_stored_solution_of_moco():
    if not PLANAR.is_dir():
        pytest.skip(NO_DATA)
    model = musculo.read_osim(PLANAR / "walk_gait1018_subject01.osim").replace(forces=())
    found = track_motion(
        model,
        musculo.read_storage(PLANAR / "walk_gait1018_state_reference.mot"),
        HermiteSimpson(25),
        loads=musculo.read_external_loads(PLANAR / "walk_gait1018_subject01_grf.xml"),
        cutoff=6.0,
        like="opensim",
        start=0.5,
        end=1.0,
        reserves=100.0,
        tracking_weight=10.0,
        constraints=[StraightControls("*/control")],
    )
    stored = musculo.read_storage(PLANAR / "std_testMocoTrackGait10dof18musc_solution.sto")
    assert found.solved
    assert found.objective < 0.039827  # of the stored solution
    assert found.time == pytest.approx(stored.time, abs=1e-9)
    off = [
        found[f"{name}/{kind}"] - stored.values[:, [c.endswith(f"/{name}/{kind}") for c in stored.names]].ravel()
        for name in model.coordinate_names
        for kind in ("value", "speed")
    ]
    assert np.sqrt(np.mean(np.square(off))) < AS_MOCO


def test_walk_of_eighty_muscles():
    if not WALK.is_dir():
        pytest.skip(NO_DATA)
    model = with_de_groote_fregly_muscles(
        musculo.read_osim(WALK / "subject_walk_scaled.osim"), passive=False, active_width=1.5
    )
    model = with_function_paths(model, WALK / "subject_walk_scaled_FunctionBasedPathSet.xml")
    for name in ("mtp_angle_r", "mtp_angle_l"):
        model = model.with_coordinate(name, locked=True)
    turns, slides = ("pelvis_tilt", "pelvis_list", "pelvis_rotation"), ("pelvis_tx", "pelvis_ty", "pelvis_tz")
    motion = musculo.read_storage(WALK / "coordinates.sto")
    found = track_motion(
        model,
        motion,
        Trapezoidal(8),
        loads=musculo.read_external_loads(WALK / "grf_walk.xml"),
        start=0.48,
        end=1.61,
        tendons="rigid",
        reserves=dict.fromkeys(turns, 250.0) | dict.fromkeys(slides, 50.0),
        weights={"pelvis_*_reserve/control": 10.0},
        effort_weight=0.1,
        control_limit=1.0,
        periodic=True,
        tolerance=1e-4,
    )
    assert found.solved
    for name in ("hip_flexion_r", "knee_angle_r", "ankle_angle_l"):
        reference = np.interp(found.time, motion.time, motion.column(name))
        assert np.sqrt(np.mean((found[f"{name}/value"] - reference) ** 2)) < np.deg2rad(10.0)
        assert found[f"{name}/value"][0] == pytest.approx(found[f"{name}/value"][-1], abs=1e-4)
    for name in turns:
        assert np.abs(found[f"{name}_reserve/control"]).max() < 0.5
