#!/usr/bin/env python3
"""Compile the drivers that ship, for every level of processor, into `src/musculo/kernels/compiler/libraries`.

    python tools/build_kernels.py [--levels x86-64-v3 ...] [--processes 2]     then: python -m build --wheel
    python tools/build_kernels.py record FILE       write the list of drivers from what a run of the tests met
                                                    (MUSCULO_RECORD=FILE python -m pytest)

A wheel that is built afterwards carries the libraries (`hatch_build.py`). It needs the package, so that Numba compiles
its kernels, and a C compiler, which links them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
sys.path.insert(0, str(SOURCE))

from musculo.kernels.compiler import canonical, shipped  # noqa: E402
from musculo.kernels.compiler.driver_code import Layout  # noqa: E402
from musculo.kernels.compiler.names import code_name_at  # noqa: E402
from musculo.kernels.compiler.options import LEVELS, machine  # noqa: E402

# What compiled code may ask of the system: the C library, its mathematics, and Python.
KNOWN = re.compile(
    r"^(Py\w+|mem\w+|malloc|free|sin|cos|tan|a?sinh?|a?cosh?|a?tanh?|atan2|sincos|exp\w*|log\w*|pow|f?abs|erfc?|fmod|floor|"
    r"ceil|round|rint|cbrt|hypot|_GLOBAL_OFFSET_TABLE_|__stack_chk_fail)$"
)


def compile_driver(where: str, signature: str, levels: list[str], folder: str) -> tuple[str, Layout, float]:
    """One driver for all levels, as object files in a folder; the name of its code, its layout and seconds of work."""
    import gc

    from musculo.kernels.compiler.build import part_at
    from musculo.kernels.compiler.machine_code.entry import lowered, object_of

    gc.disable()
    start = time.process_time()
    name = code_name_at(where, signature)
    driver = lowered(part_at(where), name, signature)
    for level in levels:
        Path(folder, f"{name}.{level}.o").write_bytes(object_of(driver, level))
    return name, driver.layout, time.process_time() - start


def build(levels: list[str], processes: int, output: Path) -> None:
    """All libraries and their index."""
    start = time.monotonic()
    drivers = sorted(canonical.listed(), key=lambda d: -d.seconds)
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(processes) as pool:
        asked = [pool.submit(compile_driver, where, text, levels, folder) for where, text, _ in drivers]
        index = {}
        for k, (answer, driver) in enumerate(zip(asked, drivers, strict=True)):
            name, layout, seconds = answer.result()
            index[name] = layout
            print(f"{k + 1:3} of {len(drivers)}  {seconds:5.1f} s  {driver.where}", flush=True)
        shutil.rmtree(output, ignore_errors=True)
        output.mkdir(parents=True)
        for level in levels:
            objects = sorted(str(path) for path in Path(folder).glob(f"*.{level}.o"))
            link(objects, output / shipped.library_file(level))
    (output / shipped.INDEX).write_text(json.dumps(index, indent=0, sort_keys=True), encoding="utf-8")
    size = sum(path.stat().st_size for path in output.iterdir()) / 1e6
    print(f"{len(index)} drivers for {', '.join(levels)}: {size:.1f} MB in {time.monotonic() - start:.0f} s, {output}")


def link(objects: list[str], target: Path) -> None:
    """A shared library; what it asks for and the system does not have is an error here, not at a user's."""
    undefined = subprocess.run(["nm", "-u", "-j", *objects], capture_output=True, text=True, check=True).stdout.split()
    strange = sorted(
        {name for name in undefined if not name.endswith(":") and not KNOWN.match(name.lstrip("_") or name)}
    )
    if strange:
        raise SystemExit(f"compiled code asks for what no system has: {', '.join(strange)}")
    cc = os.environ.get("CC", "cc")
    options = ["-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-s", "-lm"]
    subprocess.run([cc, "-shared", "-o", str(target), *objects, *options], check=True)


def record(met: Path, processes: int) -> None:
    """Write the list: what stood there, and what was met beside it. To begin afresh, delete `canonical.json` before."""
    known = {(driver.where, driver.signature): driver.seconds for driver in canonical.listed()}
    found = {(where, signature) for where, signature in map(json.loads, met.read_text(encoding="utf-8").splitlines())}
    drivers, types = [], {}
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(processes, max_tasks_per_child=1) as pool:
        # each in a process of its own: what others lowered before would not count
        new = {key: pool.submit(compile_driver, *key, ["native"], folder) for key in sorted(found - set(known))}
        for where, signature in sorted(found | set(known)):
            try:
                took = known.get((where, signature)) or new[where, signature].result()[2]
            except Exception as error:
                print(f"left out: {where} {signature}: {error}")
                continue
            print(f"{took:5.1f} s  {where}", flush=True)
            drivers.append([where, _shortened(signature, types), round(took, 1)])
    content = {"types": dict(sorted(types.items())), "drivers": drivers}
    canonical._FILE.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _shortened(signature: str, types: dict[str, str]) -> str:
    """The signature with `@module:name` for named tuples, whose fields go into `types`."""
    from musculo.kernels.compiler.signature import Shape, parsed

    def text(shape: Shape) -> str:
        if shape.kind == "named":
            fields = ",".join(f"{name}={text(part)}" for name, part in zip(shape.fields, shape.parts, strict=True))
            if types.setdefault(shape.name, fields) == fields:
                return f"@{shape.name}"
            return f"{shape.name}({fields})"
        if shape.kind == "tuple":
            return f"({','.join(map(text, shape.parts))})"
        if shape.kind == "array":
            return f"{shape.name}[{shape.dimensions}{'' if shape.order == 'C' else shape.order}]"
        return shape.name

    return text(parsed(signature))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="build", choices=["build", "record"])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--levels", nargs="+", default=list(LEVELS.get(machine(), {})))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--output", type=Path, default=shipped.FOLDER)
    asked = parser.parse_args()
    if asked.task == "record":
        record(asked.file, asked.processes)
    else:
        build(asked.levels, asked.processes, asked.output)


if __name__ == "__main__":
    main()
