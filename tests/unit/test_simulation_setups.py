"""Set-ups of ForwardTool, RRATool and CMCTool, tracking tasks, limits of controls and controllers: what is read."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.errors import InvalidFile
from musculo.functions import Constant, PiecewiseLinear
from musculo.io.controls.control_files import read_controls
from musculo.io.controls.control_limits import read_control_limits
from musculo.opensim import (
    CMCSetup,
    ForwardSetup,
    RRASetup,
    read_setup,
    read_tracking_tasks,
)
from support.setup_files import SIMULATION_SETUPS


@pytest.fixture
def read(tmp_path):
    def check(name: str):
        (tmp_path / "setup.xml").write_text(SIMULATION_SETUPS[name][1])
        return read_setup(tmp_path / "setup.xml")

    return check


def test_defaults_of_simulations(read, tmp_path):
    forward, rra, cmc = (read(f"empty {tool}") for tool in ("forward", "rra", "cmc"))
    assert (type(forward), type(rra), type(cmc)) == (ForwardSetup, RRASetup, CMCSetup)
    assert (forward.integrator_error_tolerance, forward.final_time, forward.states_final_time) == (1e-5, 1.0, False)
    assert (cmc.cmc_time_window, cmc.use_fast_optimization_target) == (0.01, True)
    assert cmc.solve_for_equilibrium_for_auxiliary_states
    assert not rra.solve_for_equilibrium_for_auxiliary_states
    assert rra.adjusted_model is None


def test_a_residual_reduction_says_when_it_averages_and_where_its_model_goes(read, tmp_path):
    rra = read("rra")
    assert rra.com_adjustment_span == (0.5, -1.0)
    assert rra.adjusted_model == tmp_path / "adjusted.osim"
    told = " ".join(rra.notes)
    assert all(f"<{tag}> is not a property of <RRATool>" in told for tag in ("rra_controls_file", "cmc_time_window"))
    plain = read("empty rra")
    assert plain.com_adjustment_span == (plain.initial_time, plain.final_time) == (0.0, 1.0)


def test_corrective_springs_get_one_word(read):
    setup = read("forward with springs")
    (springs,) = [note for note in setup.notes if "corrective springs" in note]
    assert "body1_linear_corrective_spring_active" in springs
    assert len(setup.notes) == 2  # and the steps of time that OpenSim 4.6 does not know


_TASKS = """<OpenSimDocument Version="40600"><CMC_TaskSet name="s">
 <defaults><CMC_Joint name="default"><kp>16</kp></CMC_Joint></defaults><objects>
 <CMC_Joint name="knee"><weight>5</weight><kv>20 2</kv><active>true</active><coordinate>knee</coordinate>
  <limit>0.1</limit></CMC_Joint>
 <CMC_Joint name="off"><on>false</on><active>true false false</active><coordinate>hip</coordinate></CMC_Joint>
 <CMC_Joint name="idle"><coordinate>hip</coordinate></CMC_Joint>
 <CMC_Point name="com"><wrt_body>center_of_mass</wrt_body><express_body>ground</express_body>
  <active>true true false</active><weight>1 2 3</weight><r0>1 0 0</r0><point>0.1 0.2 0.3</point></CMC_Point>
 <CMC_Orientation name="o"/><StateTrackingTask name="s"/></objects></CMC_TaskSet></OpenSimDocument>"""


def test_tasks_of_every_kind(tmp_path):
    (tmp_path / "t.xml").write_text(_TASKS)
    found = read_tracking_tasks(tmp_path / "t.xml")
    (knee,), (com,) = found.coordinates, found.points
    assert (knee.coordinate, knee.limit, knee.weight, knee.kp, knee.kv) == (
        "knee",
        0.1,
        (5.0, 1.0, 1.0),
        (16.0, 1.0, 1.0),
        (20.0, 2.0, 0.5),
    )
    assert (com.wrt_body, com.express_body, com.active) == ("center_of_mass", "ground", (True, True, False))
    assert (com.weight, com.r0, com.point) == ((1.0, 2.0, 3.0), (1.0, 0.0, 0.0), (0.1, 0.2, 0.3))
    assert [task.name for task in found.tasks] == ["knee", "off", "idle", "com", "o", "s"]
    assert [tag in " ".join(found.notes) for tag in ("<CMC_Orientation>", "<StateTrackingTask>")] == [True, True]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("5</weight>", "1 2 3 4</weight>"), "up to 3 numbers, found 4"),
        (("<active>true</active>", "<active>yes</active>"), "true and false, found 'yes'"),
        (("CMC_TaskSet", "TaskSet"), "holds no <CMC_TaskSet>"),
    ],
)
def test_bad_tasks_say_where_and_what(tmp_path, change, message):
    (tmp_path / "t.xml").write_text(_TASKS.replace(*change))
    with pytest.raises(InvalidFile, match=message):
        read_tracking_tasks(tmp_path / "t.xml")


def _nodes(tag: str, *pairs: tuple[float, float]) -> str:
    members = "".join(f"<ControlLinearNode><t>{t}</t><value>{v}</value></ControlLinearNode>" for t, v in pairs)
    return f"<{tag}>{members}</{tag}>"


def _control_set(*members: str, defaults: str = "") -> str:
    return f'<ControlSet name="c"><defaults>{defaults}</defaults><objects>{"".join(members)}</objects></ControlSet>'


def test_limits_of_controls(tmp_path):
    defaults = "<default_min>-7</default_min><default_max>9</default_max>"
    low, high = _nodes("min_nodes", (0.0, 0.1), (1.0, 0.3)), _nodes("max_nodes", (0.0, 0.6), (1.0, 0.8))
    steps = "<use_steps>true</use_steps>"
    text = _control_set(
        '<ControlLinear name="plain.excitation"/>',
        f'<ControlLinear name="own"><default_min>0</default_min>{low}{high}</ControlLinear>',
        f'<ControlLinear name="steps">{steps}{low}{high}</ControlLinear>',
        f'<ControlLinear name="upper">{high}</ControlLinear>',
        defaults=f'<ControlLinear name="default">{defaults}</ControlLinear>',
    )
    (tmp_path / "l.xml").write_text(text)
    plain, own, stepped, upper = read_control_limits(tmp_path / "l.xml")
    time = np.array([-1.0, 0.0, 0.5, 2.0])
    assert (plain.name, plain.least, plain.most) == ("plain", -7.0, 9.0)
    assert_allclose(plain.at(time), np.array([[-7.0], [9.0]]) * np.ones(4))
    assert_allclose(own.at(time), [[-0.1, 0.1, 0.2, 0.5], [0.4, 0.6, 0.7, 1.0]])
    assert_allclose(stepped.at(time), [[0.1, 0.1, 0.3, 0.3], [0.6, 0.6, 0.8, 0.8]])
    assert_allclose(upper.at(time), plain.at(time))


def test_controls_take_the_defaults_of_their_set(tmp_path):
    values = _nodes("x_nodes", (0.0, 0.0), (1.0, 1.0))
    default = '<ControlLinear name="default"><use_steps>true</use_steps></ControlLinear>'
    (tmp_path / "c.xml").write_text(_control_set(f'<ControlLinear name="a">{values}</ControlLinear>', defaults=default))
    (control,) = read_controls(tmp_path / "c.xml")
    assert_allclose(control.at(np.array([0.5])), 1.0)


@pytest.mark.parametrize(
    "actuators", ["<actuator_list>a b</actuator_list>", "<socket_actuators>/forceset/a /forceset/b</socket_actuators>"]
)
@pytest.mark.parametrize("functions", ["<ControlFunctions>", '<FunctionSet name="ControlFunctions">'])
def test_a_prescribed_controller_in_either_spelling(tmp_path, actuators, functions):
    closing = functions[1:].split()[0].rstrip(">")
    text = (
        '<ForwardTool name="t"><ControllerSet><objects><PrescribedController name="p">'
        f"{actuators}<enabled>false</enabled>{functions}<objects><Constant><value>0.5</value></Constant>"
        "<PiecewiseLinearFunction><x>0 1</x><y>2 3</y></PiecewiseLinearFunction></objects>"
        f"</{closing}><controls_file>c.sto</controls_file><interpolation_method>3</interpolation_method>"
        "</PrescribedController></objects></ControllerSet></ForwardTool>"
    )
    (tmp_path / "setup.xml").write_text(text)
    (found,) = read_setup(tmp_path / "setup.xml").controllers
    assert (found.kind, found.enabled, found.actuators) == ("PrescribedController", False, ("a", "b"))
    assert found.functions == (Constant(0.5), PiecewiseLinear((0.0, 1.0), (2.0, 3.0)))
    assert (found.controls_file, found.interpolation) == (tmp_path / "c.sto", 3)


def test_what_the_data_holds_is_read_without_a_loss(data_folder):
    """Every file of tasks, limits and controls of the recorded data; a note there would be something not followed."""
    counts = {"tasks": 0, "limits": 0}
    for path in sorted(data_folder.rglob("*.xml")):
        text = path.read_text(errors="replace")
        if "<CMC_TaskSet" in text:
            found = read_tracking_tasks(path)
            assert found.notes == ()
            assert len(found.coordinates) == len(found.tasks) > 0
            counts["tasks"] += 1
        elif "<ControlSet " in text:
            assert all(one.least < one.most for one in read_control_limits(path))
            counts["limits"] += 1
    assert counts == {"tasks": 4, "limits": 6}
