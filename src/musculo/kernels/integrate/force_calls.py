"""Forces of a compiled function, called from kernels; and what they leave to be known of a state.

The function comes as an address, a number: so kernels that call it are compiled once a machine, as all others, and not
once a force. There lie words that name either a C function `void (double t, double *q, double *u, double *tau)`, which
a user's is made into, or a kernel (t, q, u, tau, ...) of the package with the data it takes besides.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import Lowered, spliced
from musculo.kernels.tree.turning_joints import turn

# Calls the function that the words at an address name: (address, t, q, u, tau).
call_force = Lowered("calls", "call_force")


@spliced
def add_forces(force, t, q, u, tau):
    """Add to tau what acts on a state; GPUs, which call nothing by address, have one of their own."""
    if force != 0:
        call_force(force, t, q, u, tau)


@spliced
def drive(p, x, force, tau, t):
    """Forces x.tau on the state x.q, x.u, and derivatives x.qdot of its coordinates; whether these are there.

    Args:
        p: a tree, with rows as in `musculo.kernels.tree.turning_joints`. x: `StateLanes`.
        force: address of words as above, or 0. tau: (n_u,) constant forces. t: time [s].
    """
    for i in range(tau.size):
        x.tau[i] = tau[i]
    add_forces(force, t, x.q, x.u, x.tau)
    return turn(p.speed_row, p.turning_q, p.turning_u, x.q, x.u, x.qdot)
