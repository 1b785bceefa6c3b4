"""Forces that are kernels of the package: as a user's kernel, without anything that is compiled for them."""

from __future__ import annotations

import subprocess
import sys

import numba
import numpy as np
import pytest
from scipy.interpolate import PPoly, make_interp_spline

import musculo
from musculo.kernels.integrate.forced_tree import in_turn
from musculo.kernels.integrate.known_forces import spline_force
from musculo.replications.closed_loops.mechanisms import START, andrews_squeezer, squeezer_drive, squeezer_forces
from musculo.simulation.forces.acting import Acting
from musculo.simulation.forces.kernel_force import KernelForce

ALONE = """
import sys, numpy as np, musculo
from musculo.replications.closed_loops.mechanisms import andrews_squeezer, squeezer_drive
model = andrews_squeezer()
done = musculo.simulate(model, None, None, (0.0, 0.001), forces=squeezer_drive(model), method="{}")
assert done.status == "finished" and done.u[-1, 0] > 1.0, done.u[-1]
assert "numba" not in sys.modules
"""


def run(forces, method="rkf45", formulation="embedded"):
    model = andrews_squeezer()
    q0 = musculo.embedding_of(model).coordinates([START["beta"]])
    options = {"method": method, "formulation": formulation, "rtol": 1e-8, "atol": 1e-9}
    return musculo.simulate(model, q0, np.zeros(7), (0.0, 0.01), forces=forces, **options)


def compiled_sum(acting, q, u):
    """What compiled code finds at the address of what acts."""
    tau = acting.constant.copy()
    KernelForce(in_turn, np.array([acting.address]))(0.0, q, u, tau)
    return tau


@numba.njit
def damper(t, q, u, tau):
    tau[0] -= 1e-5 * u[0]


# Below the tolerance of steps; Adams' method picks other orders after another rounding, and errs in its own way.
@pytest.mark.parametrize(("method", "close"), [("rkf45", 1e-9), ("tr-bdf2", 1e-8), ("adams", 1e-5)])
@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
def test_it_acts_as_the_same_force_in_python_does(method, close, formulation):
    model = andrews_squeezer()
    ours = run(squeezer_drive(model), method, formulation)
    theirs = run(lambda t, q, u: squeezer_forces(model, q), method, formulation)
    assert ours.u[-1, 0] > 100.0
    np.testing.assert_allclose(ours.q[-1], theirs.q[-1], rtol=0, atol=close)


def test_forces_of_all_kinds_add_up_from_python_and_from_compiled_code():
    model = andrews_squeezer()
    drive, push = squeezer_drive(model), np.linspace(0.01, 0.07, 7)
    q, u = np.linspace(-0.5, 0.5, 7), np.full(7, 300.0)
    one = squeezer_forces(model, q)
    known = [
        ([drive, push], one + push),
        ([drive, drive], 2.0 * one),
        ([drive, damper, lambda t, q, u: push], one + push + np.eye(7)[0] * -3e-3),
        ([lambda t, q, u: push, push, damper], 2.0 * push + np.eye(7)[0] * -3e-3),
    ]
    for forces, expected in known:
        acting = Acting(model, forces, None)
        np.testing.assert_allclose(acting(0.0, q, u), expected, rtol=1e-13, atol=1e-15)
        np.testing.assert_allclose(compiled_sum(acting, q, u), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(run([drive, damper]).q, run([damper, drive]).q, rtol=0, atol=0)
    assert run([drive, damper]).u[-1, 0] < run(drive).u[-1, 0]


def test_simulations_in_threads_do_not_share_what_a_call_works_with():
    model = andrews_squeezer()
    drive = squeezer_drive(model)
    one, two = (Acting(model, drive, None) for _ in range(2))
    assert one._words[0] == two._words[0]  # the code
    assert not set(one._words[1:]) & set(two._words[1:])  # its arguments


def test_a_spline_goes_on_beyond_its_ends():
    x = np.linspace(-1.0, 2.0, 12)
    pieces = PPoly.from_spline(make_interp_spline(x, np.sin(3.0 * x), k=5))
    kept = np.diff(pieces.x) > 0.0
    force = KernelForce(spline_force, 1, pieces.x[:-1][kept].copy(), np.ascontiguousarray(pieces.c[:, kept].T))
    for at in (*np.linspace(-1.4, 2.4, 50), *x, -1.0, 2.0):
        found = force.as_function(0.0, np.array([9.0, at]), np.zeros(2))
        np.testing.assert_allclose(found, [0.0, pieces(at)], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("method", ["rkf45", "adams"])
def test_numba_is_not_imported_for_it(method):
    subprocess.run([sys.executable, "-c", ALONE.format(method)], check=True)
