"""Rules of coordinates, and joints with angular velocities as speeds, as kernels take them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Prescribed, Rule
from musculo.embedding.speed_rates import turning_joints
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.constraints.coupler_rows import RuleRows
from musculo.model.model import Model


def ints(values: Sequence[int] | Sequence[Sequence[int]]) -> np.ndarray:
    """An array of whole numbers as kernels take it."""
    return np.array(values, dtype=np.int64)


def rule_rows(model: Model, rules: Sequence[tuple[Rule, Sequence[int], int]]) -> tuple[RuleRows, FunctionTable]:
    """Locks, prescribed motions and couplers as arrays.

    Args: rules: each with columns of q of its inputs and last of its dependent, and its row among equations.
    """
    speeds, names = {name: k for k, name in enumerate(model.speed_names)}, model.coordinate_names
    functions: list[Function] = []
    inputs: list[int] = []
    first, numbers, function, timed, scales = [0], [], [], [], []
    for rule, columns, _ in rules:
        known = rule.function if isinstance(rule, Coupled | Prescribed) else None
        function.append(-1 if known is None else len(functions))
        functions += [] if known is None else [known]
        timed.append(int(isinstance(rule, Prescribed)))
        scales.append(rule.scale if isinstance(rule, Coupled) else 1.0)
        numbers.append(rule.value if isinstance(rule, Locked) else 0.0)
        inputs += columns[:-1]
        first.append(len(inputs))
    followers = [columns[-1] for _, columns, _ in rules]
    rows = RuleRows(
        row=ints([row for _, _, row in rules]),
        follower=ints([(k, speeds.get(names[k], -1)) for k in followers]).reshape(-1, 2),
        function=ints(function),
        timed=ints(timed),
        scale=np.array(scales, dtype=float),
        value=np.array(numbers, dtype=float),
        first_input=ints(first),
        input_q=ints(inputs or [0]),
        input_u=ints([speeds.get(names[k], -1) for k in inputs] or [0]),
    )
    return rows, compile_functions(functions)


def turning_rows(model: Model) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row of u of each coordinate (n,); rows of q (j, 4) and u (j, 3) of joints whose speeds are angular velocities."""
    speeds, turning = {name: k for k, name in enumerate(model.speed_names)}, turning_joints(model)
    return (
        ints([speeds.get(name, -1) for name in model.coordinate_names]),
        ints([(*joint.q, -1)[:4] for joint in turning]).reshape(-1, 4),
        ints([joint.u for joint in turning]).reshape(-1, 3),
    )
