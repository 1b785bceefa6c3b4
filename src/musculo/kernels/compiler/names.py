"""What compiled code is named by: a hash of all that it is made of.

The compiler's version and the processor are not in it: libraries that ship serve whatever Numba a user has. The user's
own cache keeps code apart by both (`store`).
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

_PACKAGE = Path(__file__).parents[2]
_HERE = Path(__file__).parent
# Modules of the compiler that machine code is made by; the others only find, keep and call it.
_MAKERS = ("lowering", "entry", "references", "packs", "masks", "straight_line", "runtime", "options")
_IMPORT = re.compile(
    rb"^\s*(?:from\s+musculo\.(kernels[\w.]*)\s+import|import\s+musculo\.(kernels[\w.]*))", re.MULTILINE
)


@cache
def _read(file: Path) -> tuple[bytes, tuple[Path, ...]]:
    """A source's fingerprint, and the kernel modules that it imports."""
    content = file.read_bytes()
    found = (Path(_PACKAGE, *(a or b).decode().split(".")) for a, b in _IMPORT.findall(content))
    files = (path / "__init__.py" if path.is_dir() else path.with_suffix(".py") for path in found)
    return hashlib.sha256(content).digest(), tuple(sorted(files))


@cache
def sources(file: Path) -> tuple[Path, ...]:
    """The files that a module's kernels are made of: its own and every kernel module it imports, directly or not.

    Imports between kernels are written `from musculo.kernels... import ...`; folders inside folders are followed.
    """
    found, waiting = set(), {file, *(_HERE / f"{name}.py" for name in _MAKERS)}
    while waiting:
        path = waiting.pop()
        found.add(path)
        waiting |= {p for p in _read(path)[1] if p.parent != _HERE} - found
    return tuple(sorted(found))


@cache
def sources_hash(file: Path) -> str:
    """A fingerprint of these files."""
    digest = hashlib.sha256()
    for path in sources(file):
        inside = path.relative_to(_PACKAGE) if path.is_relative_to(_PACKAGE) else path.name
        digest.update(str(inside).encode())
        digest.update(_read(path)[0])
    return digest.hexdigest()


def code_name(function: str, file: Path, signature: str) -> str:
    """The name of a driver's code for certain arguments; it is also that of its functions in a library."""
    text = f"{sources_hash(file)} {function} {signature}"
    return f"{function}_{hashlib.sha256(text.encode()).hexdigest()[:20]}"


def code_name_at(where: str, signature: str) -> str:
    """The same for a driver `module:name` of the package, which need not be imported for it."""
    module, function = where.split(":")
    return code_name(function, Path(_PACKAGE.parent, *module.split(".")).with_suffix(".py"), signature)
