"""Metabolic power of muscles as a node function."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidInput
from musculo.kernels.hill.metabolic_rate import NODE_ROWS, MetabolicNodes, metabolic_slope_nodes
from musculo.kernels.tree.tree_frames import over_frames
from musculo.muscle.fibers.metabolic_cost import SMOOTHING, Bhargava2004
from musculo.trajectory.muscles.muscle_driven import MuscleDriven
from musculo.trajectory.muscles.muscle_state import Stretch
from musculo.trajectory.muscles.scattered_blocks import ScatteredBlocks

# Steps of differences of exact slopes: of excitation and activation, of lengths over the optimal one, of speeds over
# the largest.
_STEP = 1e-5


class MetabolicRate:
    """Metabolic power of every muscle at a node: outputs `soleus_r/metabolic_rate` [W].

    Variables are those of the equations; P(e, a, s, v) is the power of a muscle with the part s of its fiber along the
    tendon, whose rate is v (`kernels/hill/metabolic_rate.py`). The integral of all outputs is the energy of a motion
    [J]; `basal` times its duration is what the body takes besides. For the energy over distance, divide by this.

    Source:     [Bhargava2004], smooth as in OpenSim 4.6.
    Departs:    choices by power and heat are ten times less steep than OpenSim's by default: its corners are 0.1 W
                wide, and searches need ten times the iterations.
    Guarantees: exact slopes, but at the corners of the heat of maintenance by length, where they are those from the
                left; second derivatives by differences of them.

    Args:
        muscles: the equations of the model with muscles.
        energy: the model of metabolic power; `Bhargava2004(smoothing=(10, 1, 1))` by default.
    """

    def __init__(self, muscles: MuscleDriven, energy: Bhargava2004 | None = None) -> None:
        if not isinstance(muscles, MuscleDriven):
            raise InvalidInput(
                f"MetabolicRate takes the equations of a model with muscles, not {type(muscles).__name__}: "
                "MetabolicRate(MuscleDriven(model))"
            )
        self.muscles = muscles
        self.energy = Bhargava2004(smoothing=SMOOTHING) if energy is None else energy
        if self.energy.smoothing is None:
            self.energy = replace(self.energy, smoothing=SMOOTHING)
        self._table = self.energy.table(muscles.model)
        self.basal = self.energy.basal(muscles.model)  # [W]
        self.inputs = muscles.inputs
        self.outputs: tuple[str, ...] = tuple(f"{name}/metabolic_rate" for name in muscles.muscles.names)

    def __repr__(self) -> str:
        return f"MetabolicRate({self.muscles.model.name!r})"

    def _stretch(self, v: FloatArray, bends: bool) -> tuple[Stretch, FloatArray]:
        x = self.muscles.layout
        q = self.muscles.embedding.coordinates(np.ascontiguousarray(v[:, x.value]), v[:, x.time])
        return self.muscles.stretch(v, q, bends), q

    def _powers(self, e: FloatArray, a: FloatArray, s: FloatArray, v: FloatArray) -> FloatArray:
        """(rows, nodes, muscles) powers and slopes by e, a, s and v."""
        m = self.muscles.muscles
        out = np.empty((len(s), NODE_ROWS, len(m.names)))
        nodes = MetabolicNodes(*map(np.ascontiguousarray, (e, a, s, v)))
        over_frames(metabolic_slope_nodes, (m.table, m.curves, self._table, nodes, out), len(s), 1)
        return np.moveaxis(out, 1, 0)

    def _arguments(self, v: FloatArray, stretch: Stretch) -> tuple[FloatArray, ...]:
        x = self.muscles.layout
        return v[:, x.excitation], v[:, x.activation], stretch.along, stretch.rate

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, muscles) [W]."""
        stretch, _ = self._stretch(variables, bends=False)
        return np.array(self._powers(*self._arguments(variables, stretch))[0])

    # --- slopes -------------------------------------------------------------------------------------------------------
    @property
    def pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of slopes."""
        return self._slope_blocks.rows, self._slope_blocks.columns

    @cached_property
    def _local(self) -> IntArray:
        """(muscles, 4 + 2 K) the columns of what a muscle depends on: e, a, f, df/dt, its coordinates, their speeds."""
        x, m, own = self.muscles.layout, self.muscles.muscles, self.muscles.paths.own
        tension, rate = (np.full(len(m.names), -1) for _ in range(2))
        tension[m.elastic], rate[m.elastic] = x.tension, x.tension_rate
        value, speed = (np.where(own >= 0, columns[np.maximum(own, 0)], -1) for columns in (x.value, x.speed))
        states = np.stack([x.excitation, x.activation, tension, rate], axis=1)
        return np.concatenate([states, value, speed], axis=1)

    @cached_property
    def _slope_blocks(self) -> ScatteredBlocks:
        blocks = ScatteredBlocks()
        blocks.add(np.arange(len(self.outputs))[:, None], self._local)
        return blocks.made(len(self.inputs))

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, muscles) and (nodes, entries)."""
        stretch, _ = self._stretch(variables, bends=True)
        power = self._powers(*self._arguments(variables, stretch))
        by = np.einsum("rnm,nmrl->nml", power[1:], self._by_local(variables, stretch))
        return np.array(power[0]), self._slope_blocks.gathered([by])

    def _by_local(self, variables: FloatArray, stretch: Stretch) -> FloatArray:
        """(nodes, muscles, 4, 4 + 2 K) of (e, a, s, v) by what a muscle depends on."""
        m, x = self.muscles.muscles, self.muscles.layout
        r, bends, t, el = stretch.paths.arms, stretch.paths.bends, stretch.tendons, m.elastic
        K = r.shape[2]
        found = np.zeros((*r.shape[:2], 4, 4 + 2 * K))
        found[:, :, 0, 0] = found[:, :, 1, 1] = 1.0
        found[:, el, 2, 2] = found[:, el, 3, 3] = -t.first
        found[:, el, 3, 2] = -t.second * variables[:, x.tension_rate]
        found[:, :, 2, 4 : 4 + K] = found[:, :, 3, 4 + K :] = -r
        found[:, :, 3, 4 : 4 + K] = -np.einsum("nmij,nmi->nmj", bends, stretch.speeds)
        return found

    # --- curvatures ---------------------------------------------------------------------------------------------------
    @property
    def curvature_pattern(self) -> tuple[IntArray, IntArray]:
        """Rows and columns of the lower triangle of second derivatives."""
        return self._curvature_blocks.rows, self._curvature_blocks.columns

    @cached_property
    def _curvature_blocks(self) -> ScatteredBlocks:
        blocks = ScatteredBlocks()
        blocks.add(self._local[:, :, None], self._local[:, None, :], symmetric=True)
        return blocks.made(len(self.inputs), lower=True)

    def curvatures(self, variables: FloatArray, multipliers: FloatArray) -> FloatArray:
        """(nodes, entries): D^T P'' D + P_s s'' + P_v v'', D the slopes of (e, a, s, v)."""
        m, x = self.muscles.muscles, self.muscles.layout
        stretch, q = self._stretch(variables, bends=True)
        given = self._arguments(variables, stretch)
        power = self._powers(*given)
        H = np.zeros((*given[2].shape, 4, 4))
        sizes: tuple[FloatArray, ...] = (np.ones(1), np.ones(1), m.table.optimal_length, m.table.max_speed)
        for k, size in enumerate(sizes):
            ahead, behind = (
                self._powers(*(one + sign * _STEP * size if j == k else one for j, one in enumerate(given)))
                for sign in (1.0, -1.0)
            )
            H[..., k] = np.moveaxis((ahead - behind)[1:] / (2.0 * _STEP * size), 0, 2)
        D = self._by_local(variables, stretch)
        H = np.swapaxes(D, 2, 3) @ (0.5 * (H + np.swapaxes(H, 2, 3))) @ D
        P_s, P_v, t, el = power[3], power[4], stretch.tendons, m.elastic
        bends, K = stretch.paths.bends, stretch.paths.arms.shape[2]
        value, speed = slice(4, 4 + K), slice(4 + K, 4 + 2 * K)
        H[:, :, value, value] -= P_s[..., None, None] * bends
        mixed = P_v[..., None, None] * bends
        H[:, :, speed, value] -= mixed
        H[:, :, value, speed] -= np.swapaxes(mixed, 2, 3)
        along = -P_v[..., None] * stretch.speeds
        H[:, :, value, value] += self.muscles.paths.third(variables[:, x.value], q, along, bends)
        fd = variables[:, x.tension_rate]
        H[:, el, 2, 2] -= P_s[:, el] * t.second + P_v[:, el] * t.third * fd
        H[:, el, 2, 3] -= P_v[:, el] * t.second
        H[:, el, 3, 2] -= P_v[:, el] * t.second
        return self._curvature_blocks.gathered([multipliers[..., None, None] * H])
