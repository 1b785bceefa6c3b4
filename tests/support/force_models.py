"""Models with every kind of force that acts by itself, and states in which all of them are at work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from musculo import Body, Coordinate, Model, Placement
from musculo.functions import Linear, Polynomial, SimmSpline
from musculo.model.body import Frame
from musculo.model.contact_model import ContactGeometry, ContactMaterial, contact_force
from musculo.model.force import Force
from musculo.model.joints import FreeJoint, PinJoint, SliderJoint
from musculo.model.model_path import Path as ForcePath
from musculo.model.model_path import PathPoint
from musculo.model.path_force import Blankevoort1991Ligament, ExpressionBasedPathForce, Ligament, PathSpring

FLOOR_UP = (0.0, 0.0, -np.pi / 2)


def force(name: str, kind: str, functions=(), carried=(), **properties) -> Force:
    stated = tuple((key, str(value)) for key, value in properties.items())
    return Force(name, kind, properties=stated, functions=tuple(functions), carried=tuple(carried))


def contact(name: str, kind: str, *sets: tuple, transition_velocity: float = 0.01) -> Force:
    """A contact force of (shapes, stiffness, dissipation, static, dynamic, viscous friction) each."""
    made = [ContactMaterial(tuple(shapes.split()), *numbers) for shapes, *numbers in sets]
    return contact_force(name, kind, made, transition_velocity)


def _body(name: str) -> Body:
    return Body(name, 2.0, (0.01, -0.02, 0.03), (0.1, 0.12, 0.14, 0.01, 0.0, 0.02))


def _free(name: str) -> FreeJoint:
    coordinates = tuple(Coordinate(f"{name}_{axis}") for axis in ("rx", "ry", "rz", "tx", "ty", "tz"))
    return FreeJoint(f"{name}_free", Placement("ground"), Placement(name, (0.02, 0.01, 0.0)), coordinates)


def _path(name: str) -> ForcePath:
    ends = PathPoint(f"{name}-1", "a", (0.0, 0.3, 0.1)), PathPoint(f"{name}-2", "d", (0.1, 0.0, 0.2))
    return ForcePath(ends)


def _tree() -> dict:
    bodies = tuple(_body(name) for name in "abcd")
    joints = (
        _free("a"),
        PinJoint("hinge", Placement("a", (0.1, 0.2, 0.3), (0.2, 0.1, 0.0)), Placement("b", (0.0, -0.1, 0.0)),
                 (Coordinate("turn"),)),
        SliderJoint("rail", Placement("b"), Placement("c"), (Coordinate("slide"),)),
        _free("d"),
    )  # fmt: skip
    return {"bodies": bodies, "joints": joints, "gravity": (0.0, 0.0, 0.0)}


def zoo(_: Path) -> Model:
    """A tree of three bodies and a loose one, with all kinds but contacts of meshes."""
    frames = (
        Frame("/bodyset/a/mount", Placement("a", (0.1, 0.2, 0.3), (0.1, 0.2, 0.3), "mount")),
        Frame("/bodyset/c/seat", Placement("c", (0.0, -0.1, 0.1), (-0.3, 0.1, 0.2), "seat")),
    )
    shapes = (
        ContactGeometry("floor", "ContactHalfSpace", "ground", (0.0, -0.1, 0.0), FLOOR_UP),
        ContactGeometry("board", "ContactHalfSpace", "/bodyset/a/mount", (0.0, 0.1, 0.0), (0.2, 0.1, 1.0)),
        ContactGeometry("ball_a", "ContactSphere", "a", (0.01, 0.02, 0.0), (0.0, 0.0, 0.0), (0.3,)),
        ContactGeometry("ball_c", "ContactSphere", "/bodyset/c/seat", (0.1, 0.0, 0.05), (0.0, 0.0, 0.0), (0.35,)),
        ContactGeometry("ball_d", "ContactSphere", "d", (0.0, 0.0, 0.1), (0.0, 0.0, 0.0), (0.4,)),
    )
    damped = {"rotational_damping": "1 2 3", "translational_damping": "4 5 6"}
    times = [("forceFunctions", ((2.0, 1.0), (-1.0, 3.0), (0.5, -2.0))),
             ("pointFunctions", ((0.1, 0.2), (0.3, -0.1), (-0.2, 0.0))),
             ("torqueFunctions", ((1.0, 0.0), (0.0, 2.0), (-3.0, 0.5)))]  # fmt: skip
    prescribed = {key: [(f"{key}/{k}", Linear(*line)) for k, line in enumerate(lines)] for key, lines in times}
    everything = [f for parts in prescribed.values() for f in parts]
    smooth = {"stiffness": 1e5, "static_friction": 0.8, "dynamic_friction": 0.6, "viscous_friction": 0.5,
              "transition_velocity": 0.2, "socket_half_space": "/contactgeometryset/floor"}  # fmt: skip
    paths = [
        PathSpring("cord", resting_length=0.3, stiffness=1500.0, dissipation=0.4),
        Ligament("band", resting_length=0.3, pcsa_force=300.0),
        Blankevoort1991Ligament("knee_band", slack_length=0.3, linear_stiffness=4000.0),
        ExpressionBasedPathForce("rule", resting_length=0.2, expression="10*s + 300*s^3*(1 + 0.1*ldot)"),
    ]
    forces = (
        force("limit", "CoordinateLimitForce", coordinate="turn", upper_limit=20, lower_limit=-10, upper_stiffness=3,
              lower_stiffness=2, damping=0.05, transition=7),
        force("bump", "CoordinateLimitForce", coordinate="slide", upper_limit=0.2, lower_limit=-0.1,
              upper_stiffness=300, lower_stiffness=70, damping=5, transition=0.1),
        force("coil", "SpringGeneralizedForce", coordinate="a_ry", stiffness=30, rest_length=0.2, viscosity=4),
        force("torsion", "SpringGeneralizedForce", coordinate="turn", stiffness=20, rest_length=0.1, viscosity=2),
        force("drag", "ExpressionBasedCoordinateForce", coordinate="d_tx", expression="3*q - qdot^3 + exp(-q)"),
        force("bushing", "BushingForce", socket_frame1="/bodyset/a/mount", socket_frame2="/bodyset/c/seat",
              rotational_stiffness="10 20 30", translational_stiffness="100 200 300", **damped),
        force("curved", "FunctionBasedBushingForce", socket_frame1="/bodyset/c/seat", socket_frame2="/ground",
              functions=[("m_x_theta_x_function", Linear(3.0, 1.0)),
                         ("m_z_theta_z_function", SimmSpline((-3.0, -1.0, 0.0, 1.0, 3.0), (-9.0, -2.0, 0.0, 1.0, 4.0))),
                         ("f_y_delta_y_function", Polynomial((5.0, 30.0, 10.0)))], **damped),
        force("formula", "ExpressionBasedBushingForce", socket_frame1="/bodyset/a/mount", socket_frame2="/bodyset/d",
              Mx_expression="3*theta_x^2 + delta_z", Mz_expression="sin(theta_y)", Fy_expression="delta_y*theta_z + 1",
              **damped),
        force("spring", "PointToPointSpring", socket_body1="/bodyset/a", socket_body2="/bodyset/d", point1="0 0.1 0.2",
              point2="0.3 0.1 0.2", stiffness=100, rest_length=0.1),
        force("magnet", "ExpressionBasedPointToPointForce", body1="/bodyset/c", body2="/ground", point1="0 0.1 0.2",
              point2="0.3 0.1 0.2", expression="2*d - ddot + 1/(1+d^2)"),
        force("wind", "PrescribedForce", functions=everything, socket_frame="/bodyset/b"),
        force("rocket", "PrescribedForce", functions=everything, socket_frame="/bodyset/a/mount",
              forceIsGlobal="false", pointIsGlobal="true"),
        force("push", "PrescribedForce", functions=prescribed["forceFunctions"] + prescribed["pointFunctions"],
              socket_frame="/bodyset/a/mount", forceIsGlobal="false"),
        force("twist", "PrescribedForce", functions=prescribed["torqueFunctions"], socket_frame="/bodyset/c"),
        contact("hertz", "HuntCrossleyForce", ("floor board", 1e5, 0.3, 0.8, 0.5, 0.3),
                ("ball_a ball_c ball_d", 2e4, 0.5, 0.7, 0.4, 0.2), transition_velocity=0.05),
        force("smooth", "SmoothSphereHalfSpaceForce", socket_sphere="/contactgeometryset/ball_c", dissipation=2,
              **smooth),
        force("smooth_d", "SmoothSphereHalfSpaceForce", socket_sphere="/contactgeometryset/ball_d", dissipation=0.5,
              hertz_smoothing=20, hunt_crossley_smoothing=3, constant_contact_force=1e-3, **smooth),
        *(type(f)(**{**vars(f), "path": _path(f.name)}) for f in paths),
    )  # fmt: skip
    return Model("zoo", **_tree(), forces=forces, frames=frames, contact_geometries=shapes)


def driven(_: Path) -> Model:
    """The same tree with actuators of every kind that run along no path, given in bodies and in ground."""
    body_c, body_d = "/bodyset/c", "/bodyset/d"
    forces = (
        force("motor", "CoordinateActuator", coordinate="turn", optimal_force=30),
        force("spin", "CoordinateActuator", coordinate="a_ry", optimal_force=-4),
        force("slow", "ActivationCoordinateActuator", coordinate="slide", optimal_force=20,
              activation_time_constant=0.1),
        force("push", "PointActuator", body="b", point="0.1 -0.2 0.3", direction="1 2 -1", optimal_force=5),
        force("wind", "PointActuator", body="c", point="0.1 0.2 0.3", point_is_global="true", direction="0 2 -1",
              force_is_global="true", optimal_force=7),
        force("nail", "PointActuator", body="a", point="0.1 0.2 0.3", point_is_global="true", direction="0 2 -1",
              force_is_global="false", optimal_force=3),
        force("wheel", "TorqueActuator", bodyA="a", bodyB="d", axis="0.2 0.1 1", torque_is_global="false",
              optimal_force=2),
        force("crank", "TorqueActuator", bodyA="ground", bodyB="b", axis="0.2 -3 1", optimal_force=6),
        force("strut", "PointToPointActuator", bodyA="a", bodyB="d", pointA="0.1 0 0.2", pointB="0 0.1 -0.3",
              optimal_force=40),
        force("brace", "PointToPointActuator", bodyA="b", bodyB="c", pointA="0.1 0 0.2", pointB="0 0.1 -0.3",
              points_are_global="true", optimal_force=15),
        force("rocket", "BodyActuator", socket_body=body_c, point="0.1 0.2 -0.1", spatial_force_is_global="false"),
        force("storm", "BodyActuator", socket_body=body_d, point="0.3 0.2 -0.1", point_is_global="true"),
        force("idle", "PointActuator", body="b", optimal_force=1e6),
    )  # fmt: skip
    return Model("driven", **_tree(), forces=(*forces[:-1], replace(forces[-1], applies_force=False)))


def ball_mesh(rings: int = 9, sectors: int = 14, radii: tuple[float, float, float] = (0.25, 0.3, 0.2)) -> str:
    """An ellipsoid of triangles as an .obj file."""
    a = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    b = np.linspace(0.0, 2 * np.pi, sectors, endpoint=False)
    points = [(0.0, 1.0, 0.0)]
    points += [(np.sin(x) * np.cos(y), np.cos(x), np.sin(x) * np.sin(y)) for x in a for y in b]
    points.append((0.0, -1.0, 0.0))
    faces = []
    for k in range(sectors):
        n = (k + 1) % sectors
        faces.append((0, 1 + n, 1 + k))
        for r in range(rings - 2):
            low, high = 1 + r * sectors, 1 + (r + 1) * sectors
            faces += [(low + k, low + n, high + n), (low + k, high + n, high + k)]
        last = 1 + (rings - 2) * sectors
        faces.append((last + k, last + n, len(points) - 1))
    lines = ["v " + " ".join(repr(float(c * r)) for c, r in zip(p, radii, strict=True)) for p in points]
    lines += ["f " + " ".join(str(i + 1) for i in face) for face in faces]
    return "\n".join(lines) + "\n"


def foundations(folder: Path) -> Model:
    """The same tree with meshes that press on a floor, on a sphere, and on each other."""
    (folder / "egg.obj").write_text(ball_mesh())
    (folder / "nut.obj").write_text(ball_mesh(7, 10, (0.35, 0.3, 0.4)))
    shapes = (
        ContactGeometry("floor", "ContactHalfSpace", "ground", (0.0, -0.1, 0.0), FLOOR_UP),
        ContactGeometry("egg", "ContactMesh", "a", (0.05, 0.0, 0.0), (0.3, 0.2, 0.1), filename="egg.obj"),
        ContactGeometry("nut", "ContactMesh", "d", (0.0, 0.02, 0.0), (0.0, 0.2, 0.0), filename="nut.obj"),
        ContactGeometry("ball", "ContactSphere", "c", (0.0, 0.0, 0.05), (0.0, 0.0, 0.0), (0.35,)),
    )
    kind = "ElasticFoundationForce"
    material = (1e6, 0.4, 0.8, 0.5, 0.3)
    other = (2e6, 0.2, 0.6, 0.3, 0.1)
    forces = (
        contact("bed", kind, ("egg floor", *material), transition_velocity=0.05),
        contact("cup", kind, ("ball egg", *material), transition_velocity=0.1),
        contact("bones", kind, ("egg", *material), ("nut", *other)),
    )
    return Model("meshes", **_tree(), forces=forces, contact_geometries=shapes)


def bouncing_ball(kind: str, folder: Path | None = None, dissipation: float = 0.0, friction: float = 0.0) -> Model:
    """A ball above a floor that gives energy back but for dissipation and friction."""
    mass, radius = 1.0, 0.1
    shapes = [
        ContactGeometry("floor", "ContactHalfSpace", "ground", (0.0, 0.0, 0.0), FLOOR_UP),
        ContactGeometry("ball", "ContactSphere", "ball", (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (radius,)),
    ]
    numbers = (dissipation, friction, friction, 0.0)
    if kind == "ElasticFoundationForce":
        assert folder is not None
        (folder / "ball.obj").write_text(ball_mesh(16, 24, (radius, radius, radius)))
        shapes[1] = ContactGeometry("ball", "ContactMesh", "ball", filename="ball.obj")
        forces = (contact("bounce", kind, ("ball", 1e6, *numbers), ("floor", 1e6, *numbers)),)
    elif kind == "HuntCrossleyForce":
        forces = (contact("bounce", kind, ("floor ball", 1e6, *numbers)),)
    else:
        sides = {"socket_sphere": "/contactgeometryset/ball", "socket_half_space": "/contactgeometryset/floor"}
        rubbing = {"static_friction": friction, "dynamic_friction": friction}
        forces = (force("bounce", kind, stiffness=1e6, dissipation=dissipation, **sides, **rubbing),)
    coordinates = tuple(Coordinate(name) for name in ("rx", "ry", "rz", "tx", "ty", "tz"))
    joint = FreeJoint("free", Placement("ground"), Placement("ball"), coordinates)
    body = Body("ball", mass, inertia=(0.004, 0.004, 0.004, 0.0, 0.0, 0.0))
    source = "" if folder is None else str(folder / "model.osim")
    return Model("ball", (body,), (joint,), forces=forces, contact_geometries=tuple(shapes), source=source)


def every_state(model: Model, frames: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random coordinates, speeds and times: bodies near each other and near the floor."""
    rng = np.random.default_rng(5)
    shape = (frames, len(model.coordinate_names))
    q, u = rng.uniform(-0.5, 0.5, shape), rng.uniform(-1.0, 1.0, shape)
    # so fast that some contacts part, and so slow that friction is below its transition
    u[: frames // 3] *= 6.0
    u[-frames // 6 :] *= 0.02
    return q, u, rng.uniform(0.0, 2.0, frames)
