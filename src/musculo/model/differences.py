"""What differs between two models: for a scaled model, an edited file, another version."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, NamedTuple

import numpy as np

from musculo.model.model import Model

_IGNORED = ("source", "notes", "carried", "xml")
# Numbers that differ by less than files keep are the same.
DIGITS = 1e-9


class Difference(NamedTuple):
    """One entry that is not the same."""

    where: str  # `bodies/tibia_r/mass`
    first: Any  # None where the first model has no such thing
    second: Any

    def __str__(self) -> str:
        if self.first is None:
            return f"{self.where}: only in the second ({_short(self.second)})"
        if self.second is None:
            return f"{self.where}: only in the first ({_short(self.first)})"
        ratio = ""
        if _is_number(self.first) and _is_number(self.second) and self.first:
            ratio = f" (times {self.second / self.first:.4g})"
        return f"{self.where}: {_short(self.first)} -> {_short(self.second)}{ratio}"


@dataclass(frozen=True)
class Comparison:
    """What differs between two models; it prints as a list."""

    differences: tuple[Difference, ...]

    def __len__(self) -> int:
        return len(self.differences)

    def __iter__(self) -> Iterator[Difference]:
        return iter(self.differences)

    def __repr__(self) -> str:
        if not self.differences:
            return "no difference"
        return "\n".join(map(str, self.differences))

    def of(self, start: str) -> Comparison:
        """Those of one part, by the beginning of their place: `of("muscles/soleus_r")`."""
        return Comparison(tuple(one for one in self.differences if one.where.startswith(start)))


def compare(first: Model, second: Model, *, tolerance: float = DIGITS) -> Comparison:
    """What differs between two models, element by element: bodies, joints, coordinates, muscles, markers and all else.

    Elements are matched by name, wherever they stand. Where files are and what their readers noted does not count.

    Args:
        first, second: the models.
        tolerance: relative; numbers that are nearer are the same.
    """
    found: list[Difference] = []
    for field in fields(Model):
        if field.name not in _IGNORED:
            _differ(field.name, getattr(first, field.name), getattr(second, field.name), tolerance, found)
    return Comparison(tuple(found))


def _differ(where: str, a: Any, b: Any, tolerance: float, found: list[Difference]) -> None:
    if _named(a) and _named(b) and (a or b):
        mine, yours = ({one.name: one for one in each} for each in (a, b))
        for name in dict.fromkeys((*mine, *yours)):
            _differ(f"{where}/{name}", mine.get(name), yours.get(name), tolerance, found)
    elif a is None or b is None:
        if a is not b:
            found.append(Difference(where, a, b))
    elif is_dataclass(a) and type(a) is type(b):
        for field in fields(a):
            if field.name not in _IGNORED:
                _differ(f"{where}/{field.name}", getattr(a, field.name), getattr(b, field.name), tolerance, found)
    elif isinstance(a, tuple | list) and isinstance(b, tuple | list) and len(a) == len(b) and not _numbers(a):
        for k, (one, other) in enumerate(zip(a, b, strict=True)):
            _differ(f"{where}/{k}", one, other, tolerance, found)
    elif not _same(a, b, tolerance):
        found.append(Difference(where, a, b))


def _named(value: Any) -> bool:
    return isinstance(value, tuple) and all(is_dataclass(one) and hasattr(one, "name") for one in value)


def _numbers(value: Any) -> bool:
    return isinstance(value, tuple | list) and bool(value) and all(_is_number(one) for one in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _same(a: Any, b: Any, tolerance: float) -> bool:
    if (_is_number(a) or _numbers(a) or isinstance(a, np.ndarray)) and type(a) is type(b):
        one, other = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
        if one.shape != other.shape:
            return False
        size = max(float(np.abs(one).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
        return bool(np.array_equal(one, other, equal_nan=True) or np.abs(one - other).max() <= tolerance * size)
    return bool(a == b) if not isinstance(a, np.ndarray) else bool(np.array_equal(a, b))


def _short(value: Any, most: int = 60) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    if _numbers(value):
        text = "(" + ", ".join(f"{one:.6g}" for one in value) + ")"
    return text if len(text) <= most else text[: most - 3] + "..."
