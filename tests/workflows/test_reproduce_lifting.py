"""A box is lifted once by rested joints, and again and again by joints that tire."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.dynamics.poses import kinematics
from musculo.model.anthropometry import segment_length
from musculo.replications.prediction import lifting
from musculo.replications.prediction.lifting_problem import Lift, lift_parts
from musculo.replications.prediction.skeleton import skeleton
from musculo.replications.study import Settings


@pytest.fixture(scope="module")
def found():
    """The study, and the lifts that it solved."""
    kept = []
    with pytest.MonkeyPatch.context() as patch:
        solved = lifting.repeated_lift
        patch.setattr(lifting, "repeated_lift", lambda parts, single: kept.append(single) or solved(parts, single))
        return lifting.study(Settings()), kept[0]


def test_all_goals_are_reached(found):
    study, _ = found
    assert len(study.rows) == 9
    assert not [row.quantity for row in study.short if not row.timed]


def test_fatigue_takes_load_from_the_back(found):
    study, _ = found
    loads = {one.name: one for one in study.parts[-1].quantities}
    assert loads["lumbar_lower_extension"].difference < -0.01
    assert loads["hip_flexion"].difference < -0.01
    assert loads["arm_flexion"].difference > 0.005
    rows = {row.quantity: row.ours for row in study.rows}
    # what the single lift asks for in the end is more than there is
    assert rows["largest effort if the single lift is repeated"] > 1.3
    assert rows["objective of the repeated lift over that of the single one, both repeated"] < 0.97


def test_the_box_goes_where_it_is_asked_to(found):
    _, single = found
    lift = Lift()
    parts = lift_parts(lift)
    table = single.motion.at(np.linspace(0, lift.duration, 31))
    q = np.column_stack([table.column(f"{name}/value") for name in parts.model.coordinate_names])
    k = kinematics(parts.model, q)
    box, ankle = k.position("box"), k.position("foot_l")
    for frame, place in ((0, lift.start), (-1, lift.end)):
        assert box[frame, 0] - ankle[frame, 0] == pytest.approx(place[0], abs=1e-6)
        assert box[frame, 1] == pytest.approx(place[1], abs=1e-6)
    apart = np.linalg.norm((box - k.position("abdomen_lower"))[:, :2], axis=1)
    assert apart.min() > 0.5 * lift.depth + lift.trunk - 1e-3


def test_the_whole_skeleton_lifts_with_both_hands(found):
    """Both feet stand, and what the hands hold is where the box is."""
    _, single = found
    parts = lift_parts(Lift())
    table = lifting.coordinates_of_lift(parts, single.motion, frames=21)
    whole = kinematics(skeleton(root="left_foot"), table.values)
    assert np.ptp(whole.position("toes_r"), axis=0).max() < 1e-12
    assert whole.position("toes_r")[0, :2] == pytest.approx(whole.position("toes_l")[0, :2], abs=1e-12)
    grip = (0.0, -segment_length("hand", "male", parts.lift.sizes.stature), 0.0)
    held = 0.5 * (whole.position("hand_l", grip) + whole.position("hand_r", grip))
    motion = single.motion.at(table.time)
    q = np.column_stack([motion.column(f"{name}/value") for name in parts.model.coordinate_names])
    box = kinematics(parts.model, q).position("box")
    assert held[:, :2] == pytest.approx(box[:, :2], abs=1e-12)
