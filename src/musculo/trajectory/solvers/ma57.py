"""Our factors of sparse equations as the linear solver that IPOPT loads under the name of MA57.

IPOPT calls functions of a shared library: analyze a pattern, factorize, solve. Here they are functions of this process
(`shared_object`), and what a Fortran code would keep in IPOPT's arrays is one number, which names its factors.

Source: Duff (2004), MA57: a code for the solution of sparse symmetric definite and indefinite systems, ACM Transactions
on Mathematical Software 30, 118-144, for the interface.
"""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from ctypes import POINTER, c_double, c_int
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from musculo.trajectory.solvers.shared_object import can_be_written, shared_object
from musculo.trajectory.solvers.sparse_factors import SparseFactors, metis_library

_INTS, _DOUBLES = POINTER(c_int), POINTER(c_double)
# Places in INFO: the outcome, what the two kinds of arrays need, and negative eigenvalues.
_OUTCOME, _NUMBERS, _INDICES, _NEGATIVE = 0, 8, 9, 23
_SINGULAR, _FAILED = 4, -1


class _Analysis(NamedTuple):
    """What IPOPT gives MA57AD: pointers, as all of these are."""

    n: Any
    entries: Any
    row: Any
    column: Any
    size: Any
    keep: Any
    work: Any
    control: Any
    info: Any
    figures: Any


class _Factorization(NamedTuple):
    """What it gives MA57BD."""

    n: Any
    entries: Any
    values: Any
    numbers: Any
    numbers_size: Any
    indices: Any
    indices_size: Any
    size: Any
    keep: Any
    work: Any
    control: Any
    tolerances: Any
    info: Any
    figures: Any


class _Solution(NamedTuple):
    """What it gives MA57CD."""

    job: Any
    n: Any
    numbers: Any
    numbers_size: Any
    indices: Any
    indices_size: Any
    sides: Any
    right: Any
    leading: Any
    work: Any
    work_size: Any
    more: Any
    control: Any
    info: Any


@cache
def is_available() -> bool:
    """Whether such a library can be loaded here, and there is an ordering."""
    if not can_be_written() or metis_library() is None:
        return False
    try:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "probe.so")
            path.write_bytes(shared_object({"probe": 0}))
            ctypes.CDLL(str(path))
    except OSError:  # nothing may be run from there
        return False
    return True


class Ma57:
    """The functions of MA57, for as long as this object is kept.

    Args:
        raised: called with what a function raises; IPOPT is told that it failed.
    """

    def __init__(self, raised: Callable[[BaseException], None]) -> None:
        self.factors: list[SparseFactors] = []
        self._raised = raised
        kinds: dict[str, tuple[Any, ...]] = {
            "ma57id_": (_nothing, _DOUBLES, _INTS),
            "ma57ad_": (lambda *x: self._analyze(_Analysis(*x)), *[_INTS] * 9, _DOUBLES),
            "ma57bd_": (
                lambda *x: self._factorize(_Factorization(*x)),
                *[_INTS] * 2, *[_DOUBLES] * 2, *[_INTS] * 7, _DOUBLES, _INTS, _DOUBLES,
            ),
            "ma57cd_": (
                lambda *x: self._solve(_Solution(*x)),
                *[_INTS] * 2, _DOUBLES, *[_INTS] * 4, _DOUBLES, _INTS, _DOUBLES, *[_INTS] * 4,
            ),
            "ma57ed_": (_nothing, *[_INTS] * 3, _DOUBLES, _INTS, _DOUBLES, *[_INTS] * 5),
        }  # fmt: skip
        self._functions = {name: ctypes.CFUNCTYPE(None, *types)(function) for name, (function, *types) in kinds.items()}

    def write(self, folder: Path) -> Path:
        """The shared library, in a folder."""
        addresses = {name: ctypes.cast(one, ctypes.c_void_p).value or 0 for name, one in self._functions.items()}
        path = folder / "multifrontal.so"
        path.write_bytes(shared_object(addresses))
        return path

    def _guarded(self, info: Any, call: Callable[[], int]) -> None:
        try:
            info[_OUTCOME] = call()
        except BaseException as error:
            info[_OUTCOME] = _FAILED
            self._raised(error)

    def _analyze(self, x: _Analysis) -> None:
        def call() -> int:
            entries = (x.entries[0],)
            rows, columns = (np.ctypeslib.as_array(one, entries).astype(np.int64) - 1 for one in (x.row, x.column))
            self.factors.append(SparseFactors(rows, columns, x.n[0]))
            x.keep[0] = len(self.factors) - 1
            x.info[_NUMBERS] = x.info[_INDICES] = 1
            return 0

        self._guarded(x.info, call)

    def _factorize(self, x: _Factorization) -> None:
        def call() -> int:
            factors = self.factors[x.keep[0]]
            factors.factorize(np.ctypeslib.as_array(x.values, (x.entries[0],)), x.tolerances[0])
            x.indices[0] = x.keep[0]
            x.info[_NEGATIVE] = factors.negative
            return _SINGULAR if factors.zero else 0

        self._guarded(x.info, call)

    def _solve(self, x: _Solution) -> None:
        def call() -> int:
            self.factors[x.indices[0]].solve(np.ctypeslib.as_array(x.right, (x.sides[0], x.n[0])))
            return 0

        self._guarded(x.info, call)


def _nothing(*arguments: Any) -> None:
    pass
