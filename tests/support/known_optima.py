"""Problems of optimal control whose optimum is known, in the language of `musculo.trajectory`."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.trajectory import (
    Control,
    Coordinate,
    Endpoint,
    Formula,
    Integral,
    Problem,
    State,
    Throughout,
    Time,
)


class KnownOptimum(NamedTuple):
    """A problem, its optimal objective, who says so, and where a search starts."""

    problem: Problem
    objective: float
    source: str
    guess: dict[str, ArrayLike]


def brachistochrone() -> KnownOptimum:
    """A bead slides from rest along the wire on which it is fastest: a cycloid."""
    g, ends = 9.81, (2.0, 2.0)
    rates = Formula(
        lambda v, angle: (v * np.sin(angle), v * np.cos(angle), g * np.cos(angle)),
        ("v", "angle"),
        ("x_rate", "y_rate", "v_rate"),
    )
    variables = (
        State("x", (0.0, 3.0), 0.0, ends[0]),
        State("y", (0.0, 3.0), 0.0, ends[1]),
        State("v", (0.0, 10.0), 0.0),
        Control("angle", (0.0, 2.0)),
    )
    # x = r (p - sin p), y = r (1 - cos p): p by Newton's method
    p = 2.4
    for _ in range(20):
        f = (p - math.sin(p)) - ends[0] / ends[1] * (1.0 - math.cos(p))
        p -= f / ((1.0 - math.cos(p)) - ends[0] / ends[1] * math.sin(p))
    optimum = p * math.sqrt(ends[1] / (1.0 - math.cos(p)) / g)
    problem = Problem(variables, (0.1, 3.0), rates, Time())
    return KnownOptimum(problem, optimum, "Bernoulli 1696", {"v": [0.0, 5.0], "duration": 1.0})


def linear_quadratic() -> KnownOptimum:
    """xdot = u - x from 1, half the integral of x^2 + u^2 over 1 s: half the solution of Riccati's equation."""
    rate = Formula(lambda x, u: u - x, ("x", "u"), "x_rate")
    problem = Problem((State("x", None, 1.0), Control("u")), 1.0, rate, Integral(("x", "u"), 0.5, squared=True))
    root = math.sqrt(2.0)
    return KnownOptimum(problem, 0.5 / (1.0 + root / math.tanh(root)), "Riccati's equation", {})


def double_integrator() -> KnownOptimum:
    """1 kg moves by 1 m with at most 1 N from rest to rest: full force forth and back."""
    variables = (Coordinate("x", (-1, 2), (-9, 9), None, 0.0, 1.0, 0.0, 0.0), Control("force", (-1.0, 1.0)))
    problem = Problem(variables, (0.1, 5.0), Formula(lambda f: f, "force", "x/acceleration"), Time())
    return KnownOptimum(problem, 2.0, "two parabolas", {})


def goddard() -> KnownOptimum:
    """The greatest height of a rocket with drag and little fuel, whose thrust is singular for a while."""
    drag, scale_height, least, exhaust = 310.0, 500.0, 0.6, 0.5

    def rates(h, v, m, thrust):
        return v, (thrust - drag * v**2 * np.exp(-scale_height * (h - 1.0))) / m - h**-2, -thrust / exhaust

    variables = (
        State("h", (1.0, 1.1), 1.0, scale=0.01),
        State("v", (0.0, 0.3), 0.0),
        State("m", (least, 1.0), 1.0, least),
        Control("thrust", (0.0, 3.5)),
    )
    dynamics = Formula(rates, ("h", "v", "m", "thrust"), ("h_rate", "v_rate", "m_rate"))
    guess: dict[str, ArrayLike] = {"h": [1.0, 1.01], "v": [0.0, 0.1, 0.0], "thrust": 1.0, "duration": 0.2}
    problem = Problem(variables, (0.05, 1.0), dynamics, Endpoint("h", -1.0))
    return KnownOptimum(problem, -1.01283, "Dolan, More and Munson 2004, COPS 3.0", guess)


def alp_rider() -> KnownOptimum:
    """Four stiff states must stay above a terrain of four peaks."""
    states = tuple(f"y{k}" for k in range(1, 5))
    inputs = (*states, "u1", "u2")

    def rates(a, b, c, d, u, w):
        return -10 * a + u + w, -2 * b + u + 2 * w, -3 * c + 5 * d + u - w, 5 * c - 3 * d + u + 3 * w

    def clearance(t, a, b, c, d):
        peaks = ((3, 3, 12), (3, 6, 10), (3, 10, 6), (8, 15, 4))
        return a**2 + b**2 + c**2 + d**2 - 0.01 - sum(h * np.exp(-s * (t - at) ** 2) for h, at, s in peaks)

    cost = Formula(lambda a, b, c, d, u, w: 100 * (a**2 + b**2 + c**2 + d**2) + 0.01 * (u**2 + w**2), inputs, "cost")
    ends = ((2.0, 2.0), (1.0, 3.0), (2.0, 1.0), (1.0, -2.0))
    problem = Problem(
        (*(State(name, None, *both) for name, both in zip(states, ends, strict=True)), Control("u1"), Control("u2")),
        20.0,
        Formula(rates, inputs, tuple(f"{name}_rate" for name in states)),
        Integral(cost),
        Throughout(Formula(clearance, ("time", *states), "clearance"), (0.0, np.inf)),
    )
    return KnownOptimum(problem, 2030.85609, "Betts 2010, example 4.12", dict.fromkeys(states, 1.0))


def alp_rider_mesh(intervals: int) -> tuple[float, ...]:
    """Fractions of the duration that are close at both ends, where states are fast, and at the peaks."""
    t = np.linspace(0.0, 20.0, 20001)
    density = 0.6 + 25 * np.exp(-t / 0.12) + 25 * np.exp((t - 20.0) / 0.12)
    for height, at, width in ((3, 3, 0.8), (3, 6, 0.8), (2, 10, 0.5), (2, 15, 0.4)):
        density += height * np.exp(-width * (t - at) ** 2)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)])
    inner = np.interp(np.linspace(0.0, 1.0, intervals + 1), total / total[-1], t)[1:-1] / 20.0
    return (0.0, *inner.tolist(), 1.0)
