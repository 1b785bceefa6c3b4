"""Filters and splines against OpenSim's own, live."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

pytest.importorskip("opensim")
from musculo import Table, read_storage, write_storage
from musculo.errors import InvalidInput
from musculo.signals import NaturalSpline, lowpass
from support.opensim_files import ask

# A recursion of third order over some thousand samples from coefficients that agree to rounding; relative to the
# largest value. Found: 2e-12 at 6 Hz of 1 kHz, where the poles are closest to one.
RECURSION = 1e-11
# Two factorisations of the same spline, inside the data; derivatives lose a factor of the inverse smallest step.
SPLINE = 1e-10


def signal(frames: int, rate: float, rounded: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(frames)
    time = np.arange(frames) / rate
    return (np.round(time, 3) if rounded else time), 10.0 * np.cumsum(rng.normal(size=(frames, 3)), axis=0)


CASES = [(n, 60.0, rounded) for n in (2, 3, 4, 6, 7, 101) for rounded in (False, True)] + [(1500, 1000.0, False)]


@pytest.mark.parametrize("cutoff", [6.0, 29.0, 1000.0])
def test_lowpass_is_opensims(cutoff, tmp_path):
    jobs = []
    for k, (frames, rate, rounded) in enumerate(CASES):
        time, values = signal(frames, rate, rounded)
        write_storage(Table(time, ("a", "b", "c"), values), tmp_path / f"{k}.sto")
        jobs.append(["lowpass", str(tmp_path / f"{k}.sto"), cutoff])
    for case, theirs in zip(CASES, ask(jobs, tmp_path), strict=True):
        if "error" in theirs:  # five padded rows at uneven times: too few for the quintic spline
            assert "Too few data points" in theirs["error"]
            with pytest.raises(InvalidInput, match="too few"):
                lowpass(*signal(*case), cutoff, like="opensim")
            continue
        ours = lowpass(*signal(*case), cutoff, like="opensim")
        assert_array_equal(ours.time, theirs["time"], err_msg=str(case))
        assert_allclose(
            ours.values, theirs["values"], rtol=0, atol=RECURSION * np.abs(theirs["values"]).max(), err_msg=str(case)
        )


def test_lowpass_of_recorded_coordinates_is_opensims(data_folder, tmp_path):
    """Times rounded to milliseconds: 151 frames become more, as the README of the data says."""
    file = data_folder / "gait10dof18musc/ref/subject01_walk_IK.mot"
    (theirs,) = ask([["lowpass", str(file), 6.0]], tmp_path)
    ours = read_storage(file).lowpass(6.0, like="opensim")
    assert_array_equal(ours.time, theirs["time"])
    assert_allclose(ours.values, theirs["values"], rtol=0, atol=RECURSION * np.abs(theirs["values"]).max())


@pytest.mark.parametrize("degree", [1, 3, 5, 7])
def test_splines_are_opensims(degree, tmp_path):
    rng = np.random.default_rng(degree)
    x = np.cumsum(rng.uniform(0.02, 0.06, size=40))
    y = rng.normal(size=40)
    at = np.concatenate((np.linspace(x[0], x[-1], 77), [x[0] - 0.01, x[-1] + 0.02]))
    (theirs,) = ask([["spline", degree, x.tolist(), y.tolist(), at.tolist()]], tmp_path)
    spline = NaturalSpline(x, y, degree)
    orders = (0,) if degree == 1 else (0, 1, 2)  # lines have corners at the knots
    for order in orders:
        atol = SPLINE * np.abs(theirs[order]).max()
        assert_allclose(spline(at, order), theirs[order], rtol=0, atol=atol)
