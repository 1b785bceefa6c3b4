"""Loops as arrays, for the kernels that solve them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import IntArray
from musculo.embedding.couplers.coordinate_rules import Coupled, Rule
from musculo.embedding.loops.equations.body_equations import BodyEquation
from musculo.embedding.speed_rates import turning_joints
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.constraints.body_loop_equations import BodyEquations
from musculo.kernels.constraints.coupling import Couplings
from musculo.kernels.constraints.loop_space import LoopTable
from musculo.model.model import Model


def _ints(values: Sequence[int] | Sequence[Sequence[int]]) -> IntArray:
    return np.array(values, dtype=np.int64)


def couplings_of(model: Model, rules: Sequence[Rule], given: Sequence[str] = ()) -> tuple[Couplings, FunctionTable]:
    """The couplers among sorted rules as arrays; `given` are coordinates whose values come with the frames."""
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    coupled = [rule for rule in rules if isinstance(rule, Coupled)]
    functions: list[Function] = []
    inputs: list[int] = []
    first_input, first_slope = [0], [0]
    for rule in coupled:
        assert rule.function is not None
        functions.append(rule.function)
        inputs += [rows[name] for name in rule.inputs]
        m = rule.function.n_arguments
        first_input.append(len(inputs))
        first_slope.append(first_slope[-1] + 1 + m + m * m)
    couplings = Couplings(
        dependent=_ints([rows[rule.dependent] for rule in coupled]),
        function=_ints(list(range(len(coupled)))),
        scale=np.array([rule.scale for rule in coupled], dtype=float),
        first_input=_ints(first_input),
        inputs=_ints(inputs or [0]),
        first_slope=_ints(first_slope),
        given=_ints([rows[name] for name in given]),
        speed_row=_ints([speeds.get(name, -1) for name in model.coordinate_names]),
    )
    return couplings, compile_functions(functions)


def body_equations_table(equations: Sequence[BodyEquation], rows: Sequence[int]) -> BodyEquations:
    """Constraints between bodies as arrays; `rows` is the first row of each."""
    k = len(equations)
    R, p, across = np.zeros((k, 2, 9)), np.zeros((k, 2, 3)), np.zeros((k, 6))
    for i, equation in enumerate(equations):
        for side in (0, 1):
            R[i, side], p[i, side] = equation.poses[side].R.ravel(), equation.poses[side].p
        across[i] = equation.across.ravel()
    return BodyEquations(
        kind=_ints([equation.kind for equation in equations]),
        first_row=_ints(list(rows)),
        node=_ints([equation.nodes for equation in equations]).reshape(k, 2),
        R=R,
        p=p,
        across=across,
        distance=np.array([equation.distance for equation in equations], dtype=float),
        first_column=_ints(np.cumsum([0, *(equation.columns.size for equation in equations)]).tolist()),
        column=np.concatenate([np.zeros(0, dtype=np.int64), *(equation.columns for equation in equations)]),
        sign=np.concatenate([np.zeros(0), *(equation.sign for equation in equations)]),
    )


def loop_table(
    model: Model,
    equations: Sequence[BodyEquation],
    followers: Sequence[Rule],
    y: Sequence[int],
    n_x: int,
    scale: np.ndarray,
    row_scale: np.ndarray,
) -> LoopTable:
    """A loop as arrays; without equations where those are evaluated in Python."""
    angles = [joint for joint in turning_joints(model) if len(joint.q) == 3]
    couplings, functions = couplings_of(model, followers)
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    first_row = np.cumsum([0, *(equation.count for equation in equations)])[:-1].tolist()
    return LoopTable(
        body_equations_table(equations, first_row),
        couplings,
        functions,
        _ints(list(y)),
        n_x,
        _ints([speeds.get(name, -1) for name in model.coordinate_names]),
        _ints([joint.q for joint in angles]).reshape(-1, 3),
        _ints([joint.u for joint in angles]).reshape(-1, 3),
        np.ascontiguousarray(scale),
        np.ascontiguousarray(row_scale),
    )
