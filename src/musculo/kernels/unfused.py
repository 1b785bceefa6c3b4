"""Kernels whose products are rounded before anything is added to them.

Other kernels may fuse a product with a sum. Where another program's recipe asks on which side of zero such a sum lies,
the answer hangs on the rounding of the product: with t = r / d, r - t d is mostly zero; fused, it is the rounding of t.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from musculo.kernels.jit import _KernelCache

# fastmath is stated since a part of a kernel inherits what its caller has
_OPTIONS: dict[str, Any] = {"error_model": "numpy", "fastmath": False, "nogil": True, "_nrt": False}


def unfused(function: Callable[..., Any]) -> Any:
    """As `kernel`, with nothing fused; vectors come from here or from `wrap_math`, since `traced` ones fuse."""
    dispatcher = numba.njit(**_OPTIONS)(function)
    dispatcher._cache = _KernelCache(dispatcher.py_func)
    return dispatcher
