"""Two formulations that share no mechanics agree: recursion on the tree, and multipliers in absolute coordinates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from musculo import ExternalLoad, embedding_of, joint_reactions
from musculo.absolute import agreement, from_model, kinematic_analysis
from musculo.absolute import loads_by_multipliers as absolute_dynamics
from musculo.absolute.diagnosis import jacobian
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import Unsupported
from musculo.functions import Polynomial, Sine
from musculo.model.model_constraint import CoordinateCoupler, EquationConstraint
from support.dynamics_models import KINDS, assert_close, one_joint, random_q, random_state, random_tree
from support.mechanisms import LOOPED, four_bar
from support.recorded_data import recorded, within
from support.redundant import bennett, coupled_cranks

# Both are O(n) in float64 over at most 18 joints in a row, and what is left of least squares is refined once.
ROUNDING = 1e-12
# Loops multiply rounding by how far they are from singular positions.
LOOPS = 1e-10
# Newton's method stops where its last step is smaller than this.
STEP = 1e-10
EXAMPLES = settings(max_examples=12, deadline=None, derandomize=True)
MODELS = recorded("*/*.osim")


def some_loads(model, rng, frames):
    """A load in ground, and one that moves with its body."""
    first, last = model.body_names[0], model.body_names[-1]
    vectors = rng.normal(size=(3, frames, 3))
    moving = ExternalLoad(last, rng.normal(size=3), rng.normal(size=3), force_in=first, point_in=last)
    return [ExternalLoad(first, *vectors), moving]


@EXAMPLES
@given(st.integers(0, 2**32 - 1))
def test_trees_agree(seed):
    """Generalized forces and loads of all joints of a tree with every kind of joint, some declared backwards."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng)
    q, u, udot = random_state(model, rng, 9)
    loads = some_loads(model, rng, 9)
    assert agreement(model, q, u, udot, loads).difference < ROUNDING
    expected = joint_reactions(model, q, u, udot, loads)
    textbook = absolute_dynamics(model, q, u, udot, loads, joints="textbook")
    assert_close(textbook.tau, expected.tau, ROUNDING)
    assert_close(textbook.force, expected.force, ROUNDING)
    assert_close(textbook.moment, expected.moment, ROUNDING)


@settings(EXAMPLES, max_examples=5)
@given(st.integers(0, 2**32 - 1))
def test_trees_with_tied_coordinates_agree(seed):
    """The same with a lock, a prescribed coordinate and a coupler: forces of the independent coordinates, all loads."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng)
    plain = [
        name for name in model.coordinate_names if name.startswith(("pin", "slider", "universal", "gimbal", "screw"))
    ]
    lock, drive, first, follow = (str(name) for name in rng.permutation(plain)[:4])
    model = model.with_coordinate(lock, locked=True, default_value=0.3)
    model = model.with_coordinate(drive, prescribed=True, prescribed_function=Polynomial((0.4, 0.2, 0.1)))
    coupler = CoordinateCoupler("tie", True, (), follow, (first,), Sine(0.4, 1.1, 0.2, 0.1), 0.8)
    model = model.replace(constraints=(coupler,))
    e = embedding_of(model)
    z = e.independent(random_q(model, rng, 3))
    m = e.motion(z, *(rng.normal(size=(3, len(e.speed_names))) for _ in range(2)))
    found = absolute_dynamics(model, m.q, m.u, m.udot, driven="independent")
    expected = joint_reactions(model, m.q, m.u, m.udot)
    assert_close(found.tau, e.pull_back(m.q, expected.tau), ROUNDING)
    assert_close(found.force, expected.force, ROUNDING)
    assert_close(found.moment, expected.moment, ROUNDING)


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_joint_agrees(kind, backwards):
    rng = np.random.default_rng(7)
    model = one_joint(kind, 4, backwards=backwards)
    q, u, udot = random_state(model, rng, 3)
    expected = joint_reactions(model, q, u, udot)
    for joints in ("functions", "textbook"):
        found = absolute_dynamics(model, q, u, udot, joints=joints)
        assert_close(found.of("j")[0], expected.force[:, 0], ROUNDING)
        assert_close(found.of("j")[1], expected.moment[:, 0], ROUNDING)
        if len(model.speed_names):
            assert_close(found.tau, expected.tau, ROUNDING)


def moving(model, seed=3, frames=3):
    """A motion that keeps all constraints."""
    e, rng = embedding_of(model), np.random.default_rng(seed)
    z = e.independent(e.default_pose()) + rng.uniform(-0.03, 0.03, (frames, len(e.coordinate_names)))
    return e.motion(z, *(rng.normal(size=(frames, len(e.speed_names))) for _ in range(2)))


@pytest.mark.parametrize("kind", LOOPED)
def test_loops_agree(kind):
    """Closed loops: forces of the independent coordinates, and all loads where no equation repeats others."""
    model = LOOPED[kind]()
    motion = moving(model)
    loads = some_loads(model, np.random.default_rng(2), 3)
    found = absolute_dynamics(model, motion.q, motion.u, motion.udot, loads, driven="independent")
    e = embedding_of(model)
    tau = e.pull_back(motion.q, inverse_dynamics(model, motion.q, motion.u, motion.udot, loads))
    assert_close(found.tau, tau, LOOPS)
    mechanism = found.analysis.mechanism
    assert np.abs(found.analysis.residual).max() < LOOPS
    if mechanism.n_equations == mechanism.n_unknowns:
        expected = joint_reactions(model, motion.q, motion.u, motion.udot, loads)
        assert_close(found.force, expected.force, LOOPS)
        assert_close(found.moment, expected.moment, LOOPS)


@pytest.mark.parametrize("make", [coupled_cranks, bennett])
def test_redundant_loops(make):
    """Where equations repeat others, forces of the independent coordinates are unique."""
    model = make()
    motion = moving(model)
    found = absolute_dynamics(model, motion.q, motion.u, motion.udot, driven="independent")
    e = embedding_of(model)
    assert_close(found.tau, e.pull_back(motion.q, inverse_dynamics(model, motion.q, motion.u, motion.udot)), LOOPS)
    names = {c.name for c in model.constraints}
    d = found.analysis.diagnosis
    assert d.rank == d.unknowns < d.equations
    assert names & set(d.redundant)
    assert not d.free
    assert not d.inconsistent
    # the multipliers are the shortest: no part of them is in the null space of J^T
    a = found.analysis
    for x, signals, multipliers in zip(a.x, a.signals, a.multipliers, strict=True):
        left, _, _ = np.linalg.svd(jacobian(a.mechanism, x, signals)[1])
        assert np.abs(left[:, d.rank :].T @ multipliers).max() < LOOPS * np.abs(multipliers).max()


@pytest.mark.parametrize("file", MODELS, ids=within(MODELS))
def test_models_of_files_agree(file):
    """Models that people use, with couplers, locks and loops."""
    import musculo

    model = musculo.read_osim(file)
    motion = moving(model)
    e = embedding_of(model)
    for joints in ("functions", "textbook"):
        found = absolute_dynamics(model, *motion[:3], driven="independent", joints=joints)
        expected = joint_reactions(model, *motion[:3])
        assert_close(found.tau, e.pull_back(motion.q, inverse_dynamics(model, *motion[:3])), LOOPS)
        assert_close(found.force, expected.force, LOOPS)
        assert_close(found.moment, expected.moment, LOOPS)
    assert agreement(model, *motion[:3]).difference < ROUNDING


def test_positions_are_found_from_afar():
    """Newton's method from positions that are off, frame after frame, gives those of the assembled bodies."""
    rng = np.random.default_rng(11)
    model = random_tree(rng, ("pin", "ball", "universal", "custom_knee", "ellipsoid", "free"))
    q, u, udot = (np.tile(x, (5, 1)) for x in random_state(model, rng))
    q[:, 0] += 0.02 * np.arange(5)
    system = from_model(model)
    given, coordinates = system.given(q, u, udot), system.coordinates(q)
    known = kinematic_analysis(system.mechanism, given, coordinates=coordinates)
    start = known.x[0] + rng.uniform(-0.02, 0.02, size=known.x.shape[1])
    for together in (1, 8):
        found = kinematic_analysis(system.mechanism, given, start=start, together=together)
        assert found.found
        assert found.steps.max() >= 2
        for name in model.body_names:
            assert_close(found.rotation(name), known.rotation(name), 10 * STEP)
            assert_close(found.place(name), known.place(name), 10 * STEP)
        assert_close(found.v, known.v, 10 * STEP)
        assert_close(found.a, known.a, 100 * STEP)


def test_frames_alone_and_together():
    """What a frame gives does not depend on those beside it."""
    rng = np.random.default_rng(12)
    model = random_tree(rng)
    q, u, udot = random_state(model, rng, 11)
    whole = absolute_dynamics(model, q, u, udot)
    for k in (0, 7, 10):
        alone = absolute_dynamics(model, q[k : k + 1], u[k : k + 1], udot[k : k + 1])
        assert np.array_equal(alone.tau[0], whole.tau[k])


def test_what_it_cannot_do():
    """Equations in Python have no terms."""
    model = four_bar()
    more = EquationConstraint("python", coordinates=model.coordinate_names[:2], equations=lambda a, b: a - b)
    both = replace(model, constraints=(more,))
    with pytest.raises(Unsupported, match="no equations for constraint 'python'"):
        from_model(both, driven="independent")
