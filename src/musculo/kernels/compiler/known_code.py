"""Machine code that nobody has to wait for: what the package carries, and what was kept from before."""

from __future__ import annotations

from musculo.kernels.compiler import shipped, store
from musculo.kernels.compiler.driver_code import Code
from musculo.kernels.compiler.names import code_name_at


def known_code(name: str) -> Code | None:
    """Code of this name; None where it has to be compiled."""
    return shipped.find(name) or store.find(name)


def has_code(where: str, signature: str) -> bool:
    """Whether nobody has to wait for the code of a driver `module:name` of the package."""
    name = code_name_at(where, signature)
    return shipped.has(name) or store.is_there(name)
