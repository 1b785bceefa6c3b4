"""Compiles drivers: in this process, or as a process that does nothing else (`workers` starts some).

Such a process reads jobs from its input, a line each, and answers on its output, a line of JSON and then an object
file.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import queue
import sys
import threading
import time
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from musculo.kernels.compiler import names, store
from musculo.kernels.compiler.driver_code import Layout


class Job(NamedTuple):
    """A driver to compile."""

    where: str  # module:name
    signature: str
    name: str  # of its code


class Built(NamedTuple):
    """What came of it."""

    layout: Layout
    image: bytes
    seconds: float  # that it took; 0 where another process compiled it
    unkept: str = ""  # why it is not kept


def build(part: Any, job: Job) -> Built:
    """A driver's machine code for this processor, kept for later processes."""
    from musculo.kernels.compiler.machine_code.entry import lowered, object_of

    start = time.monotonic()
    driver = lowered(part, job.name, job.signature)
    image = object_of(driver, "native")
    # of sources that are edited meanwhile nobody knows which ones this is the code of
    unkept = "" if names.has_changed(*job) else store.keep(job.name, driver.layout, image)
    return Built(driver.layout, image, time.monotonic() - start, unkept)


def part_at(where: str) -> Any:
    """The driver `module:name`."""
    module, name = where.split(":")
    return getattr(importlib.import_module(module), name)


def serve(jobs: BinaryIO, answers: BinaryIO) -> None:
    """Compile job after job; ends with the input, also in the midst of one: then nobody waits for it."""
    waiting: queue.Queue[bytes] = queue.Queue()

    def listen() -> None:
        for line in jobs:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    # what Numba makes lives until the end: to look for garbage among it takes a quarter of the time
    gc.disable()
    while True:
        job_fields, patient = json.loads(waiting.get())
        job = Job(*job_fields)
        with store.alone(job.name, patient) as alone:
            if not alone:
                _answer(answers, {"busy": True})
                continue
            kept = store.read(job.name)
            try:
                built = build(part_at(job.where), job) if kept is None else Built(*kept, 0.0)
            except Exception as error:
                _answer(answers, {"error": f"{type(error).__name__}: {error}"})
                continue
        told = {"layout": built.layout, "seconds": built.seconds, "unkept": built.unkept}
        _answer(answers, {**told, "size": len(built.image)}, built.image)


def _answer(stream: BinaryIO, told: dict[str, Any], image: bytes = b"") -> None:
    stream.write(json.dumps(told).encode() + b"\n" + image)
    stream.flush()


def main(folder: str) -> None:
    """A process of `workers`, which keeps its code in this folder."""
    store.use_folder(Path(folder))
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whoever prints does not answer
    with answers:
        serve(sys.stdin.buffer, answers)
