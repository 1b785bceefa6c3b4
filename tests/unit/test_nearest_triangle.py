"""The nearest point of a mesh: a search through boxes against every triangle in turn."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.forces.contact_foundation import Foundations
from musculo.kernels.contact.nearest_triangle import nearest_of_mesh, nearest_on_triangle
from support.force_models import ball_mesh, contact, foundations


@pytest.fixture(scope="module")
def meshes(tmp_path_factory):
    """Two meshes, one behind the other, the second with more triangles than a box holds many times over."""
    folder = tmp_path_factory.mktemp("meshes")
    model = foundations(folder).replace(source=str(folder / "model.osim"))
    (folder / "nut.obj").write_text(ball_mesh(12, 18, (0.2, 0.35, 0.1)))
    force = contact("c", "ElasticFoundationForce", ("egg", 1e6, 0, 0, 0, 0), ("nut", 1e6, 0, 0, 0, 0))
    return Foundations(model, [force]).meshes


def in_turn(p, meshes, m):
    """The first of the triangles that are nearest."""
    best = (np.inf, -1, None)
    for k in range(meshes.first[m], meshes.first[m + 1]):
        a, b, c = (tuple(map(float, corner)) for corner in meshes.corners[k].reshape(3, 3))
        x = nearest_on_triangle(p, a, b, c)
        distance = float(np.sum(np.subtract(p, x) ** 2))
        if distance < best[0]:
            best = (distance, k, x)
    return best


def test_boxes_hold_their_triangles(meshes):
    for m in range(2):
        first, end = meshes.first_box[m], meshes.first_box[m + 1]
        assert end - first > 20
        mine = []
        for i in range(first, end):
            begin, count = meshes.held[i]
            inside = [meshes.held[j] for j in range(i, meshes.past[i])]
            all_of = [k for start, n in inside for k in meshes.order[start : start + n]]
            corners = meshes.corners[all_of].reshape(-1, 3)
            np.testing.assert_array_equal(meshes.box[i], [*corners.min(axis=0), *corners.max(axis=0)])
            mine += meshes.order[begin : begin + count].tolist()
        assert sorted(mine) == list(range(meshes.first[m], meshes.first[m + 1]))


@pytest.mark.parametrize("m", [0, 1])
def test_the_search_finds_what_looking_at_all_finds(meshes, m):
    """At points inside, outside, far away, in corners and on edges, whatever triangle is tried first."""
    rng = np.random.default_rng(4)
    corners = meshes.corners[meshes.first[m] : meshes.first[m + 1]].reshape(-1, 3, 3)
    some = corners[rng.integers(0, len(corners), 12)]
    # beside the planes of symmetry, on which two points are equally near
    within = 0.6 * some[:, 2] + rng.uniform(-0.01, 0.01, (12, 3))
    points = np.concatenate([rng.uniform(-0.4, 0.4, (40, 3)), 3.0 * rng.normal(size=(4, 3)), some[:, 0],
                             0.5 * (some[:, 0] + some[:, 1]), 1.3 * some[:, 1], within])  # fmt: skip
    sides = set()
    for point in points:
        p = tuple(map(float, point))
        distance, k, x = in_turn(p, meshes, m)
        behind = float(np.dot(np.subtract(p, x), meshes.normal[k])) < 0.0
        for guess in (-1, int(meshes.first[m]), int(meshes.first[m + 1]) - 1, k):
            found, side, at = nearest_of_mesh(p, meshes, m, guess)
            np.testing.assert_allclose(np.sum(np.subtract(p, found) ** 2), distance, rtol=1e-12, atol=1e-30)
            np.testing.assert_allclose(found, x, rtol=0, atol=1e-12)
            # triangles that share an edge or a corner are equally near up to rounding
            touching = abs(float(np.dot(np.subtract(p, x), meshes.normal[at] - meshes.normal[k]))) < 1e-12
            assert at == k or touching or distance < 1e-24 or shared(meshes, at, x)
            if at == k:
                assert side == behind
        sides.add(behind)
    assert sides == {True, False}


def shared(meshes, k, x) -> bool:
    """Whether a point is on an edge of a triangle, which another one has, too."""
    a, b, c = meshes.corners[k].reshape(3, 3)
    ends = ((a, b), (b, c), (c, a))
    return min(np.linalg.norm(np.cross(q - p, x - p)) / np.linalg.norm(q - p) for p, q in ends) < 1e-12
