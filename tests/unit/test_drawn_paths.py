"""Paths as they are drawn: arcs on surfaces are geodesics, and lines are as long as the muscles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
from musculo import demo, kinematics, muscle_geometry, view
from musculo.analyses.visible_motion import lengths as straight_lengths
from musculo.analyses.visible_motion import straight_paths
from musculo.errors import InvalidInput
from musculo.model import WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.viewer.arcs import arc
from musculo.viewer.path_lines import polylines

# Chords are shorter than their arcs by the square of the turn of each, (0.22 rad)^2 / 24.
CHORDS = 0.22**2 / 24
# Arcs on ellipsoids and tori are pulled taut to a share of their length.
TAUT = 2e-3


def arc_length(samples, a, b):
    whole = np.concatenate([a[:, None], samples, b[:, None]], axis=1)
    return np.linalg.norm(np.diff(whole, axis=1), axis=2).sum(axis=1)


@pytest.mark.parametrize("angle", [0.3, 2.0, 4.5, -2.0, -4.5])
def test_a_helix_on_a_cylinder(angle):
    """Exact points, also the long way round: the direction of arrival decides."""
    surface = WrapCylinder("c", "ground", radius=0.3, length=2.0)
    a, b = np.array([[0.3, 0.0, 0.0]]), np.array([[0.3 * np.cos(angle), 0.3 * np.sin(angle), 0.2]])
    way = np.sign(angle)
    leaving = way * np.array([[-np.sin(angle), np.cos(angle), 0.0]])
    samples = arc(surface, a, b, np.array([[0.0, way, 0.0]]), leaving)
    np.testing.assert_allclose(np.hypot(samples[..., 0], samples[..., 1]), 0.3, rtol=1e-12)
    expected = np.hypot(0.3 * angle, 0.2)
    assert arc_length(samples, a, b)[0] == pytest.approx(expected, rel=2 * CHORDS)
    middle = samples[0, samples.shape[1] // 2]
    share = middle[2] / 0.2
    np.testing.assert_allclose(middle[:2], 0.3 * np.array([np.cos(share * angle), np.sin(share * angle)]), atol=1e-12)


def test_a_great_circle_on_a_sphere():
    surface = WrapSphere("s", "ground", radius=0.5)
    a, b = np.array([[0.5, 0.0, 0.0]]), np.array([[0.0, 0.3, 0.4]])
    samples = arc(surface, a, b, b - a, b - a)
    np.testing.assert_allclose(np.linalg.norm(samples, axis=2), 0.5, rtol=1e-12)
    np.testing.assert_allclose(samples @ np.cross(a[0], b[0]), 0.0, atol=1e-12)
    assert arc_length(samples, a, b)[0] == pytest.approx(0.5 * np.pi / 2, rel=CHORDS)


def test_an_ellipsoid_of_equal_axes_is_a_sphere_and_an_equator_is_a_geodesic():
    a, b = np.array([[0.5, 0.0, 0.0]]), np.array([[0.0, 0.3, 0.4]])
    ball = arc(WrapEllipsoid("e", "ground", semi_axes=(0.5, 0.5, 0.5)), a, b, b - a, b - a)
    np.testing.assert_allclose(np.linalg.norm(ball, axis=2), 0.5, rtol=1e-6)
    np.testing.assert_allclose(ball @ np.cross(a[0], b[0]), 0.0, atol=1e-9)
    # in a plane of symmetry the geodesic stays in the plane
    a, b = np.array([[0.4, 0.0, 0.0]]), np.array([[0.0, 0.2, 0.0]])
    samples = arc(WrapEllipsoid("e", "ground", semi_axes=(0.4, 0.2, 0.1)), a, b, b - a, b - a)
    np.testing.assert_allclose(samples[..., 2], 0.0, atol=1e-12)
    np.testing.assert_allclose((samples[..., 0] / 0.4) ** 2 + (samples[..., 1] / 0.2) ** 2, 1.0, atol=1e-6)


def test_arcs_on_an_ellipsoid_are_geodesics():
    """Off the planes of symmetry: the curve bends along the surface's normal only, and its samples are even."""
    axes = np.array([0.4, 0.25, 0.15])
    a, b = (axes * x / np.linalg.norm(x) for x in (np.array([[1.0, 0.2, 0.3]]), np.array([[-0.3, 0.9, 0.5]])))
    samples = arc(WrapEllipsoid("e", "ground", semi_axes=tuple(axes)), a, b, b - a, b - a)
    whole = np.concatenate([a, samples[0], b])
    pieces = np.diff(whole, axis=0)
    gaps = np.linalg.norm(pieces, axis=1)
    assert gaps.max() < 1.02 * gaps.min()
    along = pieces / gaps[:, None]
    normal = samples[0] / axes**2
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    bend = np.diff(along, axis=0)
    sideways = np.einsum("ni,ni->n", bend, np.cross(normal, along[1:] + along[:-1]) / 2.0)
    assert np.abs(sideways).max() < 0.02 * np.linalg.norm(bend, axis=1).max()


def test_around_the_tube_of_a_torus():
    """In a plane through the axis the way is a circle about the tube's centre."""
    surface = WrapTorus("t", "ground", inner_radius=0.1, outer_radius=0.5)
    a, b = np.array([[0.5, 0.0, 0.1]]), np.array([[0.4, 0.0, 0.0]])
    samples = arc(surface, a, b, np.array([[-1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, -1.0]]))
    np.testing.assert_allclose(samples[..., 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(np.hypot(samples[..., 0] - 0.5, samples[..., 2]), 0.1, rtol=1e-9)
    assert arc_length(samples, a, b)[0] == pytest.approx(0.1 * np.pi / 2, rel=CHORDS)


def lengths_of(lines):
    lengths = np.linalg.norm(np.diff(lines.points, axis=1), axis=2)
    return np.stack(
        [lengths[:, lines.first[k] : lines.first[k + 1] - 1].sum(axis=1) for k in range(len(lines.names))], axis=1
    )


def test_drawn_paths_are_as_long_as_the_muscles():
    """The law that ties drawing to mechanics: over cylinders and ellipsoids, engaged and not, lengths agree."""
    arm, rng = demo.arm(), np.random.default_rng(3)
    q = rng.uniform([-0.5, 0.0], [1.5, 2.2], size=(60, 2))
    paths = muscle_geometry(arm, q)
    lines = polylines(paths.path_points, kinematics(arm, q))
    assert (np.unique(lines.layout, axis=0).shape[0]) > 1  # contacts come and go
    # a penalty is no path
    np.testing.assert_allclose(lengths_of(lines), paths.length - paths.penalty, rtol=CHORDS + TAUT)
    # a chord cuts an arc short and never makes it longer
    assert (lengths_of(lines) <= paths.length * (1 + 1e-9)).all()


def test_drawn_paths_of_a_model_with_many_wraps(data_folder):
    """Forty cylinders of Rajagopal's model."""
    model = musculo.read_osim(data_folder / "rajagopal_walk" / "subject_walk_scaled.osim")
    motion = musculo.read_storage(data_folder / "oracle" / "rajagopal_walk" / "ik.mot").coordinates(model)[::8]
    paths = muscle_geometry(model, motion)
    lines = polylines(paths.path_points, kinematics(model, motion))
    np.testing.assert_allclose(lengths_of(lines), paths.length, rtol=CHORDS)


def test_straight_paths_are_those_of_a_model_without_surfaces(data_folder):
    """Points that move and points that count at some angles only, of gait2392."""
    model = musculo.read_osim(data_folder / "gait2392" / "subject01_simbody.osim")
    kinds = {type(point).__name__ for muscle in model.muscles for point in muscle.path.points}
    assert {"ConditionalPathPoint", "MovingPathPoint"} <= kinds
    bare = model.replace(
        forces=tuple(replace(f, path=replace(f.path, wraps=())) if f.path else f for f in model.forces)
    )
    q = np.random.default_rng(7).uniform(-1.0, 1.0, (40, len(model.coordinates)))
    points, lost = straight_paths(kinematics(model, q), q)
    expected = muscle_geometry(bare, q, like="opensim")
    assert (points.names, lost) == (expected.names, ())
    np.testing.assert_allclose(straight_lengths(points), expected.length, rtol=1e-12)
    lines = polylines(points, kinematics(model, q))
    np.testing.assert_allclose(lengths_of(lines), expected.length, rtol=1e-12)


def test_a_straight_scene_says_so():
    arm, arm_motion = demo.arm(), demo.arm_flexion()
    bare = arm.replace(forces=tuple(replace(f, path=replace(f.path, wraps=())) if f.path else f for f in arm.forces))
    told = {name: view(m, arm_motion, wrapping="straight").notes for name, m in (("arm", arm), ("bare", bare))}
    assert [any("straight through" in note for note in told[name]) for name in ("arm", "bare")] == [True, False]
    assert not any("straight through" in note for note in view(arm, arm_motion).notes)
    with pytest.raises(InvalidInput, match="wrapping 'crooked'"):
        view(arm, arm_motion, wrapping="crooked")
