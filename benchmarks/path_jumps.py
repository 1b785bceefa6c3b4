"""Where lengths over geodesics jump: random short steps of every model, and every jump with its size and reason.

The tables of jumps in docs/wrapping_tables.md come from here.

python benchmarks/path_jumps.py [MODEL ...] [--steps 100000] [--seed 11] [--jobs 16]      needs the data folder
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import Model, path_geometry, read_osim
from support.short_steps import MODELS, Jump, jumps, random_poses
from trees import data_folder

# Length of a step [rad, m], and how many are taken at once.
STEP, BLOCK = 5e-3, 1000


def report(name: str, steps: int, lengths: int, found: list[Jump], seconds: float) -> None:
    """One line a model, one line a path and reason."""
    print(f"{name}: {steps} steps, {lengths} lengths, {len(found)} jumps ({seconds:.0f} s of processor time)")
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for jump in found:
        groups[jump.name, jump.reason].append(1e3 * jump.size)
    for (path, reason), sizes in sorted(groups.items()):
        low, high = min(sizes), max(sizes)
        print(f"    {path:20s} {reason:12s} {len(sizes):5d} jumps of {low:8.4f} to {high:8.4f} mm", flush=True)


def search(name: str, path: str, steps: int, seed: int, block: int) -> tuple[list[Jump], int, float]:
    """Block `block` of a model's steps: the jumps, how many lengths, seconds of processor time. Any block gives the
    same whatever the others do, so that jobs share them."""
    began = time.process_time()
    if path not in _models:
        _models[path] = read_osim(path)
    found, lengths = jumps(_models[path], steps, STEP, np.random.default_rng([seed, block]))
    return found, lengths, time.process_time() - began


_models: dict[str, Model] = {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--jobs", type=int, default=1)
    chosen = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print("skipped: the data folder is not there")
        return
    for name in chosen.models:
        path = str(folder / MODELS[name])
        model = read_osim(path)
        path_geometry(model, random_poses(model, 1, np.random.default_rng(0)))  # compiled before jobs start
        sizes = [min(BLOCK, chosen.steps - i) for i in range(0, chosen.steps, BLOCK)]
        found, lengths, done, seconds = [], 0, 0, 0.0
        with ProcessPoolExecutor(chosen.jobs, mp_context=get_context("spawn")) as pool:
            for n, block in zip(
                sizes,
                pool.map(search, repeat(name), repeat(path), sizes, repeat(chosen.seed), range(len(sizes))),
                strict=True,
            ):
                found, lengths, done, seconds = found + block[0], lengths + block[1], done + n, seconds + block[2]
                if done % 10_000 == 0 and done < chosen.steps:
                    report(f"{name} so far", done, lengths, found, seconds)
        report(name, done, lengths, found, seconds)


if __name__ == "__main__":
    main()
