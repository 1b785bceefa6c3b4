"""The zero-moment point, and whether it lies in the polygon of support, as node functions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.joint_nodes import placed
from musculo.dynamics.derivatives.reaction_derivatives import joint_reaction_derivatives
from musculo.errors import InvalidInput
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.spatial.cross_product import cross
from musculo.trajectory.functions.rates import CurvedByDifferences, RateModel


class GroundReaction(CurvedByDifferences):
    """What ground must do to a model that moves as it does: its force F and the zero-moment point p on a level, y up.

        M_P0 = (p - P0) x F + M_y e_y,    P0 = (0, level, 0):    p_x = M_z / F_y,    p_z = -M_x / F_y

    Outputs: `ground/force_x`, `_y`, `_z` [N], `ground/zmp_x`, `ground/zmp_z` [m] and `ground/moment_y` about that point
    [N m]; inputs are values, speeds and accelerations of all coordinates. Slopes are exact. F_y must not vanish.

    Source:  [Barman2020], section 5.2 (4), and the first step of its algorithm for ground reactions.

    Args:
        model: floating: its joints to ground stand for no support.
        level: of the ground [m].
    """

    def __init__(self, model: Model, level: float = 0.0) -> None:
        self.model, self.level, self._rates = model, level, RateModel(model, type(self).__name__)
        # joints may be declared either way round; the load that counts is that on ground
        self._sides = {
            joint.name: side
            for joint in model.joints
            for side in ("parent", "child")
            if getattr(joint, side).body == GROUND
        }
        self.inputs = self._rates.inputs(2)
        ends = ("force_x", "force_y", "force_z", "zmp_x", "zmp_z", "moment_y")
        self.outputs: tuple[str, ...] = tuple(f"ground/{end}" for end in ends)
        self.pattern = self._rates.nonzeros(self._all_slopes, 2)
        n = len(self._rates.names)
        self._bend(3 * n, 3 * n, n)

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        return self._both(variables)[1]

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, 6)."""
        return self._both(variables)[0]

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, 6) and (nodes, entries)."""
        values, slopes = self._both(variables)
        return values, slopes[:, self.pattern[0], self.pattern[1]]

    def _both(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        F, M, by_F, by_M = self.wrench(variables)
        up, x, z = F[:, 1], M[:, 2] / F[:, 1], -M[:, 0] / F[:, 1]
        dx = (by_M[:, 2] - x[:, None] * by_F[:, 1]) / up[:, None]
        dz = (-by_M[:, 0] - z[:, None] * by_F[:, 1]) / up[:, None]
        free = M[:, 1] - (z * F[:, 0] - x * F[:, 2])
        by_free = by_M[:, 1] - dz * F[:, :1] - z[:, None] * by_F[:, 0] + dx * F[:, 2:] + x[:, None] * by_F[:, 2]
        values = np.column_stack([F, x, z, free])
        return values, np.concatenate([by_F, dx[:, None], dz[:, None], by_free[:, None]], axis=1)

    def wrench(self, variables: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Force and moment about (0, level, 0) (nodes, 3) of ground on the model; their slopes (nodes, 3, inputs)."""
        motion = self._rates.motion(variables)
        found = joint_reaction_derivatives(self.model, *motion, joints=tuple(self._sides), on=self._sides)
        if self._rates.embedding.rules:
            slopes = np.concatenate(found.independent, axis=3)
        else:
            slopes = np.concatenate([found.dload_dq, found.dload_du, found.dload_dudot], axis=3)
        F, M = np.zeros((2, len(variables), 3))
        by_F, by_M = np.zeros((2, len(variables), 3, slopes.shape[3]))
        for k, (name, side) in enumerate(self._sides.items()):
            arm = placed(getattr(self.model.joint(name), side)).p - np.array([0.0, self.level, 0.0])
            # the load is that on ground
            F -= found.force[:, k]
            M -= found.moment[:, k] + cross(arm, found.force[:, k])
            by_F -= slopes[:, k, :3]
            by_M -= slopes[:, k, 3:] + np.swapaxes(cross(arm, np.swapaxes(slopes[:, k, :3], 1, 2)), 1, 2)
        return F, M, by_F, by_M


class SupportMargins(CurvedByDifferences):
    """How far the zero-moment point is inside the edges of a polygon, times the vertical force over the weight.

        m_k = (a_k . (M_z, -M_x) - b_k F_y) / W,    edge k: a_k . p >= b_k with a unit vector a_k inwards

    Outputs: `support/edge0` and so on [m], not negative where the point is inside, and `support/vertical_force` as a
    fraction of the weight. Nothing is divided by F_y, so a model that loses contact has slopes, too.

    Source: [Barman2020], eq. 5.5.

    Args:
        model: as `GroundReaction` has it.
        vertices: (corners, 2) x and z of a convex polygon in ground, in order [m].
        level: of the ground [m].
    """

    def __init__(self, model: Model, vertices: ArrayLike, level: float = 0.0) -> None:
        corners = np.asarray(vertices, dtype=float)
        if corners.ndim != 2 or corners.shape[1] != 2 or len(corners) < 3:
            raise InvalidInput(f"vertices has shape {corners.shape}; a polygon has three or more rows of x and z")
        edges = np.roll(corners, -1, axis=0) - corners
        inwards = np.column_stack([-edges[:, 1], edges[:, 0]]) / np.linalg.norm(edges, axis=1)[:, None]
        after = np.roll(edges, -1, axis=0)
        turn = edges[:, 0] * after[:, 1] - edges[:, 1] * after[:, 0]
        if not ((turn > 0).all() or (turn < 0).all()):
            raise InvalidInput("vertices: the corners do not go round a convex polygon in order")
        self._inwards = inwards * np.sign(turn[0])
        self._offset = (self._inwards * corners).sum(axis=1)
        self._ground = GroundReaction(model, level)
        self._weight = sum(body.mass for body in model.bodies) * float(np.linalg.norm(model.gravity))
        self.inputs = self._ground.inputs
        self.outputs = (*(f"support/edge{k}" for k in range(len(corners))), "support/vertical_force")
        self.pattern = self._ground._rates.nonzeros(self._all_slopes, 2)
        n = len(self._ground._rates.names)
        self._bend(3 * n, 2 * n, n)  # accelerations enter in a line

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        return self._both(variables)[1]

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, edges + 1)."""
        return self._both(variables)[0]

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, edges + 1) and (nodes, entries)."""
        values, slopes = self._both(variables)
        return values, slopes[:, self.pattern[0], self.pattern[1]]

    def _both(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        F, M, by_F, by_M = self._ground.wrench(variables)
        # rows are linear in F_y, M_x and M_z
        part = (
            np.vstack([np.column_stack([-self._offset, -self._inwards[:, 1], self._inwards[:, 0]]), [[1.0, 0.0, 0.0]]])
            / self._weight
        )
        three = np.column_stack([F[:, 1], M[:, 0], M[:, 2]])
        by_three = np.stack([by_F[:, 1], by_M[:, 0], by_M[:, 2]], axis=1)
        return three @ part.T, part @ by_three
