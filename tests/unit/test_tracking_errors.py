"""The errors of a motion that follows another are judged by their size, their unit and the tool that made them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Muscle, PinJoint, Table, write_osim, write_storage
from musculo.diagnostics.finding import Light
from musculo.model import FreeJoint, Path, PathPoint
from musculo.report import report_of_folder

TIME = np.linspace(0.0, 1.0, 11)
ANGLES, TRANSLATIONS = "Tracking errors of angles", "Tracking errors of translations"


def walker() -> Model:
    path = Path((PathPoint("a", "pelvis", (0.0, 0.1, 0.0)), PathPoint("b", "leg", (0.02, -0.2, 0.0))))
    return Model(
        "walker",
        tuple(Body(name, 5.0, inertia=(0.1, 0.1, 0.1, 0, 0, 0)) for name in ("pelvis", "leg")),
        (
            FreeJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz"))),
            PinJoint("hip", "pelvis", "leg", (Coordinate("hip_flexion"),)),
        ),
        forces=(Muscle("m", "Thelen2003Muscle", path=path),),
    )


@pytest.fixture
def report(tmp_path):
    """Makes the page of a run of a tool that left the errors of two tasks: a hip and a height."""

    def made(tool: str, hip: float, height: float, names=("hip_flexion", "ty")):
        write_osim(walker(), tmp_path / "walker.osim")
        errors = np.zeros((len(TIME), 2))
        errors[4] = -hip, height
        write_storage(Table(TIME, names, errors), tmp_path / "walk_pErr.sto")
        acting = Table(TIME, ("hip_flexion_reserve",), np.full((len(TIME), 1), 12.0))
        write_storage(acting, tmp_path / "walk_Actuation_force.sto")
        results = {str(tmp_path / f"walk_{what}.sto"): "a" for what in ("pErr", "Actuation_force")}
        record = {"tool": tool, "inputs": {str(tmp_path / "walker.osim"): "b"}, "results": results}
        if tool:
            (tmp_path / "walk.musculo.json").write_text(json.dumps(record))
        return report_of_folder(tmp_path, scene=False)

    return made


def lights(page) -> dict[str, Light]:
    return {check.title: check.light for check in page.checks}


@pytest.mark.parametrize(
    ("degrees", "light"), [(1.9, Light.GOOD), (2.1, Light.LOOK), (4.9, Light.LOOK), (5.1, Light.BAD)]
)
@pytest.mark.parametrize("tool", ["CMCTool", "RRATool", ""])
def test_angles(report, tool, degrees, light):
    page = report(tool, np.deg2rad(degrees), 0.0)
    assert lights(page)[ANGLES] is light
    told = next(check.text for check in page.checks if check.title == ANGLES)
    assert told.startswith(f"{degrees:g}° at most, hip_flexion at 0.4 s")


@pytest.mark.parametrize(
    ("tool", "height", "light"),
    [
        ("CMCTool", 0.009, Light.GOOD),
        ("CMCTool", 0.011, Light.LOOK),
        ("CMCTool", 0.021, Light.BAD),
        ("RRATool", 0.019, Light.GOOD),
        ("RRATool", 0.021, Light.LOOK),
        ("RRATool", 0.051, Light.BAD),
        ("", 0.021, Light.LOOK),
    ],
)
def test_translations(report, tool, height, light):
    assert lights(report(tool, 0.0, height))[TRANSLATIONS] is light


def test_errors_are_plotted_with_their_limits(report):
    page = report("CMCTool", np.deg2rad(3.0), 0.004)
    section = next(one for one in page.sections if one.title == "Tracking errors")
    shown = {panel.title: (panel.unit, panel.limit, np.abs(panel.curves[0].values).max()) for panel in section.panels}
    assert shown == {"hip flexion": ("°", 2.0, pytest.approx(3.0)), "ty": ("mm", 10.0, pytest.approx(4.0))}


def test_what_was_not_simulated_is_not_called_good(report):
    found = lights(report("CMCTool", 0.0, 0.0))
    assert found["Tracking errors"] is Light.INFO
    assert ANGLES not in found


def test_tasks_that_are_no_coordinates_are_not_judged(report):
    assert lights(report("CMCTool", 1.0, 1.0, names=("one", "two")))["Tracking errors"] is Light.UNJUDGED


def test_errors_that_are_no_numbers_are_bad(report):
    assert lights(report("CMCTool", np.nan, 0.0))[ANGLES] is Light.BAD


@pytest.mark.parametrize(("tool", "title"), [("RRATool", "Joint actuators"), ("CMCTool", "Reserves")])
def test_actuators_of_residual_reduction_are_no_reserves(report, tool, title):
    """It has no muscles that they could help, whatever the model of the file has."""
    found = lights(report(tool, 0.01, 0.01))
    assert title in found
    assert len({"Joint actuators", "Reserves"} & set(found)) == 1
