"""A model that its muscles move, as an ordinary differential equation: y = (z, zu, activations and fiber lengths)."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, MusculoError
from musculo.kernels.integrate.states_beside import DrivenTree, driven_room, driven_state
from musculo.simulation.equations.embedded_state import is_open, open_tree
from musculo.simulation.equations.systems import EmbeddedSystem
from musculo.simulation.forces.acting import Acting
from musculo.simulation.integrators.ahead import Ahead, Driver, Landed, Sizes
from musculo.simulation.integrators.control import Control
from musculo.simulation.muscles.muscles_as_force import MuscleForce


class DrivenSystem(EmbeddedSystem):
    """y = (z, zu, s): independent coordinates and speeds, and the states of muscles.

    Args:
        acting: what acts, the muscles among it.
        muscles: they alone.
    """

    def __init__(self, acting: Acting, muscles: MuscleForce) -> None:
        super().__init__(acting.model, acting)
        self.muscles = muscles
        self.n_tree = self.n_z + len(self._zu)

    @property
    def steps_ahead(self) -> bool:
        """Whether a kernel takes its steps."""
        return self._state is not None and self._compiled and is_open(self.model)

    def with_muscles(self, y: FloatArray, states: FloatArray) -> FloatArray:
        """y of the tree and of muscles."""
        return np.concatenate([y, states])

    def rates(self, t: float, y: FloatArray) -> FloatArray:
        own = self.muscles
        for _ in range(2):
            own.take(y[self.n_tree :])
            try:
                f = super().rates(t, y[: self.n_tree])
            except MusculoError:
                own.raise_refused()
                if own.finished():
                    raise
                continue
            if own.finished():
                break
        own.raise_refused()
        found = own.room.F[:, 0]
        if not np.isfinite(found).all():
            name = own.state_names[int((~np.isfinite(found)).argmax())]
            raise InvalidInput(f"the rate of {name!r} is {found[~np.isfinite(found)][0]:g} at t = {t:.6g} s")
        return np.concatenate([f, found])

    def ahead(self, method: str, control: Control, project: bool) -> Ahead | None:
        if not self.steps_ahead:
            return None
        tree = self.model.derived("open tree", lambda: open_tree(self.model))
        implicit = np.zeros(self.n_tree + self.muscles.size, dtype=np.int64)
        fibers = self.muscles.fiber_state
        implicit[self.n_tree + fibers[fibers >= 0]] = 1
        p, drive = DrivenTree(tree, self.muscles.drive, implicit), self.muscles.room
        sizes = Sizes(implicit.size, len(self.model.coordinate_names), len(self.model.speed_names))
        driver = Driver(driven_state, lambda model: driven_room(model, drive), p, sizes)
        return _DrivenAhead(driver, self.acting, method, control, self.muscles)

    def whole(self, t: FloatArray, y: FloatArray, guess: FloatArray) -> tuple[FloatArray, FloatArray]:
        return super().whole(t, y[..., : self.n_tree], guess)

    def one(self, t: float, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        return super().one(t, y[: self.n_tree])

    def accept(self, t: float, y: FloatArray, known: Landed | None = None) -> FloatArray:
        return super().accept(t, y[: self.n_tree], known)


class _DrivenAhead(Ahead):
    """Steps of a tree and its muscles; where a path waits for the second pass that is compiled, and they go on."""

    def __init__(self, driver: Driver, acting: Acting, method: str, control: Control, muscles: MuscleForce) -> None:
        # a shorter step leads on where a fiber's equation was not solved
        super().__init__(driver, acting, method, control, retries=True)
        self._muscles = muscles

    def steps(self, t: float, y: FloatArray, f: FloatArray, h: float, end: float) -> list[Landed]:
        found = super().steps(t, y, f, h, end)
        self._muscles.raise_refused()
        if not self._muscles.finished():
            # the same trial again, from where searches for fibers began
            self._muscles.begin_again()
            if not found:
                return super().steps(t, y, f, h, end)
        return found
