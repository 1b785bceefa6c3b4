"""The rules of an embedding as arrays, for kernels that go from independent coordinates to all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.compile.frames import FloatArray
from musculo.embedding.embedding import Embedding, embedding_of, times_of
from musculo.embedding.rules import Coupled
from musculo.errors import Unsupported
from musculo.functions.base import Function
from musculo.functions.table import FunctionTable, compile_functions
from musculo.kernels.coupling import Couplings
from musculo.model.model import Model


class EmbeddingTables(NamedTuple):
    """What `musculo.kernels.coupling` runs on, and what of the embedding comes with the frames."""

    embedding: Embedding
    couplings: Couplings
    table: FunctionTable
    free_speeds: tuple[int, ...]  # rows of u that are independent

    def given(self, time: ArrayLike, frames: int) -> FloatArray:
        """(frames, given) values of locked and prescribed coordinates."""
        times = times_of(time, frames)
        fixed = [rule for rule in self.embedding.rules if not isinstance(rule, Coupled)]
        values = np.zeros((frames, max(len(fixed), 1)))
        for k, rule in enumerate(fixed):
            values[:, k] = rule.evaluate(np.zeros((frames, 0)), times).value
        return values


def embedding_tables(model: Model) -> EmbeddingTables:
    """The embedding of a model as arrays, made once.

    Raises:
        Unsupported: the model has closed loops, which no rule expresses.
    """
    embedding = embedding_of(model)
    if embedding.unsolved:
        raise Unsupported(
            f"constraints close loops in {model.source or model.name!r}: {', '.join(embedding.unsolved)}; only "
            "couplers, locks and prescribed motions are embedded, so switch these off (enforced=False)"
        )
    return model.derived("embedding tables", lambda: _tables(embedding))


def _tables(embedding: Embedding) -> EmbeddingTables:
    model = embedding.model
    rows = {name: k for k, name in enumerate(model.coordinate_names)}
    speeds = {name: k for k, name in enumerate(model.speed_names)}
    coupled = [rule for rule in embedding.rules if isinstance(rule, Coupled)]
    given = [rows[rule.dependent] for rule in embedding.rules if not isinstance(rule, Coupled)]
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

    def ints(values: list[int]) -> np.ndarray:
        return np.array(values, dtype=np.int64)

    couplings = Couplings(
        dependent=ints([rows[rule.dependent] for rule in coupled]),
        function=ints(list(range(len(coupled)))),
        scale=np.array([rule.scale for rule in coupled], dtype=float),
        first_input=ints(first_input),
        inputs=ints(inputs or [0]),
        first_slope=ints(first_slope),
        given=ints(given),
        speed_row=ints([speeds.get(name, -1) for name in model.coordinate_names]),
    )
    dependent = {rule.dependent for rule in embedding.rules}
    free = tuple(k for k, name in enumerate(model.speed_names) if name not in dependent)
    return EmbeddingTables(embedding, couplings, compile_functions(functions), free)
