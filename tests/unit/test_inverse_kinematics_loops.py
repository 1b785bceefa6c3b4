"""Inverse kinematics of models with closed loops: known motions come back, minima are minima, loops stay closed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import least_squares

from musculo import Coordinate, Markers, Model, Placement, embedding_of, inverse_kinematics, kinematics
from musculo.analyses.inverse_kinematics.follow_recording import Status
from musculo.functions import Linear
from musculo.model import CoordinateCoupler
from musculo.model.body import Body
from musculo.model.joints import BallJoint, FreeJoint, PinJoint
from musculo.model.model_constraint import EquationConstraint, PointConstraint, WeldConstraint
from musculo.results import Orientations
from support.ik_models import markers_on
from support.mechanisms import andrews_squeezer, five_bar, four_bar

FRAMES = 40
# The accuracy asked for by default, and what is left where differences stand for derivatives in scipy's search.
ACCURACY, SCIPY = 1e-9, 3e-7
CLOSED = 1e-13
NOISE = 0.01
# Iterations that Newton's method needs where the fit is as bad as half the mechanism; steepest ones need dozens.
NEWTON = 12


def marked(model: Model) -> Model:
    return model.replace(markers=markers_on(*model.body_names))


def coupled_five_bar() -> Model:
    """A five-bar whose second bar turns with the first by a coupler, and drives a wheel by another."""
    bar = five_bar()
    wheel = PinJoint("w", Placement("bar0"), Placement("wheel"), (Coordinate("w"),))
    couplers = (
        CoordinateCoupler("gear", dependent="q1", independents=("q0",), function=Linear(-0.3, 0.76)),
        CoordinateCoupler("belt", dependent="w", independents=("q1",), function=Linear(-1.5, 0.2)),
    )
    return bar.replace(
        bodies=(*bar.bodies, Body("wheel", 1.0)),
        joints=(*bar.joints, wheel),
        constraints=(*bar.constraints, *couplers),
    )


def hanging_ring() -> Model:
    """A base that moves freely, two rods on balls, their ends joined; another rod welded to the first one."""
    free = tuple(Coordinate(f"base_{k}") for k in ("rx", "ry", "rz", "tx", "ty", "tz"))
    rods = [
        BallJoint(f"b{k}", Placement("base", (0.3 * k, 0.0, 0.0)), Placement(f"rod{k}"), names)
        for k, names in enumerate(
            tuple(Coordinate(f"b{k}{axis}", default_value=value) for axis, value in zip("xyz", pose, strict=True))
            for k, pose in enumerate(((0.1, 0.2, -1.0), (0.3, -0.1, -2.0)))
        )
    ]
    third = FreeJoint("third", Placement("ground"), Placement("extra"), tuple(Coordinate(f"e{k}") for k in range(6)))
    bodies = tuple(Body(name, 1.0) for name in ("base", "rod0", "rod1", "extra"))
    ends = {"first_location": (0.5, 0.0, 0.0), "second_location": (0.5, 0.0, 0.0)}
    constraints = (
        PointConstraint("ends", first_body="rod0", second_body="rod1", **ends),
        WeldConstraint("weld", first=Placement("rod1", (0.1, 0.2, 0.3)), second=Placement("extra")),
    )
    joints = (FreeJoint("root", Placement("ground"), Placement("base"), free), *rods, third)
    return Model("ring", bodies, joints, constraints)


def equation() -> Model:
    """A five-bar with an equation of its own between the two cranks."""
    bar = five_bar()
    tie = EquationConstraint("tie", coordinates=("q0", "q1"), equations=lambda a, b: b + 0.3 * a - 0.76)
    return bar.replace(constraints=(*bar.constraints, tie))


MODELS = {
    "four-bar": four_bar,
    "five-bar": five_bar,
    "squeezer": andrews_squeezer,
    "coupler": coupled_five_bar,
    "ring": hanging_ring,
    "equation": equation,
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A model with markers, and a motion that keeps its loops closed."""
    model = marked(MODELS[request.param]())
    e = embedding_of(model)
    start = e.independent(e.branch)
    speed = 1.0 + 0.3 * np.arange(len(start))
    z = start + 0.1 * np.sin(np.linspace(0.0, 2.0, FRAMES)[:, None] * speed)
    return model, e.coordinates(z)


def recorded(model: Model, q: np.ndarray, noise: float = 0.0) -> Markers:
    rng = np.random.default_rng(7)
    places = kinematics(model, q).markers()
    return Markers(0.01 * np.arange(len(q)), model.marker_names, places + noise * rng.normal(size=places.shape))


def test_a_known_motion_comes_back(case):
    model, q = case
    found = inverse_kinematics(model, recorded(model, q))
    assert found.converged
    assert found.closure_error.max() < CLOSED
    np.testing.assert_allclose(found.q, q, atol=ACCURACY)
    np.testing.assert_allclose(found.z, embedding_of(model).independent(q), atol=ACCURACY)


def test_poses_among_noise_are_minima(case):
    """Scipy's search over the independent coordinates, from the pose that was found, stays there."""
    model, q = case
    markers = recorded(model, q, NOISE)
    found = inverse_kinematics(model, markers)
    e = embedding_of(model)
    assert found.converged
    assert found.closure_error.max() < CLOSED
    for f in range(0, FRAMES, 13):

        def misfit(z, f=f):
            places = kinematics(model, e.coordinates(z, guess=found.q[f])).markers()
            return (places - markers.position[f]).ravel()

        best = least_squares(misfit, found.z[f], xtol=1e-15, ftol=1e-15, gtol=1e-15)
        np.testing.assert_allclose(found.z[f], best.x, atol=SCIPY)
        # the objective is half the mean of squared distances
        assert found.objective[f] <= best.cost / len(model.markers) * (1.0 + 1e-12)


def test_steps_are_newtons():
    """Far from any pose that fits, the constraints' curvature counts: without it steps shrink by a factor only."""
    model = marked(five_bar())
    e = embedding_of(model)
    q = e.coordinates(e.independent(e.branch) + 0.1 * np.arange(6)[:, None])
    found = inverse_kinematics(model, recorded(model, q, 0.5))
    assert found.converged
    assert found.iterations.max() <= NEWTON


def test_orientations_alone_are_followed():
    model = marked(hanging_ring())
    e = embedding_of(model)
    q = e.coordinates(
        e.independent(e.branch) + 0.1 * np.sin(np.arange(8)[:, None] + np.arange(len(e.coordinate_names)))
    )
    moved = kinematics(model, q)
    R = np.stack([moved.batch_pose(name)[0] for name in ("base", "rod0", "rod1")], axis=1)
    names = ("base", "rod0", "rod1")
    found = inverse_kinematics(model, orientations=Orientations.from_rotations(np.arange(8.0), names, R))
    angles = [k for k, name in enumerate(model.coordinate_names) if name.startswith(("base_r", "b0", "b1"))]
    np.testing.assert_allclose(found.q[:, angles], q[:, angles], atol=1e-7)
    assert found.closure_error.max() < CLOSED


def test_ranges_hold_and_the_rest_is_optimal():
    """A crank that may not turn as far as recorded stays at the end of its range."""
    model = marked(five_bar())
    e = embedding_of(model)
    name = e.coordinate_names[0]
    start = e.independent(e.branch)
    q = e.coordinates(start + np.linspace(0.0, 0.3, 20)[:, None] * np.array([1.0, 0.2]))
    limited = model.with_coordinate(name, range=(start[0] - 1.0, start[0] + 0.2), clamped=True)
    found = inverse_kinematics(limited, recorded(model, q))
    k = model.coordinate_index(name)
    assert found.converged
    assert found.q[:, k].max() == start[0] + 0.2
    beyond = q[:, k] > start[0] + 0.2
    np.testing.assert_allclose(found.q[~beyond], q[~beyond], atol=ACCURACY)
    held = model.with_coordinate(name, locked=True, default_value=start[0] + 0.2)
    alone = inverse_kinematics(held, recorded(model, q), start=found.q[-1])
    np.testing.assert_allclose(found.q[beyond], alone.q[beyond], atol=1e-8)


def test_frames_without_markers_keep_the_pose():
    model = marked(four_bar())
    e = embedding_of(model)
    q = e.coordinates(e.independent(e.branch) + np.linspace(0.0, 0.4, 50)[:, None])
    markers = recorded(model, q)
    position = markers.position.copy()
    position[20:23] = np.nan
    position[30, :4] = np.nan
    found = inverse_kinematics(model, replace(markers, position=position))
    assert {Status(s) for s in found.status[20:23]} == {Status.UNSEEN}
    np.testing.assert_allclose(found.q[22], found.q[19], atol=CLOSED)
    seen = np.r_[0:20, 23:50]
    np.testing.assert_allclose(found.q[seen], q[seen], atol=ACCURACY)


def test_the_answer_does_not_depend_on_threads_or_neighbours():
    model = marked(five_bar())
    e = embedding_of(model)
    q = e.coordinates(e.independent(e.branch) + 0.2 * np.sin(np.linspace(0, 3, 30))[:, None])
    markers = recorded(model, q, NOISE)
    one, two = (inverse_kinematics(model, markers, threads=n) for n in (1, 2))
    np.testing.assert_array_equal(one.q, two.q)
    alone = inverse_kinematics(model, markers.between(markers.time[10], markers.time[10]), start=one.q[10])
    np.testing.assert_allclose(alone.q[0], one.q[10], atol=ACCURACY)


def test_tasks_count_beside_markers():
    """With nothing but a strong task, the mechanism goes where the task says."""
    model = marked(four_bar())
    e = embedding_of(model)
    q = e.coordinates(e.independent(e.branch) + np.linspace(0.0, 0.2, 4)[:, None])
    markers = recorded(model, q)
    goal = e.coordinates(e.independent(e.branch) + 0.5)
    k = model.coordinate_index("q1")
    found = inverse_kinematics(model, markers, tasks={"q1": (1e9, goal[k])})
    np.testing.assert_allclose(found.q[:, k], goal[k], atol=1e-6)
    np.testing.assert_allclose(found.q, np.tile(goal, (4, 1)), atol=1e-5)
