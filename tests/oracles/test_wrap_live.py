"""Every wrap surface, side and method against a running OpenSim, on random segments; and several wraps on one path.

python test_wrap_live.py MODEL.osim STATES.npz OUT.npz      the OpenSim side, in a process of its own
"""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, write_osim
from musculo.model.force import Force
from musculo.model.joints import FreeJoint
from musculo.model.path import ConditionalPathPoint, PathPoint, PathWrap
from musculo.model.path import Path as MusclePath
from musculo.model.wrap import QUADRANTS, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.muscle.geometry import path_geometry

# Closed recipes leave rounding, divided by a small angle at worst.
CLOSED = 1e-10
# Iterations that stop early (ellipsoid, torus, tangency of several wraps) multiply rounding. In one of some hundred
# cases they end where nothing holds them (a residual without a root), and OpenSim's own answer is rounding at work.
ITERATED = 1e-7
UNHELD_SHARE, UNHELD = 0.01, 1e-3
SIDES = tuple(q for q in QUADRANTS if q not in ("x", "y", "z"))
POSES = 5
KINDS = ("cylinder", "sphere", "ellipsoid", "torus")
COORDINATES = ("rx", "ry", "rz", "tx", "ty", "tz")


# --- the OpenSim side -------------------------------------------------------------------------------------------------
def opensim_side(model_file: str, states_file: str, out_file: str) -> None:
    import opensim

    opensim.Logger.setLevelString("off")
    model = opensim.Model(model_file)
    state = model.initSystem()
    group = model.getForceSet()
    forces = [opensim.PathActuator.safeDownCast(group.get(i)) for i in range(group.getSize())]
    coordinates = [model.getCoordinateSet().get(name) for name in COORDINATES]
    states = np.load(states_file)
    length, speed, arms = [], [], []
    for q, u in zip(states["q"], states["u"], strict=True):
        for c, value in zip(coordinates, q, strict=True):
            c.setValue(state, float(value), False)
        for c, value in zip(coordinates, u, strict=True):
            c.setSpeedValue(state, float(value))
        model.realizeVelocity(state)
        length.append([f.getLength(state) for f in forces])
        speed.append([f.getLengtheningSpeed(state) for f in forces])
        arms.append([[f.computeMomentArm(state, c) for c in coordinates] for f in forces])
    names = [f.getName() for f in forces]
    np.savez(out_file, names=names, length=length, speed=speed, moment_arm=arms)


# --- random models ----------------------------------------------------------------------------------------------------
def random_direction(rng):
    v = rng.normal(size=3)
    return v / np.linalg.norm(v)


def random_surface(rng, kind, name, side):
    """On ground or on the body, anywhere within a few centimetres, turned at random."""
    place = {
        "frame": str(rng.choice(["ground", "arm"])),
        "translation": tuple(rng.uniform(-0.02, 0.02, 3)),
        "orientation": tuple(rng.uniform(-1.5, 1.5, 3)),
        "quadrant": side,
    }
    size = rng.uniform(0.03, 0.06)
    if kind == "cylinder":
        return WrapCylinder(name, **place, radius=size, length=rng.uniform(0.1, 0.6))
    if kind == "sphere":
        return WrapSphere(name, **place, radius=size)
    if kind == "torus":
        return WrapTorus(name, **place, inner_radius=0.4 * size, outer_radius=1.5 * size)
    return WrapEllipsoid(name, **place, semi_axes=tuple(size * rng.uniform(0.6, 1.5, 3)))


def random_points(rng, name, inner=0):
    """Ends on both sides of the origin, one fixed to ground and one to the body, and points between them."""
    across = random_direction(rng)
    a = 0.12 * across + rng.uniform(-0.04, 0.04, 3)
    b = -0.12 * across + rng.uniform(-0.04, 0.04, 3)
    points = [PathPoint(f"{name}-a", "ground", tuple(a))]
    for i in range(inner):
        middle = a + (i + 1) / (inner + 1) * (b - a) + rng.uniform(-0.05, 0.05, 3)
        if rng.uniform() < 0.5:
            points.append(PathPoint(f"{name}-{i}", "ground", tuple(middle)))
        else:
            points.append(
                ConditionalPathPoint(f"{name}-{i}", "arm", tuple(middle), coordinate="rx", range=(-0.2, 0.05))
            )
    return (*points, PathPoint(f"{name}-b", "arm", tuple(b)))


def actuator(name, points, wraps):
    return Force(name, "PathActuator", path=MusclePath(points, wraps))


def single_wraps(rng):
    forces, surfaces = [], []
    for kind in KINDS:
        methods = ("hybrid", "midpoint", "axial") if kind == "ellipsoid" else ("hybrid",)
        for side in SIDES:
            for method in methods:
                for i in range(4 if len(methods) > 1 else 12):
                    name = f"{kind}_{side.replace('+', 'p').replace('-', 'm')}_{method}_{i}"
                    surfaces.append(random_surface(rng, kind, f"{name}_surface", side))
                    wrap = PathWrap("wrap", surfaces[-1].name, method)
                    forces.append(actuator(name, random_points(rng, name, inner=i % 2), (wrap,)))
    return forces, surfaces


def several_wraps(rng):
    """Two or three surfaces of any kinds and sides, some with a range of points, one in ten switched off."""
    forces, surfaces = [], []
    for i in range(80):
        name, wraps, count = f"several_{i}", [], int(rng.integers(0, 3))
        points = random_points(rng, name, count)
        for j in range(int(rng.integers(2, 4))):
            kind, side = str(rng.choice(KINDS)), str(rng.choice(SIDES))
            surface = random_surface(rng, kind, f"{name}_surface_{j}", side)
            surfaces.append(replace(surface, active=rng.uniform() > 0.1))
            span = (-1, -1) if rng.uniform() < 0.5 else (1, int(rng.integers(2, len(points) + 1)))
            wraps.append(PathWrap(f"wrap{j}", surfaces[-1].name, "hybrid", span))
        forces.append(actuator(name, points, tuple(wraps)))
    return forces, surfaces


def both_sides(folder: Path, forces, surfaces, seed):
    """The same model here and in OpenSim: (geometry, OpenSim's arrays in our order of paths)."""
    body = Body("arm", 1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    joint = FreeJoint("free", Placement("ground"), Placement("arm"), tuple(Coordinate(n) for n in COORDINATES))
    model = Model("wraps", (body,), (joint,), wrap_objects=tuple(surfaces), forces=tuple(forces))
    rng = np.random.default_rng(seed)
    q = rng.uniform(-1.0, 1.0, (POSES, 6)) * [0.3, 0.3, 0.3, 0.03, 0.03, 0.03]
    u = rng.normal(size=(POSES, 6))
    np.savez(folder / "states.npz", q=q, u=u)
    assert not write_osim(model, folder / "model.osim")
    command = [sys.executable, __file__, *(str(folder / n) for n in ("model.osim", "states.npz", "out.npz"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    theirs = dict(np.load(folder / "out.npz"))
    ours = path_geometry(model, q, u, wrapping="opensim")
    assert list(theirs["names"]) == list(ours.names)
    return ours, theirs


def assert_same(ours, theirs, allowed, what):
    """Equal within `allowed` (but for a share of iterated cases), and not a number in the same places."""
    assert np.array_equal(np.isnan(ours), np.isnan(theirs)), what
    difference = np.nan_to_num(np.abs(ours - theirs))
    wrong = difference > allowed
    limit = 0.0 if allowed == CLOSED else UNHELD_SHARE
    assert wrong.mean() <= limit, f"{what}: {wrong.sum()} of {wrong.size}, largest {difference.max()}"
    assert difference.max() < max(allowed, UNHELD), f"{what}: {difference.max()}"


@pytest.fixture(scope="module")
def single(tmp_path_factory):
    pytest.importorskip("opensim")
    return both_sides(tmp_path_factory.mktemp("single"), *single_wraps(np.random.default_rng(3)), 4)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    pytest.importorskip("opensim")
    return both_sides(tmp_path_factory.mktemp("several"), *several_wraps(np.random.default_rng(5)), 6)


@pytest.mark.parametrize("kind", KINDS)
def test_one_surface_is_wrapped_as_in_opensim(single, kind):
    """Lengths, speeds and moment arms, all sides and methods; most segments do wrap."""
    ours, theirs = single
    of_kind = [k for k, name in enumerate(ours.names) if name.startswith(kind)]
    touched = np.mean([any(ours.path_points.of(ours.names[k], f)[1]) for k in of_kind for f in range(POSES)])
    assert touched > 0.3
    allowed = CLOSED if kind in ("cylinder", "sphere") else ITERATED
    for name in ("length", "speed", "moment_arm"):
        assert_same(getattr(ours, name)[:, of_kind], theirs[name][:, of_kind], allowed, f"{kind} {name}")


def test_several_surfaces_are_wrapped_as_in_opensim(several):
    ours, theirs = several
    for name in ("length", "speed", "moment_arm"):
        assert_same(getattr(ours, name), theirs[name], ITERATED, name)


if __name__ == "__main__":
    opensim_side(*sys.argv[1:])
