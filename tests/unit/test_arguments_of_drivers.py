"""Machine code of one type of arguments is not used for another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver


class Extra(NamedTuple):
    """What may be there."""

    x: FloatArray


@driver
def _total(a, extra):
    if extra is None:
        return a[0]
    return a[0] + extra.x[0]


def test_nothing_is_no_stand_in_for_something(monkeypatch, tmp_path):
    """Code that was found for None is not run with a tuple, and the other way round."""
    monkeypatch.setenv("MUSCULO_CACHE_DIR", str(tmp_path))
    a, extra = np.array([1.0]), Extra(np.array([2.0]))
    assert _total(a, None) == 1.0
    assert _total(a, extra) == 3.0
    assert _total(a, None) == 1.0
    assert _total(a, extra) == 3.0
