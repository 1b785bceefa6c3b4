"""Lengths of taut paths against OpenSim's Scholz2015GeometryPath, which follows the same geodesics by other means.

OpenSim runs in a process of its own: this file, as a script, reads cases and prints lengths.
"""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from support.opensim_server import in_opensim

# OpenSim stops at kinks of 1e-5 rad, which are worth 1e-10 of the length.
LENGTH = 1e-7
KINDS = ("cylinder", "sphere", "ellipsoid", "torus")


def opensim_length(case):
    """Length of one path in OpenSim [m]."""
    import opensim

    model = opensim.Model()
    ground = model.getGround()
    path_obstacles = []
    for k, obstacle in enumerate(case["obstacles"]):
        angles = opensim.Vec3(*Rotation.from_matrix(obstacle["R"]).as_euler("XYZ").tolist())
        p, size = opensim.Vec3(*obstacle["p"]), obstacle["size"]
        if obstacle["kind"] == "cylinder":
            surface = opensim.ContactCylinder(size[0], p, angles, ground)
        elif obstacle["kind"] == "sphere":
            surface = opensim.ContactSphere(size[0], p, ground)
        elif obstacle["kind"] == "ellipsoid":
            surface = opensim.ContactEllipsoid(opensim.Vec3(*size), p, angles, ground)
        else:
            surface = opensim.ContactTorus(size[1], size[0], p, angles, ground)
        surface.setName(f"surface{k}")
        model.addContactGeometry(surface)
        path_obstacles.append((surface, obstacle["hint"]))
    spring = opensim.PathSpring("spring", 0.1, 1.0, 0.0)
    spring.set_path(opensim.Scholz2015GeometryPath())
    model.addForce(spring)
    path = opensim.Scholz2015GeometryPath.safeDownCast(spring.updPath())
    path.appendPathPoint(ground, opensim.Vec3(*case["start"]))
    for surface, hint in path_obstacles:
        path.appendObstacle(surface, opensim.Vec3(*hint))
    path.appendPathPoint(ground, opensim.Vec3(*case["end"]))
    state = model.initSystem()
    model.realizeVelocity(state)
    return spring.getLength(state)


def opensim_lengths(cases):
    return [opensim_length(case) for case in cases]


def random_case(kinds, rng):
    """Obstacles of centimetres along x, cylinders across the path, rings round it."""
    obstacles = []
    for k, kind in enumerate(kinds):
        size = rng.uniform(0.02, 0.05, 3)
        R = Rotation.random(rng=rng)
        shift = rng.normal(size=2) * 0.012
        tilt = Rotation.from_rotvec(0.3 * rng.normal(size=3))
        if kind == "sphere":  # OpenSim's has no orientation
            R = Rotation.identity()
        if kind == "cylinder":
            R = Rotation.from_rotvec([rng.uniform(0, 6.3), 0, 0]) * tilt
        if kind == "torus":
            size = np.array([rng.uniform(0.01, 0.025), 0.05, 0.0])
            R = Rotation.from_euler("y", 90, degrees=True) * tilt
            angle = rng.uniform(0, 6.3)
            shift = 0.05 * np.array([np.cos(angle), np.sin(angle)])
        p = np.array([0.15 * (k + 1), *shift])
        obstacles.append({"kind": kind, "size": size.tolist(), "R": R.as_matrix().tolist(), "p": p.tolist()})
    end = [0.15 * (len(kinds) + 1), *(0.02 * rng.normal(size=2))]
    return {"obstacles": obstacles, "start": [0.0, 0.0, 0.0], "end": end}


def ours(case):
    from support import geodesic_segments as gd
    from support.geodesic_segments import solve_segments

    obstacles = case["obstacles"]
    kind = np.array([KINDS.index(o["kind"]) for o in obstacles])
    surfaces = gd.Surfaces(kind, np.array([o["size"] for o in obstacles]))
    R, p = np.array([[o["R"] for o in obstacles]]), np.array([[o["p"] for o in obstacles]])
    length, status, G = solve_segments(surfaces, np.array([case["start"]]), np.array([case["end"]]), R, p)
    touching = bool((G[0, :, gd.CONTACT] > 0).all() and status[0] == gd.CONVERGED)
    for k, obstacle in enumerate(obstacles):
        # OpenSim is told the side by a point near the contact
        middle = 0.5 * (G[0, k, gd.FIRST : gd.FIRST + 3] + G[0, k, gd.LAST : gd.LAST + 3])
        obstacle["hint"] = (R[0, k].T @ (middle - p[0, k])).tolist()
    return length[0], touching


@pytest.mark.skipif(importlib.util.find_spec("opensim") is None, reason="OpenSim is not installed (extra: oracles)")
def test_single_and_double_obstacles():
    rng = np.random.default_rng(23)
    kinds = [(k,) for k in KINDS] + [(a, b) for a in KINDS for b in KINDS]
    cases, lengths = [], []
    for combination in kinds:
        found = 0
        while found < 4:
            case = random_case(combination, rng)
            length, touching = ours(case)
            if touching:
                found += 1
                cases.append(case)
                lengths.append(length)
    theirs = np.array(in_opensim(opensim_lengths, cases))
    difference = np.abs(theirs - lengths)
    worst = int(np.argmax(difference))
    names = [o["kind"] for o in cases[worst]["obstacles"]]
    assert difference[worst] < LENGTH, (names, difference[worst], np.count_nonzero(difference > LENGTH), len(cases))
