"""What inverse kinematics refuses, by name and with what to try, and what it tells on the way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Markers, inverse_kinematics
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.model.model_constraint import UnsupportedConstraint
from support.ik_models import motion, planar_arm, recorded


def test_wrong_input_is_named():
    model = planar_arm()
    markers = recorded(model, [[0.1, 0.2]])
    with pytest.raises(UnknownName, match="hnad"):
        inverse_kinematics(model, markers, weights={"hnad": 1.0})
    with pytest.raises(InvalidInput, match="weight of marker 'hand'"):
        inverse_kinematics(model, markers, weights={"hand": -1.0})
    with pytest.raises(UnknownName, match="elbo"):
        inverse_kinematics(model, markers, tasks={"elbo": (1.0, 0.0)})
    with pytest.raises(InvalidInput, match="task of 'elbow'"):
        inverse_kinematics(model, markers, tasks={"elbow": (1.0, [0.0, 1.0, 2.0])})
    with pytest.raises(InvalidInput, match=r"no name is near another; markers\.rename"):
        inverse_kinematics(model, markers.rename({"elbow": "x", "hand": "y"}))
    with pytest.raises(InvalidInput, match="'Elbow_1' is near 'elbow'; 'hnad' is near 'hand'"):
        inverse_kinematics(model, markers.rename({"elbow": "Elbow_1", "hand": "hnad"}))
    with pytest.raises(InvalidInput, match="all weights are zero: nothing of 2 markers and 1 task would"):
        inverse_kinematics(model, markers, weights={"hand": 0.0, "elbow": 0.0}, tasks={"elbow": (0.0, 1.0)})
    with pytest.raises(InvalidInput, match=r"spread 1e\+03 times as far.* seem to be in millimeters.* by 1e-3"):
        inverse_kinematics(model, replace(markers, position=1e3 * markers.position))
    with pytest.raises(InvalidInput, match="nothing to follow"):
        inverse_kinematics(model, Markers([0.0], (), np.zeros((1, 0, 3))))
    with pytest.raises(InvalidInput, match="respect_ranges"):
        inverse_kinematics(model, markers, respect_ranges="sometimes")
    with pytest.raises(InvalidInput, match="threads"):
        inverse_kinematics(model, markers, threads=0)
    with pytest.raises(InvalidInput, match="read_markers"):
        inverse_kinematics(model, np.zeros((1, 2, 3)))
    with pytest.raises(InvalidInput, match="accuracy"):
        inverse_kinematics(model, markers, accuracy=0.0)


def test_constraints_that_are_not_computed_are_refused_by_name():
    loop = UnsupportedConstraint("ring", element="RollingOnSurfaceConstraint")
    with pytest.raises(Unsupported, match="ring"):
        inverse_kinematics(planar_arm().replace(constraints=(loop,)), recorded(planar_arm(), [[0.1, 0.2]]))


@pytest.mark.parametrize(("frames", "threads"), [(20, 1), (1100, 1), (1100, 2)])
def test_progress_is_told_and_changes_nothing(frames, threads):
    model = planar_arm()
    markers = recorded(model, motion(model, frames))
    told: list[tuple[int, int]] = []
    result = inverse_kinematics(model, markers, threads=threads, progress=lambda *done: told.append(done))
    assert told[-1] == (frames, frames)
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert len(told) == (1 if frames == 20 else 4)
    assert (result.q == inverse_kinematics(model, markers).q).all()
