"""Bushings: springs and dampers between two frames, in six directions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import Expressions
from musculo.forces.placed import (
    Acting,
    Columns,
    Moving,
    cross,
    on_bodies,
    placed,
    turned,
    turned_back,
    vector_columns,
    wrench_at,
)
from musculo.functions.elementary_functions import Constant
from musculo.functions.function import Function
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.spatial.rotation import to_xyz

VARIABLES = ("theta_x", "theta_y", "theta_z", "delta_x", "delta_y", "delta_z")


class _Bushings(ABC):
    """Frame F of the first body and M of the second; six deflections d, their rates, and what resists them.

        d = (body-fixed xyz angles of R_FM, p_FM in F),   ddot = (N w_FM in M, v_FM in F)
        f = -k(d) - C ddot,   on the second body N^T f_turn in M and f_slide in F at Mo,   on the first the opposite

    Source:     OpenSim 4.6, observed behavior.
    Departs:    nothing by intention: angles are those of a sequence, so that stiffness about y and z depends on it,
                and at theta_y = 90 degrees N is infinite.
    Guarantees: wrenches on the two bodies add up to zero; f . ddot is their power.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        first = [stated.frame(force, "frame1", model) for force in forces]
        second = [stated.frame(force, "frame2", model) for force in forces]
        self._F, self._M = placed(model, first), placed(model, second)
        self._damping = _six(forces, "damping")

    # OpenSim reports torques about the origin of the frame, of linear ones about that of its body.
    torque_at_frame = True

    @abstractmethod
    def spring(self, d: FloatArray, energy: FloatArray) -> FloatArray:
        """k(d) (frames, forces, 6); writes the energy where it is known."""

    def act(self, s: Moving) -> Acting:
        R_WF, p_F = self._F.pose(s)
        R_WM, p_M = self._M.pose(s)
        R_FM = np.swapaxes(R_WF, 2, 3) @ R_WM
        arm = p_M - p_F
        angles, p_FM = to_xyz(R_FM), turned_back(R_WF, arm)
        w_FM = self._M.spin(s) - self._F.spin(s)
        v_FM = self._M.velocity(s, p_M) - self._F.velocity(s, p_F) - cross(self._F.spin(s), arm)
        N = _rates_of_angles(angles)
        rates = np.concatenate([turned(N, turned_back(R_WM, w_FM)), turned_back(R_WF, v_FM)], axis=2)
        d = np.concatenate([angles, p_FM], axis=2)
        energy = np.zeros(d.shape[:2])
        f = -self.spring(d, energy) - self._damping * rates
        moment = turned(R_WM, turned_back(N, f[..., :3]))
        wrench = wrench_at(p_M, turned(R_WF, f[..., 3:]), moment)
        n = len(self.names)
        every = np.arange(n)
        return on_bodies(
            len(d),
            np.concatenate([every, every]),
            np.concatenate([self._F.body, self._M.body]),
            np.concatenate([-wrench, wrench], axis=1),
            energy,
            n,
        )

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        sides = [(x, x.origin(s) if self.torque_at_frame else x.body_origin(s)) for x in (self._F, self._M)]
        for k, name in enumerate(self.names):
            for (side, about), row in zip(sides, (k, n + k), strict=True):
                F = acting.wrench[:, row, 3:]
                T = acting.wrench[:, row, :3] - cross(about[:, k], F)
                label = f"{name}.{stated.last_name(side.names[k])}"
                found += vector_columns(k, f"{label}.force", F) + vector_columns(k, f"{label}.torque", T)
        return found


def _six(forces: Sequence[Force], what: str) -> FloatArray:
    """(forces, 6) of turning, then of sliding."""
    zero = (0.0, 0.0, 0.0)
    keys = (f"rotational_{what}", f"translational_{what}")
    return np.array([np.concatenate([stated.vector(force, key, zero) for key in keys]) for force in forces])


def _rates_of_angles(angles: FloatArray) -> FloatArray:
    """N (..., 3, 3): rates of body-fixed xyz angles = N w, w the angular velocity in the turned frame."""
    _, b, c = np.moveaxis(angles, -1, 0)
    cb, tb, sc, cc = np.cos(b), np.tan(b), np.sin(c), np.cos(c)
    zero, one = np.zeros_like(b), np.ones_like(b)
    rows = [[cc / cb, -sc / cb, zero], [sc, cc, zero], [-cc * tb, sc * tb, one]]
    return np.stack([np.stack(row, -1) for row in rows], -2)


class LinearBushings(_Bushings):
    """`<BushingForce>`: k(d) = K d with a diagonal K, V = d . K d / 2.

    Departs: OpenSim counts this energy twice.
    """

    torque_at_frame = False

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self._stiffness = _six(forces, "stiffness")

    def spring(self, d: FloatArray, energy: FloatArray) -> FloatArray:
        f = self._stiffness * d
        energy += 0.5 * np.sum(f * d, axis=2)
        return f


class FunctionBushings(_Bushings):
    """`<FunctionBasedBushingForce>`: each part of k(d) a function of its own deflection. No energy is counted."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        keys = [f"m_{x}_theta_{x}_function" for x in "xyz"] + [f"f_{x}_delta_{x}_function" for x in "xyz"]
        self._functions: list[list[Function]] = []
        for force in forces:
            own = dict(force.functions)
            self._functions.append([own.get(key, Constant(0.0)) for key in keys])
            for key, function in zip(keys, self._functions[-1], strict=True):
                function.packed()  # says so where it is only carried
                if function.n_arguments > 1:
                    raise InvalidModel(
                        f"{stated.described(force)}: {key} has {function.n_arguments} arguments; it needs one"
                    )

    def spring(self, d: FloatArray, energy: FloatArray) -> FloatArray:
        f = np.empty_like(d)
        for i, functions in enumerate(self._functions):
            for k, function in enumerate(functions):
                f[:, i, k] = function(d[:, i, k])
        return f


class ExpressionBushings(_Bushings):
    """`<ExpressionBasedBushingForce>`: each part of k(d) an expression of all deflections. No energy is counted."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        keys = [f"{part}{x}_expression" for part in "MF" for x in "xyz"]
        self._formulas = Expressions([(f, f.text(key) or "0") for f in forces for key in keys], VARIABLES)

    def spring(self, d: FloatArray, energy: FloatArray) -> FloatArray:
        frames, n = d.shape[:2]
        return self._formulas(np.repeat(d, 6, axis=1)).reshape(frames, n, 6)
