"""What masks (`musculo.kernels.scalar.choices`) are to Numba, and their operations as instructions of LLVM."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.datamodel import PrimitiveModel
from numba.extending import intrinsic, register_model

from musculo.kernels.compiler.machine_code.packs import PackType, pack_type, spread
from musculo.kernels.compiler.options import WIDTH

_FLAGS = ("contract",)
_TRUTHS = ir.VectorType(ir.IntType(1), WIDTH)
_INTEGERS = ir.VectorType(ir.IntType(64), WIDTH)
_NUMBERS = ir.VectorType(ir.DoubleType(), WIDTH)


class MaskType(types.Type):
    """Numba type of eight truths."""

    def __init__(self) -> None:
        super().__init__(name=f"mask_x{WIDTH}")


mask_type = MaskType()


@register_model(MaskType)
class _MaskModel(PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, _TRUTHS)


def _real(context, builder, kind, value, wide):
    """The real part of a scalar, as eight lanes where `wide`."""
    if isinstance(kind, PackType):
        return value
    if isinstance(kind, types.Complex):
        return context.make_complex(builder, kind, value=value).real
    value = context.cast(builder, value, kind, types.float64)
    return spread(builder, value) if wide else value


def _comparison(symbol: str) -> Any:
    def typed(typingctx, x, y):
        wide = isinstance(x, PackType) or isinstance(y, PackType)

        def codegen(context, builder, signature, args):
            left, right = (_real(context, builder, k, v, wide) for k, v in zip(signature.args, args, strict=True))
            return builder.fcmp_ordered(symbol, left, right)

        return (mask_type if wide else types.boolean)(x, y), codegen

    return intrinsic(typed)


less, at_most, equal = _comparison("<"), _comparison("<="), _comparison("==")


def _junction(instruction: str) -> Any:
    def typed(typingctx, x, y):
        def codegen(context, builder, signature, args):
            return getattr(builder, instruction)(*args)

        return x(x, y), codegen

    return intrinsic(typed)


both, either = _junction("and_"), _junction("or_")


@intrinsic
def opposite(typingctx, mask):
    def codegen(context, builder, signature, args):
        return builder.not_(args[0])

    return mask(mask), codegen


@intrinsic
def never(typingctx, x):
    wide = isinstance(x, PackType)

    def codegen(context, builder, signature, args):
        return ir.Constant(_TRUTHS, [0] * WIDTH) if wide else context.get_constant(types.boolean, False)

    return (mask_type if wide else types.boolean)(x), codegen


@intrinsic
def any_of(typingctx, mask):
    wide = isinstance(mask, MaskType)

    def codegen(context, builder, signature, args):
        if not wide:
            return args[0]
        bits = builder.bitcast(args[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", bits, ir.Constant(bits.type, 0))

    return types.boolean(mask), codegen


@intrinsic
def where(typingctx, mask, x, y):
    if isinstance(mask, MaskType):
        kind = pack_type
    else:
        kind = types.complex128 if isinstance(x, types.Complex) or isinstance(y, types.Complex) else types.float64

    def taken(context, builder, given, value):
        if given == kind:
            return value
        return (
            _real(context, builder, given, value, True)
            if kind == pack_type
            else context.cast(builder, value, given, kind)
        )

    def codegen(context, builder, signature, args):
        left = taken(context, builder, signature.args[1], args[1])
        right = taken(context, builder, signature.args[2], args[2])
        return builder.select(args[0], left, right)

    return kind(mask, x, y), codegen


@intrinsic
def real_part(typingctx, x):
    def codegen(context, builder, signature, args):
        return _real(context, builder, signature.args[0], args[0], False)

    return (pack_type if isinstance(x, PackType) else types.float64)(x), codegen


@intrinsic
def is_zero(typingctx, x):
    wide = isinstance(x, PackType)

    def codegen(context, builder, signature, args):
        kind = signature.args[0]
        nothing = ir.Constant(_NUMBERS, [0.0] * WIDTH) if wide else ir.Constant(ir.DoubleType(), 0.0)
        zero = builder.fcmp_ordered("==", _real(context, builder, kind, args[0], wide), nothing)
        if not isinstance(kind, types.Complex):
            return zero
        imag = context.make_complex(builder, kind, value=args[0]).imag
        return builder.and_(zero, builder.fcmp_ordered("==", imag, nothing))

    return (mask_type if wide else types.boolean)(x), codegen


# --- tables -----------------------------------------------------------------------------------------------------------
def _addresses(context, builder, signature, args):
    """Where each lane's place of a table is."""
    array = context.make_array(signature.args[0])(context, builder, args[0])
    places = builder.fptosi(args[1], _INTEGERS)
    for k in range(WIDTH):
        yield builder.gep(array.data, [builder.extract_element(places, ir.Constant(ir.IntType(32), k))])


@intrinsic
def entry_of(typingctx, table, place):
    wide = isinstance(place, PackType)

    def codegen(context, builder, signature, args):
        if not wide:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            return builder.load(
                builder.gep(array.data, [context.cast(builder, args[1], signature.args[1], types.intp)])
            )
        found = ir.Constant(_NUMBERS, ir.Undefined)
        for k, address in enumerate(_addresses(context, builder, signature, args)):
            found = builder.insert_element(found, builder.load(address), ir.Constant(ir.IntType(32), k))
        return found

    return (pack_type if wide else types.float64)(table, place), codegen


@intrinsic
def row_of(typingctx, table, place):
    wide = isinstance(place, PackType)
    result = types.UniTuple(pack_type if wide else types.float64, WIDTH)

    def codegen(context, builder, signature, args):
        if wide:
            # eight rows, one a lane, turned into eight packs: the table is read a whole row at a time
            rows = [
                builder.load(builder.bitcast(address, _NUMBERS.as_pointer()), align=8)
                for address in _addresses(context, builder, signature, args)
            ]
            values = _turned(builder, rows)
        else:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            first = builder.gep(array.data, [builder.fptosi(args[1], ir.IntType(64))])
            values = [builder.load(builder.gep(first, [ir.Constant(ir.IntType(64), k)])) for k in range(WIDTH)]
        return context.make_tuple(builder, signature.return_type, values)

    return result(table, place), codegen


def _turned(builder, rows):
    """The transpose of eight vectors of eight: neighbors at distance 4, 2 and 1 swap halves."""
    for distance in (4, 2, 1):
        turned = list(rows)
        for k in range(WIDTH):
            if k & distance:
                continue
            low = [j if not j & distance else WIDTH + j - distance for j in range(WIDTH)]
            high = [j + distance if not j & distance else WIDTH + j for j in range(WIDTH)]
            for target, order in ((k, low), (k + distance, high)):
                mask = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), order)
                turned[target] = builder.shuffle_vector(rows[k], rows[k + distance], mask)
        rows = turned
    return rows


@intrinsic
def turn_block(typingctx, source, row, column, target, target_row, target_column):
    """Copy the 8 x 8 block of a C-contiguous (rows, columns) array of float64 at a place, turned, to one of another."""

    def codegen(context, builder, signature, args):
        def line(k, array_type, value, row, column):
            array = context.make_array(array_type)(context, builder, value)
            width = builder.extract_value(array.shape, 1)
            index = builder.add(builder.mul(builder.add(row, ir.Constant(row.type, k)), width), column)
            return builder.bitcast(builder.gep(array.data, [index]), _NUMBERS.as_pointer())

        kinds, places = signature.args, [1, 2, 4, 5]
        row, column, to_row, to_column = (context.cast(builder, args[k], kinds[k], types.intp) for k in places)
        rows = [builder.load(line(k, kinds[0], args[0], row, column), align=8) for k in range(WIDTH)]
        for k, turned in enumerate(_turned(builder, rows)):
            builder.store(turned, line(k, kinds[3], args[3], to_row, to_column), align=8)
        return context.get_dummy_value()

    for array in (source, target):
        if not isinstance(array, types.Array) or array.ndim != 2 or array.layout != "C" or array.dtype != types.float64:
            return None
    return types.void(source, row, column, target, target_row, target_column), codegen


# --- the bits of a number -------------------------------------------------------------------------------------------
@intrinsic
def two_to(typingctx, k):
    """2^k of whole numbers k from -1022 to 1023, in a pack."""

    def codegen(context, builder, signature, args):
        bits = builder.add(builder.fptosi(args[0], _INTEGERS), ir.Constant(_INTEGERS, [1023] * WIDTH))
        return builder.bitcast(builder.shl(bits, ir.Constant(_INTEGERS, [52] * WIDTH)), _NUMBERS)

    return pack_type(k), codegen


@intrinsic
def mantissa_and_exponent(typingctx, x):
    """(m, k) with x = m 2^k and 1 <= m < 2, for normal positive numbers in a pack."""

    def codegen(context, builder, signature, args):
        bits = builder.bitcast(args[0], _INTEGERS)
        exponent = builder.sub(
            builder.lshr(bits, ir.Constant(_INTEGERS, [52] * WIDTH)), ir.Constant(_INTEGERS, [1023] * WIDTH)
        )
        rest = builder.and_(bits, ir.Constant(_INTEGERS, [(1 << 52) - 1] * WIDTH))
        rest = builder.or_(rest, ir.Constant(_INTEGERS, [1023 << 52] * WIDTH))
        both = [builder.bitcast(rest, _NUMBERS), builder.sitofp(exponent, _NUMBERS)]
        return context.make_tuple(builder, signature.return_type, both)

    return types.UniTuple(pack_type, 2)(x), codegen
