#!/usr/bin/env python3
"""Random edits of valid models and set-ups through OpenSim and musculo: equal, refused by both, or explained by us.

    python tests/fuzz/edits.py models COUNT [FIRST_SEED [MODEL.osim ...]]
    python tests/fuzz/edits.py setups COUNT [FIRST_SEED [SETUP ...]]

Models are those of the recorded data and of the demo, set-ups those of `support.edited_setups`. An edit is named by its
file and seed, so that `python tests/fuzz/edits.py models 1 SEED MODEL.osim` repeats it. What is not equal is printed, a
line of JSON each, and at last the counts. The exit status is 1 if a difference is silent.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from musculo import read_osim
from musculo.demo import ARM_FILE, MODEL_FILE
from support import edited_models, edited_setups
from support.edited_models import Verdict
from support.opensim_server import OpenSimServer, the_server
from support.random_edits import edited
from support.recorded_data import recorded

# Models above this size are edited a quarter as often: OpenSim takes seconds to open one.
LARGE = 300_000
# OpenSim hangs on some edited models [s].
PATIENCE = 60.0


def models(seeds: range, files: list[Path]) -> Iterator[tuple[Path, int, str, Verdict]]:
    """Each edit with its verdict: the file, the seed, what was done, and how the two programs compare."""
    server = the_server("edited_models", PATIENCE)
    with tempfile.TemporaryDirectory() as folder:
        known: dict[Path, set[str]] = {}
        expected: dict[Path, set[str]] = {}
        for seed in seeds:
            file = files[seed % len(files)]
            if file not in known:
                known[file], expected[file] = before_edits(server, file)
            content, what = edited(file, seed)
            path = Path(folder) / file.name
            path.write_bytes(content)
            answer = server.ask("facts", str(path), seed)
            yield file, seed, what, judged(edited_models.judge, path, known[file], answer, expected[file])


def before_edits(server: OpenSimServer, file: Path) -> tuple[set[str], set[str]]:
    """What is said of a model, and which of its numbers differ from OpenSim's, as it stands."""
    model = read_osim(file, opensim_rounding=True)
    answer = server.ask("facts", str(file), 0)
    own = edited_models.ours(model, answer["names"], answer["q"], answer["u"])
    apart = {one.split("[")[0] for one in edited_models.differences(answer["numbers"], own)}
    if apart:
        print(f"{file.name} before any edit: {sorted(apart)}", flush=True)
    return edited_models.said(model), apart


def setups(seeds: range, names: list[str]) -> Iterator[tuple[Path, int, str, Verdict]]:
    """Likewise of set-ups: either a set-up itself, or the loads or reserves that it names."""
    server = the_server("edited_setups", 2 * PATIENCE)
    with tempfile.TemporaryDirectory() as temporary:
        source = edited_setups.folder_of_setups(Path(temporary) / "source")
        before = {file.name for file in source.iterdir()}
        folders = Path(temporary) / "theirs", Path(temporary) / "ours"
        usual: dict[str, tuple[set[str], dict[str, float]]] = {}

        def fresh() -> None:
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
                shutil.copytree(source, folder)

        for seed in seeds:
            name = names[seed % len(names)]
            setup = f"{name}.xml"
            if name not in usual:
                fresh()
                answer = server.ask("run", str(folders[0] / setup))
                error, told = edited_setups.ours(folders[1] / setup)
                assert not error, error
                assert "error" not in answer, answer
                tables = [edited_setups.written(folder, before) for folder in folders]
                usual[name] = told, edited_setups.unlike(*tables)
                most = max(usual[name][1].items(), key=lambda one: one[1])
                print(f"{setup} before any edit: {most[0]} {most[1]:.2g} apart", flush=True)
            file = source / (setup if seed % 5 or name in ("scale", "ik") else ("loads.xml", "reserves.xml")[seed % 2])
            fresh()
            content, what = edited(file, seed)
            for folder in folders:
                (folder / file.name).write_bytes(content)
            answer = server.ask("run", str(folders[0] / setup))
            told, apart = usual[name]
            verdict = judged(edited_setups.judge, folders, before, setup, answer, told, apart)
            yield file.with_name(f"{name}:{file.name}"), seed, what, verdict


def judged(judge: Callable[..., Verdict], *arguments: object) -> Verdict:
    """A verdict, also of an error that is no sentence."""
    try:
        return judge(*arguments)
    except Exception as error:
        return Verdict("SILENT: traceback", f"{type(error).__name__}: {error}")


def main(what: str, count: int, first: int, given: list[str]) -> int:
    counts: Counter[str] = Counter()
    seeds = range(first, first + count)
    if what == "models":
        found = recorded("**/*.osim")
        small = [Path(ARM_FILE), Path(MODEL_FILE), *(file for file in found if file.stat().st_size < LARGE)]
        large = [file for file in found if file.stat().st_size >= LARGE]
        rows = models(seeds, [Path(path).resolve() for path in given] or small * 4 + large)
    else:
        rows = setups(seeds, given or list(edited_setups.SETUPS))
    for file, seed, edit, verdict in rows:
        counts[verdict.kind] += 1
        if verdict.kind != "equal":
            row = {"kind": verdict.kind, "file": str(file), "seed": seed, "edit": edit, "detail": verdict.detail[:600]}
            print(json.dumps(row), flush=True)
    for kind, number in counts.most_common():
        print(f"{number:6d}  {kind}")
    return int(any(kind.startswith("SILENT") for kind in counts))


if __name__ == "__main__":
    _, kind, count, first, *rest = [*sys.argv, "0"][: max(4, len(sys.argv))]
    sys.exit(main(kind, int(count), int(first), rest))
