"""Paths over one ellipsoid or sphere with a quadrant: lengths that do not jump, their prices and their slopes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Muscle, Placement, path_geometry
from musculo.model import GimbalJoint, Path, PathPoint, PathWrap, WrapEllipsoid, WrapSphere
from musculo.muscle.geometry import STATUSES
from musculo.muscle.moment_arm_derivatives import moment_arm_derivatives
from support.rule_lengths import rule_length
from support.short_steps import JUMP, jumps, moment_arm_errors
from support.who_is_right import Court

# What the judge is good to, and more [m].
JUDGED = 1e-6
# Moment arms are exact slopes of the length, prices included.
SLOPE = 1e-9
# Derivatives of moment arms against differences of moment arms: steps of 1e-5, and their rounding.
DIFFERENCED = 1e-6
QUADRANTS = ("x", "-x", "y", "-y", "z", "-z")
OTHER_SIDE = STATUSES.index("other side")


def model_of(*muscles):
    """Muscles of (start in ground, end on an arm that turns freely, wrap object), one wrap each."""
    joint = GimbalJoint(
        "j", Placement("ground"), Placement("arm"), tuple(Coordinate(n, range=(-1.3, 1.3)) for n in ("rx", "ry", "rz"))
    )
    forces = tuple(
        Muscle(
            f"m{i}",
            "Millard2012EquilibriumMuscle",
            path=Path(
                (PathPoint(f"a{i}", "ground", start), PathPoint(f"b{i}", "arm", end)),
                (PathWrap(f"w{i}", surface.name),),
            ),
            min_control=0.01,
        )
        for i, (start, end, surface) in enumerate(muscles)
    )
    arm = Body("arm", 1.0, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0, 0.0, 0.0, 0.0))
    return Model("q", (arm,), (joint,), wrap_objects=tuple(s for *_, s in muscles), forces=forces)


def random_model(seed, kind):
    """Twelve muscles past surfaces with a quadrant each, ends now and then inside their surface."""
    rng = np.random.default_rng(seed)
    muscles = []
    for i in range(12):
        start, end = np.array([[0.0, 0.1, 0.0], [0.0, -0.12, 0.0]]) + rng.normal(0.0, 0.04, (2, 3))
        placed = {
            "name": f"s{i}",
            "frame": ("ground", "arm")[i % 2],
            "translation": tuple(rng.normal(0.0, 0.02, 3)),
            "orientation": tuple(rng.normal(0.0, 1.0, 3)),
            "quadrant": QUADRANTS[i % 6],
        }
        size = rng.uniform(0.02, 0.09, 3)
        if kind == "sphere":
            surface = WrapSphere(**placed, radius=size[0])
        else:
            surface = WrapEllipsoid(**placed, semi_axes=tuple(size))
        muscles.append((tuple(start), tuple(end), surface))
    return model_of(*muscles)


# A muscle whose shortest path leaves the quadrant's side while the straight line is on the wrong side: 44 mm were to
# pay from one pose to the next. The pose, and where it goes.
LEAVES = model_of(
    (
        (0.0092, 0.094, 0.0322),
        (-0.0184, -0.112, 0.0187),
        WrapEllipsoid(
            "s",
            "arm",
            translation=(0.0232, 0.0137, 0.0346),
            orientation=(0.3033, 0.6396, 0.3256),
            quadrant="z",
            semi_axes=(0.0323, 0.0727, 0.0812),
        ),
    )
)
AT = np.array([-0.3276465982019419, -0.5511302212242428, -0.5644430158244208])
ALONG = np.array([-0.620, 0.811, -1.008])


def test_a_path_leaves_its_side_while_the_line_is_on_the_other():
    steps = np.linspace(-0.05, 0.05, 2001)
    geometry = path_geometry(LEAVES, AT + steps[:, None] * ALONG)
    arms = geometry.moment_arm[:, 0] @ ALONG
    change = np.diff(geometry.length[:, 0]) + 0.5 * (arms[1:] + arms[:-1]) * np.diff(steps)
    # a kink of the length leaves half its step times the step of its slope
    assert np.abs(change).max() < 0.5 * np.diff(steps).max() * np.abs(np.diff(arms)).max() + 1e-9
    assert np.abs(np.diff(geometry.length[:, 0])).max() < 1e-4
    assert set(geometry.status[:, 0]) <= {0, OTHER_SIDE}


@pytest.mark.parametrize("kind", ["ellipsoid", "sphere"])
@pytest.mark.parametrize("seed", range(3))
def test_lengths_do_not_jump(kind, seed):
    found, lengths = jumps(random_model(seed, kind), 1500, 5e-3, np.random.default_rng(seed))
    assert lengths == 1500 * 12
    assert not [(jump.name, jump.size, jump.before) for jump in found if jump.size > JUMP]


def test_a_length_is_the_shortest_path_and_its_price():
    """Against the surface without a quadrant, of which the shortest path is the same, and against the judge."""
    model = random_model(7, "ellipsoid")
    free = replace(model, wrap_objects=tuple(replace(w, quadrant="all") for w in model.wrap_objects))
    q = np.random.default_rng(7).uniform(-1.2, 1.2, (40, 3))
    held, shortest = path_geometry(model, q), path_geometry(free, q)
    # the sum of length and price is rounded
    assert np.abs(held.length - held.price - shortest.length).max() < 1e-15
    assert not shortest.price.any()
    assert np.array_equal(held.price > 0.0, held.status == OTHER_SIDE)
    assert (held.price > 1e-3).sum() > 20
    court = Court(model, q)
    seen = 0
    for frame, k in np.argwhere(held.price > 1e-5)[::12]:
        judged = rule_length(court, held.names[k], int(frame))
        assert judged is not None
        assert abs(judged.price - held.price[frame, k]) < JUDGED
        assert abs(judged.length - held.length[frame, k]) < JUDGED
        seen += 1
    assert seen > 5
    one = path_geometry(model, q[0])
    assert one.price.shape == (12,)
    assert np.array_equal(one.price, held.price[0])


def test_slopes_with_a_price():
    model = random_model(8, "ellipsoid")
    q = np.random.default_rng(8).uniform(-1.0, 1.0, (6, 3))
    paid = 0
    for pose in q:
        geometry = path_geometry(model, pose)
        assert moment_arm_errors(model, pose).max() < SLOPE
        found = moment_arm_derivatives(model, pose)
        h = 1e-5
        arms = path_geometry(model, np.concatenate([pose + h * np.eye(3), pose - h * np.eye(3)])).moment_arm
        expected = np.moveaxis((arms[:3] - arms[3:]) / (2 * h), 0, -1)
        smooth = (geometry.price > 0.0) & (np.abs(found.derivative).max(axis=(1, 2)) < 1.0)
        assert np.abs(found.derivative - expected)[smooth].max(initial=0.0) < DIFFERENCED
        assert found.exact.all()
        paid += smooth.sum()
    assert paid > 10


def test_an_end_passes_through_the_surface():
    """From inside, where the surface shrinks, to outside, a hair above it, and away."""
    surface = WrapEllipsoid("s", "ground", quadrant="y", semi_axes=(0.055, 0.0375, 0.0745))
    x = np.array([0.3, -0.5, 0.7])
    x *= np.array(surface.semi_axes) / np.linalg.norm(x)
    depth = np.concatenate([-np.logspace(-2, -12, 41), [0.0], np.logspace(-12, -2, 41)])
    lengths = []
    for d in depth:
        model = model_of(((-0.1, -0.2, -0.06), tuple(x * (1.0 + d)), surface))
        # on the turning body, so that it may be inside
        lengths.append(path_geometry(model, np.zeros(3)).length[0])
    lengths = np.array(lengths)
    assert np.abs(np.diff(lengths) / np.maximum(np.diff(depth), 1e-9)).max() < 0.3
