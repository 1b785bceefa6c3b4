"""The check of import directions finds what it should, and nothing in the package."""

from __future__ import annotations

import itertools
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CHECK = ROOT / "tools" / "check_imports.py"


def check(package: Path) -> tuple[int, str]:
    done = subprocess.run([sys.executable, str(CHECK), str(package)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def tree(folder: Path, **files: str) -> Path:
    """A package `musculo` with files named layer__module."""
    package = folder / "musculo"
    for name, text in {"__init__": "", **files}.items():
        file = package / (name.replace("__", "/") if name != "__init__" else name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_suffix(".py").write_text(text)
    return package


def test_the_package_points_one_way():
    status, text = check(ROOT / "src" / "musculo")
    assert (status, text.count("\n")) == (0, 1), text


@pytest.mark.parametrize(
    "line",
    [
        "from musculo.dynamics.inverse import mass_matrix",
        "import musculo.dynamics.inverse",
        "from ..dynamics import inverse",
        "from musculo import dynamics",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from musculo.dynamics import inverse",
        "def late():\n    from musculo.dynamics import inverse",
        "from importlib import import_module\nimport_module('musculo.dynamics.inverse')",
    ],
)
def test_an_import_down_the_list_is_found(tmp_path, line):
    status, text = check(tree(tmp_path, model__body=line, dynamics__inverse=""))
    assert status == 1
    assert f"body.py:{line.count(chr(10)) + 1}: model imports musculo.dynamics" in text


@pytest.mark.parametrize("line", ["import musculo", "from musculo import Model", "from musculo import read_osim"])
def test_the_shop_window_is_not_for_the_package(tmp_path, line):
    status, text = check(tree(tmp_path, cli__main=line))
    assert status == 1
    assert "name the module that holds" in text


@pytest.mark.parametrize(
    "line",
    [
        "from musculo.model.joint import Joint",
        "from musculo.model import joint",
        "from . import joint",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from musculo.model.joint import Joint",
        "def late():\n    import musculo.model.joint",
        "from importlib import import_module\nimport_module('musculo.model.joint')",
    ],
)
def test_a_circle_of_files_is_found(tmp_path, line):
    files = {"model__body": line, "model__joint": "from musculo.model.mass import Mass\n", "model__mass": ""}
    assert check(tree(tmp_path, **files))[0] == 0
    status, text = check(tree(tmp_path, **{**files, "model__mass": "import musculo.model.body\n"}))
    assert status == 1
    assert "imports itself by way of" in text
    for file, at in (("body", line.count("\n") + 1), ("joint", 1), ("mass", 1)):
        assert f"{file}.py:{at}" in text


def test_a_name_of_a_stub_counts_to_the_file_that_holds_it(tmp_path):
    package = tree(tmp_path, io__osim="import musculo.model.body", io____init__="", model__body="", model__mass="")
    (package / "io" / "__init__.pyi").write_text("from musculo.io.osim import read_osim as read_osim\n")
    (package / "io" / "trc.py").write_text("from musculo.io import read_osim\n")
    assert check(package)[0] == 0
    (package / "io" / "osim.py").write_text("import musculo.io.trc\n")
    status, text = check(package)
    assert (status, "imports itself" in text) == (1, True)


def test_an_unknown_layer_is_found(tmp_path):
    status, text = check(tree(tmp_path, utils__misc=""))
    assert status == 1
    assert "'utils' is not a layer" in text


def test_what_is_allowed(tmp_path):
    files = {
        "errors": "",
        "model__body": "import numpy\nfrom musculo.errors import MusculoError\nfrom . import joint\n",
        "cli__main": "from musculo import __version__\nfrom musculo.model.body import Body\n",
    }
    status, text = check(tree(tmp_path, **files))
    assert status == 0, text


def test_the_table_of_layers_is_in_the_order_that_is_checked():
    """Contributors read the order in CONTRIBUTING.md; a row may name several layers."""
    checked = runpy.run_path(str(CHECK))["LAYERS"]
    _, _, table = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("| layer | holds |\n|---|---|\n")
    rows = list(itertools.takewhile(lambda line: line.startswith("|"), table.splitlines()))
    assert tuple(name for row in rows for name in re.findall(r"`(\w+)`", row.split("|")[1])) == checked
