"""The reader's table of properties is that of OpenSim 4.6, and what stands in it is done.

OpenSim prints every class with all its properties, sockets and inputs. A property that it has and the table has not
fails here, and so does a class of which nobody has said what becomes of it.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

import numpy as np
import pytest
from lxml import etree

from musculo.analyses.static_optimization.reserves import actuators_of, unit_loads
from musculo.errors import MusculoError
from musculo.forces.compiled_forces import CONTROLLED, compiled_forces
from musculo.io import read_osim
from musculo.io.osim.elements.known_elements import APPLIED, DRAWN, NOT_COMPUTED, PROPERTIES, REASONS, stands_by_class
from musculo.io.osim.elements.osim_forces import acts_by_itself
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.model.muscle_parameters import CURVES
from musculo.model.path_force import PATH_FORCES
from support.opensim_process import ask
from support.osim_objects import model_with, other_value, sample
from support.recorded_data import NO_DATA, recorded, within

pytest.importorskip("opensim")


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    (found,) = ask("opensim_properties", [["classes"]], tmp_path_factory.mktemp("classes"))
    assert len(found) > 250
    return found


@pytest.fixture
def read(tmp_path):
    def from_text(content: str):
        (tmp_path / "m.osim").write_text(content)
        return read_osim(tmp_path / "m.osim")

    return from_text


# --- the table against OpenSim's list ------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", PROPERTIES)
def test_every_property_of_opensim_is_in_the_table(classes, kind):
    assert [name for name in classes[kind]["properties"] if name not in PROPERTIES[kind]] == []


# Read in every class of which it is a part, and no property: the block of defaults, and a set under its own class.
_NO_PROPERTIES = {
    ("Model", "defaults"),
    ("HuntCrossleyForce", "HuntCrossleyForce::ContactParametersSet"),
    ("ElasticFoundationForce", "ElasticFoundationForce::ContactParametersSet"),
}


@pytest.mark.parametrize("kind", PROPERTIES)
def test_nothing_is_applied_that_opensim_does_not_read(classes, kind):
    applied = {name for name, reason in PROPERTIES[kind].items() if reason == APPLIED}
    extra = applied.difference(classes[kind]["properties"])
    assert {(kind, name) for name in extra} <= _NO_PROPERTIES


@pytest.mark.parametrize("kind", PROPERTIES)
def test_every_reason_is_said_once(kind):
    assert {reason for reason in PROPERTIES[kind].values() if reason != APPLIED} <= REASONS.keys()


@pytest.mark.parametrize("kind", PROPERTIES)
def test_an_optional_object_stands_in_an_element_of_its_property(classes, kind):
    """OpenSim reads `<Sine name="function">` where a function must be, and passes over it where one may be."""
    assert [name for name in classes[kind]["optional objects"] if stands_by_class(kind, name)] == []


def test_every_class_is_known_or_listed(classes):
    """Whatever can stand in a model: components and functions."""
    there = {kind for kind, one in classes.items() if {"Component", "Function"} & set(one["bases"])}
    known = PROPERTIES.keys() | NOT_COMPUTED | DRAWN
    assert there - known == set(), "say in io/osim/elements/known_elements.py what becomes of these classes"
    assert (NOT_COMPUTED | DRAWN) - there == set(), "OpenSim has no such class"
    assert PROPERTIES.keys() & (NOT_COMPUTED | DRAWN) == set()
    assert {kind for kind, one in classes.items() if "Geometry" in one["bases"]} == DRAWN


# --- the reader against the table ----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", sorted(NOT_COMPUTED))
def test_a_class_that_is_carried_is_noted_by_name(classes, read, kind):
    model = read(model_with(kind, classes[kind]["bases"], sample(kind, classes[kind]["xml"])))
    assert any(kind in note.what or f"<{kind}>" in note.why for note in model.notes)


@pytest.mark.parametrize("kind", PROPERTIES)
def test_a_default_object_of_a_known_class_leaves_no_note_of_its_properties(classes, read, kind):
    model = read(model_with(kind, classes[kind]["bases"], sample(kind, classes[kind]["xml"])))
    assert [note for note in model.notes if "not a property" in note.why or "not read" in note.why] == []


@pytest.mark.parametrize("kind", [kind for kind, own in PROPERTIES.items() if "noted" in own.values()])
def test_a_class_of_which_less_is_computed_is_noted(classes, read, kind):
    model = read(model_with(kind, classes[kind]["bases"], sample(kind, classes[kind]["xml"])))
    assert any(note.what == f"{kind} 'sample'" for note in model.notes)


@pytest.mark.parametrize("kind", PROPERTIES)
def test_what_is_no_property_is_noted_in_every_class(classes, read, kind):
    """So that a reader which forgets to account for its object fails."""
    element = sample(kind, classes[kind]["xml"])
    etree.SubElement(element, "frobnicate").text = "1"
    (told,) = (note for note in read(model_with(kind, classes[kind]["bases"], element)).notes if "frob" in note.why)
    assert told.why == f"<frobnicate> is not a property of {kind} and changes nothing"
    assert told.where.startswith("/")


def plain(value):
    """The content of a model without what is merely carried."""
    if is_dataclass(value):
        names = (f.name for f in fields(value) if f.name not in ("carried", "ground_carried", "notes", "source"))
        return type(value).__name__, {name: plain(getattr(value, name)) for name in names}
    return [plain(item) for item in value] if isinstance(value, tuple | list) else value


# Contact parameters stay XML in the model, and are read where the contact is computed.
_LATER = ("HuntCrossleyForce::ContactParameters", "ElasticFoundationForce::ContactParameters")


@pytest.mark.parametrize("kind", [kind for kind in PROPERTIES if kind not in _LATER])
def test_what_is_applied_changes_the_model_that_is_read(classes, read, kind):
    """A value that the table calls applied and nobody reads fails."""
    bases, printed = classes[kind]["bases"], classes[kind]["xml"]
    before = plain(read(model_with(kind, bases, sample(kind, printed))))
    leaves = [child.tag for child in sample(kind, printed) if not len(child) and (child.text or "").strip()]
    unread = []
    for tag in leaves:
        if PROPERTIES[kind].get(tag) != APPLIED:
            continue
        element = sample(kind, printed)
        leaf = element.find(tag)
        leaf.text = other_value(leaf)
        try:
            after = plain(read(model_with(kind, bases, element)))
        except MusculoError:
            continue  # it is read
        if after == before:
            unread.append(tag)
    assert unread == []


_ALONG_PATHS = {kind.__name__ for kind in PATH_FORCES}  # their values are fields, which the test above covers
_COMPUTED = [kind for kind in PROPERTIES if acts_by_itself(kind) and kind not in _ALONG_PATHS]


@pytest.mark.parametrize("kind", [*_COMPUTED, *CONTROLLED])
def test_a_force_asks_for_every_value_that_is_applied(classes, read, kind, monkeypatch):
    """The properties of a force are texts in the model; its law takes them from there."""
    asked = set()
    text = Force.text
    monkeypatch.setattr(Force, "text", lambda force, key, *default: (asked.add(key), text(force, key, *default))[1])
    model = read(model_with(kind, classes[kind]["bases"], sample(kind, classes[kind]["xml"])))
    if kind in CONTROLLED:
        for actuator in actuators_of(model):
            if actuator.force is not None and not actuator.coordinate:
                unit_loads(model, actuator.force, np.zeros((1, len(model.coordinate_names))))
    else:
        compiled_forces(model)
    (force,) = model.forces
    applied = {name for name, _ in force.properties if PROPERTIES[kind].get(name) == APPLIED}
    assert {name.removeprefix("socket_") for name in applied} <= {name.removeprefix("socket_") for name in asked}


# --- what is not stated ----------------------------------------------------------------------------------------------
def law(model):
    """What a model computes of its one force: the arrays of its law, or the actuator and its unit loads."""
    (force,) = model.forces
    if force.kind not in CONTROLLED:
        return [numbers(group) for group in compiled_forces(model).groups]
    (one,) = actuators_of(model)
    loads = [] if one.coordinate else unit_loads(model, force, np.zeros((1, len(model.coordinate_names))))
    return [(one.optimal_force, one.min_control, one.max_control, one.coordinate), [numbers(load) for load in loads]]


def numbers(value):
    """The numbers and words in an object, whatever holds them; not the model that it points to."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Model | Force) or callable(value):
        return None
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [numbers(item) for item in value]
    return numbers(vars(value)) if hasattr(value, "__dict__") else value


# Values of a curve are kept only where they are stated; the muscles' own tests compare the curves with OpenSim's.
_ONLY_STATED = {*CURVES, *_LATER}


@pytest.mark.parametrize("kind", [kind for kind in PROPERTIES if kind not in _ONLY_STATED])
def test_what_is_not_stated_has_the_default_of_opensim(classes, read, kind):
    """Each value that OpenSim prints as its default is taken out in turn: the model stays the same, or is refused."""
    bases, printed = classes[kind]["bases"], classes[kind]["xml"]
    made = law if kind in (*_COMPUTED, *CONTROLLED) else plain
    before = made(read(model_with(kind, bases, sample(kind, printed))))
    defaults = {child.tag: child.text for child in etree.fromstring(re.sub(r"(</?\w+)::", r"\1-colons-", printed))}
    differ = []
    for leaf in sample(kind, printed):
        stated = leaf.text and leaf.text == defaults.get(leaf.tag) and not len(leaf)
        if PROPERTIES[kind].get(leaf.tag) != APPLIED or not stated:
            continue
        element = sample(kind, printed)
        element.remove(element.find(leaf.tag))
        try:
            after = made(read(model_with(kind, bases, element)))
        except MusculoError as error:
            after = before if "states no" in str(error) else error
        if after != before:
            differ.append(leaf.tag)
    assert differ == []


@pytest.mark.parametrize("kind", PROPERTIES)
def test_one_object_may_stand_under_its_class_or_in_its_property(classes, read, kind):
    """`<TransformAxis name="rotation1">` and `<rotation1><TransformAxis>` are one, in OpenSim and here."""
    bases, printed = classes[kind]["bases"], classes[kind]["xml"]
    before = plain(read(model_with(kind, bases, sample(kind, printed))))
    element = sample(kind, printed)
    named = [child for child in element if stands_by_class(kind, child.get("name", ""))]
    for child in named:
        holder = etree.Element(child.get("name"))
        element.replace(child, holder)
        holder.append(child)
    model = read(model_with(kind, bases, element))
    assert plain(model) == before
    assert [note for note in model.notes if "not a property" in note.why] == []


# --- real files -----------------------------------------------------------------------------------------------------
_MODELS = recorded("**/*.osim")


@pytest.mark.skipif(not _MODELS, reason=NO_DATA)
@pytest.mark.parametrize("file", _MODELS, ids=within(_MODELS))
def test_what_no_class_has_is_noted_in_real_files_of_every_version(file, read):
    """One object of each known class of the file gets an element that is no property."""
    content = re.sub(rb"(</?\w+)::(?=\w)", rb"\1-colons-", file.read_bytes())
    root = etree.fromstring(content, etree.XMLParser(remove_comments=True))
    first = {}
    for element in root.find("Model").iter():
        kind = element.tag.replace("-colons-", "::")
        if kind in PROPERTIES and len(element) and not any(a.tag == "defaults" for a in element.iterancestors()):
            first.setdefault(kind, element)
    for k, element in enumerate(first.values()):
        etree.SubElement(element, f"frob_{k}").text = "1"
    told = " ".join(n.why for n in read(etree.tostring(root, encoding="unicode").replace("-colons-", "::")).notes)
    assert len(first) > 10
    assert [kind for k, kind in enumerate(first) if f"<frob_{k}>" not in told] == []
