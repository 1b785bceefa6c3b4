"""Forces of a user's compiled function and accelerations in one call, so that no Python stands between them.

The function comes as the address of a C function `void (double t, double *q, double *u, double *tau)`, a number: so
these drivers are compiled once a machine, as all others, and not once a force.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from musculo.kernels.closed import closed_frames
from musculo.kernels.frames import aba_frames
from musculo.kernels.jit import driver


@intrinsic
def call_force(typingctx, address, t, q, u, tau):
    """Call the C function at `address` with t and the first elements of the arrays q, u and tau."""
    signature = types.void(types.int64, types.float64, q, u, tau)

    def codegen(context, builder, sig, args):
        places = zip(sig.args[2:], args[2:], strict=True)
        arrays = [make_array(kind)(context, builder, value).data for kind, value in places]
        double = ir.DoubleType()
        kind = ir.FunctionType(ir.VoidType(), [double, *[double.as_pointer()] * 3])
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [args[1], *arrays])
        return context.get_dummy_value()

    return signature, codegen


@driver
def driven_tree(force, t, q, u, tau, *arguments):
    """Add forces at (q, u), each (1, n), to tau (1, n_u), then `aba_frames(*arguments)`, which reads it."""
    call_force(force, t, q[0], u[0], tau[0])
    aba_frames(*arguments, 0, 1)


@driver
def driven_closed(force, t, q, u, tau, guess, *arguments):
    """The same with `closed_frames`, which finds q and u first; then forces are added there."""
    closed_frames(*arguments, 0, 1)
    call_force(force, t, q[0], u[0], tau[0])
    guess[0, :] = q[0, :]
    closed_frames(*arguments, 0, 1)
