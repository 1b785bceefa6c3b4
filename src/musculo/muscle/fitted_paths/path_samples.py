"""Poses at random over ranges or around a recording, and what exact paths are there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.embedding import Embedding
from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.muscle.paths.geometry import path_geometry
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.table import Table

# How far around a recording samples go [rad, m]: OpenSim's PolynomialPathFitter takes 10 degrees too.
MARGIN = (np.deg2rad(10.0), 0.01)
Draw = Callable[[int, np.random.Generator], FloatArray]


@dataclass(frozen=True, eq=False)
class PathSamples:
    """Poses, and what the exact paths are there."""

    z: FloatArray  # (samples, n_z) independent coordinates
    length: FloatArray  # (samples, paths) [m]
    arms: FloatArray  # (samples, paths, n_zu) per independent speed [m, or 1 for sliding coordinates]


def samples_over_ranges(model: Model, e: Embedding, ranges: Mapping[str, tuple[float, float]] | None) -> Draw:
    """What draws n poses z evenly over ranges of the independent coordinates, their own where none is given.

    A coordinate whose own range is not bounded goes half a turn either way from its default value.
    """
    given = {} if ranges is None else dict(ranges)
    for name in given:
        if name not in model.coordinate_names:
            raise UnknownName("coordinate", name, model.coordinate_names, "ranges")
        if name not in e.coordinate_names:
            raise InvalidInput(f"ranges has {name!r}, which follows other coordinates; give ranges of these")
    bounds = []
    for name, start in zip(e.coordinate_names, e.independent(e.default_pose()).tolist(), strict=True):
        own = given.get(name, model.coordinate(name).range)
        if not (np.shape(own) == (2,) and np.isfinite(own).all() and own[0] <= own[1]):
            if name in given:
                raise InvalidInput(f"the range of {name!r} is {own!r}; give the lowest and then the highest value")
            own = (start - np.pi, start + np.pi)
        bounds.append(own)
    low, high = np.array(bounds, dtype=float).reshape(-1, 2).T
    return lambda n, random: low + (high - low) * _cube(n, len(low), random)


def samples_around(model: Model, e: Embedding, motion: ArrayLike | Table, margin: float | None) -> Draw:
    """What draws n poses z around the frames of a recording, each coordinate within a margin of its value.

    No pose leaves the range of a coordinate, unless the recording does: beyond, paths may run through bones.
    """
    turning = rotational_coordinates(model)
    usual = [MARGIN[0] if name in turning else MARGIN[1] for name in e.coordinate_names]
    reach = np.array(usual) if margin is None else np.full(len(usual), float(margin))
    if not (np.isfinite(reach) & (reach >= 0.0)).all():
        raise InvalidInput(f"margin is {margin!r}; give a number, zero or more [rad, m]")
    frames = np.atleast_2d(e.independent(coordinates_of(model, motion, "motion")[0]))
    if not len(frames):
        raise InvalidInput("motion has no frames to take samples around")

    low, high = np.array([model.coordinate(name).range for name in e.coordinate_names], dtype=float).reshape(-1, 2).T
    low, high = np.fmin(low, frames.min(axis=0)), np.fmax(high, frames.max(axis=0))

    def draw(n: int, random: np.random.Generator) -> FloatArray:
        chosen = np.resize(random.permutation(len(frames)), n)
        near = frames[chosen] + reach * (2.0 * _cube(n, len(reach), random) - 1.0)
        return np.clip(near, low, high)

    return draw


def _cube(n: int, dimension: int, random: np.random.Generator) -> FloatArray:
    """A Latin hypercube (n, dimension) in 0 .. 1: each coordinate has one sample in each of n equal parts."""
    parts = np.empty((n, dimension))
    for k in range(dimension):
        parts[:, k] = random.permutation(n)
    return np.asarray((parts + random.random((n, dimension))) / n)


def measure_paths(e: Embedding, z: FloatArray, threads: int | None) -> PathSamples:
    """The exact paths at independent coordinates; without poses in which loops do not close.

    Raises:
        InvalidInput: loops close in none of the poses.
    """
    if e.loops:
        closed = e.closure(z)
        good = closed.status == 0
        z, Q = z[good], closed.q[good]
        if not len(z):
            raise InvalidInput("the model's loops close in none of the sampled poses; give narrower ranges")
    else:
        Q = e.coordinates(z)
    geometry = path_geometry(e.model, Q, threads=threads)
    return PathSamples(z, geometry.length, geometry.moment_arm_independent)
