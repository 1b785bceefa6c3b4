"""Paths that can be checked by hand: straight ones, points that come and go, points that move, and what is refused."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, MusculoWarning, Placement, read_osim, write_osim
from musculo.errors import InvalidInput, InvalidModel, UnknownName, Unsupported
from musculo.functions.elementary_functions import Linear, Scaled
from musculo.functions.unsupported_function import UnsupportedFunction
from musculo.model.force import Force, Muscle
from musculo.model.idle_wraps import idle_wraps
from musculo.model.joints import BallJoint, PinJoint, SliderJoint
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, PathWrap, UnsupportedPath
from musculo.model.path_force import PathSpring
from musculo.model.wrap import UnsupportedWrapObject, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.muscle.path_loads.path_wrenches import path_wrenches
from musculo.muscle.paths.geometry import STATUSES, muscle_geometry, path_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives

ROUNDING = 1e-14
BODIES = (Body("arm", 1.0), Body("block", 1.0))


def hinge(*points, wraps=(), surfaces=(), ranges=(-2.0, 2.0), kind=Muscle) -> Model:
    """An arm that turns about z of ground, a block that slides along x of the arm, and one path."""
    joints = (
        PinJoint("elbow", Placement("ground"), Placement("arm"), (Coordinate("turn", range=ranges),)),
        SliderJoint("rail", Placement("arm"), Placement("block"), (Coordinate("slide"),)),
    )
    path = Path(tuple(points), tuple(wraps))
    force = kind("cord", "Thelen2003Muscle" if kind is Muscle else "PathSpring", path=path)
    return Model("hinge", BODIES, joints, wrap_objects=tuple(surfaces), forces=(force,))


A = PathPoint("a", "ground", (0.0, 2.0, 0.0))
B = PathPoint("b", "arm", (1.0, 0.0, 0.0))
C = PathPoint("c", "block", (0.5, 0.0, 0.0))


def test_straight_path_has_the_length_and_arm_of_a_triangle():
    """l^2 = 1 + 4 - 4 sin(turn); the arm is the distance of the pivot from the line."""
    turn = np.array([-0.4, 0.0, 0.9])
    q = np.column_stack([turn, np.zeros(3)])
    g = muscle_geometry(hinge(A, B), q, np.ones((3, 2)))
    length = np.sqrt(5.0 - 4.0 * np.sin(turn))
    assert np.allclose(g.length[:, 0], length, rtol=0, atol=ROUNDING)
    assert np.allclose(g.moment_arm[:, 0, 0], 2.0 * np.cos(turn) / length, rtol=0, atol=ROUNDING)
    assert not g.moment_arm[:, 0, 1].any()
    assert np.allclose(g.speed[:, 0], -g.moment_arm[:, 0, 0], rtol=0, atol=ROUNDING)


def test_a_sliding_block_pulls_with_the_cosine():
    """From (0, 2) to the block at (1.5, 0): pulled back along x by 1.5 / 2.5."""
    g = muscle_geometry(hinge(A, C), (0.0, 1.0))
    assert g.length == pytest.approx([2.5], abs=ROUNDING)
    assert g.moment_arm[0] == pytest.approx([1.2, -0.6], abs=ROUNDING)


def test_a_path_on_one_body_has_a_length_and_no_arm():
    g = muscle_geometry(hinge(B, replace(B, location=(1.0, 3.0, 4.0))), (0.3, 0.0))
    assert g.length == pytest.approx([5.0], abs=ROUNDING)
    assert not g.moment_arm.any()


@pytest.mark.parametrize(
    ("turn", "there"),
    [(0.5, True), (1.0, True), (1.0 + 0.9e-5, True), (1.0 + 1.1e-5, False), (-1.1e-5, False), (-0.9e-5, True)],
)
def test_a_conditional_point_is_there_up_to_the_margin(turn, there):
    via = ConditionalPathPoint("via", "arm", (1.0, 0.0, 0.5), coordinate="turn", range=(0.0, 1.0))
    for wrapping in ("geodesic", "opensim"):
        g = muscle_geometry(hinge(A, via, B), (turn, 0.0), wrapping=wrapping)
        assert g.path_points.count[0, 0] == (3 if there else 2)
        assert len(g.path_points.of("cord")[0]) == (3 if there else 2)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ({}, "'via' of the path of 'cord' names no coordinate"),
        ({"coordinate": "turn", "range": (1.0, -1.0)}, r"'via'.* range \(1.0, -1.0\), in which no .*lowest .*'turn'"),
        ({"coordinate": "turn", "range": (np.nan, 1.0)}, r"'via'.* range \(nan, 1.0\), in which no"),
        ({"coordinate": "turn", "range": (0.0,)}, r"'via'.* range \(0.0,\)"),
    ],
)
def test_a_conditional_point_that_never_could_be_there_is_an_error(condition, message):
    with pytest.raises(InvalidModel, match=message):
        muscle_geometry(hinge(A, ConditionalPathPoint("via", "arm", (1.0, 0.0, 0.5), **condition), B), (0.5, 0.0))


@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
def test_a_path_whose_end_is_out_of_its_range_says_so(wrapping):
    """It runs between the points that are there, as in OpenSim, which gives length 0 where one is left."""
    end = ConditionalPathPoint("end", "arm", (1.0, 0.0, 0.5), coordinate="turn", range=(0.0, 1.0))
    q = [[0.5, 0.0], [-0.5, 0.0], [1.5, 0.0], [1.0 + 0.9e-5, 0.0]]
    cut = [False, True, True, False]
    for points, rest in (((A, end), 0.0), ((end, A), 0.0), ((A, B, end), np.sqrt(5.0 + 4.0 * np.sin(0.5)))):
        g = muscle_geometry(hinge(*points), q, wrapping=wrapping)
        assert [STATUSES[k] == "cut short" for k in g.status[:, 0]] == cut
        assert g.length[1, 0] == pytest.approx(rest, abs=ROUNDING)
        assert np.array_equal(path_wrenches(hinge(*points), q, wrapping=wrapping).status, g.status)
        if wrapping == "geodesic":
            assert np.array_equal(moment_arm_derivatives(hinge(*points), q).status, g.status)
    nothing = muscle_geometry(hinge(end, end), (-0.5, 0.0), wrapping=wrapping)
    assert (STATUSES[nothing.status[0]], nothing.length[0]) == ("cut short", 0.0)


@pytest.mark.parametrize("location", [(0.3, 0.0), (0.3, np.nan, 0.0), (1.0, "2", "x"), 3.0])
def test_a_location_that_is_no_point_is_an_error(location):
    with pytest.raises(
        InvalidModel, match=r"point 'b' of the path of 'cord': its location is .*; give 3 finite numbers"
    ):
        muscle_geometry(hinge(A, replace(B, location=location)), (0.5, 0.0))


def test_two_forces_of_one_name_are_an_error():
    model = hinge(A, B)
    with pytest.raises(InvalidModel, match="two force entries are named 'cord' in model 'hinge'; rename one of them"):
        model.replace(forces=model.forces * 2)


def sliding_point(**changes) -> MovingPathPoint:
    """On the arm, x = 1 + turn / 2, y = turn, at z = 0 whatever the coordinate."""
    return replace(
        MovingPathPoint(
            "m",
            "arm",
            x=Linear(0.5, 1.0),
            y=Linear(1.0, 0.0),
            x_coordinate="turn",
            y_coordinate="turn",
        ),
        **changes,
    )


def test_a_moving_point_moves_with_its_coordinate():
    """At turn 0 it is at (1, 0): the arm's share is 2 / sqrt(5), its own is its slope along the pull."""
    g = muscle_geometry(hinge(A, sliding_point()), (0.0, 0.0))
    pull = np.array([-1.0, 2.0]) / np.sqrt(5.0)
    assert g.length == pytest.approx([np.sqrt(5.0)], abs=ROUNDING)
    assert g.moment_arm[0, 0] == pytest.approx(pull[1] + pull @ [0.5, 1.0], abs=ROUNDING)


def test_a_moving_point_rests_outside_the_range_of_its_coordinate():
    """At its end it stays; its slope is zero by the exact rules, and that of the function in OpenSim."""
    model = hinge(A, sliding_point(), ranges=(-0.3, 0.3))
    g = muscle_geometry(model, (0.5, 0.0))
    x = g.path_points.of("cord")[0][1]
    assert np.linalg.norm(x) == pytest.approx(np.hypot(1.15, 0.3), abs=ROUNDING)
    h = 1e-4
    length = muscle_geometry(model, [(0.5 + s * h, 0.0) for s in (1, -1)]).length[:, 0]
    assert g.moment_arm[0, 0] == pytest.approx((length[1] - length[0]) / (2 * h), abs=1e-8)
    literal = muscle_geometry(model, (0.5, 0.0), like="opensim")
    assert literal.length == pytest.approx(g.length, abs=ROUNDING)
    assert abs(literal.moment_arm[0, 0] - g.moment_arm[0, 0]) > 0.1


def test_opensim_forgets_a_point_that_moves_on_the_body_of_its_neighbour():
    """Between two points of one body OpenSim pulls nothing; the exact rules pull the moving one."""
    model = hinge(replace(B, location=(1.0, 1.0, 0.0)), sliding_point())
    assert muscle_geometry(model, (0.0, 0.0), like="opensim").moment_arm[0, 0] == 0.0
    assert muscle_geometry(model, (0.0, 0.0)).moment_arm[0, 0] == pytest.approx(1.0, abs=ROUNDING)


def test_coincident_points_have_no_direction():
    """By the exact rules the pair pulls nothing; in OpenSim it is not a number."""
    model = hinge(A, PathPoint("a2", "arm", (0.0, 2.0, 0.0)), B)
    assert np.isfinite(muscle_geometry(model, (0.0, 0.0)).moment_arm).all()
    assert np.isnan(muscle_geometry(model, (0.0, 0.0), like="opensim").moment_arm[0, 0])


def test_muscles_come_first_and_other_paths_on_request():
    model = hinge(A, B)
    spring = replace(hinge(A, C, kind=Force).forces[0], name="spring")
    model = model.replace(forces=(spring, *model.forces, Force("bushing", "BushingForce")))
    assert muscle_geometry(model, (0.0, 0.0)).names == ("cord",)
    g = path_geometry(model, [(0.0, 0.0)])
    assert g.names == ("cord", "spring")
    assert g.index("spring") == 1
    with pytest.raises(UnknownName, match="no path None"):
        g.index(None)
    assert g.length.shape == (1, 2)


def test_a_spring_without_a_path_is_refused():
    model = hinge(A, B)
    model = model.replace(forces=(*model.forces, PathSpring("cushion", resting_length=0.1)))
    with pytest.raises(InvalidModel, match="PathSpring 'cushion' has no path; give it one of two points"):
        path_geometry(model, (0.0, 0.0))


def test_a_model_without_paths_has_empty_results():
    model = hinge(A, B).replace(forces=())
    g = muscle_geometry(model, np.zeros((4, 2)), np.zeros((4, 2)))
    assert (g.length.shape, g.speed.shape, g.moment_arm.shape) == ((4, 0), (4, 0), (4, 0, 2))


# --- what is refused --------------------------------------------------------------------------------------------------
def wrapped(surface, name="ball", **changes) -> Model:
    wrap = replace(PathWrap("w", name), **changes)
    return hinge(A, B, wraps=(wrap,), surfaces=(surface,))


SPHERE = WrapSphere("ball", "ground", radius=0.1)


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (wrapped(replace(SPHERE, radius=0.0)), InvalidModel, "'ball' has radius 0.0"),
        (wrapped(WrapCylinder("ball", "ground", radius=-1.0)), InvalidModel, "'ball' has radius -1.0"),
        (wrapped(WrapCylinder("ball", "ground", length=0.0)), InvalidModel, "'ball' has length 0.0"),
        (wrapped(WrapEllipsoid("ball", "ground", semi_axes=(1.0, np.nan, 1.0))), InvalidModel, "y semi-axis nan"),
        (wrapped(WrapTorus("ball", "ground", outer_radius=np.inf)), InvalidModel, "outer radius inf"),
        (wrapped(replace(SPHERE, radius="0.1")), InvalidModel, "'ball' has radius '0.1'; it must be a positive number"),
        (wrapped(replace(SPHERE, radius=None)), InvalidModel, "'ball' has radius None"),
        (wrapped(replace(SPHERE, active="false")), InvalidModel, "'ball' has active 'false'; it is True or False"),
        (wrapped(SPHERE, range=(1.5, 2)), InvalidModel, "has the range (1.5, 2); give the numbers"),
        (wrapped(SPHERE, range=None), InvalidModel, "has the range None; give the numbers"),
        (wrapped(replace(SPHERE, frame="thigh")), UnknownName, "'thigh' in wrap object 'ball'"),
        (wrapped(replace(SPHERE, quadrant="w")), UnknownName, "quadrant 'w'"),
        (wrapped(SPHERE, "bull"), UnknownName, "no wrap object 'bull' in wrap 'w' of the path of 'cord'; did you"),
        (wrapped(SPHERE, method="best"), UnknownName, "method 'best'"),
        (wrapped(SPHERE, range=(1, 3)), InvalidModel, "range 1 3, but there are 2 points"),
        (wrapped(UnsupportedWrapObject("ball", "ground", element="WrapCone")), Unsupported, "'ball' is a WrapCone"),
        (hinge(A), InvalidModel, "'cord' has 1 points"),
        (hinge(A, replace(B, frame="leg")), UnknownName, "'leg' in point 'b' of the path of 'cord'"),
        (hinge(A, replace(B, location=(np.nan, 0.0, 0.0))), InvalidModel, "point 'b' of the path of 'cord'"),
        (
            hinge(A, ConditionalPathPoint("v", "arm", coordinate="bend"), B),
            UnknownName,
            "coordinate 'bend' in point 'v'",
        ),
    ],
)
def test_impossible_paths_are_refused_by_name(model, error, words):
    with pytest.raises(error) as caught:
        muscle_geometry(model, (0.0, 0.0), like="opensim")
    assert words in str(caught.value)


def test_a_path_of_a_kind_without_mechanics_is_refused():
    force = Muscle("cord", "Thelen2003Muscle", path=UnsupportedPath(element="FunctionBasedPath"))
    with pytest.raises(Unsupported, match="'cord' is a FunctionBasedPath"):
        muscle_geometry(hinge(A, B).replace(forces=(force,)), (0.0, 0.0))


def test_an_unknown_method_is_refused():
    with pytest.raises(InvalidInput, match="'straight' is not known"):
        muscle_geometry(hinge(A, B), (0.0, 0.0), wrapping="straight")


def test_a_point_moved_by_an_angle_of_a_ball_is_refused_by_the_exact_rules():
    """The speeds of a ball joint are not the derivatives of its angles; OpenSim takes them for that."""
    ball = BallJoint("ball", Placement("ground"), Placement("arm"), tuple(Coordinate(n) for n in ("turn", "y", "z")))
    model = hinge(A, sliding_point())
    model = model.replace(joints=(ball, model.joints[1]))
    with pytest.raises(Unsupported, match="moved by 'turn'"):
        muscle_geometry(model, np.zeros(4))
    assert np.isfinite(muscle_geometry(model, np.zeros(4), like="opensim").moment_arm).all()


def test_speeds_need_u_and_u_needs_as_many_frames():
    assert muscle_geometry(hinge(A, B), (0.0, 0.0)).speed is None
    with pytest.raises(InvalidInput, match="different numbers of frames"):
        muscle_geometry(hinge(A, B), np.zeros((3, 2)), np.zeros((2, 2)))


def test_paths_of_unknown_names_are_refused():
    g = muscle_geometry(hinge(A, B), (0.0, 0.0))
    with pytest.raises(UnknownName, match="did you mean 'cord'"):
        g.index("cort")
    with pytest.raises(UnknownName, match="did you mean 'cord'"):
        g.path_points.of("cort")


def test_a_function_that_cannot_be_computed_is_named_with_its_point():
    carried = UnsupportedFunction("FooFunction", "<FooFunction/>")
    for curve in (carried, Scaled(carried, 2.0)):
        with pytest.raises(
            Unsupported, match="point 'm' of the path of 'cord' moves along y by a function of kind <Foo"
        ):
            muscle_geometry(hinge(A, sliding_point(y=curve)), (0.0, 0.0))


# --- surfaces that are never touched ----------------------------------------------------------------------------------
AROUND_A = replace(SPHERE, translation=(0.0, 1.95, 0.0))


def test_a_surface_around_a_fixed_point_is_told_once():
    model = wrapped(AROUND_A)
    with pytest.warns(
        MusculoWarning, match="path of 'cord' never slides over 'ball': its point 'a' lies inside"
    ) as told:
        muscle_geometry(model, (0.0, 0.0))
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        muscle_geometry(model, (0.3, 0.0))


def test_a_surface_around_a_fixed_point_is_among_the_notes_of_a_file(tmp_path):
    write_osim(wrapped(AROUND_A), tmp_path / "hinge.osim")
    model = read_osim(tmp_path / "hinge.osim")
    (note,) = (str(note) for note in model.notes if "inside" in note.why)
    assert note.startswith("wrap 'ball' of 'cord' (/forceset/cord): its point 'a' lies inside that surface")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        muscle_geometry(model, (0.0, 0.0))


@pytest.mark.parametrize(
    ("range_", "idle"),
    [
        *(((2, 1), True), ((1, 1), True), ((2, 2), True), ((-1, 1), True), ((2, -1), True)),
        *(((-1, -1), False), ((1, 2), False), ((0, 2), False), ((1, 0), False)),
    ],
)
def test_a_range_without_two_points_is_told(range_, idle, tmp_path):
    """OpenSim 4.6 has the straight length for the idle ones as well."""
    model = hinge(A, B, wraps=(PathWrap("w", "ball", range=range_),), surfaces=(SPHERE,))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        muscle_geometry(model, (0.0, 0.0))
    start = (
        f"the path of 'cord' never slides over 'ball': the range {range_[0]} {range_[1]} of this wrap holds no two of "
        "its 2 points; give the numbers of the first and the last point"
    )
    assert [str(one.message).startswith(start) for one in told] == [True] * idle
    write_osim(model, tmp_path / "hinge.osim")
    notes = [str(note) for note in read_osim(tmp_path / "hinge.osim").notes if "'ball'" in note.what]
    assert ["holds no two of its 2 points" in note for note in notes] == [True] * idle


@pytest.mark.parametrize(
    ("points", "surface", "idle"),
    [
        ((A, B), SPHERE, False),
        ((A, B), AROUND_A, True),
        ((A, B), replace(AROUND_A, active=False), False),
        ((A, B), replace(AROUND_A, frame="arm"), False),  # in some poses only
        ((A, replace(A, location=(0.0, 1.0, 0.0)), B), AROUND_A, False),  # the second segment is free
        ((replace(A, location=(0.0, 5.0, 0.0)), A, B), AROUND_A, True),
        ((replace(A, location=(0.0, 5.0, 0.0)), ConditionalPathPoint("a", "ground", A.location), B), AROUND_A, False),
        ((A, B), WrapCylinder("ball", "ground", (0.0, 2.05, 9.0), radius=0.1), True),
        ((A, B), WrapCylinder("ball", "ground", (0.0, 2.05, 9.0), (0.0, 1.57, 0.0), radius=0.1), False),
        ((A, B), WrapEllipsoid("ball", "ground", (0.2, 2.0, 0.0), semi_axes=(0.3, 0.1, 0.1)), True),
        ((A, B), WrapEllipsoid("ball", "ground", (0.2, 2.0, 0.0), semi_axes=(0.1, 0.3, 0.3)), False),
        ((A, B), WrapTorus("ball", "ground", (0.0, 1.95, 0.0), inner_radius=0.02, outer_radius=0.06), True),
        ((A, B), WrapTorus("ball", "ground", (0.0, 1.95, 0.0), inner_radius=0.02, outer_radius=0.2), False),
    ],
)
def test_which_surfaces_are_never_touched(points, surface, idle):
    model = hinge(*points, wraps=(PathWrap("w", "ball"),), surfaces=(surface,))
    assert bool(list(idle_wraps(model))) == idle
