"""A window of the motion of a muscle-driven model: skeleton and muscles, each integrated in the motion of the other.

Muscles depend on the skeleton by the lengths of their paths, and the skeleton on muscles by their forces. Both are
smooth within a window of constant excitations. So the skeleton is solved by collocation, the muscles, which are stiff,
by steps of their own, and what they know of each other is renewed until it stands still.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from musculo.analyses.tracking.driven_model import DrivenModel, Response
from musculo.analyses.tracking.muscle_windows import MuscleStates, MuscleWindows, paths_through
from musculo.arrays import FloatArray

# Gauss-Lobatto nodes: accelerations there settle a window to order ten.
_INNER = np.sqrt((7.0 + np.array([2.0, -2.0]) * np.sqrt(7.0)) / 21.0)
NODES = 0.5 + 0.5 * np.array([-1.0, -_INNER[0], -_INNER[1], _INNER[1], _INNER[0], 1.0])
_POWERS = np.arange(1, len(NODES) + 1)
# (nodes, nodes): integrals from the start to each node, from the values at the nodes.
INTEGRALS = (NODES[:, None] ** _POWERS / _POWERS) @ np.linalg.inv(np.vander(NODES, increasing=True))
# Rounds in which skeleton and muscles are renewed; a window that needs more is halved, and its halves, so often. Each
# round knows so many of those before.
_ROUNDS, _HALVINGS, _MEMORY = 16, 6, 4


class DrivenState(NamedTuple):
    """Where a model is: (n_z,), (n_zu,) and the states of its muscles."""

    time: float
    z: FloatArray
    zu: FloatArray
    muscles: MuscleStates


@dataclass(frozen=True, eq=False)
class Driven:
    """A window, at its nodes (the first is where it starts)."""

    time: FloatArray  # (k,) [s]
    z: FloatArray  # (k, n_z)
    zu: FloatArray  # (k, n_zu)
    muscles: MuscleStates  # (k, muscles)
    force: FloatArray  # (k, actuators) muscles first [N, N m]
    response: Response  # (k, ...)
    rounds: int

    @property
    def end(self) -> DrivenState:
        return DrivenState(float(self.time[-1]), self.z[-1], self.zu[-1], MuscleStates(*(x[-1] for x in self.muscles)))


class NotSettled(Exception):
    """A window in which skeleton and muscles do not come to an agreement; the time at which."""

    def __init__(self, time: float) -> None:
        super().__init__(time)
        self.time = time


class _Renewed:
    """Speeds to try next, from those that were tried and what came of them (Anderson 1965, J ACM 12:547).

    Of the last differences the combination is taken that makes the change least.
    """

    def __init__(self) -> None:
        self._tried: list[FloatArray] = []
        self._change: list[FloatArray] = []

    def __call__(self, tried: FloatArray, found: FloatArray) -> FloatArray:
        self._tried.append(found.ravel())
        self._change.append((found - tried).ravel())
        del self._tried[: -_MEMORY - 1], self._change[: -_MEMORY - 1]
        if len(self._tried) == 1:
            return found
        results, changes = np.diff(self._tried, axis=0).T, np.diff(self._change, axis=0).T
        share = np.linalg.lstsq(changes, self._change[-1], rcond=1e-10)[0]
        return (self._tried[-1] - results @ share).reshape(found.shape)


def node_times(start: float, end: float) -> FloatArray:
    """Times of the nodes of a window."""
    times = start + (end - start) * NODES
    times[-1] = end
    return times


def drive(
    model: DrivenModel,
    muscles: MuscleWindows,
    start: DrivenState,
    end: float,
    excitation: FloatArray,
    others: tuple[FloatArray, FloatArray],
    tolerance: float,
    guess: tuple[FloatArray, FloatArray] | None = None,
    halvings: int = _HALVINGS,
) -> list[Driven]:
    """From a state to a time, under constant excitations of muscles; other forces go in a line.

        z_j = z_0 + T sum_i w_ji zu_i,   zu_j = zu_0 + T sum_i w_ji zudot_i

    Guarantees: order ten in the length of the window where forces are smooth. Rounds end when speeds at the nodes
                change by no more than `tolerance` of the largest, or of one; a window that does not get there is
                halved.

    Args:
        excitation: (muscles,).
        others: (actuators that are no muscles,) forces at the start and at the end [N, N m].
        tolerance: of speeds [rad/s, m/s].
        guess: z and zu at the nodes.

    Raises:
        NotSettled: windows a sixty-fourth as long do not settle either.
    """
    duration = end - start.time
    times = node_times(start.time, end)
    if guess is None:
        zu = np.tile(start.zu, (len(NODES), 1))
        z = start.z + duration * (INTEGRALS @ zu)
    else:
        z, zu = guess
        z, zu = z + (start.z - z[0]), zu + (start.zu - zu[0])
    renewed = _Renewed()
    ramp = others[0] + NODES[:, None] * (others[1] - others[0])
    for count in range(1, _ROUNDS + 1):
        response = model.respond(times, z, zu)
        lengths = response.paths.length[:, : len(excitation)]
        found = muscles.states(start.muscles, paths_through(duration, NODES, lengths), excitation[None])
        states = MuscleStates(*(x[0] for x in found))
        force = np.concatenate([states.force, ramp], axis=1)
        zudot = np.einsum("fza,fa->fz", response.A, force) + response.b
        new = start.zu + duration * (INTEGRALS @ zudot)
        change = float(np.abs(new - zu).max(initial=0.0))
        if not np.isfinite(change):
            break
        settled = change <= tolerance * max(1.0, float(np.abs(zu).max(initial=0.0)))
        zu = new if settled else renewed(zu, new)
        z = start.z + duration * (INTEGRALS @ zu)
        if settled:
            return [Driven(times, z, zu, states, force, response, count)]
    if halvings == 0:
        raise NotSettled(start.time)
    middle = 0.5 * (start.time + end)
    half = 0.5 * (others[0] + others[1])
    first = drive(model, muscles, start, middle, excitation, (others[0], half), tolerance, None, halvings - 1)
    rest = drive(model, muscles, first[-1].end, end, excitation, (half, others[1]), tolerance, None, halvings - 1)
    return first + rest
