"""Controllers, muscles without activation dynamics and muscles that are off, in `musculo run` and live OpenSim 4.6."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import read_storage
from musculo.demo import ARM_FILE, arm
from musculo.model.force import Muscle
from musculo.opensim import run_setup
from support.tool_setups import RESERVES, inverse_dynamics
from support.tool_setups import analyze as arm_analyze
from support.unusual_setups import SETUP, run_both

pytest.importorskip("opensim")

# OpenSim's equilibrium of fibres ends at 1e-8 of the strength of a muscle, and forces follow lengths steeply. Relative
# to the largest value of a file; measured 5.0e-7 of forces, and 1.2e-6 of accelerations.
EQUILIBRIUM = 2e-5
# Velocities of fibres whose equilibrium is one of zero speed are its error alone [m/s, W and the like]; measured 2e-7.
AT_REST = 1e-5
# Lengths and moment arms need no equilibrium; half a unit of the eighth decimal, and rounding.
PRINTED = 2e-8
FORCES = '<Actuation name="A"/><ForceReporter name="F"/><Kinematics name="K"/><JointReaction name="J"/>'
ALL = f'{FORCES}<MuscleAnalysis name="M"/>'
# Frames of a tenth of a second, which reach beyond the nodes of the controls on both sides.
SPAN = "<initial_time>0</initial_time><final_time>0.1</final_time>"
NODES = ((0.02, 0.1), (0.05, 0.3), (0.08, -0.2))


def analyze(analyses: str, more: str = "") -> str:
    return arm_analyze(analyses, SPAN + more)


def controller(file: str, more: str = "", name: str = "c") -> str:
    return f'<ControlSetController name="{name}">{more}<controls_file>{file}</controls_file></ControlSetController>'


def controllers(*members: str) -> str:
    return f"<ControllerSet><objects>{''.join(members)}</objects></ControllerSet>"


def table(**columns: tuple[float, ...]) -> str:
    """A file of controls with rows at the times of the nodes; two underscores stand for a dot."""
    rows = [[t, *values] for (t, _), *values in zip(NODES, *columns.values(), strict=True)]
    names = "\t".join(name.replace("__", ".") for name in columns)
    head = f"controls\nversion=1\nnRows=3\nnColumns={len(columns) + 1}\ninDegrees=no\nendheader\ntime\t{names}\n"
    return head + "".join("\t".join(map(str, row)) + "\n" for row in rows)


def linear(name: str, more: str = "", model: str = "true") -> str:
    nodes = "".join(f"<ControlLinearNode><t>{t}</t><value>{v}</value></ControlLinearNode>" for t, v in NODES)
    flags = f"<is_model_control>{model}</is_model_control>{more}"
    return f'<ControlLinear name="{name}">{flags}<x_nodes>{nodes}</x_nodes></ControlLinear>'


def control_set(*members: str) -> str:
    content = f'<ControlSet name="cs"><objects>{"".join(members)}</objects></ControlSet>'
    return f'<OpenSimDocument Version="40600">{content}</OpenSimDocument>'


CONSTANT = (
    '<ControlConstant name="elbow_motor"><is_model_control>true</is_model_control><value>0.7</value></ControlConstant>'
)


def model(kind: str = "", members: str = "", **changes: object):
    """The arm with muscles of another kind or other properties, and with controllers of its own."""

    def write(path: Path) -> None:
        own = arm()
        if kind:
            plain = {"kind": kind, "parameters": (), "curves": (), "functions": (), "min_control": None}
            forces = (replace(f, **plain, **changes) if isinstance(f, Muscle) else f for f in own.forces)
            own = own.replace(forces=tuple(forces))
        musculo.write_osim(own, path)
        text = re.sub(r"<ControllerSet.*?</ControllerSet>|<ControllerSet[^>]*/>", "", path.read_text(), flags=re.S)
        path.write_text(text.replace("<ForceSet", f"{controllers(members)}<ForceSet", 1))

    return write


def same_files(both, least: int) -> None:
    """All tables of both programs, within what OpenSim's equilibrium leaves open."""
    made = sorted((both.theirs / "results").glob("*.sto"))
    assert len(made) >= least, both.log
    assert {p.name for p in made} == {p.name for p in (both.ours / "results").glob("*.sto")}
    for path in made:
        theirs, ours = both.tables(f"results/{path.name}")
        exact = path.stem.endswith(("_Length", "_q", "_u")) or "MomentArm" in path.stem
        at_rest = any(word in path.stem for word in ("Velocity", "Power"))
        limit = PRINTED if exact else EQUILIBRIUM * np.abs(theirs[:, 1:]).max() + (AT_REST if at_rest else PRINTED)
        assert_allclose(ours, theirs, rtol=0, atol=limit, err_msg=path.name)


MOTORS = table(shoulder_motor=(0.1, 0.3, 0.2), elbow_motor__excitation=(0.4, -0.5, 3.0), biceps_long=(0.3, 0.6, 0.4))


@pytest.mark.parametrize(
    ("content", "more"),
    [
        (MOTORS, ""),
        (MOTORS, "<enabled>false</enabled>"),
        (MOTORS, "<actuator_list>elbow_motor</actuator_list>"),
        (control_set(linear("elbow_motor")), ""),
        (control_set(linear("elbow_motor.excitation", "<extrapolate>false</extrapolate>")), ""),
        (control_set(linear("elbow_motor", "<use_steps>true</use_steps>")), ""),
        (control_set(CONSTANT), ""),
    ],
    ids=["table", "disabled", "actuators", "linear", "no extrapolation", "steps", "constant"],
)
def test_a_controller_of_the_set_up_drives_actuators(tmp_path, content, more):
    file = "c.sto" if content == MOTORS else "c.xml"
    setup = analyze(FORCES, controllers(controller(file, more)))
    both = run_both(tmp_path, {SETUP: setup, file: content})
    same_files(both, 6)
    forces = read_storage(both.ours / "results" / "arm_A_force.sto")
    driven = [name for name in ("shoulder_motor", "elbow_motor") if forces.column(name).any()]
    assert driven
    assert ("is disabled, and used all the same" in both.told) == ("false" in more)


def forces_of_both(folder: Path, content: str, exact: bool = False):
    """Of the two motors, of OpenSim and ours, and what was said."""
    setup = analyze(FORCES, controllers(controller("c.xml")))
    both = run_both(folder, {SETUP: setup, "c.xml": content}, exact)
    found = []
    for side in (both.theirs, both.ours):
        table = read_storage(side / "results" / "arm_A_force.sto")
        found.append(np.column_stack([table.column(name) for name in ("shoulder_motor", "elbow_motor")]))
    return (*found, both.told)


def level(name: str, value: float, model: str | None = None, kind: str = "ControlLinear") -> str:
    """A control that does not change; `model` is what it states of being a model control, if anything."""
    flags = "" if model is None else f"<is_model_control>{model}</is_model_control>"
    nodes = f"<x_nodes><ControlLinearNode><t>0</t><value>{value}</value></ControlLinearNode></x_nodes>"
    stated = nodes if kind == "ControlLinear" else f"<value>{value}</value>"
    return f'<{kind} name="{name}">{flags}{stated}</{kind}>'


def constant(name: str, value: float, model: str | None = None) -> str:
    return level(name, value, model, "ControlConstant")


OPTIMAL = np.array([10.0, 10.0])  # of the two motors [N m]


@pytest.mark.parametrize(
    ("members", "exact", "said"),
    [
        ([constant("elbow_motor", 0.4)], (0.0, 0.4), "OpenSim takes for no model control: 'elbow_motor'"),
        ([constant("elbow_motor", 0.4, "false")], (0.0, 0.0), "drives nothing: 'elbow_motor'"),
        ([level("shoulder_motor", 0.2), constant("elbow_motor", 0.4)], (0.2, 0.4), "drives nothing: 'elbow_motor'"),
        ([constant("elbow_motor", 0.4), level("shoulder_motor", 0.2)], (0.2, 0.4), "drives nothing: 'shoulder_motor'"),
        (
            [level("elbow_motor", 0.4, "false"), level("shoulder_motor", 0.2)],
            (0.2, 0.0),
            "the first 1 are used, as OpenSim does",
        ),
        ([level("elbow_motor", 0.2), level("elbow_motor", 0.3)], (0.0, 0.2), "of which one alone is used"),
        ([level("elbow_motor.excitation", 0.3), level("elbow_motor", 0.2)], (0.0, 0.2), "of which one alone is used"),
    ],
    ids=["constant", "none", "constant last", "constant first", "none first", "twice", "excitation"],
)
def test_which_controls_of_a_file_drive_actuators(tmp_path, members, exact, said):
    """In `run` those that OpenSim 4.6 uses, by their number and order; exactly those of the model."""
    theirs, ours, told = forces_of_both(tmp_path / "run", control_set(*members))
    assert_allclose(ours, theirs, rtol=0, atol=1e-6)
    assert said in told
    _, ours, told = forces_of_both(tmp_path / "exact", control_set(*members), exact=True)
    assert_allclose(ours, np.broadcast_to(OPTIMAL * exact, ours.shape), rtol=0, atol=1e-6)
    assert "c.xml: " in told


def test_controls_of_several_controllers_add_up(tmp_path):
    setup = analyze(FORCES, controllers(controller("c.sto"), controller("c.sto", name="d")))
    both = run_both(tmp_path, {SETUP: setup, "c.sto": MOTORS, "arm.osim": model(members=controller("m.sto", name="m")),
                               "m.sto": table(shoulder_motor=(1.0, 1.0, 1.0))})  # fmt: skip
    same_files(both, 6)
    force = read_storage(both.ours / "results" / "arm_A_force.sto").column("shoulder_motor")
    assert_allclose(force[6], 10.0 * (1.0 + 2.0 * 0.3), atol=1e-6)


def prescribed(actuators: str, *functions: str, file: str = "") -> str:
    listed = f'<FunctionSet name="ControlFunctions"><objects>{"".join(functions)}</objects></FunctionSet>'
    where = f"<controls_file>{file}</controls_file>" if file else f"<actuator_list>{actuators}</actuator_list>{listed}"
    return f'<PrescribedController name="p">{where}</PrescribedController>'


RAMP = "<PiecewiseLinearFunction><x>0 0.05 0.2</x><y>0.1 0.8 -0.4</y></PiecewiseLinearFunction>"
WAVE = "<Sine><amplitude>0.5</amplitude><omega>30</omega><phase>0.2</phase><offset>0.1</offset></Sine>"


@pytest.mark.parametrize(
    "controller",
    [
        prescribed("elbow_motor shoulder_motor", RAMP, WAVE),
        prescribed("shoulder_motor", WAVE) + controller("c.sto"),
        prescribed("", file="c.sto"),
    ],
    ids=["functions", "beside a file", "a file"],
)
def test_a_prescribed_controller_drives_actuators(tmp_path, controller):
    both = run_both(
        tmp_path, {SETUP: analyze(FORCES, controllers(controller)), "c.sto": MOTORS.replace(".excitation", "")}
    )
    same_files(both, 6)
    assert read_storage(both.ours / "results" / "arm_A_force.sto").column("shoulder_motor").any()


def test_controls_that_an_old_set_up_names(tmp_path):
    setup = analyze(FORCES, "<controls_file>c.sto</controls_file>")
    for version, driven in (("10903", True), ("40600", False)):
        text = setup.replace('Version="40600"', f'Version="{version}"')
        both = run_both(tmp_path / version, {SETUP: text, "c.sto": MOTORS})
        same_files(both, 6)
        force = read_storage(both.ours / "results" / "arm_A_force.sto").column("elbow_motor")
        assert force.any() == driven


ON_BODIES = """
<TorqueActuator name="torque"><bodyA>forearm</bodyA><bodyB>humerus</bodyB><axis>0.2 0.1 1</axis>
<torque_is_global>false</torque_is_global><optimal_force>2</optimal_force></TorqueActuator>
<PointActuator name="push"><body>forearm</body><point>0.01 -0.1 0.02</point><direction>1 2 0</direction>
<optimal_force>3</optimal_force></PointActuator>
<PathActuator name="cord"><GeometryPath><PathPointSet><objects>
<PathPoint name="a"><socket_parent_frame>/bodyset/humerus</socket_parent_frame><location>0.02 -0.05 0</location>
</PathPoint><PathPoint name="b"><socket_parent_frame>/bodyset/forearm</socket_parent_frame>
<location>0.02 -0.06 0.01</location></PathPoint></objects></PathPointSet></GeometryPath>
<optimal_force>20</optimal_force></PathActuator>
<ActivationCoordinateActuator name="slow"><coordinate>elbow_flexion</coordinate><optimal_force>10</optimal_force>
<default_activation>0.3</default_activation></ActivationCoordinateActuator></objects>"""


def test_actuators_of_every_kind_accelerate_the_model(tmp_path):
    """Also those on bodies and along paths; one with activation dynamics keeps the activation of the start."""
    controls = table(torque=(1.0, 2.0, 3.0), push=(3.0, 2.0, 1.0), cord=(1.0, 2.0, 1.0), slow=(1.0, 1.0, 1.0))
    setup = analyze(FORCES, controllers(controller("c.sto")))
    reserves = RESERVES.replace("</objects>", ON_BODIES)
    both = run_both(tmp_path, {SETUP: setup, "c.sto": controls, "reserves.xml": reserves})
    same_files(both, 6)
    forces = read_storage(both.ours / "results" / "arm_A_force.sto")
    assert_allclose(forces.column("slow"), 3.0)
    assert all(np.abs(forces.column(name)).max() > 1.0 for name in ("torque", "push", "cord"))


@pytest.mark.parametrize("kind", ["Millard2012EquilibriumMuscle", "DeGrooteFregly2016Muscle", "RigidTendonMuscle"])
@pytest.mark.parametrize("whose", ["nobody", "set-up", "model"])
def test_activation_is_the_control_without_activation_dynamics(tmp_path, kind, whose):
    content = table(biceps_long=(0.3, 0.6, 0.4), brachialis=(0.2, 0.2, 0.2))
    # MuscleAnalysis prints NaN of the other kinds: it divides by their activation
    analyses = ALL if kind == "Millard2012EquilibriumMuscle" else FORCES
    setup = analyze(analyses, controllers(controller("c.sto")) if whose == "set-up" else "")
    own = controller("c.sto") if whose == "model" else ""
    flags = {} if kind == "RigidTendonMuscle" else {"ignore_activation_dynamics": True}
    both = run_both(tmp_path, {SETUP: setup, "c.sto": content, "arm.osim": model(kind, own, **flags)})
    same_files(both, 20 if analyses == ALL else 6)
    forces = read_storage(both.ours / "results" / "arm_A_force.sto")
    assert "without activation dynamics and controller" in both.told
    assert (forces.column("brachialis").min() > 100.0) == (whose != "nobody")


def test_tendons_that_do_not_stretch(tmp_path):
    own = model("Millard2012EquilibriumMuscle", ignore_tendon_compliance=True)
    same_files(run_both(tmp_path, {SETUP: analyze(ALL), "arm.osim": own}), 20)


def test_controllers_act_in_inverse_dynamics(tmp_path):
    """Of muscles and actuators that nothing excludes."""
    motor = re.search("<CoordinateActuator.*</CoordinateActuator>", RESERVES, re.S)[0]

    def write(path: Path) -> None:
        model("Millard2012EquilibriumMuscle", controller("c.sto"), ignore_activation_dynamics=True)(path)
        text = path.read_text()
        path.write_text(re.sub(r"(<ForceSet[^>]*>\s*<objects>)", rf"\1{motor}", text))

    for excluded in ("", "Muscles", "elbow_motor"):
        setup = inverse_dynamics("<time_range>0 0.1</time_range>").replace(">Muscles<", f">{excluded}<")
        both = run_both(tmp_path / f"without {excluded}", {SETUP: setup, "arm.osim": write, "c.sto": MOTORS})
        theirs, ours = both.tables("results/id.sto")
        assert_allclose(ours, theirs, rtol=0, atol=1e-8 * np.abs(theirs).max() + PRINTED)


def test_a_control_of_no_actuator_is_refused_by_both(tmp_path):
    setup = analyze(FORCES, controllers(controller("c.sto")))
    with pytest.raises(musculo.errors.UnknownName, match=r"'nobody'.*elbow_motor"):
        run_both(tmp_path, {SETUP: setup, "c.sto": table(nobody=(1.0, 1.0, 1.0))})
    assert not list((tmp_path / "theirs" / "results").glob("*.sto"))


def test_a_file_of_controls_that_is_missing(tmp_path):
    """OpenSim goes on without it where the model names it; a file beside the model but not the set-up is none."""
    setup = analyze(FORCES).replace(">arm.osim<", ">sub/arm.osim<")
    own = model("Millard2012EquilibriumMuscle", controller("c.sto"), ignore_activation_dynamics=True)
    both = run_both(tmp_path, {SETUP: setup, "sub/arm.osim": own, "sub/c.sto": MOTORS})
    same_files(both, 6)
    assert "there is no file" in both.told
    assert not both.result.complete


def muscles_only(analyses: str, more: str) -> str:
    return analyze(analyses, more).replace("<force_set_files>reserves.xml</force_set_files>", "")


def test_controls_are_looked_at_where_only_muscles_move_the_model(tmp_path):
    """Though their activations are states, on which no control acts."""
    setup = muscles_only(FORCES, controllers(controller("c.sto")))
    both = run_both(tmp_path / "missing", {SETUP: setup})
    same_files(both, 6)
    assert any("controller 'c': there is no file" in text for text in both.result.troubles)
    with pytest.raises(musculo.errors.UnknownName, match="no actuator 'nobody'"):
        run_both(tmp_path / "unknown", {SETUP: setup, "c.sto": table(nobody=(1.0, 1.0, 1.0))})
    assert not list((tmp_path / "unknown" / "theirs" / "results").glob("*.sto"))


def test_controls_that_do_not_last_are_told_of(tmp_path):
    setup = analyze(FORCES, controllers(controller("c.sto")))
    both = run_both(tmp_path / "part", {SETUP: setup, "c.sto": MOTORS})
    assert re.search(r"controls last from 0\.02 to 0\.08 s, and \d+ of \d+ frames.*go on as straight lines", both.told)
    ends = control_set(linear("elbow_motor", "<extrapolate>false</extrapolate>"))
    both = run_both(tmp_path / "ends", {SETUP: setup.replace("c.sto", "c.xml"), "c.xml": ends})
    assert "keep the values of their ends" in both.told
    whole = run_setup(write_span(tmp_path / "part" / "ours" / SETUP, "0.02", "0.08"), compare=False)
    assert not any("controls last" in text for text in whole.notes)


def write_span(setup: Path, start: str, end: str) -> Path:
    text = setup.read_text().replace("<initial_time>0<", f"<initial_time>{start}<")
    setup.write_text(text.replace("<final_time>0.1<", f"<final_time>{end}<"))
    return setup


def test_of_a_column_that_stands_twice_the_first_counts(tmp_path):
    twice = table(elbow_motor=(0.1, 0.3, 0.2), biceps_long=(0.3, 0.6, 0.4), shoulder_motor=(0.9, 0.9, 0.9))
    content = twice.replace("biceps_long", "elbow_motor")
    both = run_both(tmp_path, {SETUP: analyze(FORCES, controllers(controller("c.sto"))), "c.sto": content})
    same_files(both, 6)
    assert "several controls of one actuator, of which one alone is used, as in OpenSim: 'elbow_motor'" in both.told


def test_disabled_controllers_give_nothing_where_exact(tmp_path):
    setup = analyze(FORCES, controllers(controller("c.sto", "<enabled>false</enabled>")))
    both = run_both(tmp_path, {SETUP: setup, "c.sto": MOTORS}, exact=True)
    assert not read_storage(both.ours / "results" / "arm_A_force.sto").column("elbow_motor").any()
    assert "is disabled, and gives nothing" in both.told


# --- muscles that are off ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("equilibrium", ["true", "false"])
def test_a_muscle_that_applies_no_force(tmp_path, equilibrium):
    text = ARM_FILE.read_text().replace("<appliesForce>true", "<appliesForce>false", 1)
    setup = analyze(ALL).replace("auxiliary_states>true", f"auxiliary_states>{equilibrium}")
    both = run_both(tmp_path, {SETUP: setup, "arm.osim": text})
    same_files(both, 20)
    off = arm().muscle_names[0]
    for what in ("TendonForce", "Moment_elbow_flexion"):
        assert not read_storage(both.ours / "results" / f"arm_M_{what}.sto").column(off).any()
    assert off not in read_storage(both.ours / "results" / "arm_A_force.sto").names
    assert f"muscles that apply no force: {off}" in both.told
    exact = run_setup(both.ours / SETUP, like=None, output=tmp_path / "exact")
    pull, fibre = (
        read_storage(tmp_path / "exact" / f"arm_M_{x}.sto").column(off) for x in ("TendonForce", "FiberForce")
    )
    assert not pull.any()
    assert fibre.max() < 100.0  # in equilibrium, where OpenSim has 470 N
    assert any("muscles that apply no force" in note for note in exact.notes)


# --- joint reactions of forces that the same set-up finds -------------------------------------------------------------
def old_forces(path: Path) -> None:
    names = [*arm().muscle_names, "shoulder_motor", "elbow_motor"]
    head = f"forces\nversion=1\nnRows=2\nnColumns={len(names) + 1}\nendheader\n"
    rows = ("\t".join(str(x) for x in (t, *range(10, 10 + len(names)))) for t in (0, 1))
    path.write_text(head + "\t".join(["time", *names]) + "\n" + "\n".join(rows) + "\n")


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["optimization first", "reactions first"])
def test_forces_that_the_same_set_up_finds(tmp_path, order):
    """OpenSim uses what the file held before; the exact method, and we where there is none, what this run found."""
    file = "results/arm_SO_force.sto"
    both_of = (
        '<StaticOptimization name="SO"><step_interval>20</step_interval></StaticOptimization>',
        f'<JointReaction name="J"><forces_file>{file}</forces_file></JointReaction>',
    )
    setup = analyze("".join(both_of[k] for k in order))
    both = run_both(tmp_path / "old", {SETUP: setup, file: old_forces})
    theirs, ours = both.tables("results/arm_J_ReactionLoads.sto")
    assert_allclose(ours, theirs, rtol=0, atol=EQUILIBRIUM * np.abs(theirs).max())
    assert "used the forces that it held before" in both.told
    assert not both.result.complete
    found = {}
    for exact in (False, True):
        folder = tmp_path / f"new {exact}"
        fresh = run_both(folder, {SETUP: setup}, exact=exact)
        assert "Failed to open file" in fresh.log  # OpenSim stops
        assert ("OpenSim stops where there is no" in fresh.told) == (not exact)
        found[exact] = read_storage(folder / "ours" / "results" / "arm_J_ReactionLoads.sto").values
        assert np.abs(found[exact] - ours[:, 1:]).max() > 1.0
    old = run_both(tmp_path / "exact", {SETUP: setup, file: old_forces}, exact=True)
    assert old.result.complete
    assert_allclose(read_storage(old.ours / "results" / "arm_J_ReactionLoads.sto").values, found[True])
