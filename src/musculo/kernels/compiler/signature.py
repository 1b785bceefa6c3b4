"""The types of a driver's arguments as text, by which its machine code is named; Numba is not needed to write it.

number        i8  f8  c16  b1              Python's and NumPy's integers, floats, complex numbers and truths
array         f8[2]  i8[1F]  f8[2A]        type, dimensions; F: Fortran's order, A: any strides, else C's order
tuple         (f8,f8[2])
named tuple   musculo.kernels.tree.nodes:Tree(parent=i8[1],...)
nothing       none
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

_SCALARS: tuple[tuple[tuple[type, ...], str], ...] = (
    ((bool, np.bool_), "b1"),
    ((int, np.integer), "i8"),
    ((float, np.floating), "f8"),
    ((complex, np.complexfloating), "c16"),
)


class Unfit(TypeError):
    """An argument that no kernel takes."""


def text_of(value: Any) -> str:
    """The type of one argument.

    Raises:
        Unfit: kernels take numbers, arrays and tuples of such.
    """
    if isinstance(value, np.ndarray):
        order = "" if value.flags.c_contiguous else "F" if value.flags.f_contiguous else "A"
        if not (value.dtype.isnative and value.flags.aligned and value.dtype.kind in "biufc"):
            raise Unfit(f"an array of {value.dtype.str!r}; kernels take numbers in the machine's own byte order")
        return f"{value.dtype.str[1:]}[{value.ndim}{order}]"
    if isinstance(value, tuple):
        names = getattr(type(value), "_fields", None)
        if names is None:
            return f"({','.join(map(text_of, value))})"
        fields = ",".join(f"{name}={text_of(part)}" for name, part in zip(names, value, strict=True))
        return f"{type(value).__module__}:{type(value).__qualname__}({fields})"
    if value is None:
        return "none"
    for kinds, text in _SCALARS:
        if isinstance(value, kinds):
            return text
    raise Unfit(f"a {type(value).__name__}; kernels take numbers, arrays and tuples of such")


def signature_of(arguments: tuple[Any, ...]) -> str:
    """The types of a call's arguments."""
    return text_of(tuple(arguments))


class Shape(NamedTuple):
    """A type that was read from its text."""

    kind: str  # number, array, tuple, named or none
    name: str = ""  # of a number's or an array's type; module:class of a named tuple
    dimensions: int = 0
    order: str = "C"
    fields: tuple[str, ...] = ()
    parts: tuple[Shape, ...] = ()


def parsed(text: str) -> Shape:
    """The type that a text describes."""
    shape, rest = _one(text)
    if rest:
        raise ValueError(f"{rest!r} follows the signature {text[: len(text) - len(rest)]!r}")
    return shape


def _one(text: str) -> tuple[Shape, str]:
    stop = next((k for k, letter in enumerate(text) if letter in "[](),"), len(text))
    name, rest = text[:stop], text[stop:]
    if rest.startswith("["):
        inside, rest = rest[1:].split("]", 1)
        order = inside[-1] if inside[-1] in "FA" else "C"
        return Shape("array", name, int(inside.rstrip("FA")), order), rest
    if rest.startswith("("):
        fields, parts, rest = [], [], rest[1:]
        while not rest.startswith(")"):
            if name:
                field, rest = rest.split("=", 1)
                fields.append(field)
            part, rest = _one(rest)
            parts.append(part)
            rest = rest.removeprefix(",")
        return Shape("named" if name else "tuple", name, fields=tuple(fields), parts=tuple(parts)), rest[1:]
    return Shape("none" if name == "none" else "number", name), rest


def fits(shape: Shape, value: Any) -> bool:
    """Whether a value can be handed over as such a type: whole numbers may stand for others."""
    if shape.kind in ("tuple", "named"):
        same = isinstance(value, tuple) and len(value) == len(shape.parts)
        return same and all(fits(part, x) for part, x in zip(shape.parts, value, strict=True))
    try:
        text = text_of(value)
    except Unfit:
        return False
    if shape.kind == "number":
        return text in {"f8": ("f8", "i8"), "i8": ("i8", "b1")}.get(shape.name, (shape.name,))
    if shape.kind == "array":
        order = "" if shape.order == "C" else shape.order
        return text == f"{shape.name}[{shape.dimensions}{order}]"
    return value is None
