"""Andrews' squeezer with joint variables known beforehand: in the paper's equations, and reduced to a bead on a line.

The paper's way (`JOINT_VARIABLES`): joint variables are Fourier series of beta, and stand in the equations of all seven
bodies. One can go on from there, which the paper does not: with f(beta) known, the mechanism has a mass
m(beta) = J^T M J and a force Q(beta) = J^T tau, and moves like a bead of unit mass on a line whose place x is a
function of beta:

    x(beta) = integral of sqrt(m) dbeta,      m betaddot + 1/2 m' betadot^2 = Q.

So the squeezer becomes a joint of one coordinate from samples, its inertia and its force splines. That serves one
degree of freedom under forces of position alone, and costs less than the equations of seven bodies do.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from scipy.interpolate import PPoly, make_interp_spline

from musculo.arrays import FloatArray
from musculo.dynamics.inverse import mass_matrix
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.methods.fitted_loop import Fitted
from musculo.functions.sampled import SampledSpline
from musculo.kernels.integrate.known_forces import spline_force
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.joints import CustomJoint
from musculo.model.joints.joint import X_AXIS, Axis
from musculo.model.model import Model
from musculo.replications.closed_loops.mechanisms import squeezer_forces
from musculo.simulation.forces.kernel_force import KernelForce

# The paper sweeps beta in steps of 0.01; so many make one turn.
SWEEP = 629
# The paper's joint variables: "step length of 0.01" and "Fourier approximations" (section 4-4 B).
JOINT_VARIABLES = Fitted(ranges={"beta": (-math.pi, math.pi)}, samples=SWEEP + 1, kind="fourier")
# Samples of m and Q over a turn: splines through them err by less than 1e-11, relative.
_A_TURN = 500


class Reduced(NamedTuple):
    """A model of one joint, and the force on it."""

    model: Model
    forces: KernelForce


def reduced_squeezer(model: Model, beta_0: float, beta_end: float) -> Reduced:
    """The squeezer as a bead over a range of beta, by Fourier series of its joint variables."""
    e = embedding_of(model, independent=("beta",), loops=JOINT_VARIABLES)
    step = 2.0 * math.pi / _A_TURN
    margin = 10.0 * step
    beta = np.arange(beta_0 - margin, beta_end + margin, step)
    motion = e.motion(beta[:, None], np.zeros((len(beta), 1)))
    mass = np.einsum("fi,fij,fj->f", motion.J[:, :, 0], mass_matrix(model, motion.q), motion.J[:, :, 0])
    force = np.einsum("fi,fi->f", motion.J[:, :, 0], squeezer_forces(model, motion.q))
    place = make_interp_spline(beta, np.sqrt(mass), k=5).antiderivative()(beta)
    along = Axis(X_AXIS, SampledSpline(tuple(beta), tuple(place), 7), ("beta",))
    coordinate = Coordinate("beta", default_value=beta_0, range=(float(beta[0]), float(beta[-1])))
    joint = CustomJoint("squeezer", Placement("ground"), Placement("bead"), (coordinate,), translations=(along,))
    bead = Body("bead", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    return Reduced(Model("reduced squeezer", (bead,), (joint,), gravity=(0.0, 0.0, 0.0)), _force(beta, force))


def _force(beta: FloatArray, force: FloatArray) -> KernelForce:
    """A spline of fifth degree through equidistant samples."""
    pieces = PPoly.from_spline(make_interp_spline(beta, force, k=5))
    # pieces of no length stand at the ends of a spline; others may be longer than a step there
    kept = np.diff(pieces.x) > 0.0
    starts, rows = np.ascontiguousarray(pieces.x[:-1][kept]), np.ascontiguousarray(pieces.c[:, kept].T)
    return KernelForce(spline_force, 0, starts, rows)
