"""Models for the tests of the mechanics: every kind of joint, random trees of them, states, and exact differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import musculo
from musculo import Body, Coordinate, ExternalLoad, Model, Placement
from musculo.functions import (
    Constant,
    Linear,
    MultivariatePolynomial,
    Polynomial,
    SampledSpline,
    Scaled,
    SimmSpline,
    Sine,
)
from musculo.model.joints import (
    Axis,
    BallJoint,
    CustomJoint,
    CylindricalJoint,
    EllipsoidJoint,
    FreeJoint,
    GimbalJoint,
    Joint,
    PinJoint,
    PlanarJoint,
    ScapulothoracicJoint,
    ScrewJoint,
    SliderJoint,
    UniversalJoint,
    WeldJoint,
)
from musculo.spatial.pose import Pose
from musculo.spatial.rotation import from_xyz, to_xyz

# Knots of all splines in these models: whole numbers, so that states around the halves stay inside one piece.
_KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)


# --- parts ------------------------------------------------------------------------------------------------------------
def random_unit(rng: np.random.Generator) -> np.ndarray:
    a = rng.normal(size=3)
    return a / np.linalg.norm(a)


def random_body(rng: np.random.Generator, name: str) -> Body:
    """A body that a distribution of mass can have: a turned box off its frame's origin."""
    mass = rng.uniform(0.5, 2.0)
    a, b, c = rng.uniform(0.1, 0.4, size=3) ** 2
    R = from_xyz(rng.uniform(-3, 3, size=3))
    I = R @ np.diag(mass / 3 * np.array([b + c, a + c, a + b])) @ R.T
    return Body(name, mass, tuple(rng.uniform(-0.3, 0.3, size=3)), (*np.diag(I), I[0, 1], I[0, 2], I[1, 2]))


def random_placement(rng: np.random.Generator, body: str, name: str = "") -> Placement:
    return Placement(body, tuple(rng.uniform(-0.4, 0.4, size=3)), tuple(rng.uniform(-1.5, 1.5, size=3)), name)


def named(joint: str, n: int) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(f"{joint}_{k}") for k in range(n))


def _spline(rng: np.random.Generator, size: float) -> SimmSpline:
    return SimmSpline(_KNOTS, tuple(rng.uniform(-size, size, size=len(_KNOTS))))


def _sampled(rng: np.random.Generator, size: float) -> SampledSpline:
    return SampledSpline(_KNOTS, tuple(rng.uniform(-size, size, size=len(_KNOTS))), degree=3)


def _surface(rng: np.random.Generator, slope_x: float, size: float) -> MultivariatePolynomial:
    """A cubic of two coordinates that rises along the first by about `slope_x`."""
    coefficients = rng.uniform(-size, size, size=10)
    coefficients[4] = slope_x  # exponents in lexicographic order: 1 y yy yyy x xy xyy xx xxy xxx
    return MultivariatePolynomial(2, 3, tuple(coefficients))


# --- one builder for each kind of joint -----------------------------------------------------------------------------
Builder = Callable[[np.random.Generator, str, Placement, Placement], Joint]


def _simple(kind: type[Joint], n: int) -> Builder:
    return lambda rng, name, parent, child: kind(name, parent, child, named(name, n))


def _screw(rng, name, parent, child):
    return ScrewJoint(name, parent, child, named(name, 1), pitch=rng.uniform(-0.5, 0.5))


def _ball(rng, name, parent, child):
    return BallJoint(name, parent, child, named(name, 4), quaternion=True)


def _free(rng, name, parent, child):
    return FreeJoint(name, parent, child, named(name, 7), quaternion=True)


def _ellipsoid(rng, name, parent, child):
    return EllipsoidJoint(name, parent, child, named(name, 3), radii=tuple(rng.uniform(0.1, 0.5, size=3)))


def _scapula(rng, name, parent, child):
    return ScapulothoracicJoint(
        name,
        parent,
        child,
        named(name, 4),
        radii=tuple(rng.uniform(0.1, 0.3, size=3)),
        winging_origin=tuple(rng.uniform(-0.1, 0.1, size=2)),
        winging_direction=rng.uniform(-1, 1),
    )


def _custom(rng, name, parent, child, axes: Sequence[tuple], n: int) -> CustomJoint:
    """Six axes with random directions; each given as (function, indices of its coordinates)."""
    coordinates = named(name, n)
    made = [
        Axis(tuple(random_unit(rng)), function, tuple(coordinates[k].name for k in which)) for function, which in axes
    ]
    return CustomJoint(name, parent, child, coordinates, rotations=tuple(made[:3]), translations=tuple(made[3:]))


def _knee(rng, name, parent, child):
    """One coordinate drives three rotations and three translations, as the knee of Rajagopal's model does."""
    axes = [
        (Linear(1.0, 0.1), (0,)),
        (_spline(rng, 0.3), (0,)),
        (_sampled(rng, 0.3), (0,)),
        (_spline(rng, 0.1), (0,)),
        (Scaled(_spline(rng, 0.1), 0.7), (0,)),
        (Polynomial((0.02, -0.1, 0.3)), (0,)),
    ]
    return _custom(rng, name, parent, child, axes, 1)


def _two_coordinates(rng, name, parent, child):
    """Functions of two coordinates at once (multivariate polynomials)."""
    axes = [
        (_surface(rng, 1.0, 0.1), (0, 1)),
        (_surface(rng, 1.0, 0.1), (1, 0)),
        (_surface(rng, 0.1, 0.1), (0, 1)),
        (_surface(rng, 0.1, 0.1), (1, 0)),
        (Constant(0.1), ()),
        (_surface(rng, 0.1, 0.1), (0, 1)),
    ]
    return _custom(rng, name, parent, child, axes, 2)


def _hip(rng, name, parent, child):
    """Plain rotations about slanted axes with offsets and opposite signs, translations that are constant."""
    axes = [
        (Linear(1.0, 0.2), (0,)),
        (Linear(-1.0, 0.0), (1,)),
        (Scaled(Linear(1.0, -0.3), -1.0), (2,)),
        (Constant(0.1), ()),
        (Scaled(Constant(0.1), -2.0), ()),
        (Linear(0.0, 0.05), (0,)),
    ]
    return _custom(rng, name, parent, child, axes, 3)


def _six(rng, name, parent, child):
    """Six coordinates that each drive one axis through a curve, out of order."""
    axes = [
        (Sine(0.9, 0.8, 0.1, 0.0), (3,)),
        (Linear(1.3, 0.0), (5,)),
        (Linear(0.7, 0.1), (0,)),
        (Polynomial((0.1, 0.6, 0.0)), (1,)),
        (Linear(1.0, 0.0), (4,)),
        (Linear(-0.8, 0.0), (2,)),
    ]
    return _custom(rng, name, parent, child, axes, 6)


JOINTS: dict[str, Builder] = {
    "weld": _simple(WeldJoint, 0),
    "pin": _simple(PinJoint, 1),
    "slider": _simple(SliderJoint, 1),
    "screw": _screw,
    "universal": _simple(UniversalJoint, 2),
    "gimbal": _simple(GimbalJoint, 3),
    "cylindrical": _simple(CylindricalJoint, 2),
    "planar": _simple(PlanarJoint, 3),
    "ball": _simple(BallJoint, 3),
    "ball_quaternion": _ball,
    "free": _simple(FreeJoint, 6),
    "free_quaternion": _free,
    "ellipsoid": _ellipsoid,
    "scapulothoracic": _scapula,
    "custom_knee": _knee,
    "custom_two_coordinates": _two_coordinates,
    "custom_hip": _hip,
    "custom_six": _six,
}
KINDS = tuple(JOINTS)


# --- trees ------------------------------------------------------------------------------------------------------------
def random_tree(
    rng: np.random.Generator,
    kinds: Sequence[str] = KINDS,
    backwards: float = 0.3,
    gravity: Sequence[float] | None = None,
    depth: int = 3,
) -> Model:
    """A tree with one joint of each of `kinds` in random order, hung on one of the `depth` newest bodies or on ground.

    A share `backwards` of the joints is declared with the new body as parent. Joints and bodies are listed in an order
    of their own, so that file order and tree order differ.
    """
    bodies, joints = [], []
    for k, kind in enumerate(rng.permutation(list(kinds))):
        name = f"{kind}{k}"
        bodies.append(random_body(rng, f"b_{name}"))
        choices = ["ground", *(b.name for b in bodies[:-1])][-depth:]
        inboard = random_placement(rng, str(rng.choice(choices)), f"in_{name}")
        outboard = random_placement(rng, bodies[-1].name, f"out_{name}")
        ends = (outboard, inboard) if rng.uniform() < backwards else (inboard, outboard)
        joints.append(JOINTS[kind](rng, name, *ends))
    return Model(
        "random tree",
        tuple(bodies[i] for i in rng.permutation(len(bodies))),
        tuple(joints[i] for i in rng.permutation(len(joints))),
        gravity=tuple(rng.normal(size=3) * 5) if gravity is None else tuple(gravity),
    )


def one_joint(kind: str, seed: int = 0, placed: bool = True, **swap: bool) -> Model:
    """One body on ground by one joint; `backwards=True` declares ground as the child."""
    rng = np.random.default_rng(seed)
    body = random_body(rng, "body")
    inboard = random_placement(rng, "ground") if placed else Placement("ground")
    outboard = random_placement(rng, "body") if placed else Placement("body")
    ends = (outboard, inboard) if swap.get("backwards") else (inboard, outboard)
    return Model(kind, (body,), (JOINTS[kind](rng, "j", *ends),))


# --- states -----------------------------------------------------------------------------------------------------------
def random_q(model: Model, rng: np.random.Generator, frames: int | None = None) -> np.ndarray:
    """Coordinates of size 0.3 to 0.7 with either sign: inside the pieces of splines and away from gimbal lock.

    Quaternions are unit quaternions in any direction.
    """
    shape = (1 if frames is None else frames, len(model.coordinates))
    q = rng.uniform(0.3, 0.7, size=shape) * rng.choice([-1.0, 1.0], size=shape)
    for joint in model.joints:
        if getattr(joint, "quaternion", False):
            at = [model.coordinate_index(name) for name in joint.coordinate_names[:4]]
            four = rng.normal(size=(shape[0], 4))
            q[:, at] = four / np.linalg.norm(four, axis=1, keepdims=True)
    return q[0] if frames is None else q


def random_state(
    model: Model, rng: np.random.Generator, frames: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(q, u, udot) of random size one."""
    q = random_q(model, rng, frames)
    shape = (*q.shape[:-1], len(model.speed_names))
    return q, rng.uniform(-1, 1, size=shape), rng.uniform(-1, 1, size=shape)


def loads_in_every_frame(model: Model) -> list[ExternalLoad]:
    """A load for each way in which force and point can be given."""
    names = model.body_names
    force, point, moment = (3.0, -1.0, 2.0), (0.1, 0.2, -0.3), (1.0, 2.0, -1.5)
    return [
        ExternalLoad(names[2], force, point, moment),
        ExternalLoad(names[4], force, point, moment, force_in=names[4], point_in=names[4]),
        ExternalLoad(names[6], force, point, moment, point_in=names[11]),
        ExternalLoad(names[9], force, point, moment, force_in=names[1]),
        ExternalLoad(names[14], force, point, moment, point_in=names[14]),
    ]


# --- differences --------------------------------------------------------------------------------------------------
# Steps of the extrapolated differences. Four halvings cancel the error up to the eighth power of the step, so what
# remains is the rounding of f divided by the smallest step: about 1e-13 of f.
_STEP, _HALVINGS = 0.04, 4


def difference_nodes() -> np.ndarray:
    """Arguments at which `extrapolated` wants the function, (2 levels,)."""
    steps = _STEP / 2.0 ** np.arange(_HALVINGS)
    return np.concatenate([steps, -steps])


def extrapolated(values: np.ndarray) -> np.ndarray:
    """f'(0) from f at `difference_nodes()` (nodes, ...): central differences, Romberg's extrapolation."""
    steps = _STEP / 2.0 ** np.arange(_HALVINGS)
    plus, minus = values[:_HALVINGS], values[_HALVINGS:]
    table = [(p - m) / (2 * h) for p, m, h in zip(plus, minus, steps, strict=True)]
    for order in range(1, _HALVINGS):
        factor = 4.0**order
        table = [(factor * table[k + 1] - table[k]) / (factor - 1) for k in range(len(table) - 1)]
    return table[0]


class Curve:
    """A motion q(t) = q0 + a t + b t^2 / 2 through (q0, u0): its speeds u(t), and udot at 0 from differences of u."""

    def __init__(self, model: Model, q: np.ndarray, u: np.ndarray, rng: np.random.Generator) -> None:
        self.model, self.q0, self.u0 = model, q, u
        self.a = musculo.coordinate_rates(model, q, u)
        self.b = rng.uniform(-1, 1, size=q.shape)
        self.t = difference_nodes()
        self.q = q + self.t[:, None] * self.a + 0.5 * self.t[:, None] ** 2 * self.b
        self.u = musculo.speeds_from_rates(model, self.q, self.a + self.t[:, None] * self.b)
        self.udot0 = extrapolated(self.u)


# --- Lagrange's equation ------------------------------------------------------------------------------------------
def lagrange_bias(model: Model, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """C(q, u) + g(q) from the mass matrix and the potential energy alone; no accelerations are computed.

    In the chart q(x) = q0 + N(q0) x, u = B(x) xdot with B(0) = 1, the mass matrix is A(x) = B^T M B and

        tau = A xddot + Adot xdot - d(xdot^T A xdot / 2)/dx + dV/dx,   udot = B xddot + Bdot xdot = 0.
    """
    n = len(model.speed_names)
    eye = np.eye(n)
    N = np.stack([musculo.coordinate_rates(model, q, e) for e in eye], axis=1)
    t = difference_nodes()
    # along each x_k, and along the motion itself
    directions = np.vstack([eye, u])
    x = t[:, None, None] * directions[None]  # (nodes, n + 1, n)
    Q = (q + x @ N.T).reshape(-1, len(q))
    M = musculo.mass_matrix(model, Q)
    B = np.stack([musculo.speeds_from_rates(model, Q, np.tile(N[:, k], (len(Q), 1))) for k in range(n)], axis=2)
    A = (np.swapaxes(B, 1, 2) @ M @ B).reshape(len(t), n + 1, n, n)
    dA = extrapolated(A)
    dB = extrapolated(B.reshape(len(t), n + 1, n, n))
    dV = extrapolated(musculo.potential_energy(model, Q).reshape(len(t), n + 1))
    xddot = -dB[n] @ u
    return musculo.mass_matrix(model, q) @ xddot + dA[n] @ u - 0.5 * np.einsum("kij,i,j->k", dA[:n], u, u) + dV[:n]


# --- comparisons ----------------------------------------------------------------------------------------------------
def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float, what: str = "") -> None:
    """max |difference| <= tolerance max |expected|, the measure that all oracles use."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, f"{what}: shapes {actual.shape} and {expected.shape}"
    assert np.isfinite(actual).all(), f"{what}: not finite"
    if expected.size:
        scale = max(np.abs(expected).max(), np.finfo(float).tiny)
        worst = np.abs(actual - expected).max()
        assert worst <= tolerance * scale, (
            f"{what}: {worst:.3e} of {scale:.3e} is {worst / scale:.2e} > {tolerance:.0e}"
        )


# numpy's default of 1e-7 would hide a wrong seventh digit; hand-made numbers are right to rounding.
_RTOL = 1e-12


def assert_allclose(actual, desired, rtol: float = _RTOL, atol: float = 0.0) -> None:
    """numpy's `assert_allclose` with a tolerance of rounding by default."""
    np.testing.assert_allclose(actual, desired, rtol=rtol, atol=atol)


def skew_part(S: np.ndarray) -> np.ndarray:
    """w of w~ = S (..., 3, 3)."""
    return 0.5 * np.stack([S[..., 2, 1] - S[..., 1, 2], S[..., 0, 2] - S[..., 2, 0], S[..., 1, 0] - S[..., 0, 1]], -1)


def moved(X: Pose, placement: Placement) -> Placement:
    """The placement after its body's frame is replaced by one in which the old frame has pose X."""
    new = X @ Pose.from_xyz(placement.orientation, placement.translation)
    return Placement(placement.body, tuple(new.p), tuple(to_xyz(new.R)), placement.name)
