"""`musculo warmup` compiles what is listed, `musculo info` says whose compiled code serves."""

from __future__ import annotations

import json
import re

import pytest

import musculo
from musculo.kernels.compiler import canonical, shipped, store, workers
from musculo.kernels.compiler.build import Built
from musculo.kernels.compiler.canonical import Listed
from musculo.kernels.compiler.driver_code import Layout
from musculo.kernels.compiler.names import code_name_at

# What compiles in a moment.
FEW = (
    Listed("musculo.kernels.functions.filter_frames:recursion_frames", "(f8[1],f8[1],f8[2],f8[2])", 0.1),
    Listed("musculo.kernels.scalar.banded_equations:solve_banded", "(f8[2],i8,f8[2])", 0.5),
)


@pytest.fixture
def nothing_compiled(monkeypatch, tmp_path):
    """A short list, an empty cache, and no library that ships."""
    monkeypatch.setattr(canonical, "listed", lambda: FEW)
    monkeypatch.setattr(canonical, "of", lambda where: tuple(entry for entry in FEW if entry.where == where))
    monkeypatch.setattr(shipped, "_index", dict)
    monkeypatch.setattr(store, "machine_folder", lambda: tmp_path)
    monkeypatch.setattr(workers, "_pool", None)
    return tmp_path


def compiled_at_once(pool, jobs, first):
    """Compiling itself is tested elsewhere."""
    tasks = []
    for job, seconds in jobs:
        task = pool._tasks.setdefault(job.name, workers._Task(job, seconds))
        (store.machine_folder() / f"{job.name}.o").write_bytes(b"code")
        task.built = Built(Layout(0, (), "none", 0), b"code", 0.1)
        task.done.set()
        tasks.append(task)
    return tasks


def test_warmup_compiles_all_once(shell, monkeypatch, nothing_compiled):
    monkeypatch.setattr(workers._Pool, "ask", compiled_at_once)
    first = shell("warmup")
    assert (first.status, first.err) == (0, "")
    where = re.escape(str(nothing_compiled))
    assert re.fullmatch(rf"compiled 2 drivers in \d+ s: 2 of 2 drivers are in {where} \(0\.0 MB\)\n", first.out)
    assert {file.stem for file in nothing_compiled.glob("*.o")} == {code_name_at(e.where, e.signature) for e in FEW}
    again = shell("warmup")
    assert again.out == f"nothing to compile: 2 of 2 drivers are in {nothing_compiled} (0.0 MB)\n"
    told = json.loads(shell("warmup", "--json").out)
    assert (told["compiled"], told["cached"], told["total"], told["failed"]) == (0, 2, 2, [])
    assert shell("warmup", "--quiet").out == ""


def test_warmup_names_what_does_not_compile(shell, monkeypatch, nothing_compiled):
    def half(pool, jobs, first):
        tasks = compiled_at_once(pool, jobs, first)
        tasks[1].error = "TypingError: no"
        (nothing_compiled / f"{tasks[1].job.name}.o").unlink()
        return tasks

    monkeypatch.setattr(workers._Pool, "ask", half)
    done = shell("warmup")
    assert done.status == 3
    assert done.err == "musculo.kernels.scalar.banded_equations:solve_banded could not be compiled: TypingError: no\n"
    assert re.match(r"compiled 1 driver in \d+ s: 1 of 2 drivers are in ", done.out)


def test_warmup_compiles_in_processes_of_its_own(shell, monkeypatch, nothing_compiled):
    # the processes keep it in the folder of this environment, so it may be there already
    monkeypatch.setenv("MUSCULO_QUIET", "")
    told = shell("warmup")
    assert told.status == 0
    assert told.out.startswith("compiled 2 drivers in ")
    assert told.err.count("musculo compiles for this machine, once") <= 1
    assert told.err.count("\n") <= 1


def test_info_says_whose_compiled_code_serves(shell, monkeypatch, nothing_compiled):
    none = shell("info").out
    assert none.startswith(f"musculo {musculo.__version__}\n")
    kept = f"and kept in {nothing_compiled} (`musculo warmup`)"
    assert f"compiled code: 2 of 2 are compiled when they are first called {kept}\n" in none
    names = [code_name_at(entry.where, entry.signature) for entry in FEW]
    (nothing_compiled / f"{names[0]}.o").write_bytes(b"")
    assert f"1 of 2 drivers are in {nothing_compiled} (0.0 MB), 1 of 2 are compiled when" in shell("info").out
    monkeypatch.setattr(shipped, "_index", lambda: dict.fromkeys(names))
    monkeypatch.setattr(shipped, "level", lambda: "x86-64-v3")
    assert "compiled code: 2 of 2 drivers ship with the package (x86-64-v3)\n" in shell("info").out
    told = json.loads(shell("info", "--json").out)["compiled_code"]
    assert (told["shipped"], told["level"], told["cached"], told["total"]) == (2, "x86-64-v3", 0, 2)
    assert shell("info", "--quiet").out == ""
