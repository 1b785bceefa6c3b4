"""Closed loops: derivatives of their equations and of joint variables, and two roads to the same accelerations."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import musculo
from musculo import Model
from musculo.dynamics.constrained_dynamics import constraint_equations
from musculo.embedding.loops.equations.frame_jets import Jet
from musculo.embedding.loops.methods.joint_variables import Looped
from musculo.functions import Linear, Sine
from musculo.model import EquationConstraint, Fitted, Molecule
from musculo.model.model_constraint import CoordinateCoupler
from support.dynamics_models import Curve, assert_close, difference_nodes, extrapolated, random_q, random_tree
from support.mechanisms import andrews_squeezer, closing, five_bar, four_bar

# Both sides are exact up to rounding times the condition of the systems solved.
ROUNDING = 1e-10
# Differences extrapolated four times leave 1e-13 of the values, times what the solved loops amplify.
DIFFERENCED = 1e-8
# Forces from accelerations of a long chain, whose mass matrix has a condition of a million.
AMPLIFIED = 1e-8

# What Ehsani2023 reports of the molecule; here second derivatives have one figure less.
SEVEN_FIGURES = 1e-7

BODY_KINDS = ("point", "line", "distance", "weld")


# --- equations on the tree ----------------------------------------------------------------------------------------
@cache
def tied_tree(kind: str, seed: int = 0) -> tuple[Model, np.ndarray]:
    """A chain of all kinds of joints, quaternions too, tied to ground; or coordinates by equations. And a pose near."""
    rng = np.random.default_rng(seed)
    model = random_tree(rng, depth=1)
    q = random_q(model, rng)
    if kind == "equation":
        a, b, c = (model.coordinate_names[k] for k in (0, len(q) // 2, len(q) - 1))
        tie = EquationConstraint(
            "tie", coordinates=(a, b, c), equations=lambda x, y, z: (np.sin(x) * y - z**2, np.exp(x - z) / (2 + y))
        )
    else:
        first, second = rng.choice(model.body_names), "ground"
        pair = (str(first), second) if seed % 2 else (second, str(first))
        tie = closing(model, q, kind, *pair, rng)
    # quaternions are left alone, so that they stay of length one
    turns = {n for j in model.joints if getattr(j, "quaternion", False) for n in j.coordinate_names}
    moved = np.array([0.0 if name in turns else 0.1 for name in model.coordinate_names])
    return model.replace(constraints=(tie,)), q + moved * rng.uniform(-1, 1, len(q))


@pytest.mark.parametrize("kind", [*BODY_KINDS, "equation"])
@pytest.mark.parametrize("seed", range(3))
def test_rates_of_equations_are_their_derivatives(kind, seed):
    """gdot = G u and gddot = G udot + bias along a motion, by differences of g alone."""
    model, q = tied_tree(kind, seed)
    rng = np.random.default_rng(seed + 10)
    u = rng.uniform(-1, 1, len(model.speed_names))
    curve = Curve(model, q, u, rng)
    system = constraint_equations(model)
    x = system.by_speeds(q[None], u[None])
    along = system.by_speeds(curve.q, curve.u)
    assert np.abs(x.residual).max() > 1e-3  # the law holds off the manifold, too
    assert_close(x.jacobian[0] @ u, extrapolated(along.residual), DIFFERENCED, "gdot")
    rates = np.einsum("fij,fj->fi", along.jacobian, curve.u)
    assert_close(x.jacobian[0] @ curve.udot0 + x.bias[0], extrapolated(rates), DIFFERENCED, "gddot")


@pytest.mark.parametrize("kind", BODY_KINDS)
def test_equations_hold_where_they_were_made(kind):
    rng = np.random.default_rng(3)
    model = random_tree(rng)
    q = random_q(model, rng)
    a, b = rng.choice(model.body_names, 2, replace=False)
    held = model.replace(constraints=(closing(model, q, kind, str(a), str(b), rng),))
    assert np.abs(musculo.constraint_residuals(held, q).residual).max() < 1e-14


@pytest.mark.parametrize("kind", BODY_KINDS)
def test_reactions_do_the_work_of_the_multipliers(kind):
    """Forces on the two bodies give the same generalised forces as -G^T lambda."""
    model, q = tied_tree(kind, 2)
    rng = np.random.default_rng(5)
    u = rng.uniform(-1, 1, len(model.speed_names))
    tau = rng.normal(size=u.shape)
    motion = musculo.constrained_acceleration(model, q, u, tau)
    loads = motion.reaction(kind).loads()
    bare = model.replace(constraints=())
    felt = musculo.inverse_dynamics(bare, q, u, motion.udot) - musculo.inverse_dynamics(bare, q, u, motion.udot, loads)
    assert_close(felt, motion.generalized, ROUNDING, "generalized forces")
    assert_close(musculo.inverse_dynamics(bare, q, u, motion.udot, loads), tau, AMPLIFIED, "balance")


def test_jets_carry_derivatives_exactly():
    """Against the complex step for gradients, and differences of gradients for Hessians."""

    def f(x, y):
        return [
            np.sin(x) * np.cos(y) / (2 + np.tanh(x * y)) - y**3 + 2.0**x,
            np.arctan(x) + np.sqrt(2 + y) * np.exp(-x) - np.log(3 + x * y) ** -2 + np.square(y),
            1.0 / (1.5 + np.tan(x / 3)) + np.arcsin(y / 4) - np.arccos(x / 5) + np.sinh(x) * np.cosh(y),
        ]

    x = np.array([[0.3, -0.7], [1.1, 0.4]])
    step = 1e-30
    for k, jet in enumerate(f(*Jet.variables(x))):
        assert_close(jet.value, f(x[:, 0], x[:, 1])[k], ROUNDING, "value")
        for i in range(2):
            moved = x.astype(complex)
            moved[:, i] += 1j * step
            assert_close(jet.gradient[:, i], f(moved[:, 0], moved[:, 1])[k].imag / step, ROUNDING, "gradient")
            slopes = [f(*Jet.variables(x + t * np.eye(2)[i]))[k].gradient for t in difference_nodes()]
            assert_close(jet.hessian[:, i], extrapolated(np.stack(slopes)), DIFFERENCED, "Hessian")


# --- joint variables ----------------------------------------------------------------------------------------------
def everything() -> Model:
    """Loops over a ball, a scapula, couplers, a lock and a prescribed coordinate, all in one chain."""
    rng = np.random.default_rng(4)
    kinds = ("pin", "ball", "universal", "scapulothoracic", "custom_knee", "slider", "gimbal", "free")
    model = random_tree(rng, kinds, depth=1)
    name = {kind: next(j.name for j in model.joints if j.name.startswith(kind)) for kind in kinds}
    model = model.replace(
        constraints=(
            CoordinateCoupler(
                "c1", True, (), f"{name['pin']}_0", (f"{name['universal']}_0",), Sine(0.5, 1.0, 0.3, 0.0)
            ),
            CoordinateCoupler("c2", True, (), f"{name['gimbal']}_2", (f"{name['ball']}_1",), Linear(0.7, 0.1)),
        )
    )
    model = model.with_coordinate(f"{name['slider']}_0", prescribed=True, prescribed_function=Sine(0.2, 1.5, 0.2, 0.1))
    model = model.with_coordinate(f"{name['gimbal']}_0", locked=True, default_value=0.3)
    q = musculo.embedding_of(model).coordinates(musculo.embedding_of(model).independent(random_q(model, rng)), TIME)
    body = {body[-1]: body for body in model.body_names}  # by place in the chain
    tie = closing(model, q, "point", body["7"], "ground", rng)
    rod = closing(model, q, "distance", "ground", body["4"], rng)
    for column, coordinate in enumerate(model.coordinate_names):
        model = model.with_coordinate(coordinate, default_value=q[column])
    return model.replace(constraints=(*model.constraints, tie, rod))


TIME = 0.35
MECHANISMS = {"four-bar": four_bar, "five-bar": five_bar, "squeezer": andrews_squeezer, "everything": everything}


@cache
def mechanism(name: str) -> Model:
    return MECHANISMS[name]()


def some_motion(model: Model, frames: int = 6, seed: int = 0, method: str | Molecule = "projection"):
    """(embedding, z, zu, zudot) near the branch's pose."""
    e = musculo.embedding_of(model, loops=method)
    rng = np.random.default_rng(seed)
    z = e.independent(musculo.embedding_of(model).branch) + rng.uniform(-0.08, 0.08, (frames, len(e.coordinate_names)))
    return e, z, *(rng.normal(size=(frames, len(e.speed_names))) for _ in range(2))


@pytest.mark.parametrize("name", MECHANISMS)
def test_gradient_and_hessian_are_derivatives_of_solutions(name):
    e, z, _, _ = some_motion(mechanism(name))
    q = e.coordinates(z, TIME)
    for variables in {rule.variables for rule in e.rules if isinstance(rule, Looped)}:
        loop = variables.loop
        n = len(loop.inputs)
        x, d = q[:, loop.columns[:n]], q[:, loop.columns[n:]]
        gradient, hessian = variables.gradient(x, d), variables.hessian(x, d)
        for k in range(n):
            # steps a tenth as long as usual: solved coordinates bend more than the others
            at = [x + 0.1 * t * loop.scale[k] * np.eye(n)[k] for t in difference_nodes()]
            found = [variables.value(point, q).dependents for point in at]
            slopes = [variables.gradient(point, own) for point, own in zip(at, found, strict=True)]
            scale = 0.1 * loop.scale[k]
            assert_close(gradient[:, :, k], extrapolated(np.stack(found)) / scale, DIFFERENCED, "gradient")
            assert_close(hessian[:, :, :, k], extrapolated(np.stack(slopes)) / scale, DIFFERENCED, "Hessian")
        assert_close(hessian, np.swapaxes(hessian, 2, 3), ROUNDING, "symmetry")


@pytest.mark.parametrize("name", MECHANISMS)
def test_loops_are_solved_alike_whoever_evaluates_their_equations(name):
    """In Python, as users' equations are, for loops that kernels know: branches, gradients, second derivatives."""
    e, z, _, _ = some_motion(mechanism(name))
    q = e.coordinates(z, TIME)
    for loop in e.loops:
        plain = replace(loop)
        vars(plain)["compiled"] = None
        assert loop.compiled is not None
        n = len(loop.inputs)
        x, guess = q[:, loop.columns[:n]], np.tile(e.branch, (len(q), 1))
        far = x + 0.2 * loop.scale[:n]
        a, b = loop.follow(far, guess), plain.follow(far, guess)
        assert list(a.status) == list(b.status)
        assert_close(a.reached, b.reached, 1e-5, "how far it came")
        there = a.status == 0
        assert_close(a.dependents[there], b.dependents[there], ROUNDING, "dependents")
        xdot = np.random.default_rng(3).normal(size=x.shape)
        for one, other in zip(loop.derivatives(x, q[:, loop.columns[n:]], xdot),
                              plain.derivatives(x, q[:, loop.columns[n:]], xdot), strict=True):  # fmt: skip
            assert_close(one, other, ROUNDING, "derivatives")


@pytest.mark.parametrize("name", MECHANISMS)
def test_speeds_and_accelerations_are_derivatives_of_coordinates(name):
    """Along z(t) by differences of q(z(t), t), prescribed motion included."""
    model = mechanism(name)
    e = musculo.embedding_of(model)
    rng = np.random.default_rng(2)
    z_0 = e.independent(e.branch)
    a, b = 0.3 * rng.normal(size=(2, len(z_0)))

    def q(t):
        t = np.asarray(t)[..., None]
        return e.coordinates(z_0 + t * a + 0.5 * t**2 * b, TIME + t[..., 0])

    def u(t):
        rates = extrapolated(q(t + 0.2 * difference_nodes())) / 0.2
        return musculo.speeds_from_rates(model, q(t), rates)

    nodes = 0.2 * difference_nodes()
    speeds = np.stack([u(t) for t in nodes])
    zu = e.independent_speeds(q(0.0), u(0.0))
    zudot = extrapolated(np.stack([e.independent_speeds(q(t), s) for t, s in zip(nodes, speeds, strict=True)])) / 0.2
    motion = e.motion(z_0, zu, zudot, time=TIME)
    assert_close(motion.u, u(0.0), DIFFERENCED, "u")
    assert_close(motion.udot, extrapolated(speeds) / 0.2, 100 * DIFFERENCED, "udot")
    assert_close(motion.J @ zu + motion.c, motion.u, ROUNDING, "J zu + c")
    assert_close(motion.J @ zudot + motion.b, motion.udot, ROUNDING, "J zudot + b")


@pytest.mark.parametrize("name", MECHANISMS)
def test_slopes_of_the_map_are_derivatives_of_it(name):
    from musculo.embedding.slopes import embedding_slopes

    e, z, _, _ = some_motion(mechanism(name), frames=1)
    q = e.coordinates(z[0], TIME)
    G, rows, bent = embedding_slopes(e, q, TIME)
    dJ = np.zeros((len(e.model.speed_names), *bent.shape[1:]))
    dJ[rows] = bent
    for k in range(len(z[0])):
        at = np.stack([z[0] + 0.1 * t * np.eye(len(z[0]))[k] for t in difference_nodes()])
        poses = e.coordinates(at, TIME, guess=q)
        assert_close(G[:, k], extrapolated(poses) / 0.1, DIFFERENCED, "dq/dz")
        assert_close(dJ[:, :, k], extrapolated(e.jacobian(poses, TIME)) / 0.1, DIFFERENCED, "dJ/dz")


@pytest.mark.parametrize("name", MECHANISMS)
def test_molecules_agree_with_projection_to_seven_figures(name):
    exact, z, zu, zudot = some_motion(mechanism(name))
    molecule, *_ = some_motion(mechanism(name), method="molecule")
    a, b = exact.motion(z, zu, zudot, TIME), molecule.motion(z, zu, zudot, TIME)
    assert_close(b.q, a.q, ROUNDING, "q")
    assert_close(b.J, a.J, SEVEN_FIGURES, "J")
    assert_close(b.udot, a.udot, 10 * SEVEN_FIGURES, "udot")


@pytest.mark.parametrize("name", ["four-bar", "five-bar", "squeezer"])
def test_fits_agree_within_the_error_they_report(name):
    model = mechanism(name)
    exact, z, _, _ = some_motion(model)
    middle = exact.independent(exact.branch)
    ranges = {n: (m - 0.1, m + 0.1) for n, m in zip(exact.coordinate_names, middle, strict=True)}
    fitted = musculo.embedding_of(model, loops=Fitted(ranges, samples=31))
    rule = fitted.rules[0]
    error, loop = rule.variables.error, rule.variables.loop
    q = exact.coordinates(z)
    own = loop.columns[len(loop.inputs) :]
    assert np.abs(fitted.coordinates(z) - q)[:, own].max() <= 1.1 * error.value.max()
    assert 0.0 < error.value.max() < 1e-8
    gradient = exact.rules[0].variables.gradient(z, q[:, own])
    assert np.abs(rule.variables.gradient(z, q[:, own]) - gradient).max() <= 1.1 * error.gradient.max()
    assert error.hessian.max() < 1e-4


def test_a_fourier_series_serves_a_crank_that_turns_round():
    model = four_bar()
    exact = musculo.embedding_of(model)
    fitted = musculo.embedding_of(model, loops=Fitted({"q0": (0.0, 2 * np.pi)}, samples=201, kind="fourier"))
    z = np.linspace(-9.0, 9.0, 50)[:, None]
    assert_close(fitted.coordinates(z), exact.coordinates(z), 1e-10, "q")
    zu = np.ones_like(z)
    assert_close(fitted.motion(z, zu).b, exact.motion(z, zu).b, 1e-6, "b")
    assert fitted.rules[0].variables.error.value.max() < 1e-11


# --- two roads ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", MECHANISMS)
def test_embedded_and_constrained_accelerations_agree(name):
    model = mechanism(name)
    e, z, zu, _ = some_motion(model, frames=20)
    motion = e.motion(z, zu, time=TIME)
    tau = np.random.default_rng(7).normal(size=motion.u.shape) * (1e-2 if name == "squeezer" else 1.0)
    embedded = musculo.forward_dynamics(model, motion.q, motion.u, tau, time=TIME)
    constrained = musculo.constrained_acceleration(model, motion.q, motion.u, tau, time=TIME)
    assert_close(embedded, constrained.udot, ROUNDING, "udot")
    assert np.abs(constrained.position_error).max() < 1e-13
    assert np.abs(constrained.velocity_error).max() < 1e-12


def test_repeated_constraints_change_nothing():
    """A weld stated twice, and a point of it once more: multipliers share, motion and reactions stay."""
    rng = np.random.default_rng(8)
    model = random_tree(rng, ("pin", "universal", "ball", "free", "gimbal"), depth=1)
    q = random_q(model, rng)
    weld = closing(model, q, "weld", "ground", model.body_names[-1], rng)
    point = closing(model, q, "point", "ground", model.body_names[-1], rng)
    once = model.replace(constraints=(weld,))
    more = model.replace(constraints=(weld, replace(weld, name="again"), point))
    u = musculo.simulation.project_velocity(once, q, rng.normal(size=len(model.speed_names)))
    tau = rng.normal(size=len(u))
    a, b = (musculo.constrained_acceleration(m, q, u, tau) for m in (once, more))
    assert (a.redundant, b.redundant) == (0, 9)
    assert_close(b.udot, a.udot, ROUNDING, "udot")
    assert_close(b.generalized, a.generalized, ROUNDING, "forces")
    pose = dict(zip(model.coordinate_names, q, strict=True))
    for name, value in pose.items():
        more, once = (m.with_coordinate(name, default_value=value) for m in (more, once))
    e = musculo.embedding_of(more)
    assert sum(loop.redundant for loop in e.loops) == 9
    assert_close(musculo.forward_dynamics(more, q, u, tau), a.udot, ROUNDING, "embedded")


def test_projections_are_the_smallest_in_the_metric_of_mass():
    """What a projection takes away lies in M^-1 G^T: no motion that constraints allow has work with it."""
    model = five_bar()
    e = musculo.embedding_of(model)
    q = e.branch + 0.02 * np.random.default_rng(0).normal(size=4)
    closed = musculo.simulation.project_position(model, q)
    assert np.abs(musculo.constraint_residuals(model, closed).residual).max() < 1e-12
    assert 0.0 < np.abs(closed - q).max() < 0.2
    u = np.array([1.0, -2.0, 0.5, 1.5])
    projected = musculo.simulation.project_velocity(model, closed, u)
    x = musculo.constraint_residuals(model, closed)
    assert np.abs(x.jacobian[0] @ projected).max() < 1e-12
    J = e.jacobian(closed)
    assert np.abs(J.T @ musculo.mass_matrix(model, closed) @ (projected - u)).max() < 1e-12
    drift = musculo.simulation.constraint_drift(model, [q, closed], [u, projected])
    assert drift.position[0] > 1e-3 > 1e-11 > drift.position[1]
    assert drift.velocity[0] > 0.1 > 1e-11 > drift.velocity[1]
    assert drift.worst == "closure"


def test_stabilization_pulls_errors_back_as_stated():
    """gddot = -2 a gdot - a^2 g."""
    model, a = four_bar(), 7.0
    q = musculo.embedding_of(model).branch + np.array([0.01, -0.02, 0.015])
    u = np.array([0.3, -0.4, 1.0])
    found = musculo.constrained_acceleration(model, q, u, np.zeros(3), stabilization=a)
    x = musculo.constraint_residuals(model, q, u)
    gddot = x.jacobian[0] @ found.udot + x.bias[0]
    assert_close(gddot, -2 * a * (x.jacobian[0] @ u) - a**2 * x.residual[0], ROUNDING, "gddot")
    assert_close(found.position_error, x.residual[0], ROUNDING, "g")


def test_energy_is_kept_along_the_embedding():
    """d(T + V)/dt = tau . u for the squeezer and the chain of everything at rest in time."""
    for name in ("four-bar", "five-bar", "squeezer"):
        model = mechanism(name)
        e, z, zu, _ = some_motion(model, frames=4)
        motion = e.motion(z, zu)
        tau = np.random.default_rng(1).normal(size=motion.u.shape) * 1e-2
        udot = musculo.forward_dynamics(model, motion.q, motion.u, tau)
        power = np.einsum("fi,fi->f", musculo.inverse_dynamics(model, motion.q, motion.u, udot), motion.u)
        assert_close(power, np.einsum("fi,fi->f", tau, motion.u), 1e-9, "power of what the constraints carry")
