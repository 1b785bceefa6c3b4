"""Independent coordinates have one meaning: the model's names, the embedding's, and the columns of moment arms."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.functions import Linear
from musculo.model.force import Muscle
from musculo.model.model_constraint import CoordinateCoupler
from musculo.model.model_path import Path, PathPoint
from support.mechanisms import five_bar, four_bar

# Central differences of lengths of about 1 m over steps of 1e-5 rad, with loops closed to rounding.
STEP, SLOPE = 1e-5, 1e-8


def with_muscles(model):
    """One muscle on each bar, so that every dependent coordinate counts."""
    muscles = tuple(
        Muscle(
            f"to_{body}",
            "Thelen2003Muscle",
            path=Path((PathPoint("a", "ground", (-0.2, 0.6, 0.0)), PathPoint("b", body, (0.1, 0.12, 0.0)))),
        )
        for body in model.body_names
    )
    return model.replace(forces=muscles)


@pytest.mark.parametrize(("mechanism", "independent"), [(four_bar, 1), (five_bar, 2)], ids=["four-bar", "five-bar"])
def test_columns_of_arms_of_closed_loops_are_the_independent_coordinates(mechanism, independent):
    model = with_muscles(mechanism())
    e = musculo.embedding_of(model)
    z = e.independent(e.coordinates(e.independent(np.array([c.default_value for c in model.coordinates]))))
    geometry = musculo.muscle_geometry(model, e.coordinates(z))
    arms = geometry.moment_arm_independent
    names = model.independent_coordinate_names
    assert len(names) == independent < len(model.free_coordinate_names)
    assert names == geometry.independent_names == e.coordinate_names
    assert arms.shape == (len(model.muscles), len(names))
    for k, name in enumerate(names):
        moved = np.stack([z, z])
        moved[:, k] += (-STEP, STEP)
        lengths = musculo.muscle_geometry(model, e.coordinates(moved)).length
        assert_allclose(arms[:, k], (lengths[0] - lengths[1]) / (2.0 * STEP), rtol=0, atol=SLOPE, err_msg=name)
    labelled = geometry.to_xarray()["moment_arm_independent"]
    assert tuple(labelled["independent"].values) == names
    assert np.array_equal(labelled.values.reshape(arms.shape), arms)


def test_without_loops_couplers_and_locks_decide():
    model = five_bar().replace(
        constraints=(CoordinateCoupler("c", dependent="q2", independents=("q0",), function=Linear(2.0, 0.0)),)
    )
    model = model.with_coordinate("q3", locked=True)
    assert model.independent_coordinate_names == model.free_coordinate_names == ("q0", "q1")
    assert musculo.embedding_of(model).coordinate_names == ("q0", "q1")


def test_a_loop_that_is_switched_off_takes_nothing_away():
    model = four_bar()
    (loop,) = model.constraints
    off = model.replace(constraints=(type(loop)(**{**vars(loop), "enforced": False}),))
    assert off.independent_coordinate_names == off.coordinate_names
