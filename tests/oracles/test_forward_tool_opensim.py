"""Set-ups of ForwardTool in `musculo run` and live OpenSim 4.6: the same files, columns and motions, or both refuse."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.interpolate import CubicSpline

import musculo
from musculo import read_osim, read_storage
from musculo.demo import arm
from musculo.errors import MusculoError
from musculo.opensim import run_setup
from musculo.opensim_tools.records.result import Status
from support.opensim_forward import ran
from support.opensim_server import the_server
from support.recorded_data import DATA, NO_DATA
from support.tool_setups import RESERVES, document
from support.unusual_setups import SETUP, Both, run_both

pytest.importorskip("opensim")

SPAN = "<initial_time>0</initial_time><final_time>0.2</final_time>"
# Short steps of both, so that splines through their rows tell states between them.
STEPS = "<maximum_integrator_step_size>0.0005</maximum_integrator_step_size>"
TIGHT = "<integrator_error_tolerance>1e-9</integrator_error_tolerance>"
BALANCED = "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
DIGITS = "<output_precision>14</output_precision>"
# Of states beside the largest of their column, which counts as one at least. What is left are splines across the nodes
# of controls, where accelerations have kinks. Measured 3e-6, and 1e-6 without steps of controls.
NEAR = 1e-5
# Of what analyses make of states, at all frames but one of twenty: powers and accelerations have kinks at the nodes of
# controls and where fibers turn round, at which splines swing.
ANALYZED, KINKS = 2e-5, 5e-3
TIMES = (0.0, 0.03, 0.07, 0.15)
NAMES = ("TRIlong", "BIClong")


def setup(more: str, steps: str = STEPS + TIGHT, span: str = SPAN) -> str:
    return document(
        "ForwardTool",
        "<model_file>arm.osim</model_file><results_directory>results</results_directory>"
        f"<force_set_files>reserves.xml</force_set_files>{span}{steps}{DIGITS}{more}",
    )


def muscles() -> tuple[str, ...]:
    return arm().muscle_names


def controllers(*members: str) -> str:
    return f"<ControllerSet><objects>{''.join(members)}</objects></ControllerSet>"


def controller(file: str, more: str = "", name: str = "c") -> str:
    return f'<ControlSetController name="{name}">{more}<controls_file>{file}</controls_file></ControlSetController>'


def table(columns: dict[str, tuple[float, ...]], times=TIMES, degrees: str = "no") -> str:
    rows = zip(times, *columns.values(), strict=True)
    head = f"t\nversion=1\nnRows={len(times)}\nnColumns={len(columns) + 1}\ninDegrees={degrees}\nendheader\n"
    names = "\t".join(("time", *columns))
    return f"{head}{names}\n" + "".join("\t".join(map(repr, row)) + "\n" for row in rows)


def excitations() -> dict[str, tuple[float, ...]]:
    found = {name: (0.1, 0.1 + 0.05 * k, 0.3, 0.05) for k, name in enumerate(muscles())}
    return found | {"elbow_motor": (0.1, -0.1, 0.2, 0.0)}


def control_set(flags: str) -> str:
    members = ""
    for name, values in excitations().items():
        nodes = "".join(
            f"<ControlLinearNode><t>{t}</t><value>{v}</value></ControlLinearNode>"
            for t, v in zip(TIMES, values, strict=True)
        )
        stated = f"<is_model_control>true</is_model_control>{flags}<x_nodes>{nodes}</x_nodes>"
        members += f'<ControlLinear name="{name}">{stated}</ControlLinear>'
    content = f'<ControlSet name="cs"><objects>{members}</objects></ControlSet>'
    return f'<OpenSimDocument Version="40600">{content}</OpenSimDocument>'


def states(rows: int = 3, degrees: str = "no") -> str:
    """Rows 0.02 s apart; the third moves otherwise, and fibers have no column."""
    times = tuple(0.02 * k for k in range(rows))
    columns = {
        "/jointset/shoulder/shoulder_flexion/value": (0.1, 0.2, 0.3),
        "/jointset/elbow/elbow_flexion/value": (0.5, 0.6, 0.7),
        "/jointset/elbow/elbow_flexion/speed": (0.0, 1.0, -1.0),
        **{f"/forceset/{name}/activation": (0.1, 0.2, 0.3) for name in muscles()},
        "something": (1.0, 2.0, 3.0),
    }
    return table({name: values[:rows] for name, values in columns.items()}, times, degrees)


def prescribed(*functions: str) -> str:
    listed = f'<FunctionSet name="ControlFunctions"><objects>{"".join(functions)}</objects></FunctionSet>'
    names = " ".join(muscles()[: len(functions)])
    return f'<PrescribedController name="p"><actuator_list>{names}</actuator_list>{listed}</PrescribedController>'


RAMP = "<PiecewiseLinearFunction><x>0 0.1 0.2</x><y>0.1 0.4 0.05</y></PiecewiseLinearFunction>"
WAVE = "<Sine><amplitude>0.2</amplitude><omega>30</omega><phase>0.2</phase><offset>0.3</offset></Sine>"
STO, XML = {"c.sto": table(excitations())}, {"c.xml": control_set("")}
START = {"s.sto": states()}
STATES = "<states_file>s.sto</states_file>"
C_STO, C_XML = controllers(controller("c.sto")), controllers(controller("c.xml"))
LOADS = """<OpenSimDocument Version="40600"><ExternalLoads name="l"><objects><ExternalForce name="push">
<applied_to_body>forearm</applied_to_body><force_expressed_in_body>ground</force_expressed_in_body>
<point_expressed_in_body>FRAME</point_expressed_in_body><force_identifier>f_</force_identifier>
<point_identifier>p_</point_identifier></ExternalForce></objects><datafile>loads.sto</datafile>
</ExternalLoads></OpenSimDocument>"""


def loads(frame: str) -> dict[str, str]:
    columns = {"f_x": (1.0, 5.0, 3.0, 0.0), "f_y": (2.0, 6.0, -3.0, 1.0), "f_z": (0.0, 0.0, 0.0, 0.0)}
    columns |= {"p_x": (0.0, 0.01, 0.0, 0.02), "p_y": (-0.1, -0.12, -0.1, -0.1), "p_z": (0.0, 0.0, 0.0, 0.0)}
    return {"loads.xml": LOADS.replace("FRAME", frame), "loads.sto": table(columns, (0.0, 0.1, 0.2, 0.3))}


PUSHED = "<external_loads_file>loads.xml</external_loads_file>"

VARIANTS: dict[str, tuple[str, dict[str, str]]] = {
    "nothing": (setup(""), {}),
    "equilibrium": (setup(BALANCED), {}),
    "table of controls": (setup(BALANCED + C_STO), STO),
    "control set": (setup(BALANCED + C_XML), XML),
    "control set in steps": (
        setup(BALANCED + C_XML),
        {"c.xml": control_set("<use_steps>true</use_steps>")},
    ),
    "no extrapolation": (setup(BALANCED + C_XML), {"c.xml": control_set("<extrapolate>false</extrapolate>")}),
    "states": (setup(STATES + BALANCED + C_STO), {**STO, **START}),
    "a later row of states": (
        setup(STATES + BALANCED, span="<initial_time>0.03</initial_time><final_time>0.15</final_time>"),
        START,
    ),
    "before the first row": (
        setup(STATES, span="<initial_time>-0.03</initial_time><final_time>0.1</final_time>"),
        START,
    ),
    "disabled": (setup(BALANCED + controllers(controller("c.sto", "<enabled>false</enabled>"))), STO),
    "two controllers": (setup(BALANCED + controllers(controller("c.sto"), controller("c.sto", name="d"))), STO),
    "prescribed": (setup(BALANCED + controllers(prescribed(RAMP, WAVE))), {}),
    "prescribed and a table": (setup(BALANCED + controllers(prescribed(RAMP), controller("c.sto"))), STO),
    "no file of controls": (setup(BALANCED + controllers(controller("nothing.sto"))), {}),
    "loads in ground": (setup(BALANCED + C_STO + PUSHED), {**STO, **loads("ground")}),
    "loads on the body": (setup(BALANCED + C_STO + PUSHED), {**STO, **loads("forearm")}),
    "loads in another body": (setup(BALANCED + C_STO + PUSHED), {**STO, **loads("humerus")}),
    "replaced forces": (setup("<replace_force_set>true</replace_force_set>"), {}),
}


def between(path: Path, times: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    found = read_storage(path)
    return found.names, CubicSpline(found.time, found.values)(times)


def same_motion(both: Both) -> None:
    """States of both at our times; names in the same order, and the same ends."""
    for name in ("arm_states.sto", "arm_states_degrees.mot", "arm_controls.sto"):
        theirs, ours = (read_storage(side / "results" / name) for side in (both.theirs, both.ours))
        assert theirs.names == ours.names
        assert_allclose(ours.time[[0, -1]], theirs.time[[0, -1]], rtol=0, atol=1e-8)
        if "controls" in name:
            continue
        _, expected = between(both.theirs / "results" / name, ours.time)
        scale = np.maximum(np.abs(expected).max(axis=0), 1.0)
        assert_allclose(ours.values / scale, expected / scale, rtol=0, atol=NEAR, err_msg=name)


ACTUATORS = """<OpenSimDocument Version="40600"><ForceSet name="f"><objects>
<PointActuator name="push"><body>forearm</body><point>0 -0.1 0</point><direction>1 0 0</direction>
<optimal_force>5</optimal_force></PointActuator>
<TorqueActuator name="turn"><bodyA>forearm</bodyA><bodyB>ground</bodyB><axis>0 0 1</axis>
<optimal_force>2</optimal_force></TorqueActuator>
<ActivationCoordinateActuator name="slow"><coordinate>elbow_flexion</coordinate><optimal_force>2</optimal_force>
<activation_time_constant>0.05</activation_time_constant><default_activation>0.3</default_activation>
</ActivationCoordinateActuator>
<SpringGeneralizedForce name="spring"><coordinate>shoulder_flexion</coordinate><stiffness>2</stiffness>
<rest_length>0.3</rest_length><viscosity>0.1</viscosity></SpringGeneralizedForce></objects></ForceSet></OpenSimDocument>
"""


@pytest.mark.parametrize("start", [None, 0.8])
def test_actuators_of_every_kind(tmp_path, start):
    """Also one that has an activation of its own, which a file of states may give."""
    columns = excitations() | dict.fromkeys(("push", "turn", "slow"), (0.1, 0.3, -0.5, 0.2))
    del columns["elbow_motor"]
    files = {"c.sto": table(columns), "reserves.xml": ACTUATORS}
    if start is not None:
        files["s.sto"] = table({"/forceset/slow/activation": (start,)}, (0.0,))
    both = run_both(tmp_path, {SETUP: setup(BALANCED + C_STO + (STATES if files.get("s.sto") else "")), **files})
    same_motion(both)
    ours = read_storage(both.ours / "results" / "arm_states.sto").column("/forceset/slow/activation")
    assert ours[0] == (0.3 if start is None else start)
    assert np.ptp(ours) > 0.1


@pytest.mark.parametrize("name", VARIANTS)
def test_a_set_up_does_the_same_as_in_opensim(tmp_path, name):
    text, files = VARIANTS[name]
    both = run_both(tmp_path, {SETUP: text, **files})
    same_motion(both)
    assert both.result.tool == "ForwardTool"
    assert both.result.complete == (name != "no file of controls"), both.told


def test_headers_and_controls_are_opensims(tmp_path):
    text, files = VARIANTS["table of controls"]
    both = run_both(tmp_path, {SETUP: text, **files})
    for name in ("arm_states.sto", "arm_states_degrees.mot", "arm_controls.sto"):
        theirs, ours = ((side / "results" / name).read_text().splitlines() for side in (both.theirs, both.ours))
        end = theirs.index("endheader") + 2
        rows = re.compile(r"^(nRows=|datarows ).*")
        assert [rows.sub("", line) for line in ours[:end]] == [rows.sub("", line) for line in theirs[:end]]
        assert len(ours[end]) == len(theirs[end])
    controls = read_storage(both.ours / "results" / "arm_controls.sto")
    for actuator, values in excitations().items():
        slope = (values[-1] - values[-2]) / (TIMES[-1] - TIMES[-2])
        expected = np.interp(controls.time, TIMES, values)
        expected += slope * np.maximum(controls.time - TIMES[-1], 0.0)
        assert_allclose(controls.column(actuator), expected, rtol=0, atol=1e-11)


ANALYSES = (
    '<AnalysisSet><objects><Actuation name="A"/><Kinematics name="K"/><ForceReporter name="F"/>'
    '<MuscleAnalysis name="M"/><JointReaction name="J"/><BodyKinematics name="B"/></objects></AnalysisSet>'
)


def test_analyses_are_of_every_step(tmp_path):
    both = run_both(tmp_path, {SETUP: setup(BALANCED + C_STO + ANALYSES + PUSHED), **STO, **loads("ground")})
    same_motion(both)
    made = sorted(path.name for path in (both.theirs / "results").glob("arm_*.sto"))
    assert made == sorted(path.name for path in (both.ours / "results").glob("arm_*.sto"))
    assert len(made) > 20
    time = read_storage(both.ours / "results" / "arm_states.sto").time
    for name in made:
        ours = read_storage(both.ours / "results" / name)
        assert_allclose(ours.time, time, rtol=0, atol=1e-8)
        if name.endswith(("controls.sto", "states.sto")):
            continue
        names, expected = between(both.theirs / "results" / name, time)
        assert ours.names == names
        off = np.abs(ours.values - expected) / max(np.abs(expected).max(), 1.0)
        assert off.max() < KINKS, name
        assert (off > ANALYZED).mean() < 0.05, name


@pytest.mark.parametrize(
    ("text", "files", "said"),
    [
        (setup(STATES), {"s.sto": states(degrees="yes")}, "states must be in radians"),
        (setup(C_STO), {"c.sto": table({"nobody": (0.1,) * 4})}, "nobody"),
        (setup(STATES), {}, "there is no file"),
        (setup("", span="<initial_time>0.3</initial_time><final_time>0.1</final_time>"), {}, "0.3 to 0.1 s"),
    ],
    ids=["degrees", "unknown actuator", "no states", "backwards"],
)
def test_both_refuse(tmp_path, text, files, said):
    (tmp_path / "arm.osim").write_text("")
    musculo.write_osim(arm(), tmp_path / "arm.osim")
    for name, content in {SETUP: text, "reserves.xml": RESERVES, **files}.items():
        (tmp_path / name).write_text(content)
    ended = the_server().call(ran, SETUP, folder=tmp_path)
    assert ended.failure or not ended.answer["ran"]
    with pytest.raises(MusculoError, match=said):
        run_setup(tmp_path / SETUP, overwrite=True)


def test_what_is_not_computed_is_named(tmp_path):
    odd = controllers('<ToyReflexController name="reflex"><actuator_list>ALL</actuator_list></ToyReflexController>')
    both = run_both(tmp_path, {SETUP: setup(BALANCED + odd)})
    assert both.result.status is Status.INCOMPLETE
    assert any("'reflex' (<ToyReflexController>) is not computed" in one for one in both.result.troubles)


# --- stock set-ups ----------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("kind", ["Nonphysiological", "Physiological"])
def test_the_stock_set_up_of_arm26(tmp_path, kind):
    """From the start and under the controls of its own reference, as that was made by an OpenSim of other defaults.

    That reference is far off OpenSim 4.6: 0.44 rad at the elbow, and as far off musculo, to three digits.
    """
    reference = DATA / "arm26" / "ref" / f"FD_{kind}"
    text = (DATA / "arm26" / "arm26_Setup_Forward.xml").read_text()
    for old, new in (
        (r"<controls_file>.*?</controls_file>", f"<controls_file>{reference}/arm26_controls.sto</controls_file>"),
        (r"<states_file>.*?</states_file>", f"<states_file>{reference}/arm26_states.sto</states_file>"),
        (r"<model_file>.*?</model_file>", f"<model_file>{DATA}/arm26/arm26.osim</model_file>"),
    ):
        text = re.sub(old, new, text)
    (tmp_path / SETUP).write_text(text)
    assert the_server().call(ran, SETUP, folder=tmp_path).checked()["ran"]
    result = run_setup(tmp_path / SETUP, output=tmp_path / "ours")
    assert result.status is Status.DONE
    ours = read_storage(tmp_path / "ours" / "arm26_states.sto")
    theirs, recorded = (
        read_storage(path)
        for path in (tmp_path / "NonphysiologicalResults" / "arm26_states.sto", reference / "arm26_states.sto")
    )
    assert ours.names == theirs.names
    for k, name in enumerate(ours.names):
        expected = np.interp(ours.time, theirs.time, theirs.values[:, k])
        scale = max(np.abs(expected).max(), 1.0)
        # lines between OpenSim's steps are off by 2e-3 at most
        assert np.abs(ours.values[:, k] - expected).max() < 2e-3 * scale, name
        old = recorded.column(name)
        both = [np.abs(np.interp(recorded.time, one.time, one.values[:, k]) - old).max() for one in (ours, theirs)]
        assert abs(both[0] - both[1]) < 2e-3 * scale, name
    elbow = ours.names.index("/jointset/r_elbow/r_elbow_flex/value")
    assert np.abs(ours.values[:, elbow]).max() > 0.5


@pytest.mark.skipif(not DATA.is_dir(), reason=NO_DATA)
@pytest.mark.parametrize(
    ("folder", "file", "model"),
    [
        ("tug_of_war", "Tug_of_War_Setup_Forward.xml", "Tug_of_War.osim"),
        ("small_models/DoublePendulum3D_JR", "DoublePendulum3D_Setup_Forward.xml", "DoublePendulum3D.osim"),
    ],
)
def test_stock_set_ups_that_lack_files(tmp_path, folder, file, model):
    """As they are, neither names a model; with one, the second lacks its states, and without those it falls."""
    text = (DATA / folder / file).read_text()
    for one in (DATA / folder).iterdir():
        if one.is_file():
            (tmp_path / one.name).write_bytes(one.read_bytes())
    with pytest.raises(MusculoError, match="names no <model_file>"):
        run_setup(tmp_path / file)
    text = re.sub(r"<model_file ?/>|<model_file>\s*</model_file>", f"<model_file>{model}</model_file>", text)
    if "Pendulum" in file:
        (tmp_path / SETUP).write_text(text)
        with pytest.raises(MusculoError, match="DoublePendulum3D_InitialStates"):
            run_setup(tmp_path / SETUP)
        text = re.sub(r"<states_file>.*?</states_file>", "", text)
    (tmp_path / SETUP).write_text(text)
    assert the_server().call(ran, SETUP, folder=tmp_path).checked()["ran"]
    result = run_setup(tmp_path / SETUP, output=tmp_path / "ours")
    name = read_osim(tmp_path / model) and file.removesuffix("_Setup_Forward.xml")
    where = tmp_path / ("ForwardResults" if "Tug" in file else ".")
    names, expected = between(where / f"{name}_states.sto", read_storage(tmp_path / "ours" / f"{name}_states.sto").time)
    ours = read_storage(tmp_path / "ours" / f"{name}_states.sto")
    assert ours.names == names
    assert len(result.files) == 3
    scale = np.maximum(np.abs(expected).max(axis=0), 1.0)
    assert_allclose(ours.values / scale, expected / scale, rtol=0, atol=2e-2)
