"""The force of a plate acts on the foot that stands there, and a plate of both feet is divided in time."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from typer.testing import CliRunner

import musculo
from musculo import Body, Coordinate, Marker, Model, PinJoint, Placement, Table
from musculo.analyses.foot_loads import feet_of, foot_loads
from musculo.cli.exit_codes import BAD_INPUT, WrongUsage
from musculo.cli.main import app
from musculo.diagnostics.finding import Severity
from musculo.errors import InvalidInput, UnknownName
from musculo.model import FreeJoint
from musculo.opensim_tools.trial_tasks import TrialOptions, trial_tasks
from musculo.results.plate_columns import force_columns
from support.c3d_files import C3DMaker, plate_group
from support.recorded_data import DATA, NO_DATA, recorded

TIME = np.linspace(0.0, 2.0, 201)
WEIGHT = 400.0
APART = 0.1  # of each foot from the middle [m]
# C3D files hold single precision; millimetres as floats.
SINGLE = 1e-6
# The filter of 6 Hz spreads the swing of a leg over its neighborhood.
FILTERED = 1e-3


def walker() -> Model:
    """A pelvis with two legs that turn at the hips about z; the feet are 0.9 m below."""
    base = FreeJoint("base", "ground", "pelvis", tuple(Coordinate(n) for n in ("rx", "ry", "rz", "tx", "ty", "tz")))
    hips = tuple(
        PinJoint(
            f"hip_{side}",
            Placement("pelvis", (0.0, 0.0, z)),
            Placement(f"foot_{side}"),
            (Coordinate(f"hip_{side}"),),
        )
        for side, z in (("r", APART), ("l", -APART))
    )
    bodies = (
        Body("pelvis", 30.0, inertia=(1, 1, 1, 0, 0, 0)),
        *(Body(f"foot_{s}", 5.0, (0.0, -0.9, 0.0), (0.1, 0.1, 0.1, 0, 0, 0)) for s in "rl"),
    )
    places = [("pelvis", (0.1, 0, 0)), ("pelvis", (0, 0.1, 0)), ("pelvis", (0, 0, 0.1))]
    places += [(f"foot_{s}", p) for s in "rl" for p in ((0.1, -0.8, 0.0), (-0.1, -0.8, 0.0), (0.0, -0.5, 0.05))]
    markers = tuple(Marker(f"m{k}", body, p) for k, (body, p) in enumerate(places))
    return Model("walker", bodies, (base, *hips), markers=markers)


def stepping() -> np.ndarray:
    """The left leg swings to the front until 1 s, the right one from there on."""
    q = np.zeros((len(TIME), 8))
    q[:, 4] = 0.9
    q[:, 7] = 0.6 * np.sin(np.pi * TIME) ** 2 * (TIME < 1.0)
    q[:, 6] = 0.6 * np.sin(np.pi * TIME) ** 2 * (TIME > 1.0)
    return q


def one_plate(offset=0.0) -> Table:
    """Under the right foot until 0.95 s, under the left one from 1.05 s."""
    right, left = TIME < 0.955, TIME > 1.045
    values = np.zeros((len(TIME), 9))
    values[:, 1] = WEIGHT * (right | left)
    values[:, 3] = offset
    values[:, 5] = np.where(TIME < 1.0, APART, -APART)
    names = [f"ground_force_v{a}" for a in "xyz"] + [f"ground_force_p{a}" for a in "xyz"]
    return Table(TIME, (*names, *(f"ground_torque_{a}" for a in "xyz")), values)


def test_a_plate_of_both_feet_is_divided():
    found = foot_loads(walker(), TIME, stepping(), one_plate())
    assert [(one.body, round(one.start, 2), round(one.end, 2)) for one in found.contacts] == [
        ("foot_r", 0.0, 0.95),
        ("foot_l", 1.05, 2.0),
    ]
    assert not found.findings
    by_body = {force.body: force for force in found.loads.forces}
    table = found.loads.table
    for body, stands in (("foot_r", TIME < 0.955), ("foot_l", TIME > 1.045)):
        assert_allclose(table.column(f"{by_body[body].force_identifier}y"), WEIGHT * stands)
    total = sum(table.column(f"{force.force_identifier}y") for force in found.loads.forces)
    assert_allclose(total, one_plate().column("ground_force_vy"))


def test_a_foot_that_is_far_is_not_loaded():
    with pytest.raises(InvalidInput, match=r"no plate carries a foot.*m from the center of pressure"):
        foot_loads(walker(), TIME, stepping(), one_plate(offset=5.0))


@pytest.mark.filterwarnings("ignore:q. hip_r reaches:musculo.MusculoWarning")
def test_degrees_that_are_called_radians_are_named():
    """Such poses put the feet far away: the reason comes with the plates that find no foot."""
    bounded = walker().with_coordinate("hip_r", range=(-1.0, 1.0))
    q = stepping()
    q[:, bounded.coordinate_index("hip_r")] += 40.0
    q[:, bounded.coordinate_index("rz")] += 40.0
    with pytest.raises(InvalidInput, match=r"hip_r reaches 40.*degrees that are called radians.*inDegrees=yes"):
        foot_loads(bounded, TIME, q, one_plate(offset=50.0))


def test_what_cannot_be_told_is_said():
    table = one_plate()
    middle = table.values.copy()
    middle[:, 5] = 0.01
    still = stepping()
    still[:, 6:] = 0.0
    found = foot_loads(walker(), TIME, still, Table(TIME, table.names, middle))
    assert {one.severity for one in found.findings} == {Severity.DOUBTFUL}
    assert "other foot" in found.findings[0].text
    stated = foot_loads(walker(), TIME, still, Table(TIME, table.names, middle), plates={"1": "foot_l"})
    assert not stated.findings
    assert [force.body for force in stated.loads.forces] == ["foot_l"]


def test_wrong_names_are_errors():
    model = walker()
    with pytest.raises(UnknownName, match="plate"):
        foot_loads(model, TIME, stepping(), one_plate(), plates={"2": "foot_l"})
    with pytest.raises(UnknownName, match="body"):
        foot_loads(model, TIME, stepping(), one_plate(), feet=["foot_x"])
    with pytest.raises(InvalidInput, match="no time in common"):
        foot_loads(model, TIME + 5.0, stepping(), one_plate())
    with pytest.raises(InvalidInput, match="say which are the feet"):
        feet_of(musculo.demo.arm())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["ground_force_v", "ground_force_p", "ground_torque_"], ["1"]),
        (["1_ground_force_v", "1_ground_force_p", "1_ground_torque_"], ["1"]),
        (["ground_force_r_v", "ground_force_r_p", "ground_torque_r_"], ["r"]),
        (["ground_force_2_v", "ground_force_2_p", "ground_moment_2_m"], ["2"]),
        (["FP3_v", "FP3_p"], ["FP3"]),
    ],
)
def test_names_of_columns(names, expected):
    columns = tuple(stem + axis for stem in names for axis in "xyz")
    found = force_columns(Table(TIME, columns, np.zeros((len(TIME), len(columns)))))
    assert [one.name for one in found] == expected
    assert found[0].force == names[0]
    assert found[0].moment == (names[2] if len(names) > 2 else "")


def test_tables_without_forces_are_refused():
    with pytest.raises(InvalidInput, match="no columns end in vx, vy, vz"):
        force_columns(Table(TIME, ("knee",), np.zeros((len(TIME), 1))))
    with pytest.raises(InvalidInput, match="no point of application"):
        force_columns(Table(TIME, ("f_vx", "f_vy", "f_vz"), np.zeros((len(TIME), 3))))


# --- from one file to all results -----------------------------------------------------------------------------------
def shell(*words, code=0) -> str:
    result = CliRunner().invoke(app, [str(word) for word in words])
    if code == 0 and result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.output


def recording(folder: Path) -> Path:
    """Markers and a plate of type 1 in a laboratory with z up: lab (x, y, z) is ground (x, z, -y)."""
    model = walker()
    at = musculo.kinematics(model, stepping()).markers(model.marker_names)
    lab = 1000.0 * np.stack((at[..., 0], -at[..., 2], at[..., 1]), axis=-1)
    plate = one_plate()
    analog = np.zeros((len(TIME), 6))  # the reaction along the plate's axes, its z down, then the center of pressure
    analog[:, 2] = -plate.column("ground_force_vy")
    analog[:, 4] = 1000.0 * plate.column("ground_force_pz")  # the plate's y is the laboratory's -y
    corners = np.array([[300, -200, 0], [-300, -200, 0], [-300, 200, 0], [300, 200, 0]], dtype=float)
    group = plate_group([1], [corners], [(0.0, 0.0, 0.0)], [np.arange(1, 7)])
    made = C3DMaker(lab, list(model.marker_names))
    made.analog, made.analog_labels = analog, [f"c{k}" for k in range(6)]
    made.extra = {"FORCE_PLATFORM": group, "POINT": {"X_SCREEN": ["+X"], "Y_SCREEN": ["+Z"]}}
    path = folder / "steps.c3d"
    path.write_bytes(made.bytes())
    musculo.write_osim(model, folder / "walker.osim")
    return path


def test_a_c3d_file_becomes_moments_and_joint_loads(tmp_path):
    trial = recording(tmp_path)
    told = json.loads(
        shell("walk", tmp_path / "walker.osim", trial, "-o", tmp_path / "out", "--steps", "id,jr", "--json")
    )
    assert [one["tool"] for one in told] == ["InverseKinematicsTool", "InverseDynamicsTool", "AnalyzeTool"]
    assert (tmp_path / "out" / "report.html").is_file()
    angles = musculo.read_storage(tmp_path / "out" / "steps_ik.mot").in_radians(walker())
    assert_allclose(angles.coordinates(walker()), stepping(), atol=SINGLE)
    loads = musculo.read_external_loads(tmp_path / "out" / "steps_grf.xml")
    assert {force.body for force in loads.forces} == {"foot_r", "foot_l"}
    # standing still at the ends of the recording: the plate carries what it measures, and the rest is missing
    moments = musculo.read_storage(tmp_path / "out" / "steps_ik_id.sto")
    missing = sum(body.mass for body in walker().bodies) * 9.80665 - WEIGHT
    assert_allclose(moments.column("ty_force")[[0, -1]], missing, atol=FILTERED * WEIGHT)


def test_a_walker_on_no_plates_has_angles_only(tmp_path, recwarn):
    recorded_markers = musculo.read_c3d(recording(tmp_path)).markers
    musculo.write_trc(recorded_markers, tmp_path / "steps.trc", units="mm")
    walk = ("walk", tmp_path / "walker.osim", tmp_path / "steps.trc", "-o", tmp_path / "out", "--json", "--no-report")
    told = json.loads(shell(*walk))
    assert [one["tool"] for one in told] == ["InverseKinematicsTool"]
    assert any("angles only; give forces with --loads" in str(one.message) for one in recwarn)
    told = json.loads(shell(*walk, "--steps", "id"))
    assert [one["tool"] for one in told][-1] == "InverseDynamicsTool"
    # a study has the same rule, so that bodies in the air are in none of its means
    model, trial = tmp_path / "walker.osim", tmp_path / "steps.trc"
    assert len(trial_tasks(model, trial, None, tmp_path)) == 1
    assert len(trial_tasks(model, trial, None, tmp_path, TrialOptions(("ik", "id")))) == 2
    assert len(trial_tasks(model, tmp_path / "steps.c3d", tmp_path / "steps.c3d", tmp_path)) == 4


def test_flags_that_do_not_fit(tmp_path):
    trial = recording(tmp_path)
    model = tmp_path / "walker.osim"
    walk = ("walk", str(model), str(trial), "-o", str(tmp_path / "out"))
    for words in (("--steps", "so2"), ("--steps", ""), ("--lowpass", "-1"), ("--plate", "1")):
        with pytest.raises(WrongUsage, match=words[0]):
            CliRunner().invoke(app, [*walk, *words], catch_exceptions=False)
    shell(*walk, "--foot", "hand", "--steps", "id", code=BAD_INPUT)
    given = ("id", str(model), "x.mot", "--loads", "grf.xml", "--foot", "foot_r")
    with pytest.raises(WrongUsage, match=r"--foot.*\.c3d, \.mot or \.sto"):
        CliRunner().invoke(app, given, catch_exceptions=False)


@pytest.mark.skipif(not recorded("rajagopal_walk/grf_walk.mot"), reason=NO_DATA)
@pytest.mark.parametrize(
    ("model", "motion", "forces", "loads"),
    [
        (
            "rajagopal_walk/subject_walk_scaled.osim",
            "oracle/rajagopal_walk/ik.mot",
            "rajagopal_walk/grf_walk.mot",
            "rajagopal_walk/grf_walk.xml",
        ),
        (
            "gait10dof18musc/subject01.osim",
            "oracle/gait10dof18musc_walk/ik.mot",
            "gait10dof18musc/subject01_walk_grf.mot",
            "gait10dof18musc/subject01_walk_grf.xml",
        ),
    ],
)
def test_recorded_walks_stand_as_their_authors_say(model, motion, forces, loads):
    subject = musculo.read_osim(DATA / model)
    table = musculo.read_storage(DATA / motion)
    q = table.in_radians(subject).coordinates(subject)
    found = foot_loads(subject, table.time, q, musculo.read_storage(DATA / forces))
    assert not found.findings
    said = {one.body: one for one in musculo.read_external_loads(DATA / loads).at(table.time)}
    for one in found.loads.at(table.time):
        assert_allclose(one.force, said[one.body].force, atol=1e-9)
        assert_allclose(one.point, said[one.body].point, atol=1e-12)
