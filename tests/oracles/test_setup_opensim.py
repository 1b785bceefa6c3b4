"""Set-up files against OpenSim: every property of every file, as OpenSim prints it in its newest layout."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from numpy.testing import assert_allclose

pytest.importorskip("opensim")
from musculo import MusculoError, read_osim
from musculo.io import read_force_set, with_force_sets
from musculo.io.controls.control_limits import read_control_limits
from musculo.io.setup import (
    AnalyzeSetup,
    CMCSetup,
    ForwardSetup,
    InverseDynamicsSetup,
    InverseKinematicsSetup,
    OtherAnalysis,
    RRASetup,
    ScaleSetup,
    read_setup,
    read_tracking_tasks,
)
from musculo.io.setup.analyses import KINDS
from musculo.io.setup.setup_reader import TOOLS
from musculo.model.measurement import Measurement
from support.opensim_tools import ask
from support.setup_files import OLD_SETUPS, SCALE_SETUP, SCALE_TASKS

TAGS = {kind: tag for tag, kind in TOOLS.items()}
DEFAULTS: dict[str, ElementTree.Element] = {}


def setups_in(folder: Path) -> dict[Path, object]:
    """Every set-up file of a tool that is read here; other XML files are refused by their content."""
    found = {}
    for path in sorted(folder.rglob("*.xml")):
        text = path.read_text(errors="replace")
        if any(f"<{tag}" in text for tag in TOOLS):
            found[path] = read_setup(path)
        else:
            with pytest.raises(MusculoError):
                read_setup(path)
    return found


@pytest.fixture(scope="module", autouse=True)
def defaults(tmp_path_factory):
    """Objects as OpenSim makes them, by class: what it prints leaves out some values that were never stated."""
    folder = tmp_path_factory.mktemp("defaults")
    classes = [*KINDS, *TOOLS, "IKMarkerTask", "IKCoordinateTask", "Scale"]
    printed = ask([["default", kind, str(folder / "made.xml")] for kind in classes], folder)
    DEFAULTS.update({kind: ElementTree.fromstring(text)[0] for kind, text in zip(classes, printed, strict=True)})


@pytest.fixture(scope="module")
def recorded(data_folder, tmp_path_factory):
    """Set-ups of the data and OpenSim's print of each, read from a copy since OpenSim writes beside old files."""
    ours = setups_in(data_folder)
    assert len(ours) > 30
    folder = tmp_path_factory.mktemp("setups")
    jobs = []
    for k, (path, setup) in enumerate(ours.items()):
        copy = folder / f"{k}.xml"
        copy.write_bytes(path.read_bytes())
        jobs.append(["setup", TAGS[type(setup)], str(copy)])
    return list(zip(ours.items(), ask(jobs, folder), strict=True))


@pytest.mark.parametrize("tag", [*KINDS, *TOOLS])
def test_every_property_that_opensim_knows_is_known(tag):
    kind = (KINDS | TOOLS)[tag]
    known = {own.metadata["tag"] or own.name for own in fields(kind) if "read" in own.metadata}
    assert known == {child.tag for child in DEFAULTS[tag]}


def test_every_setup_of_the_data_as_opensim_understands_it(recorded):
    kinds = set()
    for (path, setup), printed in recorded:
        assert isinstance(printed, str), (path, printed)
        assert_same(setup, ElementTree.fromstring(printed)[0], path.parent, path.name)
        kinds.add(type(setup))
    simulations = {ForwardSetup, RRASetup, CMCSetup}
    assert kinds == {InverseKinematicsSetup, InverseDynamicsSetup, AnalyzeSetup} | simulations


def test_a_scale_setup_as_opensim_understands_it(tmp_path):
    (tmp_path / "scale.xml").write_text(SCALE_SETUP)
    (tmp_path / "tasks.xml").write_text(SCALE_TASKS)
    setup = read_setup(tmp_path / "scale.xml")
    assert isinstance(setup, ScaleSetup)
    (printed,) = ask([["setup", "ScaleTool", str(tmp_path / "scale.xml")]], tmp_path)
    assert isinstance(printed, str), printed
    assert_same(setup, ElementTree.fromstring(printed)[0], tmp_path, "scale")
    assert len(setup.placer.tasks) == 3


@pytest.fixture(scope="module")
def old(tmp_path_factory):
    """OpenSim's print of each old file by name."""
    folder = tmp_path_factory.mktemp("old")
    jobs = []
    for k, (tool, text) in enumerate(OLD_SETUPS.values()):
        (folder / f"{k}.xml").write_text(text)
        jobs.append(["setup", tool, str(folder / f"{k}.xml")])
    return dict(zip(OLD_SETUPS, ask(jobs, folder), strict=True))


@pytest.mark.parametrize("name", OLD_SETUPS)
def test_old_layouts_as_opensim_upgrades_them(name, old, tmp_path):
    printed = old
    tool, text = OLD_SETUPS[name]
    (tmp_path / "old.xml").write_text(text)
    setup = read_setup(tmp_path / "old.xml")
    assert TAGS[type(setup)] == tool
    assert isinstance(printed[name], str), printed[name]
    assert_same(setup, ElementTree.fromstring(printed[name])[0], tmp_path, name)


# The model that a file of forces is for, by its folder.
MODEL_OF = {
    "arm26": "arm26/arm26.osim",
    "gait10dof18musc": "gait10dof18musc/subject01.osim",
    "gait10dof18musc_rra_cmc": "gait10dof18musc_rra_cmc/subject01.osim",
    "gait2392": "gait2392/subject01_simbody.osim",
    "so_jra_tutorial": "gait2392/subject01_simbody.osim",
    "leg6dof9musc": "leg6dof9musc/leg6dof9musc.osim",
    "rajagopal_walk": "rajagopal_walk/subject_walk_scaled.osim",
}


def test_files_of_forces_hold_what_opensim_finds_in_them(data_folder, tmp_path):
    files = [f for f in sorted(data_folder.rglob("*.xml")) if "<ForceSet" in f.read_text(errors="replace")]
    assert len(files) > 10
    models = {name: read_osim(data_folder / path) for name, path in MODEL_OF.items()}
    for file, theirs in zip(files, ask([["force_set", str(f)] for f in files], tmp_path), strict=True):
        assert isinstance(theirs, list), (file, theirs)
        model = models[file.parent.name]
        ours = read_force_set(file, model)
        assert [(f.name, f.kind) for f in ours] == [tuple(row[:2]) for row in theirs], file
        for force, row in zip(ours, theirs, strict=True):
            stated = [force.text(key) for key in ("optimal_force", "min_control", "max_control")]
            assert [float(v) for v in stated if v] == [v for v, word in zip(row[2:], stated, strict=False) if word], (
                file
            )
        assert with_force_sets(model, file).forces == (*model.forces, *ours)
        assert with_force_sets(model, [file], replace=True).forces == ours


def test_tracking_tasks_as_opensim_understands_them(data_folder, tmp_path):
    files = [f for f in sorted(data_folder.rglob("*.xml")) if "<CMC_TaskSet" in f.read_text(errors="replace")]
    assert len(files) == 4
    for file, theirs in zip(files, ask([["tracking_tasks", str(f)] for f in files], tmp_path), strict=True):
        ours = read_tracking_tasks(file).tasks
        rows = [[list(map(float, part)) for part in (t.weight, t.active, t.kp, t.kv, t.ka)] for t in ours]
        assert [[t.name, "CMC_Joint", t.on, *row] for t, row in zip(ours, rows, strict=True)] == theirs, file


def test_limits_of_controls_as_opensim_understands_them(data_folder, tmp_path):
    times = [-0.5, 0.0, 0.31, 0.7, 2.0]
    files = [f for f in sorted(data_folder.rglob("*.xml")) if "<ControlSet " in f.read_text(errors="replace")]
    assert len(files) == 6
    for file in files:  # a process each: defaults of one file leak into the next
        ((*theirs,),) = ask([["control_limits", str(file), times]], tmp_path)
        for one, (name, low, high) in zip(read_control_limits(file), theirs, strict=True):
            assert one.name == name.removesuffix(".excitation")
            assert_allclose(one.at(times), [low, high], rtol=1e-15, err_msg=f"{file}: {name}")


def assert_same(value, element, folder: Path, where: str) -> None:
    """Each property of a dataclass against the element that OpenSim printed for it."""
    if isinstance(value, OtherAnalysis):
        return
    if isinstance(value, Measurement):
        return assert_same_measurement(value, element, where)
    if hasattr(value, "name"):
        assert value.name == element.get("name", ""), where
    for own in fields(value):
        if "read" not in own.metadata:
            continue
        tag, ours = own.metadata["tag"] or own.name, getattr(value, own.name)
        child = element.find(tag)
        child = DEFAULTS[element.tag].find(tag) if child is None else child
        at = f"{where}: <{element.tag}> <{tag}>"
        assert child is not None, at
        if tag == "ControllerSet":
            assert len(ours) == len(child.findall("objects/*")), at
        elif is_dataclass(ours):
            assert_same(ours, child, folder, where)
        elif tag.endswith("Set") and tag[0].isupper():
            if child.get("file"):  # printed into that file
                child = ElementTree.parse(folder / child.get("file")).getroot()[0]
            members = child.findall("objects/*")
            assert len(ours) == len(members), at
            for mine, theirs in zip(ours, members, strict=True):
                assert_same(mine, theirs, folder, where)
        else:
            assert_same_value(ours, (child.text or "").strip(), own.type, folder, at)


def assert_same_value(ours, theirs: str, kind: str, folder: Path, at: str) -> None:
    theirs = "" if theirs == "Unassigned" else theirs
    if isinstance(ours, bool):
        assert ours == (theirs == "true"), at
    elif isinstance(ours, int | float):
        assert ours == float(theirs), at
    elif isinstance(ours, Path) or kind == "Path | None":
        assert ours == (folder / theirs.replace("\\", "/") if theirs or kind == "Path" else None), at
    elif kind.startswith("tuple[float"):
        assert ours == tuple(float(word) for word in theirs.split()), at
    elif kind.startswith("tuple[Path"):
        assert ours == tuple(folder / word for word in theirs.split()), at
    elif isinstance(ours, tuple):
        assert ours == tuple(theirs.split()), at
    else:
        assert ours == theirs, at


def assert_same_measurement(ours: Measurement, element, where: str) -> None:
    assert ours.name == element.get("name"), where
    assert ours.apply == (element.findtext("apply", "").strip() == "true"), where
    pairs = [tuple((e.findtext("markers") or "").split()) for e in element.findall("MarkerPairSet/objects/*")]
    bodies = [
        (e.get("name"), "".join((e.findtext("axes") or "").split())) for e in element.findall("BodyScaleSet/objects/*")
    ]
    assert list(ours.pairs) == pairs, where
    assert list(ours.bodies) == bodies, where
