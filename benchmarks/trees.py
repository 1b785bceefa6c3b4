"""The models that benchmarks run on."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))

from musculo import Body, Coordinate, Model, Placement
from musculo.model.joints import PinJoint
from musculo.spatial.rotation import to_xyz


def data_folder() -> Path | None:
    """Where real models are: $MUSCULO_DATA, else ../shared/data beside the repository."""
    folder = Path(os.environ.get("MUSCULO_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
    return folder if folder.is_dir() else None


def pin_tree(parents: list[int], seed: int = 0) -> Model:
    """A tree of pins with random frames and inertias; parent -1 is ground."""
    rng = np.random.default_rng(seed)
    bodies, joints = [], []
    for i, parent in enumerate(parents):
        R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        R[:, 0] *= np.sign(np.linalg.det(R))
        A = rng.normal(size=(3, 3)) * 0.1
        # the second moment of some mass, so that the tensor is one a body can have
        S = A @ A.T + 0.005 * np.eye(3)
        J = np.trace(S) * np.eye(3) - S
        name = f"body{i}"
        bodies.append(
            Body(
                name,
                float(rng.uniform(0.5, 5.0)),
                tuple(rng.normal(size=3) * 0.1),
                (J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]),
            )
        )
        inboard = "ground" if parent < 0 else f"body{parent}"
        place = Placement(inboard, tuple(rng.normal(size=3) * 0.2), tuple(to_xyz(R)))
        joints.append(PinJoint(f"joint{i}", place, Placement(name), (Coordinate(f"q{i}"),)))
    return Model("tree", tuple(bodies), tuple(joints), gravity=(0.0, 0.0, -9.81))


def humanoid() -> Model:
    """37 pins: six in a row at the base, two legs of seven, a trunk of three, two arms of seven."""
    parents = [-1, 0, 1, 2, 3, 4]

    def chain(root: int, length: int) -> int:
        for _ in range(length):
            parents.append(root)
            root = len(parents) - 1
        return root

    chain(5, 7)
    chain(5, 7)
    trunk = chain(5, 3)
    chain(trunk, 7)
    chain(trunk, 7)
    return pin_tree(parents)


def random_motion(model: Model, frames: int, seed: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q within the coordinates' ranges (and within +-1 of zero), u and udot normal."""
    rng = np.random.default_rng(seed)
    low = np.array([max(c.range[0], -1.0) for c in model.coordinates])
    high = np.array([min(c.range[1], 1.0) for c in model.coordinates])
    q = rng.uniform(np.minimum(low, high), np.maximum(low, high), size=(frames, len(low)))
    u, udot = rng.normal(size=(2, frames, len(model.speed_names)))
    return q, u, udot
