"""Machine code of a driver for arguments of certain types, and how it is called."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from musculo.arrays import IntArray
from musculo.kernels.compiler.signature import Shape, parsed

_FILL = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.py_object, ctypes.c_size_t, ctypes.c_void_p)
_RUN = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_NOTHING = -2  # what `run` answers where the function returns nothing
_RESULT = 16  # bytes in front of the struct: where `run` puts an error
_HEADER = object.__basicsize__  # of a Python object
_ARRAY_DATA = 32  # where in the struct of an array the address of its first element lies
_FORMATS = {"i8": "q", "f8": "d", "c16": "dd", "b1": "?"}


class Layout(NamedTuple):
    """Of the memory that a call takes."""

    size: int  # of the struct of arguments [bytes]
    offsets: tuple[int, ...]  # of each argument in it
    result: str  # the type of the result, as `signature` writes types
    result_size: int  # [bytes]


class Code:
    """Functions `fill` and `run` at their addresses (`entry` says what they do).

    Args:
        fill, run: addresses. layout: of the memory between them. owner: kept, for as long as the code is.
    """

    def __init__(self, fill: int, run: int, layout: Layout, owner: Any) -> None:
        self._fill, self._run, self.layout, self._owner = _FILL(fill), _RUN(run), layout, owner
        self._address = run
        # the result lies in front, the struct where any number may lie
        self._first = _RESULT + (layout.result_size + 63) // 64 * 64
        self._read = _reader(parsed(layout.result))
        self._free: list[Any] = []

    def take(self, arguments: tuple[Any, ...]) -> Any:
        """Memory with the arguments in it, for `run`; None where one is of another type."""
        try:
            memory = self._free.pop()
        except IndexError:  # threads take from it at once
            memory = _Memory(self._first + self.layout.size)
        if self._fill(arguments, np.ndarray, _HEADER, memory.address + self._first):
            self._free.append(memory)
            return None
        return memory

    def run(self, memory: Any) -> Any:
        """The result, once."""
        result = self.call(memory)
        self._free.append(memory)
        return result

    def call(self, memory: Any) -> Any:
        """The result of the arguments that the memory holds."""
        address = memory.address
        status = self._run(address + _RESULT, address, address + self._first)
        if status == _NOTHING:
            return None
        if status:
            raise MemoryError("a kernel found no memory to work in")
        return self._read(memory.buffer, _RESULT)

    def __call__(self, arguments: tuple[Any, ...]) -> Any:
        return self.run(self._taken(arguments))

    def bound_to(self, arguments: tuple[Any, ...]) -> Bound:
        """These arguments, taken apart for many calls."""
        return Bound(self, self._taken(arguments), arguments)

    def _taken(self, arguments: tuple[Any, ...]) -> Any:
        memory = self.take(arguments)
        if memory is None:
            raise TypeError("arguments of other types than the code was found for")
        return memory

    def words(self, memory: int, places: list[int]) -> IntArray:
        """The address of `run`, its arguments for the memory at an address, and places in it."""
        return np.array([self._address, memory + _RESULT, memory, memory + self._first, *places], dtype=np.int64)

    def place(self, argument: int) -> int:
        """Where in the memory of a call an argument lies."""
        return self._first + self.layout.offsets[argument]


class Bound:
    """A call whose arguments were taken apart once: arrays are read and written where they lie at every call."""

    __slots__ = ("_arguments", "_code", "_memory")

    def __init__(self, code: Code, memory: Any, arguments: tuple[Any, ...]) -> None:
        self._code, self._memory, self._arguments = code, memory, arguments

    def __call__(self) -> Any:
        return self._code.call(self._memory)

    def put(self, argument: int, value: float) -> None:
        """Give a number among the arguments another value, of the type of the first."""
        kind = "d" if isinstance(self._arguments[argument], float) else "q"
        struct.pack_into(kind, self._memory.buffer, self._code.place(argument), value)

    def as_function(self, count: int) -> IntArray:
        """The words by which compiled code calls it (`calls`), the first so many arguments given anew at every call.

        Those are numbers and arrays of the sizes of the first. The call has one memory, so one thread may make it at a
        time. They hold for as long as this object is kept.
        """
        memory = self._memory.address
        places = [
            memory + self._code.place(k) + (_ARRAY_DATA if isinstance(one, np.ndarray) else 0)
            for k, one in enumerate(self._arguments[:count])
        ]
        return self._code.words(memory, places)


def c_function(address: int) -> IntArray:
    """The words by which compiled code calls a C function (`calls`), which takes numbers and first elements."""
    return np.array([address, 0], dtype=np.int64)


class _Memory:
    """What one call works with."""

    __slots__ = ("address", "buffer")

    def __init__(self, size: int) -> None:
        self.buffer = ctypes.create_string_buffer(size + 64)
        self.address = ctypes.addressof(self.buffer)


def _reader(shape: Shape) -> Callable[[Any, int], Any]:
    """Reads a result of this type."""
    if shape.kind == "none":
        return lambda buffer, offset: None
    if shape.kind == "number":
        one = struct.Struct(_FORMATS[shape.name])
        if shape.name == "c16":
            return lambda buffer, offset: complex(*one.unpack_from(buffer, offset))
        return lambda buffer, offset: one.unpack_from(buffer, offset)[0]
    sizes = [_size(part) for part in shape.parts]
    places, readers = [], [_reader(part) for part in shape.parts]
    at = 0
    for size, align in sizes:
        at = -(-at // align) * align
        places.append(at)
        at += size
    return lambda buffer, offset: tuple(r(buffer, offset + at) for r, at in zip(readers, places, strict=True))


def _size(shape: Shape) -> tuple[int, int]:
    """Bytes of a result, and what its place is a multiple of."""
    if shape.kind == "number":
        size = struct.calcsize(_FORMATS[shape.name])
        return size, min(size, 8)
    at, most = 0, 1
    for part in shape.parts:
        size, align = _size(part)
        at = -(-at // align) * align + size
        most = max(most, align)
    return -(-at // most) * most, most
