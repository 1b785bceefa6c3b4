"""Inverse kinematics on models whose answer is known: the pose that made the markers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import Body, Coordinate, Markers, Model, Placement, embedding_of, inverse_kinematics, kinematics
from musculo.analyses.inverse_kinematics.first_pose import unknowns_of
from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.analyses.inverse_kinematics.targets import Followed, Tasks, targets_of
from musculo.compile.compiled import compiled
from musculo.embedding.couplers.embedding_tables import embedding_tables
from musculo.functions import Linear
from musculo.kernels.fit.pose_fit import Misfit, Recorded, fit, slopes_of_fit
from musculo.kernels.fit.pose_search import space_for
from musculo.model import with_quaternions
from musculo.model.body import Marker
from musculo.model.joints import BallJoint, EllipsoidJoint, PinJoint, SliderJoint
from musculo.spatial.rotation import axis_rotation
from support.ik_models import chain, limb, markers_on, motion, planar_arm, recorded

# The accuracy asked for by default [rad, m].
ACCURACY = 1e-9
# Central differences of a smooth function: error h^2 for h = 1e-5, and rounding eps / h.
DIFFERENCE = 1e-9


def test_planar_arm_by_hand():
    """Elbow at (0, 1), hand at (-1, 1): both joints at 90 degrees."""
    markers = Markers([0.0], ("elbow", "hand"), [[(0.0, 1.0, 0.0), (-1.0, 1.0, 0.0)]])
    result = inverse_kinematics(planar_arm(), markers)
    assert_allclose(result.q, [[np.pi / 2, np.pi / 2]], atol=ACCURACY)
    assert_allclose(result.marker_errors, 0.0, atol=ACCURACY)
    assert result.converged
    assert "2 markers" in repr(result)


@pytest.mark.parametrize("quaternion", [False, True])
def test_recovers_the_motion_that_made_the_markers(quaternion):
    model = limb()
    q = motion(model, 40)
    markers = recorded(model, q)
    result = inverse_kinematics(with_quaternions(model) if quaternion else model, markers)
    assert result.converged
    assert result.marker_errors.max() < 10 * ACCURACY
    if not quaternion:
        assert_allclose(result.q, q, atol=ACCURACY)
    # Newton with exact second derivatives doubles its digits: few steps from the frame before
    assert result.iterations[2:].max() <= 4


def test_ellipsoid_joint():
    joints = (
        EllipsoidJoint(
            "scapula", Placement("ground"), Placement("a"), tuple(map(Coordinate, "efg")), radii=(0.1, 0.2, 0.3)
        ),
    )
    model = Model("ellipsoid", (Body("a", 1.0),), joints, markers=markers_on("a"))
    q = motion(model, 20)
    noisy = recorded(model, q)
    noisy = replace(noisy, position=noisy.position + 0.01 * np.random.default_rng(0).normal(size=noisy.position.shape))
    result = inverse_kinematics(model, noisy)
    again = inverse_kinematics(model, noisy, accuracy=1e-3 * ACCURACY)
    assert result.converged
    assert_allclose(result.q, again.q, atol=ACCURACY)


@pytest.mark.parametrize("size", [0.05, 2.0])
@pytest.mark.parametrize("coupled", [False, True])
def test_slopes_are_those_of_the_objective(coupled, size):
    """Gradient and Hessian of one frame, with sensors and tasks, against central differences of objective and gradient.

    Sensors are off by angles of about `size`: small ones, and ones up to half a turn.
    """
    model = limb()
    if coupled:
        model = model.replace(constraints=chain())
    c, e = compiled(model), embedding_tables(model)
    names = model.marker_names
    points = Followed(names, np.linspace(1.0, 2.0, len(names)), tuple(model.marker(name).frame for name in names))
    bodies = model.body_names
    sensors = Followed(bodies, np.linspace(0.5, 3.0, len(bodies)), bodies)
    targets = targets_of(model, c, points, sensors, Tasks(("pin", "base_rx"), np.array([0.3, 0.2]), np.zeros((1, 2))))
    unknowns = unknowns_of(model, c, e, "none")
    rng = np.random.default_rng(3)
    problem = (c.tree, c.table, e.couplings, e.table, targets)
    space = space_for(problem, unknowns, c.n_q)
    seen = recorded(model, motion(model, 1, seed=5)).position + 0.05 * rng.normal(size=(1, len(names), 3))
    seen[0, 4] = np.nan
    there = Recorded(seen.reshape(-1, 1).copy(), np.zeros((9 * len(bodies), 1)), np.array([[0.4], [-0.2]]))
    misfit = Misfit(np.zeros((len(names), 1)), np.zeros((len(bodies), 1)))
    rows = unknowns.coordinate

    def cost(z):
        q = np.zeros((c.n_q, 1))
        q[rows, 0] = z
        return fit(problem, there, q, space, misfit, 0), q

    def slopes(z):
        _, q = cost(z)
        slopes_of_fit(problem, there, True, q, space, 0)
        n = c.n_u
        at = unknowns.speed
        return space.gradient[at, 0].copy(), space.hessian[:, 0].reshape(n, n)[np.ix_(at, at)].copy()

    z = rng.uniform(-0.6, 0.6, len(rows))
    motion_there = kinematics(model, cost(z)[1][:, 0])
    for k, body in enumerate(bodies):
        off = axis_rotation(rng.normal(size=3), size * rng.uniform(0.5, 1.5))
        there.sensors[9 * k : 9 * k + 9, 0] = (off @ motion_there.pose(body).R).ravel()
    there.sensors[9] = np.nan
    gradient, hessian = slopes(z)
    step = 1e-5 * np.eye(len(z))
    assert_allclose(gradient, [(cost(z + h)[0] - cost(z - h)[0]) / 2e-5 for h in step], atol=DIFFERENCE)
    assert_allclose(hessian, [(slopes(z + h)[0] - slopes(z - h)[0]) / 2e-5 for h in step], atol=DIFFERENCE)


def test_last_step_of_newton_is_as_accurate_as_asked():
    """Noise makes the residual's curvature count; a joint of two coordinates has its own."""
    model = limb()
    noisy = recorded(model, motion(model, 10))
    noisy = replace(noisy, position=noisy.position + 0.02 * np.random.default_rng(0).normal(size=noisy.position.shape))
    result = inverse_kinematics(model, noisy)
    assert result.converged
    assert_allclose(result.q, inverse_kinematics(model, noisy, accuracy=1e-16).q, atol=ACCURACY)


def test_missing_markers_carry_no_weight():
    model = limb()
    q = motion(model, 12)
    markers = recorded(model, q)
    position = np.array(markers.position)
    position[3:6, 1] = np.nan
    position[:, 0] += 0.3  # moved, but not weighted
    weights = {model.marker_names[0]: 0.0}
    result = inverse_kinematics(model, replace(markers, position=position), weights=weights)
    assert_allclose(result.q, q, atol=ACCURACY)
    assert np.isnan(result.marker_errors[3:6, 1]).all()
    assert_allclose(result.marker_errors[:, 0], np.sqrt(0.27), atol=1e-8)
    assert np.isfinite(result.rms).all()


def test_frame_without_markers_keeps_the_pose_and_says_so():
    model = planar_arm()
    q = np.tile([0.3, 0.4], (5, 1))
    position = np.array(recorded(model, q).position)
    position[2] = np.nan
    result = inverse_kinematics(model, replace(recorded(model, q), position=position))
    assert result.status[2] == Status.UNSEEN
    assert np.isnan(result.objective[2])
    assert_allclose(result.q, q, atol=ACCURACY)
    assert not result.converged


def test_markers_that_do_not_determine_the_pose_are_an_outcome():
    """A ball with one marker: it can spin about the line to it."""
    joints = (BallJoint("ball", Placement("ground"), Placement("a"), tuple(map(Coordinate, "xyz"))),)
    model = Model("ball", (Body("a", 1.0),), joints, markers=(Marker("m", "a", (0.2, 0.1, 0.3)),))
    markers = recorded(model, [[0.2, -0.3, 0.4]])
    result = inverse_kinematics(model, markers)
    assert result.status[0] == Status.UNDETERMINED
    assert result.marker_errors.max() < 1e-8


def test_coordinates_that_move_nothing_followed_are_named():
    """Only the upper arm is followed, and the hand in some frames: the elbow keeps its value where it is not seen."""
    model = planar_arm()
    q = np.stack([np.linspace(0.1, 0.5, 9), np.linspace(0.4, 0.8, 9)], axis=1)
    whole = inverse_kinematics(model, recorded(model, q))
    assert whole.undetermined == {}
    assert "undetermined" not in repr(whole)
    shoulder, elbow = model.coordinate_names
    alone = {"hand": 0.0}
    still = inverse_kinematics(model, recorded(model, q), weights=alone, start=[0.0, 0.25])
    assert still.converged
    assert list(still.undetermined) == [elbow]
    assert still.undetermined[elbow].all()
    assert (still.q[:, 1] == 0.25).all()
    assert_allclose(still.q[:, 0], q[:, 0], atol=ACCURACY)
    assert elbow in repr(still)
    held = inverse_kinematics(model, recorded(model, q), weights=alone, tasks={elbow: (1.0, 0.3)})
    assert held.undetermined == {}
    gap = recorded(model, q)
    position = np.array(gap.position)
    position[4:6, [k for k, name in enumerate(gap.names) if name != "elbow"]] = np.nan
    lost = inverse_kinematics(model, replace(gap, position=position))
    assert np.flatnonzero(lost.undetermined[elbow]).tolist() == [4, 5]
    assert shoulder not in lost.undetermined
    assert_allclose(lost.q[4:6, 1], q[3, 1], atol=ACCURACY)


def test_ranges_hold_where_they_should():
    """The hand wants the elbow at 1 rad; its range ends at 0.6, so the shoulder does what it can."""
    markers = recorded(planar_arm(), [[0.2, 1.0]])
    weights = {"elbow": 0.0}
    clamped = inverse_kinematics(planar_arm(range=(0.0, 0.6), clamped=True), markers, weights=weights)
    assert clamped.q[0, 1] == 0.6
    assert clamped.converged
    # the hand lies on a circle about the shoulder; the nearest point is in the direction of the target
    assert_allclose(clamped.q[0, 0] + 0.3, 0.2 + 0.5, atol=ACCURACY)
    free = inverse_kinematics(planar_arm(range=(0.0, 0.6)), markers)
    assert_allclose(free.q, [[0.2, 1.0]], atol=ACCURACY)
    everything = inverse_kinematics(planar_arm(range=(0.0, 0.6)), markers, weights=weights, respect_ranges="all")
    assert_allclose(everything.q, clamped.q, atol=ACCURACY)
    nothing = inverse_kinematics(planar_arm(range=(0.0, 0.6), clamped=True), markers, respect_ranges="none")
    assert_allclose(nothing.q, [[0.2, 1.0]], atol=ACCURACY)


def test_bound_is_left_when_the_markers_leave_it():
    model = planar_arm(range=(0.0, 0.6), clamped=True)
    elbow = np.concatenate([np.linspace(0.3, 0.9, 20), np.linspace(0.9, 0.3, 20)])
    q = np.stack([np.full(40, 0.2), elbow], axis=1)
    result = inverse_kinematics(model, recorded(model, q))
    assert result.converged
    assert_allclose(result.q[elbow < 0.55], q[elbow < 0.55], atol=ACCURACY)
    assert (result.q[elbow > 0.65, 1] == 0.6).all()


def test_coordinate_task_weighs_against_markers():
    """One marker at 1 m on a slider: J = ((q - 1)^2 + w (q - 2)^2) / 2 has its minimum at (1 + 2 w) / (1 + w)."""
    slider = SliderJoint("slide", Placement("ground"), Placement("a"), (Coordinate("s"),))
    model = Model("slider", (Body("a", 1.0),), (slider,), markers=(Marker("m", "a", (0.0, 0.0, 0.0)),))
    markers = recorded(model, [[1.0], [1.0], [1.0]])
    result = inverse_kinematics(model, markers, weights={"m": 7.0}, tasks={"s": (3.0, [2.0, 5.0, np.nan])})
    # the weights of markers are relative to their sum; those of tasks are not
    assert_allclose(result.q[:, 0], [7.0 / 4.0, 16.0 / 4.0, 1.0], atol=ACCURACY)
    assert_allclose(result.objective[0], 0.5 * (0.75**2 + 3.0 * 0.25**2), atol=1e-12)


def test_couplers_locks_and_prescribed_motion_hold_exactly():
    model = limb().replace(constraints=chain())
    model = model.with_coordinate("by", locked=True, default_value=0.3)
    model = model.with_coordinate("base_tx", prescribed=True, prescribed_function=Linear(2.0, 0.1))
    q = motion(model, 30)
    result = inverse_kinematics(model, recorded(model, q), tasks={"by": (1.0, -1.0)})
    assert_allclose(result.q, q, atol=ACCURACY)
    assert result.iterations[2:].max() <= 4
    embedding_of(model).check(result.q, result.time)
    assert (result.q[:, model.coordinate_index("by")] == 0.3).all()
    assert result.z.shape == (30, len(q[0]) - 4)


@pytest.mark.parametrize("seed", range(4))
def test_bad_first_guess(seed):
    """The subject faces elsewhere, and every coordinate of the guess is up to three radians or metres off."""
    model = limb()
    q = motion(model, 3)
    q[:, model.coordinate_index("base_ry")] += 2.5
    start = np.random.default_rng(seed).uniform(-3.0, 3.0, len(model.coordinate_names))
    result = inverse_kinematics(model, recorded(model, q), start=start)
    assert result.converged
    assert result.marker_errors.max() < 10 * ACCURACY


def test_first_guess_on_the_wrong_side_of_a_range():
    """The short way from -2.6 to 2.6 rad is across 180 degrees, where the range ends: only another start gets there."""
    turn = Coordinate("turn", range=(-2.8, 2.8), clamped=True)
    pin = PinJoint("pin", Placement("ground"), Placement("a"), (turn,))
    model = Model("pin", (Body("a", 1.0),), (pin,), markers=(Marker("m", "a", (1.0, 0.0, 0.0)),))
    result = inverse_kinematics(model, recorded(model, [[2.6]]), start=[-2.6])
    assert_allclose(result.q, [[2.6]], atol=ACCURACY)


def test_a_bad_frame_does_not_spoil_those_after_it():
    model = limb()
    q = motion(model, 20)
    markers = recorded(model, q)
    position = np.array(markers.position)
    position[9] = np.random.default_rng(0).normal(size=position[9].shape)
    result = inverse_kinematics(model, replace(markers, position=position))
    good = np.arange(20) != 9
    assert_allclose(result.q[good], q[good], atol=ACCURACY)


def test_threads_and_pieces_change_nothing():
    model = limb()
    q = motion(model, 700)
    markers = recorded(model, q)
    noise = 0.01 * np.random.default_rng(0).normal(size=markers.position.shape)
    markers = replace(markers, position=markers.position + noise)
    whole = inverse_kinematics(model, markers, threads=1)
    assert whole.converged
    assert (inverse_kinematics(model, markers, threads=3).q == whole.q).all()
    for first, last in ((0, 20), (300, 330), (690, 700)):
        piece = replace(markers, time=markers.time[first:last], position=markers.position[first:last])
        assert_allclose(inverse_kinematics(model, piece).q, whole.q[first:last], atol=ACCURACY)
    # backwards, so that every frame is reached from its other side
    back = inverse_kinematics(model, replace(markers, position=markers.position[::-1]))
    assert_allclose(back.q[::-1], whole.q, atol=ACCURACY)


def test_tables_and_labels():
    model = limb()
    result = inverse_kinematics(model, recorded(model, motion(model, 4)))
    table = result.to_table()
    assert table.names == model.coordinate_names
    assert_allclose(table.coordinates(model), result.q)
    assert result.error_table().names == result.marker_names
    data = result.to_xarray()
    assert_allclose(data["q"].sel(coordinate="pin"), result.q[:, model.coordinate_index("pin")])
    assert data["marker_error"].dims == ("time", "marker")
    assert data.attrs["made_by"] == "inverse_kinematics"
    assert not result.q.flags.writeable


def test_what_no_marker_sees_stays_where_it_is():
    """The shoulder is far from its default, so that another start is the best; of the elbow nothing was recorded."""
    markers = recorded(planar_arm(), [[2.9, 0.0], [2.8, 0.0]], ["elbow"])
    shoulder = Coordinate("shoulder", range=(-3.0, 3.0), clamped=True)
    model = planar_arm(default_value=0.4)
    model = model.with_joint(replace(model.joints[0], coordinates=(shoulder,)))
    result = inverse_kinematics(model, markers, start=[-2.9, 0.3])
    assert_allclose(result.q, [[2.9, 0.3], [2.8, 0.3]], atol=ACCURACY)
    assert_allclose(inverse_kinematics(model, markers).q, [[2.9, 0.4], [2.8, 0.4]], atol=ACCURACY)
