"""Every wrap surface, side and method against a running OpenSim, on random segments; and several wraps on one path.

Nothing is excused by a share of cases. A case may differ only where OpenSim does not hold its own answer: it must move
by as much when the path's points move by a rounding unit (`unheld`). Of 133,120 random cases (seeds 106 to 121) three
lengths are such, and nine more speeds or moment arms, by up to 4e-5; `LISTED` names those of the seeds that run here:

- AXIAL: an ellipsoid with method "axial" and a quadrant along the axis that the path follows. OpenSim mirrors the
  plane's third point if its coordinate on that axis has the wrong sign; the coordinate is zero, but for rounding.
  Two flat ellipsoids on one path, semi-axes as 20 to 1, show it more: of 18,000 lengths (`flat_pairs`, seeds 1 to 10),
  6000 of them axial, 59 differ by more than 1e-7 m, all axial; most by 1e-6 m, a few by up to 0.11 m, where the path
  turns round the other way. OpenSim's own move by as much, or become NaN, when points move by 3e-16 m. Without
  quadrants none of 7200 does (seeds 1, 2, 5 and 10): the largest difference is 1e-12 m.
- DIVERGED: several wraps whose tangency iteration (cylinder recipe, step 8) runs away, to paths of many metres.

- ON_SURFACE: an end exactly on a cylinder whose quadrant is along its own axis (`test_ends_in_planes_of_symmetry`).

Tori are not asked on a grid: a segment parallel to the tube there leaves the side to the last digits of OpenSim's
rotation matrix. A segment parallel to a cylinder's axis reads memory that OpenSim has not set.

python test_wrap_live.py MODEL.osim STATES.npz OUT.npz      the OpenSim side, in a process of its own
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, write_osim
from musculo.model.force import Force
from musculo.model.joints import FreeJoint
from musculo.model.model_path import ConditionalPathPoint, PathPoint, PathWrap
from musculo.model.model_path import Path as MusclePath
from musculo.model.wrap import QUADRANTS, WrapCylinder, WrapEllipsoid, WrapSphere, WrapTorus
from musculo.muscle.paths.geometry import path_geometry
from support.opensim_server import in_opensim

# Closed recipes leave rounding, divided by a small angle at worst.
CLOSED = 1e-10
# Iterations that stop early (ellipsoid, torus, tangency of several wraps) multiply rounding. [m; m/s; m]
ITERATED = 1e-7
# How far points are moved to see whether OpenSim holds an answer [m], how often, and which part of a difference its
# own movement must show.
ROUNDING_UNIT, TRIALS, SHOWN = 3e-16, 60, 0.5
AXIAL, DIVERGED = "sign of a rounded zero on the ellipsoid's axis", "tangency iteration runs away"
ON_SURFACE = "an end on the surface, and a quadrant along the cylinder's own axis"
# (seed, path, pose): why OpenSim has no answer of its own there.
LISTED = {
    (107, "ellipsoid_px_axial_3", 11): AXIAL,
    (107, "ellipsoid_py_axial_0", 2): AXIAL,
    (107, "ellipsoid_my_axial_3", 13): AXIAL,
    (109, "ellipsoid_mz_axial_1", 13): AXIAL,
    (104, "several_42", 12): DIVERGED,
    (110, "several_44", 12): DIVERGED,
    (0, "cylinder_mz_4", 0): ON_SURFACE,
}
SIDES = tuple(q for q in QUADRANTS if q not in ("x", "y", "z"))
POSES = 20
KINDS = ("cylinder", "sphere", "ellipsoid", "torus")
COORDINATES = ("rx", "ry", "rz", "tx", "ty", "tz")


# --- the OpenSim side -------------------------------------------------------------------------------------------------
def opensim_side(model_file: str, states_file: str, out_file: str) -> None:
    import opensim

    opensim.Logger.setLevelString("off")

    def load():
        model = opensim.Model(model_file)
        state = model.initSystem()
        group = model.getForceSet()
        forces = [opensim.PathActuator.safeDownCast(group.get(i)) for i in range(group.getSize())]
        return model, state, forces, [model.getCoordinateSet().get(name) for name in COORDINATES]

    model, state, forces, coordinates = load()
    names = [f.getName() for f in forces]
    states = np.load(states_file)
    length, speed, arms = [], [], []
    for q, u in zip(states["q"], states["u"], strict=True):
        for c, value in zip(coordinates, q, strict=True):
            c.setValue(state, float(value), False)
        for c, value in zip(coordinates, u, strict=True):
            c.setSpeedValue(state, float(value))
        model.realizeVelocity(state)
        length.append([number(f.getLength, state) for f in forces])
        speed.append([number(f.getLengtheningSpeed, state) for f in forces])
        arms.append([[number(f.computeMomentArm, state, c) for c in coordinates] for f in forces])
        if np.isnan(arms[-1]).any():
            # a path whose moment arm was once not a number (coincident points) has none in any later pose
            model, state, forces, coordinates = load()
    np.savez(out_file, names=names, length=length, speed=speed, moment_arm=arms)


def number(ask, *arguments):
    """What OpenSim answers; not a number where it throws (it meets singular matrices)."""
    try:
        return ask(*arguments)
    except RuntimeError:
        return np.nan


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


def flat_pairs(rng):
    """Two ellipsoids one after the other, as flat or long as 20 to 1, by each method."""
    forces, surfaces = [], []
    for method in ("axial", "midpoint", "hybrid"):
        for i in range(30):
            name, wraps = f"flat_{method}_{i}", []
            points = random_points(rng, name)
            start, along = np.array(points[0].location), np.subtract(points[1].location, points[0].location)
            for j in range(2):
                axes = 0.06 * np.array([1.0, rng.uniform(0.05, 1.0), rng.uniform(0.05, 1.0)])
                place = start + (j + 1) / 3 * along + rng.uniform(-0.01, 0.01, 3)
                surface = WrapEllipsoid(
                    f"{name}_surface_{j}",
                    str(rng.choice(["ground", "arm"])),
                    translation=tuple(place),
                    orientation=tuple(rng.uniform(-1.5, 1.5, 3)),
                    quadrant=str(rng.choice(SIDES)),
                    semi_axes=tuple(rng.permutation(axes)),
                )
                surfaces.append(surface)
                wraps.append(PathWrap(f"wrap{j}", surface.name, method))
            forces.append(actuator(name, points, tuple(wraps)))
    return forces, surfaces


def flat_pairs_all_round(rng):
    """The same without quadrants."""
    forces, surfaces = flat_pairs(rng)
    return forces, [replace(surface, quadrant="all") for surface in surfaces]


def both_sides(folder: Path, forces, surfaces, seed, poses=POSES, only=slice(None)):
    """The same model here and in OpenSim: (geometry, OpenSim's arrays in our order of paths)."""
    body = Body("arm", 1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01, 0.0, 0.0, 0.0))
    joint = FreeJoint("free", Placement("ground"), Placement("arm"), tuple(Coordinate(n) for n in COORDINATES))
    model = Model("wraps", (body,), (joint,), wrap_objects=tuple(surfaces), forces=tuple(forces))
    rng = np.random.default_rng(seed + 1000)
    q = rng.uniform(-1.0, 1.0, (poses, 6)) * [0.3, 0.3, 0.3, 0.03, 0.03, 0.03]
    u = rng.normal(size=(poses, 6))
    q, u = q[only], u[only]
    np.savez(folder / "states.npz", q=q, u=u)
    assert not write_osim(model, folder / "model.osim")
    in_opensim(opensim_side, *(str(folder / n) for n in ("model.osim", "states.npz", "out.npz")))
    theirs = dict(np.load(folder / "out.npz"))
    ours = path_geometry(model, q, u, like="opensim")
    assert list(theirs["names"]) == list(ours.names)
    return ours, theirs


QUANTITIES = ("length", "speed", "moment_arm")


class Comparison:
    """Both sides of one set of random paths, and how OpenSim's own answers move where they differ."""

    def __init__(self, folder: Path, make, seed: int, poses: int = POSES) -> None:
        self.folder, self.seed, self.poses = folder, seed, poses
        self.forces, self.surfaces = make(np.random.default_rng(seed))
        self.ours, self.theirs = both_sides(folder, self.forces, self.surfaces, seed, poses)

    def differences(self, kinds, allowed) -> dict:
        """(path, pose) of those that differ by more than allowed, with the difference of each quantity."""
        found = {}
        for k, name in enumerate(self.ours.names):
            if name.startswith(kinds):
                for pose in range(self.poses):
                    apart = self.apart(k, pose)
                    if max(apart.values()) > allowed:
                        found[name, pose] = apart
        return found

    def apart(self, k: int, pose: int) -> dict:
        """Not a number on one side only is infinitely far; without a length there is nothing else to compare."""
        if np.isnan(self.ours.length[pose, k]) and np.isnan(self.theirs["length"][pose, k]):
            return dict.fromkeys(QUANTITIES, 0.0)
        found = {}
        for q in QUANTITIES:
            ours, theirs = np.ravel(getattr(self.ours, q)[pose, k]), np.ravel(self.theirs[q][pose, k])
            same = np.isnan(ours) & np.isnan(theirs)
            found[q] = float(np.nan_to_num(np.abs(ours - theirs), nan=np.inf)[~same].max(initial=0.0))
        return found

    def unheld(self, kinds, allowed=ITERATED) -> None:
        """Every difference is one of a case that OpenSim itself does not hold."""
        for (name, pose), apart in self.differences(kinds, allowed).items():
            why = LISTED.get((self.seed, name, pose), "not listed")
            moves = movement(self.folder, self.forces, self.surfaces, self.seed, name, pose, self.poses)
            for q in QUANTITIES:
                if apart[q] > allowed:
                    assert moves[q] > SHOWN * min(apart[q], 1e300), (
                        f"{name}, pose {pose} ({why}): {q} {apart[q]}, OpenSim's own {moves[q]}"
                    )


def movement(folder: Path, forces, surfaces, seed: int, name: str, pose: int, poses: int = POSES) -> dict:
    """How far each of OpenSim's answers moves when the points of a path move by a rounding unit."""
    force = next(f for f in forces if f.name == name)
    used = {wrap.wrap_object for wrap in force.path.wraps}
    rng = np.random.default_rng(0)
    moved = [force]
    for i in range(TRIALS):
        shift = rng.uniform(-ROUNDING_UNIT, ROUNDING_UNIT, (len(force.path.points), 3))
        pairs = zip(force.path.points, shift, strict=True)
        points = tuple(replace(p, location=tuple(np.array(p.location) + d)) for p, d in pairs)
        moved.append(replace(force, name=f"{name}_{i}", path=replace(force.path, points=points)))
    _, theirs = both_sides(folder, moved, [s for s in surfaces if s.name in used], seed, poses, slice(pose, pose + 1))
    found = {}
    for q in QUANTITIES:
        lost = np.isnan(theirs[q][0])
        # a number here and none there is as far as it gets
        turns = bool((lost.any(axis=0) & ~lost.all(axis=0)).any())
        found[q] = np.inf if turns else float(np.nanmax(np.abs(theirs[q][0] - theirs[q][0, 0])))
    return found


@pytest.fixture(scope="module", params=(3, 107))
def single(request, tmp_path_factory):
    pytest.importorskip("opensim")
    return Comparison(tmp_path_factory.mktemp("single"), single_wraps, request.param)


@pytest.fixture(scope="module", params=(5, 104))
def several(request, tmp_path_factory):
    pytest.importorskip("opensim")
    return Comparison(tmp_path_factory.mktemp("several"), several_wraps, request.param)


@pytest.mark.parametrize("kind", KINDS)
def test_one_surface_is_wrapped_as_in_opensim(single, kind):
    """Lengths, speeds and moment arms, all sides and methods; most segments do wrap."""
    ours = single.ours
    of_kind = [name for name in ours.names if name.startswith(kind)]
    touched = np.mean([any(ours.path_points.of(name, f)[1]) for name in of_kind for f in range(POSES)])
    assert touched > 0.3
    if kind in ("cylinder", "sphere"):
        assert not single.differences(kind, CLOSED)
    else:
        single.unheld(kind)


def test_several_surfaces_are_wrapped_as_in_opensim(several):
    several.unheld("several")


def test_flat_ellipsoids_are_wrapped_as_in_opensim(tmp_path):
    """Two of them on a path; what differs is what OpenSim does not hold, and there is none without quadrants."""
    pytest.importorskip("opensim")
    made = Comparison(tmp_path, flat_pairs, 6)
    assert all("axial" in name for name, _ in made.differences("flat", ITERATED))
    made.unheld("flat")
    assert not Comparison(tmp_path, flat_pairs_all_round, 6).differences("flat", ITERATED)


@pytest.mark.parametrize("case", LISTED, ids=lambda case: f"{case[0]}-{case[1]}-{case[2]}")
def test_listed_cases_are_those_that_opensim_does_not_hold(case, tmp_path):
    """Each is in the list because OpenSim's own length or moment arm jumps when points move by a rounding unit."""
    pytest.importorskip("opensim")
    seed, name, pose = case
    rng = np.random.default_rng(seed)
    if seed == 0:
        made = on_grid(rng, name.split("_")[0])
    else:
        made = several_wraps(rng) if name.startswith("several") else single_wraps(rng)
    moves = movement(tmp_path, *made, seed, name, pose)
    assert max(moves.values()) > ITERATED


# --- planes of symmetry -----------------------------------------------------------------------------------------------
GRID = (-0.15, -0.1, -0.05, 0.0, 0.0, 0.05, 0.1, 0.15)
# The arc of a segment that grazes is the arc cosine of one: half the digits are left [m].
GRAZING = 1e-8


def on_grid(rng, kind):
    """Surfaces that sit straight in ground, with ends in their planes of symmetry, on them and at their heights."""
    forces, surfaces = [], []
    for side in SIDES:
        for i in range(60):
            a, b = (tuple(float(x) for x in rng.choice(GRID, 3)) for _ in range(2))
            name, method = f"{kind}_{side.replace('+', 'p').replace('-', 'm')}_{i}", "hybrid"
            size = float(rng.choice([0.04, 0.05, 0.07]))
            if kind == "cylinder":
                surface = WrapCylinder(
                    f"{name}_s", "ground", quadrant=side, radius=size, length=float(rng.choice([0.2, 0.3, 1.0]))
                )
            elif kind == "sphere":
                surface = WrapSphere(f"{name}_s", "ground", quadrant=side, radius=size)
            else:
                axes = tuple(float(x) for x in rng.choice([0.04, 0.05, 0.07], 3))
                surface = WrapEllipsoid(f"{name}_s", "ground", quadrant=side, semi_axes=axes)
                method = str(rng.choice(["hybrid", "midpoint", "axial"]))
            surfaces.append(surface)
            points = (PathPoint(f"{name}-a", "ground", a), PathPoint(f"{name}-b", "ground", b))
            end = PathPoint(f"{name}-c", "arm", (0.5, 0.01, 0.02))
            forces.append(actuator(name, (*points, end), (PathWrap("wrap", surface.name, method, (1, 2)),)))
    return forces, surfaces


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("kind", ["cylinder", "sphere", "ellipsoid"])
def test_ends_in_planes_of_symmetry(kind, seed, tmp_path):
    """Where ends lie on a surface, at its height or in its planes, branches hang on rounding, and ours is the same."""
    pytest.importorskip("opensim")
    made = Comparison(tmp_path, lambda rng: on_grid(rng, kind), seed, poses=1)
    made.unheld(kind, GRAZING)
    assert sum(any(made.ours.path_points.of(name)[1]) for name in made.ours.names) > 40
