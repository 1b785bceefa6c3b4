"""Each joint against its closed form, in Seth2010 where the paper has one."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.errors import InvalidInput, InvalidModel
from musculo.functions import Linear, SimmSpline
from musculo.model.joints import (
    Axis,
    BallJoint,
    CustomJoint,
    CylindricalJoint,
    EllipsoidJoint,
    FreeJoint,
    GimbalJoint,
    PinJoint,
    PlanarJoint,
    ScapulothoracicJoint,
    ScrewJoint,
    SliderJoint,
    UniversalJoint,
    WeldJoint,
)
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import axis_rotation, from_xyz
from support.dynamics_models import KINDS, assert_allclose, assert_close, one_joint, random_state

# A handful of products of sines in float64.
ROUNDING = 1e-14
# Deeper formulas.
SOME_ROUNDING = 1e-12

X, Y, Z = np.eye(3)
ROOT = (Placement("ground"), Placement("body"))


def model_of(joint) -> Model:
    return Model("one joint", (Body("body", 1.3, (0.1, -0.2, 0.05), (0.4, 0.5, 0.6, 0.01, 0.02, -0.03)),), (joint,))


def names(*which: str) -> tuple[Coordinate, ...]:
    return tuple(map(Coordinate, which))


def mobilizer(joint, q, u=None):
    """R, p, H (6, n) and Hdot u (6,) of M in F (eq. 1-3)."""
    model = model_of(joint)
    u = np.zeros(len(model.speed_names)) if u is None else np.asarray(u, dtype=float)
    motion = musculo.kinematics(model, q, u, np.zeros_like(u))
    bias = np.concatenate([motion.angular_acceleration("body"), motion.acceleration("body")])
    return *motion.pose("body"), motion.frame_jacobian("body"), bias


def test_weld():
    R, p, H, bias = mobilizer(WeldJoint("j", *ROOT), [])
    assert_allclose(R, np.eye(3))
    assert_allclose(p, 0)
    assert H.shape == (6, 0)
    assert_allclose(bias, 0)


def test_pin():
    R, p, H, bias = mobilizer(PinJoint("j", *ROOT, names("a")), [0.7], [2.0])
    assert_allclose(R, axis_rotation(Z, 0.7), atol=ROUNDING)
    assert_allclose(p, 0)
    assert_allclose(H[:, 0], [0, 0, 1, 0, 0, 0], atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)


def test_slider():
    R, p, H, bias = mobilizer(SliderJoint("j", *ROOT, names("x")), [0.7], [2.0])
    assert_allclose(R, np.eye(3))
    assert_allclose(p, [0.7, 0, 0], atol=ROUNDING)
    assert_allclose(H[:, 0], [0, 0, 0, 1, 0, 0], atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)


def test_screw():
    """Seth2010 eq. 5-7."""
    q, s = 0.9, 0.3
    R, p, H, bias = mobilizer(ScrewJoint("j", *ROOT, names("a"), pitch=s), [q], [2.0])
    c, sn = math.cos(q), math.sin(q)
    assert_allclose(R, [[c, -sn, 0], [sn, c, 0], [0, 0, 1]], atol=ROUNDING)
    assert_allclose(p, [0, 0, s * q], atol=ROUNDING)
    assert_allclose(H[:, 0], [0, 0, 1, 0, 0, s], atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)


def test_universal_and_gimbal():
    """Rotations in a row about body-fixed axes; W = [a1, R1 a2, R1 R2 a3] (eq. 20), Wdot by eq. 28."""
    a, b, c = 0.4, -0.6, 1.1
    u = np.array([0.7, -0.5, 0.9])
    R1, R2 = axis_rotation(X, a), axis_rotation(Y, b)
    W = np.column_stack([X, R1 @ Y, R1 @ R2 @ Z])
    spin = [np.zeros(3), W[:, 0] * u[0], W[:, 0] * u[0] + W[:, 1] * u[1]]
    Wdot = np.column_stack([np.cross(spin[k], W[:, k]) for k in range(3)])
    for joint, n in ((UniversalJoint, 2), (GimbalJoint, 3)):
        R, p, H, bias = mobilizer(joint("j", *ROOT, names("a", "b", "c")[:n]), [a, b, c][:n], u[:n])
        assert_allclose(R, from_xyz([a, b, c if n == 3 else 0.0]), atol=ROUNDING)
        assert_allclose(p, 0, atol=ROUNDING)
        assert_allclose(H[:3], W[:, :n], atol=ROUNDING)
        assert_allclose(H[3:], 0, atol=ROUNDING)
        assert_allclose(bias[:3], Wdot[:, :n] @ u[:n], atol=ROUNDING)


def test_planar_and_cylindrical():
    """Translations are along axes of the parent frame, whatever the rotation."""
    R, p, H, bias = mobilizer(PlanarJoint("j", *ROOT, names("a", "x", "y")), [0.7, 0.2, -0.3], [1.0, 2.0, 3.0])
    assert_allclose(R, axis_rotation(Z, 0.7), atol=ROUNDING)
    assert_allclose(p, [0.2, -0.3, 0], atol=ROUNDING)
    assert_allclose(H, np.column_stack([[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]), atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)
    R, p, H, bias = mobilizer(CylindricalJoint("j", *ROOT, names("a", "z")), [0.7, 0.2], [1.0, 2.0])
    assert_allclose(R, axis_rotation(Z, 0.7), atol=ROUNDING)
    assert_allclose(p, [0, 0, 0.2], atol=ROUNDING)
    assert_allclose(H, np.column_stack([[0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1]]), atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)


def test_ball():
    """Seth2010 eq. 8-10. H = 1, Hdot = 0; N in the parent frame.

    Departs: the N printed as eq. 10 takes the angular velocity in the body frame; with N_B that matrix, the speeds of
    eq. 9 (in the parent) give qdot = N_B R^T u.
    """
    q, u = np.array([0.4, -0.6, 1.1]), np.array([0.7, -0.5, 0.9])
    joint = BallJoint("j", *ROOT, names("a", "b", "c"))
    R, p, H, bias = mobilizer(joint, q, u)
    assert_allclose(R, from_xyz(q), atol=ROUNDING)
    assert_allclose(p, 0)
    assert_allclose(H, np.eye(6)[:, :3], atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)
    _, t2, t3 = q
    c2, s2, c3, s3 = math.cos(t2), math.sin(t2), math.cos(t3), math.sin(t3)
    N_B = np.array([[c3 / c2, -s3 / c2, 0], [s3, c3, 0], [-s2 * c3 / c2, s2 * s3 / c2, 1]])
    assert_allclose(musculo.coordinate_rates(model_of(joint), q, u), N_B @ R.T @ u, atol=ROUNDING)


def test_free():
    """A ball's rotation, then translations in the parent frame with v as speeds."""
    q, u = np.array([0.4, -0.6, 1.1, 0.1, 0.2, 0.3]), np.arange(1.0, 7.0)
    joint = FreeJoint("j", *ROOT, names(*"abcxyz"))
    R, p, H, bias = mobilizer(joint, q, u)
    assert_allclose(R, from_xyz(q[:3]), atol=ROUNDING)
    assert_allclose(p, q[3:], atol=ROUNDING)
    assert_allclose(H, np.eye(6), atol=ROUNDING)
    assert_allclose(bias, 0, atol=ROUNDING)
    assert_allclose(musculo.coordinate_rates(model_of(joint), q, u)[3:], u[3:], atol=ROUNDING)


@pytest.mark.parametrize("kind", ["ball", "free"])
def test_quaternions_turn_by_half_their_product_with_the_angular_velocity(kind):
    """qdot = (0, omega) q / 2 with omega in the parent frame; the length of q does not change."""
    extra = [] if kind == "ball" else [0.1, 0.2, 0.3]
    make = BallJoint if kind == "ball" else FreeJoint
    q = np.array([0.5, -0.5, 0.1, math.sqrt(1 - 0.51), *extra])
    joint = make("j", *ROOT, names(*"wabcxyz"[: len(q)]), quaternion=True)
    model = model_of(joint)
    assert model.speed_names[:3] == ("j_wx", "j_wy", "j_wz")
    u = np.array([0.3, -0.7, 0.2, *extra])
    w, v = q[0], q[1:4]
    product = np.array([-u[:3] @ v, *(w * u[:3] + np.cross(u[:3], v))])
    rates = musculo.coordinate_rates(model, q, u)
    assert_allclose(rates[:4], product / 2, atol=ROUNDING)
    assert abs(rates[:4] @ q[:4]) < ROUNDING
    assert_allclose(rates[4:], u[3:])


def ellipsoid(radii, q, u):
    """Closed form of eq. 11-14: R, p, H, Hdot u."""
    t1, t2, _ = q
    n = np.array([math.sin(t2), -math.sin(t1) * math.cos(t2), math.cos(t1) * math.cos(t2)])
    ndot = np.cross(u, n)
    a, b, c = radii

    def linear(n):
        return np.array([[0, -b * n[2], c * n[1]], [a * n[2], 0, -c * n[0]], [-a * n[1], b * n[0], 0]]).T

    return (
        from_xyz(q),
        np.array(radii) * n,
        np.vstack([np.eye(3), linear(n)]),
        np.concatenate([np.zeros(3), linear(ndot) @ u]),
    )


@pytest.mark.parametrize("radii", [(0.1, 0.2, 0.3), (0.25, 0.25, 0.25)])
def test_ellipsoid(radii):
    """Seth2010 eq. 11-14. The frame satisfies p = diag(a, b, c) R e_z.

    Departs: n = R e_z is the surface's normal only for a sphere; the normal is diag(1/a, 1/b, 1/c) n made unit.
    """
    q, u = np.array([0.4, -0.6, 1.1]), np.array([0.7, -0.5, 0.9])
    actual = mobilizer(EllipsoidJoint("j", *ROOT, names("a", "b", "c"), radii=radii), q, u)
    for got, expected in zip(actual, ellipsoid(radii, q, u), strict=True):
        assert_allclose(got, expected, atol=ROUNDING)
    R, p = actual[:2]
    assert_allclose(np.sum((p / radii) ** 2), 1.0, atol=ROUNDING)  # on the surface
    normal = p / np.array(radii) ** 2
    along = np.linalg.norm(np.cross(normal / np.linalg.norm(normal), R[:, 2]))
    assert along < ROUNDING if len(set(radii)) == 1 else along > 0.1


def test_scapulothoracic():
    """A E A^-1 T(w) R(d, winging) T(-w): the ellipsoid turned by 90 degrees, then winging in its plane."""
    radii, origin, direction = (0.1, 0.2, 0.3), (0.03, -0.05), 0.4
    joint = ScapulothoracicJoint(
        "j", *ROOT, names("a", "b", "c", "w"), radii=radii, winging_origin=origin, winging_direction=direction
    )
    q, u = np.array([0.4, -0.6, 1.1, 0.3]), np.array([0.7, -0.5, 0.9, 0.0])
    R_E, p_E, H_E, _ = ellipsoid((radii[1], radii[0], radii[2]), q[:3], u[:3])
    A = Pose(axis_rotation(Z, math.pi / 2), np.zeros(3))
    shift = Pose(np.eye(3), np.array([*origin, 0.0]))
    wing = Pose(axis_rotation([-math.sin(direction), math.cos(direction), 0.0], q[3]), np.zeros(3))
    expected = A @ Pose(R_E, p_E) @ A.inverse() @ shift @ wing @ shift.inverse()
    R, p, H, _ = mobilizer(joint, q, u)
    assert_allclose(R, expected.R, atol=SOME_ROUNDING)
    assert_allclose(p, expected.p, atol=SOME_ROUNDING)
    # the first three speeds are the angular velocity across E, in E's own F
    assert_allclose(H[:3, :3], A.R @ H_E[:3], atol=SOME_ROUNDING)


def test_knee():
    """Seth2010 eq. 36-39: one rotation, two translations that are splines of the angle."""
    knots = (-2.0, -1.2, -0.4, 0.1, 0.5)
    fx, fy = SimmSpline(knots, (-0.03, 0.0, 0.004, 0.003, 0.001)), SimmSpline(knots, (0.39, 0.4, 0.41, 0.396, 0.4))
    joint = CustomJoint(
        "knee",
        *ROOT,
        names("angle"),
        rotations=(Axis((1, 0, 0)), Axis((0, 1, 0)), Axis((0, 0, 1), Linear(1.0, 0.0), ("angle",))),
        translations=(Axis((1, 0, 0), fx, ("angle",)), Axis((0, 1, 0), fy, ("angle",)), Axis((0, 0, 1))),
    )
    for q in (-2.5, -1.7, -0.3, 0.3, 0.9):
        u = 1.7
        R, p, H, bias = mobilizer(joint, [q], [u])
        d = [[float(f.derivative(q, order=k)) for f in (fx, fy)] for k in range(3)]
        assert_allclose(R, axis_rotation(Z, q), atol=ROUNDING)
        assert_allclose(p, [*d[0], 0], atol=ROUNDING)
        assert_allclose(H[:, 0], [0, 0, 1, *d[1], 0], atol=ROUNDING)
        assert_allclose(bias, [0, 0, 0, d[2][0] * u**2, d[2][1] * u**2, 0], atol=ROUNDING)
        assert_allclose(musculo.coordinate_rates(model_of(joint), [q], [u]), [u])


def test_knee_from_measured_points():
    """A joint of the user's own samples: three lines, and it passes through the samples."""
    angle = np.linspace(-2.0, 0.2, 12)
    samples = {"rz": angle, "tx": 0.02 * np.sin(angle), "ty": -0.4 + 0.01 * np.cos(angle)}
    joint = CustomJoint.from_samples("knee", "ground", "body", samples, coordinate="rz")
    for k in (0, 5, 11):
        R, p, _, _ = mobilizer(joint, [angle[k]])
        assert_allclose(R, axis_rotation(Z, angle[k]), atol=SOME_ROUNDING)
        assert_allclose(p, [samples["tx"][k], samples["ty"][k], 0], atol=SOME_ROUNDING)
    with pytest.raises(InvalidInput, match="do not say which is the coordinate"):
        CustomJoint.from_samples("knee", "ground", "body", {"rz": angle, "tx": angle})
    with pytest.raises(InvalidInput, match="tx has shape"):
        CustomJoint.from_samples("knee", "ground", "body", {"rz": angle, "tx": angle[:3]}, coordinate="rz")


def test_samples_with_gaps_or_in_degrees():
    angle = np.linspace(0.0, 120.0, 12)
    slide = np.where(angle == angle[3], np.nan, 0.01 * angle)
    with pytest.raises(InvalidInput, match="joint 'knee': ty is nan at sample 3"):
        CustomJoint.from_samples("knee", "ground", "body", {"rz": np.radians(angle), "ty": slide}, coordinate="rz")
    for samples in ({"rz": angle}, {"flexion": angle}, {"rz": np.radians(angle), "ry": angle}):
        with pytest.warns(musculo.MusculoWarning, match=r"'knee': \w+ goes from 0 to 120, .*are these degrees"):
            CustomJoint.from_samples("knee", "ground", "body", samples, coordinate=next(iter(samples)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CustomJoint.from_samples("knee", "ground", "body", {"rz": np.radians(angle), "tx": angle}, coordinate="rz")


def test_custom_axes_are_normalised_and_need_not_be_perpendicular():
    """R = R(a1, f1) R(a2, f2) R(a3, f3), p = f4 a4 + f5 a5 + f6 a6 with unit axes (eq. 18)."""
    axes = [(1, 2, 3), (0, 1, 1), (-1, 0.5, 0), (1, 1, 0), (0, 3, 4), (1, 0, 1)]
    values = np.array([0.3, -0.5, 0.7, 0.1, 0.2, -0.3])
    made = [Axis(a, Linear(1.0, 0.0), (f"q{k}",)) for k, a in enumerate(axes)]
    joint = CustomJoint(
        "j", *ROOT, names(*(f"q{k}" for k in range(6))), rotations=tuple(made[:3]), translations=tuple(made[3:])
    )
    R, p, _, _ = mobilizer(joint, values)
    R1, R2, R3 = (axis_rotation(axes[k], values[k]) for k in range(3))
    units = [np.array(a) / np.linalg.norm(a) for a in axes]
    assert_allclose(R, R1 @ R2 @ R3, atol=ROUNDING)
    assert_allclose(p, sum(values[k] * units[k] for k in (3, 4, 5)), atol=ROUNDING)


def test_axes_that_cannot_be_are_refused():
    still = Axis((1, 0, 0))
    bad = CustomJoint("j", *ROOT, names("q"), rotations=(Axis((0, 0, 0), Linear(), ("q",)), still, still))
    with pytest.raises(InvalidModel, match=r"'j'.*no direction"):
        musculo.mass_matrix(model_of(bad), [0.0])
    unknown = CustomJoint("j", *ROOT, names("q"), rotations=(Axis((1, 0, 0), Linear(), ("p",)), still, still))
    with pytest.raises(InvalidModel, match="'p'"):
        musculo.mass_matrix(model_of(unknown), [0.0])
    short = BallJoint("j", *ROOT, names("a", "b"))
    with pytest.raises(InvalidModel, match="needs 3 coordinates"):
        musculo.mass_matrix(model_of(short), [0.0, 0.0])


@pytest.mark.parametrize(
    ("kind", "has", "needs"),
    [
        (PinJoint, 0, 1),
        (PinJoint, 2, 1),
        (UniversalJoint, 1, 2),
        (PlanarJoint, 4, 3),
        (ScapulothoracicJoint, 3, 4),
        (WeldJoint, 1, 0),
    ],
)
def test_a_wrong_number_of_coordinates_is_refused(kind, has, needs):
    """The message says which joint, of which kind, and how many it has; as many as it needs are accepted."""
    with pytest.raises(InvalidModel) as refused:
        musculo.mass_matrix(model_of(kind("j", *ROOT, names(*"abcd"[:has]))), np.zeros(has))
    assert "'j'" in str(refused.value)
    assert kind.kind in str(refused.value)
    assert re.search(rf"\bhas {has}\b", str(refused.value)), refused.value
    right = model_of(kind("j", *ROOT, names(*"abcd"[:needs])))
    assert musculo.mass_matrix(right, np.zeros(needs)).shape == (needs, needs)


@pytest.mark.parametrize("kind", KINDS)
def test_offset_frames_sandwich_the_mobilizer(kind):
    """X_WB = X_WF X_FM(q) X_BM^-1 for every kind."""
    plain, offset = one_joint(kind, seed=2, placed=False), one_joint(kind, seed=2)
    # the two draw their joints from different points of the random stream: take the joint of one, the frames of other
    placed = replace(plain.joints[0], parent=offset.joints[0].parent, child=offset.joints[0].child)
    offset = plain.replace(joints=(placed,))
    q, _, _ = random_state(plain, np.random.default_rng(3))
    X_FM = musculo.kinematics(plain, q).pose("body")
    frames = [Pose.from_xyz(x.orientation, x.translation) for x in (placed.parent, placed.child)]
    expected = frames[0] @ X_FM @ frames[1].inverse()
    actual = musculo.kinematics(offset, q).pose("body")
    assert_close(actual.R, expected.R, SOME_ROUNDING, "R")
    assert_close(actual.p, expected.p, SOME_ROUNDING, "p")
