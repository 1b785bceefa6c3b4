#!/usr/bin/env python3
"""Check that imports inside the package point one way: a layer uses itself and the layers before it in `LAYERS`.

    python tools/check_imports.py [src/musculo]

Imports inside functions and under TYPE_CHECKING count, and so does `import_module("musculo...")`. The package's own
`__init__` is the shop window: it may show everything, and inside the package only `__version__` is taken from it.
Folders show names by stubs (`__init__.pyi`), which may name any layer: nothing is imported until it is used.
`__main__` is its door: it calls the shell, and nothing imports it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

# Kernels come right after spatial: they know only arrays, and functions evaluate through a kernel.
LAYERS = (
    "arrays",
    "window",
    "questions",
    "errors",
    "like",
    "spatial",
    "kernels",
    "functions",
    "signals",
    "model",
    "results",
    "io",
    "compile",
    "embedding",
    "dynamics",
    "muscle",
    "forces",
    "absolute",
    "simulation",
    "diagnostics",
    "analyses",
    "trajectory",
    "opensim_tools",
    "opensim",
    "replications",
    "viewer",
    "report",
    "demo",
    "cli",
)
FROM_ROOT = ("__version__",)


def violations(package: Path) -> list[str]:
    """One line for each import that points the wrong way: `file:line: rule`."""
    found = []
    for file in sorted(package.rglob("*.py")):
        inside = file.relative_to(package)
        if inside in (Path("__init__.py"), Path("__main__.py")):
            continue
        layer = inside.parts[0].removesuffix(".py")
        if layer not in LAYERS:
            found.append(
                f"{file}:1: {layer!r} is not a layer; add it to LAYERS in tools/check_imports.py, in its place"
            )
            continue
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
        for line, module in _imported(tree, package.name, (package.name, *inside.parent.parts)):
            problem = _problem(layer, module.split("."), package.name)
            if problem:
                found.append(f"{file}:{line}: {problem}")
    return found


def _problem(layer: str, module: list[str], root: str) -> str:
    """What is wrong with `layer` importing `module` (split at its dots), or nothing."""
    if module[0] != root:
        return ""
    if len(module) == 1 or module[1] in FROM_ROOT:
        return "" if len(module) > 1 else f"imports {root} itself; name the module that holds what is needed"
    target = module[1]
    if target not in LAYERS:
        return f"imports {'.'.join(module)}, which is not a layer; name the module that holds what is needed"
    if LAYERS.index(target) > LAYERS.index(layer):
        return (
            f"{layer} imports {'.'.join(module)}, but {target} comes after {layer}: a layer uses only those before it"
        )
    return ""


def _imported(tree: ast.AST, root: str, here: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Line and dotted name of everything that a file imports, relative imports resolved from the package `here`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] if node.level else []
            base += (node.module or "").split(".") if node.module else []
            if base == [root]:
                for alias in node.names:
                    yield node.lineno, f"{root}.{alias.name}"
            else:
                yield node.lineno, ".".join(base)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield node.lineno, node.args[0].value


def main() -> int:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "musculo"
    found = violations(package)
    for line in found:
        print(line)
    files = sum(1 for _ in package.rglob("*.py"))
    print(
        f"import directions: {len(found)} violation(s) in {files} files"
        if found
        else f"import directions: {files} files, all one way"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
