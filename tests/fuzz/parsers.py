#!/usr/bin/env python3
"""Feed damaged files to every reader: each must return a result or raise a `MusculoError`, and nothing else.

    python tests/fuzz/parsers.py [SECONDS [READER ...]]

SECONDS is the time for each reader (60 by default). A failure is kept beside the working directory as
`fuzz-READER-SEED` and printed with its traceback; the exit status is the number of failures. Inputs are drawn from a
seeded generator: the same seed makes the same file.
"""

from __future__ import annotations

import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from musculo import (
    Markers,
    MusculoError,
    MusculoWarning,
    Table,
    read_c3d,
    read_external_loads,
    read_osim,
    read_storage,
    read_trc,
    write_netcdf,
)
from musculo.demo import MODEL_FILE
from musculo.io import read_force_set, read_netcdf, read_orientations, write_trc
from musculo.io.meshes import read_mesh
from musculo.opensim import read_setup
from musculo.results import Provenance
from support import mesh_files
from support.c3d_files import DEC, INTEL, SGI, C3DMaker, plate_group
from support.setup_files import FORCE_SET, IMU_SETUPS, OLD_SETUPS, SCALE_SETUP, SCALE_TASKS

MEMORY = 8 << 30  # [bytes] a reader that wants more has believed a damaged size
PATIENCE = 20  # [s] a reader that takes longer on a few kilobytes hangs

STORAGE = [
    "t\nversion=1\nnRows=3\nnColumns=3\ninDegrees=yes\n\nfree text\nendheader\ntime\ta\tb\n"
    "0\t1\t2\n0.1\t-1e-3\tnan\n0.2\t5\t6\n",
    "inDegrees=no\nDataType=Vec3\nversion=3\nOpenSimVersion=4.6\nendheader\ntime\tm\tn\n0\t1,2,3\t4,5,6\n1\t1,2,3\t,,\n",
    "name x\ndatacolumns 3\ndatarows 2\nrange 0 1\nendheader\n   time   a   b\n 0 1 2\n 1 3 4\n",
    "time,a,b\n0,1,2\n1,,4\n",
    "endheader\r\ntime;a;a\r\n0;1;2\r\n0;3;4\r\n",
]
TRC = [
    "PathFileType\t4\t(X/Y/Z)\tx.trc\n"
    "DataRate\tCameraRate\tNumFrames\tNumMarkers\tUnits\tOrigDataRate\tOrigDataStartFrame\tOrigNumFrames\n"
    "100\t100\t3\t2\tmm\t100\t1\t3\nFrame#\tTime\tA\t\t\tB\t\t\n\t\tX1\tY1\tZ1\tX2\tY2\tZ2\n\n"
    "1\t0.00\t1\t2\t3\t4\t5\t6\n2\t0.01\t\t\t\t4\t5\t6\n3\t0.02\t1\t2\t3\n"
]
ORIENTATIONS = (
    "DataRate=100\nDataType=Quaternion\nversion=3\nOpenSimVersion=4.6\nendheader\ntime\ta_imu\tb_imu\n"
    "0\t1,0,0,0\t0.5,-0.5,0.5,0.5\n0.01\t0,1e-3,2,3\tnan,nan,nan,nan\n"
)
LOADS = (
    '<?xml version="1.0"?>\n<OpenSimDocument Version="30000"><ExternalLoads name="l"><objects>'
    '<ExternalForce name="f"><isDisabled>false</isDisabled><applied_to_body>calcn_r</applied_to_body>'
    "<force_expressed_in_body>ground</force_expressed_in_body><point_expressed_in_body>ground"
    "</point_expressed_in_body><force_identifier>v</force_identifier><point_identifier>p</point_identifier>"
    "<torque_identifier>t_</torque_identifier></ExternalForce></objects><datafile>d.mot</datafile>"
    "</ExternalLoads></OpenSimDocument>"
)
LOADS_DATA = "d\nversion=1\nendheader\ntime vx vy vz px py pz t_x t_y t_z\n0 1 2 3 4 5 6 7 8 9\n1 1 2 3 4 5 6 7 8 9\n"

# What a damaged or foreign file may hold where a number or a word should be.
WORDS = [
    *(
        "nan",
        "NaN",
        "-nan",
        "inf",
        "1e999",
        "-1e-999",
        "1_000",
        "٣",
        "1,5",
        "0x10",
        "1.#QNAN",
        "1D3",
        "--1",
        "-",
        "+",
        ".",
    ),
    *(
        "time",
        "endheader",
        "version=1",
        "version=3",
        "DataType=Vec3",
        "DataType=Quaternion",
        "inDegrees=yes",
        "nRows=0",
    ),
    *(
        "\t",
        "\t\t\t",
        " ",
        ",",
        ";",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\x0b",
        "\x0c",
        "\x85",
        "\u2028",
        "\ufeff",
        "\0",
        '"',
        "'",
    ),
    *("Frame#", "Time", "Units", "mm", "parsecs", "X1", "9" * 400, "0", "-1", "65535", "1e308", "1e-308", "é", "\x1a"),
    *(
        "<",
        ">",
        "&",
        "</",
        "<!--",
        "<![CDATA[",
        "]]>",
        "&lt;",
        "<!DOCTYPE a [<!ENTITY b 'c'>]>",
        "true",
        "false",
        "../",
    ),
]


def c3d_seeds() -> list[bytes]:
    """Small files of every byte order, with plates and events."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4, 2, 3)) * 100
    points[1, 0] = np.nan
    corners = [[[1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]]] * 4
    channels = np.zeros((4, 8), dtype=int)
    for k, (start, count) in enumerate(((1, 6), (7, 6), (13, 8), (21, 6))):
        channels[k, :count] = np.arange(start, start + count)
    extra = {
        "FORCE_PLATFORM": plate_group([1, 2, 3, 4], corners, [[1, 2, -3]] * 4, channels, np.ones((4, 6, 6))),
        "EVENT": {"USED": 1, "TIMES": np.array([[0.0], [1.5]]), "LABELS": ["Foot Strike"], "CONTEXTS": ["Left"]},
        "TRIAL": {"ACTUAL_START_FIELD": np.array([1, 0]), "ACTUAL_END_FIELD": np.array([4, 0])},
    }
    seeds = []
    for processor in (INTEL, DEC, SGI):
        for scale in (-1.0, 0.1):
            analog = rng.normal(size=(8, 26)) * 100
            labels = [f"c{k}" for k in range(26)]
            maker = C3DMaker(points, ["A", "B"], analog=analog, analog_labels=labels, extra=extra)
            maker.processor, maker.scale = processor, scale
            seeds.append(maker.bytes())
    return seeds


def netcdf_seeds(folder: Path) -> list[bytes]:
    table = Table([0.0, 1.0], ("a", "b"), [[1.0, 2.0], [3.0, 4.0]], provenance=Provenance.of("fuzz"))
    markers = Markers([0.0, 1.0], ("a", "b"), np.ones((2, 2, 3)))
    seeds = []
    for result in (table, markers):
        write_netcdf(result, folder / "seed.nc")
        seeds.append((folder / "seed.nc").read_bytes())
    return seeds


def trc_seeds(folder: Path) -> list[bytes]:
    write_trc(Markers([0.0, 1.0], ("a", "b c"), np.full((2, 2, 3), np.nan)), folder / "seed.trc")
    return [*(text.encode() for text in TRC), (folder / "seed.trc").read_bytes()]


def setup_seeds() -> list[bytes]:
    """Set-up files of every tool, new and old."""
    return [text.encode() for text in (SCALE_SETUP, *(text for _, text in OLD_SETUPS.values()), *IMU_SETUPS)]


def vtp_seeds() -> list[bytes]:
    """The box in every way of storing arrays."""
    seeds = [mesh_files.vtp(), mesh_files.vtp(strips=True)]
    for compressor in mesh_files.COMPRESSORS:
        seeds += [mesh_files.vtp(form, compressor, header="UInt64") for form in ("binary", "appended")]
        seeds.append(mesh_files.vtp("appended", compressor, base=False))
    return seeds


class Reader:
    """One reader, the files that it should read, and the name under which it meets a damaged one."""

    def __init__(self, read: Callable[[Any], Any], suffix: str, seeds: list[bytes], extra: dict[str, bytes]) -> None:
        self.read, self.suffix, self.seeds, self.extra = read, suffix, seeds, extra


def readers(folder: Path) -> dict[str, Reader]:
    """Every reader by name; `folder` is for files that are made on the way."""

    leg = read_osim(MODEL_FILE)

    def loads(path: Path) -> Any:
        found = read_external_loads(path)
        return found.at([-1.0, 0.3, 7.0]) if np.isfinite(found.table.values).all() else found

    def storage(path: Path) -> Any:
        table = read_storage(path)
        return table.gaps(), repr(table)

    return {
        "storage": Reader(storage, ".sto", [text.encode() for text in STORAGE], {}),
        "mot": Reader(storage, ".mot", [text.encode() for text in STORAGE], {}),
        "trc": Reader(lambda path: read_trc(path).gaps(), ".trc", trc_seeds(folder), {}),
        "orientations": Reader(lambda path: read_orientations(path).rotation, ".sto", [ORIENTATIONS.encode()], {}),
        "c3d": Reader(read_c3d, ".c3d", c3d_seeds(), {}),
        "external_loads": Reader(loads, ".xml", [LOADS.encode()], {"d.mot": LOADS_DATA.encode()}),
        "netcdf": Reader(read_netcdf, ".nc", netcdf_seeds(folder), {}),
        "force_set": Reader(lambda path: read_force_set(path, leg), ".xml", [FORCE_SET.encode()], {}),
        "setup": Reader(read_setup, ".xml", setup_seeds(), {"tasks.xml": SCALE_TASKS.encode()}),
        "osim": Reader(read_osim, ".osim", [MODEL_FILE.read_bytes()], {}),
        "vtp": Reader(read_mesh, ".vtp", vtp_seeds(), {}),
        "obj": Reader(read_mesh, ".obj", [mesh_files.obj(), mesh_files.obj(relative=True)], {}),
        "stl": Reader(read_mesh, ".stl", [mesh_files.stl_text(), mesh_files.stl_binary(b"box")], {}),
    }


def damaged(seeds: list[bytes], rng: random.Random) -> bytes:
    """A seed with a few changes."""
    data = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5, 10, 30))):
        at = rng.randrange(len(data) + 1)
        end = min(len(data), at + rng.choice((1, 1, 2, 4, 16, 100, 1000)))
        kind = rng.randrange(8)
        if kind == 0 and data:
            data[min(at, len(data) - 1)] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(WORDS).encode()
        elif kind == 2:
            del data[at:end]
        elif kind == 3:
            data[at:at] = data[at:end]
        elif kind == 4:
            data[at:end] = rng.choice(WORDS).encode()
        elif kind == 5:
            data[at : at + 2] = rng.choice((0, 1, 2, 127, 128, 255, 32767, 65535)).to_bytes(
                2, rng.choice(("little", "big"))
            )
        elif kind == 6:
            other = rng.choice(seeds)
            start = rng.randrange(len(other) + 1)
            data[at:end] = other[start : start + end - at]
        elif rng.random() < 0.3:
            del data[at:]
    return bytes(data)


def inputs(reader: Reader, start: int) -> Iterator[tuple[int, bytes]]:
    """Damaged files without end, each with its seed."""
    seed = start
    while True:
        yield seed, damaged(reader.seeds, random.Random(seed))
        seed += 1


def fuzz(name: str, seconds: float, folder: Path, start: int = 0) -> tuple[Counter[str], list[tuple[int, str, bytes]]]:
    """Damaged files for some time: what came of them, and the failures as seed, traceback and content."""
    reader = readers(folder)[name]
    for extra, content in reader.extra.items():
        (folder / extra).write_bytes(content)
    file = folder / f"damaged{reader.suffix}"
    outcomes: Counter[str] = Counter()
    failures: list[tuple[int, str, bytes]] = []
    end = time.monotonic() + seconds
    for seed, content in inputs(reader, start):
        if time.monotonic() > end or len(failures) >= 10:
            break
        file.write_bytes(content)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", MusculoWarning)  # what musculo itself says about a damaged file
                reader.read(file)
            outcomes["read"] += 1
        except MusculoError as error:
            outcomes[type(error).__name__] += 1
            if len(str(error)) > 2000:
                failures.append((seed, f"a message of {len(str(error))} characters: {str(error)[:200]}", content))
        except Exception:
            failures.append((seed, traceback.format_exc(), content))
    return outcomes, failures


def _hang(*_: Any) -> None:
    raise TimeoutError(f"no answer within {PATIENCE} s")


def main() -> int:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGALRM, _hang)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        names = sys.argv[2:] or list(readers(Path(folder)))
        for name in names:
            start = time.time_ns() % 10**12
            reader_outcomes, failures = _watched(name, seconds, Path(folder), start)
            print(
                f"{name}: seeds from {start}, {sum(reader_outcomes.values())} files, {dict(reader_outcomes)}, "
                f"{len(failures)} failures",
                flush=True,
            )
            for seed, trace, content in failures:
                kept = Path(f"fuzz-{name}-{seed}")
                kept.write_bytes(content)
                print(f"--- {kept}\n{trace}", flush=True)
            failed += len(failures)
    return min(failed, 100)


def _watched(name: str, seconds: float, folder: Path, start: int) -> tuple[Counter[str], list[tuple[int, str, bytes]]]:
    """`fuzz` in slices, with an alarm that catches a reader that hangs."""
    total: Counter[str] = Counter()
    failures: list[tuple[int, str, bytes]] = []
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0 and len(failures) < 10:
        signal.alarm(PATIENCE + int(min(left, 10.0)) + 1)
        outcomes, found = fuzz(name, min(left, 10.0), folder, start + sum(total.values()) + len(failures))
        signal.alarm(0)
        total += outcomes
        failures += found
    return total, failures


if __name__ == "__main__":
    sys.exit(main())
