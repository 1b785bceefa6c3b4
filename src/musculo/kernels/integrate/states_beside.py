"""Rates of a tree in its independent coordinates, and of states that its forces have: activations, fiber lengths.

y = (z, zu, s): the force reads s and writes its rates where it finds them (`muscle_drive`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from musculo.arrays import IntArray
from musculo.kernels.compiler.parts import apart, driver, kernel, room, spliced
from musculo.kernels.integrate.muscle_drive import ALONE, LEFT, NEXT
from musculo.kernels.integrate.one_step_methods import (
    IMEX,
    explicit_or_implicit,
    implicit_explicit,
    land_as_found,
    serve,
)
from musculo.kernels.integrate.open_state import OpenRoom, OpenTree, open_rates, open_room
from musculo.kernels.tree.state_lanes import StateLanes, state_lanes


class DrivenTree(NamedTuple):
    """A tree without loops, and what drives it."""

    tree: OpenTree
    drive: Any  # `MuscleDrive`
    implicit: IntArray  # (n_y,) 1 for states that are stiff by themselves: fibers


class DrivenRoom(NamedTuple):
    """Where eight states are worked on."""

    x: StateLanes
    tree: OpenRoom
    drive: Any  # `MuscleRoom`, which the force has too


@room
def driven_room(p, drive):
    """Room for states of a `DrivenTree`, with the room that its force works in."""
    tree = open_room(p.tree)
    x = state_lanes(p.implicit.size, 0, 0, 0)
    # whoever looks at the last state finds that of the tree
    x = x._replace(q=tree.x.q, u=tree.x.u, tau=tree.x.tau, qdot=tree.x.qdot)
    return DrivenRoom(x, tree, drive)


@kernel
def driven_rates(h, force, tau, t, real):
    """Rates x.F of the states x.Y, of which the first `real` count; whether they are there."""
    apart()
    p, r, s = h
    own = r.drive.Y.shape[0]
    tree = p.implicit.size - own
    for lane in range(real):
        for i in range(tree):
            r.tree.x.Y[i, lane] = r.x.Y[i, lane]
        for i in range(own):
            r.drive.Y[i, lane] = r.x.Y[tree + i, lane]
    r.drive.turn[NEXT] = 0
    fine = open_rates((p.tree, r.tree, s), force, tau, t, real)
    r.drive.turn[NEXT] = ALONE
    # where a path needs the second pass for the first time, the same step is taken again with it: whether it was there
    # from the beginning changes nothing
    s.stop[0] = r.drive.turn[LEFT]
    for lane in range(real):
        for i in range(tree):
            r.x.F[i, lane] = r.tree.x.F[i, lane]
        for i in range(own):
            r.x.F[tree + i, lane] = r.drive.F[i, lane]
            fine = fine and math.isfinite(r.drive.F[i, lane])
    return fine


@spliced
def _land(h, force, a, t, k):
    return land_as_found(driven_rates, h, force, a, t, k)


@spliced
def _attempt(rates, h, force, a, t, step):
    if a.control.method == IMEX:
        drive = h[1].drive
        for i in range(drive.slopes.size):
            drive.before[i, 0], drive.before[i, 1] = drive.F[i, 0], drive.slopes[i]
        return implicit_explicit(rates, h[0], h[1].drive.weight, h, force, a, t, step)
    return explicit_or_implicit(rates, h, force, a, t, step)


@kernel
def answer_driven(h, what, force, a, end):
    """`driven_state`, without references to arrays being counted."""
    return serve(driven_rates, _land, _attempt, h, what, force, a, end)


@driver
def driven_state(h, what, force, end, a):
    """What is asked for of states y = (z, zu, s), as `serve` answers it.

    Args: h: holds `DrivenTree`, `DrivenRoom` and `StepRoom`. force: as in `force_calls`. a: `Request`.
    """
    return answer_driven(h, what, force, a, end)
