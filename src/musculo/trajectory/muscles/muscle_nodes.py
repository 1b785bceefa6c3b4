"""Muscles of De Groote and Fregly at the nodes of a mesh: tensions, equations of equilibrium, rates of activation."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import UnknownName, Unsupported
from musculo.kernels.hill.activation_rate import DIRECT, SMOOTH
from musculo.kernels.hill.muscle_slopes import CURVATURE_ROWS, SLOPE_ROWS, MuscleNodes, muscle_slope_nodes
from musculo.kernels.hill.muscle_table import DE_GROOTE_FREGLY_2016
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles

TendonChoice = Literal["stated", "rigid"]
# The tendon's curve: f = c (e^(k (x - 1)) - 1).
_OFFSET = 0.2


class Fibers(NamedTuple):
    """Fibers at all nodes, (nodes, muscles) each, with exact slopes; `bends` (nodes, 8, muscles) where asked for."""

    force: FloatArray  # along the tendon over the maximum isometric one
    by_activation: FloatArray
    by_along: FloatArray  # by s [1/m]
    by_speed: FloatArray  # by v [s/m]
    rate: FloatArray  # of activation [1/s]
    rate_by_excitation: FloatArray
    rate_by_activation: FloatArray
    bends: FloatArray


class Tendons(NamedTuple):
    """Lengths of tendons by their normalized force, (nodes, elastic) each, and three derivatives [m]."""

    length: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray


class SmoothMuscles:
    """The muscles of a model as node functions need them.

    Raises:
        Unsupported: a muscle of another kind than DeGrooteFregly2016Muscle.
        UnknownName: `tendons` is no word of `TendonChoice`.
    """

    def __init__(self, model: Model, *, tendons: TendonChoice = "stated") -> None:
        """Of a model; "rigid" lets no tendon stretch, "stated" those that the model does not say are rigid."""
        if tendons not in get_args(TendonChoice):
            raise UnknownName("choice", tendons, get_args(TendonChoice), "tendons")
        rigid = tendons == "rigid"
        compiled = compiled_muscles(model, rigid)
        table = compiled.muscles
        other = np.flatnonzero(table.kind != DE_GROOTE_FREGLY_2016)
        if other.size:
            muscle = model.muscles[int(other[0])]
            raise Unsupported(
                f"muscle {muscle.name!r} is a {muscle.kind}, whose equations have corners; optimization needs "
                "DeGrooteFregly2016Muscle: musculo.muscle.with_de_groote_fregly_muscles(model) converts a model"
            )
        self.names = compiled.names
        self.table, self.curves = compiled.arrays
        self.max_force: FloatArray = table.max_force
        self.slack_length: FloatArray = table.slack_length
        none = np.zeros(len(self.names), dtype=bool)
        self.elastic: IntArray = np.flatnonzero(none if rigid else table.rigid != 1)
        self.rigid: IntArray = np.setdiff1d(np.arange(len(self.names)), self.elastic)
        self.driven: IntArray = np.flatnonzero(table.activation_model == SMOOTH)
        self.direct: IntArray = np.flatnonzero(table.activation_model == DIRECT)
        self.low = np.array([m.min_control for m in model.muscles], dtype=float)
        self.top = np.array([m.max_control for m in model.muscles], dtype=float)
        self._width = (table.slack_length * table.toe_strain)[self.elastic]

    def tendons(self, tension: FloatArray) -> Tendons:
        """Of elastic tendons at normalized forces f > -0.2: l = l_S (1 + log((f + c) / c) / k)."""
        above = tension + _OFFSET
        first = self._width / above
        slack = self.slack_length[self.elastic]
        return Tendons(
            slack + self._width * np.log(above / _OFFSET), first, -first / above, 2.0 * first / (above * above)
        )

    def fibers(
        self, excitation: FloatArray, activation: FloatArray, along: FloatArray, speed: FloatArray, bends: bool = False
    ) -> Fibers:
        """(nodes, muscles) each: excitations, activations, lengths s along the tendon and their rates v."""
        nodes, count = along.shape
        slopes = np.empty((nodes, SLOPE_ROWS, count))
        second = np.empty((nodes if bends else 0, CURVATURE_ROWS, count))
        x = MuscleNodes(*map(np.ascontiguousarray, (excitation, activation, along, speed)))
        over_frames(muscle_slope_nodes, (self.table, self.curves, x, slopes, second), nodes, 1)
        force, by_a, by_s, by_v, rate, rate_by_e, rate_by_a = np.moveaxis(slopes, 1, 0)
        return Fibers(force, by_a, by_s, by_v, rate, rate_by_e, rate_by_a, second)
