"""Which draws are made, and their results over all cores.

Samples come in families of one base and one partner for each group of inputs. A base draws every group anew. Partner g
has the numbers of its base in group g, and others of its own in all other groups: what it shares with its base comes
from that group (pick and freeze: Saltelli et al. 2008, Global Sensitivity Analysis, 4.6). Each of them is, alone, a
draw like any other, so that all count for percentiles.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from musculo.analyses.uncertainty.inputs import Changes, Step, UncertainInput, Varied, unchanged
from musculo.analyses.uncertainty.sample_chain import Sampled
from musculo.arrays import FloatArray
from musculo.errors import MusculoError

Progress = Callable[[int, int], None]
"""Called with the number of samples done and of all samples."""
# Results of samples that are larger than this lie in a temporary file [bytes].
_IN_MEMORY = 1 << 30
# Samples that threads work on before the next ones are handed out.
_BLOCK = 64


def family(sample: int, groups: int) -> tuple[int, int]:
    """The base of a sample, and which of its groups the sample shares with it: -1 of a base itself."""
    size = family_size(groups)
    member = sample % size
    return sample - member, member - 1


def family_size(groups: int) -> int:
    """Samples of a family: of one group all variance is its own, and no partner is needed."""
    return groups + 1 if groups > 1 else 1


def draw(inputs: Sequence[UncertainInput], varied: Varied, seed: int, sample: int) -> Changes:
    """The changes of a sample: a function of seed and number alone, whatever else is drawn and by whom."""
    changes = unchanged(varied)
    base, shared = family(sample, len(inputs))
    for group, one in enumerate(inputs):
        rng = np.random.default_rng([seed, group, base if group == shared else sample])
        one.change(varied, rng.standard_normal(one.size(varied)), changes)
    return changes


class SampleStore:
    """Results of all samples, a row each: (samples, frames, columns), in memory or in a file that vanishes."""

    def __init__(self, samples: int, nominal: Sampled) -> None:
        self.shapes = {name: values.shape[1:] for name, values in nominal.arrays.items()}
        frames = len(next(iter(nominal.arrays.values())))
        self.columns, at = {}, 0
        for name, shape in self.shapes.items():
            width = int(np.prod(shape, dtype=int))
            self.columns[name] = slice(at, at + width)
            at += width
        shape = (samples, frames, at)
        self.failed = np.zeros((samples, len(Step)), dtype=np.int64)
        self._file = None
        self.values: FloatArray
        if 8 * samples * frames * at <= _IN_MEMORY:
            self.values = np.empty(shape)
        else:
            self._file = tempfile.TemporaryFile(prefix="musculo-samples-")  # noqa: SIM115 (it lives as long as this)
            self.values = np.memmap(self._file, dtype=float, mode="w+", shape=shape)

    def put(self, sample: int, found: Sampled | None) -> None:
        """Write what a sample gave; what it did not give is NaN."""
        row = self.values[sample]
        row.fill(np.nan)
        if found is None:
            self.failed[sample, Step.KINEMATICS] = len(row)
            return
        self.failed[sample] = found.failed
        for name, values in found.arrays.items():
            row[:, self.columns[name]] = values.reshape(len(values), -1)


def run_samples(
    run: Callable[[int], Sampled], store: SampleStore, samples: int, threads: int | None, progress: Progress | None
) -> list[str]:
    """Fill the store, block by block; returns what errors said, each once."""
    errors: dict[str, None] = {}

    def one(sample: int) -> None:
        try:
            found: Sampled | None = run(sample)
        except MusculoError as error:
            found = None
            errors.setdefault(str(error))
        store.put(sample, found)

    workers = min(threads if threads is not None else (os.cpu_count() or 1), samples)
    with ThreadPoolExecutor(workers) as pool:
        for first in range(0, samples, _BLOCK):
            block = range(first, min(first + _BLOCK, samples))
            if workers == 1:
                for sample in block:
                    one(sample)
            else:
                list(pool.map(one, block))
            if progress is not None:
                progress(block.stop, samples)
    return list(errors)
