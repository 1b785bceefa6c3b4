"""Walks in numbers: a walker whose strides are known, on the floor and on a belt; signs and loads in words."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Model, PinJoint, Placement, Table
from musculo.analyses.gait import (
    feet_events,
    ground_reactions,
    positive_words,
    spatiotemporal,
    stance_shares,
)
from musculo.analyses.trial_quantities import anatomical_loads, joint_powers
from musculo.diagnostics.judge import judge
from musculo.io import read_normal_ranges
from musculo.model import PlanarJoint, UniversalJoint, WeldJoint
from musculo.report.sections import Known, sections_of
from musculo.results import ExternalForce, ExternalLoads
from musculo.results.trial import Trial
from support.recorded_data import DATA, NO_DATA, recorded

TIME = np.linspace(0.0, 4.4, 441)
PERIOD, SWING, LEG, WIDTH = 1.1, 0.4, 0.9, 0.1
# The leg swings so fast in the middle of stance that the foot stands still.
SPEED = LEG * SWING * 2.0 * np.pi / PERIOD
# Events are between frames of 10 ms, the way of the foot is filtered at 6 Hz.
EVENT, LENGTH = 0.005, 0.01
# A foot that swings like a pendulum is as fast as its belt at one instant, and 7 % slower on average over the middle.
BELT = 0.1


def walker() -> Model:
    """A pelvis in a plane, and legs with feet that point ahead."""
    bodies = [Body("pelvis", 30.0, inertia=(1, 1, 1, 0, 0, 0))]
    joints = [PlanarJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("tilt", "tx", "ty")))]
    for side, z in (("r", WIDTH), ("l", -WIDTH)):
        bodies.append(Body(f"femur_{side}", 5.0, (0.0, -0.4, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)))
        bodies.append(Body(f"calcn_{side}", 1.0, (0.1, 0.0, 0.0), (0.01, 0.01, 0.01, 0, 0, 0)))
        hip = Placement("pelvis", (0.0, 0.0, z))
        joints.append(PinJoint(f"hip_{side}", hip, Placement(f"femur_{side}"), (Coordinate(f"hip_flexion_{side}"),)))
        joints.append(
            WeldJoint(f"ankle_{side}", Placement(f"femur_{side}", (0.0, -LEG, 0.0)), Placement(f"calcn_{side}"))
        )
    return Model("walker", tuple(bodies), tuple(joints))


def trial(speed: float = SPEED, plates: str = "rl") -> Trial:
    """Legs swing against each other; each plate carries its foot while that moves backwards against the pelvis."""
    model = walker()
    phase = 2.0 * np.pi * TIME / PERIOD
    right, left = SWING * np.cos(phase), -SWING * np.cos(phase)
    q = np.stack([0.0 * TIME, speed * TIME, np.full_like(TIME, LEG), right, left], axis=1)
    angles = Table(TIME, model.coordinate_names, q)
    stands = {"r": np.sin(phase) > 0.0, "l": np.sin(phase) < 0.0}
    columns: dict[str, np.ndarray] = {}
    for side in plates:
        for k, axis in enumerate("xyz"):
            columns[f"{side}_v{axis}"] = (0.1, 1.0, 0.02)[k] * 420.0 * stands[side]
            columns[f"{side}_p{axis}"] = 0.0 * TIME
    forces = tuple(ExternalForce(side, f"calcn_{side}", f"{side}_v", f"{side}_p") for side in plates)
    table = Table(TIME, tuple(columns), np.stack(list(columns.values()), axis=1))
    return Trial(Path("."), model=model, angles=angles, loads=ExternalLoads("plates", forces, table))


def values(found, name: str) -> np.ndarray:
    (one,) = [p for p in found if p.name == name]
    return np.concatenate(list(one.values.values()))


def test_a_walk_over_the_floor():
    walk = trial()
    feet = feet_events(walk)
    assert feet.source == {"r": "force", "l": "force"}
    assert_allclose(feet.events["r"].strikes, PERIOD * np.arange(4), atol=2 * EVENT)
    found = spatiotemporal(walk, feet)
    assert_allclose(values(found, "stride time"), PERIOD, atol=2 * EVENT)
    assert_allclose(values(found, "cadence"), 120.0 / PERIOD, rtol=0.01)
    assert_allclose(values(found, "stance"), 50.0, atol=1.0)
    assert_allclose(values(found, "stride length"), SPEED * PERIOD, rtol=LENGTH)
    assert_allclose(values(found, "speed"), SPEED, rtol=LENGTH)
    assert_allclose(values(found, "step width"), 2.0 * WIDTH, rtol=1e-9)
    half = 2.0 * LEG * np.sin(SWING)  # from foot to foot at a strike, less the way that the standing one has yet to go
    assert_allclose(values(found, "step length"), SPEED * PERIOD / 2.0, atol=0.02 * half)
    assert_allclose(list(stance_shares(feet).values()), 50.0, atol=1.0)


@pytest.mark.parametrize("turned", [("r",), ("r", "l")])
def test_a_foot_that_turns_out_does_not_turn_the_walk(turned: tuple[str, ...]):
    """Widths, lengths and reactions are along the way of the pelvis, wherever the toes point."""
    straight = trial()
    assert straight.model is not None
    joints = tuple(
        WeldJoint(j.name, j.parent, Placement(j.child.body, (0.0, 0.0, 0.0), (0.0, 0.3, 0.0)))
        if j.name in [f"ankle_{side}" for side in turned]
        else j
        for j in straight.model.joints
    )
    walk = replace(straight, model=replace(straight.model, joints=joints))
    found = spatiotemporal(walk, feet_events(walk))
    for name in ("step width", "step length", "stride length"):
        expected = spatiotemporal(straight, feet_events(straight))
        assert_allclose(values(found, name), values(expected, name), rtol=1e-9)
    assert_allclose(ground_reactions(walk)["outward_r"].max(), 8.4 / (42.0 * 9.80665))


def test_a_walk_backwards_has_its_sides():
    """Who walks backwards looks ahead: outward stays outward."""
    back = trial(speed=-SPEED)
    assert_allclose(ground_reactions(back)["outward_r"], ground_reactions(trial())["outward_r"], atol=1e-12)
    assert_allclose(ground_reactions(back)["forward_r"], ground_reactions(trial())["forward_r"], atol=1e-12)


def test_poses_of_a_span_tell_only_of_strides_within_it():
    """Plates record all four strides; poses of 1.6 s hold one of each foot at most."""
    whole = trial()
    angles = whole.angles
    assert angles is not None
    part = replace(whole, angles=angles.between(0.5, 2.1))
    found = spatiotemporal(part, feet_events(part))
    for name in ("stride length", "speed"):
        every = values(spatiotemporal(whole, feet_events(whole)), name)
        some = values(found, name)
        assert 0 < len(some) < len(every)
        assert_allclose(some, every.mean(), rtol=0.02)


def test_a_walk_on_a_belt():
    """The pelvis stays in its place, and the standing foot tells how fast the belt is."""
    walk = trial(speed=0.0)
    found = spatiotemporal(walk, feet_events(walk))
    assert_allclose(values(found, "speed"), SPEED, rtol=BELT)


def test_a_foot_that_missed_the_plates():
    walk = trial(plates="r")
    feet = feet_events(walk)
    assert feet.source == {"r": "force", "l": "poses"}
    # farthest ahead at half a period, and every period from there
    expected = PERIOD * (0.5 + np.arange(4))
    assert_allclose(feet.events["l"].strikes, expected, atol=0.03)


def test_ground_reactions_in_body_weights():
    table = ground_reactions(trial())
    weight = 42.0 * 9.80665
    assert_allclose(table["vertical_r"].max(), 420.0 / weight)
    assert_allclose(table["forward_l"].max(), 42.0 / weight)
    assert_allclose(table["outward_r"].max(), 8.4 / weight)
    assert_allclose(table["outward_l"].min(), -8.4 / weight)  # to the right, which is inward for the left foot


def test_signs_are_told_by_the_motion():
    words = positive_words(walker())
    assert words == {"hip_flexion_r": "flexion", "hip_flexion_l": "flexion"}
    backwards = walker()
    turned = (0.0, np.pi, 0.0)  # the axis of the hip points to the left
    parent = Placement("pelvis", (0.0, 0.0, WIDTH), turned)
    hip = replace(backwards.joint("hip_r"), parent=parent, child=Placement("femur_r", orientation=turned))
    assert positive_words(backwards.with_joint(hip))["hip_flexion_r"] == "extension"


@pytest.mark.skipif(not recorded("rajagopal_walk/subject_walk_scaled.osim"), reason=NO_DATA)
def test_signs_of_published_models():
    """The knee of gait2392 bends to negative angles, that of Rajagopal's model to positive ones."""
    new = positive_words(musculo.read_osim(DATA / "rajagopal_walk" / "subject_walk_scaled.osim"))
    old = positive_words(musculo.read_osim(DATA / "gait2392" / "subject01_simbody.osim"))
    assert (new["knee_angle_r"], old["knee_angle_r"]) == ("flexion", "extension")
    for words in (new, old):
        for side in "rl":
            assert words[f"hip_flexion_{side}"] == "flexion"
            assert words[f"hip_adduction_{side}"] == "adduction"
            assert words[f"hip_rotation_{side}"] == "internal rotation"
            assert words[f"ankle_angle_{side}"] == "dorsiflexion"
        # about the axes forward and up
        assert words["pelvis_list"] == "right side down"
        assert words["pelvis_rotation"] == words["lumbar_rotation"] == "to the left"
        assert words["lumbar_bending"] == "to the right"
    for side in "rl":
        assert old[f"subtalar_angle_{side}"] == "inversion"
        assert (new[f"arm_flex_{side}"], new[f"arm_add_{side}"]) == ("flexion", "adduction")


def test_loads_along_the_bones():
    """A force straight down on a leg that points ahead and down presses along the bone and across it."""
    walk = trial()
    weight = 42.0 * 9.80665
    names = [f"hip_{side}_on_femur_{side}_in_ground_f{axis}" for side in "rl" for axis in "xyz"]
    row = np.array([0.0, -weight, 0.1 * weight] * 2)
    walk.reactions = [Table(TIME, tuple(names), np.tile(row, (len(TIME), 1)))]
    loads = anatomical_loads(walk)
    angle = SWING * np.cos(2.0 * np.pi * TIME / PERIOD)
    assert_allclose(loads["hip_compression_r"], np.cos(angle), atol=1e-12)
    assert_allclose(loads["hip_forward_r"], -np.sin(angle), atol=1e-12)
    assert_allclose(loads["hip_outward_r"], 0.1, atol=1e-12)
    assert_allclose(loads["hip_outward_l"], -0.1, atol=1e-12)
    walk.model = None
    assert anatomical_loads(walk) is None


def test_the_page_has_a_table_of_the_walk():
    sections = {one.title: one for one in sections_of(Known(trial(), None, None))}
    walking = sections["Walking"]
    assert [panel.title for panel in walking.panels] == ["forward", "vertical", "outward"]
    rows = {row[0]: row[1:] for row in walking.tables[0].rows}
    assert rows["cadence [steps/min]"][2].startswith("109")
    assert sections["Joint angles"].panels[-1].positive == "flexion"


def test_who_walks_without_plates():
    """Markerless recordings have no forces: events come from poses; whose legs stay together has none."""
    walk = trial()
    forces = {side: events.strikes for side, events in feet_events(walk).events.items()}
    walk.loads = None
    posed = feet_events(walk)
    assert set(posed.source.values()) == {"poses"}
    for side, strikes in forces.items():
        apart = np.abs(posed.events[side].strikes[:, None] - strikes).min(axis=1)
        assert apart.max() < 0.03
    section = next(one for one in sections_of(Known(walk, None, None)) if one.title == "Walking")
    assert section.panels == ()
    assert {row[0].split(" [")[0] for row in section.tables[0].rows} >= {"speed", "cadence", "step length"}
    assert "from their poses" in section.text
    belt = trial(speed=0.0)
    belt.loads = None
    assert set(feet_events(belt).source) == {"r", "l"}
    still = trial(speed=0.0)
    still.loads = None
    both = still.angles.values.copy()
    both[:, -1] = both[:, -2]  # squats, legs together
    still.angles = replace(still.angles, values=both)
    assert feet_events(still).events == {}
    assert set(feet_events(still).missing.values()) == {"its poses tell no two strikes"}
    assert "Walking" not in {one.title for one in sections_of(Known(still, None, None))}


def test_powers_of_joints_and_not_of_the_base():
    """A leg on a universal joint: each coordinate's power, and their sum; what holds the body has none."""
    walk = trial()
    bodies = (Body("pelvis", 30.0), Body("femur_r", 5.0, (0.0, -0.4, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)))
    turns = (Coordinate("hip_flexion_r"), Coordinate("hip_adduction_r"))
    hip = UniversalJoint("hip_r", Placement("pelvis"), Placement("femur_r"), turns)
    walk.model = Model("leg", bodies, (walk.model.joints[0], hip))
    rates = np.array([0.0, 1.0, 0.0, 2.0, 3.0])
    walk.angles = Table(TIME, walk.model.coordinate_names, TIME[:, None] * rates)
    names = ("tilt_moment", "tx_force", "ty_force", "hip_flexion_r_moment", "hip_adduction_r_moment")
    walk.moments = Table(TIME, names, np.tile([5.0, 6.0, 7.0, 10.0, -1.0], (len(TIME), 1)))
    powers = joint_powers(walk)
    assert powers.names == ("hip_flexion_r", "hip_adduction_r", "hip_total_r")
    assert_allclose(powers.values, np.tile([20.0, -3.0, 17.0], (len(TIME), 1)), atol=1e-9)


@pytest.mark.parametrize(("apart", "told"), [(0.0, False), (100.0, True)])
def test_residuals_are_told_once(apart, told):
    """Actuators at the base that do what inverse dynamics left are no second finding; others are."""
    walk = trial()
    left = np.tile([1.0, 2.0, 3.0], (len(TIME), 1))
    walk.moments = Table(TIME, ("tilt_moment", "tx_force", "ty_force"), left)
    walk.forces = Table(TIME, ("tilt_reserve", "tx_reserve", "ty_reserve"), left + apart)
    titles = [one.title for one in judge(walk).findings]
    assert "Residual forces" in titles
    assert any(title.startswith("Residual actuators") for title in titles) is told


def test_a_run_is_not_compared_with_walks():
    """Feet that stand for a third of their cycles."""
    walk = trial()
    known = Known(walk, None, None, read_normal_ranges())
    sections = {one.title: one for one in sections_of(known)}
    assert sections["Walking"].panels[1].normal is not None
    assert sections["Joint angles"].normal
    table = walk.loads.table
    values = table.values.copy()
    for k, name in enumerate(table.names):
        if "vy" in name:
            values[:, k] *= np.abs(np.sin(2.0 * np.pi * TIME / PERIOD)) > 0.5
    walk.loads = walk.loads.with_table(replace(table, values=values))
    sections = {one.title: one for one in sections_of(known)}
    assert "Walking" not in sections
    assert all(one.normal is None for one in sections["Running"].panels)
    assert not sections["Joint angles"].normal
