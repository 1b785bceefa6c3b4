"""Whether a loop over frames is compiled already, so that nobody has to wait for it."""

from __future__ import annotations

from typing import Any


def kept(driver: Any) -> bool:
    """Whether this process has compiled a driver, or an earlier one left it in the cache for this processor."""
    if driver.signatures:
        return True
    here = driver.targetctx.codegen().magic_tuple()
    # Numba's list of what it kept, by signature, processor and code
    return any(processor == here for _, processor, _ in driver._cache._cache_file._load_index())
