"""A joint means the same whichever of its two bodies is inboard (Seth2010 section 2.4)."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Model, Placement
from musculo.model.joints import FreeJoint
from musculo.spatial.rotation import to_xyz
from support.dynamics_models import JOINTS, KINDS, assert_close, one_joint, random_body, random_placement, random_state

# Both directions are the same few products in float64.
ROUNDING = 1e-12
# Forward dynamics multiplies rounding by the condition of the mass matrix (below 1e4 for two bodies).
SOLVED = 1e-10


def skew(v):
    return np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def hinge(model, q):
    """R, p, H (6, n) of the body in ground."""
    motion = musculo.kinematics(model, q)
    return *motion.pose("body"), motion.frame_jacobian("body")


def bias_acceleration(model, q, u):
    """Hdot u: (angular, linear) acceleration of the body at zero udot."""
    motion = musculo.kinematics(model, q, u, np.zeros_like(u))
    return motion.angular_acceleration("body"), motion.acceleration("body")


@pytest.mark.parametrize("kind", KINDS)
def test_reversed_mobilizer_satisfies_the_closed_form(kind):
    """Seth2010 eq. 15-17 for every kind: B is the joint's parent frame, P its child frame, both at the bodies' origins.

    Departs: eq. 16 gives H of the reversed mobilizer (the printed dots on H are one too many), and in eq. 17 the H
    after omega-cross and after v-cross carry no dot.
    """
    forward = one_joint(kind, seed=1, placed=False)
    backward = one_joint(kind, seed=1, placed=False, backwards=True)
    q, u, _ = random_state(forward, np.random.default_rng(2))
    R_BP, p_BP, H = hinge(forward, q)
    R_PB, p_PB, H_reversed = hinge(backward, q)
    assert_close(R_PB, R_BP.T, ROUNDING, "eq. 15, R")
    assert_close(p_PB, -R_BP.T @ p_BP, ROUNDING, "eq. 15, p")
    turned = lambda w, v: np.concatenate([R_BP.T @ w, R_BP.T @ v])  # noqa: E731 (the "scalar" product of the paper)
    H_w, H_v = H[:3], H[3:]
    expected = -turned(H_w, H_v + skew(p_BP) @ H_w)
    assert_close(H_reversed, expected, ROUNDING, "eq. 16")
    # eq. 17, multiplied by u: Hdot u is the acceleration at zero udot
    omega, v = H_w @ u, H_v @ u
    Hdot_w_u, Hdot_v_u = bias_acceleration(forward, q, u)
    omega_P = H_reversed[:3] @ u
    reversed_u = H_reversed @ u
    spin = np.concatenate([np.cross(omega_P, reversed_u[:3]), np.cross(omega_P, reversed_u[3:])])
    inner = turned(Hdot_w_u, Hdot_v_u + np.cross(p_BP, Hdot_w_u) + np.cross(v, omega))
    actual = np.concatenate(bias_acceleration(backward, q, u))
    scale = 1.0 + np.abs(actual).max()
    assert np.abs(actual - (spin - inner)).max() < ROUNDING * scale, "eq. 17"


def two_bodies(kind: str, seed: int) -> tuple[Model, Model]:
    """The same two bodies, joined by a joint from `first` to `second`: once rooted at `first`, once at `second`."""
    rng = np.random.default_rng(seed)
    first, second = random_body(rng, "first"), random_body(rng, "second")
    joint = JOINTS[kind](rng, "j", random_placement(rng, "first"), random_placement(rng, "second"))
    gravity = tuple(rng.normal(size=3))

    def rooted(at: str) -> Model:
        names = ("rx", "ry", "rz", "tx", "ty", "tz")
        root = FreeJoint("root", Placement("ground"), Placement(at), tuple(musculo.Coordinate(n) for n in names))
        return Model(f"rooted at {at}", (first, second), (root, joint), gravity=gravity)

    return rooted("first"), rooted("second")


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_a_chain_rooted_at_either_end_is_one_system(kind, seed):
    """Re-rooting keeps poses, energies, M and tau; the joint's own coordinates, speeds and force keep their numbers."""
    one, two = two_bodies(kind, seed)
    q, u, udot = random_state(one, np.random.default_rng(seed))
    motion = musculo.kinematics(one, q, u, udot)
    # the state of the second model: its root follows the second body, the joint keeps its coordinates
    X = motion.pose("second")
    q2, u2, udot2 = q.copy(), u.copy(), udot.copy()
    q2[:6] = [*to_xyz(X.R), *X.p]
    u2[:6] = [*motion.angular_velocity("second"), *motion.velocity("second")]
    udot2[:6] = [*motion.angular_acceleration("second"), *motion.acceleration("second")]
    again = musculo.kinematics(two, q2, u2, udot2)
    for body in ("first", "second"):
        assert_close(again.pose(body).R, motion.pose(body).R, ROUNDING, f"R of {body}")
        assert_close(again.pose(body).p, motion.pose(body).p, ROUNDING, f"p of {body}")
        for name in ("angular_velocity", "velocity", "angular_acceleration", "acceleration"):
            assert_close(getattr(again, name)(body), getattr(motion, name)(body), ROUNDING, f"{name} of {body}")
    # u = T u2: the root of the first model is its first body, and the joint's speeds are the same
    T = np.eye(len(u))
    T[:6] = again.frame_jacobian("first")
    assert_close(T @ u2, u, ROUNDING, "speeds")
    assert_close(musculo.mass_matrix(two, q2), T.T @ musculo.mass_matrix(one, q) @ T, ROUNDING, "M")
    tau, tau2 = musculo.inverse_dynamics(one, q, u, udot), musculo.inverse_dynamics(two, q2, u2, udot2)
    assert_close(tau2, T.T @ tau, ROUNDING, "tau")
    assert_close(musculo.kinetic_energy(two, q2, u2), musculo.kinetic_energy(one, q, u), ROUNDING, "T")
    assert_close(musculo.forward_dynamics(two, q2, u2, tau2), udot2, SOLVED, "udot")
    assert_close(musculo.coordinate_rates(two, q2, u2)[6:], musculo.coordinate_rates(one, q, u)[6:], ROUNDING, "N")


@pytest.mark.parametrize("kind", ["pin", "slider", "screw", "cylindrical"])
def test_reversing_twice_is_the_opposite_coordinate(kind):
    """For joints about or along one axis, the joint from the other side with -q is the joint itself."""
    forward = one_joint(kind, seed=7)
    backward = one_joint(kind, seed=7, backwards=True)
    q, u, udot = random_state(forward, np.random.default_rng(8))
    assert_close(
        musculo.inverse_dynamics(backward, -q, -u, -udot), -musculo.inverse_dynamics(forward, q, u, udot), ROUNDING
    )
    assert_close(musculo.mass_matrix(backward, -q), musculo.mass_matrix(forward, q), ROUNDING)
