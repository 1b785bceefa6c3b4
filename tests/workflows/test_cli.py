"""The shell commands end to end: what they print, what they write, and how they fail."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
import typer

import musculo
from musculo.cli.exit_codes import READER_GONE
from musculo.cli.main import app
from musculo.demo import MODEL_FILE


def test_help_and_version(shell):
    help_text = shell("--help")
    assert help_text.status == 0
    assert all(word in help_text.out for word in ("info", "demo", "convert", "--version"))
    assert shell("--version").out == f"musculo {musculo.__version__}\n"


def test_help_needs_no_numerics():
    """What keeps `musculo --help` quick: neither arrays nor the compiler are imported for it."""
    code = (
        "import sys; sys.argv = ['musculo', '--help']\n"
        "from musculo.cli.main import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print(sorted({'numpy', 'numba', 'scipy', 'lxml', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith("[]")


# --- info -----------------------------------------------------------------------------------------------------------
def test_info_tells_what_the_model_holds(shell):
    told = shell("info", MODEL_FILE)
    assert told.status == 0
    assert told.err == ""
    lines = told.out.splitlines()
    assert max(map(len, lines[2:])) <= 80  # the path in line 2 is never broken
    rows = [" ".join(line.split()) for line in lines]
    assert "hip PinJoint pelvis → thigh hip_flexion" in rows
    assert "knee_flexion -10 to 130° 0° free" in rows
    assert any(row.startswith("patella_angle -11.46 to 91.67° 0° coupled to knee_flexion by") for row in rows)
    assert "soleus Millard2012EquilibriumMuscle 0.05 4000" in rows
    assert "foot heel, toe" in rows
    assert not any(line != line.rstrip() for line in lines)


def test_info_json_is_the_same_for_programs(shell, leg):
    told = json.loads(shell("info", MODEL_FILE, "--json").out)
    assert told["name"] == "leg"
    assert told["document_version"] == 40600
    assert told["total_mass"] == pytest.approx(sum(b.mass for b in leg.bodies), rel=1e-15)
    assert [c["name"] for c in told["coordinates"]] == list(leg.coordinate_names)
    assert told["independent_coordinates"] == list(leg.independent_coordinate_names)
    patella = told["coordinates"][leg.coordinate_index("patella_angle")]
    assert (patella["driver"], patella["motion"]) == ("coupled", "rotation")
    assert [m["name"] for m in told["muscles"]] == list(leg.muscle_names)


def joined(kind: str, name: str, parent: str, child: str, inside: str) -> str:
    return (
        f'<{kind} name="{name}"><socket_parent_frame>{parent}</socket_parent_frame>'
        f"<socket_child_frame>/bodyset/{child}</socket_child_frame>{inside}</{kind}>"
    )


CURVE = """<coordinates><Coordinate name="drive"><range>-inf inf</range></Coordinate></coordinates><SpatialTransform>
<TransformAxis name="rotation1"><coordinates>drive</coordinates><axis>1 0 0</axis>
<LinearFunction><coefficients>2 0</coefficients></LinearFunction></TransformAxis></SpatialTransform>"""
LOCKED = """<coordinates><Coordinate name="along"><locked>true</locked><default_value>0.25</default_value>
</Coordinate></coordinates>"""
KINDS = """<OpenSimDocument Version="40600"><Model name="kinds">
<BodySet><objects>{bodies}</objects></BodySet><JointSet><objects>{joints}</objects></JointSet>
<ConstraintSet><objects><PointConstraint name="loop"><socket_body_1>/bodyset/a</socket_body_1>
<socket_body_2>/bodyset/c</socket_body_2></PointConstraint></objects></ConstraintSet>
<ProbeSet><objects><ActuatorPowerProbe name="watts"/></objects></ProbeSet>
</Model></OpenSimDocument>"""


@pytest.fixture
def kinds(tmp_path):
    """A locked slider, a free joint, a coordinate that drives a curve, an open loop, and something to ignore."""
    bodies = "".join(f'<Body name="{n}"><mass>1</mass><inertia>1 1 1 0 0 0</inertia></Body>' for n in "abc")
    free = "".join(f'<Coordinate name="{n}"/>' for n in ("rx", "ry", "rz", "tx", "ty", "tz"))
    joints = (
        joined("SliderJoint", "rail", "/ground", "a", LOCKED)
        + joined("FreeJoint", "float", "/ground", "b", f"<coordinates>{free}</coordinates>")
        + joined("CustomJoint", "curve", "/bodyset/b", "c", CURVE)
    )
    file = tmp_path / "kinds.osim"
    file.write_text(KINDS.format(bodies=bodies, joints=joints))
    return file


def test_info_units_drivers_loops_and_notes(shell, kinds):
    told = json.loads(shell("info", kinds, "--json").out)
    motion = {c["name"]: c["motion"] for c in told["coordinates"]}
    assert motion["along"] == motion["tx"] == "translation"
    assert motion["rx"] == motion["rz"] == "rotation"
    assert motion["drive"] == "mixed"  # a slope of two is no pure rotation, as in OpenSim
    assert told["constraints"] == [{"name": "loop", "kind": "PointConstraint", "enforced": True, "solved": True}]
    rows = [" ".join(line.split()) for line in shell("info", kinds).out.splitlines()]
    assert "along -10 to 10 m 0.25 m locked at 0.25 m" in rows
    assert f"rx {_degrees(-10)} to {_degrees(10)}° 0° free" in rows
    assert "drive unbounded 0 free" in rows
    assert "loop PointConstraint met by construction" in rows
    assert any("watts" in row for row in rows[rows.index("Ignored or changed, and why") :])


def _degrees(radians: float) -> str:
    return f"{math.degrees(radians):.4g}"


def test_info_of_a_model_without_an_embedding_names_the_problem(shell, tmp_path):
    text = MODEL_FILE.read_text().replace(
        "<independent_coordinate_names>knee_flexion<", "<independent_coordinate_names>patella_angle<"
    )
    file = tmp_path / "cycle.osim"
    file.write_text(text)
    told = shell("info", file)
    assert told.status == 0
    assert "Problems" in told.out
    assert "cycle" in told.out.split("Problems")[1]


@pytest.mark.parametrize("command", sorted(typer.main.get_command(app).commands))
def test_every_command_can_be_quiet_and_speak_to_programs(command):
    known = {option for given in typer.main.get_command(app).commands[command].params for option in given.opts}
    assert {"--quiet", "--json"} <= known


def test_quiet_info_prints_nothing_and_still_finds_faults(shell, tmp_path):
    done = shell("info", MODEL_FILE, "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert shell("info", tmp_path / "absent.osim", "--quiet").status == 1


# --- failure --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("command", [("info",), ("convert",)])
def test_missing_file_is_one_sentence(shell, tmp_path, command):
    told = shell(*command, tmp_path / "absent.osim", *([tmp_path / "out.osim"] if command == ("convert",) else []))
    assert told.status == 1
    assert told.out == ""
    assert told.err.startswith("error: no file ")
    assert "absent.osim" in told.err
    assert told.err.count("\n") == 1


def test_broken_file_says_where(shell, tmp_path):
    file = tmp_path / "broken.osim"
    file.write_text("<OpenSimDocument Version='40600'>\n<Model>\n")
    told = shell("info", file)
    assert told.status == 1
    assert told.err.startswith(f"error: {file}:")
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    "arguments", [("frobnicate",), ("report",), ("info", "a.osim", "--nonsense"), ("convert", "a")]
)
def test_wrong_usage_is_status_two(shell, arguments):
    told = shell(*arguments)
    assert told.status == 2
    assert "Traceback" not in told.err
    assert "Usage" in told.err


def test_output_that_is_a_file(shell, tmp_path):
    blocked = tmp_path / "taken"
    blocked.write_text("")
    told = shell("demo", "--output", blocked / "inside")
    assert told.status == 1
    assert told.err.startswith(f"error: cannot make the folder {blocked}")


def test_a_reader_that_leaves_is_no_error():
    """`musculo info | head -1`: the pipe closes before the second line is written."""
    command = f"{sys.executable} -m musculo info {MODEL_FILE} --json | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "{\n"
    assert done.stderr == ""


@pytest.mark.parametrize(
    "words",
    [
        f"info {MODEL_FILE} --json",  # written as a whole when the command ends
        "--help",  # flushed by the parser, which would end with 1
        "info absent.osim 2>&1",
        "info --nonsense 2>&1",
    ],
)
def test_a_reader_that_has_gone_ends_a_command_as_it_ends_other_tools(words):
    """128 and the number of SIGPIPE, and not the code of bad input or of wrong usage."""
    # the pipe has no reader from the start, so that nothing depends on who is faster
    code = (
        "import os, subprocess, sys\n"
        "read, write = os.pipe()\n"
        "os.close(read)\n"
        f"print(subprocess.run({f'{sys.executable} -m musculo {words}'!r}, shell=True, stdout=write).returncode)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{READER_GONE}\n", "")


def test_python_runs_the_package_as_the_command():
    for words in (["--version"], ["info", MODEL_FILE], ["info", "absent.osim"], ["info", "--nonsense"]):
        ours, theirs = (
            subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True)
            for module in ("musculo", "musculo.cli.main")
        )
        assert ours.returncode == theirs.returncode
        assert ours.stdout == theirs.stdout
        assert ours.stderr.replace("-m musculo ", "-m musculo.cli.main ") == theirs.stderr


def test_no_colours_in_a_pipe(shell):
    assert "\x1b" not in shell("info", MODEL_FILE).out


# --- convert --------------------------------------------------------------------------------------------------------
def test_convert_keeps_the_model(shell, tmp_path, leg):
    file = tmp_path / "copy.osim"
    done = shell("convert", MODEL_FILE, file)
    assert (done.status, done.out, done.err) == (0, f"wrote {file}\n", "")
    copy = musculo.read_osim(file)
    assert copy.coordinate_names == leg.coordinate_names
    assert copy.hash == leg.hash


def test_convert_is_quiet_or_speaks_json(shell, tmp_path):
    done = shell("convert", MODEL_FILE, tmp_path / "quiet.osim", "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    told = json.loads(shell("convert", MODEL_FILE, tmp_path / "told.osim", "--json").out)
    assert told == {"model": str(tmp_path / "told.osim"), "notes": []}
    assert (tmp_path / "quiet.osim").read_bytes() == (tmp_path / "told.osim").read_bytes()


def test_convert_overwrites_only_when_told(shell, tmp_path):
    file = tmp_path / "precious.osim"
    file.write_text("mine")
    refused = shell("convert", MODEL_FILE, file)
    assert refused.status == 1
    assert "--force" in refused.err
    assert file.read_text() == "mine"
    assert shell("convert", MODEL_FILE, file, "--force").status == 0
    assert musculo.read_osim(file).name == "leg"


def test_convert_rounds_as_opensim_on_request(shell, tmp_path):
    old = tmp_path / "old.osim"
    old.write_text(
        '<OpenSimDocument Version="30000"><Model name="old"><BodySet><objects><Body name="ground"/>'
        '<Body name="a"><mass>1</mass><Joint><PinJoint name="j"><parent_body>ground</parent_body>'
        "<location_in_parent>0.123456789 0 0</location_in_parent>"
        '<CoordinateSet><objects><Coordinate name="q"/></objects></CoordinateSet>'
        "</PinJoint></Joint></Body></objects></BodySet></Model></OpenSimDocument>"
    )
    for option, expected in (((), 0.123456789), (("--opensim-rounding",), 0.123457)):
        file = tmp_path / f"new{len(option)}.osim"
        assert shell("convert", old, file, *option).status == 0
        assert musculo.read_osim(file).joint("j").parent.translation[0] == expected


def test_a_warning_about_input_is_one_line():
    code = (
        "import sys; from musculo.cli import main; from musculo.errors import MusculoWarning; import warnings\n"
        "main._run_command = lambda: warnings.warn('look at the file', MusculoWarning)\n"
        "main.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "warning: look at the file\n"
