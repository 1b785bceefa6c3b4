"""Factors of sparse symmetric equations: solutions, eigenvalues, and IPOPT with them."""

import ctypes
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from musculo.errors import InvalidInput
from musculo.trajectory import Control, Coordinate, Effort, Formula, HermiteSimpson, Problem, Radau, Trapezoidal
from musculo.trajectory.solvers import ma57, sparse_factors
from musculo.trajectory.solvers.ipopt import solve
from musculo.trajectory.solvers.shared_object import can_be_written, shared_object
from musculo.trajectory.solvers.sparse_factors import SparseFactors, nested_dissection
from support.small_programs import HOCK_SCHITTKOWSKI, SmallProgram

# Pivots are at least this part of their columns, so solutions lose at most so many digits of sixteen.
THRESHOLD = 1e-6
RESIDUAL = 1e-8  # relative to the largest entry times the largest unknown
# Both solvers stop where errors are below the tolerance; optima agree to its square root at worst.
TOLERANCE, OPTIMA = 1e-8, 1e-7

pytestmark = pytest.mark.skipif(not ma57.is_available(), reason="needs Linux and METIS of casadi's wheel")


def stages_matrix(rng, stages, states, controls, *, periodic=True, convex=False):
    """[H J'; J 0] of a linear system over time: x' = x + A x + B u, sparse blocks, an indefinite Hessian."""
    n = stages * (states + controls)
    hessian = sp.random(n, n, 1.0 / n, random_state=rng, data_rvs=rng.standard_normal)
    diagonal = rng.standard_normal(n) if not convex else 1 + 4 * rng.random(n)
    hessian = hessian + hessian.T + sp.diags_array(diagonal * 10.0 ** rng.integers(-3, 3, n))
    blocks = [[None] * stages for _ in range(stages - 1 + periodic)]
    for k in range(stages - 1):
        step = sp.eye_array(states) + sp.random(states, states, 0.3, random_state=rng)
        blocks[k][k] = sp.hstack([-step, sp.random(states, controls, 0.5, random_state=rng)])
        blocks[k][k + 1] = sp.hstack([sp.eye_array(states), sp.csr_array((states, controls))])
    if periodic:
        ends = sp.hstack([sp.eye_array(states), sp.csr_array((states, controls))])
        blocks[-1][0], blocks[-1][-1] = -ends, ends
    jacobian = sp.block_array(blocks, format="csr")
    zero = sp.csr_array((jacobian.shape[0],) * 2)
    return sp.block_array([[hessian, jacobian.T], [jacobian, zero]], format="csr")


def factors_of(matrix, threshold=THRESHOLD):
    lower = sp.tril(matrix, format="coo")
    factors = SparseFactors(lower.row, lower.col, matrix.shape[0])
    factors.factorize(lower.data, threshold)
    return factors


def assert_solves(factors, matrix, rng):
    right = rng.standard_normal((2, matrix.shape[0]))
    x = right.copy()
    factors.solve(x)
    size = np.abs(matrix).max() * np.abs(x).max()
    np.testing.assert_allclose(matrix @ x.T, right.T, rtol=0, atol=RESIDUAL * size)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("periodic", [False, True])
def test_solution_and_negative_eigenvalues(seed, periodic):
    rng = np.random.default_rng(seed)
    matrix = stages_matrix(rng, int(rng.integers(2, 12)), int(rng.integers(1, 9)), 3, periodic=periodic)
    factors = factors_of(matrix)
    assert factors.negative == (np.linalg.eigvalsh(matrix.toarray()) < 0).sum()
    assert factors.zero == 0
    assert_solves(factors, matrix, rng)


def test_matrices_without_any_structure():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n = int(rng.integers(1, 70))
        matrix = sp.random(n, n, rng.uniform(0.02, 0.4), random_state=rng, data_rvs=rng.standard_normal)
        matrix = matrix + matrix.T + sp.diags_array(rng.standard_normal(n) * (rng.random(n) < 0.5))
        eigenvalues = np.linalg.eigvalsh(matrix.toarray())
        if np.abs(eigenvalues).min() > 1e-6 * np.abs(eigenvalues).max():
            factors = factors_of(matrix.tocsr())
            assert factors.negative == (eigenvalues < 0).sum()
            assert_solves(factors, matrix.tocsr(), rng)


def test_entries_of_either_triangle_and_of_one_place_are_added():
    factors = SparseFactors(np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1]), 2)
    factors.factorize(np.array([1.0, 2.0, 1.0, 4.0]), THRESHOLD)  # [[1, 3], [3, 4]]
    x = np.array([[4.0, 7.0]])
    factors.solve(x)
    np.testing.assert_allclose(x, 1.0)
    assert factors.negative == 1


def test_columns_without_a_pivot_are_delayed():
    rng = np.random.default_rng(3)
    matrix = stages_matrix(rng, 40, 8, 3, convex=True)
    factors = factors_of(matrix)
    assert factors.delayed > 0
    assert factors.negative == 40 * 8  # one a row of the Jacobian
    assert_solves(factors, matrix, rng)


def test_more_delays_than_room_is_made_for(monkeypatch):
    rng = np.random.default_rng(4)
    matrix = stages_matrix(rng, 40, 8, 3)
    monkeypatch.setattr(SparseFactors, "_make_room", small_room(SparseFactors._make_room))
    factors = factors_of(matrix)
    assert_solves(factors, matrix, rng)


def small_room(make):
    asked = []

    def smaller(self, numbers, indices, largest):
        asked.append(numbers)
        make(self, *((numbers, indices, largest) if len(asked) > 1 else (64, 16, 16)))

    return smaller


def test_singular_equations_are_found():
    assert factors_of(sp.csr_array(np.array([[4.0, 4.0], [4.0, 4.0]]))).zero == 1
    # two constraints alike, in numbers that do not round
    matrix = np.array([[1.0, 0, 1, 1], [0, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]])
    assert factors_of(sp.csr_array(matrix)).zero == 1
    assert factors_of(sp.csr_array((3, 3))).zero == 3


def test_nested_dissection_keeps_a_grid_sparse():
    side = 80
    line = sp.diags_array([np.ones(side - 1)] * 2, offsets=[-1, 1])
    grid = sp.kron(line, sp.eye_array(side), format="csr") + sp.kron(sp.eye_array(side), line, format="csr")
    order = nested_dissection(grid.indptr.astype(np.int64), grid.indices.astype(np.int64))
    assert sorted(order) == list(range(side**2))
    factors = factors_of(grid + 8 * sp.eye_array(side**2, format="csr"))
    # a band would hold side^3 numbers; dissection needs a multiple of side^2 log2(side)
    assert (factors._places.eliminated * factors._places.size).sum() < 0.55 * side**3


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("number", HOCK_SCHITTKOWSKI)
def test_ipopt_takes_the_same_way_as_with_mumps(number, exact):
    known = HOCK_SCHITTKOWSKI[number]
    program = known.make(len(known.start), exact=exact)
    ours, mumps = (
        solve(program, known.start, tolerance=TOLERANCE, linear_solver=one) for one in ("multifrontal", "mumps")
    )
    assert ours.solved
    assert ours.linear_solver == "multifrontal"
    assert ours.objective == pytest.approx(mumps.objective, abs=OPTIMA)
    # rounding may decide once whether a step is accepted
    assert abs(ours.iterations - mumps.iterations) <= 2


@pytest.mark.parametrize("transcription", [Trapezoidal(40), HermiteSimpson(20), Radau(15, 3)])
def test_collocation_has_the_same_optimum_as_with_mumps(transcription):
    problem = Problem(
        (
            Coordinate("swing", (-4.0, 4.0), (-9.0, 9.0), initial=0, final=np.pi, initial_speed=0, final_speed=0),
            Control("torque", (-15.0, 15.0)),
        ),
        duration=(1.0, 4.0),
        dynamics=Formula(
            lambda q, u, m: m - 9.81 * np.sin(q) - 0.1 * u,
            ("swing/value", "swing/speed", "torque"),
            "swing/acceleration",
        ),
        goals=Effort("torque"),
    )
    ours, mumps = (
        problem.solve(transcription, linear_solver=one, tolerance=TOLERANCE) for one in ("multifrontal", "mumps")
    )
    assert ours.solved
    assert ours.objective == pytest.approx(mumps.objective, rel=OPTIMA)


def test_equations_that_depend_on_each_other_are_solved():
    def equal(x):
        return [x[0] + 2 * x[1] - 2 * x[2], x[0] + 2 * x[1] - 2 * x[2]]

    program = SmallProgram(
        lambda x: (x[0] - 1) ** 2 + x[1] ** 2 + x[2] ** 2, equal, rows=[(3, 3)] * 2, size=3, exact=True
    )
    found = solve(program, [1.0, 0.0, 0.0], linear_solver="multifrontal", tolerance=TOLERANCE)
    assert found.solved
    # (1, 0, 0) and 2/9 of the normal (1, 2, -2)
    np.testing.assert_allclose(found.x, [11 / 9, 4 / 9, -4 / 9], atol=OPTIMA)


@pytest.mark.parametrize(("entries", "outcome", "negative"), [((1.0, 2.0, 4.0), 4, 0), ((1.0, 2.0, 3.0), 0, 1)])
def test_what_ipopt_is_told(entries, outcome, negative):
    solver = ma57.Ma57(pytest.fail)
    one, info, keep, handle = (ctypes.c_int * 1)(3), (ctypes.c_int * 40)(), (ctypes.c_int * 1)(), (ctypes.c_int * 1)()
    n, rows, columns = (ctypes.c_int * 1)(2), (ctypes.c_int * 3)(1, 2, 2), (ctypes.c_int * 3)(1, 1, 2)
    values, tolerances = (ctypes.c_double * 3)(*entries), (ctypes.c_double * 5)(THRESHOLD)
    functions = solver._functions
    functions["ma57ad_"](n, one, rows, columns, None, keep, None, None, info, None)
    functions["ma57bd_"](n, one, values, None, None, handle, None, None, keep, None, None, tolerances, info, None)
    assert info[0] == outcome  # 4: singular
    assert info[23] == negative


def test_mumps_where_no_library_can_be_loaded(monkeypatch):
    known = HOCK_SCHITTKOWSKI[71]
    assert solve(known.make(4), known.start).linear_solver == "multifrontal"
    monkeypatch.setattr(ma57, "is_available", lambda: False)
    assert solve(known.make(4), known.start).linear_solver == "mumps"
    with pytest.raises(InvalidInput, match="linear_solver='mumps' works everywhere"):
        solve(known.make(4), known.start, linear_solver="multifrontal")


def test_what_goes_wrong_in_a_factorization_is_raised(monkeypatch):
    def broken(self, values, threshold):
        raise ZeroDivisionError("of the factors")

    monkeypatch.setattr(sparse_factors.SparseFactors, "factorize", broken)
    known = HOCK_SCHITTKOWSKI[71]
    with pytest.raises(ZeroDivisionError, match="of the factors"):
        solve(known.make(4), known.start, linear_solver="multifrontal")


@pytest.mark.skipif(not can_be_written(), reason="needs Linux")
@pytest.mark.parametrize("count", [1, 2, 5])
def test_functions_of_a_shared_object_are_found_by_name(tmp_path, count):
    kind = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double, ctypes.c_int)
    functions = {f"times{k}_": kind(lambda x, y, k=k: k * x + y) for k in range(count)}
    path = Path(tmp_path, "ours.so")
    path.write_bytes(shared_object({n: ctypes.cast(f, ctypes.c_void_p).value for n, f in functions.items()}))
    library = ctypes.CDLL(str(path))
    for k in range(count):
        function = kind((f"times{k}_", library))
        assert function(1.5, 2) == 1.5 * k + 2
    assert not hasattr(library, "times_")
