"""Paths that are functions of coordinates: polynomials by hand, other functions, and models that have both kinds."""

from __future__ import annotations

from dataclasses import replace
from math import comb

import numpy as np
import pytest

from musculo import (
    Body,
    Coordinate,
    Model,
    PinJoint,
    Placement,
    joint_loads,
    kinematics,
    read_osim,
    scale_model,
    write_osim,
)
from musculo.analyses.equations_of_motion import equations_of_motion
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.analyses.visible_motion import visible_motion
from musculo.errors import InvalidModel, UnknownName, Unsupported
from musculo.functions import Linear, MultivariatePolynomial, Polynomial, Scaled, SimmSpline, Sine
from musculo.functions.unsupported_function import UnsupportedFunction
from musculo.kernels.paths.fitted_path import fitted_paths
from musculo.model.force import Muscle
from musculo.model.function_path import FunctionPath
from musculo.model.joints import Axis, BallJoint, CustomJoint
from musculo.model.model_path import Path
from musculo.model.path_force import PathSpring
from musculo.muscle.path_loads.path_wrenches import path_wrenches
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import muscle_geometry, path_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives
from support.complex_kernels import slope, step
from unit.test_path_points import BODIES, A, B, C, hinge

# Sums of some ten products of numbers of order one.
ROUNDING = 1e-14
Q = np.array([[0.4, -0.3], [-1.1, 0.7], [0.0, 0.0]])
U = np.array([[0.5, -2.0], [1.0, 0.3], [0.1, 0.2]])
# l = 0.3 + 0.02 y + 0.01 y^2 - 0.03 x + 0.05 x y + 0.004 x^2
QUADRATIC = MultivariatePolynomial(2, 2, (0.3, 0.02, 0.01, -0.03, 0.05, 0.004))
KINDS = (
    (("turn", "slide"), QUADRATIC),
    (("slide", "turn"), MultivariatePolynomial(2, 3, tuple(np.linspace(-0.1, 0.2, 10)))),
    (("turn",), Polynomial((0.1, -0.2, 0.03, 0.5))),
    (("turn",), SimmSpline((-2.0, -0.5, 0.5, 2.0), (0.2, 0.25, 0.3, 0.1))),
    (("slide",), Sine(0.1, 2.0, 0.3, 0.5)),
    (("slide",), Linear(0.3, 0.2)),
    (("turn", "slide"), Scaled(QUADRATIC, -2.0)),
)


# Of one coordinate.
ARMS = (Linear(0.2, 0.1), Polynomial((0.3, 0.0, 0.4)))


def muscle(name: str, path: Path) -> Muscle:
    return Muscle(name, "Thelen2003Muscle", path=path)


def model_of(*paths: Path) -> Model:
    return hinge(A, B).replace(forces=tuple(muscle(f"m{k}", path) for k, path in enumerate(paths)))


def function_path(coordinates, function, **more) -> FunctionPath:
    return FunctionPath(coordinates=tuple(coordinates), length_function=function, **more)


def test_a_polynomial_by_hand():
    g = muscle_geometry(model_of(function_path(("turn", "slide"), QUADRATIC)), Q, U)
    x, y = Q.T
    assert np.allclose(
        g.length[:, 0], 0.3 + 0.02 * y + 0.01 * y**2 - 0.03 * x + 0.05 * x * y + 0.004 * x**2, 0, ROUNDING
    )
    arms = np.column_stack([0.03 - 0.05 * y - 0.008 * x, -0.02 - 0.02 * y - 0.05 * x])
    assert np.allclose(g.moment_arm[:, 0], arms, rtol=0, atol=ROUNDING)
    assert np.allclose(g.speed[:, 0], -(arms * U).sum(axis=1), rtol=0, atol=ROUNDING)
    assert not g.status.any()


def test_every_kind_of_function_beside_each_other():
    """Each path is its function, whatever others there are and in whichever order its coordinates come."""
    model = model_of(*(function_path(*kind) for kind in KINDS))
    g = muscle_geometry(model, Q)
    for k, (names, function) in enumerate(KINDS):
        columns = [model.coordinate_index(name) for name in names]
        x = [Q[:, column] for column in columns]
        slopes = function.derivative(*x)[:, None] if len(x) == 1 else function.gradient(*x)
        expected = np.zeros((len(Q), 2))
        expected[:, columns] = -slopes
        assert np.allclose(g.length[:, k], function(*x), rtol=0, atol=ROUNDING)
        assert np.allclose(g.moment_arm[:, k], expected, rtol=0, atol=10 * ROUNDING)


def test_slopes_are_those_of_the_complex_step():
    """The kernel on a complex lane; many polynomials, so that blocks are full, of degrees 0 to 7."""
    random = np.random.default_rng(3)
    paths = [
        function_path(
            ("turn", "slide"), MultivariatePolynomial(2, d, tuple(random.normal(size=(d + 1) * (d + 2) // 2)))
        )
        for d in (7, 0, 3, 5, 1, 4, 2, 6, 3, 3, 2)
    ]
    paths += [function_path(*kind) for kind in KINDS]
    model = model_of(*paths)
    fitted, table = compiled_paths(model, muscles_only=True).functions.exact
    n, n_u = len(paths), 2
    q = np.array([0.7, -0.6])
    real = muscle_geometry(model, q)
    for j in range(n_u):
        z = step(q, np.eye(2)[j])[:, None]
        M = np.zeros((fitted.rows[0], 1), dtype=complex)
        length, arms = np.zeros((n, 1), dtype=complex), np.zeros((n * n_u, 1), dtype=complex)
        fitted_paths(fitted, table, z, n_u, M, length, arms, 0)
        assert np.allclose(-slope(length[:, 0]), real.moment_arm[:, j], rtol=1e-12, atol=1e-12)
        assert np.allclose(length[:, 0].real, real.length, rtol=1e-12, atol=1e-12)
    slopes = moment_arm_derivatives(model, q).derivative
    for j in range(n_u):
        z = step(q, np.eye(2)[j])[:, None]
        fitted_paths(fitted, table, z, n_u, M, length, arms, 0)
        assert np.allclose(slope(arms.reshape(n, n_u)), slopes[:, :, j], rtol=1e-11, atol=1e-11)


def test_one_pose_leaves_other_rows_as_they_are():
    """Paths of both kinds stand in one array; the kernel writes what is its own."""
    cord = hinge(A, B).muscles[0].path
    model = model_of(cord, function_path(("slide",), Linear(0.3, 0.2)), cord)
    fitted, table = compiled_paths(model, muscles_only=True).functions.exact
    length, arms = np.full((3, 1), 7.0), np.full((6, 1), 8.0)
    M = np.zeros((fitted.rows[0], 1))
    fitted_paths(fitted, table, np.array([[0.4], [0.5]]), 2, M, length, arms, 0)
    assert length[:, 0] == pytest.approx([7.0, 0.35, 7.0], abs=ROUNDING)
    assert arms[:, 0] == pytest.approx([8.0, 8.0, 8.0, -0.3, 8.0, 8.0], abs=ROUNDING)


def test_seven_coordinates(tmp_path):
    """OpenSim knows no limit to the variables of a polynomial; PolynomialPathFitter's speeds have up to twelve."""
    chain = seven_hinges()
    random = np.random.default_rng(8)
    function = MultivariatePolynomial(7, 3, tuple(random.normal(size=comb(10, 3))))
    speed = MultivariatePolynomial(14, 1, tuple(random.normal(size=15)))
    path = function_path(chain.coordinate_names, function, lengthening_speed_function=speed)
    model = chain.replace(
        forces=(muscle("m", path), muscle("times", function_path(chain.coordinate_names[::-1], function)))
    )
    q, u = random.uniform(-1.0, 1.0, (4, 7)), random.normal(size=(4, 7))
    g = muscle_geometry(model, q, u, like="opensim")
    assert np.allclose(g.length[:, 0], function(*q.T), rtol=0, atol=1e-12)
    assert np.allclose(g.length[:, 1], function(*q.T[::-1]), rtol=0, atol=1e-12)
    assert np.allclose(g.moment_arm[:, 0], -function.gradient(*q.T), rtol=0, atol=1e-12)
    assert np.allclose(g.speed[:, 0], speed(*q.T, *u.T), rtol=0, atol=1e-12)
    assert write_osim(model, tmp_path / "seven.osim") == ()
    assert read_osim(tmp_path / "seven.osim").muscle("m").path == path


def seven_hinges() -> Model:
    bodies = tuple(Body(f"b{k}", 1.0) for k in range(7))
    joints = tuple(
        PinJoint(f"j{k}", Placement(f"b{k - 1}" if k else "ground"), Placement(f"b{k}"), (Coordinate(f"q{k}"),))
        for k in range(7)
    )
    return Model("seven", bodies, joints)


def test_a_joint_has_six_coordinates_at_most():
    """Kernels of joints have room for no more arguments of a function."""
    names = ("a",) * 7
    function = MultivariatePolynomial(7, 1, (0.0, *(1.0,) * 7))
    still = CustomJoint("j", Placement("ground"), Placement("b0"), (Coordinate("a"),))
    joint = replace(still, translations=(Axis((1.0, 0.0, 0.0), function, names), *still.translations[1:]))
    with pytest.raises(InvalidModel, match="a function of 7 coordinates moves it"):
        kinematics(Model("seven", (Body("b0", 1.0),), (joint,)), [0.1])


@pytest.mark.parametrize("like", [None, "opensim"])
def test_paths_with_points_are_the_same_beside_functions(like):
    other = function_path(("turn", "slide"), QUADRATIC)
    cords = [hinge(A, B).muscles[0].path, hinge(A, C).muscles[0].path]
    alone = muscle_geometry(model_of(*cords), Q, U, like=like)
    both = muscle_geometry(model_of(other, cords[0], other, cords[1], other), Q, U, like=like)
    functions = muscle_geometry(model_of(other), Q, U, like=like)
    for name in ("length", "speed", "moment_arm", "status"):
        assert (getattr(both, name)[:, [1, 3]] == getattr(alone, name)).all()
        assert (getattr(both, name)[:, [0, 2, 4]] == getattr(functions, name)).all()
    assert both.path_points.of("m1")[0].shape == (2, 3)
    assert both.path_points.of("m0")[0].shape == (0, 3)
    assert not both.penalty.any()


def test_bodies_feel_nothing_of_a_function():
    """The wrenches are those of the other path; the generalized forces are those of both."""
    model = model_of(function_path(("turn", "slide"), QUADRATIC), hinge(A, C).muscles[0].path)
    w, g = path_wrenches(model, Q), muscle_geometry(model, Q)
    assert set(w.row_path.tolist()) == {1}
    assert np.allclose(w.moment_arm, g.moment_arm, rtol=0, atol=ROUNDING)
    assert (w.length == g.length).all()


def test_equations_of_motion_have_its_moment_arms():
    model = model_of(function_path(("turn", "slide"), QUADRATIC), hinge(A, C).muscles[0].path)
    R = equations_of_motion(model, Q, U).R
    assert np.allclose(R, np.swapaxes(muscle_geometry(model, Q).moment_arm_independent, 1, 2), rtol=0, atol=1e-12)


def test_stated_moment_arms_and_speeds_count_like_opensim():
    first = tuple(MultivariatePolynomial(2, 1, c) for c in ((0.05, 0.01, 0.02), (0.07, 0.03, 0.1)))
    speed = MultivariatePolynomial(4, 1, (0.1, 4.0, 3.0, 2.0, 1.0))
    path = function_path(("turn", "slide"), QUADRATIC, moment_arm_functions=first)
    model = model_of(
        path,
        replace(path, lengthening_speed_function=speed),
        function_path(("turn",), ARMS[1], moment_arm_functions=ARMS[:1]),
    )
    g, o = muscle_geometry(model, Q, U), muscle_geometry(model, Q, U, like="opensim")
    x, y = Q.T
    expected = np.column_stack([0.05 + 0.01 * y + 0.02 * x, 0.07 + 0.03 * y + 0.1 * x])
    assert (g.length == o.length).all()
    assert np.allclose(o.moment_arm[:, 0], expected, rtol=0, atol=ROUNDING)
    assert np.allclose(o.speed[:, 0], -(expected * U).sum(axis=1), rtol=0, atol=ROUNDING)
    assert np.allclose(o.speed[:, 1], 0.1 + x + 2.0 * y + 3.0 * U[:, 0] + 4.0 * U[:, 1], rtol=0, atol=ROUNDING)
    assert np.allclose(o.moment_arm[:, 2, 0], 0.1 + 0.2 * x, rtol=0, atol=ROUNDING)
    assert np.allclose(g.moment_arm[:, 0], -QUADRATIC.gradient(x, y), rtol=0, atol=ROUNDING)
    assert np.allclose(g.speed, -np.einsum("fpu,fu->fp", g.moment_arm, U), rtol=0, atol=ROUNDING)


def test_a_muscle_is_analyzed_with_it():
    length = Polynomial((0.02, -0.03, 0.35))
    found = muscle_analysis(model_of(function_path(("turn",), length)), Q, U, 0.3)
    assert np.allclose(found.length[:, 0], length(Q[:, 0]), rtol=0, atol=ROUNDING)
    assert np.allclose(found.moment[:, 0, 0], -length.derivative(Q[:, 0]) * found.tendon_force[:, 0], rtol=1e-13)


@pytest.mark.parametrize("wrapping", ["geodesic", "straight"])
def test_there_is_nothing_to_draw_and_a_note_says_so(wrapping):
    model = model_of(function_path(("turn", "slide"), QUADRATIC), hinge(A, B).muscles[0].path)
    seen = visible_motion(model, Q, wrapping)
    assert seen.points.names == ("m1",)
    assert seen.lengths.shape == (3, 1)
    assert any("m0 is a function of coordinates" in note for note in seen.notes)


def test_it_goes_through_a_file(tmp_path):
    path = function_path(
        ("slide", "turn"),
        QUADRATIC,
        moment_arm_functions=(MultivariatePolynomial(2, 2, tuple(range(6))), Scaled(QUADRATIC, 3.0)),
        lengthening_speed_function=MultivariatePolynomial(4, 2, tuple(np.linspace(0.1, 1.0, 15))),
    )
    model = model_of(path, function_path(("turn",), SimmSpline((-2.0, -0.5, 0.5, 2.0), (0.2, 0.25, 0.3, 0.1))))
    assert write_osim(model, tmp_path / "a.osim") == ()
    again = read_osim(tmp_path / "a.osim")
    assert [m.path for m in again.muscles] == [m.path for m in model.muscles]
    assert any("like='opensim'" in note.why for note in again.notes)
    other = muscle_geometry(again, Q, U, like="opensim")
    assert (other.speed == muscle_geometry(model, Q, U, like="opensim").speed).all()


def test_a_spring_may_run_along_it():
    spring = PathSpring("s", path=function_path(("slide",), Linear(0.3, 0.2)), stiffness=10.0)
    g = path_geometry(hinge(A, B).replace(forces=(spring,)), Q)
    assert np.allclose(g.length[:, 0], 0.3 * Q[:, 1] + 0.2, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"coordinates": ()}, "its coordinates are"),
        ({"coordinates": ("turn", "turn")}, "named twice"),
        ({"coordinates": ("turn",)}, "takes 2 arguments; it needs 1"),
        ({"moment_arm_functions": (QUADRATIC,)}, "1 moment arm functions and 2 coordinates"),
        ({"moment_arm_functions": (QUADRATIC, Linear())}, "moment arm over 'slide' takes 1 arguments; it needs 2"),
        ({"lengthening_speed_function": QUADRATIC}, "lengthening speed takes 2 arguments; it needs 4"),
        ({"length_function": 3.0}, "its length is 3.0"),
        ({"points": (A, B)}, "it has no points"),
    ],
)
def test_what_is_no_function_path_is_refused(change, words):
    with pytest.raises(InvalidModel) as caught:
        replace(function_path(("turn", "slide"), QUADRATIC), **change)
    assert words in str(caught.value)


def test_what_cannot_be_computed_is_refused_by_name():
    with pytest.raises(UnknownName, match="'bend'"):
        muscle_geometry(model_of(function_path(("bend",), Linear())), Q)
    with pytest.raises(Unsupported, match="path of 'm0' has a function of kind <Odd>"):
        muscle_geometry(model_of(function_path(("turn",), UnsupportedFunction("Odd"))), Q)


def test_an_angle_of_a_ball_has_no_speed_to_pull_on():
    """Its speeds are an angular velocity; with like="opensim" the two are mixed up, as OpenSim does."""
    ball = BallJoint("ball", Placement("ground"), Placement("arm"), tuple(Coordinate(n) for n in ("turn", "y", "z")))
    model = Model("ball", BODIES[:1], (ball,), forces=(muscle("m", function_path(("turn",), Linear(0.3, 0.2))),))
    with pytest.raises(Unsupported, match=r"path of 'm' \(moved by 'turn'\)"):
        muscle_geometry(model, np.zeros(3))
    assert muscle_geometry(model, np.zeros(3), like="opensim").moment_arm[0].tolist() == [-0.3, 0.0, 0.0]


def test_loads_of_joints_lack_it_and_say_so():
    """It gives the load that its generalized force makes, as an actuator of the coordinate does, and no compression."""
    model = model_of(function_path(("turn",), Linear(0.3, 0.2)))
    still = np.zeros((3, 2))
    loads = joint_loads(model, Q, still, still, muscle_forces={"m0": 50.0})
    assert any("'m0' is a function of coordinates" in note for note in loads.notes)
    none = joint_loads(model, Q, still, still)
    assert not none.notes
    assert np.allclose(loads.force, none.force, rtol=0, atol=1e-12)


def test_it_is_not_scaled_and_a_note_says_so():
    """As in OpenSim: neither the function nor fibers and tendons change with the bones."""
    path = function_path(("turn",), Linear(0.3, 0.2))
    model = model_of(path, hinge(A, B).muscles[0].path)
    scaled = scale_model(model, {"arm": 2.0})
    assert scaled.muscle("m0") == model.muscle("m0")
    assert scaled.muscle("m1").optimal_fiber_length != model.muscle("m1").optimal_fiber_length
    (note,) = (n for n in scaled.notes if "function of coordinates" in n.why)
    assert note.where == "/forceset/m0"
