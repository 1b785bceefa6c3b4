"""Locks, prescribed motions and couplers as arrays."""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray


class RuleRows(NamedTuple):
    """Equations value - q[follower] = 0, k of them: scale f(q[inputs]), scale f(time), or a number."""

    row: IntArray  # (k,) among all equations
    follower: IntArray  # (k, 2) row of q and of u
    function: IntArray  # (k,) in the table of functions; -1 for a number
    timed: IntArray  # (k,) 1 where the function is one of time
    scale: FloatArray  # (k,)
    value: FloatArray  # (k,) the number
    first_input: IntArray  # (k + 1,)
    input_q: IntArray  # (inputs,) row of q
    input_u: IntArray  # (inputs,) row of u
