#!/usr/bin/env python3
"""Check that imports inside the package point one way: a layer uses itself and the layers before it in `LAYERS`, and no
files import each other in a circle.

    python tools/check_imports.py [src/musculo]

Imports inside functions and under TYPE_CHECKING count, and so does `import_module("musculo...")`. The package's own
`__init__` is the shop window: it may show everything, and inside the package only `__version__` is taken from it.
Folders show names by stubs (`__init__.pyi`), which may name any layer: nothing is imported until it is used.
`__main__` is its door: it calls the shell, and nothing imports it.
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

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
    "study",
    "demo",
    "cli",
)
FROM_ROOT = ("__version__",)


class Import(NamedTuple):
    """One import of a file, relative ones resolved."""

    line: int
    module: str  # dotted; a name that is taken from the root itself counts to it
    names: tuple[str, ...]  # that are taken from it


def read(package: Path) -> dict[Path, list[Import]]:
    """The imports of every file."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"), filename=str(file))
        found[file] = list(_imported(tree, package.name, (package.name, *file.relative_to(package).parent.parts)))
    return found


def violations(package: Path, files: dict[Path, list[Import]]) -> list[str]:
    """One line for each import that points the wrong way: `file:line: rule`."""
    found = []
    for file, imports in files.items():
        inside = file.relative_to(package)
        if inside in (Path("__init__.py"), Path("__main__.py")):
            continue
        layer = inside.parts[0].removesuffix(".py")
        if layer not in LAYERS:
            found.append(
                f"{file}:1: {layer!r} is not a layer; add it to LAYERS in tools/check_imports.py, in its place"
            )
            continue
        for line, module, _ in imports:
            problem = _problem(layer, module.split("."), package.name)
            if problem:
                found.append(f"{file}:{line}: {problem}")
    return found


def cycle(package: Path, files: dict[Path, list[Import]]) -> list[str]:
    """A line for a circle of files, `file:line: imports the next`; none where there is no circle."""
    lines = {
        file: {target: one.line for one in reversed(imports) for target in _targets(one, package) if target != file}
        for file, imports in files.items()
    }
    try:
        TopologicalSorter(lines).prepare()
    except CycleError as error:
        around = error.args[1][::-1]
        steps = [f"{file}:{lines[file][target]}" for file, target in itertools.pairwise(around)]
        return [f"{steps[0]}: imports itself by way of {', '.join(steps[1:])}"]
    return []


def _targets(one: Import, package: Path) -> set[Path]:
    """The files of the package that an import is of; a name that a stub shows is of the file that the stub names."""
    if one.module.split(".")[0] != package.name:
        return set()
    base = package.parent.joinpath(*one.module.split("."))
    shown = {}
    if (base / "__init__.pyi").exists():
        stub = ast.parse((base / "__init__.pyi").read_text(encoding="utf-8"))
        imports = [node for node in stub.body if isinstance(node, ast.ImportFrom)]
        shown = {alias.name: node.module or "" for node in imports for alias in node.names}
    modules = [f"{one.module}.{name}" for name in one.names]
    modules = [name if _file(package, name) else shown.get(name.split(".")[-1], one.module) for name in modules]
    return {file for module in (modules or [one.module]) if (file := _file(package, module)) is not None}


def _file(package: Path, module: str) -> Path | None:
    """Where a module is written."""
    path = package.parent.joinpath(*module.split("."))
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()), None)


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


def _imported(tree: ast.AST, root: str, here: tuple[str, ...]) -> Iterator[Import]:
    """Everything that a file imports, relative imports resolved from the package `here`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, ())
        elif isinstance(node, ast.ImportFrom):
            base = [*here[: len(here) - node.level + 1]] if node.level else []
            base += (node.module or "").split(".") if node.module else []
            if base == [root]:
                for alias in node.names:
                    yield Import(node.lineno, f"{root}.{alias.name}", ())
            else:
                yield Import(node.lineno, ".".join(base), tuple(alias.name for alias in node.names))
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name in ("import_module", "__import__") and isinstance(node.args[0].value, str):
                yield Import(node.lineno, node.args[0].value, ())


def main() -> int:
    package = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "src" / "musculo"
    files = read(package)
    found = [*violations(package, files), *cycle(package, files)]
    for line in found:
        print(line)
    print(
        f"import directions: {len(found)} violation(s) in {len(files)} files"
        if found
        else f"import directions: {len(files)} files, all one way"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
