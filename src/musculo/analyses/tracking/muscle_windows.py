"""All muscles of a model over a window of time in which the motion of their paths is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.tracking.muscle_window import Window, WindowReach, window_excitations, window_states
from musculo.like import Method
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles

# Error of a step, in activation and in fiber length over the optimal (or slack) length, where that is smaller. OpenSim
# integrates muscles in windows to an accuracy of 5e-6; forces here are within 1e-4 of the maximum isometric force.
TOLERANCE = 1e-5


class MuscleStates(NamedTuple):
    """What muscles remember, and what they pull; (muscles,), or with axes for trials and nodes in front."""

    activation: FloatArray
    fiber: FloatArray  # fiber length [m]
    force: FloatArray  # of the tendon [N]


class Paths(NamedTuple):
    """The paths of all muscles in a window: polynomials of time."""

    duration: float  # [s]
    nodes: FloatArray  # (k,) where states are wanted, in parts of the duration; the last is one
    length: FloatArray  # (terms, muscles) coefficients by powers of the part [m]

    @property
    def only_end(self) -> Paths:
        """The same paths, for states at the end alone."""
        return self._replace(nodes=np.ones(1))


def paths_through(duration: float, nodes: FloatArray, length: FloatArray) -> Paths:
    """Paths with lengths (k, muscles) at the nodes, and polynomials of degree k - 1 between."""
    return Paths(duration, nodes, np.asarray(np.linalg.solve(np.vander(nodes, increasing=True), length), dtype=float))


def held_paths(duration: float, length: FloatArray) -> Paths:
    """Paths that keep their lengths (muscles,)."""
    return Paths(duration, np.ones(1), length[None].copy())


class MuscleWindows:
    """The muscles of one model, each integrated by itself under a constant excitation.

    Args:
        model: the model.
        method: "opensim" for OpenSim's own laws of fibers, faults included (`muscle_force`).
        tolerance: of a step, see `TOLERANCE`.
    """

    def __init__(self, model: Model, method: Method = "exact", tolerance: float = TOLERANCE) -> None:
        c = compiled_muscles(model)
        self.names, self._arrays, self._opensim, self._tolerance = c.names, c.arrays, method == "opensim", tolerance

    def states(self, start: MuscleStates, paths: Paths, excitation: FloatArray) -> MuscleStates:
        """(trials, nodes, muscles) under excitations (trials, muscles)."""
        x = np.ascontiguousarray(excitation)
        out = [np.empty((len(x), len(paths.nodes), x.shape[1])) for _ in range(3)]
        window_states(*self._arrays, self._window(start, paths), x, self._opensim, *out)
        force, activation, fiber = out
        return MuscleStates(activation, fiber, force)

    def excitations(
        self,
        start: MuscleStates,
        paths: Paths,
        bounds: tuple[FloatArray, FloatArray],
        bound_forces: tuple[FloatArray, FloatArray],
        force: FloatArray,
        guess: FloatArray,
    ) -> FloatArray:
        """Excitations (muscles,) within bounds under which the window ends with given forces [N].

        `bound_forces` are those under the bounds; a force beyond them has the nearer bound.
        """
        x = np.array(guess)
        window = self._window(start, paths)
        reach = WindowReach(*bounds, *bound_forces)
        window_excitations(*self._arrays, window, reach, force, self._opensim, x)
        return x

    def _window(self, start: MuscleStates, paths: Paths) -> Window:
        a, fiber = np.ascontiguousarray(start.activation), np.ascontiguousarray(start.fiber)
        return Window(float(paths.duration), paths.nodes, np.ascontiguousarray(paths.length), a, fiber, self._tolerance)
