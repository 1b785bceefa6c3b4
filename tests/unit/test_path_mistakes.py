"""What goes wrong with paths is said; what is symmetric stays so."""

from __future__ import annotations

import numpy as np
import pytest

from musculo import (
    Body,
    Coordinate,
    Model,
    MusculoError,
    Placement,
    muscle_equilibrium,
    muscle_geometry,
    path_geometry,
    path_wrenches,
    read_osim,
    write_osim,
)
from musculo.errors import InvalidInput, InvalidModel
from musculo.functions import Constant, Linear, SimmSpline
from musculo.model.force import Muscle, MuscleCurve
from musculo.model.joints import PinJoint, SliderJoint
from musculo.model.model_path import MovingPathPoint, Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapSphere, WrapTorus
from musculo.signals import NaturalSpline

REACH, RADIUS = 0.3, 0.05


def arm(surface=None, height=0.0, **muscle):
    """A muscle across a pin, level with its axis where `height` is zero, over one surface on the axis."""
    ends = PathPoint("a", "ground", (-REACH, height, 0.0)), PathPoint("b", "arm", (REACH, height, 0.0))
    path = Path(ends, (PathWrap("w", surface.name),) if surface else ())
    force = Muscle("m", "Thelen2003Muscle", **({"path": path} | muscle))
    joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
    surfaces = (surface,) if surface else ()
    return Model("arm", (Body("arm", 1.0),), (joint,), wrap_objects=surfaces, forces=(force,))


@pytest.mark.parametrize(("quadrant", "side"), [("y", 1.0), ("+y", 1.0), ("-y", -1.0)])
def test_a_line_through_the_middle_goes_to_the_quadrants_side(quadrant, side):
    model = arm(WrapCylinder("w", "ground", radius=RADIUS, quadrant=quadrant))
    q = np.array([[0.0], [0.02 * side], [-0.02 * side]])
    g = muscle_geometry(model, q)
    lean = np.arccos(RADIUS / REACH)
    # the pin turns the arm away from the side that the path is on, or towards it
    around = 2.0 * np.sqrt(REACH**2 - RADIUS**2) + RADIUS * (np.pi - side * q[:, 0] - 2.0 * lean)
    np.testing.assert_allclose(g.length[:, 0], around, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(g.moment_arm[:, 0, 0], side * RADIUS, rtol=0.0, atol=1e-10)


def test_which_frames_touch_a_surface():
    """The line passes above the cylinder; the hinge bends it onto it."""
    surface = WrapCylinder("w", "ground", radius=RADIUS)
    q = np.array([[0.0], [-0.5], [1.0], [-0.4]])
    points = muscle_geometry(arm(surface, height=1.5 * RADIUS), q).path_points
    touching = points.touches("m", "w")
    assert touching.tolist() == [bool(any(points.of("m", f)[1])) for f in range(len(q))]
    assert touching.any()
    assert not touching.all()
    with pytest.raises(MusculoError, match="known: w"):
        points.touches("m", "v")


def test_a_muscle_without_a_path_is_an_error():
    with pytest.raises(InvalidModel, match="'m' has no path"):
        muscle_geometry(arm(path=None), [0.0])


def test_a_ring_thicker_than_its_hole_is_an_error():
    with pytest.raises(InvalidModel, match="tube must be thinner"):
        muscle_geometry(arm(WrapTorus("w", "ground", inner_radius=0.1, outer_radius=0.05)), [0.0])


def test_a_file_name_in_place_of_a_model_is_an_error():
    with pytest.raises(InvalidInput, match="read_osim"):
        muscle_geometry("model.osim", [0.0])


def test_a_frame_that_is_not_there_is_an_error():
    with pytest.raises(InvalidInput, match="there are 1 frames"):
        muscle_geometry(arm(), [0.1]).path_points.of("m", frame=9)


def test_a_frame_that_is_no_whole_number_is_an_error():
    points = muscle_geometry(arm(), [[0.1], [0.2]]).path_points
    with pytest.raises(InvalidInput, match=r"frame 1\.5 of path 'm' is asked for; give a whole number, 0 to 1"):
        points.of("m", frame=1.5)
    np.testing.assert_array_equal(points.of("m", np.int64(1))[0], points.of("m", -1)[0])


@pytest.mark.parametrize("given", [lambda x: x, "0.03", None, NaturalSpline(np.arange(6.0), np.zeros(6))])
def test_a_point_that_moves_by_no_function_is_an_error_at_once(given):
    with pytest.raises(InvalidModel, match=r"point 'p' moves along y by .*musculo\.functions\.SimmSpline\(x, y\)"):
        MovingPathPoint("p", "arm", y=given, y_coordinate="turn")


def test_a_number_for_a_moving_point_is_a_constant():
    still = MovingPathPoint("b", "arm", x=REACH, y=np.float64(0.1), z=0)
    assert still == MovingPathPoint("b", "arm", x=Constant(REACH), y=Constant(0.1), z=Constant(0.0))
    ends = (PathPoint("a", "ground", (-REACH, 0.1, 0.0)), still)
    assert muscle_geometry(arm(path=Path(ends)), [0.0]).length == pytest.approx([2.0 * REACH], abs=1e-15)


@pytest.mark.parametrize("axis", "xyz")
def test_a_point_that_moves_by_no_coordinate_is_an_error(axis):
    """OpenSim does not build such a model either."""
    moving = MovingPathPoint("b", "arm", **{axis: SimmSpline((-1.0, 0.0, 1.0), (0.1, 0.2, 0.4))})
    model = arm(path=Path((PathPoint("a", "ground", (-REACH, 0.1, 0.0)), moving)))
    expected = (
        rf"point 'b' of the path of 'm' moves along {axis} by a SimmSpline of no coordinate; name its {axis}_coor"
    )
    with pytest.raises(InvalidModel, match=expected):
        muscle_geometry(model, [0.0])


def test_a_function_that_does_not_vary_needs_no_coordinate():
    still = MovingPathPoint("b", "arm", x=SimmSpline((-1.0, 0.0, 1.0), (REACH,) * 3), y=Linear(0.0, 0.1))
    ends = (PathPoint("a", "ground", (-REACH, 0.1, 0.0)), still)
    assert muscle_geometry(arm(path=Path(ends)), [0.0]).length == pytest.approx([2.0 * REACH], abs=1e-15)


def twins(*frames, wrapped=True):
    """Spheres of one name and of two sizes, and a path over that name, or over none."""
    spheres = [WrapSphere("w", frame, radius=RADIUS * (k + 1)) for k, frame in enumerate(frames)]
    model = arm(spheres[0], height=0.01) if wrapped else arm()
    return model.replace(wrap_objects=tuple(spheres))


@pytest.mark.parametrize("frames", [("ground", "ground"), ("ground", "arm")])
def test_two_surfaces_of_one_name_are_an_error_where_a_path_names_them(frames):
    with pytest.raises(InvalidModel, match=rf"'w', but 2 wrap objects have this name \(on 'ground' and '{frames[1]}'"):
        muscle_geometry(twins(*frames), [0.0])
    assert muscle_geometry(twins(*frames, wrapped=False), [0.0]).length == pytest.approx([2.0 * REACH])


@pytest.mark.parametrize("frames", [("ground", "ground"), ("ground", "arm")])
def test_of_two_surfaces_of_one_name_a_file_means_the_first(frames, tmp_path):
    write_osim(twins(*frames), tmp_path / "twins.osim")
    read = read_osim(tmp_path / "twins.osim")
    alone = muscle_geometry(arm(WrapSphere("w", "ground", radius=RADIUS), height=0.01), [0.1])
    np.testing.assert_allclose(muscle_geometry(read, [0.1]).length, alone.length, rtol=0.0, atol=1e-14)
    told = [note for note in read.notes if note.what == "wrap object 'w'"]
    assert [note.why for note in told] == [
        "2 wrap objects have this name; the first, on 'ground', is meant, as in OpenSim"
    ]


ENDS = PathPoint("a", "ground"), PathPoint("b", "arm")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((ENDS, ("s",)), r"path 'path': 's' among its wraps is not a PathWrap; give PathWrap\('s', 's'\)"),
        ((ENDS, PathWrap("w", "s")), r"path 'path': its wraps are PathWrap\(.*; give a tuple of PathWrap"),
        ((ENDS[0],), r"path 'path': its points are PathPoint\(.*; give a tuple of PathPoint"),
        ((((0.0, 0.1, 0.2), ENDS[0]),), r"path 'path': \(0.0, 0.1, 0.2\) among its points is not a PathPoint; give"),
    ],
)
def test_what_is_no_point_or_wrap_of_a_path_is_an_error_at_once(given, message):
    with pytest.raises(InvalidModel, match=message):
        Path(*given)


@pytest.mark.parametrize("curves", ["x", ("x",), MuscleCurve("TendonForceLengthCurve"), {"x": 1.0}])
def test_what_is_no_curve_of_a_muscle_is_an_error_at_once(curves):
    with pytest.raises(InvalidModel, match=r"muscle 'm'.*curves.*give a tuple of MuscleCurve"):
        Model("m", (), (), forces=(Muscle("m", "Thelen2003Muscle", curves=curves),))


def test_what_is_no_path_is_an_error_at_once():
    with pytest.raises(InvalidModel, match=r"force 'm': its path is .*; give Path\(points\)"):
        Model("m", (), (), forces=(Muscle("m", "Thelen2003Muscle", path=ENDS),))


def test_speeds_that_were_not_computed_are_named():
    g = muscle_geometry(arm(), [[0.1]])
    with pytest.raises(InvalidInput, match="where u was given"):
        muscle_equilibrium(arm(), g.length, g.speed, 0.5)


def test_what_to_give_in_place_of_none_fits_the_argument():
    with pytest.raises(InvalidInput, match="activation is None; give a number from 0 to 1, or one for each muscle"):
        muscle_equilibrium(arm(), 0.6, 0.0, None)


@pytest.mark.parametrize("key", ["max_isometric_force", "tendon_slack_length", "max_contraction_velocity"])
def test_text_for_a_number_of_a_muscle_is_an_error_at_once(key):
    with pytest.raises(InvalidModel, match=rf"muscle 'm': its {key} is '1000'; give a number"):
        Model("m", (), (), forces=(Muscle("m", "Thelen2003Muscle", **{key: "1000"}),))


@pytest.mark.parametrize(
    ("muscle", "message"),
    [
        ({"parameters": (("fibre_damping", 5.0),)}, "no parameter 'fibre_damping' in muscle 'm'.*mean 'fiber_damping'"),
        ({"parameters": (("Vmax", 5.0),)}, "no parameter 'Vmax' in muscle 'm', a Millard2012EquilibriumMuscle"),
        (
            {"parameters": {"fiber_damping": 5.0}},
            r"parameters of muscle 'm'.*give pairs: \(\('fiber_damping', 0.1\),\)",
        ),
        (
            {"curves": (MuscleCurve("TendonForceLengthCurve", "", (("strain_at_one_force", 0.05),)),)},
            "'strain_at_one_force' in the TendonForceLengthCurve of muscle 'm'.*mean 'strain_at_one_norm_force'",
        ),
    ],
)
def test_a_parameter_that_nothing_looks_at_is_an_error_at_once(muscle, message):
    with pytest.raises(MusculoError, match=message):
        Model("m", (), (), forces=(Muscle("m", "Millard2012EquilibriumMuscle", **muscle),))


@pytest.mark.parametrize("surface", [None, WrapSphere("w", "ground", radius=RADIUS)], ids=["no wrap", "sphere"])
@pytest.mark.parametrize("wrapping", ["geodesic", "opensim"])
@pytest.mark.parametrize("lengths", [muscle_geometry, path_geometry, path_wrenches])
def test_a_path_too_long_for_numbers_is_an_error(surface, wrapping, lengths):
    slide = SliderJoint("slide", Placement("ground"), Placement("arm"), (Coordinate("far"),))
    model = arm(surface).replace(joints=(slide,))
    # squares of lengths overflow from 1e154 on
    assert lengths(model, [[0.0], [1e150]], wrapping=wrapping).length[1] == pytest.approx(1e150)
    with pytest.raises(InvalidInput, match=r"'m' is inf m long at frame 1, where 'far' is 1e\+199.*radians and meters"):
        lengths(model, [[0.0], [1e199]], wrapping=wrapping)
