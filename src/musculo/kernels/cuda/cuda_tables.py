"""Named tuples of arrays by address.

A model's paths are 41 arrays. By value each function they are handed to takes some 300 arguments, and typing, lowering
and assembling those took most of the time that path kernels compile. By address they are one: a row of words in device
memory, where each array has its address and then its shape, and what a function reads of an array it loads from there.
All arrays are C-contiguous, with items of eight bytes.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.kernels.cuda.cuda_device import cuda_module, simulated

Layout = tuple[tuple[str, str, int], ...]  # name, type and dimensions of each array


class DeviceTable(NamedTuple):
    """A named tuple on the device: what a CUDA kernel takes, and the arrays that have to live as long."""

    words: Any
    arrays: tuple[Any, ...]


def layout_of(named: Any) -> Layout:
    """What `view` has to know of a named tuple: the same for all models."""
    return tuple((name, array.dtype.name, array.ndim) for name, array in named._asdict().items())


def table_on_device(named: Any) -> DeviceTable:
    """Copy a named tuple to the device, for kernels that look at it through `view`."""
    cuda = cuda_module()
    arrays = type(named)(*(cuda.to_device(np.ascontiguousarray(array)) for array in named))
    if simulated():
        return DeviceTable(arrays, tuple(arrays))  # plain Python reads the arrays themselves
    words = [word for array in arrays for word in (array.device_ctypes_pointer.value or 0, *array.shape)]
    return DeviceTable(cuda.to_device(np.array(words, dtype=np.int64)), tuple(arrays))


def table_in_place(named: Any) -> DeviceTable:
    """A named tuple of arrays that are on the device already, for kernels that look at it through `view`."""
    if simulated():
        return DeviceTable(named, tuple(named))
    words = [word for array in named for word in (array.device_ctypes_pointer.value or 0, *array.shape)]
    return DeviceTable(cuda_module().to_device(np.array(words, dtype=np.int64)), tuple(named))


@cache
def view(layout: Layout) -> Any:
    """The device function that makes what kernels read like a named tuple of the words of one."""
    if simulated():
        return lambda words: words
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    table = _table_type()(layout)

    @intrinsic
    def view_of_words(typingctx, words):
        def codegen(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
            return builder.bitcast(array.data, ir.IntType(8).as_pointer())

        return table(words), codegen

    return view_of_words


@cache
def _table_type() -> Any:
    """Numba's type of such tables, made known to numba-cuda."""
    from llvmlite import ir
    from numba import from_dtype
    from numba.core import types
    from numba.cuda.cudadecl import registry as typing_registry
    from numba.cuda.cudaimpl import registry as lowering_registry
    from numba.cuda.extending import core_models, register_model  # type: ignore[attr-defined]
    from numba.cuda.np.arrayobj import populate_array
    from numba.cuda.typing.templates import AttributeTemplate

    class TableType(types.Type):
        def __init__(self, layout: Layout) -> None:
            self.layout = layout
            self.fields, self.first_word, at = {}, {}, 0
            for name, dtype, dimensions in layout:
                if np.dtype(dtype).itemsize != 8:
                    raise TypeError(f"{name} holds {dtype}, not items of eight bytes")
                self.fields[name] = types.Array(from_dtype(np.dtype(dtype)), dimensions, "C")
                self.first_word[name] = at
                at += 1 + dimensions
            super().__init__(name=f"Table_{hashlib.sha256(repr(layout).encode()).hexdigest()[:12]}")

        @property
        def key(self) -> Layout:
            return self.layout

    @register_model(TableType)
    class TableModel(core_models.PrimitiveModel):
        def __init__(self, manager: Any, type_: Any) -> None:
            super().__init__(manager, type_, ir.IntType(8).as_pointer())

    @typing_registry.register_attr
    class TableFields(AttributeTemplate):
        key = TableType

        def generic_resolve(self, type_: Any, name: str) -> Any:
            return type_.fields.get(name)

    @lowering_registry.lower_getattr_generic(TableType)
    def load_field(context, builder, type_, value, name):
        array_type, first = type_.fields[name], type_.first_word[name]
        words = builder.bitcast(value, ir.IntType(64).as_pointer())
        # nothing that runs on the device writes them, so that what was loaded once need not be loaded again
        unchanged = builder.module.add_metadata([])

        def word(k):
            loaded = builder.load(builder.gep(words, [ir.Constant(ir.IntType(32), first + k)]))
            loaded.set_metadata("invariant.load", unchanged)
            return loaded

        data = builder.inttoptr(word(0), context.get_data_type(array_type.dtype).as_pointer())
        shape = [word(1 + k) for k in range(array_type.ndim)]
        size = context.get_constant(types.intp, 8)
        strides = [size]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        array = context.make_array(array_type)(context, builder)
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    return TableType
