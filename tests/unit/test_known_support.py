"""Residuals are judged where each foot is on a plate or off the ground; the rest is said not to be."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from musculo import Body, Coordinate, Model, PinJoint, Placement, Table, known_support, write_osim, write_storage
from musculo.cli.main import app
from musculo.errors import InvalidInput
from musculo.model import PlanarJoint
from musculo.report import Finding, Light, report_of_folder
from musculo.results import ExternalForce, ExternalLoads

TIME = np.linspace(0.0, 2.0, 201)
WEIGHT = 40.0 * 9.80665


def walker(gravity=(0.0, -9.80665, 0.0)) -> Model:
    """A pelvis in a plane with two legs that turn at the hips; feet 0.9 m below."""
    hips = tuple(
        PinJoint(
            f"hip_{side}", Placement("pelvis", (0.0, 0.0, z)), Placement(f"foot_{side}"), (Coordinate(f"h_{side}"),)
        )
        for side, z in (("r", 0.1), ("l", -0.1))
    )
    bodies = (
        Body("pelvis", 30.0, inertia=(1, 1, 1, 0, 0, 0)),
        *(Body(f"foot_{s}", 5.0, (0.0, -0.9, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)) for s in "rl"),
    )
    base = PlanarJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("tilt", "tx", "ty")))
    return Model("walker", bodies, (base, *hips), gravity=gravity)


def stepping(raised=0.4) -> np.ndarray:
    """Both legs stand for the first second; in the second the left one is raised to the back, and held there."""
    q = np.zeros((201, 5))
    q[:, 4] = -raised * np.clip((TIME - 1.0) / 0.2, 0.0, 1.0)
    return q


def plates(right, left=None) -> ExternalLoads:
    """Vertical forces under the feet; a foot without numbers has no plate."""
    forces = {"r": right} if left is None else {"r": right, "l": left}
    columns = {}
    for side, size in forces.items():
        for axis in "xyz":
            columns[f"{side}_v{axis}"] = np.broadcast_to(size if axis == "y" else 0.0, TIME.shape)
            columns[f"{side}_p{axis}"] = np.broadcast_to(-0.9 if axis == "y" else 0.0, TIME.shape)
    acting = tuple(ExternalForce(s, f"foot_{s}", f"{s}_v", f"{s}_p") for s in forces)
    return ExternalLoads("plates", acting, Table(TIME, tuple(columns), np.column_stack(list(columns.values()))))


def test_a_foot_beside_its_plate_is_seen():
    """The left foot has no plate: while it stands nothing can be judged, while it is raised all is known."""
    found = known_support(walker(), TIME, stepping(), plates(WEIGHT))
    assert not found.known[TIME <= 0.99].any()
    assert found.known[TIME > 1.15].all()
    (reason,) = found.reasons
    assert reason.startswith("foot_l stands on the ground and no plate measures it: 0 to 1.")


def test_both_feet_on_plates_are_known():
    found = known_support(walker(), TIME, stepping(), plates(WEIGHT / 2, np.where(TIME < 1.0, WEIGHT / 2, 0.0)))
    assert found.known[(TIME < 1.0) | (TIME > 1.15)].all()


def test_a_foot_in_the_air_beside_a_plate_is_known():
    """It is off the ground, though it does not move."""
    assert known_support(walker(), TIME, stepping()[[200] * 201], plates(WEIGHT)).known.all()


def test_a_touch_is_not_standing():
    """A foot that swings past, low and slow for less than 0.1 s, stands on nothing; one that rests for longer does."""
    for rest, known in ((0.04, True), (0.3, False)):
        q = np.zeros((201, 5))
        q[:, 4] = -0.5 * np.clip((np.abs(TIME - 1.0) - rest / 2.0) / 0.05, 0.0, 1.0)
        found = known_support(walker(), TIME, q, plates(WEIGHT))
        assert bool(found.known.all()) is known


def test_a_stand_that_the_recording_cuts_short_is_standing():
    """A foot that stands in the first three frames stood before them, too."""
    q = np.zeros((201, 5))
    q[:, 4] = -0.5 * np.clip((TIME - 0.02) / 0.05, 0.0, 1.0)
    found = known_support(walker(), TIME, q, plates(WEIGHT))
    assert not found.known[:3].any()
    assert found.known[10:].all()
    one = known_support(walker(), TIME[:1], q[:1], plates(WEIGHT))
    assert not one.known.any()


def test_up_is_against_gravity():
    """The same walker lying on its side, with z up: feet that stand are as low as they get along z."""
    q = np.zeros((201, 5))
    assert known_support(walker((0.0, 0.0, -9.80665)), TIME, q, plates(WEIGHT)).standing["foot_l"].all()
    raised = stepping()
    # raised along y, which is a direction along the floor now
    assert not known_support(walker((0.0, 0.0, -9.80665)), TIME, raised, plates(WEIGHT)).known[TIME > 1.3].any()


def test_times_without_loads_are_not_known():
    later = known_support(walker(), TIME + 1.0, stepping()[[200] * 201], plates(WEIGHT))
    assert later.known[TIME + 1.0 <= 2.0].all()
    assert not later.known[TIME + 1.0 > 2.02].any()
    assert later.reasons[0].startswith("the external loads do not reach there: 2.02 to 3 s")


def test_plates_that_carry_nothing_tell_nothing():
    found = known_support(walker(), TIME, stepping(), plates(5.0))
    assert not found.known.any()
    assert found.reasons == ("no plate ever carries more than 20 N",)


def test_lengths_must_agree():
    with pytest.raises(InvalidInput, match="time has shape"):
        known_support(walker(), TIME[:-1], stepping(), plates(WEIGHT))


@pytest.fixture
def folder(tmp_path):
    """A walk of which the first half has a foot beside the plates: 300 N are missing there, 10 N in the rest."""
    write_osim(walker(), tmp_path / "walker.osim")
    names = ("tilt", "tx", "ty", "h_r", "h_l")
    write_storage(Table(TIME, names, np.degrees(stepping()), degrees=True, name="Coordinates"), tmp_path / "ik.mot")
    write_loads(tmp_path, WEIGHT)
    residual(tmp_path, np.where(TIME < 1.05, 300.0, 10.0))
    return tmp_path


def write_loads(folder, size):
    table = plates(size).table
    write_storage(table, folder / "grf.dat")
    (folder / "loads.xml").write_text(
        '<OpenSimDocument Version="40000"><ExternalLoads name="l"><objects><ExternalForce name="r"><applied_to_body>'
        "foot_r</applied_to_body><force_expressed_in_body>ground</force_expressed_in_body><point_expressed_in_body>"
        "ground</point_expressed_in_body><force_identifier>r_v</force_identifier><point_identifier>r_p"
        "</point_identifier><data_source_name>grf</data_source_name></ExternalForce></objects><datafile>grf.dat"
        "</datafile></ExternalLoads></OpenSimDocument>"
    )
    (folder / "id.musculo.json").write_text(
        f'{{"tool": "InverseDynamicsTool", "inputs": {{"{folder}/walker.osim": "", "{folder}/loads.xml": "", '
        f'"{folder}/ik.mot": ""}}, "results": {{"{folder}/id.sto": ""}}}}'
    )


def residual(folder, force):
    values = np.column_stack((np.zeros(201), np.zeros(201), force))
    write_storage(Table(TIME, ("tilt_moment", "tx_force", "ty_force"), values), folder / "id.sto")


def found_of(folder):
    report = report_of_folder(folder, scene=False)
    return {check.title: check for check in report.checks}, {s.title: s for s in report.sections}


def test_residuals_are_judged_where_support_is_known(folder):
    checks, sections = found_of(folder)
    assert checks["Residual forces"].light is Light.GOOD
    assert checks["Residual forces"].found.startswith("10 N at most in ")
    assert checks["Residuals, not judged"].light is Light.UNJUDGED
    assert "foot_l stands on the ground and no plate measures it: 0 to 1.0" in checks["Residuals, not judged"].found
    panel = sections["Residuals"].panels[1]
    assert panel.not_judged[0][0] == 0.0
    assert panel.limit == pytest.approx(0.05 * WEIGHT)
    residual(folder, np.full(201, 100.0))  # which is a quarter of the weight where it is judged, too
    assert found_of(folder)[0]["Residual forces"].light is Light.BAD


def test_without_a_motion_residuals_are_not_judged(folder):
    (folder / "ik.mot").unlink()
    checks, _ = found_of(folder)
    assert "Residual forces" not in checks
    assert "the motion is not known" in checks["Residuals, not judged"].found


def test_residuals_of_loads_that_never_carry_the_body_are_judged_by_its_weight(folder):
    """Loads in kN, or zeros: the weight at the base is bad; a body in flight needs nothing there."""
    for size in (0.0, 5.0):
        write_loads(folder, size)
        residual(folder, np.full(201, WEIGHT))
        checks, _ = found_of(folder)
        assert checks["Residual forces"].light is Light.BAD
        assert "100.0 % of the body's weight, since external loads never carry it" in checks["Residual forces"].found
        assert "Residuals, not judged" not in checks
    residual(folder, np.full(201, 1.0))
    assert found_of(folder)[0]["Residual forces"].light is Light.GOOD


@pytest.mark.parametrize(("part", "light"), [(0.04, Light.GOOD), (0.19, Light.LOOK), (0.21, Light.BAD)])
def test_residual_forces_of_recorded_motions_are_bad_beyond_a_fifth(folder, part, light):
    residual(folder, np.where(TIME < 1.05, 0.0, part * WEIGHT))
    assert found_of(folder)[0]["Residual forces"].light is light


@pytest.mark.parametrize(("part", "light"), [(0.009, Light.GOOD), (0.09, Light.LOOK), (0.11, Light.BAD)])
def test_residual_moments_of_recorded_motions_are_bad_beyond_a_tenth(folder, part, light):
    moment = np.where(TIME < 1.05, 0.0, part * WEIGHT)
    values = np.column_stack((moment, np.zeros(201), np.zeros(201)))
    write_storage(Table(TIME, ("tilt_moment", "tx_force", "ty_force"), values), folder / "id.sto")
    assert found_of(folder)[0]["Residual moments"].light is light


@pytest.mark.parametrize(
    ("size", "light"), [(0.001 * WEIGHT, Light.BAD), (-WEIGHT, Light.BAD), (0.0, Light.LOOK), (WEIGHT, None)]
)
def test_loads_in_doubt_are_judged_without_residuals(folder, size, light):
    """Joint reactions have none: kN, forces on the plates and zeros are told by what the run found."""
    (folder / "id.sto").unlink()
    write_loads(folder, size)
    words = ("jr", folder / "walker.osim", folder / "ik.mot", "-l", folder / "loads.xml", "-o", folder / "out")
    done = CliRunner().invoke(app, [str(word) for word in (*words, "--time", "1.2:2", "--strict")])
    assert done.exit_code == (4 if light is Light.BAD else 0), done.output
    assert found_of(folder / "out")[0].get("External loads", Finding("")).light is (light or Light.INFO)
    assert ("strict: External loads: " in done.stderr) == (light is Light.BAD)
    again = CliRunner().invoke(app, [str(word) for word in (*words, "--time", "1.2:2", "--strict")])
    assert again.exit_code == done.exit_code  # nothing changed, and it is judged all the same


def test_columns_that_opensim_takes_in_another_order_are_bad(folder):
    """Forces of x, y, z that stand as z, y, x: `musculo run` takes them as OpenSim does, and does not call it good."""
    table = plates(WEIGHT).table
    forces = [table.names.index(f"r_v{axis}") for axis in "zyx"]
    points = [table.names.index(f"r_p{axis}") for axis in "xyz"]
    turned = [*forces, *points]
    values = table.values[:, turned].copy()
    values[:, 2] = 30.0  # along x by its name
    write_storage(Table(TIME, tuple(table.names[k] for k in turned), values), folder / "grf.dat")
    (folder / "run.xml").write_text(
        '<OpenSimDocument Version="40000"><InverseDynamicsTool name="t"><results_directory>out</results_directory>'
        "<model_file>walker.osim</model_file><time_range>1.2 2</time_range><coordinates_file>ik.mot</coordinates_file>"
        "<external_loads_file>loads.xml</external_loads_file><output_gen_force_file>made.sto</output_gen_force_file>"
        "</InverseDynamicsTool></OpenSimDocument>"
    )
    done = CliRunner().invoke(app, ["run", str(folder / "run.xml"), "--strict", "--no-compare"])
    assert done.exit_code == 4, done.output
    assert "strict: External loads: " in done.stderr
    assert "wrong by up to 30 " in done.stderr
    named = CliRunner().invoke(app, ["run", str(folder / "run.xml"), "--strict", "--exact", "-o", str(folder / "e")])
    assert "strict: External loads: " not in named.stderr


def test_plates_that_hardly_carry_judge_nothing(folder):
    write_loads(folder, 15.0)
    checks, _ = found_of(folder)
    assert "Residual forces" not in checks
    assert checks["Residuals, not judged"].found == "in no frame: no plate ever carries more than 20 N"


def test_a_run_says_what_is_not_judged(folder):
    (folder / "id.sto").unlink()
    words = ("id", folder / "walker.osim", folder / "ik.mot", "-l", folder / "loads.xml", "-o", folder / "out")
    printed = CliRunner().invoke(app, [str(word) for word in words]).stdout
    assert "-     Residuals, not judged: 1" in printed
    assert "foot_l stands on the ground and no plate measures it: 0 to 1.0" in printed
