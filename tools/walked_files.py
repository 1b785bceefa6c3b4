#!/usr/bin/env python3
"""List the files of the package in which a function runs during a command: what a reader of it meets.

    python tools/walked_files.py ik MODEL.osim walk.trc -o FOLDER

What runs while modules are imported does not count. Kernels run as machine code and are not seen; the functions that
call them are.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PACKAGE = Path(__file__).parents[1] / "src" / "musculo"
_OF_FUNCTIONS = 0x02  # CO_NEWLOCALS, which bodies of classes and modules lack


def main() -> int:
    sys.path.insert(0, str(PACKAGE.parent))
    known: dict[CodeType, bool] = {}
    files: set[str] = set()

    def see(frame: FrameType, event: str, _: Any) -> None:
        if event != "call" or frame.f_code in known:
            return
        ours = frame.f_code.co_filename.startswith(str(PACKAGE))
        if ours and frame.f_code.co_flags & _OF_FUNCTIONS and _is_importing(frame):
            return  # it may run again in earnest
        known[frame.f_code] = ours
        if ours and frame.f_code.co_flags & _OF_FUNCTIONS:
            files.add(str(Path(frame.f_code.co_filename).relative_to(PACKAGE)))

    sys.argv = ["musculo", *sys.argv[1:]]
    threading.setprofile(see)
    sys.setprofile(see)
    try:
        from musculo.cli.main import main as musculo

        musculo()
    except SystemExit as ended:
        code = int(ended.code or 0)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    for name in sorted(files):
        print(name)
    layers = Counter(name.split("/")[0].removesuffix(".py") for name in files)
    print(f"{len(files)} files: {', '.join(f'{layer} {count}' for layer, count in layers.most_common())}")
    return code


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(str(PACKAGE)):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    sys.exit(main())
