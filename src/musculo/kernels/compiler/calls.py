"""Calls of C functions whose addresses are known when compiled code runs."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array


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
