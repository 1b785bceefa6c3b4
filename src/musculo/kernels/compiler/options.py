"""What machine code is made for: how many lanes a pack holds, and for which processors it ships.

A level is a set of instructions that many processors share (x86-64-v3: AVX2 and fused multiply-add, v4: AVX-512).
"""

from __future__ import annotations

import platform
import sys
from functools import cache
from pathlib import Path

# Lanes of a pack: the float64 of a register of 512 bits.
WIDTH = 8

# For each kind of machine its levels, best first, with what LLVM is told: the processor, and features beside those that
# it has. Registers of 512 bits are used in full, since packs are that wide.
LEVELS: dict[str, dict[str, tuple[str, str]]] = {
    "x86_64": {
        "x86-64-v4": ("x86-64-v4", "-prefer-256-bit"),
        "x86-64-v3": ("x86-64-v3", ""),
        "x86-64-v2": ("x86-64-v2", ""),
    },
    "aarch64": {"aarch64": ("generic", "+neon")},
    "arm64": {"arm64": ("apple-m1", "")},
}
# What Linux calls the instructions of a level.
_FLAGS = {
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
    "x86-64-v3": "avx2 bmi1 bmi2 f16c fma abm movbe",
    "x86-64-v2": "sse4_2 popcnt ssse3",
}


def machine() -> str:
    """The kind of this machine, a key of `LEVELS` if code can ship for it."""
    name = platform.machine().lower()
    return "x86_64" if name == "amd64" else name


@cache
def levels_here() -> tuple[str, ...]:
    """The levels that this machine has, best first."""
    levels = LEVELS.get(machine(), {})
    if machine() != "x86_64":
        return tuple(levels)
    flags = _instructions()
    # a level has all that those after it have
    return tuple(name for k, name in enumerate(levels) if all(_has(flags, n) for n in list(levels)[k:]))


def _has(flags: frozenset[str], level: str) -> bool:
    return set(_FLAGS[level].split()) <= flags


def _instructions() -> frozenset[str]:
    """By Linux's names; where they cannot be asked for, those that every processor of ten years has."""
    if sys.platform.startswith("linux"):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("flags"):
                return frozenset(line.split(":", 1)[1].split())
    return frozenset(_FLAGS["x86-64-v2"].split())
