"""Derivatives of inverse dynamics by joint frames, against models whose joints sit elsewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import ExternalLoad, Model
from support.dynamics_models import (
    KINDS,
    assert_close,
    difference_nodes,
    extrapolated,
    loads_in_every_frame,
    one_joint,
    random_state,
    random_tree,
)

# Differences lose the rounding of tau over the smallest step (0.005).
DIFFERENCES = 1e-9


def _elsewhere(model: Model, joint: str, side: str, shift: np.ndarray) -> Model:
    """The model with one placement of a joint changed."""
    old = model.joint(joint)
    place = getattr(old, side)
    x = np.array([*place.translation, *place.orientation]) + shift
    moved = replace(old, **{side: replace(place, translation=tuple(x[:3]), orientation=tuple(x[3:]))})
    return model.replace(joints=tuple(moved if j is old else j for j in model.joints))


def _check(model: Model, rng: np.random.Generator, joints, loads=()) -> None:
    state = random_state(model, rng)
    found = musculo.joint_frame_derivatives(model, *state, joints=joints, loads=loads)
    assert found.joint_names == tuple(joints)
    for k, name in enumerate(joints):
        for side, part in (("parent", found.dtau_dparent), ("child", found.dtau_dchild)):
            columns = []
            for unit in np.eye(6):
                values = [
                    musculo.inverse_dynamics(_elsewhere(model, name, side, t * unit), *state, loads)
                    for t in difference_nodes()
                ]
                columns.append(extrapolated(np.stack(values)))
            expected = np.stack(columns, axis=-1)
            worst = np.abs(part[:, k] - expected).max(initial=0.0)
            assert worst <= DIFFERENCES * max(1.0, np.abs(expected).max(initial=0.0)), f"{name} in its {side}"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_joint_alone(kind, backwards):
    _check(one_joint(kind, seed=3, backwards=backwards), np.random.default_rng(7), ["j"])


@pytest.mark.parametrize("seed", [0, 1])
def test_joints_within_trees(seed):
    """The third, seventh and twelfth joint of a random tree of all kinds, under loads in moving frames."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng)
    names = [model.joint_names[k] for k in (2, 6, 11)]
    _check(model, rng, names, loads_in_every_frame(model))


def test_many_frames_and_loads_over_frames():
    rng = np.random.default_rng(3)
    model = random_tree(rng, ("pin", "gimbal", "ball", "slider"))
    state = random_state(model, rng, 5)
    load = ExternalLoad(model.body_names[0], rng.normal(size=(5, 3)), rng.normal(size=(5, 3)))
    found = musculo.joint_frame_derivatives(model, *state, loads=load)
    assert found.dtau_dchild.shape == (5, len(model.speed_names), 4, 6)
    one = ExternalLoad(load.body, load.force[3], load.point[3])
    alone = musculo.joint_frame_derivatives(model, *(x[3] for x in state), loads=one)
    assert_close(alone.dtau_dparent, found.dtau_dparent[3], 1e-12, "a frame alone")
    assert_close(alone.dtau_dchild, found.dtau_dchild[3], 1e-12, "a frame alone")
    with pytest.raises(musculo.errors.UnknownName, match="joint"):
        musculo.joint_frame_derivatives(model, *state, joints="no such joint")
