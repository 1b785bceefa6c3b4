"""Microseconds a taut path takes, by surface, cold and from a guess, on one thread.

python benchmarks/geodesic.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import geodesic_segments as gd
from timing import time_of

FRAMES = 1000
KINDS = ("cylinder", "sphere", "ellipsoid", "torus")


def scene(kinds: tuple[str, ...], rng: np.random.Generator) -> tuple:
    """Obstacles of centimetres along x, turned a little and shifted by less than their size, all in contact."""
    n = len(kinds)
    sizes = {
        "cylinder": (0.03, 0, 0),
        "sphere": (0.03, 0, 0),
        "ellipsoid": (0.03, 0.02, 0.04),
        "torus": (0.02, 0.05, 0),
    }
    surfaces = gd.Surfaces(
        np.array([KINDS.index(k) for k in kinds]),
        np.array([sizes[k] for k in kinds], float),
    )
    R = Rotation.from_rotvec(0.2 * rng.normal(size=(FRAMES * n, 3))).as_matrix().reshape(FRAMES, n, 3, 3)
    p = np.zeros((FRAMES, n, 3))
    p[:, :, 0] = 0.15 * np.arange(1, n + 1)
    p[:, :, 1] = 0.008 + 0.004 * rng.random((FRAMES, n))
    for i, kind in enumerate(kinds):
        if kind == "torus":
            R[:, i] = Rotation.from_euler("y", 90, degrees=True).as_matrix() @ R[:, i]
            p[:, i, 1] += 0.04
    starts, ends = np.zeros((FRAMES, 3)), np.tile([0.15 * (n + 1), 0.0, 0.0], (FRAMES, 1))
    return surfaces, starts, ends, gd.segment_rows(R, p).reshape(FRAMES, n * gd.OBSTACLE_ROWS, 1)


def main() -> None:
    """Print one line a surface."""
    rng = np.random.default_rng(0)
    for kinds in (*[(k,) for k in KINDS], ("cylinder", "cylinder"), ("cylinder", "ellipsoid"), ("sphere", "torus")):
        inputs = scene(kinds, rng)
        n = len(kinds)
        length, status = np.empty(FRAMES), np.empty(FRAMES, dtype=np.int64)
        G = inputs[-1]

        def solve(inputs=inputs, length=length, status=status) -> None:
            gd.segment_frames(*inputs, length, status)

        first = time_of(solve, FRAMES)
        touching = G.reshape(FRAMES, n, -1)[:, :, gd.CONTACT].mean()
        print(f"{' + '.join(kinds):22s} {first}   in contact {touching:.0%}, worst {status.max()}")


if __name__ == "__main__":
    main()
