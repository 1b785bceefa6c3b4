"""What is public is documented, and says by its types which words it knows."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from functools import cached_property

import pytest

import musculo
import musculo.demo
import musculo.report
import musculo.viewer
from musculo.window import shown
from support.doc_pages import ROOT

sys.path.append(str(ROOT / "tools"))
import reference_pages

FOLDERS = ("absolute", "io", "model", "muscle", "opensim", "results", "signals", "simulation", "study", "trajectory")
WINDOWS = (musculo, *(getattr(musculo, name) for name in FOLDERS))
MODULES = (*WINDOWS, musculo.demo, musculo.report, musculo.viewer)
CLASSES = {name: one for m in MODULES for name in m.__all__ if inspect.isclass(one := getattr(m, name))}
FUNCTIONS = {name: one for m in MODULES for name in m.__all__ if inspect.isfunction(one := getattr(m, name))}
# Names and units of columns, titles, defaults, and IPOPT's linear solvers, which depend on its build: any text will do.
FREE_TEXT = {
    ("Effort", "name"),
    ("Force.text", "default"),
    ("NormalRanges.of", "positive"),
    ("Problem.solve", "linear_solver"),
    ("Table.from_pandas", "name"),
    ("Table.to_xarray", "dim"),
    ("denavit_hartenberg", "name"),
    ("labeled", "unit"),
    ("predict_step", "forward"),
    ("report_of_folder", "title"),
    ("track_step", "forward"),
}
# A problem of optimal motion has coordinates, too: variables with limits. Whoever writes one imports its words.
OWN_WORDS = {("trajectory", "Coordinate")}


def _members(value: type) -> Iterator[tuple[str, object]]:
    """Public methods and properties of a class, its own and inherited ones of this package."""
    for part in value.__mro__:
        if not part.__module__.startswith("musculo."):
            continue
        for name, member in vars(part).items():
            plain = getattr(member, "__func__", member)
            if not name.startswith("_") and (
                inspect.isfunction(plain) or isinstance(plain, property | cached_property)
            ):
                yield name, plain


def _documented(value: type, name: str) -> bool:
    """Whether an attribute, or the one that it stands in for, has a docstring."""
    found = (vars(part)[name] for part in value.__mro__ if name in vars(part))
    return any((getattr(member, "__func__", member).__doc__ or "").strip() for member in found)


@pytest.mark.parametrize("name", CLASSES)
def test_every_public_attribute_has_a_docstring(name):
    value = CLASSES[name]
    text = (value.__doc__ or "").strip()
    assert text, name
    assert not text.startswith(f"{name}("), f"{name} has the docstring that dataclasses make"
    assert [member for member, _ in _members(value) if not _documented(value, member)] == []


def test_every_public_function_has_a_docstring():
    assert [name for name, function in FUNCTIONS.items() if not (function.__doc__ or "").strip()] == []


def test_the_reference_shows_the_look_ups_of_a_model():
    """Members without a docstring are left out of the pages."""
    text = reference_pages.markdown_of("musculo.Model")
    for member, _ in _members(musculo.Model):
        assert f"}} {member}" in text, member


def test_words_that_an_argument_knows_are_its_type():
    """`wrapping: str` would let a type checker pass "geodisic"."""
    methods = (plain for one in CLASSES.values() for _, plain in _members(one) if inspect.isfunction(plain))
    found = {
        (function.__qualname__, one.name)
        for function in (*FUNCTIONS.values(), *methods)
        for one in inspect.signature(function).parameters.values()
        if isinstance(one.default, str) and "str" in str(one.annotation).split(" | ")
    }
    assert found - FREE_TEXT == set()


@pytest.mark.parametrize("module", WINDOWS, ids=lambda module: module.__name__)
def test_names_are_what_the_stub_says(module):
    """Each can be imported, and comes from the module that the stub names."""
    for name, where in shown(module.__name__).items():
        value = getattr(module, name)
        if where != "musculo":
            assert value is getattr(sys.modules[where], name)
        assert name in dir(module)


def test_a_name_that_is_elsewhere_is_said_where():
    for name, where in {
        "CustomJoint": "musculo.model",
        "lowpass": "musculo.signals",
        "read_netcdf": "musculo.io",
        "run_setup": "musculo.opensim",
        "StaticOptimum": "musculo.results",
        "project_position": "musculo.simulation",
        "activation_rate": "musculo.muscle",
        "InvalidInput": "musculo.errors",
        "Scene": "musculo.viewer",
    }.items():
        with pytest.raises(AttributeError, match=rf"it is {where}\.{name}$"):
            getattr(musculo, name)
        assert hasattr(sys.modules[where], name)
    with pytest.raises(AttributeError, match=r"no attribute 'nothing'$"):
        getattr(musculo, "nothing")  # noqa: B009 (mypy and readers see that it is not there)


def test_folders_have_all_that_is_theirs_beside_the_top():
    """Errors, too, are either at the top or where the message says."""
    for name in set(musculo.__all__) - {"__version__"}:
        for folder in FOLDERS:
            if (folder, name) in OWN_WORDS:
                continue
            twin = shown(f"musculo.{folder}").get(name)
            assert twin in (None, shown("musculo")[name])
    kinds = {name for name, one in vars(musculo.errors).items() if inspect.isclass(one) and issubclass(one, Exception)}
    assert kinds - set(musculo.__all__) == set(musculo._ELSEWHERE["musculo.errors"])


def test_options_come_by_name():
    """After the data: a call says which number of threads or which device it means."""
    options = {"threads", "device", "to_device", "like", "wrapping", "method", "opensim_rounding", "rtol", "atol"}
    for name, function in FUNCTIONS.items():
        for one in inspect.signature(function).parameters.values():
            if one.name in options:
                assert one.kind is inspect.Parameter.KEYWORD_ONLY, (name, one.name)
