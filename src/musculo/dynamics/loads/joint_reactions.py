"""What each joint transmits during a motion, loads of closed loops included."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.inverse import transmitted_loads
from musculo.dynamics.loads.external import Loads, listed, node_wrenches
from musculo.dynamics.loads.loop_loads import closes_loops, loop_loads
from musculo.dynamics.poses import kinematics
from musculo.errors import UnknownName
from musculo.model.model import Model
from musculo.results.table import Table


@dataclass(frozen=True, eq=False)
class JointReactions:
    """What each joint transmits, and the generalized forces beside it.

    `force` and `moment` are (frames, joints, 3) or (joints, 3): the load that the joint exerts on the body outboard of
    it, at the origin of the outboard joint frame, expressed in ground [N, N m].
    """

    joint_names: tuple[str, ...]
    force: FloatArray
    moment: FloatArray
    tau: FloatArray  # (frames, n_u) or (n_u,); where loops are closed, of the independent coordinates alone
    point: FloatArray = field(repr=False)

    def of(self, joint: str) -> tuple[FloatArray, FloatArray]:
        """(force, moment) of one joint."""
        if joint not in self.joint_names:
            raise UnknownName("joint", joint, self.joint_names)
        k = self.joint_names.index(joint)
        return self.force[..., k, :], self.moment[..., k, :]


def joint_reactions(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    *,
    threads: int | None = None,
) -> JointReactions:
    """The whole load that each joint transmits during a motion, welds included.

    It is the load of the recursion: all that the joint must carry, drive included (there are no muscles in it; see
    `joint_loads` for those). Where loops are closed, the independent coordinates of `embedding_of(model)` are driven
    and the others are not, which decides what constraints carry (`musculo.dynamics.loads.loop_loads`).

    Args: as `inverse_dynamics`.

    Raises:
        InvalidInput: arrays that do not fit, or loops that are not closed.
        Unsupported: a constraint that musculo cannot compute.
    """
    Q, U, A, single = motion_in(model, q, u, udot)
    compiled(model).check_coordinates(Q)
    acting = listed(loads, len(Q))
    if closes_loops(model):
        reactions = loop_loads(model, Q, U, A, np.zeros_like(U), acting, threads=threads)
        acting = [*acting, *(load for one in reactions.values() for load in one.loads())]
    wrenches = (
        node_wrenches(compiled(model, merged=False), acting, len(Q), lambda: kinematics(model, Q, threads=threads))
        if acting
        else None
    )
    carried = transmitted_loads(model, Q, U, A, wrenches, threads)
    parts = (carried.force, carried.moment, carried.tau, carried.point)
    return JointReactions(model.joint_names, *(part[0] if single else part for part in parts))
