"""What "nothing changed" rests on besides set-up and inputs: the package's own code, and files that a model names."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import musculo
from musculo import read_storage
from musculo.demo import arm
from musculo.model.contact_model import ContactGeometry
from musculo.opensim import run_setup
from musculo.opensim_tools.records import record
from musculo.opensim_tools.records.own_sources import own_sources, sources_of
from musculo.opensim_tools.records.result import Status
from support import tool_setups
from support.force_models import FLOOR_UP, ball_mesh, contact
from support.tool_setups import arm_folder


def test_results_of_other_code_are_made_anew(tmp_path, monkeypatch):
    setup = arm_folder(tmp_path, id=tool_setups.inverse_dynamics()) / "id.xml"
    run_setup(setup, force=False)
    assert run_setup(setup, force=False).status is Status.UNCHANGED
    monkeypatch.setattr(record, "own_sources", lambda: "of a later commit")
    assert run_setup(setup, force=False).status is Status.DONE
    assert run_setup(setup, force=False).status is Status.UNCHANGED


def test_a_change_of_a_contact_mesh_is_noticed(tmp_path):
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    (folder / "Geometry").mkdir()
    (folder / "Geometry" / "egg.obj").write_text(ball_mesh())
    model = arm()
    shapes = (
        ContactGeometry("floor", "ContactHalfSpace", "ground", (0.0, -0.1, 0.0), FLOOR_UP),
        ContactGeometry("egg", "ContactMesh", model.body_names[-1], filename="egg.obj"),
    )
    bed = contact("bed", "ElasticFoundationForce", ("egg floor", 1e3, 0.4, 0.8, 0.5, 0.3))
    musculo.write_osim(model.replace(contact_geometries=shapes).with_force(bed), folder / "arm.osim")
    run_setup(folder / "id.xml", force=False)
    kept = json.loads((folder / "results" / "id.musculo.json").read_text())
    assert {Path(name).name for name in kept["inputs"]} == {"id.xml", "arm.osim", "motion.mot", "egg.obj"}
    assert run_setup(folder / "id.xml", force=False).status is Status.UNCHANGED
    (folder / "Geometry" / "egg.obj").write_text(ball_mesh(7, 10))
    assert run_setup(folder / "id.xml", force=False).status is Status.DONE


_LOADS = """<OpenSimDocument Version="40600"><ExternalLoads name="hand"><objects><ExternalForce name="push">
<applied_to_body>{body}</applied_to_body><force_identifier>f</force_identifier></ExternalForce></objects>
<datafile>push.mot</datafile></ExternalLoads></OpenSimDocument>"""
_TABLE = "push\nversion=1\nnRows=1\nnColumns=4\nendheader\ntime\tfx\tfy\tfz\n0\t0\t{}\t0\n"


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("arm.osim", "<mass>", "<mass>1"),
        ("motion.mot", "\t3", "\t4"),
        ("loads.xml", "<force_identifier>f", "<appliesForce>false</appliesForce><force_identifier>f"),
        ("push.mot", "\t1\t", "\t2\t"),
        ("id.xml", "<model_file>", "<time_range>0 0.5</time_range><model_file>"),
    ],
)
def test_an_input_that_is_replaced_while_the_run_goes_on(tmp_path, monkeypatch, name, old, new):
    """The record is of what was read: the next run begins anew, with what the file holds now."""
    setup = tool_setups.inverse_dynamics("<external_loads_file>loads.xml</external_loads_file>")
    folder = arm_folder(tmp_path / "one", id=setup)
    (folder / "loads.xml").write_text(_LOADS.format(body=arm().body_names[-1]))
    (folder / "push.mot").write_text(_TABLE.format(1))
    changed = (folder / name).read_text().replace(old, new)
    assert changed != (folder / name).read_text()

    def late(*given):
        (folder / name).write_text(changed)
        return record.write_record(*given)

    monkeypatch.setattr("musculo.opensim_tools.setup_runner.write_record", late)
    before = run_setup(folder / "id.xml", compare=False)
    first = (folder / "results" / "id.sto").read_text()
    monkeypatch.undo()
    after = run_setup(folder / "id.xml", compare=False, force=False)
    assert (before.status, after.status) == (Status.DONE, Status.DONE)
    assert (folder / "results" / "id.sto").read_text() != first
    assert run_setup(folder / "id.xml", compare=False, force=False).status is Status.UNCHANGED


def test_an_input_that_changes_and_changes_back(tmp_path, monkeypatch):
    """Neither before nor after the run it is what was read."""
    folder = arm_folder(tmp_path, id=tool_setups.inverse_dynamics())
    own, motion = (folder / "motion.mot").read_text(), folder / "motion.mot"

    def while_reading(path):
        motion.write_text(own.replace("\t3", "\t4"))
        try:
            return read_storage(path)
        finally:
            motion.write_text(own)

    monkeypatch.setattr("musculo.opensim_tools.work.read_storage", while_reading)
    run_setup(folder / "id.xml", compare=False)
    monkeypatch.undo()
    assert run_setup(folder / "id.xml", compare=False, force=False).status is Status.DONE
    assert run_setup(folder / "id.xml", compare=False, force=False).status is Status.UNCHANGED


def _package(folder: Path, text: str = "x = 1\n") -> Path:
    for name in ("a.py", "inner/b.py", "cli/c.py", "__pycache__/a.pyc", "inner/page.html"):
        (folder / "pack" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pack" / name).write_text("x = 1\n")
    (folder / "pack" / "inner" / "b.py").write_text(text)
    return folder / "pack"


def _zipped(package: Path) -> Path:
    archive = package.parent / "site.zip"
    with zipfile.ZipFile(archive, "w") as held:
        for path in package.rglob("*.*"):
            held.write(path, Path("inside") / path.relative_to(package.parent))
    return archive / "inside" / package.name


def test_every_source_counts_and_nothing_else_does(tmp_path):
    for form in (lambda package: package, _zipped):
        package = _package(tmp_path)
        first = sources_of(form(package))
        assert len(first) == 64
        for name in ("cli/c.py", "__pycache__/a.pyc", "inner/page.html"):
            if "pycache" in name and form is _zipped:
                continue  # archives hold none
            (package / name).write_text("x = 2\n")
            assert sources_of(form(package)) == first, name
        assert sources_of(form(_package(tmp_path, "x = 2\n"))) != first
        _package(tmp_path)
        assert sources_of(form(package)) == first
        (package / "a.py").rename(package / "c.py")
        assert sources_of(form(package)) != first
        shutil.rmtree(package)
    assert sources_of(tmp_path / "nowhere") == ""


def test_the_package_knows_its_sources_in_an_archive_too(tmp_path):
    """As in a zip archive on the path: the module stands alone, beside no other."""
    assert own_sources() == sources_of(Path(musculo.__file__).parent)
    archive = tmp_path / "site.zip"
    with zipfile.ZipFile(archive, "w") as held:
        held.write(Path(record.__file__).with_name("own_sources.py"), "musculo/opensim_tools/records/own_sources.py")
        held.writestr("musculo/opensim_tools/records/__init__.py", "")
        held.writestr("musculo/opensim_tools/__init__.py", "")
        held.writestr("musculo/__init__.py", "")
    code = "from musculo.opensim_tools.records.own_sources import own_sources; print(own_sources())"
    told = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": str(archive), "PATH": ""},
    ).stdout
    assert told.strip() == sources_of(archive / "musculo") != ""
