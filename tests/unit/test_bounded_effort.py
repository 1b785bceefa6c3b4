"""Programs of static optimization by Newton's method on the dual: cases by hand, DAQP, and what is left to it."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from musculo.analyses.static_optimization import least_effort as module
from musculo.analyses.static_optimization.least_effort import EffortStatus, least_effort
from musculo.kernels.scalar.bounded_effort import SERVED, UNSERVED, EffortFrames, effort_frames
from support.static_optimisation_inputs import recorded

# Both solve the same equations for the same free unknowns.
AGREED = 1e-10


def solved(A, b, lower, upper, weights, near=None):
    """x, outcomes and steps of all frames."""
    A = np.array(A, dtype=float, ndmin=3)
    frames, k, n = A.shape
    lower, upper, weights = (
        np.broadcast_to(np.asarray(one, dtype=float), (n,)).copy() for one in (lower, upper, weights)
    )
    near = np.zeros((frames, n)) if near is None else np.array(near, dtype=float, ndmin=2)
    status = np.zeros((2, frames), dtype=np.int64)
    b = np.array(b, dtype=float).reshape(frames, k)
    found = EffortFrames(A.reshape(frames, -1), b, near, np.empty((frames, n)), *status)
    effort_frames(found, lower, upper, weights, 0, frames)
    return found.x, found.status, found.steps


def daqp(A, b, lower, upper, weights):
    one = module._Frames(lower, upper, weights, 2.0)
    return [one.solve(*frame) for frame in zip(A, b, strict=True)]


def test_two_muscles_share_a_moment_by_hand():
    """x + y = 1 of least x^2 + 3 y^2 is (3/4, 1/4); with x at most 0.6 it is (0.6, 0.4); near (1, 1), y stays."""
    x, status, _ = solved([[1.0, 1.0]], [1.0], 0.0, 1.0, [1.0, 3.0])
    assert_allclose(x[0], [0.75, 0.25], atol=AGREED)
    x, _, _ = solved([[1.0, 1.0]], [1.0], 0.0, [0.6, 1.0], [1.0, 3.0])
    assert_allclose(x[0], [0.6, 0.4], atol=AGREED)
    x, _, _ = solved([[1.0, 1.0]], [1.0], 0.0, 1.0, [1.0, 3.0], near=[[1.0, 1.0]])
    assert_allclose(x[0], [0.25, 0.75], atol=AGREED)
    assert status[0] == SERVED


@pytest.mark.parametrize("k", [1, 3, 8, 20])
def test_random_programs_have_the_answer_of_active_sets(k):
    rng = np.random.default_rng(k)
    n, frames = 3 * k + 2, 60
    A = rng.standard_normal((frames, k, n)) * (rng.random((frames, k, n)) < 0.6) * 10.0 ** rng.uniform(-2, 2, (k, 1))
    lower, upper = np.full(n, 0.01), np.full(n, 1.0)
    lower[-k:], upper[-k:] = -np.inf, np.inf  # reserves
    A[:, :, -k:] = np.eye(k) * 10.0 ** rng.uniform(-1, 1, k)
    weights = 10.0 ** rng.uniform(-1, 1, n)
    b = np.einsum("fkn,fn->fk", A, rng.uniform(-0.5, 1.5, (frames, n)))
    x, status, steps = solved(A, b, lower, upper, weights)
    assert (status == SERVED).all()
    assert steps.max() < 30
    assert ((x >= lower) & (x <= upper)).all()
    for found, (expected, outcome) in zip(x, daqp(A, b, lower, upper, weights), strict=True):
        assert outcome == EffortStatus.SOLVED
        assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())


def test_what_cannot_be_served_is_left_to_others():
    """Muscles that pull one way cannot push; and numbers that are none."""
    A = np.array([[[1.0, 2.0]], [[np.nan, 1.0]], [[1.0, 2.0]]])
    _, status, _ = solved(A, [[-1.0], [1.0], [1.0]], 0.0, 1.0, 1.0)
    assert_array_equal(status, [UNSERVED, UNSERVED, SERVED])
    found = least_effort(A[[0, 2]], np.array([[-1.0], [1.0]]), np.zeros(2), np.ones(2), np.ones(2))
    assert_array_equal(found.status, [EffortStatus.INFEASIBLE, EffortStatus.SOLVED])
    assert_allclose(found.x, [[0.0, 0.0], [0.2, 0.4]], atol=AGREED)


def test_equations_that_repeat_others_and_zero_columns_do_no_harm():
    A = np.array([[[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]]])
    found = least_effort(A, np.array([[1.0, 2.0]]), np.zeros(3), np.ones(3), np.ones(3))
    assert found.status[0] == EffortStatus.SOLVED
    assert_allclose(found.x[0], [0.5, 0.5, 0.0], atol=1e-9)


@pytest.mark.parametrize("name", ["rajagopal_walk", "gait2392", "arm26"])
def test_recorded_motions_have_the_answer_of_active_sets(data_folder, monkeypatch, name):
    import musculo.analyses.static_optimization.share_load as share_load

    kept = []
    monkeypatch.setattr(share_load, "least_effort", lambda *given: (kept.append(given), least_effort(*given))[1])
    r = recorded(data_folder, name)
    some = np.linspace(0, len(r.q) - 1, 12).astype(int)
    share_load.static_optimization(r.model, r.q[some], r.u[some], tau=r.tau[some], reserves=r.reserves)
    A, b, lower, upper, weights, *_ = kept[0]
    x, status, _ = solved(A, b, lower, upper, weights)
    assert (status == SERVED).all()
    for found, (expected, _) in zip(x, daqp(A, b, lower, upper, weights), strict=True):
        assert_allclose(found, expected, rtol=0.0, atol=1e-9 * np.abs(expected).max())
