"""Kernels take at most eight arguments: what belongs together goes as a named tuple."""

from __future__ import annotations

import ast
from pathlib import Path

import musculo

KERNELS = Path(musculo.__file__).parent / "kernels"
MOST = 8


def test_no_kernel_takes_more_than_eight_arguments():
    found, long = 0, []
    for path in sorted(KERNELS.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                found += 1
                given = node.args
                count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
                if count > MOST:
                    long.append(f"{path.relative_to(KERNELS)}:{node.lineno} {node.name} takes {count}")
    assert found > 1000
    assert not long, "\n".join(long)
