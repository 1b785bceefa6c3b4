"""Derivatives of inverse dynamics on the 37-dof tree: ours, Pinocchio's, and steps through our own pass.

python benchmarks/derivatives.py      needs the extra `oracles`

CPU time of one thread; ours takes turns with each of the other roads in one run, so that a busy machine slows both.
Printed are medians of times, and of ratios within a turn.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from dynamics import pinocchio_tree
from musculo import inverse_dynamics, inverse_dynamics_derivatives, joint_reaction_derivatives, mass_matrix
from musculo.compile.compiled import compiled
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.rnea import rnea
from musculo.kernels.tree.tree_frames import work_rows
from trees import humanoid, random_motion

FRAMES, FEW, ROUNDS = 256, 8, 9
# f(x + i h) = f(x) + i h f'(x) + O(h^2): no difference is taken.
STEP = 1e-30


@numba.njit(nogil=True)
def complex_slopes(tree, table, q, u, udot, rows, by_q, by_u):
    """d(tau)/dq and d(tau)/du (frames, n_u, n) by the complex step through the kernel, one lane at a time."""
    n, n_u = q.shape[1], u.shape[1]
    Q, U, A = np.zeros((n, 1), np.complex128), np.zeros((n_u, 1), np.complex128), np.zeros((n_u, 1), np.complex128)
    W, tau = np.zeros((rows, 1), np.complex128), np.zeros((n_u, 1), np.complex128)
    for f in range(q.shape[0]):
        for k in range(n):
            Q[k, 0] = q[f, k]
        for k in range(n_u):
            U[k, 0], A[k, 0] = u[f, k], udot[f, k]
        for k in range(n + n_u):
            if k < n:
                Q[k, 0] = complex(q[f, k], STEP)
            else:
                U[k - n, 0] = complex(u[f, k - n], STEP)
            rnea(tree, table, W, Motion(Q, U, A), None, tau, 0)
            for j in range(n_u):
                if k < n:
                    by_q[f, j, k] = tau[j, 0].imag / STEP
                else:
                    by_u[f, j, k - n] = tau[j, 0].imag / STEP
            if k < n:
                Q[k, 0] = q[f, k]
            else:
                U[k - n, 0] = u[f, k - n]


def error(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference, relative to the largest entry."""
    return abs(a - b).max() / abs(b).max()


def main() -> None:
    model = humanoid()
    n = len(model.speed_names)
    q, u, udot = random_motion(model, FRAMES)
    pin, peer = pinocchio_tree(model)
    data, c = peer.createData(), compiled(model)
    kept = inverse_dynamics_derivatives(model, q, u, udot, threads=1)
    carried = joint_reaction_derivatives(model, q, u, udot, threads=1)
    by_q, by_u = np.empty((FEW, n, n)), np.empty((FEW, n, n))
    step = 1e-7
    shifts = np.concatenate([np.zeros((1, 2 * n)), step * np.eye(2 * n)])
    Q, U = (
        np.repeat(x[:FEW], len(shifts), axis=0) + np.tile(part, (FEW, 1))
        for x, part in ((q, shifts[:, :n]), (u, shifts[:, n:]))
    )
    A = np.repeat(udot[:FEW], len(shifts), axis=0)
    differences = np.empty((FEW, 2 * n, n))

    def theirs() -> None:
        for i in range(FRAMES):
            pin.computeRNEADerivatives(peer, data, q[i], u[i], udot[i])

    def again() -> None:
        for _ in range(8):
            inverse_dynamics_derivatives(model, q, u, udot, threads=1, out=kept)

    def stepped() -> None:
        complex_slopes(c.tree, c.table, q[:FEW], u[:FEW], udot[:FEW], work_rows.py_func(c.tree), by_q, by_u)

    def differ() -> None:
        tau = inverse_dynamics(model, Q, U, A, threads=1).reshape(FEW, len(shifts), n)
        differences[:] = (tau[:, 1:] - tau[:, :1]) / step
        mass_matrix(model, q[:FEW])

    def reactions() -> None:
        joint_reaction_derivatives(model, q, u, udot, threads=1, out=carried)

    roads: dict[str, tuple[Callable[[], None], int]] = {
        "musculo, arrays used again": (again, 8 * FRAMES),
        "musculo, new arrays": (lambda: inverse_dynamics_derivatives(model, q, u, udot, threads=1), FRAMES),
        "Pinocchio, from Python": (theirs, FRAMES),
        "one-sided differences of ours": (differ, FEW),
        "complex steps of ours": (stepped, FEW),
        "musculo, with those of all 37 joint loads": (reactions, FRAMES),
    }
    first = "musculo, arrays used again"
    times: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    for name in list(roads)[1:]:  # in pairs: a third one would empty the caches of both
        pair: dict[str, list[float]] = {first: [], name: []}
        for round_ in range(ROUNDS + 1):  # the first warms up
            for each, some in pair.items():
                run, units = roads[each]
                start = time.process_time()
                run()
                if round_:
                    some.append((time.process_time() - start) / units)
        ratios[name] = [b / a for a, b in zip(*pair.values(), strict=True)]
        times.setdefault(first, []).extend(pair[first])
        times[name] = pair[name]
    ours = inverse_dynamics_derivatives(model, q, u, udot, threads=1)
    pin.computeRNEADerivatives(peer, data, q[7], u[7], udot[7])
    worst = max(error(ours.dtau_dq[7], data.dtau_dq), error(ours.dtau_du[7], data.dtau_dv))
    print(f"against Pinocchio {worst:.1e} relative", end="; ")
    print(f"complex step {max(error(ours.dtau_dq[:FEW], by_q), error(ours.dtau_du[:FEW], by_u)):.1e}", end="; ")
    found = np.swapaxes(differences, 1, 2)
    print(f"differences {max(error(found[..., :n], by_q), error(found[..., n:], by_u)):.1e}")
    for name, some in times.items():
        ratio = statistics.median(ratios.get(name, [1.0]))
        spread = (max(some) - min(some)) / statistics.median(some)
        print(f"{name:42s} {statistics.median(some) * 1e6:8.2f} us (spread {spread:.0%})   ratio {ratio:6.2f}")
    print("goal: 2.5 times as fast as Pinocchio")


if __name__ == "__main__":
    main()
