"""Traced functions (`parts.Traced`) run once, in Python, with operands that emit instructions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from musculo.kernels.compiler.machine_code.packs import PackType, pack_type, spread

_FLAGS = ("contract",)
_FLOAT, _COMPLEX, _PACK = 0, 1, 2
_TYPES = {_FLOAT: types.float64, _COMPLEX: types.complex128, _PACK: pack_type}


def _kind_of(numba_type: Any) -> int:
    if isinstance(numba_type, PackType):
        return _PACK
    if isinstance(numba_type, types.Complex):
        return _COMPLEX
    if isinstance(numba_type, types.Float | types.Integer):
        return _FLOAT
    raise TypeError(f"a traced function takes numbers and tuples of them, not {numba_type}")


class _Operand:
    """A number while a traced function runs: its kind and, when code is emitted, its instructions' values."""

    def __init__(self, kind: int, builder: Any = None, re: Any = None, im: Any = None) -> None:
        self.kind, self.builder, self.re, self.im = kind, builder, re, im

    def _other(self, value: Any) -> _Operand:
        if isinstance(value, _Operand):
            return value
        return _Operand(_FLOAT, self.builder, ir.Constant(ir.DoubleType(), float(value)) if self.builder else None)

    def promoted(self, kind: int) -> _Operand:
        """The same number as another kind."""
        if self.kind == kind or self.builder is None:
            return _Operand(kind, self.builder, self.re, self.im)
        if kind == _PACK:
            return _Operand(kind, self.builder, spread(self.builder, self.re))
        return _Operand(kind, self.builder, self.re, ir.Constant(ir.DoubleType(), 0.0))

    def _pair(self, value: Any) -> tuple[int, _Operand, _Operand]:
        other = self._other(value)
        kind = max(self.kind, other.kind)
        return kind, self.promoted(kind), other.promoted(kind)

    def _linear(self, value: Any, instruction: str, swap: bool = False) -> _Operand:
        kind, a, b = self._pair(value)
        if swap:
            a, b = b, a
        if self.builder is None:
            return _Operand(kind)
        apply = getattr(self.builder, instruction)
        im = apply(a.im, b.im, flags=_FLAGS) if kind == _COMPLEX else None
        return _Operand(kind, self.builder, apply(a.re, b.re, flags=_FLAGS), im)

    def __add__(self, value: Any) -> _Operand:
        return self._linear(value, "fadd")

    def __radd__(self, value: Any) -> _Operand:
        return self._linear(value, "fadd", swap=True)

    def __sub__(self, value: Any) -> _Operand:
        return self._linear(value, "fsub")

    def __rsub__(self, value: Any) -> _Operand:
        return self._linear(value, "fsub", swap=True)

    def __mul__(self, value: Any) -> _Operand:
        kind, a, b = self._pair(value)
        if self.builder is None:
            return _Operand(kind)
        build = self.builder

        def times(x: Any, y: Any) -> Any:
            return build.fmul(x, y, flags=_FLAGS)

        if kind != _COMPLEX:
            return _Operand(kind, build, times(a.re, b.re))
        re = build.fsub(times(a.re, b.re), times(a.im, b.im), flags=_FLAGS)
        return _Operand(kind, build, re, build.fadd(times(a.re, b.im), times(a.im, b.re), flags=_FLAGS))

    __rmul__ = __mul__

    def __neg__(self) -> _Operand:
        if self.builder is None:
            return _Operand(self.kind)
        im = self.builder.fneg(self.im) if self.kind == _COMPLEX else None
        return _Operand(self.kind, self.builder, self.builder.fneg(self.re), im)


def _operands(context: Any, builder: Any, numba_type: Any, value: Any) -> Any:
    """Operands of one argument, nested as its tuples are; without a builder they carry kinds alone."""
    if isinstance(numba_type, types.BaseTuple):
        parts: list[Any] = list(numba_type)  # type: ignore[call-overload]
        return tuple(
            _operands(context, builder, part, builder.extract_value(value, k) if builder else None)
            for k, part in enumerate(parts)
        )
    kind = _kind_of(numba_type)
    if builder is None:
        return _Operand(kind)
    if kind == _COMPLEX:
        number = context.make_complex(builder, numba_type, value=value)
        return _Operand(kind, builder, number.real, number.imag)
    return _Operand(kind, builder, value if kind == _PACK else context.cast(builder, value, numba_type, types.float64))


def _uniform(result: Any) -> Any:
    """A tuple of numbers made of one kind, and so on inwards."""
    if not isinstance(result, tuple):
        return result
    parts = [_uniform(part) for part in result]
    if any(isinstance(part, tuple) for part in parts):
        return tuple(parts)
    kind = max(part.kind for part in parts)
    return tuple(part.promoted(kind) for part in parts)


def _type_of(result: Any) -> Any:
    if isinstance(result, tuple):
        return types.Tuple([_type_of(part) for part in result])
    return _TYPES[result.kind]


def _value_of(context: Any, builder: Any, result: Any) -> Any:
    if isinstance(result, tuple):
        return context.make_tuple(builder, _type_of(result), [_value_of(context, builder, part) for part in result])
    if result.kind == _COMPLEX:
        number = cgutils.create_struct_proxy(types.complex128)(context, builder)
        number.real, number.imag = result.re, result.im
        return number._getvalue()
    return result.re


def operation(function: Callable[..., Any]) -> Any:
    """What Numba knows a traced function by."""

    def run(operands: Any) -> Any:
        # traced functions that this one calls are run in Python too
        names = {name: getattr(part, "py_func", part) for name, part in function.__globals__.items()}
        return _uniform(FunctionType(function.__code__, names)(*operands))

    def typed(context: Any, arguments: tuple[Any, ...]) -> Any:
        result = run(_operands(None, None, part, None) for part in arguments)

        def codegen(target: Any, builder: Any, sig: Any, values: Any) -> Any:
            operands = (_operands(target, builder, part, x) for part, x in zip(sig.args, values, strict=True))
            return _value_of(target, builder, run(operands))

        return _type_of(result)(*arguments), codegen

    # Numba reads the number of arguments off the signature, so it is spelled out
    names = ", ".join(inspect.signature(function).parameters)
    space: dict[str, Any] = {"typed": typed}
    exec(f"def {function.__name__}(context, {names}): return typed(context, ({names},))", space)
    return intrinsic(space[function.__name__])
