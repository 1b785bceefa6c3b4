"""A shared library whose functions are addresses of this process, written without a compiler.

IPOPT loads linear solvers by name from a shared library. Such a library is a small file: this one's functions jump to
where functions of this process lie, so it serves this process alone.

Source: Tool Interface Standard (1995), Executable and Linking Format Specification, 1.2, with the 64-bit structures of
the System V application binary interfaces of both processors.
"""

from __future__ import annotations

import platform
import struct
import sys
from collections.abc import Mapping

_MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine
_PAGE = 0x10000  # the largest of both processors
_HEADER, _SEGMENT, _SECTION_SYMBOL = 64, 56, 24  # bytes of a file header, a program header and a symbol
_LOAD, _DYNAMIC, _STACK = 1, 2, 0x6474E551  # kinds of segments
_EXECUTE, _WRITE, _READ = 1, 2, 4
_HASH, _STRINGS, _SYMBOLS, _STRINGS_SIZE, _SYMBOL_SIZE = 4, 5, 6, 10, 11  # entries of the dynamic section


def can_be_written() -> bool:
    """Whether this system and processor are known here."""
    return sys.platform.startswith("linux") and platform.machine() in _MACHINES and struct.calcsize("P") == 8


def shared_object(functions: Mapping[str, int]) -> bytes:
    """A shared library with functions of these names at these addresses."""
    machine = platform.machine()
    jumps = [_jump(machine, address) for address in functions.values()]
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in functions)
    count = len(functions) + 1
    symbols_at = _HEADER + 4 * _SEGMENT
    hash_at = symbols_at + count * _SECTION_SYMBOL
    strings_at = hash_at + 4 * (3 + count)
    code_at = -(-(strings_at + len(strings)) // 16) * 16
    end = code_at + sum(map(len, jumps))
    # the loader writes into the dynamic section, so that is a page of its own
    dynamic_at = -(-end // _PAGE) * _PAGE
    entries = {
        _HASH: hash_at,
        _STRINGS: strings_at,
        _SYMBOLS: symbols_at,
        _STRINGS_SIZE: len(strings),
        _SYMBOL_SIZE: _SECTION_SYMBOL,
        0: 0,
    }
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in entries.items())

    symbols, name_at, place = [bytes(_SECTION_SYMBOL)], 1, code_at
    for name, jump in zip(functions, jumps, strict=True):
        symbols.append(struct.pack("<IBBHQQ", name_at, 0x12, 0, 1, place, len(jump)))  # a global function
        name_at, place = name_at + len(name.encode()) + 1, place + len(jump)
    # all in one bucket, each leading to the one after it
    chain = struct.pack(f"<{3 + count}I", 1, count, count > 1, 0, *range(2, count), *([0] if count > 1 else []))
    header = struct.pack(
        "<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, _MACHINES[machine], 1, 0, _HEADER, 0, 0, _HEADER, _SEGMENT, 4,
        64, 0, 0,
    )  # fmt: skip
    segments = [
        (_LOAD, _READ | _EXECUTE, 0, end, _PAGE),
        (_LOAD, _READ | _WRITE, dynamic_at, len(dynamic), _PAGE),
        (_DYNAMIC, _READ | _WRITE, dynamic_at, len(dynamic), 8),
        (_STACK, _READ | _WRITE, 0, 0, 16),
    ]
    table = b"".join(
        struct.pack("<IIQQQQQQ", kind, flags, at, at, at, size, size, align)
        for kind, flags, at, size, align in segments
    )
    front = header + table + b"".join(symbols) + chain + strings
    return (front.ljust(code_at, b"\0") + b"".join(jumps)).ljust(dynamic_at, b"\0") + dynamic


def _jump(machine: str, address: int) -> bytes:
    """Sixteen bytes or more that go on at an address."""
    if machine == "x86_64":  # endbr64; mov rax, address; jmp rax
        return (b"\xf3\x0f\x1e\xfa\x48\xb8" + struct.pack("<Q", address) + b"\xff\xe0").ljust(32, b"\xcc")
    # bti c; ldr x16, address; br x16
    return struct.pack("<IIIIQQ", 0xD503245F, 0x58000070, 0xD61F0200, 0, address, 0)
