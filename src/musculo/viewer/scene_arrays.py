"""Arrays inside JSON: numbers as 16-bit steps, differences over frames, deflated, in base64.

A browser undoes it in the opposite order (`web/src/arrays.js`). Between frames little changes, so the differences are
small and deflate well; the high and low bytes are kept apart for the same reason.
"""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MISSING = -32768  # the step that stands for NaN
_STEPS = 32767


def steps(values: ArrayLike, per: str = "all") -> dict[str, Any]:
    """Numbers (frames, ...) as 16-bit steps: value = offset + scale * step, NaN kept.

    Args:
        values: the numbers; the first axis is the one that neighbors resemble each other along.
        per: "all" for one offset and scale, "last" for one each along the last axis.
    """
    x = np.asarray(values, dtype=float)
    axes = tuple(range(x.ndim - 1)) if per == "last" else None
    known = np.isfinite(x)
    low = np.min(np.where(known, x, np.inf), axis=axes, initial=np.inf)
    high = np.max(np.where(known, x, -np.inf), axis=axes, initial=-np.inf)
    low, high = np.where(low > high, 0.0, low), np.where(low > high, 0.0, high)
    offset, scale = 0.5 * (low + high), 0.5 * (high - low) / _STEPS
    whole = np.rint((np.where(known, x, offset) - offset) / np.where(scale > 0.0, scale, 1.0))
    as_steps = np.where(known, np.clip(whole, -_STEPS, _STEPS), MISSING).astype(np.int16)
    numbers = {"offset": np.ravel(offset).tolist(), "scale": np.ravel(scale).tolist()}
    return {"type": "steps", "shape": list(x.shape), **numbers, "data": _packed16(as_steps)}


def integers(values: ArrayLike) -> dict[str, Any]:
    """Whole numbers below 2^32, as 16 or 32 bits each."""
    x = np.asarray(values)
    if x.size and (x.min() < 0 or x.max() >= 1 << 32):
        raise ValueError("integers are packed without a sign in 32 bits")
    flat = np.ascontiguousarray(x)
    if not x.size or x.max() < 1 << 16:
        return {"type": "uint16", "shape": list(x.shape), "data": _packed16(flat.astype(np.uint16).view(np.int16))}
    halves = np.stack([flat & 0xFFFF, flat >> 16]).astype(np.uint16).view(np.int16)
    return {"type": "uint32", "shape": list(x.shape), "data": _packed16(halves)}


def floats(values: ArrayLike) -> dict[str, Any]:
    """Numbers in 32 bits each, for what must keep its digits: times."""
    x = np.ascontiguousarray(values, dtype="<f4")
    return {"type": "float32", "shape": list(x.shape), "data": _text(zlib.compress(x.tobytes(), 6))}


def _packed16(values: NDArray[np.int16]) -> str:
    rows = np.ascontiguousarray(values).view(np.uint16).reshape(len(values), values.size // max(len(values), 1))
    differences = np.diff(rows, axis=0, prepend=np.zeros((1, rows.shape[1]), dtype=np.uint16)).ravel()
    planes = np.stack([differences & 0xFF, differences >> 8]).astype(np.uint8)
    return _text(zlib.compress(planes.tobytes(), 6))


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")
