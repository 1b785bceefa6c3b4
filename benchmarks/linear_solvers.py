"""Linear solvers of IPOPT beside each other: CPU time an iteration, the optimum, and the way to it.

python benchmarks/linear_solvers.py [SOLVER ...] [--problems NAME ...] [--iterations N]

SOLVER: multifrontal (ours), mumps (with the options that `solve` sets), mumps-as-is (with its own), spral. Problems:
the names of `PROBLEMS`, synthetic motions with the sparsity of muscle-driven ones; `walk` is Moco's example of a walk
with 80 muscles, trapezoidal with 50 intervals, and needs the data folder.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "1"
os.environ.setdefault("OMP_CANCELLATION", "true")  # SPRAL asks for it
os.environ.setdefault("OMP_PROC_BIND", "true")

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo.arrays import FloatArray, IntArray
from musculo.trajectory.solvers.ipopt import solve
from musculo.trajectory.solvers.outcome import SolverOutcome

SOLVERS: dict[str, tuple[str, dict[str, str | float | int]]] = {
    "multifrontal": ("multifrontal", {}),
    "mumps": ("mumps", {}),
    "mumps-as-is": ("mumps", {"mumps_pivot_order": 7, "mumps_permuting_scaling": 7}),
    "spral": ("spral", {}),
}
PROBLEMS: dict[str, dict[str, Any]] = {
    "small": {"intervals": 20, "coordinates": 7, "muscles": 18},
    "rigid": {"intervals": 50},
    "elastic": {"intervals": 50, "elastic": True},
    "hermite-simpson": {"intervals": 25, "elastic": True, "scheme": "hermite-simpson"},
    "radau": {"intervals": 15, "elastic": True, "scheme": "radau"},
}
_ACTIVATION = 0.04  # s


class SyntheticMotion:
    """A periodic motion that tracks waves with little effort; coefficients are random, the sparsity is that of muscles.

    At every node: coordinates, speeds, activations, tendon forces (elastic ones), accelerations, excitations, rates of
    tendon forces and reserves. Equations of motion couple all coordinates and the muscles that span them by products;
    a muscle's equilibrium couples its own states with the few coordinates that it spans. Rates are linear in the
    variables, so collocation's rows are, too.
    """

    def __init__(
        self,
        scheme: str = "trapezoidal",
        intervals: int = 50,
        coordinates: int = 30,
        muscles: int = 92,
        elastic: bool = False,
        seed: int = 0,
    ) -> None:
        random = np.random.default_rng(seed)
        sizes = {"q": coordinates, "u": coordinates, "act": muscles, "ft": muscles * elastic}
        sizes |= {"acc": coordinates, "exc": muscles, "dft": muscles * elastic, "reserve": coordinates}
        ends = np.cumsum([0, *sizes.values()])
        at = {name: np.arange(ends[k], ends[k + 1]) for k, name in enumerate(sizes)}
        width, states = int(ends[-1]), np.concatenate([at[name] for name in ("q", "u", "act", "ft")])
        value = sp.csr_array((np.ones(len(states)), (np.arange(len(states)), states)), (len(states), width))
        rate = sp.lil_array((len(states), width))
        rate[at["q"], at["u"]] = rate[at["u"], at["acc"]] = 1.0
        rate[at["act"], at["exc"]], rate[at["act"], at["act"]] = 1 / _ACTIVATION, -1 / _ACTIVATION
        if elastic:
            rate[at["ft"], at["dft"]] = 1.0

        weights, moments, points = _collocation(scheme, intervals)
        blocks = [sp.kron(w, value) + sp.kron(m, rate.tocsr()) for w, m in zip(weights, moments, strict=True)]
        last = sp.csr_array(([1.0, -1.0], ([0, 0], [len(points) - 1, 0])), (1, len(points)))
        collocated = sp.vstack([*blocks, sp.kron(last, value[1:])], format="csr")  # the first coordinate moves on
        linear, products = _node_rows(random, at, elastic, width)
        nodes = np.arange(len(points))[:, None]
        count = linear.shape[0]
        self._row = (collocated.shape[0] + nodes * count + products[0]).ravel().astype(np.int64)
        self._one, self._other = ((nodes * width + products[k]).ravel().astype(np.int64) for k in (1, 2))
        self._factor = np.tile(products[3], len(points))
        self._linear = sp.vstack([collocated, sp.kron(sp.eye_array(len(points)), linear)], format="csr")
        m, n = self._linear.shape
        self._find_patterns(m, n)

        low, high = np.full(width, -np.inf), np.full(width, np.inf)
        weight, first = np.zeros(width), np.zeros(width)
        for name, limits, cost, start in (
            ("q", (-2, 2), 1, 0), ("u", (-20, 20), 0, 0), ("act", (0.01, 1), 0.05, 0.1), ("ft", (0, 5), 0, 0.1),
            ("acc", (-1e3, 1e3), 1e-4, 0), ("exc", (0.01, 1), 0.1, 0.1), ("dft", (-1e2, 1e2), 0, 0),
            ("reserve", (-10, 10), 0.1, 0),
        ):  # fmt: skip
            low[at[name]], high[at[name]] = limits
            weight[at[name]], first[at[name]] = cost, start
        wave = np.zeros((len(points), width))
        phase = random.uniform(0, 2 * np.pi, coordinates)
        wave[:, at["q"]] = 0.2 * np.sin(2 * np.pi * points[:, None] + phase)
        self._weight, self._wave = np.tile(weight, len(points)) / len(points), wave.ravel()
        self.start = (first + wave).ravel()
        self.lower, self.upper = np.tile(low, len(points)), np.tile(high, len(points))
        self.row_lower = self.row_upper = np.zeros(m)
        self.variable_names, self.row_names = [f"x[{k}]" for k in range(n)], [f"g[{k}]" for k in range(m)]
        self.variable_stages: IntArray | None = None
        self.row_stages: IntArray | None = None

    def _find_patterns(self, m: int, n: int) -> None:
        known = self._linear.tocoo()
        linear = known.row.astype(np.int64) * n + known.col
        places = np.concatenate([linear, self._row * n + self._one, self._row * n + self._other])
        entries, where = np.unique(places, return_inverse=True)
        self.jacobian_pattern = entries // n, entries % n
        self._slopes = np.bincount(where[: len(linear)], known.data, len(entries))
        self._by_one, self._by_other = np.split(where[len(linear) :], 2)
        high, low = np.maximum(self._one, self._other), np.minimum(self._one, self._other)
        entries, self._curved = np.unique(np.concatenate([high * n + low, np.arange(n) * (n + 1)]), return_inverse=True)
        self.hessian_pattern = entries // n, entries % n

    def objective(self, x: FloatArray) -> float:
        return float(self._weight @ (x - self._wave) ** 2)

    def gradient(self, x: FloatArray) -> FloatArray:
        return 2 * self._weight * (x - self._wave)

    def rows(self, x: FloatArray) -> FloatArray:
        products = self._factor * x[self._one] * x[self._other]
        return self._linear @ x + np.bincount(self._row, products, len(self.row_lower))

    def jacobian(self, x: FloatArray) -> FloatArray:
        found = self._slopes + np.bincount(self._by_one, self._factor * x[self._other], len(self._slopes))
        return found + np.bincount(self._by_other, self._factor * x[self._one], len(self._slopes))

    def hessian(self, x: FloatArray, objective_factor: float, multipliers: FloatArray) -> FloatArray:
        curved = self._factor * multipliers[self._row] * np.where(self._one == self._other, 2.0, 1.0)
        values = np.concatenate([curved, 2 * objective_factor * self._weight])
        return np.bincount(self._curved, values, len(self.hessian_pattern[0]))


def _collocation(scheme: str, intervals: int) -> tuple[list[Any], list[Any], FloatArray]:
    """Matrices (1, points) that weigh states and rates in each equation of collocation, and the points over [0, 1]."""
    h = 1.0 / intervals
    if scheme == "trapezoidal":
        within, equations = np.array([0.0, 1.0]), [([-1, 1], [-h / 2, -h / 2])]
    elif scheme == "hermite-simpson":
        within = np.array([0.0, 0.5, 1.0])
        equations = [([-0.5, 1, -0.5], [-h / 8, 0, h / 8]), ([-1, 0, 1], [-h / 6, -4 * h / 6, -h / 6])]
    else:
        within = np.array([0.0, (4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
        slopes = np.array([[0, 1, 2 * c, 3 * c * c] for c in within]) @ np.linalg.inv(
            np.vander(within, increasing=True)
        )
        equations = [(slopes[k].tolist(), (-h * np.eye(4)[k]).tolist()) for k in (1, 2, 3)]
    step = len(within) - 1
    points = np.append((np.arange(intervals)[:, None] + within[:-1]).ravel() * h, 1.0)
    weights, moments = [], []
    for k in range(intervals):
        place = ([0] * (step + 1), np.arange(step * k, step * (k + 1) + 1))
        for of_values, of_rates in equations:
            weights.append(sp.csr_array((of_values, place), (1, len(points))))
            moments.append(sp.csr_array((of_rates, place), (1, len(points))))
    return weights, moments, points


def _node_rows(random: np.random.Generator, at: dict[str, IntArray], elastic: bool, width: int) -> tuple[Any, Any]:
    """The rows of one node: linear terms, and products as rows, both variables and factors."""
    linear: list[tuple[int, int, float]] = []
    products: list[tuple[int, int, int, float]] = []
    q, u, acc, count = at["q"], at["u"], at["acc"], len(at["q"])
    mass = random.normal(size=(count, count))
    mass = mass @ mass.T / count + 2 * np.eye(count)
    for i in range(count):
        linear.append((i, at["reserve"][i], -10.0))
        for j in range(count):
            linear += [(i, acc[j], mass[i, j]), (i, u[j], 0.1 * random.normal())]
            linear.append((i, q[j], random.normal() * (3.0 if i == j else 0.5)))
            products += [(i, q[k], acc[j], 0.1 * random.normal() / count**0.5) for k in random.integers(0, count, 2)]
            products.append((i, u[i], u[j], 0.3 * random.normal() / count))
    force = at["ft"] if elastic else at["act"]
    for k, activation in enumerate(at["act"]):
        spanned = np.unique(np.clip(random.integers(0, count) + np.arange(random.integers(1, 4)), 0, count - 1))
        side = random.choice([-1.0, 1.0])
        for i in spanned:
            linear.append((i, force[k], -20.0 * side * random.uniform(0.3, 1)))
            products += [(i, q[j], force[k], 5.0 * random.normal()) for j in spanned]
            products += [(i, u[j], force[k], random.uniform()) for j in spanned]
        if elastic:
            row, own_rate = count + k, at["dft"][k]
            linear += [(row, force[k], 1.0), (row, activation, -1.0), (row, own_rate, 0.05)]
            linear += [(row, u[j], 0.1 * random.normal()) for j in spanned]
            products += [(row, q[j], activation, 0.5 * random.normal()) for j in spanned]
            products += [(row, u[j], activation, 0.2 * random.normal()) for j in spanned]
            products.append((row, activation, own_rate, 0.05))
    rows, columns, values = (np.array(one) for one in zip(*linear, strict=True))
    size = count + (len(force) if elastic else 0)
    return sp.csr_array((values, (rows, columns)), (size, width)), [np.array(p) for p in zip(*products, strict=True)]


def walk(linear_solver: str, options: dict[str, str | float | int], iterations: int) -> SolverOutcome:
    """Moco's example of a walk with 80 muscles and rigid tendons."""
    import musculo
    from musculo.io import with_function_paths
    from musculo.muscle import with_de_groote_fregly_muscles
    from musculo.trajectory import Trapezoidal
    from musculo.trajectory.muscles.track_motion import tracking_problem
    from trees import data_folder

    data = data_folder()
    if data is None:
        raise SystemExit("the walk needs the data folder (MUSCULO_DATA)")
    folder = data / "rajagopal_walk"
    model = with_de_groote_fregly_muscles(
        musculo.read_osim(folder / "subject_walk_scaled.osim"), passive=False, active_width=1.5
    )
    model = with_function_paths(model, folder / "subject_walk_scaled_FunctionBasedPathSet.xml")
    for name in ("mtp_angle_r", "mtp_angle_l"):
        model = model.with_coordinate(name, locked=True)
    reserves = dict.fromkeys(("pelvis_tilt", "pelvis_list", "pelvis_rotation"), 250.0)
    reserves |= dict.fromkeys(("pelvis_tx", "pelvis_ty", "pelvis_tz"), 50.0)
    loads = musculo.read_external_loads(folder / "grf_walk.xml")
    posed = tracking_problem(
        model, musculo.read_storage(folder / "coordinates.sto"), loads=loads, start=0.48, end=1.61, tendons="rigid",
        reserves=reserves, weights={"pelvis_*_reserve/control": 10.0}, effort_weight=0.1, control_limit=1.0,
        periodic=True,
    )  # fmt: skip
    motion = posed.problem.solve(
        Trapezoidal(50), posed.guess, linear_solver=linear_solver, options=options, tolerance=1e-4,
        max_iterations=iterations,
    )  # fmt: skip
    return motion.solver


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("solvers", nargs="*", default=["multifrontal", "mumps"], metavar="SOLVER")
    parser.add_argument("--problems", nargs="+", default=[*PROBLEMS], choices=[*PROBLEMS, "walk"])
    parser.add_argument("--iterations", type=int, default=15)
    asked = parser.parse_args()
    warm_up = SyntheticMotion(intervals=2, coordinates=2, muscles=2)
    for solver in asked.solvers:  # kernels are compiled or read apart
        solve(warm_up, warm_up.start, linear_solver=SOLVERS[solver][0])
    for name in asked.problems:
        program = SyntheticMotion(**PROBLEMS[name]) if name in PROBLEMS else None
        first = 0.0
        for solver in asked.solvers:
            linear_solver, options = SOLVERS[solver]
            if program is None:
                found = walk(linear_solver, options, asked.iterations)
            else:
                found = solve(
                    program,
                    program.start,
                    linear_solver=linear_solver,
                    options=options,
                    max_iterations=asked.iterations,
                )
            spent = found.times.linear_algebra_cpu / max(found.iterations, 1)
            first = first or spent
            print(
                f"{name:16s} {len(found.x) + len(found.rows):6d} rows  {solver:12s} {1e3 * spent:8.1f} ms an iteration "
                f"({spent / first:5.2f} times the first)  {found.iterations:3d} iterations to {found.objective:.10g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
