"""Libraries of compiled code that the package carries."""

from __future__ import annotations

from musculo.kernels.compiler.code import Code


def find(name: str) -> Code | None:
    return None


def has(name: str) -> bool:
    return False
