"""Every driver that the package calls is on the list of those that ship compiled, with the types it is called with.

`MUSCULO_RECORD=FILE` writes what is met into a file, for `tools/build_kernels.py record`, in place of failing.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import musculo
from musculo.kernels.compiler import parts
from musculo.kernels.compiler.canonical import signatures
from musculo.kernels.compiler.signature import fits, parsed, signature_of

_PACKAGE = Path(musculo.__file__).parent
_COMPILER = _PACKAGE / "kernels" / "compiler"
_find = parts.find_code


def _caller() -> Path:
    """The file that called a driver."""
    frame: Any = sys._getframe(2)
    while Path(frame.f_code.co_filename).parent == _COMPILER:
        frame = frame.f_back
    return Path(frame.f_code.co_filename)


def _found(driver: Any, arguments: tuple[Any, ...]) -> Any:
    where = driver.where
    if where.startswith("musculo.") and _caller().is_relative_to(_PACKAGE):
        known = signatures(where)
        if not any(fits(parsed(text), arguments) for text in known):
            signature = signature_of(arguments)
            record = os.environ.get("MUSCULO_RECORD")
            assert record, (
                f"{where} is called with {signature}, which is not among the drivers that ship compiled; hand it "
                "arrays in C's order as elsewhere, or write the list again (CONTRIBUTING.md, 'Compiled code')"
            )
            with open(record, "a", encoding="utf-8") as stream:
                stream.write(json.dumps([where, signature]) + "\n")
    return _find(driver, arguments)


def watch() -> None:
    """From now on a call that is not on the list fails."""
    parts.find_code = _found
