"""For which processor code is made: this machine's, or a level that many have."""

from __future__ import annotations

# Levels of x86-64, best first, with what LLVM is told beside the level's name. Registers of 512 bits are used in full:
# packs are that wide.
LEVELS = {"x86-64-v4": "-prefer-256-bit", "x86-64-v3": "", "x86-64-v2": ""}
