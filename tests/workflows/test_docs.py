"""What the documentation says works: its code runs and prints what is shown, and its names exist."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
import re
import shutil
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

import musculo
import musculo.demo
import musculo.report
import musculo.viewer
from musculo.cli.main import app
from musculo.model.muscle_parameters import PARAMETERS
from support.doc_pages import COLUMNS, DOCS, ROOT, Block, blocks_of, differs, make_files, pages, run_block, spans_of

sys.path.append(str(ROOT / "tools"))
import check_links
import notebooks
import reference_pages

PAGES = pages()
FOLDERS = (
    *(
        "absolute",
        "errors",
        "io",
        "model",
        "muscle",
        "opensim",
        "results",
        "signals",
        "simulation",
        "study",
        "trajectory",
    ),
    "viewer",
)
WINDOWS = (musculo, *(getattr(musculo, name) for name in FOLDERS if name != "errors"))
PUBLIC = (*WINDOWS, musculo.demo, musculo.report)
RUNNING = [page for page in PAGES if any(not block.why_not for block in blocks_of(page))]
# Code words of the pages that are no names of musculo: of NumPy, of files, of OpenSim, and of examples.
FOREIGN = {
    *("model", "state", "t", "Seth2010", "toll", "dudt", "Geometry"),
    *("femur_r", "femur_l", "l_thigh_4X4", "femur_r_imu", "pelvis_tx", "LAT_TMAJhh", "PEC12hum", "TMINhum"),
    *("__cuda_array_interface__", "computeMomentArm", "PolynomialPathFitter", "gait_cycle"),
    *("SmoothSphereHalfSpaceForce", "Bhargava2004SmoothedMuscleMetabolics"),  # classes of OpenSim
}
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.fixture(scope="session")
def first_files(tmp_path_factory) -> Path:
    """What `musculo demo` leaves, and a recording; the pages begin with them."""
    folder = tmp_path_factory.mktemp("docs")
    make_files(folder)
    return folder


@pytest.mark.parametrize("page", RUNNING, ids=_name)
def test_code_runs_and_prints_what_is_shown(page, first_files, tmp_path, monkeypatch):
    shutil.copytree(first_files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", COLUMNS)
    names: dict = {"__name__": "__page__"}
    for block in blocks_of(page):
        if block.why_not:
            compile(block.text, str(page), "exec")
            continue
        printed = run_block(block, str(page), names)
        if block.shown is not None:
            why = differs(block.shown, printed)
            assert not why, f"{_name(page)}:{block.line}: {why}"


@pytest.mark.parametrize("name", ["first_steps", "everyday", "research"])
def test_notebooks_hold_the_code_of_their_pages(name, tmp_path):
    """Pages are run by the test above, so the notebooks' code is."""
    page = DOCS / "gallery" / f"{name}.md"
    (path,) = notebooks.write_notebooks(tmp_path, [page])
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    wanted = [block.text.rstrip("\n") for block in blocks_of(page) if block.kind == "python"]
    assert [one for one in code if not one.startswith(("#", "!"))] == wanted
    assert "musculo demo" in code[0]
    assert not any("```" in "".join(cell["source"]) for cell in cells)


def test_comparison_sees_differences():
    """Words, numbers and lines each count; the last digit may be rounded otherwise."""
    shown = "elbow  2.30 N m\n...\nsolved True"
    assert not differs(shown, "elbow  2.31 N m\nmore\nsolved True\n")
    assert not differs(shown, "elbow 2.30 N m\nsolved True\n")
    assert differs(shown, "elbow  2.32 N m\nmore\nsolved True\n")
    assert differs(shown, "knee  2.30 N m\nmore\nsolved True\n")
    assert differs(shown, "elbow  2.30 N m\nmore\n")


# --- names ------------------------------------------------------------------------------------------------------------
@cache
def _known() -> frozenset[str]:
    """Public names, their arguments and members, kinds of muscles, and the names of the models that ship."""
    known = {
        "musculo",
        "demo",
        "report",
        *FOLDERS,
        *musculo._ELSEWHERE["musculo.errors"],
        *musculo.results.STATUSES,
        *PARAMETERS,
    }
    for module in PUBLIC:
        known |= set(module.__all__)
        for name in module.__all__:
            known |= _members(getattr(module, name))
    for model in (musculo.demo.arm(), musculo.read_osim(musculo.demo.MODEL_FILE)):
        for names in (model.coordinate_names, model.muscle_names, model.marker_names, model.body_names):
            known |= set(names)
    return frozenset(known)


def _members(value: object) -> set[str]:
    found = set()
    if inspect.isclass(value):
        found |= {name for name in dir(value) if not name.startswith("_")} | set(_annotations(value))
        for member in vars(value).values():
            found |= _arguments(getattr(member, "__func__", member))
    if callable(value):
        found |= _arguments(value)
    return found


def _annotations(value: type) -> set[str]:
    return {name for part in value.__mro__ for name in vars(part).get("__annotations__", {})}


def _arguments(value: object) -> set[str]:
    try:
        return set(inspect.signature(value).parameters)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return set()


@cache
def _results() -> frozenset[str]:
    """Members of what public functions return, where that is not public itself."""
    found: set[str] = set()
    for module in pkgutil.walk_packages(musculo.__path__, "musculo."):
        if module.name.startswith("musculo.kernels"):
            found.add(module.name.rpartition(".")[2])  # pages about methods name the files that hold them
            continue
        for value in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(value) and value.__module__.startswith("musculo."):
                found |= {name for name in dir(value) if not name.startswith("_")} | _annotations(value)
    return frozenset(found)


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_names_exist(page):
    """Whatever stands in code letters and looks like a name of Python is one of musculo's."""
    known = _known() | _results() | FOREIGN
    # What the page itself defines is run by the test above.
    known |= {word for b in blocks_of(page) if b.kind == "python" for word in _IDENTIFIER.findall(b.text)}
    unknown = set()
    for span in spans_of(page):
        if span.startswith(("musculo ", "opensim-cmd", "pip ", "osim.", "python")) or page.name == "from_opensim.md":
            continue
        call = re.fullmatch(r"([A-Za-z_][\w.]*)(\(.*\))?(\..*)?", span)
        if (
            call is not None
            and "/" not in span
            and not re.search(r"\.(xml|osim|trc|mot|sto|json|html|py|nc|c3d|csv|toml|txt|parquet|zarr)\b", span)
        ):
            unknown |= {part for part in call[1].split(".") if part not in known and not part.isupper()}
    assert not unknown, f"{_name(page)} names what is not there: {sorted(unknown)}; if it is not ours, see FOREIGN"


def test_right_column_of_the_table_for_users_of_opensim():
    """Our calls exist; `opensim` itself may not be installed, so theirs are checked in the oracle tests."""
    known = _known() | _results() | FOREIGN
    text = (DOCS / "from_opensim.md").read_text(encoding="utf-8")
    rows = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    ours = [name for row in rows if len(row) == 2 for name in re.findall(r"`([A-Za-z_]\w*)(?=[`(.])", row[1])]
    assert len(ours) > 40
    assert not set(ours) - known


def _shell_lines() -> list[tuple[str, str]]:
    found = []
    for page in PAGES:
        found += [(_name(page), span) for span in spans_of(page) if span.startswith("musculo ")]
        found += [(_name(page), line) for b in blocks_of(page) if b.kind == "sh" for line in b.text.splitlines()]
    return [(page, line) for page, line in found if line.startswith("musculo ")]


def test_commands_and_their_options_exist():
    from typer.main import get_command

    commands = get_command(app).commands  # type: ignore[attr-defined]
    lines = _shell_lines()
    assert len(lines) > 30
    for page, line in lines:
        words = line.split()
        if words[1].startswith("-"):
            continue
        assert words[1] in commands, f"{page}: {line}: no such command"
        options = {option for p in commands[words[1]].params for option in (*p.opts, *p.secondary_opts)} | {"--help"}
        used = {word.rstrip(",;:") for word in words[2:] if re.match(r"--?[a-z]", word)}
        assert used <= options, f"{page}: {line}: no option {sorted(used - options)}"


def test_every_public_name_is_in_the_reference_once():
    """By the shortest of its names: `musculo.Model`, not `musculo.model.Model`."""
    entries = [
        name
        for page in sorted((DOCS / "reference").glob("*.md"))
        for name in re.findall(r"^::: musculo\.((?:\w+\.)?\w+)$", page.read_text(encoding="utf-8"), flags=re.M)
    ]
    top = set(musculo.__all__)
    # a name may mean another thing in a package: a coordinate of a model, and one of a predicted motion
    within = {
        f"{m.__name__.removeprefix('musculo.')}.{name}"
        for m in WINDOWS[1:]
        for name in m.__all__
        if name not in top or getattr(m, name) is not getattr(musculo, name)
    }
    errors = {f"errors.{name}" for name in musculo._ELSEWHERE["musculo.errors"]}
    own = {name for name in entries if name.startswith(("demo.", "report."))}
    assert sorted(set(entries) - own) == sorted((top - {"__version__"}) | within | errors)
    assert len(entries) == len(set(entries))


def test_extras_exist():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    used = {extra for found in re.findall(r'pip install "\.\[(.*?)\]"', text) for extra in found.split(",")}
    assert used
    assert used <= set(extras)


def test_pages_stand_in_the_menu():
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = {
        line.strip() for block in re.findall(r"```\{toctree\}\n(.*?)```", text, flags=re.S) for line in block.split()
    }
    assert {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES} - {"index"} <= listed


def test_blocks_are_found():
    """A page whose fences are not understood would pass for one without code."""
    found: list[Block] = [block for page in PAGES for block in blocks_of(page)]
    opening = re.compile(r"^ *(?:`{3,}|~{3,}) *\{?(?:python|py|pycon|sh|bash|shell|console)\b", flags=re.M | re.I)
    fences = sum(len(opening.findall(page.read_text(encoding="utf-8"))) for page in PAGES)
    assert len(found) == fences > 80
    # three blocks need a CUDA device, one needs a cluster
    assert sum(bool(block.why_not) for block in found) <= 4


# --- links ------------------------------------------------------------------------------------------------------------
def test_links_of_the_root_lead_somewhere():
    assert check_links.problems_of_markdown(ROOT) == []


def test_broken_links_and_things_from_elsewhere_are_seen(tmp_path):
    (tmp_path / "a.html").write_text(
        '<a href="b.html#there">1</a><a href="b.html#nowhere">2</a><a href="c.html">3</a><a href="https://x.org">4</a>'
        '<script src="https://cdn.x.org/a.js"></script><link rel="canonical" href="https://x.org/a">'
    )
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    (tmp_path / "s.css").write_text("@font-face {src: url(https://fonts.x.org/f.woff)} p {background: url(data:x)}")
    assert check_links.problems_of_site(tmp_path) == [
        "a.html: b.html#nowhere: the page has no such place",
        "a.html: c.html is not there",
        "a.html: loads https://cdn.x.org/a.js from another site",
        "s.css: loads https://fonts.x.org/f.woff from another site",
    ]
    (tmp_path / "A.md").write_text("# One two\n[1](B.md) [2](#one-two) [3](#three)\n")
    assert check_links.problems_of_markdown(tmp_path) == [
        "A.md: B.md is not there",
        "A.md: #three: the file has no such heading",
    ]


def test_the_table_of_variables_has_all_that_the_package_reads():
    sources = (path.read_text(encoding="utf-8") for path in Path(musculo.__file__).parent.rglob("*.py"))
    read = {name for text in sources for name in re.findall(r"\bMUSCULO_[A-Z_]+\b", text)}
    listed = re.findall(r"^\| `(MUSCULO_\w+)` \|", (DOCS / "install.md").read_text(encoding="utf-8"), flags=re.M)
    assert sorted(listed) == sorted(read)
    assert len(read) > 3


# --- reference --------------------------------------------------------------------------------------------------------
def test_docstrings_become_markdown():
    text = reference_pages.markdown_of_docstring(
        "Short.\n\n    f = m a\n\n"
        "Source:     [Seth2010] eq. 1,\n            and 2; [Nobody1900].\nDeparts:    a sign.\n\n"
        "Args:\n    q, u: (n,)\n        [rad].\n\nReturns:\n    (n,) [N]."
    )
    assert text == (
        "Short.\n\n    f = m a\n\n"
        "- **Source.** [Seth2010](/theory/references.md#seth2010) eq. 1, and 2; [Nobody1900].\n"
        "- **Departs.** a sign.\n\n\n**Args**\n\n- `q`, `u`: (n,) [rad].\n\n\n**Returns**\n\n(n,) [N]."
    )


def test_every_reference_entry_can_be_made():
    for page in sorted((DOCS / "reference").glob("*.md")):
        for name in reference_pages.LINE.findall(page.read_text(encoding="utf-8")):
            assert name.rpartition(".")[2] in reference_pages.markdown_of(name)


def test_citations_of_docstrings_are_in_the_bibliography():
    known = set(re.findall(r"^### (\w+)$", (DOCS / "theory" / "references.md").read_text(encoding="utf-8"), flags=re.M))
    sources = (path.read_text(encoding="utf-8") for path in Path(musculo.__file__).parent.rglob("*.py"))
    cited = {key for text in sources for key in re.findall(r"\[([A-Z][A-Za-z]+\d{4}[a-z]?)\]", text)}
    assert len(cited) > 5
    assert not cited - known
