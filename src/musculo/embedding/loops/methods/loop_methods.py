"""The three ways to have joint variables of closed loops, by name [Ehsani2023, 3-3]."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Literal

from musculo.embedding.loops.methods.fitted_loop import Fitted
from musculo.embedding.loops.methods.joint_variables import LoopMethod
from musculo.embedding.loops.methods.loop_projection import Projection
from musculo.embedding.loops.methods.molecule import Molecule
from musculo.errors import UnknownName

LoopName = Literal["projection", "molecule", "fitted"]
_KNOWN: dict[str, LoopMethod] = {"projection": Projection(), "molecule": Molecule(), "fitted": Fitted()}


def in_words(loops: LoopName | LoopMethod) -> str:
    """A method as it was asked for, with its settings, for the provenance of results."""
    if isinstance(loops, str):
        return loops
    return repr(loops) if is_dataclass(loops) else type(loops).__name__


def method_of(loops: LoopName | LoopMethod) -> LoopMethod:
    """A method by its name, or as it was given."""
    if isinstance(loops, LoopMethod):
        return loops
    if loops not in _KNOWN:
        raise UnknownName("method for loops", str(loops), _KNOWN)
    return _KNOWN[loops]
