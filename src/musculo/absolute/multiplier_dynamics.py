"""Inverse dynamics by Lagrange multipliers: generalized forces and the loads of all joints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, kinematic_analysis
from musculo.absolute.absolute_model import AbsoluteModel, Driven, JointForm, from_model
from musculo.absolute.given_motion import Given
from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import motion_in
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed
from musculo.errors import InvalidInput, SingularSystem, UnknownName
from musculo.model.body import GROUND, Placement
from musculo.model.model import Model
from musculo.results.table import Table
from musculo.spatial.rotation import from_xyz

JointAxes = Literal["jcs", "parent", "child"]


@dataclass(frozen=True, eq=False)
class AbsoluteLoads:
    """Generalized forces and joint loads from multipliers; arrays have the frames first.

    `force` and `moment` are what each joint exerts on the body outboard of it, at the origin of the outboard joint
    frame, in ground, drive included, as `joint_reactions` has them.
    """

    model: Model
    speed_names: tuple[str, ...]
    tau: FloatArray  # (frames, speeds) [N m, N]
    joint_names: tuple[str, ...]
    force: FloatArray  # (frames, joints, 3) [N]
    moment: FloatArray  # (frames, joints, 3) [N m]
    analysis: AbsoluteAnalysis

    def __repr__(self) -> str:
        return f"AbsoluteLoads({len(self.tau)} frames, {len(self.speed_names)} speeds, {len(self.joint_names)} joints)"

    def in_joint_axes(self, axes: JointAxes = "jcs") -> tuple[FloatArray, FloatArray]:
        """Force and moment (frames, joints, 3) of the proximal segment (the joint's parent) on the distal one.

        They act at the origin of the joint's frame on the distal segment (the child). With "jcs" they are projections
        (scalar products) on the axes of the joint coordinate system, which need not be at right angles: e1 the z axis
        of the joint's frame on the parent, e3 the y axis of that on the child, and the floating axis e2 = e3 x e1;
        "parent" and "child" have the axes of these frames.

        Source: the ISB's recommendations, Wu2002 and Wu2005 for the axes, Derrick2020 for what acts on what, as
                Antunes2025 cites them.
        """
        if axes not in ("jcs", "parent", "child"):
            raise InvalidInput(f"axes is {axes!r}; give 'jcs', 'parent' or 'child'")
        force, moment = np.array(self.force), np.array(self.moment)
        for k, joint in enumerate(self.model.joints):
            R_p, p_p = self._frame(joint.parent)
            R_c, p_c = self._frame(joint.child)
            if self.analysis.mechanism.loads[k].at.body != joint.child.body:
                # the parent is outboard: what acts on the child is the opposite, at the child's frame
                force[:, k] *= -1.0
                moment[:, k] = -moment[:, k] + np.cross(p_p - p_c, force[:, k])
            basis = np.swapaxes(R_p if axes == "parent" else R_c, 1, 2)
            if axes == "jcs":
                e1, e3 = R_p[:, :, 2], R_c[:, :, 1]
                e2 = np.cross(e3, e1)
                size = np.linalg.norm(e2, axis=1, keepdims=True)
                e2 = np.divide(e2, size, out=np.full_like(e2, np.nan), where=size > 1e-12)
                basis = np.stack([e1, e2, e3], axis=1)
            force[:, k] = np.einsum("fij,fj->fi", basis, force[:, k])
            moment[:, k] = np.einsum("fij,fj->fi", basis, moment[:, k])
        return force, moment

    def _frame(self, place: Placement) -> tuple[FloatArray, FloatArray]:
        """Rotation and place over frames of a placement on a body."""
        frames = len(self.tau)
        own, origin = from_xyz(place.orientation), np.asarray(place.translation, dtype=float)
        if place.body == GROUND:
            return np.broadcast_to(own, (frames, 3, 3)), np.broadcast_to(origin, (frames, 3))
        R = self.analysis.rotation(place.body)
        return R @ own, self.analysis.place(place.body) + R @ origin

    def of(self, joint: str) -> tuple[FloatArray, FloatArray]:
        """(force, moment) of one joint."""
        if joint not in self.joint_names:
            raise UnknownName("joint", joint, self.joint_names)
        k = self.joint_names.index(joint)
        return self.force[:, k], self.moment[:, k]


def loads_by_multipliers(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table,
    loads: Loads = (),
    *,
    driven: Driven = "tree",
    joints: JointForm = "functions",
    threads: int | None = None,
) -> AbsoluteLoads:
    """M a + J^T lambda = g solved for lambda, where drivers make the bodies move as (q, u, udot) say.

    With `driven="independent"` the other coordinates follow from the constraints, and their columns only say where the
    search for positions starts.

    Source: Antunes2025 eq. 4, 5; where equations repeat each other, the shortest lambda.

    Args:
        model: the model.
        q, u, udot: (frames, n), (frames, n_u), (frames, n_u) or single frames, of all coordinates in file order.
        loads: external loads.
        driven, joints: as in `from_model`.
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: constraints that no position satisfies; names them.
        SingularSystem: equations that do not determine the motion; names what is free.
    """
    Q, U, A, _ = motion_in(model, q, u, udot)
    system = from_model(model, driven=driven, joints=joints)
    given, coordinates = system.given(Q, U, A), system.coordinates(Q)
    forces = body_forces(system, listed(loads, len(Q)), given, coordinates, len(Q), threads)
    found = kinematic_analysis(
        system.mechanism, given, coordinates=coordinates, forces=forces, loads=True, threads=threads
    )
    refuse(found)
    tau = system.generalized_forces(found.multipliers, found.load_force, found.load_moment)
    n = len(model.joint_names)
    return AbsoluteLoads(
        model,
        system.speed_names,
        tau,
        model.joint_names,
        found.load_force[:, :n],
        found.load_moment[:, :n],
        found,
    )


def refuse(found: AbsoluteAnalysis) -> None:
    """Refuse an analysis with frames that have no position."""
    if found.found:
        return
    d = found.diagnosis
    if d.free:
        raise SingularSystem(str(d))
    raise InvalidInput(f"positions that satisfy the constraints are not found: {d}")


def body_forces(
    system: AbsoluteModel,
    loads: Sequence[ExternalLoad],
    given: Mapping[str, Given],
    coordinates: FloatArray,
    frames: int,
    threads: int | None,
) -> FloatArray | None:
    """(frames, n_unknowns): of each body force, and moment about ground's origin, in ground; None without loads."""
    if not loads:
        return None
    poses: AbsoluteAnalysis | None = None
    in_ground = []
    for load in loads:
        if load.force_in != GROUND or load.point_in != GROUND:
            if poses is None:
                poses = kinematic_analysis(system.mechanism, given, coordinates=coordinates, threads=threads)
            force, point, moment = (
                np.broadcast_to(np.asarray(x, dtype=float), (frames, 3)) for x in (load.force, load.point, load.moment)
            )
            R, _ = _frame_pose(system, poses, load.force_in)
            force, moment = np.einsum("fij,fj->fi", R, force), np.einsum("fij,fj->fi", R, moment)
            R, p = _frame_pose(system, poses, load.point_in)
            load = ExternalLoad(load.body, force, p + np.einsum("fij,fj->fi", R, point), moment, source=load.source)
        in_ground.append(load)
    return system.mechanism.forces(in_ground, frames)


def _frame_pose(system: AbsoluteModel, found: AbsoluteAnalysis, name: str) -> tuple[FloatArray, FloatArray]:
    """Rotation and place over frames of any frame of the model."""
    frames = len(found.x)
    place = system.model.placement(name)
    own, origin = from_xyz(place.orientation), np.asarray(place.translation, dtype=float)
    if place.body == GROUND:
        return np.broadcast_to(own, (frames, 3, 3)), np.broadcast_to(origin, (frames, 3))
    R = found.rotation(place.body)
    return R @ own, found.place(place.body) + R @ origin
