"""Fingerprints of frozen values: the same in every process, for what is said and not for where it lies in memory."""

from __future__ import annotations

import dis
import hashlib
import os
import sysconfig
from collections.abc import Iterator, Mapping, Set
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import cached_property, partial
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

_PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes})
# Where installed packages and Python's own lie.
_INSTALLED = tuple({f"{sysconfig.get_path(name)}{os.sep}" for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def fingerprint_of(value: Any) -> str:
    """Sixteen digits that tell values apart by what they hold.

    Data count by their numbers. Functions count by what they compute: their bytecode, constants and defaults, and the
    values of the variables around them and the functions that they call, likewise; not by their names, nor by where
    they stand in a file. What is called of installed packages counts by its name, and so do classes. A function
    therefore has the same fingerprint in every process of one version of Python; another version may compile it to
    other bytecode.
    """
    return hashlib.sha256(_Teller().told(value).encode("utf-8", errors="surrogatepass")).hexdigest()[:16]


class _Teller:
    """Values as text that says all of them."""

    def __init__(self) -> None:
        self._around: list[int] = []  # what is being told
        self._functions: dict[int, int] = {}  # those told already: code that calls much is told in one pass

    def told(self, value: Any) -> str:
        kind = type(value)
        if kind in _PLAIN:
            return repr(value)
        if kind is tuple:
            return f"tuple({','.join(map(self.told, value))})"
        match value:
            case Enum():
                return f"{_name(type(value))}.{value.name}"
            case np.generic():
                return repr(value.item())
            case int() | float() | complex() | str() | bytes() | range() | slice():
                return repr(value)
            case np.ndarray() if not value.dtype.hasobject:
                return f"array{value.shape}{value.dtype.str}{hashlib.sha256(value.tobytes()).hexdigest()}"
            case ModuleType():
                return f"module {value.__name__}"
            case type():
                return f"class {_name(value)}"
            case np.ufunc():
                return f"function {value.__name__}"
            case BuiltinFunctionType() if isinstance(value.__self__, ModuleType | None):
                return f"function {_name(value)}"
        if id(value) in self._around:  # a function that calls itself, for instance
            return f"around {len(self._around) - self._around.index(id(value))}"
        if isinstance(value, FunctionType):
            if id(value) in self._functions:
                return f"told {self._functions[id(value)]}"
            self._functions[id(value)] = len(self._functions)
        self._around.append(id(value))
        parts = ",".join(f"{name}{self.told(part)}" for name, part in _parts(value))
        self._around.pop()
        return f"{kind.__name__}({parts})"


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value consists of, by name."""
    match value:
        case tuple() | list():
            yield from (("", part) for part in value)
        case np.ndarray():
            yield "shape=", value.shape
            yield "items=", value.ravel().tolist()
        case Set():
            yield from (("", text) for text in sorted(_Teller().told(part) for part in value))
        case Mapping():
            yield from ((f"{_Teller().told(key)}:", part) for key, part in value.items())
        case CodeType():
            counted = ("co_code", "co_consts", "co_names", "co_varnames", "co_freevars", "co_argcount", "co_flags")
            yield from ((f"{name}=", getattr(value, name)) for name in counted)
        case FunctionType():
            yield "code=", value.__code__
            yield "defaults=", (value.__defaults__, value.__kwdefaults__)
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
                with suppress(ValueError):  # one that holds nothing
                    yield f"{name}=", _named(cell.cell_contents)
            if not _is_installed(value):
                yield from ((f"{name}=", _named(value.__globals__[name])) for name in _globals_of(value))
        case MethodType() | BuiltinFunctionType():
            yield from (("function=", getattr(value, "__func__", value.__name__)), ("self=", value.__self__))
        case partial():
            yield from (("function=", value.func), ("args=", value.args), ("keywords=", value.keywords))
        case _ if hasattr(value, "py_func"):  # compiled by numba
            yield "function=", value.py_func
        case _ if is_dataclass(value):
            yield "kind=", type(value)
            yield from ((f"{field.name}=", getattr(value, field.name)) for field in fields(value))
            yield from _call_of(value)
        case _:
            yield "kind=", type(value)
            held = getattr(value, "__dict__", {}).items()
            kept = (
                (name, part) for name, part in held if not isinstance(getattr(type(value), name, None), cached_property)
            )
            yield from ((f"{name}=", _named(part)) for name, part in kept)
            slots = (name for part in type(value).__mro__ for name in vars(part).get("__slots__", ()))
            yield from ((f"{name}=", getattr(value, name)) for name in slots if hasattr(value, name))
            yield from _call_of(value)


def _call_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What an object does that can be called."""
    call = next((vars(part)["__call__"] for part in type(value).__mro__ if "__call__" in vars(part)), None)
    if isinstance(call, FunctionType):
        yield "call=", _named(call)


def _named(value: Any) -> Any:
    """A function of an installed package by its name: what lies behind it is that package's affair."""
    plain = getattr(value, "__wrapped__", value)
    return f"function {_name(plain)}" if isinstance(plain, FunctionType) and _is_installed(plain) else value


def _is_installed(function: FunctionType) -> bool:
    return function.__code__.co_filename.startswith(_INSTALLED)


def _globals_of(function: FunctionType) -> list[str]:
    """Variables of its module that a function, or one inside it, reads."""

    def read(code: CodeType) -> set[str]:
        own = {str(i.argval) for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
        return own.union(*(read(part) for part in code.co_consts if isinstance(part, CodeType)))

    return sorted(read(function.__code__) & function.__globals__.keys())


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
