"""Joint loads: cases by hand, the balance of every body, choices of side and frame, and mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import (
    Body,
    ExternalLoad,
    Model,
    PinJoint,
    Placement,
    Table,
    embedding_of,
    joint_loads,
    joint_reactions,
    path_wrenches,
    read_osim,
)
from musculo.analyses import joint_loads as module
from musculo.errors import InvalidInput, UnknownName
from musculo.model import CoordinateCoupler, Path, PathPoint, PathSpring, ScapulothoracicJoint, SliderJoint, WeldJoint
from musculo.model.coordinate import Coordinate
from musculo.model.force import Force, Muscle
from musculo.model.model_path import MovingPathPoint
from musculo.spatial.inertia import tensor
from support.recorded_data import DATA, NO_DATA, recorded, within

# Sums of up to a hundred forces of 1e3 N: some dozen roundings.
ROUNDING = 1e-12
# Places in ground that a path's points are recognised by [m].
SAME_PLACE = 1e-9

FILES = recorded("**/*.osim")
G = 9.80665


def pendulum(*forces: Force) -> Model:
    """A rod of 2 kg on a pin at (0, 1, 0), its mass centre 0.5 m below; a block slides on it and holds a tip."""
    pin = PinJoint("pin", Placement("ground", (0.0, 1.0, 0.0), name="base"), "rod", (Coordinate("angle"),))
    slide = SliderJoint("slide", Placement("rod", (0.1, -0.3, 0.0)), "block", (Coordinate("way"),))
    weld = WeldJoint("weld", Placement("block", (0.0, 0.2, 0.0)), "tip")
    rod = Body("rod", 2.0, (0.0, -0.5, 0.0), (0.1, 0.02, 0.1, 0.0, 0.0, 0.0))
    block = Body("block", 1.0, (0.0, 0.05, 0.0), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    tip = Body("tip", 0.5, (0.0, 0.0, 0.1), (0.001, 0.001, 0.001, 0.0, 0.0, 0.0))
    return Model("pendulum", (rod, block, tip), (pin, slide, weld), forces=forces)


def line(*points: tuple[str, tuple[float, float, float]]) -> Path:
    return Path(tuple(PathPoint(f"p{k}", frame, place) for k, (frame, place) in enumerate(points)))


BRACE = Muscle("brace", "Thelen2003Muscle", path=line(("ground", (0.0, 0.5, 0.3)), ("rod", (0.0, -0.5, 0.0))))
PULL = Muscle(
    "pull", "Thelen2003Muscle", path=line(("ground", (1.0, 1.0, 0.0)), ("rod", (0.0, -0.2, 0.0)), ("tip", (0, 0.3, 0)))
)
REST = np.zeros(2)


def test_a_hanging_rod_with_a_brace():
    """The pin carries the weight less the pull of the brace, and the moment of the pull about it."""
    model = pendulum(BRACE)
    ours = joint_loads(model, REST, REST, REST, muscle_forces=[10.0])
    force, moment, point = ours.of("pin")
    weight = np.array([0.0, 3.5 * G, 0.0])
    pull = np.array([0.0, 0.0, 10.0])  # from (0, 0.5, 0) towards (0, 0.5, 0.3)
    assert_allclose(point, [0.0, 1.0, 0.0], atol=1e-15)
    assert_allclose(force, weight - pull, atol=1e-12)
    # Weights stand at x = 0 (rod) and 0.1 (block and tip), z = 0.1 (tip); the pull half a metre below the pin.
    needed = np.cross([0.1, 0, 0], [0, 1.5 * G, 0]) + np.cross([0, 0, 0.1], [0, 0.5 * G, 0])
    assert_allclose(moment, needed - np.cross([0, -0.5, 0], pull), atol=1e-12)
    # Without it: what the recursion gives.
    bare = joint_loads(model, REST, REST, REST)
    known = joint_reactions(model, REST, REST, REST)
    assert_allclose(bare.force, known.force, rtol=0, atol=0)
    assert_allclose(bare.moment, known.moment, rtol=0, atol=0)


def test_a_weld_feels_only_what_pulls_its_own_side():
    """`pull` ends on the tip: block and tip are one node of the tree, and the weld between them still feels it."""
    model = pendulum(PULL)
    ours = joint_loads(model, REST, REST, REST, muscle_forces=[7.0])
    # at rest: rod's point at (0, 0.8, 0), tip's at (0.1, 1 - 0.3 + 0.2 + 0.3, 0)
    along = np.array([-0.1, -0.4, 0.0])
    along /= np.linalg.norm(along)
    assert_allclose(ours.of("weld")[0], [0, 0.5 * G, 0] - 7.0 * along, atol=1e-12)
    assert_allclose(ours.of("slide")[0], [0, 1.5 * G, 0] - 7.0 * along, atol=1e-12)
    first = np.array([1.0, 0.2, 0.0])
    assert_allclose(ours.of("pin")[0], [0, 3.5 * G, 0] - 7.0 * first / np.linalg.norm(first), atol=1e-12)


def test_other_side_and_other_frames():
    model = pendulum(PULL)
    rng = np.random.default_rng(1)
    q, u, udot = rng.normal(size=(3, 5, 2))
    given = {"muscle_forces": rng.uniform(0, 50, (5, 1))}
    motion = musculo.kinematics(model, q)
    child = joint_loads(model, q, u, udot, **given)
    parent = joint_loads(model, q, u, udot, **given, on="parent")
    assert child.names == ("pin_on_rod_in_ground", "slide_on_block_in_ground", "weld_on_tip_in_ground")
    assert parent.bodies == ("ground", "rod", "block")
    assert_allclose(parent.force, -child.force, rtol=0, atol=0)
    # The same load: its moment about ground's origin is the opposite.
    about_ground = [x.moment + np.cross(x.point, x.force) for x in (child, parent)]
    assert_allclose(about_ground[0], -about_ground[1], atol=1e-12)
    assert_allclose(parent.point[:, 1], motion.position("rod", (0.1, -0.3, 0.0)), atol=1e-15)
    # "slide" has a way to go between the two joint frames.
    assert np.abs(child.point - parent.point)[:, 1].max() > 0.1
    for frame, body in (("child", "block"), ("parent", "rod"), ("tip", "tip"), ("/jointset/pin/base", None)):
        local = joint_loads(model, q, u, udot, **given, joints="slide", frame=frame)
        X = motion.pose(body) if body else motion.pose("/jointset/pin/base")
        assert local.names == (f"slide_on_block_in_{body or 'base'}",)
        for ours, theirs in ((local.force, child.force), (local.moment, child.moment)):
            assert_allclose(ours[:, 0], np.einsum("fji,fj->fi", X.R, theirs[:, 1]), atol=1e-12)
        assert_allclose(local.point[:, 0], np.einsum("fji,fj->fi", X.R, child.point[:, 1] - X.p), atol=1e-13)


def test_choices_for_each_joint():
    model = pendulum(PULL)
    given = (model, REST, REST, REST)
    mixed = joint_loads(*given, joints=["slide", "pin", "slide"], on=["child", "parent", "parent"], frame=["rod"])
    assert mixed.names == ("slide_on_block_in_rod", "pin_on_ground_in_rod", "slide_on_rod_in_rod")
    named = joint_loads(*given, on={"pin": "parent"}, frame={"weld": "child"})
    assert named.names == ("pin_on_ground_in_ground", "slide_on_block_in_ground", "weld_on_tip_in_tip")
    table = named.to_table([0.5])
    assert table.names[:9] == tuple(f"pin_on_ground_in_ground_{what}{axis}" for what in "fmp" for axis in "xyz")
    assert_allclose(table.values[0, :3], named.of("pin")[0])


def test_nothing_turns_a_free_pin():
    """With the accelerations of the forces no moment acts about a pin, and no force along a slider, but those given."""
    model = pendulum(BRACE, PULL)
    rng = np.random.default_rng(2)
    q, u = rng.normal(size=(2, 6, 2))
    given = {
        "muscle_forces": rng.uniform(0, 50, (6, 2)),
        "loads": ExternalLoad("rod", (3.0, 4.0, 5.0), (0.3, 0.2, 0.1)),
    }
    free = joint_loads(model, q, u, **given, frame="child")
    assert np.abs(free.udot).max() > 1.0
    assert_allclose(free.of("pin")[1][:, 2], 0.0, atol=1e-11)
    assert_allclose(free.of("slide")[0][:, 0], 0.0, atol=1e-11)
    driven = joint_loads(
        model, q, u, **given, frame="child", actuator_forces={"angle_reserve": 2.0, "way_reserve": 3.0}
    )
    assert_allclose(driven.of("pin")[1][:, 2], 2.0, atol=1e-11)
    assert_allclose(driven.of("slide")[0][:, 0], 3.0, atol=1e-11)
    also = joint_loads(model, q, u, **given, frame="child", tau=np.tile([2.0, 3.0], (6, 1)))
    assert_allclose(also.force, driven.force, rtol=0, atol=0)
    # The same accelerations handed in give the same loads.
    again = joint_loads(model, q, u, driven.udot, **given, frame="child")
    assert_allclose(again.moment, driven.moment, rtol=0, atol=1e-12)


def actuator(name, kind, **properties):
    return Force(name, kind, properties=tuple({"optimal_force": "2", **properties}.items()))


def test_actuators_of_the_model_by_their_names():
    """One at a coordinate is in the moment of its joint; one on bodies is an applied load."""
    motor = actuator("motor", "CoordinateActuator", coordinate="angle")
    twist = actuator("twist", "TorqueActuator", bodyA="rod", bodyB="ground", axis="0 0 1")
    push = actuator("push", "PointActuator", body="tip", point="0 0 0", direction="0 0 1", force_is_global="true")
    off = Force("off", "CoordinateActuator", False, properties=(("coordinate", "angle"),))
    model = pendulum(motor, twist, push, off)
    q, u = np.array([0.3, 0.1]), REST
    names = ("motor", "twist", "push")
    bare = joint_loads(model, q, u)
    for k, name in enumerate(names):
        force = np.zeros(3)
        force[k] = 5.0
        ours = joint_loads(model, q, u, actuator_forces=force)
        by_name = joint_loads(model, q, u, actuator_forces={**dict(zip(names, force, strict=True)), "off": 9.0})
        table = Table([0.0], ("time_shift", *names), np.array([[1.0, *force]]))
        assert_allclose(by_name.moment, ours.moment, rtol=0, atol=0)
        assert_allclose(joint_loads(model, q, u, actuator_forces=table).moment, ours.moment, rtol=0, atol=0)
        assert_allclose(ours.of("pin")[1][2], 5.0 if name == "motor" else 0.0, atol=1e-12)
        assert np.abs(ours.udot - bare.udot).max() > 0.1 or name == "push"
    pushed = joint_loads(model, q, u, actuator_forces=[0.0, 0.0, 5.0])
    assert_allclose(pushed.of("weld")[0] - bare.of("weld")[0], [0.0, 0.0, -5.0], atol=1e-12)


def test_springs_pull_always_and_muscles_that_are_off_never():
    spring = PathSpring(
        "spring", path=line(("ground", (0.0, 1.0, 1.0)), ("rod", (0, 0, 0))), resting_length=0.5, stiffness=8.0
    )
    sleeping = Muscle("sleeping", "Thelen2003Muscle", False, path=BRACE.path)
    model = pendulum(spring, sleeping, BRACE)
    given = {"muscle_forces": Table([0.0], ("brace", "sleeping"), [[0.0, 100.0]])}
    for kept in ({}, given):
        force, _, _ = joint_loads(model, REST, REST, REST, **kept).of("pin")
        assert_allclose(force, [0.0, 3.5 * G, -4.0], atol=1e-12)


def test_many_frames_are_frames_by_themselves():
    """Beyond one block of frames, and with the paths handed in."""
    model = pendulum(BRACE, PULL)
    rng = np.random.default_rng(3)
    frames = 2 * module._CHUNK + 3
    q, u = rng.normal(size=(2, frames, 2))
    tension = rng.uniform(0, 50, (frames, 2))
    load = ExternalLoad("rod", rng.normal(size=(frames, 3)), (0.3, 0.2, 0.1))
    whole = joint_loads(model, q, u, muscle_forces=tension, loads=load, geometry=path_wrenches(model, q, u))
    assert_allclose(joint_loads(model, q, u, muscle_forces=tension, loads=load).force, whole.force, rtol=0, atol=0)
    for f in (0, module._CHUNK, frames - 1):
        alone = ExternalLoad("rod", load.force[f], load.point)
        one = joint_loads(model, q[f], u[f], muscle_forces=tension[f], loads=alone, geometry=path_wrenches(model, q[f]))
        assert one.force.shape == (3, 3)
        assert_allclose(one.force, whole.force[f], rtol=1e-13, atol=1e-11)
        assert_allclose(one.udot, whole.udot[f], rtol=1e-13, atol=1e-11)


# --- every model with data -------------------------------------------------------------------------------------------
def some_motion(model, frames, seed):
    """Consistent coordinates, speeds and accelerations within the usual ranges."""
    rng, e = np.random.default_rng(seed), embedding_of(model)
    low, high = np.array([np.clip(sorted(model.coordinate(n).range), -1.0, 1.0) for n in e.coordinate_names]).T
    z = rng.uniform(low, high, (frames, len(low)))
    zu, zudot = rng.normal(size=(2, frames, len(e.speed_names)))
    m = e.motion(z, zu, zudot)
    return m.q, m.u, m.udot, rng


def location(model, point, q):
    """Of a path point in its frame, by the functions that move it."""
    if not isinstance(point, MovingPathPoint):
        return np.array(point.location)
    found = []
    for curve, name in ((point.x, point.x_coordinate), (point.y, point.y_coordinate), (point.z, point.z_coordinate)):
        x = np.clip(q[model.coordinate_index(name)], *model.coordinate(name).range) if name else 0.0
        found.append(float(curve(x)))
    return np.array(found)


def pulls_of_points(model, geometry, q, frame, tension):
    """Forces and moments about ground's origin on each body, from the points of the paths one by one."""
    motion = musculo.kinematics(model, q[frame])
    push = {name: np.zeros(6) for name in ("ground", *model.body_names)}
    owner = {w.name: model.placement(w.frame).body for w in model.wrap_objects}
    forces = {f.name: f for f in model.forces}
    for k, name in enumerate(geometry.names):
        points, touched = geometry.path_points.of(name, frame)
        own = [(p.frame, motion.position(p.frame, location(model, p, q[frame]))) for p in forces[name].path.points]
        bodies = []
        for place, wrap in zip(points, touched, strict=True):
            if not wrap:
                near = min(own, key=lambda x: np.abs(x[1] - place).max())
                assert np.abs(near[1] - place).max() < SAME_PLACE
            bodies.append(owner[wrap] if wrap else model.placement(near[0]).body)
        for i in range(len(points) - 1):
            along = points[i + 1] - points[i]
            if touched[i] and touched[i] == touched[i + 1]:
                continue
            if np.linalg.norm(along) < 1e-5:
                return None
            pull = tension[k] * along / np.linalg.norm(along)
            for sign, at in ((1.0, i), (-1.0, i + 1)):
                push[bodies[at]] += sign * np.concatenate([pull, np.cross(points[at], pull)])
    return push


@pytest.mark.skipif(not FILES, reason=NO_DATA)
@pytest.mark.parametrize("file", FILES, ids=within(FILES))
def test_every_body_is_in_balance(file):
    """m a = sum of joint loads on it, muscles, loads and weight, and the moments about its mass centre likewise."""
    model = read_osim(file)
    model = model.replace(constraints=tuple(c for c in model.constraints if isinstance(c, CoordinateCoupler)))
    q, u, udot, rng = some_motion(model, 4, 5)
    tension = rng.uniform(10, 500, (4, len(model.muscles)))
    last = model.body_names[-1]
    load = ExternalLoad(last, rng.normal(size=(4, 3)) * 100, rng.normal(size=(4, 3)), rng.normal(size=(4, 3)))
    geometry = path_wrenches(model, q, u)
    given = {"muscle_forces": tension, "loads": load, "geometry": geometry}
    sides = [joint_loads(model, q, u, udot, **given, on=side) for side in ("child", "parent")]
    everything = np.zeros_like(geometry.length)
    everything[:, : tension.shape[1]] = tension
    if len(geometry.names) > tension.shape[1]:
        springs = musculo.path_tensions(model, geometry.length, geometry.speed, control=0.0)
        everything[:, tension.shape[1] :] = springs.tension
    by_body = geometry.on_bodies(everything)
    contacts = musculo.model_forces(model, q, u, paths=False).wrench
    motion = musculo.kinematics(model, q, u, udot)
    largest = max(np.abs(s.force).max() for s in sides) + tension.max(initial=0.0)
    compared = 0
    for frame in range(4):
        # Where surfaces of a path overlap, part of what presses is no matter of points alone (`paths.status`).
        pulls = None
        if (geometry.status[frame] == 0).all():
            pulls = pulls_of_points(model, geometry, q, frame, everything[frame])
        for k, name in enumerate(geometry.body_names):
            ours = np.concatenate([by_body[frame, k, 3:], by_body[frame, k, :3]])
            if pulls is not None:
                assert_allclose(ours, pulls[name], rtol=0, atol=ROUNDING * largest * 10)
                compared += 1
            if name == "ground":
                continue
            body = model.body(name)
            center = motion.position(name, body.mass_center)[frame]
            total = (
                ours
                + np.roll(contacts[frame, k], 3)
                + np.concatenate(
                    [body.mass * np.array(model.gravity), np.cross(center, body.mass * np.array(model.gravity))]
                )
            )
            if name == last:
                total[:3] += load.force[frame]
                total[3:] += load.moment[frame] + np.cross(load.point[frame], load.force[frame])
            for side in sides:
                for j in np.flatnonzero([b == name for b in side.bodies]):
                    f, m, p = side.force[frame, j], side.moment[frame, j], side.point[frame, j]
                    total += np.concatenate([f, m + np.cross(p, f)])
            R, w = motion.pose(name).R[frame], motion.angular_velocity(name)[frame]
            inertia = R @ tensor(body.inertia) @ R.T
            a = motion.acceleration(name, body.mass_center)[frame]
            spin = inertia @ motion.angular_acceleration(name)[frame] + np.cross(w, inertia @ w)
            needed = np.concatenate([body.mass * a, spin + np.cross(center, body.mass * a)])
            assert_allclose(total, needed, rtol=0, atol=ROUNDING * largest * 10)
    assert compared or not model.muscles or (geometry.status != 0).any()


@pytest.mark.skipif(not FILES, reason=NO_DATA)
@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
@pytest.mark.parametrize("name", ["rajagopal_walk/subject_walk_scaled.osim", "mobl_arms/MoBL_ARMS.osim"])
def test_wrenches_have_the_power_of_moment_arms(name, wrapping):
    model = read_osim(DATA / name)
    q, u, _, _ = some_motion(model, 5, 7)
    ours, known = path_wrenches(model, q, u, wrapping=wrapping), musculo.path_geometry(model, q, u, wrapping=wrapping)
    assert_allclose(ours.moment_arm, known.moment_arm, rtol=0, atol=1e-14)
    assert_allclose(ours.speed, known.speed, rtol=0, atol=1e-13)
    assert_allclose(ours.length, known.length, rtol=0, atol=0)
    motion = musculo.kinematics(model, q)
    power, total = np.zeros_like(ours.moment_arm), np.zeros((5, len(ours.names), 6))
    for row, (path, body) in enumerate(zip(ours.row_path, ours.row_body, strict=True)):
        wrench = ours.wrench[:, row]
        total[:, path] += wrench
        J = motion.frame_jacobian(ours.body_names[body])
        moment = wrench[:, :3] - np.cross(motion.pose(ours.body_names[body]).p, wrench[:, 3:])
        power[:, path] += np.einsum("fiu,fi->fu", J, np.concatenate([moment, wrench[:, 3:]], axis=1))
    moving = [any(isinstance(p, MovingPathPoint) for p in m.path.points) for m in model.muscles]
    still = np.flatnonzero(~np.array(moving))
    assert_allclose(power[:, still], ours.moment_arm[:, still], rtol=0, atol=1e-13)
    # polylines (EDCR of MoBL-ARMS) balance to 2e-12 only, contacts to 2e-16; rounding of their thousand knots, it seems
    rounding = np.where(known.status == musculo.results.STATUSES.index("overlapped"), 1e-11, 1e-14)[..., None]
    assert (np.abs(total[..., 3:]) <= rounding).all()
    if wrapping == "geodesic":
        assert (np.abs(total[..., :3]) <= rounding).all()


# --- mistakes --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"joints": ["pine"]}, UnknownName, "pine"),
        ({"on": "cousin"}, UnknownName, "cousin"),
        ({"on": {"pine": "child"}}, UnknownName, "pine"),
        ({"on": ["child", "parent"]}, InvalidInput, "2 entries for 3 joints"),
        ({"frame": "sky"}, UnknownName, "sky"),
        ({"muscle_forces": [1.0, 2.0]}, InvalidInput, "muscle_forces has shape"),
        ({"muscle_forces": {"brave": 1.0}}, UnknownName, "brace"),
        ({"muscle_forces": Table([0.0, 1.0], ("brace",), [[1.0], [2.0]])}, InvalidInput, "1 frames"),
        ({"muscle_forces": {"brace": np.nan}}, InvalidInput, "not finite"),
        ({"actuator_forces": {"motor": 1.0}}, UnknownName, "motor"),
        ({"tau": [1.0]}, InvalidInput, "tau has shape"),
        ({"wrapping": "taut"}, InvalidInput, "taut"),
        ({"geometry": "paths"}, InvalidInput, "path_wrenches"),
    ],
)
def test_mistakes_are_named(options, kind, says):
    with pytest.raises(kind, match=says):
        joint_loads(pendulum(BRACE), REST, REST, REST, **options)


def test_geometry_must_be_of_the_motion():
    model = pendulum(BRACE)
    with pytest.raises(InvalidInput, match="another model"):
        joint_loads(model, REST, REST, REST, geometry=path_wrenches(pendulum(BRACE), REST, REST))
    with pytest.raises(InvalidInput, match="2 frames and the motion 1"):
        joint_loads(model, REST, REST, REST, geometry=path_wrenches(model, np.zeros((2, 2))))


@pytest.mark.skipif(not FILES, reason=NO_DATA)
def test_open_loops_are_refused():
    model = read_osim(DATA / "small_models" / "knee_patella_ligament.osim")
    q = np.zeros(len(model.coordinate_names))
    u = np.zeros(len(model.speed_names))
    with pytest.raises(InvalidInput, match="closed by the loop 'patellar_ligament_r'"):
        joint_loads(model, q, u, u)


def test_a_joint_written_from_the_outside_in():
    """The pin of the rod with the rod as parent and ground as child: the same loads, sides exchanged."""
    rod = Body("rod", 2.0, (0.0, -0.5, 0.1), (0.1, 0.02, 0.1, 0.0, 0.0, 0.0))
    base, hub = (
        Placement("ground", (0.2, 1.0, 0.0), (0.1, 0.2, 0.3)),
        Placement("rod", (0.1, 0.2, 0.3), (0.3, 0.1, 0.2)),
    )
    forth = Model("forth", (rod,), (PinJoint("pin", base, hub, (Coordinate("angle"),)),), forces=(BRACE,))
    back = Model("back", (rod,), (PinJoint("pin", hub, base, (Coordinate("angle"),)),), forces=(BRACE,))
    x, v, a = 0.4, 1.3, -2.0
    for udot in (True, False):
        ours = joint_loads(forth, [x], [v], [a] if udot else None, muscle_forces=[11.0], frame="rod")
        for side, sign, other in (("child", 1.0, "parent"), ("parent", -1.0, "child")):
            here = joint_loads(forth, [x], [v], [a] if udot else None, muscle_forces=[11.0], on=side, frame="rod")
            there = joint_loads(back, [-x], [-v], [-a] if udot else None, muscle_forces=[11.0], on=other, frame="rod")
            assert here.bodies == there.bodies
            assert_allclose(here.force, sign * ours.force, atol=1e-13)
            for what in ("force", "moment", "point"):
                assert_allclose(getattr(there, what), getattr(here, what), atol=1e-12)


def test_a_joint_that_ends_apart_from_its_last_axis():
    """A scapula that wings about an axis beside it: loads are about the joint frame, not about that axis."""
    coordinates = tuple(map(Coordinate, ("abduction", "elevation", "rotation", "winging")))
    joint = ScapulothoracicJoint(
        "scapulothoracic",
        Placement("ground", (0.1, 0.2, 0.3)),
        Placement("scapula", (0.03, -0.02, 0.01)),
        coordinates,
        radii=(0.1, 0.2, 0.1),
        winging_origin=(0.04, -0.05),
    )
    body = Body("scapula", 2.0, (0.05, 0.06, 0.07), (0.01, 0.02, 0.03, 0.0, 0.0, 0.0))
    model = Model("shoulder", (body,), (joint,))
    rng = np.random.default_rng(8)
    q, u, udot = rng.uniform(-0.5, 0.5, (3, 4))
    force, moment, point = joint_loads(model, q, u, udot).of("scapulothoracic")
    motion = musculo.kinematics(model, q, u, udot)
    R, w, c = motion.pose("scapula").R, motion.angular_velocity("scapula"), motion.position("scapula", body.mass_center)
    needed = 2.0 * (motion.acceleration("scapula", body.mass_center) - np.array(model.gravity))
    inertia = R @ tensor(body.inertia) @ R.T
    spin = inertia @ motion.angular_acceleration("scapula") + np.cross(w, inertia @ w)
    assert_allclose(point, motion.position("scapula", (0.03, -0.02, 0.01)), atol=1e-15)
    assert_allclose(force, needed, atol=1e-12)
    assert_allclose(moment, spin + np.cross(c - point, needed), atol=1e-12)


def test_a_missing_force_is_no_misspelling_of_another_muscle():
    model = musculo.demo.arm()
    q, u = np.zeros(len(model.coordinate_names)), np.zeros(len(model.speed_names))
    first, second, *rest = model.muscle_names
    given = dict.fromkeys((first, *rest), 1.0)
    with pytest.raises(InvalidInput, match=f"muscle_forces: no force of {second!r} is given") as told:
        joint_loads(model, q, u, u, muscle_forces=given)
    assert "did you mean" not in str(told.value)
    with pytest.raises(UnknownName, match=f"no force of {second!r} in muscle_forces; did you mean '{second}_'"):
        joint_loads(model, q, u, u, muscle_forces=given | {f"{second}_": 1.0})
