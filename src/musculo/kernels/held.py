"""Tuples of arrays that stay where they are from call to call, of which kernels are handed the address.

A model and the room to work on it are hundreds of arrays. Taking them over from Python, or handing them from kernel to
kernel one by one, costs more than the mechanics of a small model, and most of the time that compiling takes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.datamodel import PrimitiveModel
from numba.core.registry import cpu_target
from numba.extending import NativeValue, intrinsic, register_model, typeof_impl, unbox

from musculo.kernels.jit import driver


class HeldType(types.Type):
    """Numba type of the address of a tuple."""

    def __init__(self, content: Any) -> None:
        self.content = content
        super().__init__(name=f"held({content})")


@register_model(HeldType)
class _HeldModel(PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, ir.IntType(64))


class Way(NamedTuple):
    """How contents of certain types come into memory."""

    kind: HeldType
    size: int  # [bytes]
    put: Any  # (content, address) -> None


def way_of(content: tuple[Any, ...]) -> Way:
    """That of contents like this one."""
    kind, context = numba.typeof(content), cpu_target.target_context
    size = context.get_abi_sizeof(context.get_value_type(kind))
    return Way(HeldType(kind), int(size), _put.compile((kind, types.int64)))


class Held:
    """A tuple in memory of its own.

    Args:
        content: arrays, numbers and tuples of such. It is kept, so that the arrays stay where they are.
        way: of contents of the same types, where it is known: to look at the type of every array takes its time.
    """

    __slots__ = ("_kept", "address", "kind")

    def __init__(self, content: tuple[Any, ...], way: Way | None = None) -> None:
        way = way_of(content) if way is None else way
        memory = np.zeros(way.size // 8 + 2)
        self.kind, self.address = way.kind, int(memory.ctypes.data)
        self._kept = (content, memory)
        way.put(content, self.address)


@typeof_impl.register(Held)
def _type_of(value, context):
    return value.kind


@unbox(HeldType)
def _unbox(kind, value, c):
    address = c.pyapi.object_getattr_string(value, "address")
    number = c.pyapi.long_as_longlong(address)
    c.pyapi.decref(address)
    return NativeValue(number)


@intrinsic
def _store(typingctx, content, address):
    def codegen(context, builder, signature, args):
        builder.store(args[0], builder.inttoptr(args[1], args[0].type.as_pointer()))
        return context.get_dummy_value()

    return types.void(content, types.int64), codegen


@driver
def _put(content, address):
    _store(content, address)


@intrinsic
def taken(typingctx, held):
    """The tuple at an address."""
    if not isinstance(held, HeldType):
        return None

    def codegen(context, builder, signature, args):
        kind = context.get_value_type(signature.return_type)
        return builder.load(builder.inttoptr(args[0], kind.as_pointer()))

    return held.content(held), codegen
