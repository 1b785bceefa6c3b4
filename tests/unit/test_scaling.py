"""Scaling by hand: what doubles, what stays, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Marker, Markers, Model, PinJoint, Placement, scale_model
from musculo.analyses.scaling.subject_scaling import scaled_inertia
from musculo.errors import InvalidInput, UnknownName
from musculo.functions import Linear, Polynomial, Scaled, SimmSpline
from musculo.model import Axis, CustomJoint, Measurement, move_markers, scale_factors
from musculo.model.force import Muscle
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.opensim import factors_of_setup, read_setup
from support.setup_files import SCALE_SETUP, SCALE_TASKS

ROUNDING = 1e-14  # a few products of numbers near one


@pytest.fixture
def model() -> Model:
    """A thigh on a hip that slides as it bends, and a shank."""
    mesh = '<Mesh name="m"><scale_factors>1 2 3</scale_factors></Mesh>'
    drawing = f'<attached_geometry>{mesh}<Sphere name="s"/></attached_geometry>'
    thigh = Body("thigh", 8.0, (0.0, -0.2, 0.1), (0.1, 0.02, 0.11, 0.001, 0.002, 0.003), (drawing,))
    shank = Body("shank", 4.0, (0.0, -0.2, 0.0), (0.05, 0.01, 0.05, 0.0, 0.0, 0.0))
    slide = Axis((0.6, 0.8, 0.0), Polynomial((0.02, 0.1)), ("hip",))
    hip = CustomJoint(
        "hip_joint",
        Placement("ground", (0.0, 1.0, 0.0)),
        Placement("thigh", (0.0, 0.01, 0.0)),
        (Coordinate("hip"), Coordinate("lift")),
        rotations=(Axis((0.0, 0.0, 1.0), Linear(1.0, 0.0), ("hip",)), Axis((1.0, 0.0, 0.0)), Axis((0.0, 1.0, 0.0))),
        translations=(slide, Axis((0.0, 1.0, 0.0), Linear(1.0, 0.0), ("lift",)), Axis((0.0, 0.0, 1.0))),
    )
    knee_slide = Axis((0.6, -0.8, 0.0), SimmSpline((-1.0, 0.0, 1.0), (0.01, 0.02, 0.05)), ("knee",))
    knee = CustomJoint(
        "knee_joint",
        Placement("thigh", (0.01, -0.4, 0.0), (0.1, 0.0, 0.0)),
        Placement("shank"),
        (Coordinate("knee"),),
        rotations=(Axis((0.0, 0.0, 1.0), Linear(1.0, 0.0), ("knee",)), Axis((1.0, 0.0, 0.0)), Axis((0.0, 1.0, 0.0))),
        translations=(knee_slide, Axis((0.0, 1.0, 0.0)), Axis((0.0, 0.0, 1.0))),
    )
    path = Path(
        (
            PathPoint("a", "ground", (0.0, 1.2, 0.0)),
            ConditionalPathPoint("b", "thigh", (0.05, -0.3, 0.01), coordinate="knee", range=(-1.0, 1.0)),
            MovingPathPoint("c", "shank", x=Linear(0.1, 0.03), y=Scaled(Linear(0.0, -0.1), 2.0), x_coordinate="knee"),
        )
    )
    muscle = Muscle(
        "m", "Thelen2003Muscle", path=path, optimal_fiber_length=0.1, tendon_slack_length=0.3, max_isometric_force=500.0
    )
    markers = (
        Marker("hip", "ground", (0.0, 1.0, 0.0)),
        Marker("top", "thigh", (0.1, -0.05, 0.0)),
        Marker("knee", "thigh", (0.0, -0.4, 0.05)),
        Marker("ankle", "shank", (0.0, -0.4, 0.0), fixed=True),
    )
    return Model("leg", (thigh, shank), (hip, knee), markers=markers, forces=(muscle,))


def test_equal_factors_scale_mass_by_volume_and_inertia_by_length_squared_too(model):
    scaled = scale_model(model, {"thigh": 2.0})
    body = scaled.body("thigh")
    assert body.mass == 64.0
    assert body.mass_center == (0.0, -0.4, 0.2)
    assert_allclose(body.inertia, np.array(model.body("thigh").inertia) * 32.0, rtol=ROUNDING)
    assert scaled.body("shank") == model.body("shank")


def test_a_mass_is_shared_as_bodies_grow_or_as_they_were(model):
    grown = scale_model(model, {"thigh": 2.0}, mass=34.0)
    assert [b.mass for b in grown.bodies] == pytest.approx([32.0, 2.0])
    kept = scale_model(model, {"thigh": 2.0}, mass=24.0, preserve_mass_distribution=True)
    assert [b.mass for b in kept.bodies] == pytest.approx([16.0, 8.0])
    assert_allclose(kept.body("thigh").inertia, np.array(model.body("thigh").inertia) * 2.0 * 4.0, rtol=ROUNDING)


@pytest.mark.parametrize("axis", range(3))
def test_a_cylinder_stays_a_cylinder(axis):
    def cylinder(mass: float, radius: float, length: float) -> list[float]:
        across = mass * (length**2 / 12 + radius**2 / 4)
        return [0.5 * mass * radius**2 if k == axis else across for k in range(3)]

    body = Body("b", 3.0, (0.0, 0.0, 0.0), (*cylinder(3.0, 0.1, 0.7), 0.0, 0.0, 0.0))
    factors = [1.2, 1.2, 1.2]
    factors[axis] = 0.8
    mass = 3.0 * math.prod(factors)
    assert_allclose(scaled_inertia(body, tuple(factors), mass)[:3], cylinder(mass, 0.12, 0.56), rtol=10 * ROUNDING)


def test_products_of_inertia_grow_along_their_two_axes(model):
    factors = (1.1, 0.9, 1.3)
    inertia = scale_model(model, {"thigh": factors}).body("thigh").inertia
    volume = math.prod(factors)
    assert_allclose(inertia[3:], np.array([0.001 * 1.1 * 0.9, 0.002 * 1.1 * 1.3, 0.003 * 0.9 * 1.3]) * volume)


def test_what_has_no_mass_has_no_inertia():
    assert scaled_inertia(Body("b", 0.0), (1.0, 2.0, 3.0), 0.0) == (0.0,) * 6


def test_frames_markers_and_joints_grow_with_their_body(model):
    scaled = scale_model(model, {"thigh": (2.0, 3.0, 5.0)})
    hip, knee = scaled.joints
    assert (hip.parent.translation, hip.child.translation) == ((0.0, 1.0, 0.0), (0.0, 0.03, 0.0))
    assert knee.parent.translation == (0.02, pytest.approx(-1.2), 0.0)
    assert knee.parent.orientation == (0.1, 0.0, 0.0)
    assert scaled.marker("knee").location == (0.0, pytest.approx(-1.2), 0.25)
    assert scaled.marker("ankle") == model.marker("ankle")
    # the hip's parent is ground, which has no factors; the knee's is the thigh: |0.6| 2 + |-0.8| 3
    assert hip.translations == model.joints[0].translations
    assert knee.translations[0].function(0.0) == pytest.approx(3.6 * 0.02)


def test_a_translation_that_is_a_coordinate_stays(model):
    scaled = scale_model(model, {"ground": 2.0})
    slide, lift, _ = scaled.joints[0].translations
    assert slide.function(0.0) == pytest.approx(2.8 * model.joints[0].translations[0].function(0.0))
    assert lift == model.joints[0].translations[1]


def test_factors_of_a_function_multiply_and_do_not_pile_up(model):
    twice = scale_model(scale_model(model, {"thigh": 2.0}), {"thigh": 3.0})
    function = twice.joints[1].translations[0].function
    assert isinstance(function, Scaled)
    assert isinstance(function.function, SimmSpline)
    assert function.scale == pytest.approx((1.4 * 2.0) * (1.4 * 3.0))


def test_paths_grow_and_fibres_keep_their_share(model):
    scaled = scale_model(model, {"thigh": (2.0, 3.0, 5.0), "shank": (1.0, 2.0, 1.0)})
    (muscle,) = scaled.muscles
    first, second, third = muscle.path.points
    assert first == model.muscles[0].path.points[0]
    assert second.location == (0.1, pytest.approx(-0.9), pytest.approx(0.05))
    assert isinstance(third, MovingPathPoint)
    assert (third.x(0.0), third.y(0.0)) == (0.03, pytest.approx(-0.4))
    lengths = [musculo.muscle_geometry(m, np.zeros(3)).length[0] for m in (model, scaled)]
    ratio = lengths[1] / lengths[0]
    assert ratio > 1.5
    assert_allclose([muscle.optimal_fiber_length, muscle.tendon_slack_length], [0.1 * ratio, 0.3 * ratio])
    assert muscle.max_isometric_force == 500.0


def test_equal_factors_everywhere_only_change_the_unit_of_length(model):
    # along one axis: OpenSim's |axis| . s is no mean along a slanted one
    hip, knee = model.joints
    hip = replace(hip, translations=(Axis((1.0, 0.0, 0.0), Polynomial((0.02, 0.1)), ("hip",)), *hip.translations[1:]))
    straight_knee = replace(knee.translations[0], direction=(0.0, -1.0, 0.0))
    knee = replace(knee, translations=(straight_knee, Axis((1.0, 0.0, 0.0)), Axis((0.0, 0.0, 1.0))))
    straight = model.with_joint(hip).with_joint(knee)
    scaled = scale_model(straight, dict.fromkeys(("ground", *model.body_names), 1.7))
    q = np.array([0.2, 0.0, -0.5])
    before, after = (musculo.kinematics(m, q).markers() for m in (straight, scaled))
    assert_allclose(after, 1.7 * before, rtol=10 * ROUNDING, atol=10 * ROUNDING)
    muscle, generic = scaled.muscles[0], straight.muscles[0]
    assert muscle.optimal_fiber_length == pytest.approx(1.7 * generic.optimal_fiber_length, rel=10 * ROUNDING)


def test_wrap_objects_grow_along_their_own_axes(model):
    turned = {"frame": "thigh", "translation": (0.1, 0.2, 0.3), "orientation": (math.pi / 2, 0.0, 0.0)}
    shapes = (
        WrapCylinder("c", **turned, radius=0.02, length=0.1),
        WrapSphere("s", **turned, radius=0.03),
        WrapEllipsoid("e", **turned, semi_axes=(0.01, 0.02, 0.03)),
        WrapTorus("t", **turned, inner_radius=0.01, outer_radius=0.05),
    )
    cylinder, sphere, ellipsoid, torus = scale_model(
        model.replace(wrap_objects=shapes), {"thigh": (2.0, 3.0, 4.0)}
    ).wrap_objects
    # turned by 90 degrees about x, its y is the body's z, its z the body's -y
    assert (cylinder.radius, cylinder.length) == (pytest.approx(0.02 * 3.0), pytest.approx(0.1 * 3.0))
    assert sphere.radius == pytest.approx(0.03 * 3.0)
    assert ellipsoid.semi_axes == pytest.approx((0.02, 0.08, 0.09))
    assert (torus.inner_radius, torus.outer_radius) == (pytest.approx(0.03), pytest.approx(0.15))
    assert cylinder.translation == pytest.approx((0.2, 0.6, 1.2))


def test_drawings_grow(model):
    (xml,) = scale_model(model, {"thigh": (2.0, 3.0, 4.0)}).body("thigh").carried
    assert "<scale_factors>2 6 12</scale_factors>" in xml
    assert "<scale_factors>2 3 4</scale_factors>" in xml  # that of the sphere, which stated none


def test_factors_of_one_change_nothing(model):
    same = scale_model(model, dict.fromkeys(model.body_names, 1.0))
    assert same.hash == model.hash


@pytest.mark.parametrize("factors", [0.0, -1.0, (1.0, 2.0), math.nan, "x"])
def test_bad_factors_are_named(model, factors):
    with pytest.raises(InvalidInput, match="'thigh'"):
        scale_model(model, {"thigh": factors})


def test_bodies_and_masses_that_cannot_be(model):
    with pytest.raises(UnknownName, match="did you mean 'thigh'"):
        scale_model(model, {"tigh": 1.0})
    for mass in (0.0, -70.0, math.inf):
        with pytest.raises(InvalidInput, match="whole subject"):
            scale_model(model, {}, mass=mass)


# --- measurements ---------------------------------------------------------------------------------------------------
@pytest.fixture
def trial(model) -> Markers:
    """The model's markers at its default pose, stretched to 1.2 of their distances, with a gap."""
    at = musculo.kinematics(model, np.zeros(3)).markers()
    position = np.repeat((1.2 * at)[None], 5, axis=0)
    position[3:] *= 2.0  # later the subject is elsewhere
    position[4, model.marker_names.index("ankle")] = np.nan
    return Markers(np.arange(5) * 0.1, model.marker_names, position)


THIGH = Measurement("thigh", (("top", "knee"), ("hip", "knee")), (("thigh", "XY"),))
SHANK = Measurement("shank", (("knee", "ankle"),), (("shank", "XYZ"),))


def test_distances_give_factors(model, trial):
    found = scale_factors(model, trial, [THIGH], time_range=(0.0, 0.2))
    assert found.factors == {"thigh": (pytest.approx(1.2), pytest.approx(1.2), 1.0), "shank": (1.0, 1.0, 1.0)}
    assert [pair.factor for pair in found.measured["thigh"]] == pytest.approx([1.2, 1.2])


def test_factors_are_means_over_frames(model, trial):
    # frames 0 to 4: three at 1.2, two at 2.4
    assert scale_factors(model, trial, [THIGH]).factors["thigh"][0] == pytest.approx(1.68)


def test_a_time_range_takes_whole_frames_at_both_ends(model, trial):
    assert scale_factors(model, trial, [THIGH], (0.15, 0.25)).factors["thigh"][0] == pytest.approx(1.6)
    start = float(trial.time[3])  # a frame that stands exactly at the start is the first
    assert scale_factors(model, trial, [THIGH], (start, 0.4)).factors["thigh"][0] == pytest.approx(2.4)
    assert scale_factors(model, trial, [THIGH], (-1.0, -1.0)).factors["thigh"][0] == pytest.approx(1.2)
    assert scale_factors(model, trial, [THIGH], (0.4, 9.0)).factors["thigh"][0] == pytest.approx(2.4)
    with pytest.raises(InvalidInput, match="must not come before"):
        scale_factors(model, trial, [THIGH], (1.0, 0.0))


def test_gaps_and_missing_markers_are_refused_or_told(model, trial):
    with pytest.raises(InvalidInput, match=r"'ankle' is not visible in 1 of 5 frames"):
        scale_factors(model, trial, [SHANK])
    found = scale_factors(model, trial, [SHANK, THIGH], skip_missing=True)
    assert found.factors["shank"] == (1.0, 1.0, 1.0)
    assert "'ankle' is not visible" in found.skipped["shank"]
    with pytest.raises(UnknownName, match="no marker 'toe'"):
        scale_factors(model, trial, [replace(THIGH, pairs=(("toe", "knee"),))])
    with pytest.raises(UnknownName, match="no body 'thig'"):
        scale_factors(model, trial, [replace(THIGH, bodies=(("thig", "X"),))])
    with pytest.raises(InvalidInput, match="no pair"):
        scale_factors(model, trial, [replace(THIGH, pairs=())])
    assert scale_factors(model, trial, [replace(THIGH, apply=False)]).measured == {}


def test_two_markers_in_one_place_measure_nothing(model, trial):
    double = model.replace(markers=(*model.markers[:1], replace(model.markers[0], name="top"), *model.markers[2:]))
    with pytest.raises(InvalidInput, match="in one place"):
        scale_factors(double, trial, [replace(THIGH, pairs=(("hip", "top"),))])


def test_a_setup_says_which_factors_count_last(model, trial, tmp_path):
    (tmp_path / "tasks.xml").write_text(SCALE_TASKS)
    (tmp_path / "s.xml").write_text(SCALE_SETUP)
    setup = read_setup(tmp_path / "s.xml")
    measured = replace(
        setup.scaler,
        measurements=(THIGH,),
        manual_scales=(replace(setup.scaler.manual_scales[0], segment="thigh"),),
        time_range=(0.0, 0.2),
    )
    last_by_hand = replace(setup, scaler=measured)
    assert factors_of_setup(last_by_hand, model, trial).factors["thigh"] == (1.1, 0.9, 1.05)
    swapped = replace(setup, scaler=replace(measured, scaling_order=("manualScale", "measurements")))
    assert factors_of_setup(swapped, model, trial).factors["thigh"] == (pytest.approx(1.2), pytest.approx(1.2), 1.05)
    with pytest.raises(InvalidInput, match="give the markers to measure"):
        factors_of_setup(last_by_hand, model)


# --- markers --------------------------------------------------------------------------------------------------------
def test_markers_go_where_they_were_seen(model):
    q = np.array([0.3, 0.1, -0.4])
    wanted = model.replace(
        markers=tuple(replace(m, location=tuple(np.add(m.location, 0.01).tolist())) for m in model.markers)
    )
    position = np.repeat(musculo.kinematics(wanted, q).markers()[None], 3, axis=0)
    position[1, 1] = np.nan  # a frame in which one was not seen does not count
    trial = Markers([0.0, 0.1, 0.2], wanted.marker_names, position)
    placed = move_markers(model, q, trial, fixed=["hip"])
    for name in ("top", "knee"):
        assert_allclose(placed.model.marker(name).location, wanted.marker(name).location, atol=1e-12)
        assert placed.moved[name] == pytest.approx(0.01 * math.sqrt(3.0))
    # named as fixed, and fixed by the model
    assert placed.model.marker("hip") == model.marker("hip")
    assert placed.model.marker("ankle") == model.marker("ankle")
    assert set(placed.moved) == {"top", "knee"}


def test_markers_that_were_not_recorded_are_dropped_or_kept(model):
    trial = Markers([0.0], ("top",), np.zeros((1, 1, 3)))
    placed = move_markers(model, np.zeros(3), trial)
    assert placed.model.marker_names == ("top",)
    assert placed.dropped == ("hip", "knee", "ankle")
    kept = move_markers(model, np.zeros(3), trial, keep_unrecorded=True)
    assert kept.model.marker_names == model.marker_names
    assert kept.dropped == ()


def test_placements_that_cannot_be(model):
    trial = Markers([0.0], ("top",), np.full((1, 1, 3), np.nan))
    with pytest.raises(InvalidInput, match="not visible in any frame"):
        move_markers(model, np.zeros(3), trial)
    with pytest.raises(UnknownName, match="no marker 'toe'"):
        move_markers(model, np.zeros(3), trial, fixed=["toe"])
    with pytest.raises(InvalidInput, match="one pose"):
        move_markers(model, np.zeros((2, 3)), trial)
    with pytest.raises(InvalidInput, match="has no frame"):
        move_markers(model, np.zeros(3), Markers([], ("top",), np.zeros((0, 1, 3))))


def test_a_pin_has_nothing_to_scale_but_its_frames():
    pin = PinJoint("pin", Placement("ground", (1.0, 2.0, 3.0)), Placement("b", (0.1, 0.2, 0.3)), (Coordinate("a"),))
    model = Model("m", (Body("b", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),), (pin,))
    scaled = scale_model(model, {"b": (2.0, 2.0, 2.0)})
    assert scaled.joints[0].child.translation == (0.2, 0.4, 0.6)
    assert scaled.joints[0].parent == pin.parent
