"""Derivatives of moment arms: by hand, by the complex step, by extrapolated differences, and symmetric as Hessians."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.embedding.slopes import embedding_slopes
from musculo.embedding.speed_rates import turning_joints
from musculo.functions import Linear, Polynomial, Sine
from musculo.kernels.paths.path_arms import moment_arms
from musculo.kernels.paths.path_points import ENTRY_ROWS, TAG_ROWS, CurrentPaths, PosedPaths, active_points
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, kinematics, twists
from musculo.kernels.tree.nodes import Motion
from musculo.model import CoordinateCoupler
from musculo.model.force import Muscle
from musculo.model.joints import Axis, BallJoint, CustomJoint, PinJoint, SliderJoint
from musculo.model.model_path import MovingPathPoint, Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.geometry import STATUSES, muscle_geometry
from musculo.muscle.paths.moment_arm_derivatives import moment_arm_derivatives
from support.complex_kernels import ComplexKernels, slope, step
from support.dynamics_models import assert_close, random_q, random_tree
from support.path_models import with_muscles
from support.short_steps import random_poses

# Both sides are exact; only rounding along at most 18 joints remains.
ROUNDING = 1e-12
# Moment arms are good to 1e-13 of their size, and the smallest steps are 1e-4; what is asked for is 1e-7.
DIFFERENCED = 1e-9
# Geodesics on ellipsoids and tori are followed to 1e-11 a step, and their Jacobi fields with them.
SYMMETRIC = 1e-9
# The largest step is short against the pieces of splines and surfaces, the smallest long against rounding.
STEPS = 3.2e-3 / 2.0 ** np.arange(7)
# Where two neighbouring steps agree to this, no contact, point or rule came or went between them.
AGREE = 1e-8
# Polylines have pieces of a fraction of a millimetre: their moment arms have small kinks, where pieces touch down.
POLYLINE = 1e-3
# The same where the polyline itself does not change with the coordinates; 3.5e-9 is measured.
POLYLINE_DIFFERENCED = 2e-8

INSIDE, OTHER_SIDE = STATUSES.index("inside"), STATUSES.index("other side")
REAL = (
    "arm26/arm26.osim",
    "rajagopal_walk/subject_walk_scaled.osim",
    "gait2392/subject01_simbody.osim",
    "mobl_arms/MoBL_ARMS.osim",
    "thoracoscapular_shoulder/ThoracoscapularShoulderModel.osim",
)


def differences(values, x):
    """d(values)/dx (..., n) from central differences with three orders cancelled, and how far two steps disagree.

    `values(x)` takes (poses, n) and gives (poses, ...).
    """
    n = len(x)
    poses = np.concatenate([x + sign * h * np.eye(n) for h in STEPS for sign in (1.0, -1.0)])
    found = values(poses)
    found = found.reshape(len(STEPS), 2, n, *found.shape[1:])
    d = [(up - down) / (2.0 * h) for (up, down), h in zip(found, STEPS, strict=True)]
    for order in (1, 2):
        d = [(4.0**order * b - a) / (4.0**order - 1.0) for a, b in pairwise(d)]
    gaps = np.abs(np.diff(d, axis=0))
    best = gaps.argmin(axis=0)[None]
    estimate, gap = np.take_along_axis(np.array(d[1:]), best, 0)[0], np.take_along_axis(gaps, best, 0)[0]
    return np.moveaxis(estimate, 0, -1), np.moveaxis(gap, 0, -1)


def assert_differences(model, q, share=0.8, tolerance=DIFFERENCED):
    """Against differences wherever these agree with themselves, for at least this share of the numbers."""
    found = moment_arm_derivatives(model, q)
    geometry = muscle_geometry(model, q)
    assert np.array_equal(found.moment_arm, geometry.moment_arm)
    assert np.array_equal(found.status, geometry.status)
    expected, gap = differences(lambda x: muscle_geometry(model, x).moment_arm, q)
    clear = gap < AGREE
    assert clear.mean() >= share
    scale = max(1.0, np.abs(expected[clear]).max())
    worst = np.abs(np.where(clear, found.derivative - expected, 0.0))
    at = np.unravel_index(worst.argmax(), worst.shape)
    assert worst[at] <= tolerance * scale, (found.names[at[0]], found.speed_names[at[1]], found.coordinate_names[at[2]])
    return found


# --- by hand --------------------------------------------------------------------------------------------------------
def hinge(points, wraps=(), surfaces=()) -> Model:
    """An arm that turns about z of ground and slides along it, and one path."""
    joints = (
        PinJoint("elbow", Placement("ground"), Placement("arm"), (Coordinate("turn", range=(-9.0, 9.0)),)),
        SliderJoint(
            "rail",
            Placement("arm", orientation=(0.0, -0.5 * np.pi, 0.0)),
            Placement("block", orientation=(0.0, -0.5 * np.pi, 0.0)),
            (Coordinate("slide"),),
        ),
    )
    path = Path(tuple(points), tuple(wraps))
    bodies = (Body("arm", 1.0), Body("block", 1.0))
    return Model(
        "hinge",
        bodies,
        joints,
        wrap_objects=tuple(surfaces),
        forces=(Muscle("m", "Millard2012EquilibriumMuscle", path=path),),
    )


def test_a_straight_path_has_the_derivative_of_a_triangle():
    """r = 2 cos / l with l^2 = 5 - 4 sin, so dr = -2 sin / l + 4 cos^2 / l^3."""
    model = hinge((PathPoint("a", "ground", (0.0, 2.0, 0.0)), PathPoint("b", "arm", (1.0, 0.0, 0.0))))
    turn = np.array([-0.4, 0.0, 0.9])
    found = moment_arm_derivatives(model, np.column_stack([turn, np.zeros(3)]))
    length = np.sqrt(5.0 - 4.0 * np.sin(turn))
    expected = -2.0 * np.sin(turn) / length + 4.0 * np.cos(turn) ** 2 / length**3
    assert found.derivative.shape == (3, 1, 2, 2)
    assert np.allclose(found.derivative[:, 0, 0, 0], expected, rtol=0, atol=ROUNDING)
    assert not found.derivative[:, 0, 1].any()
    assert not found.derivative[:, 0, :, 1].any()
    assert found.exact.all()


def test_over_a_cylinder_about_the_hinge_the_arm_is_its_radius_and_stays():
    """In the plane nothing changes; along the axis the helix does: l^2 = flat^2 + z^2 with dflat/dturn = -radius."""
    points = PathPoint("a", "ground", (-0.3, 0.02, 0.0)), PathPoint("b", "block", (0.3, 0.02, 0.0))
    model = hinge(points, (PathWrap("w", "c"),), (WrapCylinder("c", "ground", radius=0.1, length=2.0),))
    flat = moment_arm_derivatives(model, (-0.5, 0.0))
    assert abs(flat.moment_arm[0, 0]) == pytest.approx(0.1, abs=ROUNDING)
    assert abs(flat.derivative[0, 0, 0]) < ROUNDING
    g, z = muscle_geometry(model, (-0.5, 0.2)), 0.2
    (length,) = g.length
    width = np.sqrt(length**2 - z**2)
    way = -np.sign(g.moment_arm[0, 0]) * 0.1
    # the Hessian of sqrt(width^2 + z^2) with width linear in the turn
    hessian = np.array([[(way * z) ** 2, -way * width * z], [-way * width * z, width**2]]) / length**3
    found = moment_arm_derivatives(model, (-0.5, 0.2))
    assert np.allclose(found.derivative[0], -hessian, rtol=0, atol=ROUNDING)


def test_a_moving_point_has_the_curvature_of_its_function():
    """A point at x = f(turn) of ground pulled along x by a far point of ground: r = f', dr = f''."""
    points = (
        PathPoint("a", "ground", (5.0, 0.0, 0.0)),
        MovingPathPoint("p", "ground", x=Polynomial((0.2, 0.5, 0.1)), x_coordinate="turn"),
        PathPoint("b", "arm", (0.0, 0.0, 0.0)),
    )
    model = hinge(points)
    found = moment_arm_derivatives(model, (0.7, 0.0))
    # the two pulls cancel while the point is between its neighbours; both pull the same way where it is beyond
    assert found.derivative[0, 0, 0] == pytest.approx(0.0, abs=ROUNDING)
    beyond = hinge((points[2], points[1], PathPoint("c", "ground", (-1.0, 0.0, 0.0))))
    found = moment_arm_derivatives(beyond, (0.7, 0.0))
    assert found.moment_arm[0, 0] == pytest.approx(-2.0 * (2 * 0.2 * 0.7 + 0.5), abs=ROUNDING)
    assert found.derivative[0, 0, 0] == pytest.approx(-2.0 * 0.4, abs=ROUNDING)


# --- straight paths by the complex step -----------------------------------------------------------------------------
def complex_arms(model, q):
    """Moment arms (paths, n_u) of straight paths on one complex lane."""
    k, p = ComplexKernels(model), compiled_paths(model, muscles_only=True)
    lane, W = np.ascontiguousarray(q[:, None]), k._work()
    rest, motion = np.zeros((k.n_u, 1), dtype=complex), np.zeros((MOTION_ROWS * k.n, 1), dtype=complex)
    columns = np.zeros((6 * k.n_u, 1), dtype=complex)
    kinematics(k.tree, k.table, W, Motion(lane, rest, rest), False, motion, 0)
    twists(k.tree, W, motion, columns, 0)
    entries, n = int(p.paths.first_point[-1]), len(p.names)
    C, I = np.zeros((ENTRY_ROWS * entries, 1), dtype=complex), np.zeros((TAG_ROWS * entries, 1), dtype=np.int64)
    counts, S = np.zeros((n, 1), dtype=np.int64), np.zeros((6 * p.paths.slot_node.size, 1), dtype=complex)
    arms = np.zeros((n * k.n_u, 1), dtype=complex)
    x, now = PosedPaths(p.paths, p.table, lane, motion), CurrentPaths(C, I, counts, S)
    active_points(x, now, False, 0)
    moment_arms(x, now, columns, False, arms, 0)
    return arms.reshape(n, k.n_u)


@pytest.mark.parametrize("seed", range(4))
def test_straight_paths_by_the_complex_step(seed):
    """Fixed, conditional and moving points over every kind of joint, quaternions and angular velocities too."""
    rng = np.random.default_rng(seed)
    model = with_muscles(random_tree(rng), rng)
    q = random_q(model, rng)
    found = moment_arm_derivatives(model, q)
    for k, unit in enumerate(np.eye(len(q))):
        expected = slope(complex_arms(model, step(q.astype(complex), unit)))
        assert np.allclose(found.derivative[..., k], expected, rtol=0, atol=ROUNDING), model.coordinate_names[k]


# --- surfaces -------------------------------------------------------------------------------------------------------
SIX = tuple(Coordinate(name, range=(-9.0, 9.0)) for name in ("rx", "ry", "rz", "tx", "ty", "tz"))
FLOATING = CustomJoint(
    "joint",
    Placement("ground"),
    Placement("arm"),
    SIX,
    rotations=(
        Axis((1.0, 0.0, 0.0), Sine(0.9, 1.1, 0.0, 0.0), ("rx",)),
        Axis((0.0, 1.0, 0.0), Linear(1.0, 0.0), ("ry",)),
        Axis((0.0, 0.0, 1.0), Polynomial((0.1, 1.0, 0.0)), ("rz",)),
    ),
    translations=tuple(
        Axis(tuple(axis), Linear(1.0, 0.0), (f"t{c}",)) for axis, c in zip(np.eye(3), "xyz", strict=True)
    ),
)
BALL = BallJoint("joint", Placement("ground", (0.05, 0.0, 0.0)), Placement("arm"), SIX[:3])
SURFACES = {
    "cylinder": WrapCylinder("s", "ground", (0.0, 0.02, 0.0), (0.2, 0.1, 0.0), radius=0.1, length=3.0),
    "cylinder_on_the_arm": WrapCylinder("s", "arm", (0.1, 0.02, 0.0), (0.3, -0.2, 0.0), "+y", radius=0.08, length=3.0),
    "sphere": WrapSphere("s", "ground", (0.01, 0.02, 0.0), radius=0.1),
    "ellipsoid": WrapEllipsoid("s", "ground", (0.0, 0.01, 0.0), (0.3, 0.2, 0.1), semi_axes=(0.13, 0.09, 0.11)),
    "torus": WrapTorus("s", "ground", (0.0, 0.06, 0.0), (0.0, 1.4, 0.0), inner_radius=0.03, outer_radius=0.09),
}


def over(*surfaces, joint=FLOATING, start=(-0.3, 0.01, 0.02), end=(0.3, 0.01, -0.03), moving=False) -> Model:
    """A path from ground to the arm over the surfaces; with `moving` its far end slides on the arm as it turns."""
    last = PathPoint("b", "arm", end)
    if moving:
        last = MovingPathPoint("b", "arm", x=Polynomial((0.05, 0.1, 0.3)), x_coordinate="rz")
    wraps = tuple(PathWrap(f"w{k}", s.name) for k, s in enumerate(surfaces))
    path = Path((PathPoint("a", "ground", start), last), wraps)
    muscle = Muscle("m", "Millard2012EquilibriumMuscle", path=path)
    return Model("over", (Body("arm", 1.0),), (joint,), wrap_objects=surfaces, forces=(muscle,))


def poses(model, seed, count=6, size=0.25):
    rng = np.random.default_rng(seed)
    q = rng.uniform(-size, size, (count, len(model.coordinates)))
    q[:, 3:] *= 0.3
    return q


def touches(model, q):
    return muscle_geometry(model, q).path_points.count > 2


def assert_symmetric(found):
    """-dr/dq is the Hessian of the length where every speed is a coordinate's derivative."""
    d = found.derivative
    skew = np.abs(d - np.swapaxes(d, -1, -2)).max(axis=(-1, -2))
    # where the path is a polyline, or a penalty is paid, differences are taken
    most = np.where(found.exact, SYMMETRIC, POLYLINE_DIFFERENCED)
    assert (skew <= most * max(1.0, np.abs(d).max())).all()


@pytest.mark.parametrize("moving", [False, True])
@pytest.mark.parametrize("name", SURFACES)
def test_one_surface(name, moving):
    model = over(SURFACES[name], moving=moving)
    q = poses(model, 1)
    assert touches(model, q).mean() > 0.5
    for pose in q:
        found = assert_differences(model, pose)
        assert found.exact.all()
        assert_symmetric(found)


@pytest.mark.parametrize("name", SURFACES)
def test_a_ball_joint_whose_speeds_are_no_coordinates_derivatives(name):
    model = over(SURFACES[name], joint=BALL)
    for pose in poses(model, 2, 3):
        assert_differences(model, pose)


def test_several_surfaces_in_a_row():
    """On two bodies, so that every contact moves with its neighbour's."""
    row = (
        WrapEllipsoid("a", "ground", (-0.15, 0.0, 0.0), semi_axes=(0.06, 0.05, 0.07)),
        WrapCylinder("b", "arm", (0.0, 0.02, 0.0), (0.2, 0.1, 0.0), radius=0.05, length=3.0),
        WrapSphere("c", "ground", (0.15, 0.0, 0.01), radius=0.05),
    )
    model = over(*row)
    q = poses(model, 3, 8, size=0.15)
    # a polyline has small kinks
    q = q[muscle_geometry(model, q).status[:, 0] == STATUSES.index("converged")]
    assert len(q) > 2
    assert (muscle_geometry(model, q).path_points.count > 4).any()
    for pose in q:
        assert_symmetric(assert_differences(model, pose))


@pytest.mark.parametrize("name", ["cylinder", "sphere", "ellipsoid"])
@pytest.mark.parametrize("end", [0, 1])
def test_an_end_inside_shrinks_the_surface(name, end):
    """The size follows the end, so its own second derivatives come in: those of depth, and of length by size."""
    inside, surface = (0.02, 0.05, 0.03), SURFACES[name]
    model = over(replace(surface, frame="arm"), start=inside) if end == 0 else over(surface, end=inside)
    q = poses(model, 4, size=0.2)
    g = muscle_geometry(model, q)
    assert ((g.status == INSIDE) & (g.path_points.count > 2)).any()
    for pose in q:
        found = assert_differences(model, pose)
        assert found.exact.all()
        assert_symmetric(found)


def test_a_torus_shrunk_by_an_end_is_differenced_and_says_so():
    tube = WrapTorus("s", "ground", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), inner_radius=0.03, outer_radius=0.09)
    model = over(tube, end=(0.075, 0.0, 0.005), start=(-0.02, 0.02, 0.2))
    q = poses(model, 5, 12, size=0.1)
    found = moment_arm_derivatives(model, q)
    assert not found.exact.all()
    # with a penalty the status does not tell whether an end is inside
    plain = found.status != OTHER_SIDE
    assert plain.sum() > 6
    assert np.array_equal(found.exact[plain], ((found.status != INSIDE) | ~touches(model, q))[plain])
    for pose in q[~found.exact[:, 0]][:3]:
        assert_differences(model, pose, tolerance=1e-7)


# --- penalties, which are differenced ---------------------------------------------------------------------------------
def paid(model, q, most):
    """A penalty shows in moment arms beyond what any taut path has, 1 of a translation: it is 2 m a metre and more."""
    return np.abs(muscle_geometry(model, q).moment_arm).max(axis=(1, 2)) > most


def test_a_penalty_for_the_end_of_a_cylinder():
    surface = WrapCylinder("s", "ground", (0.0, 0.02, 0.0), (0.1, 0.2, 0.0), radius=0.1, length=0.06)
    model = over(surface)
    q = poses(model, 6, 400)
    q = q[muscle_geometry(model, q).penalty[:, 0] > 1e-3][:4]
    assert len(q) == 4
    for pose in q:
        assert not assert_differences(model, pose, tolerance=1e-6).exact.all()


def test_a_penalty_for_the_other_way_round():
    """Held by its quadrant a path winds up to half a turn beyond; close to that it pays for the shorter way."""
    surface = WrapCylinder("s", "ground", (0.0, 0.02, 0.0), (0.0, 0.0, 0.0), "+y", radius=0.1, length=3.0)
    model = over(surface)
    q = poses(model, 7, 60, size=0.05)
    q[:, 2] = np.linspace(2.2, 3.4, 60)
    q = q[paid(model, q, 2.0)][:4]
    assert len(q) == 4
    for pose in q:
        assert not assert_differences(model, pose, tolerance=1e-6).exact.all()


# --- real models ----------------------------------------------------------------------------------------------------
def inner_poses(model, rng, count):
    """Every coordinate somewhere inside its range, the default pose not among them: it likes edges of ranges."""
    low, high = np.array([model.coordinate(name).range for name in model.coordinate_names]).T
    low, high = np.maximum(low, -1.5), np.minimum(high, 1.5)
    return low + (high - low) * rng.uniform(0.1, 0.9, (count, len(low)))


@pytest.mark.parametrize("name", REAL)
def test_real_models(name, data_folder):
    model = musculo.read_osim(data_folder / name)
    for q in inner_poses(model, np.random.default_rng(3), 2):
        # EDCR of MoBL-ARMS is a polyline through a narrow ring
        polyline = muscle_geometry(model, q).status == STATUSES.index("overlapped")
        found = assert_differences(model, q, 0.99, POLYLINE_DIFFERENCED if polyline.any() else DIFFERENCED)
        assert (found.exact | polyline | (found.status == OTHER_SIDE)).all()
        if not list(turning_joints(model)):
            assert_symmetric(found)


def test_over_surfaces_that_overlap_differences_are_taken(data_folder):
    """The path is a polyline there; `exact` says so."""
    model = musculo.read_osim(data_folder / "mobl_arms/MoBL_ARMS.osim")
    q = random_poses(model, 400, np.random.default_rng(6), 0.9)
    polylines = muscle_geometry(model, q).status == STATUSES.index("overlapped")
    f = int(np.flatnonzero(polylines.any(axis=1))[0])
    found = moment_arm_derivatives(model, q[f])
    assert (found.exact == ~polylines[f]).all()
    step = 2e-3 * np.eye(q.shape[1])
    up, down = (muscle_geometry(model, q[f] + sign * step).moment_arm for sign in (1, -1))
    expected = np.moveaxis(up - down, 0, -1) / 4e-3
    k = polylines[f]
    assert np.abs(found.derivative[k] - expected[k]).max() < POLYLINE * max(1.0, np.abs(expected[k]).max())


# --- independent coordinates ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", [REAL[1], REAL[3]])
def test_independent_coordinates_of_real_models(name, data_folder):
    """The patella and the shoulder girdle follow: d(r J)/dz along the couplings, a Hessian again."""
    model = musculo.read_osim(data_folder / name)
    e, rng = musculo.embedding_of(model), np.random.default_rng(4)
    low, high = np.array([model.coordinate(n).range for n in e.coordinate_names]).T
    low, high = np.maximum(low, -1.0), np.minimum(high, 1.0)
    z = low + (high - low) * rng.uniform(0.2, 0.8, len(low))
    found = moment_arm_derivatives(model, e.coordinates(z))
    assert found.independent_coordinate_names == found.independent_speed_names == e.speed_names
    d = found.independent
    # a polyline (EDCR of MoBL-ARMS, through a narrow ring) has differences
    exact = found.exact[:, None, None]
    skew = np.abs(d - np.swapaxes(d, -1, -2))
    assert np.where(exact, skew, 0.0).max() <= SYMMETRIC * max(1.0, np.abs(d).max())
    assert skew.max() <= POLYLINE_DIFFERENCED
    arms = muscle_geometry(model, e.coordinates(z)).moment_arm_independent
    assert d.shape == (*arms.shape, len(z))
    expected, gap = differences(lambda x: muscle_geometry(model, e.coordinates(x)).moment_arm_independent, z)
    clear = gap < AGREE
    assert clear.mean() > 0.98
    assert np.abs(np.where(clear & exact, d - expected, 0.0)).max() <= DIFFERENCED
    assert np.abs(np.where(clear, d - expected, 0.0)).max() <= POLYLINE_DIFFERENCED


@pytest.mark.parametrize("coupled", ["into_the_ball", "out_of_the_ball", "quaternion"])
def test_slopes_of_the_embedding(coupled):
    """J changes where a ball's angle follows another, where another follows it, and with a quaternion."""
    function = Polynomial((0.4, 0.5, 0.1))
    ball = BallJoint("ball", Placement("ground"), Placement("a"), tuple(Coordinate(f"b{k}") for k in range(3)))
    pins = [
        PinJoint(f"pin{k}", Placement(("a", "b")[k], (0.1, 0.0, 0.0)), Placement(("b", "c")[k]), (Coordinate(f"p{k}"),))
        for k in range(2)
    ]
    dependent, independent = ("b1", "p0") if coupled == "into_the_ball" else ("p0", "b1" if coupled[0] == "o" else "p1")
    rule = CoordinateCoupler("c", dependent=dependent, independents=(independent,), function=function)
    bodies = tuple(Body(name, 1.0) for name in "abc")
    model = Model("ball", bodies, (ball, *pins), constraints=(rule,))
    if coupled == "quaternion":
        model = musculo.model.with_quaternions(model)
    e, rng = musculo.embedding_of(model), np.random.default_rng(5)
    z = rng.uniform(0.3, 0.6, len(e.coordinate_names))
    G, rows, bent = embedding_slopes(e, e.coordinates(z))
    expected, gap = differences(e.coordinates, z)
    assert gap.max() < AGREE
    assert_close(G, expected, DIFFERENCED, "dq/dz")
    expected, gap = differences(lambda x: e.jacobian(e.coordinates(x)), z)
    assert gap.max() < AGREE
    expected[rows] -= bent  # nothing is left of these rows, and the others do not change
    assert np.abs(expected).max() <= DIFFERENCED


# --- frames ---------------------------------------------------------------------------------------------------------
def test_frames_are_independent_of_each_other():
    """A batch, its frames one by one, and its frames in another order give the same numbers to the last bit."""
    model = over(SURFACES["ellipsoid"])
    q = poses(model, 11, 5)
    found = moment_arm_derivatives(model, q)
    assert np.array_equal(moment_arm_derivatives(model, q[::-1]).derivative[::-1], found.derivative)
    one = moment_arm_derivatives(model, q[2])
    assert np.array_equal(one.derivative, found.derivative[2])
    assert one.moment_arm.shape == (1, 6)
    assert one.exact.shape == one.status.shape == (1,)
    with pytest.raises(musculo.errors.UnknownName):
        one.index("n")
