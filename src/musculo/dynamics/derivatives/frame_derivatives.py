"""Exact derivatives of inverse dynamics by where joints sit on their bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.derivatives.dynamics_derivatives import inverse_dynamics_derivatives
from musculo.dynamics.loads.external import Loads, listed, part
from musculo.embedding.embedding import times_of
from musculo.functions import Linear
from musculo.model.body import Body, Placement, Vec3
from musculo.model.coordinate import Coordinate
from musculo.model.joints import Axis, CustomJoint
from musculo.model.model import Model
from musculo.results.table import Table

# Bytes that derivatives of the longer model may take at a time.
_MEMORY = 64e6
_AXES: tuple[Vec3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True, eq=False)
class JointFrameDerivatives:
    """Derivatives of generalized forces by joint frames; arrays have no frame axis for a single state.

    The last axis is that of a `Placement`: translation x, y, z in the axes of the body [m], then the body-fixed x, y, z
    angles of its orientation [rad].
    """

    joint_names: tuple[str, ...]
    speed_names: tuple[str, ...]
    dtau_dparent: FloatArray = field(repr=False)  # (frames, n_u, joints, 6)
    dtau_dchild: FloatArray = field(repr=False)  # (frames, n_u, joints, 6)


def joint_frame_derivatives(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    *,
    joints: str | Sequence[str] | None = None,
    loads: Loads = (),
    time: ArrayLike = 0.0,
    threads: int | None = None,
) -> JointFrameDerivatives:
    """d(tau)/d(placement) of joints in their parents and children, exact, for one state or many.

    A placement X_BF = (Rxyz(orientation), translation) is a joint of six coordinates that does not move. So a model in
    which it is one has these derivatives among its d(tau)/dq: no formula of its own is needed.

    Guarantees: as `inverse_dynamics_derivatives`, for every joint, forwards and reversed.

    Args:
        model: the model.
        q, u, udot: (frames, n) or (n,) coordinates, speeds and accelerations, as `inverse_dynamics` has them.
        joints: which, by name; all by default. Each takes the time of `inverse_dynamics_derivatives`.
        loads: external loads; given in the frame of a joint they move with it.
        time: (frames,) or a number, for loads over time [s].
        threads: the number of threads; all cores by default.

    Raises:
        UnknownName, InvalidInput: names or arrays that do not fit.
    """
    Q, U, A, single = motion_in(model, q, u, udot)
    frames, n = len(Q), U.shape[1]
    times = times_of(time, frames)
    external = listed(loads, frames, times if np.ndim(time) else None)
    names = model.joint_names if joints is None else (joints,) if isinstance(joints, str) else tuple(joints)
    found = np.zeros((2, frames, n, len(names), 6))
    for k, name in enumerate(names):
        longer = _with_movable_frames(model, name)
        joint = model.joint(name)
        at = [value for place in (joint.parent, joint.child) for value in (*place.translation, *place.orientation)]
        own = [longer.speed_index(x) for x in model.speed_names]
        columns = [longer.coordinate_index(x) for x in _names(name)]
        x = np.zeros((frames, len(longer.coordinate_names)))
        x[:, [longer.coordinate_index(c) for c in model.coordinate_names]] = Q
        x[:, columns] = at
        v, a = np.zeros((2, frames, len(longer.speed_names)))
        v[:, own], a[:, own] = U, A
        step = max(1, int(_MEMORY / (24.0 * x.shape[1] ** 2)))
        for start in range(0, frames, step):
            some = slice(start, min(start + step, frames))
            here = [part(load, some.start, some.stop) for load in external]
            d = inverse_dynamics_derivatives(longer, x[some], v[some], a[some], loads=here, threads=threads)
            slopes = d.dtau_dq[:, own][:, :, columns]
            found[0, some, :, k], found[1, some, :, k] = slopes[:, :, :6], slopes[:, :, 6:]
    if single:
        found = found[:, 0]
    return JointFrameDerivatives(tuple(names), model.speed_names, found[0], found[1])


def _names(joint: str) -> list[str]:
    """Coordinates of the frames of a joint in the longer model: in its parent, then in its child."""
    return [f"{side} frame of {joint}: {k}" for side in ("parent", "child") for k in ("x", "y", "z", "a", "b", "c")]


def _with_movable_frames(model: Model, name: str) -> Model:
    """The model with both frames of a joint on bodies of their own, without mass, on joints of six coordinates."""

    def made() -> Model:
        joint, names = model.joint(name), _names(name)
        bodies, joints, places = list(model.bodies), [], []
        for k, place in enumerate((joint.parent, joint.child)):
            body = f"{('parent', 'child')[k]} frame of {name}"
            mine = names[6 * k : 6 * k + 6]
            axes = [Axis(axis, Linear(1.0, 0.0), (c,)) for axis, c in zip(2 * _AXES, mine, strict=True)]
            ends, coordinates = (Placement(place.body), Placement(body)), tuple(map(Coordinate, mine))
            turns, moves = tuple(axes[3:]), tuple(axes[:3])
            joints.append(CustomJoint(f"{body} on it", *ends, coordinates, rotations=turns, translations=moves))
            bodies.append(Body(body, 0.0))
            places.append(Placement(body, name=place.name))
        changed = replace(joint, parent=places[0], child=places[1])
        others = tuple(changed if j is joint else j for j in model.joints)
        return model.replace(bodies=tuple(bodies), joints=(*others, *joints))

    found: Model = model.derived(("movable frames", name), made)
    return found
