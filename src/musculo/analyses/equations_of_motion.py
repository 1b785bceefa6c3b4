"""The equations of motion of a model as matrices, by the road of Ehsani2023: from D and D' of every body.

    M(q) qddot + C(q, qdot) qdot = G(q) + R(q) F

with q the independent coordinates and F the forces of muscles. To compute motions use `forward_dynamics`, which is
faster by orders of magnitude; this is for those who want to see the terms, to teach with them, or to check.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import speeds_of
from musculo.compile.frame_arrays import same_frames
from musculo.dynamics.derivatives.body_derivatives import (
    DerivativeMethod,
    FrameDerivatives,
    checked,
    frames_at_a_time,
    names_of,
    node_derivatives,
)
from musculo.dynamics.derivatives.elementary_joints import (
    ElementaryTree,
    coordinate_derivatives,
    elementary_tree,
    moves_by_itself,
)
from musculo.dynamics.poses import kinematics
from musculo.embedding.embedding import Embedding
from musculo.embedding.speed_rates import coordinate_rates
from musculo.errors import InvalidInput, SingularSystem
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.model.model_path import MovingPathPoint
from musculo.muscle.path_loads.path_wrenches import PathWrenches, path_wrenches
from musculo.results.result_base import Result, Series


@dataclass(frozen=True, eq=False, repr=False)
class EquationsOfMotion(Result):
    """M qddot + C qdot + drive = G + R F over frames, in the independent coordinates and their derivatives.

    Arrays have the frames first, unless one was given. The rates are derivatives of coordinates also of joints whose
    speeds are an angular velocity (ball, free, ellipsoid): there M is not that of `mass_matrix`, which is per speed.
    """

    made_by: ClassVar[str] = "equations_of_motion"

    coordinate_names: tuple[str, ...]  # the n independent coordinates
    muscle_names: tuple[str, ...]
    rates: FloatArray = field(repr=False)  # (frames, n) qdot
    M: FloatArray = field(repr=False)  # (frames, n, n) mass matrix
    C: FloatArray = field(repr=False)  # (frames, n, n) Coriolis matrix: Mdot = C + C^T
    G: FloatArray = field(repr=False)  # (frames, n) generalized forces of gravity
    R: FloatArray = field(repr=False)  # (frames, n, muscles) moment arms
    drive: FloatArray = field(repr=False)  # (frames, n) what prescribed motions add; zero without them

    def _series(self) -> Iterable[Series]:
        n = {"coordinate": self.coordinate_names}
        square = {**n, "other": self.coordinate_names}
        yield Series("rates", self.rates, n)
        yield Series("M", self.M, square)
        yield Series("C", self.C, square)
        yield Series("G", self.G, n)
        yield Series("R", self.R, {**n, "muscle": self.muscle_names})
        yield Series("drive", self.drive, n)

    def accelerations(self, muscle_forces: ArrayLike | None = None, forces: ArrayLike | None = None) -> FloatArray:
        """qddot (frames, n) under forces of muscles (frames, muscles) and generalized forces (frames, n)."""
        right = self.G - self.drive - (self.C @ self.rates[..., None])[..., 0]
        if muscle_forces is not None:
            F = np.asarray(muscle_forces, dtype=float)
            if F.shape[-1:] != (len(self.muscle_names),):
                raise InvalidInput(
                    f"muscle_forces has shape {F.shape}; it needs {len(self.muscle_names)} columns, one for each muscle"
                )
            right = right + (self.R @ F[..., None])[..., 0]
        if forces is not None:
            right = right + np.asarray(forces, dtype=float)
        try:
            return np.asarray(np.linalg.solve(self.M, right[..., None])[..., 0])
        except np.linalg.LinAlgError:
            raise SingularSystem(
                "the mass matrix is singular: some coordinate moves nothing that has mass; see forward_dynamics, which "
                "names it"
            ) from None


class _Terms(NamedTuple):
    """The whole M, C, G and R of some frames, with time as the last coordinate where motion is prescribed."""

    M: FloatArray
    C: FloatArray
    G: FloatArray
    R: FloatArray


def equations_of_motion(
    model: Model,
    q: ArrayLike,
    u: ArrayLike,
    *,
    method: DerivativeMethod = "closed-form",
    muscles: bool = True,
    time: ArrayLike = 0.0,
    embedding: Embedding | None = None,
) -> EquationsOfMotion:
    """M, C, G and R of the equations of motion, from the derivatives D and D' of every body's pose.

        M_rs = sum_i tr(dA_i/dq_r J_i dA_i/dq_s^T),     C_rs = sum_i sum_t tr(dA_i/dq_r J_i (d2A_i/dq_s dq_t)^T) qdot_t
        G_r  = sum_i (g, 0) dA_i/dq_r (m c, m)_i,       R_rk = sum_i (w_ir . moment_ik + v_ir . force_ik)

    with A_i the pose of body i as a 4 by 4 matrix, J_i its second and first moment of mass and its mass, and w_ir and
    v_ir the turn and the shift of body i for coordinate r, read from dA_i/dq_r A_i^-1.

    Source:     [Ehsani2023], eq. 145, 147, 187, 193 and 198; D and D' as in `body_derivatives`.
    Departs:    traces instead of the Kronecker products of eq. 145 and 147, which have 16 n rows and 16 n^2 columns;
                eq. 147 as corrected (D' in the place of the second D). J holds the second moment of mass (eq. 131
                prints the inertia tensor). Lines of action are taken about ground's origin, in ground. The paper has
                no prescribed motion: time is one coordinate more here, whose rate is one. It has no points that move
                along their body either: what they add to R is that of `muscle_geometry`.
    Guarantees: M and C qdot are those of the recursive kernels, pulled back, to rounding; Mdot = C + C^T.

    Args:
        model: the model; its joints may be of any kind but those with quaternions.
        q: (frames, n_q) or (n_q,) coordinates of all the file [rad, m]; they satisfy what is enforced.
        u: speeds of all the file, likewise; those of the independent coordinates count.
        method: "closed-form" (eq. 75, 99) or "recursion" (eq. 74, 89); they agree to rounding.
        muscles: whether R is wanted.
        time: (frames,) or a number, for prescribed motion [s].
        embedding: which coordinates are independent, and how loops are differentiated; `embedding_of(model)` by
            default.
    """
    Q, times, single, e = checked(model, q, time, method, embedding)
    U, _ = speeds_of(model, u)
    same_frames(q=Q, u=U)
    tree = elementary_tree(model)
    qdot = coordinate_rates(model, Q, U)[:, [model.coordinate_index(name) for name in e.coordinate_names]]
    n, n_all, frames = len(e.coordinate_names), len(names_of(e)), len(Q)
    rates = np.ones((frames, n_all))
    rates[:, :n] = qdot
    names = model.muscle_names if muscles and model.muscles else ()
    step = frames_at_a_time(tree, n_all)
    parts = []
    for start in range(0, max(frames, 1), step):
        now = slice(start, start + step)
        pulls = path_wrenches(model, Q[now]) if names else None
        terms = _terms(model, tree, e, Q[now], rates[now], times[now], method, pulls)
        if pulls is not None:
            terms = terms._replace(R=terms.R + _moving_points(model, e, pulls, Q[now], times[now], n_all))
        parts.append(terms)
    M, C, G, R = (np.concatenate([part[k] for part in parts]) for k in range(4))
    # the column of time, whose rate is one and does not change
    drive = C[:, :n, n] if moves_by_itself(e) else np.zeros((frames, n))
    result = (qdot, M[:, :n, :n], C[:, :n, :n], G[:, :n], R[:, :n], drive)
    arrays = (part[0] if single else part for part in result)
    return EquationsOfMotion(e.coordinate_names, names, *arrays)


def _terms(
    model: Model,
    tree: ElementaryTree,
    e: Embedding,
    Q: FloatArray,
    rates: FloatArray,
    time: FloatArray,
    method: DerivativeMethod,
    pulls: PathWrenches | None,
) -> _Terms:
    c = compiled(model)
    frames, n = rates.shape
    paths = len(model.muscle_names) if pulls is not None else 0
    M, C = np.zeros((frames, n, n)), np.zeros((frames, n, n))
    G, R = np.zeros((frames, n)), np.zeros((frames, n, paths))
    massive = {int(k) for k in np.flatnonzero(c.tree.massless == 0)}
    pulled: dict[int, list[int]] = {}
    if pulls is not None:
        for row, body in enumerate(pulls.row_body):
            pulled.setdefault(c.body_node[pulls.body_names[body]], []).append(row)
    nodes = sorted((massive | set(pulled)) - {0})
    for node, x in node_derivatives(tree, e, Q, time, nodes, method):
        if node in massive:
            J = moments_of_mass(c.tree.inertia[node])
            flat = np.swapaxes(x.D, 1, 2).reshape(frames, n, 16)
            heavy = np.swapaxes((J @ x.D.reshape(frames, 4, n * 4)).reshape(x.D.shape), 1, 2).reshape(frames, n, 16)
            M += heavy @ np.swapaxes(flat, 1, 2)
            bent = np.einsum("fasth,ft->fahs", x.D2, rates, optimize=True)
            C += heavy @ bent.reshape(frames, 16, n)
            G += np.einsum("a,farb,b->fr", J[3], x.D[..., :3], c.tree.gravity, optimize=True)
        if node in pulled and pulls is not None:
            R += _arms(x, pulls, pulled[node], paths)
    return _Terms(M, C, G, R)


def moments_of_mass(inertia: FloatArray) -> FloatArray:
    """J (4, 4) of a body: integral of (r, 1) (r, 1)^T dm, from mass, first moment and tensor about the origin (10,).

    The second moment of mass is half the trace of the inertia tensor times one, less that tensor.

    Source:  [Ehsani2023], eq. 130 and 131.
    Departs: eq. 131 prints the inertia tensor in the place of the second moment of mass.
    """
    m, mx, my, mz, xx, yy, zz, xy, xz, yz = inertia
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    J = np.empty((4, 4))
    J[:3, :3] = 0.5 * np.trace(tensor) * np.eye(3) - tensor
    J[:3, 3] = J[3, :3] = mx, my, mz
    J[3, 3] = m
    return J


def _arms(x: FrameDerivatives, pulls: PathWrenches, rows: list[int], paths: int) -> FloatArray:
    """What one body adds to R (frames, n, paths): the power of unit tension at unit rates."""
    R_t = np.swapaxes(x.A[:, :3, :3], 1, 2)
    slope = np.moveaxis(x.D[..., :3], 1, 3)  # (frames, n, b, a): dA_ba/dq_r
    turn = slope[..., :3] @ R_t[:, None]  # w~
    w = np.stack([turn[..., 2, 1], turn[..., 0, 2], turn[..., 1, 0]], -1)
    # the point of the body that is at ground's origin now
    v = slope[..., 3] - (turn @ x.A[:, None, :3, 3:])[..., 0]
    wrench = pulls.wrench[:, rows]
    power = np.einsum("frb,fkb->frk", np.concatenate([w, v], -1), wrench, optimize=True)
    arms = np.zeros((*power.shape[:2], paths))
    for k, row in enumerate(rows):
        if pulls.row_path[row] < paths:
            arms[:, :, pulls.row_path[row]] += power[:, :, k]
    return arms


def _moving_points(
    model: Model, e: Embedding, pulls: PathWrenches, Q: FloatArray, time: FloatArray, n: int
) -> FloatArray:
    """What points that move along their body, and paths that are functions of coordinates, add to R (frames, n,
    muscles): neither is in what a path does to bodies."""
    R = np.zeros((len(Q), n, len(model.muscle_names)))
    moving = [
        k
        for k, muscle in enumerate(model.muscles)
        if isinstance(muscle.path, FunctionPath)
        or (muscle.path is not None and any(isinstance(point, MovingPathPoint) for point in muscle.path.points))
    ]
    if not moving:
        return R
    motion = kinematics(model, Q)
    power = np.zeros((len(Q), len(moving), len(model.speed_names)))
    for row, (path, body) in enumerate(zip(pulls.row_path, pulls.row_body, strict=True)):
        if path in moving:
            J = motion.frame_jacobian(pulls.body_names[body])
            w, v = J[:, :3], J[:, 3:]
            at_origin = v - np.cross(w, motion.position(pulls.body_names[body])[:, :, None], axisa=1, axisb=1, axisc=1)
            twist = np.concatenate([w, at_origin], axis=1)
            power[:, moving.index(path)] += np.einsum("fbu,fb->fu", twist, pulls.wrench[:, row])
    left = pulls.moment_arm[:, moving] - power
    E = coordinate_derivatives(e, Q, time)[0]
    # a point follows coordinates whose derivatives are speeds
    columns = [model.coordinate_index(name) if name in model.coordinate_names else -1 for name in model.speed_names]
    plain = np.array([k for k, column in enumerate(columns) if column >= 0], dtype=np.int64)
    by_rates = left[:, :, plain] @ E[:, [columns[k] for k in plain]]
    R[:, :, moving] = np.swapaxes(by_rates, 1, 2)
    return R
