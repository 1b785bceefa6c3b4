"""Calls of functions whose addresses are known when compiled code runs."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

_WORD, _BYTES = ir.IntType(64), ir.IntType(8).as_pointer()


@intrinsic
def call_force(typingctx, address, t, q, u, tau):
    """Call the function that the words at `address` name with t and the arrays q, u and tau.

    The words are those of `musculo.kernels.compiler.driver_code.c_function`, or of `Bound.as_function`.
    """
    signature = types.void(types.int64, types.float64, q, u, tau)

    def codegen(context, builder, sig, args):
        places = zip(sig.args[2:], args[2:], strict=True)
        given = [args[1], *(make_array(kind)(context, builder, value).data for kind, value in places)]
        words = builder.inttoptr(args[0], _WORD.as_pointer())

        def word(k):
            return builder.load(builder.gep(words, [ir.Constant(_WORD, k)]))

        def function(result, *arguments):
            return builder.inttoptr(word(0), ir.FunctionType(result, arguments).as_pointer())

        with builder.if_else(builder.icmp_signed("==", word(1), ir.Constant(_WORD, 0))) as (plain, bound):
            with plain:
                builder.call(function(ir.VoidType(), *(value.type for value in given)), given)
            with bound:
                for k, value in enumerate(given):
                    builder.store(value, builder.inttoptr(word(4 + k), value.type.as_pointer()))
                memory = [builder.inttoptr(word(k), _BYTES) for k in (1, 2, 3)]
                builder.call(function(ir.IntType(32), _BYTES, _BYTES, _BYTES), memory)
        return context.get_dummy_value()

    return signature, codegen
