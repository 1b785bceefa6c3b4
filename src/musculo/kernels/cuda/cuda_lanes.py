"""Named tuples on the device, nested ones among them, some of whose arrays every lane has for itself.

A lane's arrays lie side by side with those of its neighbors: entry k of all lanes, then entry k + 1. What a kernel
reads of its named tuple is an array with strides, as if it were alone; so kernels of one state, with the rooms they
work in, are those of the CPU. Parameters may be the same for all lanes, or each lane's own.

Two arrays that share memory on the host share it on the device: a force finds what another left for it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.errors import InvalidInput
from musculo.kernels.cuda.cuda_batches import THREADS
from musculo.kernels.cuda.cuda_code import jit
from musculo.kernels.cuda.cuda_device import cuda_module, simulated, with_names

# Kinds of fields: an array for all lanes, an array of each lane, a number for all, a number of each lane, named tuple.
SHARED, OWN, NUMBER, OWN_NUMBER, NESTED = "shared", "own", "number", "own number", "nested"
# Arrays of tables of functions that say themselves where each function's part begins: what is behind is not read.
_PADDED = ("data", "exponents")
Layout = tuple[tuple[str, str, Any, int], ...]  # name, kind, type or layout, dimensions


class EachLane(NamedTuple):
    """A number that is not the same for all simulations, in the place of one."""

    values: Sequence[float]


class _Array(NamedTuple):
    """An array of each lane, in rows of the lanes' memory."""

    first: int
    shape: tuple[int, ...]
    dtype: str
    varies: bool  # False: one row serves all lanes, so that what is the same and what is not have one type

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=int))


class LaneMemory:
    """What lanes have for themselves: rows of eight-byte words, one column a lane.

    A room that lanes write is claimed first; what is read of it by another name is found there.
    """

    def __init__(self) -> None:
        self.rows = 0
        self._initial: list[np.ndarray] = []  # words that all lanes begin with
        self._given: list[tuple[int, np.ndarray]] = []  # first row, (words, simulations)
        self._known: dict[tuple[int, int], _Array] = {}
        self._kept: list[Any] = []  # whose addresses are used
        self._constant: list[np.ndarray] = []  # words that lanes share, though their type is that of own ones
        self._constants = 0
        self._empty: set[int] = set()  # arrays of no size that were claimed

    # --- what goes where ----------------------------------------------------------------------------------------------
    def own(self, array: np.ndarray) -> _Array:
        """Rows for an array that each lane writes; all begin with its numbers."""
        found = self.known(array)
        if found is None:
            self._kept.append(array)
            if not array.size:
                self._empty.add(id(array))
            found = self._rows(array.shape, _word_type(array))
            self._initial.append(_words(array))
            self._known[array.ctypes.data, array.size] = found
        return found

    def vary(self, array: np.ndarray, arrays: Sequence[np.ndarray]) -> _Array:
        """Rows for an array with which simulations begin differently; where `array` is named, each finds its own."""
        self._kept.append(array)
        found = self._known[array.ctypes.data, array.size] = self._given_rows(_padded(arrays))
        return found

    def numbers(self, values: Sequence[float]) -> _Array:
        """Rows for a number of each simulation."""
        return self._given_rows([np.array([float(one)]) for one in values])

    def given(self, arrays: Sequence[np.ndarray]) -> _Array:
        """Rows for an array of each simulation."""
        return self._given_rows(_padded(arrays))

    def _given_rows(self, arrays: Sequence[np.ndarray]) -> _Array:
        first = arrays[0]
        found = self._rows(first.shape, _word_type(first))
        if all(one is first for one in arrays):
            self._initial.append(_words(first))
            return found
        self._initial.append(np.zeros(first.size, dtype=np.int64))
        rows = np.array(arrays, dtype=_word_type(first)).reshape(len(arrays), first.size)
        self._given.append((found.first, np.ascontiguousarray(rows.T).view(np.int64)))
        return found

    def same(self, array: np.ndarray) -> _Array:
        """Words for an array that all lanes read, of the type of those that each has."""
        found = _Array(self._constants, array.shape, _word_type(array), varies=False)
        self._constant.append(_words(array))
        self._constants += array.size
        return found

    def known(self, array: np.ndarray) -> _Array | None:
        """Its rows, if lanes have it for themselves; the same numbers may be looked at in another shape."""
        if not array.size:
            return _Array(0, array.shape, _word_type(array), varies=True) if id(array) in self._empty else None
        found = self._known.get((array.ctypes.data, array.size))
        if found is None or found.size != array.size:
            return found
        return found._replace(shape=array.shape)

    def _rows(self, shape: tuple[int, ...], dtype: str) -> _Array:
        found = _Array(self.rows, shape, dtype, varies=True)
        self.rows += int(np.prod(shape, dtype=int))
        return found

    # --- on the device ------------------------------------------------------------------------------------------------
    def on_device(self, lanes: int) -> LanesOnDevice:
        """Memory for so many lanes at once."""
        return LanesOnDevice(self, lanes)


class LanesOnDevice:
    """Memory of a batch of lanes, used for one batch after the other."""

    def __init__(self, memory: LaneMemory, lanes: int) -> None:
        cuda = cuda_module()
        self.memory, self.lanes = memory, lanes
        self.kept: list[Any] = []  # tables, and arrays that they have the addresses of
        self.words = cuda.device_array((max(memory.rows, 1), lanes), dtype=np.int64)
        constant = np.concatenate([np.zeros(1, dtype=np.int64), *memory._constant])
        self.constant = cuda.to_device(constant)
        initial = np.concatenate([np.zeros(0, dtype=np.int64), *memory._initial])
        given = [row + np.arange(len(words)) for row, words in memory._given]
        self._given_rows = np.concatenate([np.zeros(0, dtype=np.int64), *given]).astype(np.int64)
        self._all = np.concatenate([words for _, words in memory._given]) if given else None
        source = np.full(max(memory.rows, 1), -1, dtype=np.int64)
        source[self._given_rows] = np.arange(self._given_rows.size)
        self._initial = cuda.to_device(initial if initial.size else np.zeros(1, dtype=np.int64))
        self._source = cuda.to_device(source)

    def begin(self, first: int, stream: Any = 0) -> None:
        """All lanes as they begin, those of the simulations from `first` on; the last one fills what is left."""
        cuda = cuda_module()
        given = np.zeros((1, 1), dtype=np.int64)
        if self._all is not None:
            which = np.minimum(np.arange(first, first + self.lanes), self._all.shape[1] - 1)
            given = np.ascontiguousarray(self._all[:, which])
        grid = ((self.lanes + 31) // 32, (self.memory.rows + 7) // 8), (32, 8)
        if self.memory.rows:
            _filler()[grid](self._initial, self._source, cuda.to_device(given), self.words)

    def rows_of(self, array: _Array) -> Any:
        """The array of all lanes on the device, (entries, lanes) of words."""
        return self.words[array.first : array.first + int(np.prod(array.shape, dtype=int))]

    def read(self, array: _Array, lanes: int) -> np.ndarray:
        """The array of the first `lanes` lanes, (*shape, lanes)."""
        rows = self.rows_of(array)
        words = rows.copy_to_host() if array.shape and np.prod(array.shape) else np.zeros((0, self.lanes), np.int64)
        return words.view(array.dtype)[:, :lanes].reshape(*array.shape, lanes)


def _fill(initial, source, given, words):
    lane, row = cuda.grid(2)  # noqa: F821
    if row < words.shape[0] and lane < words.shape[1]:
        k = source[row]
        words[row, lane] = initial[row] if k < 0 else given[k, lane]


@cache
def _filler() -> Any:
    return jit(with_names(_fill))


def _word_type(array: np.ndarray) -> str:
    """Arrays of the device have items of eight bytes."""
    return "float64" if np.asarray(array).dtype.kind == "f" else "int64"


def _words(array: np.ndarray) -> np.ndarray:
    array = np.ascontiguousarray(array, dtype=_word_type(array))
    return array.reshape(-1).view(np.int64)


# --- named tuples ---------------------------------------------------------------------------------------------------
class _Placed(NamedTuple):
    """A named tuple whose fields have their places."""

    kind: type
    names: tuple[str, ...]
    fields: tuple[tuple[str, Any], ...]  # kind and: host array, `_Array`, number, `_Placed`


def claim(memory: LaneMemory, named: Any) -> None:
    """Make all arrays of a named tuple those of each lane."""
    for value in named:
        if isinstance(value, tuple):
            claim(memory, value)
        elif isinstance(value, np.ndarray):
            memory.own(value)


def placed(memory: LaneMemory, named: Sequence[Any], own_types: bool) -> _Placed:
    """Place a named tuple for all simulations, or one for each, what lanes have for themselves being claimed.

    Args:
        own_types: whether all arrays get the type of those that differ, so that whatever differs is compiled once.
    """
    first = named[0]
    fields: list[tuple[str, Any]] = []
    for name in first._fields:
        values = [getattr(one, name) for one in named]
        value = values[0]
        if isinstance(value, EachLane):
            fields.append((OWN_NUMBER, memory.numbers(value.values)))
        elif isinstance(value, tuple):
            fields.append((NESTED, placed(memory, values, own_types)))
        elif isinstance(value, np.ndarray):
            fields.append(_place(memory, name, values, own_types))
        elif own_types and any(one != value for one in values):
            fields.append((OWN_NUMBER, memory.numbers(values)))
        else:
            fields.append((NUMBER, value))
    return _Placed(type(first), tuple(first._fields), tuple(fields))


def _place(memory: LaneMemory, name: str, arrays: Sequence[np.ndarray], own_types: bool) -> tuple[str, Any]:
    first = arrays[0]
    known = memory.known(first)
    if known is not None:
        return OWN, known
    if any(one is not first and not np.array_equal(one, first, equal_nan=True) for one in arrays):
        if name not in _PADDED and any(one.shape != first.shape for one in arrays):
            raise InvalidInput(
                f"models of one call differ in their structure ({name}: {first.shape} here, "
                f"{next(one.shape for one in arrays if one.shape != first.shape)} there), which a GPU does not take"
            )
        return OWN, memory.given(arrays)
    if own_types:
        return OWN, memory.same(first)
    return SHARED, np.ascontiguousarray(first, dtype=_word_type(first))


def _padded(arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
    """Of one shape, the largest, with zeros behind."""
    shapes = {one.shape for one in arrays}
    if len(shapes) == 1:
        return arrays
    shape = np.max(list(shapes), axis=0)
    result = []
    for one in arrays:
        wide = np.zeros(shape, dtype=one.dtype)
        wide[tuple(slice(n) for n in one.shape)] = one
        result.append(wide)
    return result


def lane_layout(of: _Placed) -> Layout:
    """What `lane_view` has to know of it."""
    found: list[tuple[str, str, Any, int]] = []
    for name, (kind, value) in zip(of.names, of.fields, strict=True):
        if kind == NESTED:
            found.append((name, kind, lane_layout(value), 0))
        elif kind == NUMBER:
            found.append((name, kind, "float64" if isinstance(value, float) else "int64", 0))
        else:
            dtype = value.dtype if isinstance(value, _Array) else value.dtype.name
            found.append((name, kind, dtype, 0 if kind == OWN_NUMBER else len(value.shape)))
    return tuple(found)


def lanes_table(of: _Placed, on: LanesOnDevice) -> Any:
    """What a CUDA kernel takes for it: words on the device; in the simulator something that makes the tuples."""
    if simulated():
        return _Simulated(of, on)
    kept: list[Any] = []
    words = _table_words(of, on, kept)
    table = cuda_module().to_device(np.array(words, dtype=np.int64))
    on.kept.append((kept, table))
    return table


def _table_words(of: _Placed, on: LanesOnDevice, kept: list[Any]) -> list[int]:
    def address(array: Any) -> int:
        return int(array.device_ctypes_pointer.value or 0)

    words: list[int] = []
    for kind, value in of.fields:
        if kind == NESTED:
            words += _table_words(value, on, kept)
        elif kind == NUMBER:
            number = np.array([value], dtype=np.float64 if isinstance(value, float) else np.int64)
            words.append(int(number.view(np.int64)[0]))
        elif kind == SHARED:
            there = cuda_module().to_device(value if value.size else np.zeros(1, dtype=value.dtype))
            kept.append(there)
            words += [address(there), *value.shape]
        else:
            if value.varies:
                begin, unit, lane = address(on.words) + 8 * on.lanes * value.first, 8 * on.lanes, 8
            else:
                begin, unit, lane = address(on.constant) + 8 * (1 + value.first), 8, 0
            words += [begin, *(value.shape if kind == OWN else ()), unit, lane]
    return words


class _Simulated:
    """Named tuples of NumPy's arrays, one for each lane."""

    def __init__(self, of: _Placed, on: LanesOnDevice) -> None:
        self._placed, self._on = of, on

    def lane(self, lane: int) -> Any:
        return self._of(self._placed, lane)

    def _of(self, of: _Placed, lane: int) -> Any:
        values = []
        for kind, value in of.fields:
            if kind == NESTED:
                values.append(self._of(value, lane))
            elif kind in (NUMBER, SHARED):
                values.append(value)
            else:
                values.append(self._array(value, lane) if kind == OWN else self._array(value, lane)[0])
        return of.kind(*values)

    def _array(self, array: _Array, lane: int) -> np.ndarray:
        n = int(np.prod(array.shape, dtype=int))
        if array.varies:
            words = np.asarray(self._on.words)[array.first : array.first + n].view(array.dtype)
            return words.reshape(*array.shape, -1)[..., lane] if n else np.zeros(array.shape, dtype=array.dtype)
        first = 1 + array.first
        return np.asarray(self._on.constant)[first : first + n].view(array.dtype).reshape(array.shape)


def lanes_of_batch(memory: LaneMemory, simulations: int, most: int, share: float) -> int:
    """How many lanes the free memory holds, a whole number of blocks where there are several batches."""
    free = cuda_module().current_context().get_memory_info()[0]
    lanes = int(min(simulations, most, share * free // (8 * max(memory.rows, 1))))
    return max(1, lanes if lanes >= simulations else lanes // THREADS * THREADS)


def _lane_of(words):
    return words.lane(cuda.grid(1))  # noqa: F821


@cache
def lane_view(layout: Layout) -> Any:
    """The device function that makes what kernels read like a named tuple of the words of one."""
    if simulated():
        return cuda_module().jit(device=True)(with_names(_lane_of))
    from llvmlite import ir
    from numba.cuda.extending import intrinsic

    made = _lane_type()(layout)

    @intrinsic
    def view_of_words(typingctx, words):
        def codegen(context, builder, signature, arguments):
            array = context.make_array(signature.args[0])(context, builder, value=arguments[0])
            return builder.bitcast(array.data, ir.IntType(8).as_pointer())

        return made(words), codegen

    return view_of_words


@cache
def _lane_type() -> Any:
    """Numba's type of such tables, made known to numba-cuda."""
    from llvmlite import ir
    from numba import from_dtype
    from numba.core import types
    from numba.cuda.cudadecl import registry as typing_registry
    from numba.cuda.cudaimpl import registry as lowering_registry
    from numba.cuda.extending import core_models, register_model  # type: ignore[attr-defined]
    from numba.cuda.np.arrayobj import populate_array
    from numba.cuda.typing.templates import AttributeTemplate

    class LanesType(types.Type):
        def __init__(self, layout: Layout) -> None:
            self.layout, self.fields, at = layout, {}, 0
            for name, kind, what, dimensions in layout:
                if kind == NESTED:
                    made: Any = LanesType(what)
                    size = made.size
                elif kind in (NUMBER, OWN_NUMBER):
                    made, size = from_dtype(np.dtype(what)), 1 if kind == NUMBER else 3
                else:
                    made = types.Array(from_dtype(np.dtype(what)), dimensions, "C" if kind == SHARED else "A")
                    size = 1 + dimensions + (0 if kind == SHARED else 2)
                self.fields[name] = kind, made, at
                at += size
            self.size = at
            super().__init__(name=f"Lanes_{hashlib.sha256(repr(layout).encode()).hexdigest()[:12]}")

        @property
        def key(self) -> Layout:
            return self.layout

    @register_model(LanesType)
    class LanesModel(core_models.PrimitiveModel):
        def __init__(self, manager: Any, type_: Any) -> None:
            super().__init__(manager, type_, ir.IntType(8).as_pointer())

    @typing_registry.register_attr
    class LanesFields(AttributeTemplate):
        key = LanesType

        def generic_resolve(self, type_: Any, name: str) -> Any:
            return type_.fields[name][1] if name in type_.fields else None

    @lowering_registry.lower_getattr_generic(LanesType)
    def load_field(context, builder, type_, value, name):
        kind, made, first = type_.fields[name]
        long, byte = ir.IntType(64), ir.IntType(8)
        words = builder.bitcast(value, long.as_pointer())
        if kind == NESTED:
            return builder.bitcast(builder.gep(words, [ir.Constant(ir.IntType(32), first)]), byte.as_pointer())
        # nothing that runs on the device writes them, so that what was loaded once need not be loaded again
        unchanged = builder.module.add_metadata([])

        def word(k):
            loaded = builder.load(builder.gep(words, [ir.Constant(ir.IntType(32), first + k)]))
            loaded.set_metadata("invariant.load", unchanged)
            return loaded

        def lane():
            number = None
            for register in ("ctaid", "ntid", "tid"):
                kind_of = ir.FunctionType(ir.IntType(32), ())
                read = builder.module.globals.get(f"llvm.nvvm.read.ptx.sreg.{register}.x") or ir.Function(
                    builder.module, kind_of, f"llvm.nvvm.read.ptx.sreg.{register}.x"
                )
                one = builder.zext(builder.call(read, ()), long)
                number = one if number is None else (builder.mul if register == "ntid" else builder.add)(number, one)
            return number

        if kind == NUMBER:
            return builder.bitcast(word(0), context.get_data_type(made))
        if kind == OWN_NUMBER:
            place = builder.add(word(0), builder.mul(lane(), word(2)))
            return builder.load(builder.inttoptr(place, context.get_data_type(made).as_pointer()))
        place, shape = word(0), [word(1 + k) for k in range(made.ndim)]
        size = unit = context.get_constant(types.intp, 8)
        if kind == OWN:
            unit = word(1 + made.ndim)
            place = builder.add(place, builder.mul(lane(), word(2 + made.ndim)))
        strides = [unit]
        for extent in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], extent))
        array = context.make_array(made)(context, builder)
        data = builder.inttoptr(place, context.get_data_type(made.dtype).as_pointer())
        populate_array(array, data=data, shape=shape, strides=strides, itemsize=size, meminfo=None)
        return array._getvalue()

    return LanesType
