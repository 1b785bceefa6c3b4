"""Closed loops by hand: branches, choices, and everything that can go wrong with a loop."""

from __future__ import annotations

import math

import numpy as np
import pytest

import musculo
from musculo import PointConstraint
from musculo.embedding.loops.closed_loop import LoopStatus
from musculo.errors import InvalidInput, InvalidModel, SingularSystem, UnknownName, Unsupported
from musculo.functions import Linear
from musculo.model import (
    ConstantDistanceConstraint,
    CoordinateCoupler,
    EquationConstraint,
    Fitted,
    Molecule,
    PointOnLineConstraint,
    WeldConstraint,
)
from musculo.model.joints import BallJoint
from support.mechanisms import andrews_squeezer, chain, closing, five_bar, four_bar, hinge, link

ROUNDING = 1e-12


def parallelogram(pose=(0.8, -0.8, -2.341592653589793)):
    """Opposite bars are equal: it can fold flat, and there its two branches meet."""
    return chain("parallelogram", (0.3, 0.6, 0.3), 0.6, pose)


# --- what is solved -------------------------------------------------------------------------------------------------
def test_a_four_bar_follows_its_crank_by_elementary_geometry():
    """The end of the rocker is where two circles meet: coupler about the crank's end, rocker about the base."""
    model = four_bar(0.2, 0.5, 0.4, 0.45)
    e = musculo.embedding_of(model, independent="q0")
    assert e.coordinate_names == ("q0",)
    assert e.loop_names == ("closure",)
    angle = np.linspace(0.0, 2 * np.pi, 37)
    q = e.coordinates(angle[:, None])
    crank = 0.2 * np.exp(1j * angle)
    joint = crank + 0.5 * np.exp(1j * (angle + q[:, 1]))
    assert np.abs(np.abs(joint - 0.45) - 0.4).max() < ROUNDING
    assert np.abs(joint + 0.4 * np.exp(1j * q.sum(axis=1)) - 0.45).max() < ROUNDING


def test_planar_loops_stated_in_space_repeat_equations_and_say_so():
    assert [loop.redundant for loop in musculo.embedding_of(four_bar()).loops] == [1]
    assert [loop.redundant for loop in musculo.embedding_of(andrews_squeezer()).loops] == [3]


def test_the_guess_picks_the_branch_and_nothing_else_does():
    model = four_bar()
    e = musculo.embedding_of(model)
    one = e.coordinates([0.9])
    # the coupler mirrored about the line from the crank's end to the base
    end = 0.2 * np.exp(0.9j)
    line = np.angle(0.45 - end)
    mirrored = 2 * line - (one[0] + one[1])
    joint = end + 0.5 * np.exp(1j * mirrored)
    other = np.array([0.9, mirrored - 0.9, np.angle(0.45 - joint) - mirrored])
    assert np.abs(e.coordinates([0.9], guess=other) - other).max() < ROUNDING
    assert np.abs(other - one).max() > 0.5
    flipped = musculo.embedding_of(model, branch=other)
    assert np.abs(np.exp(1j * flipped.coordinates([0.9])) - np.exp(1j * other)).max() < ROUNDING
    # order, company and repetition do not matter
    z = np.random.default_rng(0).uniform(-6, 6, (40, 1))
    q = e.coordinates(z)
    assert np.abs(e.coordinates(z[::-1])[::-1] - q).max() < ROUNDING
    assert np.abs(np.stack([e.coordinates(x) for x in z[:5]]) - q[:5]).max() < ROUNDING
    # two whole turns lead back to the same place
    turned = e.coordinates([0.9 + 4 * np.pi])
    assert np.abs(np.exp(1j * turned) - np.exp(1j * one)).max() < ROUNDING


def test_independent_coordinates_are_chosen_or_named():
    assert musculo.embedding_of(five_bar()).coordinate_names == ("q0", "q1")
    assert musculo.embedding_of(five_bar(), independent=("q3", "q0")).coordinate_names == ("q0", "q3")
    assert musculo.embedding_of(andrews_squeezer(), independent=("theta",)).coordinate_names == ("theta",)
    with pytest.raises(
        InvalidInput, match=r"'q0', 'q1', 'q2' cannot all be independent: the loop 'closure' leaves 2 of 4"
    ):
        musculo.embedding_of(five_bar(), independent=("q0", "q1", "q2"))
    with pytest.raises(UnknownName, match="'q9'"):
        musculo.embedding_of(five_bar(), independent=("q9",))
    locked = five_bar().with_coordinate("q1", locked=True, default_value=0.4)
    with pytest.raises(InvalidInput, match="'q1' cannot be independent: it is locked"):
        musculo.embedding_of(locked, independent=("q1",))
    assert musculo.embedding_of(locked).coordinate_names == ("q0",)


def test_loops_that_share_nothing_are_solved_apart():
    first, second = four_bar(), five_bar()
    second_bodies = tuple(link(f"other{k}", 1.0, (0.1, 0.0), 0.1) for k in range(4))
    joints = tuple(
        hinge(f"p{k}", "ground" if k == 0 else f"other{k - 1}", (0.0 if k == 0 else a, 0.0), f"other{k}", d)
        for k, (a, d) in enumerate(zip((0.0, 1.0, 1.0, 3.0), (1.2, 0.4, -1.0, -1.8), strict=True))
    )
    loop = PointConstraint("far", True, (), "ground", "other3", (3.0, 0.0, 0.0), (3.0, 0.0, 0.0))
    both = first.replace(
        bodies=first.bodies + second_bodies, joints=first.joints + joints, constraints=(*first.constraints, loop)
    )
    e = musculo.embedding_of(both)
    assert [loop.inputs for loop in e.loops] == [("q0",), ("p0", "p1")]
    alone = musculo.embedding_of(second)
    z = [0.8, 1.25, 0.35]
    assert np.abs(e.coordinates(z)[3:] - alone.coordinates(z[1:])).max() < 1e-9


def test_what_no_freedom_is_left_for_stands_still():
    """A triangle of three bars on two pins: rigid, and its embedding has no coordinate."""
    model = chain("triangle", (0.5, 0.4), 0.6, (0.7, -1.5))
    e = musculo.embedding_of(model)
    assert e.coordinate_names == ()
    q = e.default_pose()
    assert np.abs(musculo.constraint_residuals(model, q).residual).max() < ROUNDING
    assert np.abs(musculo.forward_dynamics(model, q, np.zeros(2), [3.0, -2.0])).max() == 0.0


def test_user_equations_are_couplers_where_they_say_the_same():
    tree = five_bar().replace(constraints=())
    coupled = tree.replace(constraints=(CoordinateCoupler("c", True, (), "q2", ("q0",), Linear(0.5, 0.1)),))
    stated = tree.replace(
        constraints=(EquationConstraint("c", coordinates=("q0", "q2"), equations=lambda a, c: c - 0.5 * a - 0.1),)
    )
    e = musculo.embedding_of(stated, independent=("q0", "q1", "q3"))
    rng = np.random.default_rng(0)
    z, zu, tau = rng.normal(size=(3, 5, 3))
    a, b = (x.motion(z, zu) for x in (musculo.embedding_of(coupled), e))
    assert np.abs(a.q - b.q).max() < ROUNDING
    tau = rng.normal(size=a.u.shape)
    udot = musculo.forward_dynamics(coupled, a.q, a.u, tau)
    assert (
        np.abs(musculo.constrained_acceleration(stated, b.q, b.u, tau).udot - udot).max() < 1e-10 * np.abs(udot).max()
    )


def test_a_slider_crank_by_a_point_on_a_line():
    """The coupler's end runs along the x axis: x = a cos + sqrt(b^2 - a^2 sin^2)."""
    model = chain("slider-crank", (0.2, 0.5), 0.0, (0.9, -1.2))
    rail = PointOnLineConstraint("rail", True, (), "ground", "bar1", (1.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.5, 0.0, 0.0))
    model = model.replace(constraints=(rail,))
    e = musculo.embedding_of(model)
    angle = np.linspace(0.0, 6.0, 25)
    q = e.coordinates(angle[:, None])
    x = musculo.kinematics(model, q).position("bar1", (0.5, 0.0, 0.0))
    assert np.abs(x[:, 0] - 0.2 * np.cos(angle) - np.sqrt(0.25 - 0.04 * np.sin(angle) ** 2)).max() < ROUNDING
    assert np.abs(x[:, 1:]).max() < ROUNDING


def test_a_rod_is_a_bar_without_mass():
    """A rod in place of a massless coupler: the same motion."""
    bars = four_bar()
    bodies = (bars.bodies[0], link("rocker", 1.6, (0.18, 0.02), 0.016))
    joints = (hinge("q0", "ground", (0, 0), "bar0", 0.9), hinge("r", "ground", (0.45, 0.0), "rocker", 1.2))
    rod = ConstantDistanceConstraint("rod", True, (), "bar0", "rocker", (0.2, 0.0, 0.0), (0.4, 0.0, 0.0), 0.5)
    e = musculo.embedding_of(bars.replace(bodies=bodies, joints=joints, constraints=(rod,)))
    angle = np.linspace(0.0, 6.0, 13)[:, None]
    r = e.coordinates(angle)[:, 1]
    gap = np.abs(0.2 * np.exp(1j * angle[:, 0]) - 0.45 - 0.4 * np.exp(1j * r))
    assert np.abs(gap - 0.5).max() < ROUNDING


def test_moment_arms_and_pull_back_go_through_loops():
    model = four_bar()
    e = musculo.embedding_of(model)
    q = e.coordinates([1.1])
    J, M = e.jacobian(q), musculo.mass_matrix(model, q)
    assert J.shape == (3, 1)
    assert np.abs(e.pull_back_mass(q, M) - J.T @ M @ J).max() < ROUNDING
    h = 1e-5
    slope = (e.coordinates([1.1 + h]) - e.coordinates([1.1 - h])) / (2 * h)
    assert np.abs(J[:, 0] - slope).max() < 1e-9


# --- what goes wrong ------------------------------------------------------------------------------------------------
def test_loops_that_cannot_be_closed_are_named():
    with pytest.raises(
        InvalidModel, match=r"loop 'closure' cannot be closed: constraint 'closure' stays open by 0\.9.*branch=q"
    ):
        musculo.embedding_of(four_bar(base=2.0))
    planar = four_bar()
    (closure,) = planar.constraints
    lifted = PointConstraint("lifted", True, (), "ground", "bar2", (0.45, 0.0, 1e-3), (0.4, 0.0, 0.0))
    with pytest.raises(InvalidModel, match=r"'lifted' stays open by 0\.001"):
        musculo.embedding_of(planar.replace(constraints=(lifted,)))
    with pytest.raises(InvalidModel, match=r"loop of 'closure', 'lifted' cannot be closed"):
        musculo.embedding_of(planar.replace(constraints=(closure, lifted)))
    with pytest.raises(InvalidModel, match="cannot be closed"):
        musculo.forward_dynamics(four_bar(base=2.0), np.zeros(3), np.zeros(3), np.zeros(3))


def test_states_off_the_manifold_are_refused():
    model = four_bar()
    e = musculo.embedding_of(model)
    q = np.tile(e.coordinates([0.9]), (3, 1))
    u = e.motion([0.9], [1.0]).u
    off = q.copy()
    off[2, 1] += 1e-3
    with pytest.raises(InvalidInput, match=r"'q[12]' is .* at frame 2, but it is closed by the loop 'closure'"):
        musculo.forward_dynamics(model, off, np.zeros((3, 3)), np.zeros((3, 3)))
    with pytest.raises(InvalidInput, match=r"speed 'q[12]' is .* at frame 0, but it is closed by the loop 'closure'"):
        musculo.forward_dynamics(model, q[0], u + np.array([0.0, 0.1, 0.0]), np.zeros(3))
    with pytest.raises(InvalidInput, match=r"constraint 'closure': it stays open|satisfies the constraint 'closure'"):
        musculo.simulation.project_position(four_bar(base=2.0), [0.9, 0.2, -2.0])


def test_coordinates_out_of_reach_are_named():
    """The rocker of a crank-rocker swings between two ends."""
    model = four_bar()
    e = musculo.embedding_of(model, independent=("q2",))
    middle = e.independent(e.branch)
    inside, outside = middle, middle + 2.5
    with pytest.raises(
        InvalidInput, match=r"loop 'closure' cannot be closed at frame 1 with q2 = .*closes up to q2 = "
    ):
        e.coordinates([inside, outside])
    found = e.closure([inside, outside])
    assert list(found.status) == [LoopStatus.SOLVED, LoopStatus.UNREACHABLE]
    assert np.abs(musculo.constraint_residuals(model, found.q[:1]).residual).max() < ROUNDING


def test_a_turning_point_asks_for_another_coordinate():
    """Where the crank lies along the base, the angle between coupler and rocker is at its end and cannot drive."""
    model = four_bar()
    e = musculo.embedding_of(model)
    q = e.coordinates([[0.0]])
    by_rocker = musculo.embedding_of(model, independent=("q2",), branch=e.branch)
    with pytest.raises(SingularSystem, match=r"turning point at frame 0: q2 cannot drive it there.*independent="):
        by_rocker.rules[0].variables.gradient(q[:, 2:], q[:, :2])


def test_singular_positions_are_reported():
    flat = parallelogram((0.0, 0.0, math.pi))
    with pytest.raises(SingularSystem, match=r"loop 'closure' is in a singular position at the pose it starts from"):
        musculo.embedding_of(flat)
    e = musculo.embedding_of(flat, branch=(0.8, -0.8, -math.pi + 0.8))
    assert np.abs(e.coordinates([0.5]) - [0.5, -0.5, -math.pi + 0.5]).max() < 1e-9
    with pytest.raises(SingularSystem, match=r"singular position"):
        e.motion([0.0], [1.0], guess=[0.0, 0.0, -math.pi])
    with pytest.raises(
        SingularSystem, match=r"meets a singular position on the way to q0 = -0.5 at frame 0, near q0 ="
    ):
        e.coordinates([-0.5])
    assert e.closure([-0.5]).status == LoopStatus.SINGULAR


def test_bad_arguments_are_refused():
    model = four_bar()
    with pytest.raises(UnknownName, match="no method for loops 'magic'"):
        musculo.embedding_of(model, loops="magic")
    with pytest.raises(InvalidInput, match="molecule's step"):
        musculo.embedding_of(model, loops=Molecule(step=0.0))
    with pytest.raises(InvalidInput, match="branch"):
        musculo.embedding_of(model, branch=[0.1])
    with pytest.raises(InvalidInput, match="branch has 2 frames"):
        musculo.embedding_of(model, branch=np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="guess has 2 frames and z 3"):
        musculo.embedding_of(model).coordinates(np.zeros((3, 1)), guess=np.zeros((2, 3)))
    with pytest.raises(InvalidInput, match="stabilization"):
        musculo.constrained_acceleration(model, np.zeros(3), np.zeros(3), np.zeros(3), stabilization=-1.0)
    with pytest.raises(UnknownName, match="constraint between bodies 'x'"):
        musculo.constrained_acceleration(model, np.zeros(3), np.zeros(3), np.zeros(3)).reaction("x")


def test_fits_know_where_they_hold():
    model = four_bar()
    with pytest.raises(InvalidInput, match=r"the loop 'closure' cannot be closed at frame"):
        musculo.embedding_of(model, independent="q2", loops="fitted")
    e = musculo.embedding_of(model, loops=Fitted({"q0": (0.0, 1.5)}, samples=40))
    with pytest.raises(
        InvalidInput, match=r"q0 is 1.6 at frame 1, outside 0 to 1.5, where the loop 'closure' was fitted"
    ):
        e.coordinates([[1.0], [1.6]])
    unbounded = model.with_coordinate("q0", range=(-math.inf, math.inf))
    with pytest.raises(InvalidInput, match=r"needs a range of 'q0'"):
        musculo.embedding_of(unbounded, loops="fitted")
    with pytest.raises(InvalidInput, match=r"2 inputs .* 1000000 points"):
        musculo.embedding_of(five_bar(), loops=Fitted(samples=1000))
    with pytest.raises(InvalidInput, match="do not come back"):
        musculo.embedding_of(model, loops=Fitted({"q0": (0.0, 3.0)}, kind="fourier"))
    with pytest.raises(InvalidInput, match="serves one"):
        musculo.embedding_of(five_bar(), loops=Fitted(samples=20, kind="fourier"))
    with pytest.raises(UnknownName, match="kind of fit"):
        Fitted(kind="wavelet")
    with pytest.raises(InvalidInput, match="degree"):
        Fitted(degree=4)


def test_faulty_equations_are_explained(tmp_path):
    tree = five_bar().replace(constraints=())

    def refused(equations, message, coordinates=("q0", "q1")):
        constraint = EquationConstraint("mine", coordinates=coordinates, equations=equations)
        with pytest.raises(musculo.MusculoError, match=message):
            musculo.embedding_of(tree.replace(constraints=(constraint,)))

    refused(None, "'mine' has no equations")
    refused(lambda a, b: math.sin(a) - b, "'mine': its equations fail with TypeError.*NumPy's functions")
    refused(lambda a, b: np.floor(a) - b, r"'mine': an equation uses numpy\.floor")
    refused(lambda a: a, "'mine': its equations fail with TypeError.*2 coordinates")
    refused(lambda a, b: 1.0, "'mine': its equations fail|'mine': its equations return")
    refused(lambda a, b: [], "'mine': its equations return")
    refused(lambda a, b: a - b, "'q7'", coordinates=("q0", "q7"))
    refused(lambda a, b: a * 0.0 + 1.0, "'mine' stays open by 1")
    fine = EquationConstraint("mine", coordinates=("q0", "q1"), equations=lambda a, b: a - b)
    with pytest.raises(Unsupported, match="'mine' is a Python function"):
        musculo.write_osim(tree.replace(constraints=(fine,)), tmp_path / "x.osim")


def test_faulty_constraints_are_explained():
    tree = five_bar().replace(constraints=())

    def refused(constraint, message):
        with pytest.raises(musculo.MusculoError, match=message):
            musculo.embedding_of(tree.replace(constraints=(constraint,)))

    refused(ConstantDistanceConstraint("rod", True, (), "ground", "bar3"), "'rod': its distance is 0")
    refused(
        PointOnLineConstraint("rail", True, (), "ground", "bar3", (0.0, 0.0, 0.0)), "'rail': its line has no direction"
    )
    refused(PointConstraint("pin", True, (), "ground", "bar9"), "no body 'bar9' in constraint 'pin'")
    refused(WeldConstraint("weld", True, (), musculo.Placement("x"), musculo.Placement("bar1")), "no body 'x'")


def test_parts_of_a_quaternion_cannot_depend():
    rng = np.random.default_rng(0)
    four = tuple(map(musculo.Coordinate, "wabc"))
    joint = BallJoint("hip", musculo.Placement("ground"), musculo.Placement("b"), four, quaternion=True)
    model = musculo.Model("m", (link("b", 1.0, (0.1, 0.0), 0.1),), (joint,)).with_coordinate("w", default_value=1.0)
    q = np.array([1.0, 0.0, 0.0, 0.0])
    rod = closing(model, q, "distance", "ground", "b", rng)
    with pytest.raises(InvalidModel, match=r"loop 'distance' makes joint 'hip' depend.*use its angles"):
        musculo.embedding_of(model.replace(constraints=(rod,)))
