"""One frame in a call: functions, a prepared model and Pinocchio, one thread, same run.

python benchmarks/one_frame.py      Pinocchio needs the extra `oracles`; real models need the data folder
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

import musculo
import musculo.demo
from dynamics import pinocchio_tree
from musculo import MusculoWarning
from musculo.model.model import Model
from timing import time_of
from trees import data_folder, humanoid

CALLS, REPEATS = 300, 9
REAL = ("rajagopal_walk/subject_walk_scaled.osim", "gait2392/subject01_simbody.osim", "mobl_arms/MoBL_ARMS.osim")


def _us(run: Callable[[], object] | None) -> str:
    """Microseconds a call, the least of several rounds."""
    if run is None:
        return f"{'-':>10s}"

    def calls() -> None:
        for _ in range(CALLS):
            run()

    return f"{time_of(calls, CALLS, REPEATS, min).middle * 1e6:10.2f}"


def lines(name: str, model: Model, with_pinocchio: bool = False) -> None:
    """What each question costs."""
    e, rng = musculo.embedding_of(model), np.random.default_rng(1)
    z = e.independent(e.default_pose()) + 0.02
    q, u, udot, *_ = e.motion(z, *rng.uniform(-1, 1, (2, len(e.speed_names))))
    tau, body = rng.uniform(-1, 1, len(model.speed_names)), model.body_names[-1]
    one = musculo.prepared(model)
    peers: dict[str, Callable[[], object]] = {}
    if with_pinocchio:
        try:
            pin, peer = pinocchio_tree(model)
        except ImportError:
            pass
        else:
            data = peer.createData()
            peers = {
                "inverse dynamics": lambda: pin.rnea(peer, data, q, u, udot),
                "mass matrix": lambda: pin.crba(peer, data, q),
                "forward dynamics": lambda: pin.aba(peer, data, q, u, tau),
                "kinematics": lambda: pin.forwardKinematics(peer, data, q, u, udot),
            }
    rows = {
        "inverse dynamics": (
            lambda: musculo.inverse_dynamics(model, q, u, udot),
            lambda: one.inverse_dynamics(q, u, udot),
        ),
        "mass matrix": (lambda: musculo.mass_matrix(model, q), lambda: one.mass_matrix(q)),
        "forward dynamics": (
            lambda: musculo.forward_dynamics(model, q, u, tau),
            lambda: one.forward_dynamics(q, u, tau),
        ),
        "kinematics": (lambda: musculo.kinematics(model, q, u, udot), lambda: one.kinematics(q, u, udot)),
        "kinematics, one position": (
            lambda: musculo.kinematics(model, q).position(body),
            lambda: one.kinematics(q).position(body),
        ),
    }
    about = f"{name}: {len(model.speed_names)} speeds, {len(e.rules)} of them follow others or are locked"
    print(f"{about:62s}{'function':>10s}{'prepared':>10s}{'Pinocchio':>11s}")
    for what, (function, prepared) in rows.items():
        print(f"  {what:60s}{_us(function)}{_us(prepared)} {_us(peers.get(what))}")


def main() -> None:
    """The demo arm, a tree of 37 pins, and real models; microseconds a call."""
    warnings.simplefilter("ignore", MusculoWarning)
    lines("demo arm", musculo.demo.arm())
    lines("tree of pins", humanoid(), with_pinocchio=True)
    folder = data_folder()
    for file in REAL if folder is not None else ():
        lines(file, musculo.read_osim(folder / file))


if __name__ == "__main__":
    main()
