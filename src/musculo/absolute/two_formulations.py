"""Whether both formulations give the same loads: the recursion on the tree, and absolute coordinates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from musculo.absolute.multiplier_dynamics import AbsoluteLoads, loads_by_multipliers
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.inverse import transmitted_loads
from musculo.dynamics.loads.external import Loads, listed, node_wrenches
from musculo.dynamics.poses import kinematics
from musculo.model.model import Model
from musculo.results.table import Table

# Both are O(n) in float64: only rounding remains. What is above this is a defect, not rounding.
AGREED = 1e-9


@dataclass(frozen=True)
class Agreement:
    """The largest differences of two formulations, as parts of the largest value of each kind."""

    moments: float  # of generalized forces
    forces: float  # of forces in joints
    joint_moments: float  # of moments in joints
    frames: int
    worst: str  # the speed or joint where they differ most

    @property
    def difference(self) -> float:
        """The largest of all."""
        return max(self.moments, self.forces, self.joint_moments)

    @property
    def agree(self) -> bool:
        """Whether only rounding is between them."""
        return bool(self.difference <= AGREED)

    def __str__(self) -> str:
        if self.agree:
            return (
                f"both formulations agree to {self.difference:.0e} (recursion and absolute coordinates: generalized "
                f"forces and loads of all joints, {self.frames} frames)"
            )
        return (
            f"the two formulations differ by {self.difference:.2g} of the largest value, most at {self.worst!r} "
            f"(recursion and absolute coordinates, {self.frames} frames): one of them is wrong"
        )


def agreement(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    *,
    threads: int | None = None,
) -> Agreement:
    """Compute a motion's loads by the recursion and in absolute coordinates, and compare them.

    The two share functions of coordinates and nothing of mechanics: the second has a position and Euler parameters for
    each body, joints as equations, and loads as Lagrange multipliers. Constraints of the model are ignored in both, as
    in OpenSim's inverse dynamics.

    Args: as `musculo.inverse_dynamics`.
    """
    Q, U, A, _ = motion_in(model, q, u, udot)
    acting = listed(loads, len(Q))
    absolute = loads_by_multipliers(model, Q, U, A, acting, threads=threads)
    wrenches = (
        node_wrenches(compiled(model, merged=False), acting, len(Q), lambda: kinematics(model, Q, threads=threads))
        if acting
        else None
    )
    carried = transmitted_loads(model, Q, U, A, wrenches, threads)
    return _compared(model, absolute, carried.tau, carried.force, carried.moment)


def _compared(
    model: Model, absolute: AbsoluteLoads, tau: FloatArray, force: FloatArray, moment: FloatArray
) -> Agreement:
    parts = (
        (absolute.tau, tau, absolute.speed_names),
        (absolute.force, force, model.joint_names),
        (absolute.moment, moment, model.joint_names),
    )
    found, worst = [], ("", -1.0)
    for ours, theirs, names in parts:
        scale = max(float(np.abs(theirs).max(initial=0.0)), np.finfo(float).tiny)
        apart = np.abs(ours - theirs) / scale
        found.append(float(apart.max(initial=0.0)))
        if apart.size and found[-1] > worst[1]:
            worst = (names[int(np.unravel_index(int(np.argmax(apart)), apart.shape)[1])], found[-1])
    return Agreement(found[0], found[1], found[2], len(tau), worst[0])
