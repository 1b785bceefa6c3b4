"""Poses along one coordinate of the shoulder, and slopes of lengths there by differences of lengths."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.muscle_analysis import moment_arms
from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.like import Like
from musculo.model.model import Model
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.replications.peer import ask_opensim_all
from musculo.replications.shoulder.mobl_arms import COORDINATES
from musculo.replications.shoulder.shoulder_rhythm import ELEVATION, PLANE, ROTATION

# Ranges of the model, which are those of the paper [degrees]; the others are at the anatomical zero.
RANGES = {PLANE: (-90, 130), ELEVATION: (0, 180), ROTATION: (-90, 20)}
# Of three lengths in a row: rounding of lengths of 0.5 m leaves 1e-11 m of a slope, and curvature less.
STEP = 1e-5

# Lengths and moment arms of muscles in poses of all coordinates, and lengths in poses nearby.
_QUESTION = """
model = opensim.Model(str(given["model"]))
state = model.initSystem()
coordinates = [model.getCoordinateSet().get(str(name)) for name in given["coordinates"]]
muscles = [model.getMuscles().get(str(name)) for name in given["muscles"]]
about = [model.getCoordinateSet().get(str(name)) for name in given["about"]]
rows = given["poses"]
lengths, arms = np.zeros((len(rows), len(muscles))), np.zeros((len(rows), len(muscles), len(about)))
for i, pose in enumerate(rows):
    # all coordinates are given, and fit each other: nothing is assembled
    for one, value in zip(coordinates, pose):
        one.setValue(state, float(value), False)
    model.realizePosition(state)
    for k, muscle in enumerate(muscles):
        lengths[i, k] = muscle.getLength(state)
        if given["arms"][i]:
            arms[i, k] = [muscle.computeMomentArm(state, one) for one in about]
answer["lengths"], answer["arms"] = lengths, arms
"""


class Sweep(NamedTuple):
    """Poses of a model along one coordinate, the others at zero, and poses next to them by every coordinate."""

    along: str
    degrees: FloatArray  # (poses,) of that coordinate
    q: FloatArray  # (poses, n)
    near: FloatArray  # (poses, coordinates, 3, n)
    weights: FloatArray  # (poses, coordinates, 3) of lengths near by, for the slope

    def slopes(self, lengths: FloatArray) -> FloatArray:
        """dl/dz (poses, muscles, coordinates) of lengths (poses, coordinates, 3, muscles)."""
        return np.einsum("fco,fcom->fmc", self.weights, lengths)


class Arms(NamedTuple):
    """Of the muscles of a model along a sweep, about plane of elevation, elevation and rotation."""

    length: FloatArray  # (poses, muscles) [m]
    near: FloatArray  # (poses, coordinates, 3, muscles) lengths in the poses next to them [m]
    arm: FloatArray  # (poses, muscles, coordinates) [m]
    slope: FloatArray  # minus the slope of these lengths, likewise [m]


def sweep(model: Model, along: str) -> Sweep:
    """Poses one degree apart over the whole range.

    Slopes are those of the parabola through three lengths. All three are in the range of every coordinate: beyond it
    points that move with a coordinate stay where they are, and a length has no slope at its end but one from inside.
    """
    e = embedding_of(model)
    rows = [e.coordinate_names.index(name) for name in COORDINATES]
    low, high = RANGES[along]
    degrees = np.arange(low, high + 1.0)
    z = np.zeros((len(degrees), len(e.coordinate_names)))
    z[:, e.coordinate_names.index(along)] = np.radians(degrees)
    # 180 degrees are 4e-9 rad beyond the end that the file states
    limits = {name: model.coordinate(name).range for name in COORDINATES}
    z = np.column_stack(
        [np.clip(z[:, k], *limits.get(name, (-np.inf, np.inf))) for k, name in enumerate(e.coordinate_names)]
    )
    near = np.repeat(z[:, None], 9, axis=1).reshape(len(degrees), 3, 3, -1)
    weights = np.zeros((len(degrees), 3, 3))
    for c, (row, name) in enumerate(zip(rows, COORDINATES, strict=True)):
        first, last = limits[name]
        # 0, 1, 2 steps at the lower end, -2, -1, 0 at the upper one, else -1, 0, 1
        start = np.where(z[:, row] - STEP < first, 0, np.where(z[:, row] + STEP > last, -2, -1))
        near[:, c, :, row] += STEP * (start[:, None] + np.arange(3))
        weights[:, c] = np.array([(-1.5, 2.0, -0.5), (-0.5, 0.0, 0.5), (0.5, -2.0, 1.5)])[-start] / STEP
    everything = e.coordinates(np.concatenate([z, near.reshape(-1, z.shape[1])]))
    q = everything[: len(z)]
    return Sweep(along, degrees, q, everything[len(z) :].reshape(*near.shape[:3], -1), weights)


def _poses(s: Sweep) -> FloatArray:
    return np.concatenate([s.q, s.near.reshape(-1, s.q.shape[1])])


def _arms(s: Sweep, lengths: FloatArray, arms: FloatArray) -> Arms:
    """Of lengths in all poses of `_poses`, and arms in the first of them."""
    count = len(s.degrees)
    near = lengths[count:].reshape(count, 3, 3, -1)
    return Arms(lengths[:count], near, arms[:count], -s.slopes(near))


def our_arms(model: Model, s: Sweep, like_opensim: bool = False) -> Arms:
    """Exact moment arms of shortest paths, or of OpenSim's own paths as OpenSim defines them."""
    like: Like | None = "opensim" if like_opensim else None
    g = muscle_geometry(model, s.q, like=like)
    arms = moment_arms(model, g, s.q, COORDINATES, "opensim" if like_opensim else "exact")
    near = muscle_geometry(model, s.near.reshape(-1, s.q.shape[1]), like=like)
    return _arms(s, np.concatenate([g.length, near.length]), arms)


def opensim_arms(model: Model, files: Mapping[str, Path], sweeps: Mapping[str, Sweep]) -> dict[str, Arms]:
    """What OpenSim says to each sweep of a model in a file: lengths, and `computeMomentArm`."""
    questions = []
    for name, s in sweeps.items():
        poses = _poses(s)
        given = {
            "model": str(files[name]), "coordinates": np.array(model.coordinate_names),
            "muscles": np.array(model.muscle_names), "about": np.array(COORDINATES), "poses": poses,
            "arms": np.arange(len(poses)) < len(s.degrees),
        }  # fmt: skip
        questions.append((_QUESTION, given))
    answers = ask_opensim_all(questions)
    return {
        name: _arms(s, answer["lengths"], answer["arms"])
        for (name, s), answer in zip(sweeps.items(), answers, strict=True)
    }
