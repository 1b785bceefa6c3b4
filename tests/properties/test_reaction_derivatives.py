"""Derivatives of what joints transmit: against the complex step of the recursion, and differences of other calls."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import musculo
from musculo import ExternalLoad, Model
from musculo.compile.joint_nodes import placed
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.functions import Polynomial
from musculo.model.model_constraint import CoordinateCoupler
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import (
    KINDS,
    assert_close,
    difference_nodes,
    extrapolated,
    loads_in_every_frame,
    one_joint,
    random_q,
    random_state,
    random_tree,
)
from support.mechanisms import four_bar

# Both are exact: rounding over at most 18 joints in a row.
ROUNDING = 1e-11
# Differences lose the rounding of loads over the step (0.005).
DIFFERENCES = 1e-9


def _poses(k: ComplexKernels, motion: np.ndarray, frame: str, model: Model) -> tuple[np.ndarray, np.ndarray]:
    """R, p of a frame in ground, of complex nodes."""
    place = model.placement(frame)
    X, row = k.c.body_pose[place.body] @ placed(place), motion[k.c.body_node[place.body]]
    R = row[:9].reshape(3, 3)
    return R @ X.R, row[9:12] + R @ X.p


def _external(k: ComplexKernels, motion: np.ndarray, model: Model, loads: list[ExternalLoad]) -> np.ndarray | None:
    """(nodes, 6) force, and moment about ground's origin, of complex poses."""
    found = np.zeros((k.n, 6), dtype=complex)
    for load in loads:
        R, _ = _poses(k, motion, load.force_in, model)
        S, p = _poses(k, motion, load.point_in, model)
        force, moment, point = R @ np.array(load.force), R @ np.array(load.moment), p + S @ np.array(load.point)
        node = k.c.body_node[load.body]
        found[node, :3] += force
        found[node, 3:] += moment + np.cross(point, force)
    return found if loads else None


def _loads_of_joints(k: ComplexKernels, model: Model, q, u, udot, loads, sides, frames) -> np.ndarray:
    """(joints, 6) by the recursion, complex: force and moment on the child or the parent, in their frames."""
    motion = k.motion(q, u, udot)
    wrenches = k.wrenches(q, u, udot, _external(k, motion, model, loads))
    found = []
    for joint, side, frame in zip(model.joints, sides, frames, strict=True):
        i = k.c.joint_node[joint.name]
        R, p = motion[i, :9].reshape(3, 3), motion[i, 9:12]
        force, moment = R @ wrenches[i, :3], R @ wrenches[i, 3:]
        place = joint.child if side == "child" else joint.parent
        X, row = k.c.body_pose[place.body] @ placed(place), motion[k.c.body_node[place.body]]
        point = row[9:12] + row[:9].reshape(3, 3) @ X.p
        moment = moment - np.cross(point - p, force)
        sign = -1.0 if (side == "child") == k.c.joint_reversed[joint.name] else 1.0
        body = {"child": joint.child.body, "parent": joint.parent.body}.get(frame, frame)
        T, _ = _poses(k, motion, body, model)
        found.append(sign * np.concatenate([T.T @ force, T.T @ moment]))
    return np.stack(found)


def _against_complex_step(model: Model, rng: np.random.Generator, loads=()) -> None:
    k = ComplexKernels(model, merged=False)
    q, u, udot = random_state(model, rng)
    count = len(model.joints)
    places = ["ground", "child", "parent", *model.body_names]
    sides, frames = list(rng.choice(["child", "parent"], count)), list(rng.choice(places, count))
    found = musculo.joint_reaction_derivatives(model, q, u, udot, loads=loads, on=sides, frame=frames)

    def expected(q, u, udot):
        return _loads_of_joints(k, model, q, u, udot, list(loads), sides, frames)

    assert_close(found.load, expected(q, u, udot).real, ROUNDING, "load")
    scale = max(1.0, *(np.abs(x).max(initial=0.0) for x in (found.load, found.dload_dq, found.dload_du)))
    for name, part, x, f in (
        ("q", found.dload_dq, q, lambda x: expected(x, u, udot)),
        ("u", found.dload_du, u, lambda x: expected(q, x, udot)),
        ("udot", found.dload_dudot, udot, lambda x: expected(q, u, x)),
    ):
        for column, unit in enumerate(np.eye(len(x))):
            worst = np.abs(part[..., column] - slope(f(step(x, unit)))).max()
            assert worst <= ROUNDING * scale, f"by {name} {column}: {worst:.1e} of {scale:.1e}"
    beside = musculo.inverse_dynamics_derivatives(model, q, u, udot, loads=loads)
    for name in ("dtau_dq", "dtau_du", "dtau_dudot"):
        assert_close(getattr(found.inverse_dynamics, name), getattr(beside, name), ROUNDING, name)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "weld"])
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_joint_alone(kind, backwards):
    """So that a failure names the joint."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        _against_complex_step(one_joint(kind, seed=3, backwards=backwards), rng)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_every_joint(seed):
    rng = np.random.default_rng(seed)
    _against_complex_step(random_tree(rng, depth=3 + 5 * (seed % 2)), rng)


@pytest.mark.parametrize("seed", [31, 32])
def test_loads_stay_constant_in_the_frames_they_are_given_in(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng)
    _against_complex_step(model, rng, loads_in_every_frame(model))


def test_by_the_numbers_of_external_loads():
    """Forces, points and moments of loads, against loads with other numbers; of moments of joints too."""
    rng = np.random.default_rng(5)
    model = random_tree(rng)
    state = random_state(model, rng)
    loads = loads_in_every_frame(model)
    how = {"on": "parent", "frame": "child"}
    found = musculo.joint_reaction_derivatives(model, *state, loads=loads, **how)
    torques = musculo.inverse_dynamics_derivatives(model, *state, loads=loads)
    shifts = (difference_nodes()[:, None, None] * np.eye(9)).reshape(-1, 9)  # a frame for each number and step
    states = [np.tile(x, (len(shifts), 1)) for x in state]
    for k, load in enumerate(loads):
        x = np.concatenate([load.force, load.point, load.moment]) + shifts
        one = ExternalLoad(load.body, x[:, :3], x[:, 3:6], x[:, 6:], load.force_in, load.point_in)
        changed = [*loads[:k], one, *loads[k + 1 :]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", musculo.MusculoWarning)  # that the loads are small
            joints = musculo.joint_loads(model, *states, loads=changed, **how)
        tau = inverse_dynamics(model, *states, changed)
        for values, part in (
            (np.concatenate([joints.force, joints.moment], axis=2), found.dload_dexternal[:, :, k]),
            (tau, torques.dtau_dexternal[:, k]),
        ):
            expected = extrapolated(values.reshape(-1, 9, *values.shape[1:]))
            assert_close(part, np.moveaxis(expected, 0, -1), DIFFERENCES, load.body)


def test_many_frames_are_each_of_them_and_loads_are_those_of_joint_loads():
    rng = np.random.default_rng(2)
    model = random_tree(rng)
    state = random_state(model, rng, 19)  # two packs of eight and a rest
    loads = loads_in_every_frame(model)
    names = [joint.name for joint in model.joints[:5]]
    how = {"loads": loads, "joints": names, "on": "parent", "frame": "parent"}
    found = musculo.joint_reaction_derivatives(model, *state, **how)
    peers = musculo.joint_loads(model, *state, **how)
    assert_close(found.force, peers.force, ROUNDING, "force")
    assert_close(found.moment, peers.moment, ROUNDING, "moment")
    assert (found.joint_names, found.body_names, found.frame_names) == (
        peers.joint_names,
        peers.body_names,
        peers.frame_names,
    )
    for f in (0, 8, 18):
        one = musculo.joint_reaction_derivatives(model, *(x[f] for x in state), **how)
        for name in ("load", "dload_dq", "dload_du", "dload_dudot", "dload_dexternal"):
            assert_close(getattr(one, name), getattr(found, name)[f], ROUNDING, name)
    other = random_state(model, rng, 19)
    fresh = musculo.joint_reaction_derivatives(model, *other, **how)
    again = musculo.joint_reaction_derivatives(model, *other, **how, out=found)
    assert np.shares_memory(again.dload_dq, found.dload_dq)
    for name in ("load", "dload_dq", "dload_du", "dload_dudot"):
        assert np.array_equal(getattr(fresh, name), getattr(again, name)), name
    assert np.array_equal(fresh.inverse_dynamics.dtau_dq, again.inverse_dynamics.dtau_dq)
    for wrong in ({"joints": names[:4]}, {"frame": "ground"}):
        with pytest.raises(InvalidInput, match="out is a result"):
            musculo.joint_reaction_derivatives(model, *other, **{**how, **wrong}, out=found)
    assert np.array_equal(found.of(names[3])[1], found.dload_dq[:, 3])
    with pytest.raises(UnknownName, match="joint"):
        found.of("no such joint")
    with pytest.raises(UnknownName, match="side"):
        musculo.joint_reaction_derivatives(model, *state, on="sister")
    with pytest.raises(InvalidInput, match="frame"):
        musculo.joint_reaction_derivatives(model, *state, frame=["ground", "child"])


def test_couplers_locks_and_prescribed_motions():
    rng = np.random.default_rng(8)
    model = random_tree(rng, ("pin", "slider", "gimbal", "free", "custom_knee", "screw"))
    at = {joint.name.rstrip("0123456789"): joint.coordinate_names for joint in model.joints}
    model = model.with_coordinate(at["slider"][0], locked=True, default_value=0.2)
    couplers = (
        CoordinateCoupler("one", True, (), at["gimbal"][1], (at["pin"][0],), Polynomial((0.2, -0.3, 0.5, 0.1))),
        CoordinateCoupler("two", True, (), at["screw"][0], (at["gimbal"][1],), Polynomial((0.3, 0.5, 0.1))),
    )
    model = model.replace(constraints=couplers)
    e = musculo.embedding_of(model)
    z = e.independent(random_q(model, rng))
    zu, zudot = rng.uniform(-1, 1, size=(2, len(e.speed_names)))

    def load(z, zu, zudot):
        motion = e.motion(z, zu, zudot)
        found = musculo.joint_loads(model, motion.q, motion.u, motion.udot, on="parent", frame="child")
        return np.concatenate([found.force, found.moment], axis=-1)

    motion = e.motion(z, zu, zudot)
    found = musculo.joint_reaction_derivatives(model, motion.q, motion.u, motion.udot, on="parent", frame="child")
    t = difference_nodes()
    for part, f, x in (
        (found.independent.dload_dz, lambda x: load(x, zu, zudot), z),
        (found.independent.dload_dzu, lambda x: load(z, x, zudot), zu),
        (found.independent.dload_dzudot, lambda x: load(z, zu, x), zudot),
    ):
        expected = np.stack([extrapolated(np.stack([f(x + s * unit) for s in t])) for unit in np.eye(len(x))], axis=-1)
        assert_close(part, expected, DIFFERENCES, "by independent coordinates")


def test_closed_loops_are_refused():
    model = four_bar()
    q = musculo.embedding_of(model).default_pose()
    with pytest.raises(Unsupported, match="closed loops"):
        musculo.joint_reaction_derivatives(model, q, 0 * q, 0 * q)
