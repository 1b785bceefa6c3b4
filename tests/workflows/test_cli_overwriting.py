"""No command writes over one of its inputs, but with `--force`."""

from __future__ import annotations

import inspect
import os
import shutil
from pathlib import Path
from typing import NamedTuple, get_args

import numpy as np
import pytest

import musculo
from musculo.cli.main import app
from musculo.cli.making_commands import OUTPUTS
from musculo.demo import ARM_FILE, arm
from musculo.opensim_tools.records.named_files import refuse_one_name
from support import tool_setups
from support.tool_setups import arm_folder

REFUSED = "is an input, too; give another one"


class Given(NamedTuple):
    """A parameter of a command that names files."""

    name: str
    flag: str  # none of an argument
    required: bool

    def words(self, value):
        return [self.flag, value] if self.flag else [value]


def _has_path(kind) -> bool:
    """`Path | None` and `list[Path]` have one."""
    return kind is Path or any(_has_path(part) for part in get_args(kind))


def _files(function):
    """The parameters of a command that name files, in their order."""
    for parameter in inspect.signature(function, eval_str=True).parameters.values():
        kind, (stated, *_) = parameter.annotation.__origin__, parameter.annotation.__metadata__
        if _has_path(kind):
            flags = (word for word in (stated.default, *(stated.param_decls or ())) if str(word).startswith("--"))
            flag = next(flags, "")
            yield Given(parameter.name, flag, parameter.default is parameter.empty)


COMMANDS = {
    one.name or one.callback.__name__: (one.callback, tuple(_files(one.callback))) for one in app.registered_commands
}
PAIRS = [
    pytest.param(command, output, given, id=f"{command} {given.name} {output.name}")
    for command, (_, files) in COMMANDS.items()
    for output in files
    if output.name in OUTPUTS
    for given in files
    if given.name not in OUTPUTS
]


@pytest.mark.parametrize(("command", "output", "given"), PAIRS)
def test_an_input_is_not_written_over(shell, tmp_path, command, output, given):
    file, other = tmp_path / "mine.osim", tmp_path / "other"
    file.write_text("mine")
    callback, files = COMMANDS[command]
    words = [
        word
        for one in files
        if one.required or one in (output, given)
        for word in one.words(file if one in (output, given) else other)
    ]
    told = shell(command, *words)
    assert told.status == 1
    assert (told.out, told.err.count("\n")) == ("", 1)
    assert f"{file} {REFUSED}" in told.err
    assert ("--force" in told.err) == ("force" in inspect.signature(callback).parameters)
    assert file.read_text() == "mine"
    assert not other.exists()


def test_all_that_commands_write_is_known():
    """A path with the flag of an output would not be guarded under another name."""
    assert {command for command, (_, files) in COMMANDS.items() if {f.name for f in files} & set(OUTPUTS)} == (
        COMMANDS.keys() - {"info", "warmup"}
    )
    written = [one for _, files in COMMANDS.values() for one in files if one.flag in ("--output", "--json")]
    assert {one.name for one in written} <= set(OUTPUTS)


def _still(folder):
    model = arm()
    write = musculo.results.Orientations.from_rotations([0.0], (f"{model.body_names[-1]}_imu",), np.eye(3)[None, None])
    musculo.io.write_orientations(write, folder / "still.sto")
    shutil.copy(ARM_FILE, folder / "m.osim")
    return folder / "m.osim", folder / "still.sto"


def test_sensors_are_not_put_into_the_model_itself(shell, tmp_path):
    model, still = _still(tmp_path)
    os.symlink(model, tmp_path / "link.osim")
    for name in ("m.osim", "link.osim"):
        told = shell("imu-place", model, still, "-o", tmp_path / name, "--no-report")
        assert (told.status, REFUSED in told.err) == (1, True)
        assert model.read_bytes() == ARM_FILE.read_bytes()
    assert shell("imu-place", model, still, "-o", model, "--no-report", "--force").status == 0
    assert "_imu" in model.read_text()


def test_a_set_up_does_not_write_over_its_model(shell, tmp_path):
    """By what it names, and by where `--output` puts it."""
    body = arm().body_names[-1]
    place = (
        "<mass>-1</mass><GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler>"
        "<scaling_order>manualScale</scaling_order><ScaleSet><objects><Scale><scales>2 2 2</scales>"
        f"<segment>{body}</segment></Scale></objects></ScaleSet><output_model_file>%s</output_model_file>"
        "</ModelScaler><MarkerPlacer><apply>false</apply></MarkerPlacer>"
    )
    setups = {
        name: tool_setups.document("ScaleTool", place % path)
        for name, path in (("itself", "arm.osim"), ("away", "new/arm.osim"))
    }
    folder = arm_folder(tmp_path, **setups)
    model = folder / "arm.osim"
    for words in ((folder / "itself.xml",), (folder / "away.xml", "-o", folder)):
        told = shell("run", *words, "--no-report")
        assert told.status == 1
        assert told.err.startswith(f"error: {words[0]}: the output {model} {REFUSED}, or --force")
        assert model.read_bytes() == ARM_FILE.read_bytes()
    (folder / "new").mkdir()
    assert shell("run", folder / "away.xml", "--no-report").status == 0
    assert (folder / "new" / "arm.osim").is_file()
    assert shell("run", folder / "itself.xml", "--no-report", "--force").status == 0
    assert model.read_bytes() == (folder / "new" / "arm.osim").read_bytes()


_LOADS = """<OpenSimDocument Version="40600"><ExternalLoads name="hand"><objects><ExternalForce name="push">
<applied_to_body>hand</applied_to_body><force_identifier>f</force_identifier></ExternalForce></objects>
<datafile>push.mot</datafile></ExternalLoads></OpenSimDocument>"""


def _moments(output: str) -> str:
    """Inverse dynamics whose result goes beside the set-up."""
    text = tool_setups.inverse_dynamics("<external_loads_file>loads.xml</external_loads_file>")
    return text.replace(">results<", ">.<").replace(">id.sto<", f">{output}<")


def _moments_folder(folder, output):
    made = arm_folder(folder, setup=_moments(output))
    (made / "loads.xml").write_text(_LOADS.replace("hand<", f"{arm().body_names[-1]}<"))
    (made / "push.mot").write_text("push\nversion=1\nnRows=1\nnColumns=4\nendheader\ntime\tfx\tfy\tfz\n0\t0\t1\t0\n")
    return made


@pytest.mark.parametrize("output", ["motion.mot", "arm.osim", "setup.xml", "loads.xml", "push.mot"])
@pytest.mark.parametrize("kind", ["itself", "symlink", "hard link"])
def test_moments_are_not_written_over_an_input(shell, tmp_path, output, kind):
    """The motion, the model, the set-up, the loads and their table, under their own name and by links."""
    name = output if kind == "itself" else "link.sto"
    folder = _moments_folder(tmp_path / "in", name)
    if kind == "symlink":
        (folder / name).symlink_to(output)
    elif kind == "hard link":
        os.link(folder / output, folder / name)
    before = {path: path.read_bytes() for path in folder.iterdir()}
    told = shell("run", folder / "setup.xml", "--no-report")
    assert (told.status, told.out) == (1, "")
    assert f"the output {folder / name} {REFUSED}, or --force to overwrite it" in told.err
    with pytest.raises(musculo.MusculoError, match="overwrite=True"):
        musculo.opensim.run_setup(folder / "setup.xml", compare=False)
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_moments_take_the_place_of_an_input_by_force(shell, tmp_path):
    folder = _moments_folder(tmp_path, "motion.mot")
    assert shell("run", folder / "setup.xml", "--no-report", "--force").status == 0
    assert "Inverse Dynamics" in (folder / "motion.mot").read_text()
    # what was computed is of a motion that is gone: the next run does not take it for done
    told = shell("run", folder / "setup.xml", "--no-report")
    assert (told.status, REFUSED in told.err) == (1, True)


def test_an_analysis_does_not_write_over_its_motion(shell, tmp_path):
    """By the names that results of an analysis have, in the folder where they go."""
    setup = tool_setups.analyze('<Kinematics name="K"/>').replace(">motion.mot<", ">results/arm_K_q.sto<")
    folder = arm_folder(tmp_path, setup=setup, first=tool_setups.analyze('<Kinematics name="K"/>'))
    assert shell("run", folder / "first.xml", "--no-report").status == 0
    before = (folder / "results" / "arm_K_q.sto").read_bytes()
    told = shell("run", folder / "setup.xml", "--no-report")
    assert (told.status, REFUSED in told.err) == (1, True)
    assert (folder / "results" / "arm_K_q.sto").read_bytes() == before


def test_what_no_list_of_outputs_knows_is_not_written_over_either(tmp_path, monkeypatch):
    """The last guard stands before each file that is written."""
    folder = _moments_folder(tmp_path, "motion.mot")
    before = (folder / "motion.mot").read_bytes()
    monkeypatch.setattr("musculo.opensim_tools.setup_runner.refuse_overwriting_of", lambda *_: None)
    with pytest.raises(musculo.MusculoError, match=REFUSED):
        musculo.opensim.run_setup(folder / "setup.xml", compare=False)
    assert (folder / "motion.mot").read_bytes() == before


def test_set_ups_that_write_the_same_file_do_not_run(shell, tmp_path):
    one, two = (tool_setups.inverse_dynamics(f"<time_range>0 {end}</time_range>") for end in (0.2, 0.3))
    folder = arm_folder(tmp_path / "a", one=one, two=two)
    other = arm_folder(tmp_path / "b", one=one.replace(">id.sto<", ">other.sto<"), same=one)
    (tmp_path / "b" / "results").symlink_to(folder / "results")
    (folder / "results").mkdir()
    pairs = [
        ((folder / "one.xml", folder / "two.xml"), folder / "results" / "id.sto"),
        ((folder / "one.xml", folder / "one.xml"), folder / "results" / "id.sto"),
        ((folder / "one.xml", other / "same.xml"), folder / "results" / "id.sto"),  # through a link
        ((folder / "one.xml", other / "same.xml", "-o", tmp_path / "out"), tmp_path / "out" / "id.sto"),
    ]
    for words, shared in pairs:
        for force in ((), ("--force",)):
            told = shell("run", *words, "--no-report", *force)
            assert (told.status, told.out) == (1, "")
            assert f"{shared}; give results other names or folders" in told.err
            assert str(words[0]) in told.err
            assert str(words[1]) in told.err
    assert not list((folder / "results").iterdir())
    assert not (tmp_path / "out").exists()
    assert shell("run", folder / "one.xml", other / "one.xml", "--no-report").status == 0
    assert {path.name for path in (folder / "results").glob("*.sto")} == {"id.sto", "other.sto"}


# --- the page and the record are written, too -------------------------------------------------------------------------
def test_the_page_takes_the_place_of_no_input_and_no_result(shell, tmp_path):
    text = tool_setups.inverse_dynamics().replace(">results<", ">.<")
    setups = {
        "reads": text.replace(">motion.mot<", ">report.html<"),
        "writes": text.replace(">id.sto<", ">report.html<"),
    }
    folder = arm_folder(tmp_path, **setups)
    page = shutil.copy(folder / "motion.mot", folder / "report.html")
    before = page.read_bytes()
    told = shell("run", folder / "reads.xml")
    assert (told.status, told.out) == (1, "")
    assert f"the page {page} would replace what {folder / 'reads.xml'} reads" in told.err
    assert page.read_bytes() == before
    assert shell("run", folder / "reads.xml", "--no-report").status == 0
    told = shell("run", folder / "writes.xml")
    assert (told.status, f"would replace a result of {folder / 'writes.xml'}" in told.err) == (1, True)
    assert page.read_bytes() == before
    assert shell("id", folder / "arm.osim", page, "-o", folder).status == 1
    assert page.read_bytes() == before
    assert shell("run", folder / "reads.xml", "--force").status == 0
    assert page.read_bytes() != before


def test_the_record_takes_the_place_of_no_other_file(shell, tmp_path):
    """Neither of an input, nor of what no run left; a damaged record, and an empty file, are no loss."""
    text = tool_setups.inverse_dynamics().replace(">results<", ">.<")
    folder = arm_folder(tmp_path, mine=text.replace(">motion.mot<", ">mine.musculo.json<"), plain=text)
    kept = shutil.copy(folder / "motion.mot", folder / "mine.musculo.json")
    before = kept.read_bytes()
    told = shell("run", folder / "mine.xml", "--no-report")
    assert (told.status, f"{kept} {REFUSED}" in told.err) == (1, True)
    assert kept.read_bytes() == before
    brought = folder / "plain.musculo.json"
    for content in ('{"mine": 1}', "\x00garbage"):
        brought.write_text(content)
        told = shell("run", folder / "plain.xml", "--no-report")
        assert (told.status, f"replace {brought}, which is not a record of musculo" in told.err) == (1, True)
        assert brought.read_text() == content
        assert not (folder / "id.sto").exists()
    assert shell("run", folder / "plain.xml", "--no-report", "--force").status == 0
    for content in (brought.read_text()[:40], ""):
        brought.write_text(content)
        assert shell("run", folder / "plain.xml", "--no-report").status == 0


# --- results of one set-up --------------------------------------------------------------------------------------------
def _scale(model: str, factors: str, placed: str, motion: str) -> str:
    body = arm().body_names[-1]
    return tool_setups.document(
        "ScaleTool",
        "<mass>-1</mass><GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler>"
        "<scaling_order>manualScale</scaling_order><ScaleSet><objects><Scale><scales>2 2 2</scales>"
        f"<segment>{body}</segment></Scale></objects></ScaleSet><output_model_file>{model}</output_model_file>"
        f"<output_scale_file>{factors}</output_scale_file></ModelScaler><MarkerPlacer><marker_file>m.trc</marker_file>"
        f"<output_model_file>{placed}</output_model_file><output_motion_file>{motion}</output_motion_file>"
        "</MarkerPlacer>",
    )


_BODIES = "<joints_to_report_body_forces>ALL</joints_to_report_body_forces><output_body_forces_file>{}"
_BODIES += "</output_body_forces_file>"


@pytest.mark.parametrize(
    ("text", "shared"),
    [
        (tool_setups.inverse_dynamics(_BODIES.format("id.sto")), "results/id.sto"),
        (tool_setups.inverse_dynamics().replace(">id.sto<", ">setup.musculo.json<"), "results/setup.musculo.json"),
        (tool_setups.analyze('<Kinematics name="K"/><Kinematics name="K"/>'), "results/arm_K_* of <Kinematics>"),
        (_scale("a.osim", "a.osim", "b.osim", "c.mot"), "a.osim"),
        (_scale("a.osim", "f.xml", "b.osim", "a.osim"), "a.osim"),
        (_scale("x/a.osim", "y/f.xml", "b.osim", "y/../x/a.osim"), "x/a.osim"),
    ],
    ids=["inverse dynamics", "record", "analyses", "factors", "motion of the placer", "by another way"],
)
def test_results_of_one_set_up_have_names_of_their_own(shell, tmp_path, text, shared):
    folder = arm_folder(tmp_path, setup=text)
    before = set(folder.rglob("*"))
    for force in ((), ("--force",)):
        told = shell("run", folder / "setup.xml", "--no-report", *force)
        assert (told.status, told.out) == (1, "")
        assert f"two results of the set-up go to one file, {folder / shared}, and one would be lost" in told.err
    assert set(folder.rglob("*")) == before


@pytest.mark.parametrize(
    "text",
    [
        tool_setups.inverse_dynamics("<output_body_forces_file>id.sto</output_body_forces_file>"),
        tool_setups.analyze('<Kinematics name="K"/><Actuation name="K"/>'),
    ],
    ids=["bodies that are not asked for", "analyses of two kinds"],
)
def test_names_that_only_look_alike_are_no_matter(shell, tmp_path, text):
    assert shell("run", arm_folder(tmp_path, setup=text) / "setup.xml", "--no-report").status == 0


def test_both_steps_of_scaling_may_write_one_model(tmp_path):
    """The second one writes it with all that the first one did."""
    folder = arm_folder(tmp_path, setup=_scale("a.osim", "f.xml", "a.osim", "c.mot"))
    refuse_one_name(musculo.opensim.read_setup(folder / "setup.xml"))


# --- files that another set-up of the call reads ----------------------------------------------------------------------
def test_a_set_up_does_not_replace_what_another_one_reads(shell, tmp_path):
    """What was there before, that is; a result of its own may be replaced in a later run of all."""
    write = tool_setups.inverse_dynamics().replace(">results<", ">.<").replace(">id.sto<", ">{}<")
    read = write.format("c.sto")
    setups = {
        "w_motion": write.format("b.mot"),
        "w_model": write.format("b.osim"),
        "r_motion": read.replace(">motion.mot<", ">b.mot<"),
        "r_model": read.replace(">arm.osim<", ">b.osim<"),
    }
    folder = arm_folder(tmp_path, **setups)
    for what, source in (("motion", "motion.mot"), ("model", "arm.osim")):
        mine = shutil.copy(folder / source, folder / f"b{Path(source).suffix}")
        before = mine.read_bytes()
        pair = [folder / f"{x}_{what}.xml" for x in "wr"]
        for order in (pair, pair[::-1]):
            told = shell("run", *order, "--no-report")
            assert (told.status, told.out) == (1, "")
            assert f"{pair[0]} would write over {mine}, which was there before and which {pair[1]} reads" in told.err
            assert mine.read_bytes() == before
            assert not (folder / "c.sto").exists()
    assert shell("run", folder / "r_motion.xml", folder / "w_motion.xml", "--no-report", "--force").status == 0
    assert "Inverse Dynamics" in (folder / "b.mot").read_text()


def test_a_row_of_set_ups_runs_again_without_force(shell, tmp_path):
    first = tool_setups.analyze('<Kinematics name="K"/>')
    second = tool_setups.inverse_dynamics().replace(">motion.mot<", ">results/arm_K_q.sto<")
    folder = arm_folder(tmp_path, first=first, second=second)
    row = (folder / "first.xml", folder / "second.xml")
    assert shell("run", *row).status == 0
    made = folder / "results" / "arm_K_q.sto"
    again = shell("run", *row)
    assert (again.status, again.out.count("nothing changed")) == (0, 2)
    motion = folder / "motion.mot"
    for way in (folder, folder / "results" / ".."):  # whichever path leads there
        motion.write_text(motion.read_text() + "\n")
        assert shell("run", *(way / path.name for path in row)).status == 0
    made.write_text(made.read_text().replace("version=1", "version=1 "))  # no longer what the run left
    told = shell("run", *row)
    assert (told.status, f"would write over {made}" in told.err) == (1, True)


def test_analyses_whose_names_begin_alike_may_run_together(shell, tmp_path):
    setups = {name: tool_setups.analyze(f'<Kinematics name="{name}"/>') for name in ("K", "K_more")}
    folder = arm_folder(tmp_path, **setups)
    assert shell("run", folder / "K.xml", folder / "K_more.xml", "--no-report").status == 0


def test_a_page_has_the_name_of_a_page(shell, tmp_path):
    """So that it takes the place of no result, model or motion, whichever the folder holds."""
    folder = arm_folder(tmp_path / "in")
    files = {path: path.read_bytes() for path in folder.iterdir()}
    for path in (*files, tmp_path / "new.osim", tmp_path / "page"):
        for words in (("report", folder, "-m", ARM_FILE), ("view", ARM_FILE, "--no-open")):
            told = shell(*words, "-o", path)
            assert (told.status, told.out) == (2, "")
            assert told.err == f"error: the page {path} would be no .html file; give it a name that ends in .html\n"
    assert {path: path.read_bytes() for path in folder.iterdir()} == files
    assert shell("view", ARM_FILE, "--no-open", "-o", tmp_path / "page.HTML").status == 0
