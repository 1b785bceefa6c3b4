"""What becomes of bad loops, bad starts and bad motions, embedded and constrained: an outcome that names the loop."""

from __future__ import annotations

import re

import numpy as np
import pytest

import musculo
from musculo import Model, MusculoError
from musculo.errors import InvalidInput, InvalidModel, SingularSystem
from musculo.functions import Linear
from musculo.model import EquationConstraint
from musculo.model.force import Muscle
from musculo.model.model_path import Path, PathPoint
from support.mechanisms import andrews_squeezer, chain, four_bar, pinned, squeezer_forces

FORMULATIONS = ("embedded", "constrained")
METHODS = ("cvode", "adams", "rkf45", "ida")
LOOSE = {"rtol": 1e-6, "atol": 1e-8}
# The crank of a four-bar with short bars is stretched out at this angle: acos of the law of cosines.
REACH = float(np.arccos((0.4**2 + 0.5**2 - 0.6**2) / (2 * 0.4 * 0.5)))


def parallelogram(pose=(0.8, -0.8, -2.341592653589793)) -> Model:
    """Opposite bars are equal: it can fold flat, and there its two branches meet."""
    return chain("parallelogram", (0.3, 0.6, 0.3), 0.6, pose)


FLAT = (0.0, 0.0, -np.pi)


# --- loops that contradict --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("start", [None, [0.5, 0.2, -1.0]])
def test_bars_that_are_too_short_are_named(formulation, start):
    short = chain("short", (0.1, 0.1, 0.1), 1.0, (0.5, 0.2, -1.0))
    speeds = None if start is None else np.zeros(3)
    with pytest.raises(InvalidModel, match="loop 'closure' cannot be closed: constraint 'closure' stays open by 0"):
        musculo.simulate(short, start, speeds, (0.0, 1.0), formulation=formulation)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_pins_that_contradict_are_named(formulation):
    model = four_bar()
    two = model.replace(constraints=(*model.constraints, pinned("other", "ground", (0.5, 0.0), "bar2", (0.4, 0.0))))
    q = musculo.embedding_of(model).default_pose()
    with pytest.raises(InvalidModel, match="loop of 'closure', 'other' cannot be closed"):
        musculo.simulate(two, q, np.zeros(3), (0.0, 1.0), formulation=formulation)


@pytest.mark.parametrize(
    ("what", "equations"),
    [
        ("a derivative", lambda a, b: np.sqrt(a) - b),
        ("a value", lambda a, b: 1.0 / a - b),
        ("a value", lambda a, b: np.log(a) + b),
    ],
)
def test_equations_that_are_not_finite_are_named(what, equations):
    odd = EquationConstraint("odd", coordinates=("q0", "q1"), equations=equations)
    model = four_bar().with_coordinate("q0", default_value=0.0).replace(constraints=(odd,))
    with pytest.raises(InvalidModel, match=f"constraint 'odd' has {what} that is not finite at .*q0 = 0"):
        musculo.simulate(model, None, None, (0.0, 0.1))
    still = np.zeros(3)
    with pytest.raises(SingularSystem, match="constraint 'odd', or their derivatives, are not finite at frame 0"):
        musculo.simulation.project_position(model, still)
    with pytest.raises(SingularSystem, match="constraint 'odd', or their derivatives, are not finite at frame 0"):
        musculo.constrained_acceleration(model, still, still, still)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_drives_that_contradict_the_loop_are_named(formulation):
    """Crank and rocker both driven, as the loop does not let them."""
    model = four_bar()
    q = musculo.embedding_of(model).default_pose()
    for name, value in (("q0", q[0]), ("q2", q[2])):
        model = model.with_coordinate(name, prescribed=True, prescribed_function=Linear(1.0, float(value)))
    with pytest.raises(InvalidInput, match="'closure'"):
        musculo.simulate(model, q, [1.0, 0.0, 1.0], (0.0, 1.0), formulation=formulation)
    if formulation == "embedded":
        done = musculo.simulate(model, None, None, (0.0, 1.0))
        assert done.status == "failed"
        assert "loop 'closure' cannot be closed" in done.reason
        assert done.end < 1e-6


# --- starts off the manifold ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_starts_off_the_loop_are_named(formulation):
    model = four_bar()
    q = musculo.embedding_of(model).default_pose()
    with pytest.raises(InvalidInput, match="'closure'"):
        musculo.simulate(model, q + np.array([0.0, 0.0, 0.1]), None, (0.0, 1.0), formulation=formulation)
    with pytest.raises(InvalidInput, match=r"speed.* 'closure'"):
        musculo.simulate(model, q, [0.0, 0.0, 0.1], (0.0, 1.0), formulation=formulation)


def test_of_several_constraints_the_one_that_is_off_is_named():
    model = andrews_squeezer()
    q = musculo.embedding_of(model).default_pose()
    off = q.copy()
    off[model.coordinate_index("omega")] += 1e-3
    with pytest.raises(InvalidInput, match="coordinates at the start are off constraint 'k2_meets_k6'"):
        musculo.simulate(model, off, np.zeros(7), (0.0, 0.01), formulation="constrained")
    u = np.zeros(7)
    u[model.speed_index("phi")] = 1.0
    with pytest.raises(InvalidInput, match="speeds at the start are off constraint 'k2_meets_k4'"):
        musculo.simulate(model, q, u, (0.0, 0.01), formulation="constrained")


# --- singular positions -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_singular_start_is_refused(formulation):
    """Also where the model's default pose is none."""
    for model in (parallelogram(FLAT), parallelogram()):
        with pytest.raises(SingularSystem, match="loop 'closure' is in a singular position"):
            musculo.simulate(model, FLAT, np.zeros(3), (0.0, 1.0), formulation=formulation)


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_no_simulation_passes_a_singular_position(method, formulation):
    """The parallelogram falls flat, where two branches meet and rounding would decide which one it takes."""
    done = musculo.simulate(parallelogram(), None, None, (0.0, 1.0), method=method, formulation=formulation, **LOOSE)
    assert done.status == "failed"
    assert "loop 'closure'" in done.reason
    assert "singular position" in done.reason
    # up to there it is a parallelogram, and its energy that of the start
    assert np.abs(done.q[:, 0] + done.q[:, 1]).max() < 1e-6
    assert np.ptp(done.energy) < 1e-3
    assert done.q[-1, 0] > -1e-6


@pytest.mark.parametrize("method", ["rkf45", "cvode", "tr-bdf2"])
def test_passing_near_a_singular_position_is_no_reason_to_stop(method):
    """A bar that is 2 % too long leaves a gap between the branches."""
    near = chain("nearly a parallelogram", (0.3, 0.6, 0.312), 0.6, (0.8, -0.8, -2.341592653589793))
    options = {"rtol": 1e-5, "atol": 1e-7} if method == "tr-bdf2" else {"rtol": 1e-8, "atol": 1e-10}
    times = np.linspace(0.0, 0.5, 6)
    one = musculo.simulate(near, None, None, times, formulation="constrained", method=method, **options)
    assert one.status == "finished", one.reason
    two = musculo.simulate(near, None, None, times, rtol=1e-10, atol=1e-10)
    assert two.status == "finished", two.reason
    assert np.abs(one.q - two.q).max() < (2e-2 if method == "tr-bdf2" else 1e-4)


def test_the_squeezer_is_never_singular():
    model = andrews_squeezer()
    done = musculo.simulate(
        model,
        None,
        None,
        (0.0, 0.01),
        forces=lambda t, q, u: squeezer_forces(model, q),
        formulation="constrained",
        method="adams",
        rtol=1e-8,
        atol=1e-8,
    )
    assert done.status == "finished", done.reason


# --- out of reach -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("method", METHODS)
def test_a_drive_beyond_reach_ends_where_the_bars_are_stretched(method, formulation):
    """The crank is turned at 2 rad/s until coupler and rocker are in line."""
    model = four_bar(0.4, 0.3, 0.3, 0.5)
    q = musculo.embedding_of(model).default_pose()
    drive = model.with_coordinate("q0", prescribed=True, prescribed_function=Linear(2.0, float(q[0])))
    done = musculo.simulate(drive, None, None, (0.0, 2.0), method=method, formulation=formulation, **LOOSE)
    assert done.status == "failed"
    assert "loop 'closure'" in done.reason
    ends = {
        "embedded": "is at a turning point at frame 0: q0 cannot drive it there",
        "constrained": "'q0' cannot be driven further",
    }
    assert ends[formulation] in done.reason
    assert abs(q[0] + 2.0 * done.end - REACH) < 1e-4
    assert done.drift.position.max() < 1e-5


def test_a_motion_that_is_driven_altogether_is_looked_at():
    """Nothing is left to integrate: the crank turns round once, and all follows from it."""
    model = four_bar()
    q = musculo.embedding_of(model).default_pose()
    drive = model.with_coordinate("q0", prescribed=True, prescribed_function=Linear(2.0 * np.pi, float(q[0])))
    for method in METHODS:
        done = musculo.simulate(drive, None, None, np.linspace(0.0, 1.0, 11), method=method)
        assert done.status == "finished", done.reason
        assert np.abs(done.q[:, 0] - q[0] - 2.0 * np.pi * done.time).max() < 1e-12
        assert np.abs(np.exp(1j * done.q[-1]) - np.exp(1j * q)).max() < 1e-9
        assert done.drift.position.max() < 1e-12
        assert np.abs(done.u[:, 0] - 2.0 * np.pi).max() < 1e-12
    held = musculo.simulate(drive, None, None, np.linspace(0.0, 1.0, 11), formulation="constrained", **LOOSE)
    assert np.abs(held.q - done.q).max() < 1e-4


def test_poses_out_of_reach_are_statuses_or_errors_and_never_numbers():
    model = four_bar(0.4, 0.3, 0.3, 0.5)
    e = musculo.embedding_of(model)
    z = np.array([[REACH - 0.05], [REACH + 0.05]])
    with pytest.raises(InvalidInput, match=r"loop 'closure' cannot be closed at frame 1 with q0 = "):
        e.coordinates(z)
    assert e.closure(z).status.tolist() == [0, 1]
    with pytest.raises(InvalidInput, match="constraint 'closure'"):
        musculo.simulation.project_position(chain("short", (0.1, 0.1, 0.1), 1.0, (0.5, 0.2, -1.0)), [0.5, 0.2, -1.0])


# --- poses of which some cannot be closed -----------------------------------------------------------------------------
def four_bar_with_a_muscle():
    model = four_bar(0.4, 0.3, 0.3, 0.5)
    path = Path((PathPoint("a", "ground", (0.0, 0.3, 0.0)), PathPoint("b", "bar1", (0.1, 0.1, 0.0))))
    return model.replace(forces=(Muscle("pull", "Thelen2003Muscle", path=path),))


def poses_of(model, angles):
    e = musculo.embedding_of(model, independent=["q0"])
    q = np.tile(e.coordinates([0.9]), (len(angles), 1))
    q[:, 0] = angles
    return q


def test_frames_that_cannot_be_closed_have_no_independent_moment_arms():
    model = four_bar_with_a_muscle()
    q = poses_of(model, [0.9, 1.6, 0.8])
    g = musculo.muscle_geometry(model, q)
    assert "moment_arm_independent" not in g.to_xarray()
    with pytest.warns(musculo.MusculoWarning, match="closed at 1 of 3 frames, frame 1 the first.*is NaN"):
        arms = g.moment_arm_independent
    assert np.isnan(arms[1]).all()
    for k in (0, 2):
        assert np.array_equal(arms[k], musculo.muscle_geometry(model, q[k]).moment_arm_independent)
    assert np.array_equal(g.to_xarray()["moment_arm_independent"].values, arms, equal_nan=True)
    with pytest.raises(InvalidInput, match=r"cannot be closed at frame 0.*drop this frame"):
        _ = musculo.muscle_geometry(model, q[1]).moment_arm_independent


@pytest.mark.parametrize("beyond", [0.1, 1e-4, 1e-7, 1e-10])
def test_how_far_a_loop_closes_is_told_from_what_was_wanted(beyond):
    e = musculo.embedding_of(four_bar_with_a_muscle(), independent=["q0"])
    with pytest.raises(MusculoError) as caught:
        e.coordinates([REACH + beyond])
    wanted, came = re.findall(r"q0 = ([-\d.e]+\d)", str(caught.value))
    assert wanted != came
    assert abs(float(came) - float(wanted)) < beyond + 1e-3


def test_an_open_pose_is_not_said_to_be_out_of_reach():
    """All bars in a line: the crank can be there, and no closed pose is found from this one."""
    model = four_bar(crank=0.2, coupler=0.5, rocker=0.4, base=0.45)
    assert np.isfinite(musculo.embedding_of(model).coordinates([0.0])).all()
    with pytest.raises(
        InvalidInput, match=r"loop 'closure' is open in the given pose .* with q0 = 0; drop .*\.coordinates\(z\)"
    ):
        musculo.forward_dynamics(model, np.zeros(3), np.zeros(3), np.zeros(3))
