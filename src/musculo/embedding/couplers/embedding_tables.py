"""The rules of an embedding as arrays, for kernels that go from independent coordinates to all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.embedding.couplers.coordinate_rules import Coupled
from musculo.embedding.embedding import Embedding, embedding_of, times_of
from musculo.embedding.loops.loop_table import couplings_of
from musculo.errors import Unsupported
from musculo.functions.function_table import FunctionTable
from musculo.kernels.constraints.coupling import Couplings
from musculo.model.model import Model


class EmbeddingTables(NamedTuple):
    """What `musculo.kernels.constraints.coupling` runs on, and what of the embedding comes with the frames."""

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
        Unsupported: the model has closed loops, which kernels cannot follow.
    """
    embedding = embedding_of(model)
    closing = (*embedding.loop_names, *embedding.unsolved)
    if closing:
        raise Unsupported(
            f"constraints close loops in {model.source or model.name!r}: {', '.join(closing)}; here only "
            "couplers, locks and prescribed motions are embedded, so switch these off (enforced=False)"
        )
    return model.derived("embedding tables", lambda: _tables(embedding))


def _tables(embedding: Embedding) -> EmbeddingTables:
    model = embedding.model
    given = [rule.dependent for rule in embedding.rules if not isinstance(rule, Coupled)]
    couplings, functions = couplings_of(model, embedding.rules, given)
    dependent = {rule.dependent for rule in embedding.rules}
    free = tuple(k for k, name in enumerate(model.speed_names) if name not in dependent)
    return EmbeddingTables(embedding, couplings, functions, free)
