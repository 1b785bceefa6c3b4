"""Where lengths over geodesics jump: random short steps of every model, and every jump with its size and reason.

The table of docs/wrapping.md comes from here.

python benchmarks/path_jumps.py [MODEL ...] [--steps 100000] [--seed 11]      needs the data folder
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import path_geometry, read_osim
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--steps", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=11)
    chosen = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print("skipped: the data folder is not there")
        return
    for name in chosen.models:
        model = read_osim(folder / MODELS[name])
        rng = np.random.default_rng(chosen.seed)
        path_geometry(model, random_poses(model, 1, np.random.default_rng(0)))  # compiled before the clock starts
        began, found, lengths, done = time.process_time(), [], 0, 0
        while done < chosen.steps:
            n = min(BLOCK, chosen.steps - done)
            new, watched = jumps(model, n, STEP, rng)
            found, lengths, done = found + new, lengths + watched, done + n
            if done % 10_000 == 0 and done < chosen.steps:
                report(f"{name} so far", done, lengths, found, time.process_time() - began)
        report(name, done, lengths, found, time.process_time() - began)


if __name__ == "__main__":
    main()
