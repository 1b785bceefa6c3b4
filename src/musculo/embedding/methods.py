"""The three ways to have joint variables of closed loops, by name [Ehsani2023, 3-3]."""

from __future__ import annotations

from musculo.embedding.fitted import Fitted
from musculo.embedding.molecule import Molecule
from musculo.embedding.projection import Projection
from musculo.embedding.variables import LoopMethod
from musculo.errors import UnknownName

_KNOWN: dict[str, LoopMethod] = {"projection": Projection(), "molecule": Molecule(), "fitted": Fitted()}


def method_of(loops: str | LoopMethod) -> LoopMethod:
    """A method by its name, or as it was given."""
    if isinstance(loops, LoopMethod):
        return loops
    if loops not in _KNOWN:
        raise UnknownName("method for loops", str(loops), _KNOWN)
    return _KNOWN[loops]
