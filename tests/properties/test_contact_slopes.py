"""Smooth contacts with ground at nodes: slopes against the complex step of the law, wrenches against `model_forces`."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.compile.compiled import compiled
from musculo.forces.contact_smooth import SmoothContacts
from musculo.kernels.contact.smooth_contact_slopes import ContactFrames, smooth_contact_frames, smooth_contacts
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import KINDS, one_joint, random_state, random_tree
from support.ground_spheres import with_spheres

# Both are exact: rounding over at most 18 joints in a row.
ROUNDING = 1e-12
# Not along any axis, so that no part of the law hides.
TILT = (0.3, -0.4, -1.3)


def _on_ground(model: Model, q: np.ndarray, bodies: tuple[str, ...], **law: float) -> Model:
    """Two spheres on each body, and a tilted half-space in which those of the first are for 1 and 2 cm."""
    places = {f"{body}{k}": (body, (0.1 * k, -0.05, 0.02 * k)) for body in bodies for k in range(2)}
    origin = with_spheres(model, places, tilt=TILT, **law)
    contacts = SmoothContacts(origin, origin.forces)
    n = contacts.data.axis[0]
    p = musculo.kinematics(model, q).position(bodies[0], (0.0, -0.05, 0.0))
    return with_spheres(model, places, floor=float((n @ p + 0.02) / n[1]), tilt=TILT, **law)


def _complex_wrenches(k: ComplexKernels, pairs, q, u) -> np.ndarray:
    """(nodes, 6): moment, force."""
    motion = np.ascontiguousarray(k.motion(q, u, np.zeros(k.n_u)).reshape(-1, 1))
    wrench = np.zeros((6 * k.n, 1), dtype=complex)
    smooth_contacts(pairs, motion, wrench, np.zeros((3 * pairs.radius.size, 1), dtype=complex), 0)
    rows = wrench.reshape(k.n, 6)
    return np.concatenate([rows[:, 3:], rows[:, :3]], axis=1)


def _slow_state(model: Model, rng: np.random.Generator, frames: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """So slow that spheres that part still press."""
    q, u, _ = random_state(model, rng, frames)
    return q, 0.1 * u


def _found(model: Model, q: np.ndarray, u: np.ndarray) -> ContactFrames:
    c, pairs = compiled(model), SmoothContacts(model, model.forces).data
    frames, n_u = len(q), u.shape[1]
    sizes = (6 * c.tree.parent.size, 3 * len(model.forces), n_u * q.shape[1], n_u * n_u)
    x = ContactFrames(q, u, *(np.full((frames, size), np.nan) for size in sizes))
    smooth_contact_frames(c.tree, c.table, pairs, x, 0, frames)
    return x


def _against_complex_step(model: Model, q: np.ndarray, u: np.ndarray) -> None:
    """Of one state; twists carry the wrench on a node to the speeds that move it."""
    c, k, pairs = compiled(model), ComplexKernels(model), SmoothContacts(model, model.forces).data
    x = _found(model, q[None], u[None])
    twists = musculo.kinematics(model, q[None]).twists()[0].reshape(k.n_u, 6)
    node = {c.body_node[body]: body for body in model.body_names}
    moved = np.stack([c.moved_by[i] if i in node else np.zeros(k.n_u) for i in range(k.n)])
    for got, at, other, first in ((x.by_q, q, u, True), (x.by_u, u, q, False)):
        columns = []
        for e in np.eye(len(at)):
            stepped = (step(at, e), other) if first else (other, step(at, e))
            dW = slope(_complex_wrenches(k, pairs, *stepped))
            columns.append(np.einsum("iu,uw,iw->u", moved, twists, dW))
        expected = np.column_stack(columns)
        scale = np.abs(expected).max()
        assert scale > 1.0, "no sphere touches ground"
        assert np.abs(got.reshape(expected.shape) - expected).max() <= ROUNDING * scale


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "weld"])
@pytest.mark.parametrize("backwards", [False, True], ids=["forwards", "backwards"])
def test_every_joint_alone(kind, backwards):
    model = one_joint(kind, seed=3, backwards=backwards)
    q, u = _slow_state(model, np.random.default_rng(7))
    _against_complex_step(_on_ground(model, q, ("body",)), q, u)


@pytest.mark.parametrize(
    "law",
    [{"dissipation": 0.0}, {"transition_velocity": 50.0}, {"static_friction": 0.0, "dynamic_friction": 0.0}],
    ids=["elastic", "creeping", "slippery"],
)
def test_every_branch_of_the_law(law):
    model = one_joint("free", seed=3)
    q, u = _slow_state(model, np.random.default_rng(7))
    _against_complex_step(_on_ground(model, q, ("body",), **law), q, u)


@pytest.mark.parametrize("seed", range(4))
def test_trees_of_every_joint(seed):
    rng = np.random.default_rng(seed)
    model = random_tree(rng, depth=3 + 5 * (seed % 2))
    q, u = _slow_state(model, rng)
    bodies = tuple(str(name) for name in rng.choice(model.body_names, size=3, replace=False))
    _against_complex_step(_on_ground(model, q, bodies), q, u)


def test_many_states_are_each_of_them():
    """Eight states a pack and a rest; forces are those of `model_forces`, whose kernel takes one state at a time."""
    rng = np.random.default_rng(5)
    model = random_tree(rng)
    q, u = _slow_state(model, rng, 21)
    model = _on_ground(model, q[0], model.body_names[:3])
    x = _found(model, q, u)
    assert all(np.isfinite(part).all() for part in x[2:])
    for f in (0, 7, 8, 20):
        for one, all_of_them in zip(_found(model, q[f : f + 1], u[f : f + 1])[2:], x[2:], strict=True):
            assert np.array_equal(one[0], all_of_them[f])
    expected = musculo.model_forces(model, q, u)
    c = compiled(model)
    twists = musculo.kinematics(model, q).twists().reshape(len(q), c.n_u, 6)
    tau = np.zeros_like(u)
    for body in model.body_names[:3]:
        W = x.wrench.reshape(len(q), -1, 6)[:, c.body_node[body]]
        tau += np.einsum("fuw,fw->fu", twists * c.moved_by[c.body_node[body]][:, None], np.roll(W, 3, axis=1))
    assert tau == pytest.approx(expected.tau, abs=ROUNDING * np.abs(expected.tau).max())
