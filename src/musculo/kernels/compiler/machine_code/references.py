"""Named tuples of arrays handed from kernel to kernel as an address; attributes are read where they are used.

A model and the room to work on it are hundreds of arrays. Handing them over one by one at every call costs more than
the mechanics of a small model, and most of the time that compiling takes (measured: geometry of Rajagopal's model 171
us a pose by value, 129 by address).
"""

from __future__ import annotations

import hashlib
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import PrimitiveModel
from numba.core.imputils import lower_getattr_generic
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import intrinsic, register_model

_WORD = ir.IntType(64)


class Reference(types.Type):
    """Type of the address of a tuple. The names of functions are made of those of types, so it is short.

    `constant`: what lies there stays as it is for as long as compiled code runs, and the compiler may rely on it.
    """

    def __init__(self, content: Any, constant: bool) -> None:
        self.content, self.constant = content, constant
        code = hashlib.sha256(str(content).encode()).hexdigest()[:10]
        name = getattr(getattr(content, "instance_class", None), "__name__", "tuple")
        super().__init__(name=f"{'at' if constant else 'near'}_{name}_{code}")


@register_model(Reference)
class _Model(PrimitiveModel):
    def __init__(self, dmm: Any, fe_type: Any) -> None:
        super().__init__(dmm, fe_type, _WORD)


def _parts(kind: Any) -> tuple[Any, ...]:
    return tuple(kind)


def referred(kind: Any, constant: bool) -> Any:
    """The type as which a value that lies in memory is handed on: named tuples by address, also inside tuples."""
    if isinstance(kind, types.BaseNamedTuple):
        return Reference(kind, constant)
    if isinstance(kind, types.BaseTuple) and any(isinstance(part, types.BaseTuple) for part in _parts(kind)):
        return types.Tuple([referred(part, constant) for part in _parts(kind)])
    return kind


def _taken(context: Any, builder: Any, kind: Any, pointer: Any, constant: bool) -> Any:
    """The value of type `referred(kind)` of what lies at a pointer."""
    wanted = referred(kind, constant)
    if isinstance(wanted, Reference):
        return builder.ptrtoint(pointer, _WORD)
    if wanted != kind:
        parts = [
            _taken(context, builder, part, cgutils.gep_inbounds(builder, pointer, 0, k), constant)
            for k, part in enumerate(kind)
        ]
        return context.make_tuple(builder, wanted, parts)
    value = builder.load(pointer)
    if constant:
        value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@infer_getattr
class _Attributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, typ: Any, attr: str) -> Any:  # type: ignore[override]
        fields = getattr(typ.content, "fields", ())
        return referred(typ.content.types[fields.index(attr)], typ.constant) if attr in fields else None


@lower_getattr_generic(Reference)
def _attribute(context: Any, builder: Any, typ: Any, value: Any, attr: str) -> Any:
    k = typ.content.fields.index(attr)
    pointer = builder.inttoptr(value, context.get_value_type(typ.content).as_pointer())
    return _taken(context, builder, typ.content.types[k], cgutils.gep_inbounds(builder, pointer, 0, k), typ.constant)


@intrinsic
def unpacked(typingctx, at):
    """The tuple at an address, its named tuples by address."""
    if not isinstance(at, Reference):
        return None

    def codegen(context, builder, signature, args):
        pointer = builder.inttoptr(args[0], context.get_value_type(at.content).as_pointer())
        parts = [
            _taken(context, builder, part, cgutils.gep_inbounds(builder, pointer, 0, k), at.constant)
            for k, part in enumerate(at.content)
        ]
        return context.make_tuple(builder, signature.return_type, parts)

    return types.Tuple([referred(part, at.constant) for part in at.content])(at), codegen


@intrinsic
def by_address(typingctx, content):
    """A named tuple that was made in a driver, kept in its memory and handed on by address."""
    if not isinstance(content, types.BaseNamedTuple):
        return content(content), lambda context, builder, signature, args: args[0]

    def codegen(context, builder, signature, args):
        return builder.ptrtoint(cgutils.alloca_once_value(builder, args[0]), _WORD)

    return Reference(content, False)(content), codegen
