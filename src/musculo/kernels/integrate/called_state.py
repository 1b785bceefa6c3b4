"""Steps along rates that are a function in Python: it is called back, one state at a time.

So the methods are written once, in `one_step_methods`, whoever knows the rates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room, spliced
from musculo.kernels.integrate.force_calls import call_force
from musculo.kernels.integrate.one_step_methods import explicit_or_implicit, onward
from musculo.kernels.tree.state_lanes import StateLanes, state_lanes

# What the function is asked for: the rates of a state; those of the one that steps go on from, if they end in that.
ITS_RATES, ITS_END = 0.0, 1.0
# What it answers.
ANSWERED = 2.0


class CalledSystem(NamedTuple):
    """A system that only Python knows."""

    size: int  # of a state


class CalledRoom(NamedTuple):
    """Where questions and answers lie."""

    x: StateLanes
    y: FloatArray  # (n_y,) the state; the function may write the one that steps go on from
    f: FloatArray  # (n_y,) its rates, which the function writes
    word: FloatArray  # (1,) the question, then the answer


@room
def called_room(p):
    """Room for states of such a system."""
    return CalledRoom(state_lanes(p.size, 0, 0, 0), np.zeros(p.size), np.zeros(p.size), np.zeros(1))


@kernel
def called_rates(h, function, tau, t, real):
    """Rates x.F of the states x.Y, of which the first `real` count; whether they are there."""
    apart()
    _, r, _ = h
    for lane in range(real):
        for i in range(r.y.size):
            r.y[i] = r.x.Y[i, lane]
        r.word[0] = ITS_RATES
        call_force(function, t, r.y, r.word, r.f)
        if r.word[0] != ANSWERED:
            return False
        for i in range(r.y.size):
            r.x.F[i, lane] = r.f[i]
    return True


@spliced
def _land(h, function, a, t, k):
    _, r, s = h
    for i in range(r.y.size):
        r.y[i] = s.x[i]
    r.word[0] = ITS_END
    call_force(function, t, r.y, r.word, r.f)
    for i in range(r.y.size):
        a.out.y[k, i], a.out.f[k, i] = r.y[i], r.f[i]
    return r.word[0] == ANSWERED


@kernel
def _serve(h, function, a, end):
    """`called_state`, without references to arrays being counted."""
    return onward(called_rates, _land, explicit_or_implicit, h, function, a, end)


@driver
def called_state(h, what, function, end, a):
    """Steps as `onward` makes them, whatever is asked for.

    Args: h: holds `CalledSystem`, `CalledRoom` and `StepRoom`. function: address of words as in `force_calls`, of a C
        function (t, y, word, f) that knows where these lie. a: `Request`.
    """
    return _serve(h, function, a, end)
