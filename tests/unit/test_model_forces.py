"""Forces of a model by hand, their results, and what is said about mistakes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Model, Placement, model_forces
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.forces.compiled_forces import left_out
from musculo.functions import UnsupportedFunction
from musculo.model import contact_force
from musculo.model.contact_model import ContactGeometry
from musculo.model.force import Force
from musculo.model.joints import FreeJoint, PinJoint, SliderJoint
from support.force_models import FLOOR_UP, contact, force

DEGREE = np.pi / 180.0


def cart(*forces, **more) -> Model:
    joint = SliderJoint("rail", Placement("ground"), Placement("cart"), (Coordinate("x"),))
    return Model("cart", (Body("cart", 2.0),), (joint,), forces=forces, **more)


def door(*forces) -> Model:
    body = Body("door", 2.0, (0.5, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0))
    return Model("door", (body,), (PinJoint("hinge", Placement("ground"), Placement("door"), (Coordinate("a"),)),),
                 forces=forces)  # fmt: skip


def balls(*names: str, radius: float = 0.5, **more) -> Model:
    """Balls that roll about, over a floor."""
    bodies = tuple(Body(name, 1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.1, 0.0, 0.0, 0.0)) for name in names)
    joints = tuple(
        FreeJoint(f"to_{n}", Placement("ground"), Placement(n),
                  tuple(Coordinate(f"{n}_{k}") for k in ("rx", "ry", "rz", "x", "y", "z")))
        for n in names
    )  # fmt: skip
    shapes = (ContactGeometry("floor", "ContactHalfSpace", "ground", (0.0, 0.0, 0.0), FLOOR_UP),
              *(ContactGeometry(f"ball_{n}", "ContactSphere", n, dimensions=(radius,)) for n in names))  # fmt: skip
    return Model("balls", bodies, joints, contact_geometries=shapes, **more)


def hertz(geometry: str, stiffness=1e5, dissipation=0.0, friction=(0.0, 0.0, 0.0)):
    return contact("contact", "HuntCrossleyForce", (geometry, stiffness, dissipation, *friction))


# --- laws at places where they can be seen by eye ---------------------------------------------------------------------
def test_a_limit_in_degrees():
    """Beyond its transition a limit is a spring of so many N m per degree, from its end on."""
    stop = force("stop", "CoordinateLimitForce", coordinate="a", upper_limit=30, lower_limit=-20, upper_stiffness=3,
                 lower_stiffness=2, damping=0.5, transition=5)  # fmt: skip
    q = np.array([[-40.0], [-20.0], [0.0], [30.0], [32.5], [50.0]]) * DEGREE
    found = model_forces(door(stop), q)
    assert_allclose(found.tau[:, 0], [40.0, 0.0, 0.0, 0.0, -0.5 * 3 * 2.5, -60.0], atol=1e-12)
    # of the energy: 3 N m per degree over 20 degrees, less what the transition does not take up
    assert_allclose(found.energy[5, 0], 3 * DEGREE * (0.5 * 20**2 - 5**2 / 7.0))
    # damping is full there, half in the middle of the transition; 1 degree per second
    moving = model_forces(door(stop), q, np.full_like(q, DEGREE))
    assert_allclose((moving.tau - found.tau)[:, 0], [-0.5, 0.0, 0.0, 0.0, -0.25, -0.5], atol=1e-12)


def test_a_limit_on_one_side_is_finite():
    """Where a stiffness is zero OpenSim gives NaN."""
    stop = force("stop", "CoordinateLimitForce", coordinate="x", upper_limit=0.2, lower_limit=-0.2, upper_stiffness=100,
                 lower_stiffness=0, damping=5, transition=0.1)  # fmt: skip
    found = model_forces(cart(stop), [[-0.5], [0.0], [0.5]], [[1.0]] * 3)
    assert_allclose(found.tau[:, 0], [-5.0, 0.0, -35.0])


def test_a_ball_rests_where_hertz_says():
    """f = 4/3 k x sqrt(R k x), k = E^(2/3) / 2 of two equal materials."""
    model = balls("a", forces=(hertz("floor ball_a", 1e6),))
    k, R, x = 0.5 * 1e6 ** (2 / 3), 0.5, 0.01
    q = np.zeros(6)
    q[4] = 0.5 - x
    found = model_forces(model, q)
    f = 4 / 3 * k * x * np.sqrt(R * k * x)
    assert_allclose(found.wrench[1, 3:], [0.0, f, 0.0], atol=1e-9 * f)
    assert_allclose(found.wrench[0, 3:], [0.0, -f, 0.0], atol=1e-9 * f)
    assert_allclose(found.energy[0], 0.4 * f * x)
    q[4] = 0.5 + x
    assert not model_forces(model, q).tau.any()


def test_friction_is_greatest_at_the_transition_and_turns_the_ball():
    model = balls("a", forces=(hertz("floor ball_a", 1e6, friction=(0.8, 0.5, 0.0)),))
    q = np.zeros((4, 6))
    q[:, 4] = 0.49
    u = np.zeros((4, 6))
    u[:, 3] = [0.0, 0.005, 0.01, 10.0]  # the transition velocity is 0.01 m/s
    found = model_forces(model, q, u)
    coefficient = -found.wrench[:, 1, 3] / found.wrench[:, 1, 4]
    assert_allclose(coefficient, [0.0, 0.5 * (0.5 + 0.6 / 1.25), 0.8, 0.5], atol=1e-6)
    moment = found.wrench[:, 1, :3] - np.cross(q[:, 3:], found.wrench[:, 1, 3:])
    # the point of contact is half way in
    assert_allclose(moment[:, 2], found.wrench[:, 1, 3] * 0.495, rtol=1e-6, atol=1e-9)


def test_one_ball_that_leaves_does_not_take_the_other_along():
    """OpenSim loses the contacts after one that parts fast; `like="opensim"` does as it does."""
    model = balls("a", "b", forces=(hertz("floor ball_a ball_b", 1e6, 0.5),))
    q, u = np.zeros((2, 12)), np.zeros((2, 12))
    q[:, [4, 10]] = 0.49
    q[:, 3], q[:, 9] = [-2.0, 2.0], [2.0, -2.0]
    u[:, 4] = 5.0  # ball a leaves; it comes first on the axis in the first frame
    exact, theirs = (model_forces(model, q, u, like=like).wrench[:, 1:, 4] for like in (None, "opensim"))
    weight = exact[0, 1]
    assert weight > 1.0
    assert_allclose(exact, [[0.0, weight], [0.0, weight]])
    assert_allclose(theirs, [[0.0, 0.0], [0.0, weight]])


def test_shapes_of_one_body_do_not_touch():
    model = balls("a", forces=(hertz("floor ball_a heel", 1e6),))
    heel = ContactGeometry("heel", "ContactSphere", "a", (0.1, 0.0, 0.0), dimensions=(0.5,))
    model = model.replace(contact_geometries=(*model.contact_geometries, heel))
    q = np.array([0.0, 0.0, 0.0, 0.0, 2.0, 0.0])
    assert model_forces(model, q).energy[0] == 0.0
    theirs = model_forces(model, q, like="opensim")  # OpenSim counts the energy of the overlap
    assert theirs.energy[0] > 1.0
    assert_allclose(theirs.wrench[1], 0.0, atol=1e-6)
    assert not model_forces(balls("a", forces=(hertz("floor"),)), q).tau.any()


def test_a_bushing_resists_along_each_axis():
    plate = force("pad", "BushingForce", socket_frame1="/ground", socket_frame2="/bodyset/a",
                  rotational_stiffness="1 2 3", translational_stiffness="10 20 30", rotational_damping="0 0 7",
                  translational_damping="5 0 0")  # fmt: skip
    model = balls("a", forces=(plate,))
    q, u = 0.1 * np.eye(6), np.zeros((6, 6))
    assert_allclose(model_forces(model, q, u).tau, -0.1 * np.diag([1.0, 2.0, 3.0, 10.0, 20.0, 30.0]), atol=1e-15)
    u[0, [2, 3]] = 1.0
    assert_allclose(model_forces(model, 0.0 * q, u).tau[0], [0.0, 0.0, -7.0, -5.0, 0.0, 0.0], atol=1e-15)


def test_a_prescribed_force_follows_time():
    from musculo.functions import Linear

    push = [(f"forceFunctions/{k}", Linear(slope, 1.0)) for k, slope in enumerate((2.0, 0.0, 0.0))]
    wind = force("wind", "PrescribedForce", functions=push, socket_frame="/bodyset/cart")
    assert_allclose(model_forces(cart(wind), [[0.0]] * 3, time=[0.0, 1.0, 2.5]).tau[:, 0], [1.0, 3.0, 6.0])


# --- where they act ---------------------------------------------------------------------------------------------------
SPRING = force("coil", "SpringGeneralizedForce", coordinate="x", stiffness=100, rest_length=0.1)


def test_forces_that_are_off_do_nothing():
    off = Force(**{**vars(SPRING), "applies_force": False})
    found = model_forces(cart(off), [0.5])
    assert found.names == ()
    assert not found.tau.any()


def test_muscles_give_what_springs_do_not():
    """Static optimisation and joint loads take the model's own forces in, unless told not to."""
    motor = force("motor", "CoordinateActuator", coordinate="x", optimal_force=10)
    model = cart(SPRING, motor)
    found = musculo.static_optimization(model, [0.5], [0.0], tau=[7.0])
    assert_allclose(found.control, [(7.0 + 40.0) / 10.0])
    alone = musculo.static_optimization(model, [0.5], [0.0], tau=[7.0], model_forces=False)
    assert_allclose(alone.control, [0.7])
    free = musculo.joint_loads(model, [0.5], [0.0], actuator_forces={"motor": 7.0})
    assert_allclose(free.udot, [(7.0 - 40.0) / 2.0])


def test_inverse_dynamics_takes_off_what_acts():
    model, q, u, udot = cart(SPRING), [0.5], [0.0], [3.0]
    acting = model_forces(model, q, u).tau
    assert_allclose(musculo.inverse_dynamics(model, q, u, udot, acting=acting), [2.0 * 3.0 + 40.0])
    assert_allclose(musculo.inverse_dynamics(model, q, u, udot), [6.0])
    with pytest.raises(InvalidInput, match="acting"):
        musculo.inverse_dynamics(model, q, u, udot, acting=[1.0, 2.0])


def test_an_actuator_between_points_pushes_them_apart():
    piston = force("piston", "PointToPointActuator", bodyA="cart", bodyB="ground", pointB="-2 0 0", optimal_force=5)
    found = musculo.joint_loads(cart(piston), [0.5], [0.0], actuator_forces={"piston": 7.0})
    assert_allclose(found.udot, [7.0 / 2.0])
    effort = musculo.static_optimization(cart(piston), [0.5], [0.0], tau=[10.0])
    assert_allclose(effort.control, [2.0])


def test_bushings_are_no_part_of_the_joint():
    pad = force("pad", "BushingForce", socket_frame1="/ground", socket_frame2="/bodyset/cart",
                translational_stiffness="0 50 0", rotational_stiffness="0 0 0")  # fmt: skip
    frame = SliderJoint("rail", Placement("ground"), Placement("cart", (0.0, 0.2, 0.0)), (Coordinate("x"),))
    model = cart(pad).replace(joints=(frame,))
    loaded, bare = (musculo.joint_loads(model, [0.0], [0.0], [0.0], model_forces=on) for on in (True, False))
    # the body hangs 0.2 m below the rail: the pad pushes it up with 10 N
    assert_allclose(bare.force[0] - loaded.force[0], [0.0, 10.0, 0.0], atol=1e-12)


def test_a_ball_bounces():
    model = balls("a", forces=(hertz("floor ball_a", 1e5, 0.1, (0.3, 0.3, 0.0)),), gravity=(0.0, -9.81, 0.0))
    q = np.array([0.0, 0.0, 0.0, 0.0, 0.7, 0.0])
    done = musculo.simulate(model, q, np.zeros(6), np.linspace(0.0, 0.5, 51), rtol=1e-8, atol=1e-9)
    assert done.status == "finished", done.reason
    height = done.q[:, 4]
    lowest = int(np.argmin(height))
    assert 0.4 < height[lowest] < 0.49
    assert height[lowest:].max() > 0.6
    assert (np.diff(done.energy) < 1e-6).all()
    assert done.energy[-1] < done.energy[0] - 0.1
    fallen = musculo.simulate(model, q, np.zeros(6), (0.0, 0.5), model_forces=False)
    assert_allclose(fallen.q[-1, 4], 0.7 - 0.125 * 9.81, rtol=1e-6)
    assert not fallen.stored.any()


def test_forces_add_to_those_given():
    model = cart(SPRING)
    for given in ([12.0], lambda t, q, u: [12.0], None):
        done = musculo.simulate(model, [0.1], [0.0], (0.0, 0.1), forces=given)
        still = given is None
        assert (np.abs(done.q[-1, 0] - 0.1) < 1e-9) == still


# --- results ----------------------------------------------------------------------------------------------------------
def test_results_have_labels():
    found = model_forces(cart(SPRING), [[0.2], [0.3]], [[0.0], [1.0]])
    assert found.kinds == ("SpringGeneralizedForce",)
    data = found.to_xarray([0.0, 0.1])
    assert_allclose(data["tau"].sel(coordinate="x"), [-10.0, -20.0])
    assert data["force"].sel(body="cart").shape == (2, 3)
    table = found.to_table([0.0, 0.1])
    assert table.names == ("coil_Force",)
    with pytest.raises(UnknownName, match="coil"):
        found.of("coi")


# --- mistakes ---------------------------------------------------------------------------------------------------------
def limit(**changes):
    return force("stop", "CoordinateLimitForce", **{"coordinate": "x", "transition": 0.1, **changes})


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        (limit(coordinate="y"), UnknownName, "no coordinate 'y'"),
        (limit(transition=0.0), InvalidModel, "transition is 0.0; give one above zero"),
        (limit(damping="much"), InvalidModel, "damping is 'much', not a number"),
        (limit(upper_limit="inf"), InvalidModel, "upper_limit is inf"),
        (
            force("f", "ExpressionBasedCoordinateForce", coordinate="x", expression="3*z"),
            InvalidModel,
            "ExpressionBasedCoordinateForce 'f': .*'z'",
        ),
        (force("b", "BushingForce", socket_frame1="/ground"), InvalidModel, "frame2 names no frame"),
        (force("b", "BushingForce", socket_frame1="/ground", socket_frame2="/bodyset/cat"), UnknownName, "cart"),
        (
            force("b", "BushingForce", socket_frame1="/ground", socket_frame2="cart", rotational_stiffness="1 2"),
            InvalidModel,
            "rotational_stiffness is '1 2'",
        ),
        (hertz("floor ball"), UnknownName, "contact shape"),
        (force("s", "SmoothSphereHalfSpaceForce", socket_sphere="/contactgeometryset/floor"), UnknownName, "floor"),
    ],
)
def test_mistakes_are_named(wrong, error, words):
    with pytest.raises(error, match=words):
        model_forces(cart(wrong), [0.0])


def test_what_cannot_be_computed_is_left_out_with_its_reason():
    shapes = (ContactGeometry("floor", "ContactHalfSpace", "ground"),
              ContactGeometry("bone", "ContactMesh", "cart", filename="no_bone.obj"),
              ContactGeometry("egg", "ContactEllipsoid", "cart", dimensions=(0.1, 0.2, 0.3)))  # fmt: skip
    bed = contact("bed", "ElasticFoundationForce", ("floor bone", 1e6))
    odd = force("odd", "ExponentialContactForce")
    strange = [(f"forceFunctions/{k}", UnsupportedFunction("Odd")) for k in range(3)]
    wind = force("wind", "PrescribedForce", functions=strange, socket_frame="/bodyset/cart")
    model = cart(SPRING, bed, odd, hertz("floor egg"), wind, contact_geometries=shapes)
    found = model_forces(model, [0.2])
    assert found.names == ("coil",)
    assert set(left_out(model)) == set(found.left_out) == {"bed", "odd", "contact", "wind"}
    assert "no_bone.obj" in found.left_out["bed"]
    assert "ContactEllipsoid" in found.left_out["contact"]
    assert "ExponentialContactForce" in found.left_out["odd"]
    assert_allclose(found.tau, [-10.0])


def test_arrays_that_do_not_fit():
    with pytest.raises(InvalidInput, match="HuntCrossleyForce"):
        contact_force("c", "SoftForce", [])  # type: ignore[arg-type]
    smooth = r"SmoothSphereHalfSpaceForce has one sphere .* Force\(..., properties=...\)"
    with pytest.raises(InvalidInput, match=smooth):
        contact_force("c", "SmoothSphereHalfSpaceForce", [])  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="q has shape"):
        model_forces(cart(SPRING), [0.0, 1.0])
    with pytest.raises(InvalidInput, match="'exact' or 'opensim'"):
        model_forces(cart(SPRING), [0.0], method="fast")
    with pytest.raises(InvalidInput, match="wrapping"):
        model_forces(cart(SPRING), [0.0], wrapping="none")
