"""What packs of eight lanes (`packed`) are to Numba, and their operations as instructions of LLVM."""

from __future__ import annotations

import operator

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel, StructModel
from numba.core.typing.templates import AbstractTemplate, ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, register_model

from musculo.kernels.compiler.options import WIDTH

# Products may fuse with sums (as they do on the GPU); nothing is reordered, so results do not depend on the lane.
_FLAGS = ("contract",)
_VECTOR = ir.VectorType(ir.DoubleType(), WIDTH)


class PackType(types.Type):
    """Numba type of eight float64."""

    is_pack = True

    def __init__(self) -> None:
        super().__init__(name=f"float64x{WIDTH}")


class LanesType(types.Type):
    """Numba type of a (rows, WIDTH) float64 array seen as a column of packs."""

    def __init__(self) -> None:
        super().__init__(name=f"lanes_float64x{WIDTH}")


pack_type = PackType()
lanes_type = LanesType()


@register_model(PackType)
class _PackModel(PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _VECTOR)


@register_model(LanesType)
class _LanesModel(StructModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, [("data", types.CPointer(types.float64))])


def spread(builder, scalar):
    """LLVM vector whose lanes all hold a scalar."""
    vector = builder.insert_element(ir.Constant(_VECTOR, ir.Undefined), scalar, ir.Constant(ir.IntType(32), 0))
    mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH)
    return builder.shuffle_vector(vector, ir.Constant(_VECTOR, ir.Undefined), mask)


def _vector(context, builder, value, kind):
    if isinstance(kind, PackType):
        return value
    return spread(builder, context.cast(builder, value, kind, types.float64))


def _operator(symbol, instruction):
    """Give packs an arithmetic operator, with packs and float64 on the other side.

    Written as a lowering, not as a compiled overload: a kernel holds thousands of these, and each overload would be a
    function to compile, call and inline again.
    """

    class Template(ConcreteTemplate):
        cases = (
            signature(pack_type, pack_type, pack_type),
            signature(pack_type, pack_type, types.float64),
            signature(pack_type, types.float64, pack_type),
        )

    infer_global(symbol)(Template)

    def lower(context, builder, sig, args):
        x = _vector(context, builder, args[0], sig.args[0])
        y = _vector(context, builder, args[1], sig.args[1])
        return getattr(builder, instruction)(x, y, flags=_FLAGS)

    for left, right in ((PackType, PackType), (PackType, types.Float), (types.Float, PackType)):
        lower_builtin(symbol, left, right)(lower)


for _symbol, _instruction in (
    (operator.add, "fadd"),
    (operator.iadd, "fadd"),
    (operator.sub, "fsub"),
    (operator.isub, "fsub"),
    (operator.mul, "fmul"),
    (operator.imul, "fmul"),
    (operator.truediv, "fdiv"),
    (operator.itruediv, "fdiv"),
):
    _operator(_symbol, _instruction)


@infer_global(operator.neg)
class _Negative(ConcreteTemplate):
    cases = (signature(pack_type, pack_type),)


@lower_builtin(operator.neg, PackType)
def _lower_negative(context, builder, sig, args):
    return builder.fneg(args[0])


@intrinsic
def splat(typingctx, a):
    """A pack whose lanes all hold the scalar `a`."""

    def codegen(context, builder, signature, args):
        return _vector(context, builder, args[0], signature.args[0])

    return pack_type(a), codegen


@intrinsic
def lane_of(typingctx, a, k):
    """Lane k of a pack."""

    def codegen(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.int32)
        return builder.extract_element(args[0], index)

    return types.float64(a, k), codegen


@intrinsic
def with_lane(typingctx, a, k, x):
    """The pack with lane k replaced by x."""

    def codegen(context, builder, signature, args):
        index = context.cast(builder, args[1], signature.args[1], types.int32)
        return builder.insert_element(args[0], args[2], index)

    return pack_type(a, k, types.float64), codegen


def _declare(builder, name, result):
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, [_VECTOR]), name)


def _unary_llvm(name):
    @intrinsic
    def apply(typingctx, a):
        def codegen(context, builder, signature, args):
            fn = _declare(builder, f"llvm.{name}.v{WIDTH}f64", _VECTOR)
            return builder.call(fn, args)

        return pack_type(a), codegen

    return apply


pack_sqrt = _unary_llvm("sqrt")
pack_rint = _unary_llvm("rint")
pack_floor = _unary_llvm("floor")
pack_fabs = _unary_llvm("fabs")


@intrinsic
def select_equal(typingctx, a, b, x, y):
    """Per lane: x where a == b, else y; b is a scalar."""

    def codegen(context, builder, signature, args):
        other = _vector(context, builder, args[1], signature.args[1])
        return builder.select(builder.fcmp_ordered("==", args[0], other), args[2], args[3])

    return pack_type(a, b, x, y), codegen


@intrinsic
def largest(typingctx, a):
    """The largest lane of a pack (NaN if any lane is one)."""

    def codegen(context, builder, signature, args):
        fn = _declare(builder, f"llvm.vector.reduce.fmaximum.v{WIDTH}f64", ir.DoubleType())
        return builder.call(fn, args)

    return types.float64(a), codegen


@intrinsic
def lanes(typingctx, array):
    """View a C-contiguous (rows, WIDTH) float64 array as packs."""

    def codegen(context, builder, signature, args):
        ary = context.make_array(signature.args[0])(context, builder, args[0])
        view = cgutils.create_struct_proxy(lanes_type)(context, builder)
        view.data = ary.data
        return view._getvalue()

    if not isinstance(array, types.Array) or array.ndim != 2 or array.layout != "C" or array.dtype != types.float64:
        return None
    return lanes_type(array), codegen


def _address(context, builder, view, row):
    data = cgutils.create_struct_proxy(lanes_type)(context, builder, value=view).data
    index = builder.mul(row, ir.Constant(row.type, WIDTH))
    return builder.bitcast(builder.gep(data, [index]), _VECTOR.as_pointer())


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args, kws):
        view, index = args
        if isinstance(view, LanesType) and isinstance(index, types.BaseTuple):
            return signature(pack_type, view, index)
        return None


@lower_builtin(operator.getitem, LanesType, types.BaseTuple)
def _lower_getitem(context, builder, sig, args):
    row = context.cast(builder, builder.extract_value(args[1], 0), sig.args[1][0], types.intp)
    return builder.load(_address(context, builder, args[0], row), align=8)


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args, kws):
        view, index, value = args
        if isinstance(view, LanesType) and isinstance(index, types.BaseTuple):
            return signature(types.none, view, index, pack_type if isinstance(value, PackType) else types.float64)
        return None


@lower_builtin(operator.setitem, LanesType, types.BaseTuple, PackType)
@lower_builtin(operator.setitem, LanesType, types.BaseTuple, types.Float)
def _lower_setitem(context, builder, sig, args):
    row = context.cast(builder, builder.extract_value(args[1], 0), sig.args[1][0], types.intp)
    vector = _vector(context, builder, args[2], sig.args[2])
    builder.store(vector, _address(context, builder, args[0], row), align=8)
    return context.get_dummy_value()
