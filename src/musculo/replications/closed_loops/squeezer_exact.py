"""Andrews' squeezer without an integrator: its motion from the law of energy, by quadrature.

The mechanism has one degree of freedom and its forces have a potential V, so that from rest at beta_0

    1/2 m(beta) betadot^2 = V(beta_0) - V(beta),      t = integral of sqrt(m / (2 (V_0 - V))) dbeta.

Joints are where circles meet, so m and V are closed forms. Nothing is shared with the embedding, with the constrained
equations or with an integrator of differential equations: it judges them all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.polynomial import legendre

from musculo.arrays import FloatArray
from musculo.replications.closed_loops import mechanisms as m

# Gauss-Legendre nodes of a panel, and its width in x; halving the width changes angles by less than 1e-13.
_NODES, _WIDTH = 20, 0.1
_A, _B, _C = complex(*m.A), complex(*m.B), complex(*m.C)


class SqueezerMotion(NamedTuple):
    """Angles and speeds (times, 7) in the order of `andrews_squeezer`: beta theta gamma delta phi epsilon omega."""

    q: FloatArray  # [rad]
    u: FloatArray  # [rad/s]


def exact_squeezer(times: FloatArray, beta_0: float = m.START["beta"]) -> SqueezerMotion:
    """The motion from rest at beta_0, at increasing times above zero [s].

    With beta - beta_0 = sqrt(1 + x^2) - 1 the integrand is smooth at the start, where betadot vanishes. V_0 - V is
    itself the integral of -dV/dbeta, since a difference of potentials would cancel there.
    """
    wanted = np.atleast_1d(np.asarray(times, dtype=float))
    nodes, weights = legendre.leggauss(_NODES)
    # values at the nodes to coefficients of Legendre polynomials
    orders = np.arange(_NODES)
    to_series = ((2 * orders + 1) / 2.0)[:, None] * legendre.legvander(nodes, _NODES - 1).T * weights
    starts, fallen, ticked = [0.0], [0.0], [0.0]
    fall_series, tick_series = [], []
    while ticked[-1] <= wanted[-1]:
        x = starts[-1] + _WIDTH * (nodes + 1.0) / 2.0
        beta, slope = _beta(beta_0, x)
        mass, force = _mass_and_force(beta)
        # integrals from the left end of the panel, as series whose value at -1 is what came before
        fall = legendre.legint(to_series @ (force * slope) * _WIDTH / 2.0, lbnd=-1.0, k=fallen[-1])
        tick = np.sqrt(mass / (2.0 * legendre.legval(nodes, fall))) * slope
        ticks = legendre.legint(to_series @ tick * _WIDTH / 2.0, lbnd=-1.0, k=ticked[-1])
        fall_series.append(fall)
        tick_series.append(ticks)
        fallen.append(float(legendre.legval(1.0, fall)))
        ticked.append(float(legendre.legval(1.0, ticks)))
        starts.append(starts[-1] + _WIDTH)
    panel = np.searchsorted(np.array(ticked), wanted, side="right") - 1
    ticks, fall = np.array(tick_series)[panel].T, np.array(fall_series)[panel].T
    pace = legendre.legder(ticks)
    xi = np.zeros_like(wanted)
    for _ in range(30):
        step = (legendre.legval(xi, ticks, tensor=False) - wanted) / legendre.legval(xi, pace, tensor=False)
        before, xi = xi, np.clip(xi - step, -1.0, 1.0)
        if np.array_equal(xi, before):
            break
    beta, _ = _beta(beta_0, np.array(starts)[panel] + _WIDTH * (xi + 1.0) / 2.0)
    mass, _ = _mass_and_force(beta)
    speed = np.sqrt(2.0 * legendre.legval(xi, fall, tensor=False) / mass)
    angles, slopes = _angles(beta)
    return SqueezerMotion(angles, slopes * speed[:, None])


def _beta(beta_0: float, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    root = np.sqrt(1.0 + x * x)
    return beta_0 + x * x / (root + 1.0), x / root


class _Geometry(NamedTuple):
    """Joints as complex numbers, with derivatives by beta: F ends the crank, all bars meet at E, G and H are elbows.

    Bodies are told by their absolute angles' slopes: k2, k3, k4, k5, k6, k7.
    """

    F: np.ndarray
    E: np.ndarray
    G: np.ndarray
    H: np.ndarray
    dF: np.ndarray
    dE: np.ndarray
    dG: np.ndarray
    dH: np.ndarray
    k2: FloatArray
    k3: FloatArray
    k4: FloatArray
    k5: FloatArray
    k6: FloatArray
    k7: FloatArray


def _geometry(beta: FloatArray) -> _Geometry:
    F = m.RR * np.exp(1j * beta)
    E = _meet(F, m.D, _B, m.SS, 1.0)
    G, H = _meet(_A, m.ZT, E, m.E, 1.0), _meet(_A, m.U, E, m.ZF, -1.0)
    dF = 1j * F
    # bars keep their lengths: (E - F) . (dE - dF) = 0 and so on
    k3 = _dot(E - F, dF) / _dot(E - F, 1j * (E - _B))
    dE = 1j * (E - _B) * k3
    k5 = _dot(E - G, dE) / _dot(E - G, 1j * (G - _A))
    dG = 1j * (G - _A) * k5
    k7 = _dot(E - H, dE) / _dot(E - H, 1j * (H - _A))
    dH = 1j * (H - _A) * k7
    k2, k4, k6 = (
        (np.conj(bar) * turned).imag / length**2
        for bar, turned, length in ((E - F, dE - dF, m.D), (E - G, dE - dG, m.E), (E - H, dE - dH, m.ZF))
    )
    return _Geometry(F, E, G, H, dF, dE, dG, dH, k2, k3, k4, k5, k6, k7)


def _meet(
    center: np.ndarray | complex, radius: float, other: np.ndarray | complex, far: float, side: float
) -> np.ndarray:
    """Where circles about two centers meet, on the left (1) or right (-1) of the way from one to the other."""
    across = other - center
    distance = np.abs(across)
    along = (radius**2 - far**2 + distance**2) / (2.0 * distance)
    return np.asarray(center + across / distance * (along + 1j * side * np.sqrt(radius**2 - along**2)))


def _dot(a: np.ndarray, b: np.ndarray) -> FloatArray:
    return np.asarray((np.conj(a) * b).real, dtype=float)


def _mass_and_force(beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """m of T = 1/2 m betadot^2, and -dV/dbeta."""
    g = _geometry(beta)
    # directions of the bodies, times their centers in them, times their turning
    centers = {
        2: g.dF - m.DA * 1j * (g.F - g.E) / m.D * g.k2,
        4: g.dG + (m.E - m.EA) * (g.E - g.G) * 1j / m.E * g.k4,
        6: g.dH + (m.ZF - m.FA) * 1j * (g.E - g.H) / m.ZF * g.k6,
    }
    turning = {2: g.k2, 3: g.k3, 4: g.k4, 5: g.k5, 6: g.k6, 7: g.k7}
    about = {3: m.SA**2 + m.SB**2, 5: m.TA**2 + m.TB**2, 7: m.UA**2 + m.UB**2}  # bodies that turn about fixed points
    mass = np.full_like(beta, m.MASSES[1] * m.RA**2 + m.INERTIAS[1])
    for k, turn in turning.items():
        fixed = m.MASSES[k] * about.get(k, 0.0) + m.INERTIAS[k]
        mass = mass + fixed * turn**2 + (m.MASSES[k] * np.abs(centers[k]) ** 2 if k in centers else 0.0)
    arm = (m.SD - 1j * m.SC) * (g.E - _B) * 1j / m.SS
    spring = _B + arm - _C
    length = np.abs(spring)
    pull = m.STIFFNESS * (length - m.REST) * _dot(spring, 1j * arm * g.k3) / length
    return mass, m.TORQUE - pull


def _angles(beta: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Angles and their slopes by beta, (times, 7)."""
    g = _geometry(beta)
    psi, gamma = np.angle(g.F - g.E), np.angle((g.E - _B) * 1j)
    delta, epsilon = np.angle(g.G - _A), np.angle((g.H - _A) * 1j)
    phi, omega = np.angle((g.E - g.G) * 1j) - delta, np.angle(g.E - g.H) - epsilon
    one = np.ones_like(beta)
    return (
        np.stack([beta, psi - beta, gamma, delta, phi, epsilon, omega], axis=1),
        np.stack([one, g.k2 - one, g.k3, g.k5, g.k4 - g.k5, g.k7, g.k6 - g.k7], axis=1),
    )
