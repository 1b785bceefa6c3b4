"""Mechanisms with loops: planar ones of the papers and spatial ones with every kind of constraint, as closed trees."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.linalg import norm

from musculo import kinematics
from musculo.model.body import Placement, Vec3
from musculo.model.model import Model
from musculo.model.model_constraint import (
    ConstantDistanceConstraint,
    Constraint,
    PointConstraint,
    PointOnLineConstraint,
    WeldConstraint,
)
from musculo.replications.closed_loops.mechanisms import andrews_squeezer as andrews_squeezer
from musculo.replications.closed_loops.mechanisms import hinge as hinge
from musculo.replications.closed_loops.mechanisms import link as link
from musculo.replications.closed_loops.mechanisms import pinned as pinned
from musculo.replications.closed_loops.mechanisms import squeezer_forces as squeezer_forces
from musculo.spatial.rotation import from_xyz, to_xyz
from support.dynamics_models import random_q, random_tree


def chain(
    name: str, lengths: tuple[float, ...], base: float, pose: tuple[float, ...], gravity: Vec3 = (0.0, -9.81, 0.0)
) -> Model:
    """Bars in a row from the origin, the last one's end pinned to ground at (base, 0)."""
    bodies = tuple(link(f"bar{k}", 1.0 + 0.3 * k, (0.45 * a, 0.05 * a), 0.1 * a * a) for k, a in enumerate(lengths))
    parents = [("ground", (0.0, 0.0)), *((f"bar{k}", (a, 0.0)) for k, a in enumerate(lengths[:-1]))]
    joints = tuple(hinge(f"q{k}", *parents[k], f"bar{k}", pose[k]) for k in range(len(lengths)))
    loop: Constraint = pinned("closure", "ground", (base, 0.0), f"bar{len(lengths) - 1}", (lengths[-1], 0.0))
    return Model(name, bodies, joints, (loop,), gravity=gravity)


def four_bar(crank: float = 0.2, coupler: float = 0.5, rocker: float = 0.4, base: float = 0.45) -> Model:
    """Grashof's by default: the shortest bar turns round."""
    return chain("four-bar", (crank, coupler, rocker), base, (0.9, 0.2, -2.0))


def five_bar() -> Model:
    """Lengths of Ehsani2023, table 2."""
    return chain("five-bar", (1.0, 1.0, 3.0, 3.0), 3.0, (1.2, 0.4, -1.0, -1.8))


def closing(model: Model, q: np.ndarray, kind: str, first: str, second: str, rng: np.random.Generator) -> Constraint:
    """A constraint between two bodies that holds at the pose q, at random places of them."""
    motion = kinematics(model, q)
    p_1, line = rng.uniform(-0.3, 0.3, 3), rng.normal(size=3)
    X_1, X_2 = motion.pose(first), motion.pose(second)

    def seen(point: np.ndarray) -> Vec3:
        """A point of the first body, in the second."""
        x, y, z = X_2.R.T @ (X_1.R @ point + X_1.p - X_2.p)
        return (x, y, z)

    if kind == "point":
        return PointConstraint(kind, True, (), first, second, tuple(p_1), seen(p_1))
    if kind == "line":
        return PointOnLineConstraint(kind, True, (), first, second, tuple(line), tuple(p_1), seen(p_1 + 0.2 * line))
    if kind == "distance":
        return ConstantDistanceConstraint(kind, True, (), first, second, tuple(p_1), seen(p_1 + line), norm(line))
    R = from_xyz(angles := rng.uniform(-1.0, 1.0, 3))
    turned = to_xyz(X_2.R.T @ X_1.R @ R)
    return WeldConstraint(
        kind, True, (), Placement(first, tuple(p_1), tuple(angles)), Placement(second, seen(p_1), tuple(turned))
    )


def tied(kind: str) -> Model:
    """A spatial tree of joints of many kinds, backwards ones too, tied to ground at its default pose."""
    rng = np.random.default_rng(12)
    model = random_tree(rng, ("pin", "universal", "gimbal", "slider", "cylindrical", "planar"), backwards=0, depth=1)
    q = random_q(model, rng)
    for name, value in zip(model.coordinate_names, q, strict=True):
        model = model.with_coordinate(name, default_value=value)
    last = max(model.body_names, key=lambda name: int(name[-1]))
    return model.replace(constraints=(closing(model, q, kind, "ground", last, rng),))


LOOPED: dict[str, Callable[[], Model]] = {
    "four-bar": four_bar,
    "five-bar": five_bar,
    "squeezer": andrews_squeezer,
    **{kind: partial(tied, kind) for kind in ("point", "line", "distance", "weld")},
}
