"""Frames in batches, whose upload, work and download overlap those of their neighbors.

    host array -> pinned buffer -> device, frames first -> lanes last -> work -> frames first -> pinned buffer -> result

Three streams take turns. While one uploads and computes, threads fill the next and empty the one before. Only
page-locked ("pinned") memory is copied at the speed of the bus and beside other work, so that batches go through
buffers of it, which are kept between calls; several threads fill and empty them, since one copies less than the bus
can take. Arrays that are page-locked themselves are uploaded from where they lie.

A frame of inverse dynamics of 37 speeds is 888 bytes up and 296 down. A bus of 50 GB/s each way (PCIe 5.0, 16 lanes)
bounds that at 56 million frames a second; copies into pinned memory and out of it move the same bytes once more.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from musculo.kernels.cuda.cuda_code import jit
from musculo.kernels.cuda.cuda_device import cuda_module, with_names
from musculo.kernels.cuda.device_arrays import is_on_device, is_page_locked

Frames = Any  # (frames, columns): NumPy's array, or one on the device
THREADS = 128
# The part of the free memory batches may take; the rest is for what else lives on the device.
_SHARE = 0.6
# More lanes than this at once fill the device no better.
LARGE_BATCH = 1 << 18
# Lanes that fill an H200 once (132 multiprocessors of 512 threads). Few frames go in batches of this size, so that the
# first computes the sooner and the last comes back the sooner.
SMALL_BATCH = 1 << 16
_STREAMS = 3
# Bytes that one thread copies at once, and threads (measured on 16 cores beside an H200: 23 million frames of inverse
# dynamics a second; 19 with 2 MB, 20 with 8 threads, 21 with 16; copies alone would allow 24).
_PART = 4 << 20
_COPIERS = min(12, os.cpu_count() or 1)
Copy = tuple[Any, Any]  # target and source, both host memory

# One call at a time: pinned buffers are shared.
_lock = threading.Lock()
_pinned: dict[tuple[int, str], Any] = {}


def _turn(source, target):
    # frames first on one side, lanes last on the other
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < target.shape[1] and row < target.shape[0]:
        target[row, lane] = source[lane, row]


def _turn_back(source, target):
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < source.shape[1] and row < source.shape[0]:
        target[lane, row] = source[row, lane]


def _clear(target):
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < target.shape[1] and row < target.shape[0]:
        target[row, lane] = 0.0


@cache
def _turners() -> tuple[Any, Any, Any]:
    """Transposes on the device: the host takes longer to turn an array than the device to use it. And zeros."""
    there, back, clear = (jit(with_names(f)) for f in (_turn, _turn_back, _clear))
    return there, back, clear


class _Slot:
    """What one stream works with: arrays on the device, and pinned buffers."""

    def __init__(
        self, number: int, inputs: Sequence[Frames], work: Sequence[tuple[int, Any]], outputs: Any, batch: int
    ) -> None:
        cuda = cuda_module()
        self.stream, self.batch = cuda.stream(), batch
        self.turned = [cuda.device_array((x.shape[1], batch)) for x in inputs]
        self.work = [cuda.device_array((rows, batch), dtype=dtype) for rows, dtype in work]
        self.out = [cuda.device_array((rows, batch)) for rows, _ in outputs]
        up = [0 if is_on_device(x) else x.shape[1] for x in inputs]
        staged = [0 if is_page_locked(x) else n for x, n in zip(inputs, up, strict=True)]
        down = [0 if stays else rows for rows, stays in outputs]
        self.pinned_in, self.pinned_out = (
            _pinned_parts((number, way), widths, batch) for way, widths in (("in", staged), ("out", down))
        )
        self.flat_in: list[Any] = [cuda.device_array((batch, n)) if n else None for n in up]
        self.flat_out: list[Any] = [cuda.device_array((batch, n)) if n else None for n in down]
        self.first: int | None = None  # frame of what is under way
        clear = _turners()[2]
        for out in filter(_some, self.out):  # entries of unrelated speeds in a mass matrix are never written
            clear[(*_grid(out), self.stream)](out)

    def filling(self, first: int, inputs: Sequence[Frames]) -> list[Copy]:
        """The copies that bring a batch to where it is uploaded from."""
        rows = slice(first, first + self.batch)
        return [(pinned, x[rows]) for pinned, x in zip(self.pinned_in, inputs, strict=True) if pinned is not None]

    def begin(self, first: int, inputs: Sequence[Frames], results: Sequence[Any], launch: Any) -> None:
        """Upload and compute a batch that was filled in, and let its results come back."""
        turn, turn_back, _ = _turners()
        rows = slice(first, first + self.batch)
        for x, pinned, flat, turned in zip(inputs, self.pinned_in, self.flat_in, self.turned, strict=True):
            if not _some(turned):
                continue
            source = x[rows]
            if flat is not None:
                flat.copy_to_device(source if pinned is None else pinned, stream=self.stream)
                source = flat
            turn[(*_grid(turned), self.stream)](source, turned)
        blocks = ((self.batch + THREADS - 1) // THREADS, THREADS, self.stream)
        launch(blocks, self.turned, self.work, self.out)
        for out, pinned, flat, result in zip(self.out, self.pinned_out, self.flat_out, results, strict=True):
            if not _some(out):
                continue
            target = result[rows] if pinned is None else flat
            turn_back[(*_grid(out), self.stream)](out, target)
            if pinned is not None:
                flat.copy_to_host(pinned, stream=self.stream)
        self.first = first

    def emptying(self, results: Sequence[Any]) -> list[Copy]:
        """Wait for the batch that is under way, if any: the copies that hand over its results."""
        if self.first is None:
            return []
        self.stream.synchronize()
        rows = slice(self.first, self.first + self.batch)
        self.first = None
        return [
            (result[rows], pinned)
            for pinned, result in zip(self.pinned_out, results, strict=True)
            if pinned is not None
        ]


def _some(array: Any) -> bool:
    """Whether it has rows: the device refuses work on none."""
    return bool(array.shape[0])


def _grid(turned: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    rows, lanes = turned.shape
    return ((lanes + 31) // 32, (rows + 7) // 8), (32, 8)


def _pinned_parts(key: tuple[int, str], widths: Sequence[int], batch: int) -> list[Any]:
    """Arrays (batch, n) of pinned memory, one for each n > 0, in a buffer that stays for the next call."""
    size = batch * sum(widths)
    buffer: Any = _pinned.get(key)
    if size and (buffer is None or buffer.size < size):
        _pinned.pop(key, None)
        buffer = _pinned[key] = cuda_module().pinned_array(size, dtype=np.float64)
    parts, at = [], 0
    for n in widths:
        parts.append(buffer[at : at + n * batch].reshape(batch, n) if n else None)
        at += n * batch
    return parts


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COPIERS, thread_name_prefix="musculo-copy")


@contextlib.contextmanager
def _beside(copies: Sequence[Copy]) -> Iterator[None]:
    """Copy arrays of host memory in parts, by several threads, while something else is done."""
    parts = []
    for target, source in copies:
        edges = np.linspace(0, len(target), max(1, target.nbytes // _PART) + 1).astype(int)
        parts += [(target[a:b], source[a:b]) for a, b in pairwise(edges)]
    if len(parts) <= len(copies):  # too little for threads
        for target, source in parts:
            np.copyto(target, source)
        yield
        return
    under_way = [_copiers().submit(np.copyto, target, source) for target, source in parts]
    try:
        yield
    finally:
        for one in under_way:
            one.result()


def over_batches(
    inputs: Sequence[Frames],
    workspaces: Sequence[tuple[int, Any]],
    outputs: Sequence[tuple[int, bool]],
    launch: Callable[[Any, list[Any], list[Any], list[Any]], None],
) -> list[Any]:
    """Run kernels over all frames in batches that fit the free memory; returns (frames, rows) for each output.

    Args:
        inputs: arrays with the frame first; those on the device are read in place.
        workspaces: rows and type of each. outputs: rows of each, and whether it stays on the device.
        launch: called with (blocks, threads and stream; inputs with the lane last; workspaces; outputs (rows, lanes)).
    """
    cuda = cuda_module()
    frames = len(inputs[0])
    results = [cuda.device_array((frames, n)) if stays else np.empty((frames, n)) for n, stays in outputs]
    if frames == 0:
        return results
    with _lock:
        most = min(LARGE_BATCH, max(SMALL_BATCH, frames // 8))
        streams = min(_STREAMS, -(-frames // most))
        rows = sum(n for n, _ in workspaces) + 2 * sum(n for n, _ in outputs) + 2 * sum(x.shape[1] for x in inputs)
        free = cuda.current_context().get_memory_info()[0]
        batch = int(min(frames, most, max(THREADS, _SHARE * free // (8 * rows * streams))))
        slots = [_Slot(k, inputs, workspaces, outputs, batch) for k in range(streams)]
        # the last batch is padded with frames that were done before: one shape, one workspace
        firsts = [max(0, min(start, frames - batch)) for start in range(0, frames, batch)]
        with _beside(slots[0].filling(firsts[0], inputs)):
            pass
        for k, first in enumerate(firsts):
            following = slots[(k + 1) % streams]
            copies = following.emptying(results)
            if k + 1 < len(firsts):
                copies += following.filling(firsts[k + 1], inputs)
            with _beside(copies):
                slots[k % streams].begin(first, inputs, results, launch)
        for k in range(len(firsts), len(firsts) + streams):
            with _beside(slots[k % streams].emptying(results)):
                pass
    return results
