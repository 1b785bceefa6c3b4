"""A model with muscles at the nodes of a mesh: what its variables are, how it moves, what its muscles do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from musculo.arrays import FloatArray, IntArray
from musculo.embedding.embedding import Embedding
from musculo.model.model import Model
from musculo.trajectory.muscles.muscle_nodes import Fibers, SmoothMuscles, Tendons
from musculo.trajectory.muscles.node_paths import NodePaths, PathState
from musculo.trajectory.muscles.outside_loads import Outside


class TreeMotion(NamedTuple):
    """The motion of the tree at the nodes."""

    q: FloatArray  # (nodes, all)
    u: FloatArray
    udot: FloatArray
    J: FloatArray  # (nodes, n_u, n)
    time: FloatArray
    outside: Outside
    contact: FloatArray | None  # (nodes, 6 nodes of the tree) wrenches of contacts with ground


class Pull(NamedTuple):
    """What muscles do at the nodes."""

    paths: PathState
    speeds: FloatArray  # (nodes, muscles, K) of their own coordinates
    tendons: Tendons
    fibers: Fibers
    force: FloatArray  # (nodes, muscles) [N]


class Stretch(NamedTuple):
    """How long the parts of muscles are at the nodes."""

    paths: PathState
    speeds: FloatArray  # (nodes, muscles, K) of their own coordinates
    tendons: Tendons
    along: FloatArray  # (nodes, muscles) s: of fibers, along the tendon [m]
    rate: FloatArray  # (nodes, muscles) ds/dt [m/s]


@dataclass(frozen=True)
class Layout:
    """Which columns of a node's variables are what."""

    value: IntArray  # (n,)
    speed: IntArray  # (n,)
    acceleration: IntArray  # (n,)
    excitation: IntArray  # (muscles,)
    activation: IntArray  # (muscles,) that of the excitation where a muscle has no dynamics
    tension: IntArray  # (elastic,)
    tension_rate: IntArray  # (elastic,)
    control: IntArray  # (actuators,)
    time: int
    names: tuple[str, ...]


class MuscleEquations(Protocol):
    """What curvatures ask of the equations of a model with muscles."""

    model: Model
    embedding: Embedding
    names: tuple[str, ...]  # independent coordinates
    inputs: tuple[str, ...]
    layout: Layout
    muscles: SmoothMuscles
    paths: NodePaths
    threads: int | None

    def some_states(self) -> FloatArray:
        """Random variables at a few nodes."""

    def motion(self, v: FloatArray) -> TreeMotion:
        """Of the tree."""

    def tree_slopes(
        self, q: FloatArray, u: FloatArray, udot: FloatArray, outside: Outside
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Of generalized forces of the tree (nodes, n_u, ...) by q, u and udot; of loads and contacts too."""

    def pull(self, v: FloatArray, motion: TreeMotion, bends: bool, second: bool = False) -> Pull:
        """Of all muscles."""
