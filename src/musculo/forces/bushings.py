"""Bushings: springs and dampers between two frames, in six directions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel
from musculo.forces import stated_forces as stated
from musculo.forces.expressions import programs_of
from musculo.forces.placed import Acting, Columns, Found, Moving, between, cross, placed, vector_columns
from musculo.functions.elementary_functions import Constant
from musculo.functions.function import Function
from musculo.functions.function_table import compile_functions
from musculo.kernels.forces.bushing_law import Bushings
from musculo.model.force import Force
from musculo.model.model import Model

VARIABLES = ("theta_x", "theta_y", "theta_z", "delta_x", "delta_y", "delta_z")


class _Bushings:
    """Frame F of the first body and M of the second. The law is `musculo.kernels.forces.bushing_law.bushing_wrench`.

    Guarantees: wrenches on the two bodies add up to zero.
    """

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        self.names = [force.name for force in forces]
        first = [stated.frame(force, "frame1", model) for force in forces]
        second = [stated.frame(force, "frame2", model) for force in forces]
        self.first, self.second = placed(model, first), placed(model, second)
        n = len(forces)
        # without springs; each kind has its own
        self.data = Bushings(
            self.first.frames,
            self.second.frames,
            np.zeros((n, 6)),
            _six(forces, "damping"),
            np.full((n, 6), -1),
            compile_functions(()),
            np.full(n, -1),
            programs_of([], VARIABLES),
        )

    # OpenSim reports torques about the origin of the frame, of linear ones about that of its body.
    torque_at_frame = True

    def acting(self, s: Moving, found: Found) -> Acting:
        return between(self.first, self.second, found)

    def columns(self, s: Moving, acting: Acting) -> Columns:
        found: Columns = []
        n = len(self.names)
        sides = [(x, x.origin(s) if self.torque_at_frame else x.body_origin(s)) for x in (self.first, self.second)]
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
    rows = [np.concatenate([stated.vector(force, key, zero) for key in keys]) for force in forces]
    return np.array(rows, dtype=float).reshape(-1, 6)


class LinearBushings(_Bushings):
    """`<BushingForce>`: k(d) = K d with a diagonal K, V = d . K d / 2.

    Departs: OpenSim counts this energy twice.
    """

    torque_at_frame = False

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        self.data = self.data._replace(stiffness=_six(forces, "stiffness"))


class FunctionBushings(_Bushings):
    """`<FunctionBasedBushingForce>`: each part of k(d) a function of its own deflection. No energy is counted."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        keys = [f"m_{x}_theta_{x}_function" for x in "xyz"] + [f"f_{x}_delta_{x}_function" for x in "xyz"]
        functions: list[Function] = []
        for force in forces:
            own = dict(force.functions)
            for key in keys:
                function = own.get(key, Constant(0.0))
                function.packed()  # says so where it is only carried
                if function.n_arguments > 1:
                    raise InvalidModel(
                        f"{stated.described(force)}: {key} has {function.n_arguments} arguments; it needs one"
                    )
                functions.append(function)
        rows = np.arange(len(functions)).reshape(-1, 6)
        self.data = self.data._replace(function=rows, functions=compile_functions(functions))


class ExpressionBushings(_Bushings):
    """`<ExpressionBasedBushingForce>`: each part of k(d) an expression of all deflections. No energy is counted."""

    def __init__(self, model: Model, forces: Sequence[Force]) -> None:
        super().__init__(model, forces)
        keys = [f"{part}{x}_expression" for part in "MF" for x in "xyz"]
        programs = programs_of([(f, f.text(key) or "0") for f in forces for key in keys], VARIABLES)
        self.data = self.data._replace(formula=6 * np.arange(len(forces)), programs=programs)
