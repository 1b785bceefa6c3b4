"""A study of many trials: overhead over a bare loop, cores, a Dask cluster, what is killed, a full disk, and OpenSim.

python benchmarks/study.py [TRIALS] [PEER TRIALS] [ROUNDS]     needs extras `cluster`, `oracles`, and the data folder

Trials (200) are made of the recorded walk of gait10dof18musc, 1.4 s each: markers moved by 2 mm as a whole and by
0.2 mm in each frame, for ten subjects in two groups whose muscles have other strengths. Inverse kinematics, inverse
dynamics, static optimization and joint loads follow, and every file is written. The bare loop runs the same four tools
in one process and does nothing else; a second loop reads the files of a trial once, as studies do.
The rows come in turn, ROUNDS (3) times, and each is compared with the loop of its own round, by CPU time, as other
programs may run beside. A scheduler and its workers are there before a study begins, as those of a laboratory are.
OpenSim runs its own tools from Python on the first PEER TRIALS (20) of them; with 0, the table is all.

A disk is filled only by root, who can mount a small one.
"""

from __future__ import annotations

import os

# One thread a process, also in the linear algebra that numpy calls.
os.environ["OPENBLAS_NUM_THREADS"] = "1"

import contextlib
import hashlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parent))

import numpy as np

import musculo
from musculo.opensim_tools.setup_runner import run_setup
from musculo.opensim_tools.trial_tasks import trial_tasks
from musculo.results.made_once import shared_by_steps
from musculo.study import read_study
from trees import data_folder

SUBJECTS = 10
ROUNDS = 3
LOOP = "loop, files read once each"
SPAN = (0.5, 1.9)  # both feet on plates [s]
STUDY = """name = "perturbed walks"
tasks = "tasks.xml"
forces = ["reserves.xml"]
reserve = 0
"""
_PEER = """
import os, sys, time
import opensim
opensim.Logger.setLevelString("off")
begin = time.perf_counter(), time.process_time()
for folder in sys.argv[2:]:
    os.chdir(folder)
    for tool, setup in (("InverseKinematicsTool", "ik"), ("InverseDynamicsTool", "id"), ("AnalyzeTool", "so"),
                        ("AnalyzeTool", "jr")):
        assert getattr(opensim, tool)(setup + ".xml").run()
wall, cpu = time.perf_counter() - begin[0], time.process_time() - begin[1]
open(sys.argv[1], "w").write(f"{wall} {cpu}")
os._exit(0)
"""


class Run(NamedTuple):
    """What a run took."""

    wall: float  # [s]
    cpu: float  # of all its processes [s]
    memory: float  # of the largest of them [MB]


def data_of_walk() -> Path:
    home = data_folder()
    if home is None:
        raise SystemExit("this benchmark needs the data folder; see CONTRIBUTING")
    return home / "gait10dof18musc"


# --- the trials -------------------------------------------------------------------------------------------------------
def make_study(home: Path, count: int) -> None:
    data = data_of_walk()
    markers = musculo.read_trc(data / "subject01_walk.trc").between(*SPAN)
    model = musculo.read_osim(data / "subject01.osim")
    rng = np.random.default_rng(0)
    text = STUDY
    shutil.copy(data / "oracle_reserves.xml", home / "reserves.xml")
    shutil.copy(data / "walk_Setup_IK.xml", home / "tasks.xml")
    loads = (data / "oracle_extloads.xml").read_text(encoding="utf-8")
    for k in range(SUBJECTS):
        subject = home / f"S{k + 1:02d}"
        subject.mkdir()
        forces = model.with_scaled_muscles(float(rng.uniform(0.9, 1.2)))
        musculo.write_osim(forces, subject / "model.osim")
        group = ("control", "patient")[k % 2]
        text += f'[[subject]]\nname = "{subject.name}"\ngroup = "{group}"\nmodel = "{subject.name}/model.osim"\n'
        for i in range(count // SUBJECTS):
            name = f"walk{i + 1:02d}"
            moved = markers.position + 2e-3 * rng.normal(size=markers.position.shape[1:])
            moved = moved + 2e-4 * rng.normal(size=moved.shape)
            musculo.write_trc(musculo.Markers(markers.time, markers.names, moved), subject / f"{name}.trc")
            shutil.copy(data / "subject01_walk_grf.mot", subject / f"{name}_grf.mot")
            named = loads.replace("subject01_walk_grf.mot", f"{name}_grf.mot")
            (subject / f"{name}_grf.xml").write_text(named, encoding="utf-8")
            condition = ("slow", "fast")[i % 2]
            text += f'[[subject.trial]]\nfile = "{subject.name}/{name}.trc"\ncondition = "{condition}"\n'
    (home / "study.toml").write_text(text, encoding="utf-8")


def results_of(folder: Path) -> dict[str, str]:
    """Hashes of all results; records, logs and the page tell times."""
    kinds = (".sto", ".mot", ".npz", ".csv", ".nc", ".parquet")
    files = [one for one in sorted(folder.rglob("*")) if one.suffix in kinds]
    return {str(one.relative_to(folder)): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def done_in(folder: Path) -> dict[Path, int]:
    """When each trial that is done was."""
    return {path.relative_to(folder): path.stat().st_mtime_ns for path in folder.glob("*/*/trial.json")}


# --- runs -------------------------------------------------------------------------------------------------------------
def bare_loop(home: Path, out: Path, shared: bool) -> None:
    """The same tools on the same trials, one after the other; those of a trial read a file once if `shared`."""
    for trial in read_study(home / "study.toml", out).trials:
        folder = out / trial.key
        with shared_by_steps() if shared else contextlib.nullcontext():
            for task in trial_tasks(trial.model, trial.recording, trial.loads, folder, trial.options):
                run_setup(task, like=None, output=folder, threads=1)


def words_of(home: Path, out: Path, *flags: str) -> list[str]:
    return [sys.executable, "-m", "musculo", "study", str(home), "-o", str(out), "-q", *flags]


def run(words: list[str]) -> Run:
    """Run to the end and say what it took, with its own processes."""
    begin = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}")
    return Run(time.perf_counter() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1e3)


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A Dask scheduler and workers of one thread each, started as at the shell."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    dask = [sys.executable, "-m", "dask"]
    with tempfile.TemporaryDirectory() as place:
        head = subprocess.Popen(
            [*dask, "scheduler", "--host", "127.0.0.1", "--port", address.rpartition(":")[2], "--no-dashboard"],
            cwd=place,
            **quiet,
        )
        hands = [
            subprocess.Popen([*dask, "worker", address, "--nthreads", "1", "--no-dashboard"], cwd=place, **quiet)
            for _ in range(workers)
        ]
        try:
            yield address, hands
        finally:
            for one in (*hands, head):
                one.terminate()
            for one in (*hands, head):
                one.wait()


def child_of(pid: int) -> int:
    """The process that a nanny watches: the one of its children that works."""
    told = subprocess.run(["ps", "-o", "pid=,args=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return next(int(line.split()[0]) for line in told.splitlines() if "spawn_main" in line)


def wait_for(out: Path, count: int, process: subprocess.Popen[bytes]) -> None:
    while len(done_in(out)) < count and process.poll() is None:
        time.sleep(0.02)


def compared(out: Path, before: dict[Path, int], expected: dict[str, str]) -> str:
    """Whether all results are there, and none that was there was made again."""
    after = done_in(out)
    again = sum(after.get(path) != when for path, when in before.items())
    same = "bitwise equal" if results_of(out) == expected else "NOT EQUAL"
    return f"{len(before)} done before it, {again} of them done twice, {len(after)} in the end, {same}"


# --- what is shown ----------------------------------------------------------------------------------------------------
def table(home: Path, count: int, rounds: int) -> dict[str, str]:
    """One core, two cores, and a cluster whose workers are fresh or at work already, each beside the loops."""
    rows: dict[str, list[Run]] = {}
    starts: list[float] = []
    expected: dict[str, str] = {}

    def keep(name: str, took: Run, out: Path | None = None) -> None:
        rows.setdefault(name, []).append(took)
        if out is not None:
            found = results_of(out)
            expected.update({} if expected else found)
            if found != expected:
                raise SystemExit(f"{name}: results are NOT EQUAL to those of one core")

    for turn in range(rounds):
        for name, flag in ((LOOP, "--shared"), ("bare loop of the four tools", "--bare")):
            keep(name, run([sys.executable, __file__, flag, str(home), str(home / f"{flag[2:]}{turn}")]))
        for name, jobs in (("study, one core", "1"), ("study, two cores", "2")):
            out = home / f"{name}{turn}"
            keep(name, run(words_of(home, out, "-j", jobs)), out)
        with cluster(2) as (address, hands):
            wait_for_workers(address, len(hands))
            starts.append(cpu_of_children())
            for name in ("study, Dask, fresh workers", "study, Dask, the same workers"):
                out, before = home / f"{name}{turn}", cpu_of_children()
                took = run(words_of(home, out, "--scheduler", address))
                keep(name, took._replace(cpu=took.cpu + cpu_of_children() - before), out)
    print(
        f"{count} trials, medians of {rounds}     wall [s]   CPU a trial [ms]   CPU beside the first row   memory [MB]"
    )
    for name, took in rows.items():
        wall, cpu, memory = np.median(took, axis=0).tolist()
        over = [1e2 * (one.cpu / loop.cpu - 1.0) for one, loop in zip(took, rows[LOOP], strict=True)]
        beside = f"{np.median(over):+.0f} % ({min(over):+.0f} to {max(over):+.0f})"
        print(f"{name:30s} {wall:8.1f}   {1e3 * cpu / count:16.1f}   {beside:>24s}   {memory:11.0f}", flush=True)
    print(f"all bitwise equal; start of a scheduler and two workers, in no row: {np.median(starts):.1f} s of CPU time")
    return expected


def wait_for_workers(address: str, count: int) -> None:
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        client.wait_for_workers(count, timeout=60)


def cpu_of_children() -> float:
    """CPU time of all processes that this one started and that are still there [s]."""
    import psutil

    total = 0.0
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            used = process.cpu_times()
            total += used.user + used.system
    return total


def killed(home: Path, count: int, expected: dict[str, str]) -> None:
    """kill -9: the client and its processes, a process of two, a worker of a cluster, its client."""
    out = home / "killed"
    process = subprocess.Popen(words_of(home, out, "-j", "2"))
    wait_for(out, count // 5, process)
    os.kill(child_of(process.pid), signal.SIGKILL)
    first = done_in(out)
    wait_for(out, count // 2, process)
    process.kill()
    process.wait()
    time.sleep(1.0)
    before = done_in(out)
    run(words_of(home, out, "-j", "2"))
    print(f"kill -9 of a process:           {compared(out, first, expected)}")
    print(f"kill -9 of the study itself:    {compared(out, before, expected)}", flush=True)
    out = home / "killed_cluster"
    with cluster(2) as (address, hands):
        process = subprocess.Popen(words_of(home, out, "--scheduler", address))
        wait_for(out, count // 5, process)
        os.kill(child_of(hands[0].pid), signal.SIGKILL)
        first = done_in(out)
        wait_for(out, count // 2, process)
        process.kill()
        process.wait()
        before = done_in(out)
        run(words_of(home, out, "--scheduler", address))
    print(f"kill -9 of a Dask worker:       {compared(out, first, expected)}")
    print(f"kill -9 of the Dask client:     {compared(out, before, expected)}", flush=True)


def full_disk(home: Path, count: int, expected: dict[str, str]) -> None:
    """A disk with room for half of the results; it grows, and the study goes on."""
    size = sum(path.stat().st_size for path in (home / "killed").rglob("*") if path.is_file())
    disk = home / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size // 2}", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True).returncode:
        print("full disk: not tried, no disk can be mounted here")
        return
    try:
        out = disk / "results"
        stopped = subprocess.run(words_of(home, out, "-j", "2"), capture_output=True, text=True)
        print(f"full disk: ended with {stopped.returncode} and these words: {stopped.stderr.strip()}")
        before = done_in(out)
        subprocess.run(["mount", "-o", f"remount,size={2 * size}", str(disk)], check=True)
        run(words_of(home, out, "-j", "2"))
        print(f"full disk, then room:           {compared(out, before, expected)}", flush=True)
    finally:
        subprocess.run(["umount", str(disk)])


def peer(home: Path, count: int) -> None:
    """The same trials through OpenSim's tools, one thread on both sides."""
    data = data_of_walk()
    trials = read_study(home / "study.toml").trials[:count]
    folders = []
    for trial in trials:
        folder = home / "opensim" / trial.key
        folder.mkdir(parents=True)
        folders.append(folder)
        setups = {
            "ik": "oracle_setup_ik",
            "id": "oracle_setup_id",
            "so": "oracle_setup_so",
            "jr": "oracle_setup_jr_ground",
        }
        for step, name in setups.items():
            text = (data / f"{name}.xml").read_text(encoding="utf-8")
            for tag, value in {
                "results_directory": str(folder),
                "model_file": str(trial.model),
                "marker_file": str(trial.recording),
                "output_motion_file": str(folder / "ik.mot"),
                "coordinates_file": str(folder / "ik.mot"),
                "external_loads_file": str(trial.loads),
                "force_set_files": str(home / "reserves.xml"),
                "forces_file": str(folder / "gait10dof18musc_walk_StaticOptimization_force.sto"),
                "time_range": f"{SPAN[0]} {SPAN[1]}",
            }.items():
                text = re.sub(rf"<{tag}>[^<]*</{tag}>", f"<{tag}>{value}</{tag}>", text)
            (folder / f"{step}.xml").write_text(text, encoding="utf-8")
    told = home / "opensim.txt"
    subprocess.run([sys.executable, "-c", _PEER, str(told), *map(str, folders)], stdout=subprocess.DEVNULL, check=True)
    wall, cpu = map(float, told.read_text(encoding="utf-8").split())
    few = home / "few"
    lines = (home / "study.toml").read_text(encoding="utf-8").split("[[subject]]")
    (home / "few.toml").write_text(
        "[[subject]]".join(lines[: 1 + -(-count * SUBJECTS // total_of(home))]), encoding="utf-8"
    )
    words = [sys.executable, "-m", "musculo", "study", str(home / "few.toml"), "-o", str(few), "-q", "-j", "1"]
    ours = run(words)
    n = len(done_in(few))
    print(f"OpenSim, {len(trials)} trials in a loop: {wall:6.1f} s, {1e3 * cpu / len(trials):7.0f} ms of CPU a trial")
    print(f"musculo study, {n} trials: {ours.wall:6.1f} s, {1e3 * ours.cpu / n:7.0f} ms of CPU a trial, with start")
    print(
        f"ratio                          {wall / len(trials) / (ours.wall / n):6.1f}x wall, "
        f"{cpu / len(trials) / (ours.cpu / n):6.1f}x CPU"
    )
    trial = trials[0]
    mine = musculo.read_storage(few / trial.key / f"{trial.recording.stem}_ik_StaticOptimization_force.sto")
    theirs = musculo.read_storage(folders[0] / "gait10dof18musc_walk_StaticOptimization_force.sto")
    names = musculo.read_osim(trial.model).muscle_names
    at = mine.time[5:-5]
    apart = [np.interp(at, mine.time, mine.column(n)) - np.interp(at, theirs.time, theirs.column(n)) for n in names]
    size = [np.interp(at, theirs.time, theirs.column(n)) for n in names]
    rms = np.sqrt(np.mean(np.square(apart))), np.sqrt(np.mean(np.square(size)))
    print(f"muscle forces of {trial.key}: RMS {rms[1]:.0f} N, difference RMS {rms[0]:.1f} N")


def total_of(home: Path) -> int:
    return len(read_study(home / "study.toml").trials)


def main() -> None:
    if sys.argv[1:2] in (["--bare"], ["--shared"]):
        bare_loop(Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[1] == "--shared")
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    others = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else ROUNDS
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        make_study(home, count)
        expected = table(home, count, rounds)
        if others == 0:
            return
        killed(home, count, expected)
        full_disk(home, count, expected)
        peer(home, others)


if __name__ == "__main__":
    main()
