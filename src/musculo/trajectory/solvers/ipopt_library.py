"""IPOPT's C interface, from the library in CasADi's wheel."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from ctypes import CFUNCTYPE, POINTER, c_bool, c_char_p, c_double, c_int, c_void_p
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from musculo.errors import MusculoError

_DOUBLES = POINTER(c_double)
_INTS = POINTER(c_int)

# As in IpStdCInterface.h of IPOPT 3.14: an index is an int, a Bool is a C99 bool.
EvaluateObjective = CFUNCTYPE(c_bool, c_int, _DOUBLES, c_bool, _DOUBLES, c_void_p)
EvaluateGradient = CFUNCTYPE(c_bool, c_int, _DOUBLES, c_bool, _DOUBLES, c_void_p)
EvaluateRows = CFUNCTYPE(c_bool, c_int, _DOUBLES, c_bool, c_int, _DOUBLES, c_void_p)
EvaluateJacobian = CFUNCTYPE(c_bool, c_int, _DOUBLES, c_bool, c_int, c_int, _INTS, _INTS, _DOUBLES, c_void_p)
EvaluateHessian = CFUNCTYPE(
    c_bool, c_int, _DOUBLES, c_bool, c_double, c_int, _DOUBLES, c_bool, c_int, _INTS, _INTS, _DOUBLES, c_void_p
)
AfterIteration = CFUNCTYPE(
    c_bool,
    c_int,
    c_int,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_double,
    c_int,
    c_void_p,
)

_ADVICE = "IPOPT comes with casadi: pip install --force-reinstall casadi"


@cache
def ipopt() -> ctypes.CDLL:
    """The library, with the types of its functions."""
    tried = []
    for path in _candidates():
        try:
            library = _load(path)
        except OSError as error:
            tried.append(f"{path}: {error}")
        else:
            return _typed(library)
    folder = casadi_folder()
    if folder is None:
        raise MusculoError(f"IPOPT is not here: casadi is not installed. {_ADVICE}")
    reasons = "; ".join(tried) or f"no file of that name in {folder} or {_environment_folder()}"
    raise MusculoError(f"IPOPT's library cannot be loaded ({reasons}). {_ADVICE}")


def version() -> tuple[int, int, int]:
    """Of IPOPT, such as (3, 14, 19)."""
    parts = [c_int(), c_int(), c_int()]
    ipopt().GetIpoptVersion(*map(ctypes.byref, parts))
    return parts[0].value, parts[1].value, parts[2].value


def _candidates() -> Iterator[Path]:
    """Files that may be the library: in casadi's folder, else in the environment's (conda keeps it there)."""
    for folder in (casadi_folder(), _environment_folder()):
        if folder is None:
            continue
        names = {"win32": ("libipopt*.dll", "ipopt*.dll"), "darwin": ("libipopt*.dylib",)}
        for pattern in names.get(sys.platform, ("libipopt.so*",)):
            yield from sorted(folder.glob(pattern))


def casadi_folder() -> Path | None:
    """Where casadi's files are; importing it would take long and is not needed."""
    spec = find_spec("casadi")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def _environment_folder() -> Path:
    root = Path(sys.prefix)
    return root / "Library" / "bin" if sys.platform == "win32" else root / "lib"


def _load(path: Path) -> ctypes.CDLL:
    if sys.platform == "win32":  # the libraries that it needs are beside it
        with os.add_dll_directory(str(path.parent)):
            return ctypes.CDLL(str(path))
    return ctypes.CDLL(str(path))


def _typed(library: ctypes.CDLL) -> ctypes.CDLL:
    problem = c_void_p
    library.GetIpoptVersion.argtypes = [_INTS, _INTS, _INTS]
    library.GetIpoptVersion.restype = None
    library.CreateIpoptProblem.restype = problem
    library.CreateIpoptProblem.argtypes = [
        c_int, _DOUBLES, _DOUBLES, c_int, _DOUBLES, _DOUBLES, c_int, c_int, c_int,
        EvaluateObjective, EvaluateRows, EvaluateGradient, EvaluateJacobian, EvaluateHessian,
    ]  # fmt: skip
    library.FreeIpoptProblem.argtypes = [problem]
    library.FreeIpoptProblem.restype = None
    for name, kind in (("Str", c_char_p), ("Num", c_double), ("Int", c_int)):
        function = getattr(library, f"AddIpopt{name}Option")
        function.argtypes = [problem, c_char_p, kind]
        function.restype = c_bool
    library.OpenIpoptOutputFile.argtypes = [problem, c_char_p, c_int]
    library.OpenIpoptOutputFile.restype = c_bool
    library.SetIntermediateCallback.argtypes = [problem, AfterIteration]
    library.SetIntermediateCallback.restype = c_bool
    library.SetIpoptProblemScaling.argtypes = [problem, c_double, _DOUBLES, _DOUBLES]
    library.SetIpoptProblemScaling.restype = c_bool
    library.IpoptSolve.argtypes = [problem, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, _DOUBLES, c_void_p]
    library.IpoptSolve.restype = c_int
    return library
