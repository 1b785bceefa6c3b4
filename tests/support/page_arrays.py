"""The arrays of a page as numbers again: what `web/src/arrays.js` does in a browser."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from musculo.viewer.scene_arrays import MISSING


def unpacked(array: dict[str, Any]) -> NDArray:
    """The numbers of an array made by `steps`, `integers` or `floats`."""
    data, shape = zlib.decompress(base64.b64decode(array["data"])), tuple(array["shape"])
    if array["type"] == "float32":
        return np.frombuffer(data, dtype="<f4").reshape(shape)
    halves = 2 if array["type"] == "uint32" else 1
    size = halves * int(np.prod(shape))
    planes = np.frombuffer(data, dtype=np.uint8).reshape(2, size)
    differences = planes[0].astype(np.uint16) | (planes[1].astype(np.uint16) << 8)
    rows = (halves, *shape) if halves == 2 else shape
    whole = np.cumsum(differences.reshape(rows[0], size // max(rows[0], 1)), axis=0, dtype=np.uint16).reshape(rows)
    if array["type"] == "uint16":
        return whole
    if array["type"] == "uint32":
        return whole[0].astype(np.int64) | (whole[1].astype(np.int64) << 16)
    signed = whole.view(np.int16)
    return np.where(signed == MISSING, np.nan, np.array(array["offset"]) + signed * np.array(array["scale"]))
