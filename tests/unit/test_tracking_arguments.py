"""Functions that follow a motion say what is wrong with their arguments, and never go beyond the recording."""

from __future__ import annotations

import pytest

from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput, UnknownName
from musculo.io.controls.control_limits import ControlLimits
from musculo.io.setup.tracking_tasks import CoordinateTracking
from musculo.model.force import Force
from musculo.simulation import computed_muscle_control, desired_motion, residual_reduction, tracking_targets

TASK = CoordinateTracking("elbow_flexion", active=(True, False, False), coordinate="elbow_flexion")
MOTORS = tuple(
    Force(f"{name}_motor", "CoordinateActuator", properties=(("coordinate", name), ("optimal_force", "10")))
    for name in ("shoulder_flexion", "elbow_flexion")
)
MODELS = {
    computed_muscle_control: arm().replace(forces=(*arm().forces, *MOTORS)),
    residual_reduction: arm().replace(forces=MOTORS),
}
TABLE = arm_flexion()
START, END = float(TABLE.time[0]), float(TABLE.time[-1])


@pytest.fixture(params=list(MODELS), ids=lambda one: one.__name__)
def tool(request):
    model = MODELS[request.param]
    return request.param, desired_motion(model, TABLE, 6.0), tracking_targets(model, [TASK])


@pytest.mark.parametrize("span", [(START - 0.5, 0.3), (0.3, END + 0.5), (END + 1.0, END + 2.0)])
def test_a_span_beyond_the_recording_is_refused(tool, span):
    """Splines would go on beyond it without a word."""
    function, desired, targets = tool
    with pytest.raises(InvalidInput, match=f"known from {START:g} to {END:g} s"):
        function(desired, targets, span)


def test_the_whole_recording_is_within_it(tool):
    function, desired, targets = tool
    assert len(function(desired, targets, (END - 0.1, END + 1e-9)))


@pytest.mark.parametrize("span", [(0.1, 0.2, 0.3), 1.0, None, (None, 0.5), ("a", "b"), (0.4, 0.2), (float("nan"), 0.3)])
def test_what_is_no_span_is_refused(tool, span):
    function, desired, targets = tool
    with pytest.raises(InvalidInput, match="span"):
        function(desired, targets, span)


@pytest.mark.parametrize("window", ["a", 0, -1.0, float("nan"), float("inf"), None])
def test_what_is_no_window_is_refused(tool, window):
    function, desired, targets = tool
    with pytest.raises(InvalidInput, match=r"window is .*seconds"):
        function(desired, targets, (0.2, 0.3), window=window)


def test_arguments_of_other_kinds_are_named(tool):
    function, desired, targets = tool
    with pytest.raises(InvalidInput, match="AccelerationTargets; give the motion to follow first"):
        function(targets, desired, (0.2, 0.3))
    with pytest.raises(InvalidInput, match="Table; give the motion"):
        function(TABLE, targets, (0.2, 0.3))
    with pytest.raises(InvalidInput, match="tracking_targets"):
        function(desired, [TASK], (0.2, 0.3))


def test_limits_are_of_actuators_and_leave_room(tool):
    function, desired, targets = tool
    with pytest.raises(UnknownName, match=r"elbow_motor.*elbow_flexion_motor"):
        function(desired, targets, (0.2, 0.3), limits=[ControlLimits("elbow_motor")])
    with pytest.raises(InvalidInput, match="ControlLimits"):
        function(desired, targets, (0.2, 0.3), limits={"elbow_flexion_motor": (0.0, 1.0)})
    with pytest.raises(InvalidInput, match="ControlLimits"):
        function(desired, targets, (0.2, 0.3), limits=["elbow_flexion_motor"])
    with pytest.raises(InvalidInput, match="between 1 and -1"):
        function(desired, targets, (0.2, 0.3), limits=[ControlLimits("elbow_flexion_motor", 1.0, -1.0)])


def test_actuators_that_get_no_control_are_known():
    model = MODELS[computed_muscle_control]
    desired, targets = desired_motion(model, TABLE, 6.0), tracking_targets(model, [TASK])
    with pytest.raises(UnknownName, match="nobody"):
        computed_muscle_control(desired, targets, (0.2, 0.3), excluded=["nobody"])
    with pytest.raises(InvalidInput, match="list of names"):
        computed_muscle_control(desired, targets, (0.2, 0.3), excluded="brachialis")


def test_motions_and_targets_are_made_of_what_they_say():
    model = arm()
    with pytest.raises(InvalidInput, match="read_storage"):
        desired_motion(model, "motion.mot", 6.0)
    with pytest.raises(InvalidInput, match="cutoff is 'auto'"):
        desired_motion(model, TABLE, "auto")
    with pytest.raises(InvalidInput, match="model is a Table"):
        desired_motion(TABLE, model)
    for tasks in ("tasks.xml", ["elbow_flexion"], 3):
        with pytest.raises(InvalidInput, match="read_tracking_tasks"):
            tracking_targets(model, tasks)
    with pytest.raises(InvalidInput, match="model is a list"):
        tracking_targets([TASK], model)
