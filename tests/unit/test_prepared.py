"""A prepared model answers one frame with the numbers of the functions, and refuses what they refuse."""

from __future__ import annotations

import math
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo import Body, Coordinate, Model, Placement
from musculo.demo import MODEL_FILE
from musculo.errors import InvalidInput, SingularSystem
from musculo.functions import MultivariatePolynomial, Polynomial, Sine
from musculo.model.joints import BallJoint, FreeJoint, PinJoint
from musculo.model.model_constraint import CoordinateCoupler
from support.dynamics_models import KINDS, random_tree
from support.recorded_data import recorded, within

STATES = 3


def chain(*coordinates: Coordinate, apart: float = 0.5, **changes) -> Model:
    """Pins about z in a row."""
    bodies = tuple(Body(f"link{k}", 1.0 + k, (0.2, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0)) for k in range(len(coordinates)))
    places = [Placement("ground"), *(Placement(body.name, (apart, 0, 0)) for body in bodies[:-1])]
    joints = tuple(
        PinJoint(f"joint{k}", place, Placement(body.name), (coordinate,))
        for k, (place, body, coordinate) in enumerate(zip(places, bodies, coordinates, strict=True))
    )
    return Model("chain", bodies, joints, **changes)


def coupled() -> Model:
    """The second pin follows the first, the third both."""
    surface = MultivariatePolynomial(2, 2, (0.1, 0.4, 0.2, 0.3, -0.2, 0.5))
    curve = CoordinateCoupler(
        "curve", dependent="b", independents=("a",), function=Polynomial((0.3, -0.5, 0.2, 0.1)), scale=1.5
    )
    line = CoordinateCoupler("line", dependent="c", independents=("a", "b"), function=surface)
    return chain(*map(Coordinate, "abcd"), constraints=(curve, line))


def quaternions() -> Model:
    body = Body("top", 1.0, (0.1, 0.2, 0), (0.1, 0.2, 0.3, 0, 0, 0))
    other = Body("tip", 0.5, (0, 0.1, 0), (0.1, 0.1, 0.1, 0, 0, 0))
    joints = (
        FreeJoint("free", Placement("ground"), Placement("top"), tuple(map(Coordinate, "wxyzabc")), quaternion=True),
        BallJoint("ball", Placement("top"), Placement("tip"), tuple(map(Coordinate, ("d", "e", "f")))),
    )
    return Model("top", (body, other), joints)


MODELS = {
    "arm": musculo.demo.arm,
    "leg": lambda: musculo.read_osim(MODEL_FILE),
    "chain": lambda: chain(*map(Coordinate, "abc")),
    "locked": lambda: chain(Coordinate("a"), Coordinate("b", default_value=0.3, locked=True), Coordinate("c")),
    "prescribed": lambda: chain(Coordinate("a"), Coordinate("b", prescribed=True, prescribed_function=Sine(0.5, 3.0))),
    "coupled": coupled,
    "quaternions": quaternions,
    "tree": lambda: random_tree(np.random.default_rng(5)),
}
FILES = recorded(
    "rajagopal_walk/subject_walk_scaled.osim", "mobl_arms/*.osim", "gait2392/subject01*.osim", "arm26/*.osim",
    "small_models/PathOnConstrainedBody*.osim", "small_models/knee_patella_ligament.osim",
)  # fmt: skip
TIME = 0.4


def states(model: Model):
    """Some consistent states (q, u, udot, tau) near the default pose."""
    e, rng = musculo.embedding_of(model), np.random.default_rng(3)
    z = e.independent(e.default_pose(TIME))
    for _ in range(STATES):
        shift = rng.uniform(-0.05, 0.05, len(z))
        zu, zudot = rng.uniform(-1, 1, (2, len(e.speed_names)))
        motion = e.motion(z + shift, zu, zudot, TIME)
        yield motion.q, motion.u, motion.udot, rng.uniform(-5, 5, len(model.speed_names))


# Under couplers sines are the C library's, within two units in the last place of those of packs; the accelerations of
# the recorded models differ by at most 3e-16 of the largest.
ROUNDING = 1e2 * np.finfo(float).eps


def same_accelerations(model: Model, ours, theirs) -> bool:
    """Bit by bit, but under couplers, where one frame is worked on in scalars instead of packs."""
    if musculo.embedding_of(model).selects:
        return np.array_equal(ours, theirs)
    return bool(np.all(np.abs(ours - theirs) <= ROUNDING * np.max(np.abs(theirs))))


def check(model: Model) -> None:
    one = musculo.prepared(model)
    for q, u, udot, tau in states(model):
        assert np.array_equal(one.inverse_dynamics(q, u, udot), musculo.inverse_dynamics(model, q, u, udot))
        assert np.array_equal(one.mass_matrix(q), musculo.mass_matrix(model, q))
        expected = musculo.forward_dynamics(model, q, u, tau, time=TIME)
        assert same_accelerations(model, one.forward_dynamics(q, u, tau, TIME), expected)
        for given in ((q,), (q, u), (q, u, udot)):
            ours, theirs = one.kinematics(*given), musculo.kinematics(model, *given)
            body = model.body_names[-1]
            assert np.array_equal(ours.pose(body).R, theirs.pose(body).R)
            assert np.array_equal(ours.markers(), theirs.markers())
            assert np.array_equal(ours.point_jacobian(body), theirs.point_jacobian(body))
            if len(given) > 1:
                assert np.array_equal(ours.velocity(body), theirs.velocity(body))
            if len(given) > 2:
                assert np.array_equal(ours.acceleration(body), theirs.acceleration(body))


@pytest.mark.parametrize("name", MODELS)
def test_the_numbers_are_those_of_the_functions(name):
    check(MODELS[name]())


@pytest.mark.parametrize("file", FILES, ids=within(FILES))
def test_the_numbers_of_real_models_are_those_of_the_functions(file):
    check(musculo.read_osim(file))


def test_results_are_new_arrays_and_out_is_written():
    model = MODELS["chain"]()
    one, q = musculo.prepared(model), np.array([0.1, 0.2, 0.3])
    first = one.mass_matrix(q)
    kept, motion = first.copy(), one.kinematics(q)
    hand = motion.position("link2")
    one.mass_matrix(q + 1.0)
    one.kinematics(q + 1.0)
    assert np.array_equal(first, kept)
    assert np.array_equal(motion.position("link2"), hand)
    out = np.empty((3, 3))
    assert one.mass_matrix(q, out=out) is out
    assert np.array_equal(out, kept)
    udot = np.empty(3)
    assert one.forward_dynamics(q, q, q, out=udot) is udot
    assert np.array_equal(
        one.inverse_dynamics(q, q, udot, out=np.empty(3)), musculo.inverse_dynamics(model, q, q, udot)
    )


@pytest.mark.parametrize("out", [np.empty(2), np.empty((3, 1)), np.empty(3, dtype=np.float32), [0.0, 0.0, 0.0]])
def test_an_out_that_does_not_fit_is_refused(out):
    q = np.zeros(3)
    with pytest.raises(InvalidInput, match="out is"):
        musculo.prepared(MODELS["chain"]()).inverse_dynamics(q, q, q, out=out)


def test_lists_and_whole_numbers_are_taken_as_the_functions_take_them():
    model = MODELS["chain"]()
    expected = musculo.inverse_dynamics(model, [1, 0, 1], [0, 1, 2], [0.5, 1, 1])
    assert np.array_equal(musculo.prepared(model).inverse_dynamics([1, 0, 1], (0, 1, 2), [0.5, 1, 1]), expected)
    strided = np.arange(6.0)[::2]
    assert np.array_equal(
        musculo.prepared(model).mass_matrix(strided), musculo.mass_matrix(model, np.array([0.0, 2.0, 4.0]))
    )


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.zeros(2), "shape"),
        (np.zeros(1), "shape"),
        (0.0, "shape"),
        (np.zeros((1, 3)), "takes one"),
        (np.array([0.0, np.nan, 0.0]), "nan"),
        (np.array([0.0, 0.0, np.inf]), "inf"),
        (np.zeros(3, dtype=complex), "complex"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_no_frame_is_refused(bad, words):
    one, good = musculo.prepared(MODELS["chain"]()), np.zeros(3)
    calls = (
        lambda: one.inverse_dynamics(bad, good, good),
        lambda: one.inverse_dynamics(good, bad, good),
        lambda: one.inverse_dynamics(good, good, bad),
        lambda: one.mass_matrix(bad),
        lambda: one.forward_dynamics(bad, good, good),
        lambda: one.forward_dynamics(good, good, bad),
        lambda: one.kinematics(bad),
        lambda: one.kinematics(good, bad),
        lambda: one.kinematics(good, good, bad),
    )
    for call in calls:
        with pytest.raises(InvalidInput, match=words):
            call()
    # a refused call leaves it usable
    assert np.array_equal(one.mass_matrix(good), musculo.mass_matrix(one.model, good))


def test_states_that_contradict_a_rule_are_refused():
    model = coupled()
    one = musculo.prepared(model)
    q, u, _, tau = next(states(model))
    with pytest.raises(InvalidInput, match="coordinate 'b'"):
        one.forward_dynamics(q + np.array([0, 1e-3, 0, 0]), u, tau)
    with pytest.raises(InvalidInput, match="speed 'c'"):
        one.forward_dynamics(q, u + np.array([0, 0, 1e-3, 0]), tau)


@pytest.mark.parametrize("slope", np.linspace(0.1, 1.7, 9))  # of some the pivot is zero, of others rounding is left
def test_singular_hinges_beside_couplers_are_refused(slope):
    follows = CoordinateCoupler("follows", dependent="b", independents=("a",), function=Polynomial((slope, 0.0)))
    shared = chain(*map(Coordinate, "abc"), apart=0.0, constraints=(follows,))  # one axis for all three
    for body in ("link0", "link1"):
        shared = shared.with_body(body, mass=0.0, inertia=(0.0,) * 6)
    q, u, _, tau = next(states(shared))
    with pytest.raises(SingularSystem, match="'a'"):
        musculo.prepared(shared).forward_dynamics(q, u, tau)


def test_singular_and_endless_are_refused():
    light = chain(Coordinate("a"), Coordinate("b")).with_body("link1", mass=0.0, inertia=(0.0,) * 6)
    zero = np.zeros(2)
    with pytest.raises(SingularSystem, match="'b'"):
        musculo.prepared(light).forward_dynamics(zero, zero, zero)
    with pytest.raises(InvalidInput, match="beyond the range"):
        musculo.prepared(chain(Coordinate("a"), Coordinate("b"))).inverse_dynamics(
            np.array([0.0, 0.5]), np.array([1e200, 0.0]), zero
        )
    with pytest.raises(InvalidInput, match="zero length"):
        musculo.prepared(quaternions()).mass_matrix(np.zeros(10))
    with pytest.raises(InvalidInput, match="a Model is needed"):
        musculo.prepared("arm.osim")
    with pytest.raises(InvalidInput, match="without u"):
        musculo.prepared(light).kinematics(zero, udot=zero)


def test_large_numbers_that_are_finite_are_answered():
    model = chain(Coordinate("a"))
    udot = np.full(1, 1e200)
    expected = musculo.inverse_dynamics(model, np.zeros(1), np.zeros(1), udot)
    assert np.array_equal(musculo.prepared(model).inverse_dynamics(np.zeros(1), np.zeros(1), udot), expected)


def test_threads_that_share_one_get_their_own_answers():
    model = random_tree(np.random.default_rng(5), KINDS * 2)
    one, poses = musculo.prepared(model), np.random.default_rng(0).uniform(-1, 1, (60, len(model.coordinate_names)))
    expected = [musculo.mass_matrix(model, q) for q in poses]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            found = list(pool.map(one.mass_matrix, poses))
            assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_it_can_be_sent_to_a_process():
    model = MODELS["coupled"]()
    q, u, _, tau = next(states(model))
    one = pickle.loads(pickle.dumps(musculo.prepared(model)))
    assert np.array_equal(one.forward_dynamics(q, u, tau), musculo.prepared(model).forward_dynamics(q, u, tau))


@pytest.mark.parametrize("answer", ["inverse_dynamics", "forward_dynamics"])
def test_speeds_are_not_left_from_the_call_before(answer):
    one, q = musculo.prepared(musculo.demo.arm()), np.array([0.3, 0.4])
    getattr(one, answer)(q, np.array([5.0, 50.0]), q)
    with pytest.raises(musculo.errors.InvalidInput):
        getattr(one, answer)(q, None, q)


@pytest.mark.parametrize("time", ["x", 1j, math.nan])
def test_a_time_is_checked_as_the_function_does(time):
    q = np.array([0.3, 0.4])
    with pytest.raises(musculo.errors.InvalidInput):
        musculo.prepared(musculo.demo.arm()).forward_dynamics(q, q, q, time=time)
