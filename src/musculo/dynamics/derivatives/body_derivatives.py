"""First and second derivatives of the pose of every body by the independent coordinates: D and D' of Ehsani2023.

With A_4 the pose of body i in ground as a 4 by 4 matrix and B = A_4^T,

    D = dB/dq   (4 n, 4),      D' = d2B/dq2   (4 n^2, 4)

in the sense of `musculo.spatial.matrix_calculus`, by recursion from a body to the next (eq. 74, 89) or in closed form
from all joints between ground and the body (eq. 75, 99). Both are here because the paper teaches with them and because
they check the kernels by another road; the kernels are faster by orders of magnitude.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.dynamics.derivatives.elementary_joints import (
    ElementaryPoses,
    ElementaryTree,
    elementary_poses,
    elementary_tree,
    moves_by_itself,
)
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import Embedding, embedding_of, times_of
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import GROUND
from musculo.model.model import Model

DerivativeMethod = Literal["closed-form", "recursion"]
# Bytes that second derivatives of some frames may take at a time.
_MEMORY = 64e6


class FrameDerivatives(NamedTuple):
    """Pose of one frame and its derivatives over frames of time: D[(a, r), b] = dA_ba/dq_r, as (.., a, r, b)."""

    A: FloatArray  # (frames, 4, 4)
    D: FloatArray  # (frames, 4, n, 4)
    D2: FloatArray  # (frames, 4, n, n, 4)


def _transformed(K: FloatArray, X: FloatArray) -> FloatArray:
    """(K^T (x) I) X: the first axis of X (frames, 4, ...) through K (frames, 4, 4) or (4, 4)."""
    flat = X.reshape(len(X), 4, -1)
    return (np.swapaxes(K, -1, -2) @ flat).reshape(X.shape)


def by_recursion(tree: ElementaryTree, x: ElementaryPoses) -> Iterator[FrameDerivatives]:
    """Derivatives of every elementary frame, from its parent's.

        D_i  = W_ii^T (x) grad f_i + (A_4^T (x) I) D_p                                          W_ii = A_i A^_i
        D'_i = (A^_i^T (x) U) (D_i (x) grad f_i) + W_ii^T (x) vec(H_i)
               + ((A^_i^T A_4^T) (x) I (x) grad f_i) D_p + (A_4^T (x) I) D'_p

    Source:  [Ehsani2023], eq. 74 and 89; A_4 is the pose of frame i in that of its parent p.
    Departs: the third term of eq. 89 (and 88) prints W_ii^T where A^_i^T A_4^T stands.
    """
    frames, n = len(x.A), x.gradient.shape[2]
    found: list[FrameDerivatives] = []
    ground = FrameDerivatives(
        np.tile(np.eye(4), (frames, 1, 1)), np.zeros((frames, 4, n, 4)), np.zeros((frames, 4, n, n, 4))
    )
    for i, parent in enumerate(tree.parent):
        before = ground if parent < 0 else found[parent]
        K, g, H = tree.joint_matrix[i], x.gradient[:, i], x.hessian[:, i]
        WT = np.swapaxes(x.A[:, i] @ K, 1, 2)
        D = WT[:, :, None, :] * g[:, None, :, None] + _transformed(x.step[:, i], before.D)
        D2 = _transformed(x.step[:, i], before.D2)
        D2 += WT[:, :, None, None, :] * H[:, None, :, :, None]
        D2 += g[:, None, :, None, None] * _transformed(K, D)[:, :, None]
        D2 += g[:, None, None, :, None] * _transformed(x.step[:, i] @ K, before.D)[:, :, :, None]
        found.append(FrameDerivatives(x.A[:, i], D, D2))
        yield found[-1]


def in_closed_form(tree: ElementaryTree, x: ElementaryPoses, wanted: Sequence[int]) -> Iterator[FrameDerivatives]:
    """Derivatives of the wanted elementary frames, each from all joints above it.

        D_i  = sum_j W_ji^T (x) grad f_j,                     W_ji = A_j A^_j A(j to i)
        D'_i = sum_j sum_s W_sji^T (x) grad f_j (x) grad f_s + sum_j W_ji^T (x) vec(H_j)

    where W_sji = W_js A^_s A(s to i) for s outboard of j and W_sj A^_j A(j to i) else, j and s over i and its
    ancestors. With S_j = A_j A^_j A_j^-1 these are W_ji = S_j A_i and W_sji = S_a S_b A_i, a the inboard one of j, s.

    Source:  [Ehsani2023], eq. 75, 76 and 99.
    Departs: eq. 90 prints H_i for H_j; eq. 96 to 98 have one product too many where s is outboard of j.
    """
    inverse = np.swapaxes(x.A, 2, 3).copy()
    inverse[:, :, 3, :3] = 0.0
    inverse[:, :, :3, 3] = -(inverse[:, :, :3, :3] @ x.A[:, :, :3, 3:])[..., 0]
    S = x.A @ tree.joint_matrix @ inverse
    frames, n = len(x.A), x.gradient.shape[2]
    for i in wanted:
        chain = tree.above(i)
        k, A_i, g = len(chain), x.A[:, i], np.swapaxes(x.gradient[:, chain], 1, 2)
        W = S[:, chain] @ A_i[:, None]
        D = (g @ np.swapaxes(W, 2, 3).reshape(frames, k, 16)).reshape(frames, n, 4, 4)
        pairs = S[:, chain][:, :, None] @ W[:, None]  # (frames, a, b, 4, 4), right for a inboard of b
        low = np.tril_indices(k, -1)
        pairs[:, low[0], low[1]] = pairs[:, low[1], low[0]]
        rows = np.swapaxes(pairs, 3, 4).reshape(frames, k, k * 16)
        half = (g @ rows).reshape(frames, n, k, 16)
        D2 = (g[:, None] @ half).reshape(frames, n, n, 4, 4)
        H = x.hessian[:, chain].reshape(frames, k, n * n)
        bent = np.swapaxes(H, 1, 2) @ np.swapaxes(W, 2, 3).reshape(frames, k, 16)
        D2 += bent.reshape(frames, n, n, 4, 4)
        yield FrameDerivatives(A_i, np.moveaxis(D, 2, 1), np.moveaxis(D2, 3, 1))


def node_derivatives(
    tree: ElementaryTree, e: Embedding, Q: FloatArray, time: FloatArray, nodes: Sequence[int], method: DerivativeMethod
) -> Iterator[tuple[int, FrameDerivatives]]:
    """Number and derivatives of the wanted nodes of the compiled model, which lie outside ground."""
    x = elementary_poses(tree, e, Q, time)
    if method == "closed-form":
        yield from zip(nodes, in_closed_form(tree, x, [tree.node_frame[k] for k in nodes]), strict=True)
        return
    at: dict[int, list[int]] = {}
    for node in nodes:
        at.setdefault(tree.node_frame[node], []).append(node)
    for frame, found in enumerate(by_recursion(tree, x)):
        for node in at.get(frame, ()):
            yield node, found


def frames_at_a_time(tree: ElementaryTree, n: int) -> int:
    """How many frames of time are worked on together, so that memory stays bounded."""
    return max(1, int(_MEMORY / (8.0 * 16.0 * n * n * max(len(tree.parent), 1) + 1.0)))


def checked(
    model: Model, q: ArrayLike, time: ArrayLike, method: str, embedding: Embedding | None
) -> tuple[FloatArray, FloatArray, bool, Embedding]:
    """Coordinates, times, whether a single frame was given, and the embedding, all refused where they do not fit."""
    if method not in get_args(DerivativeMethod):
        raise InvalidInput(f"method={method!r}; known: {', '.join(get_args(DerivativeMethod))}")
    Q, single = coordinates_of(model, q)
    compiled(model).check_coordinates(Q)
    e = embedding_of(model) if embedding is None else embedding
    if e.model is not model:
        raise InvalidInput("embedding belongs to another model; make it with embedding_of(model, ...)")
    refuse_carried(e.unsolved)
    times = times_of(time, len(Q))
    e.check(Q, times)
    return Q, times, single, e


@dataclass(frozen=True, eq=False)
class BodyDerivatives:
    """Poses of bodies in ground with first and second derivatives; arrays have the frames first, unless one was given.

    `coordinate_names` are the n independent coordinates, and "time" as the last where a motion is prescribed.
    """

    body_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    A: FloatArray = field(repr=False)  # (frames, bodies, 4, 4)
    D: FloatArray = field(repr=False)  # (frames, bodies, 4 n, 4)
    D2: FloatArray = field(repr=False)  # (frames, bodies, 4 n^2, 4)

    def _body(self, name: str) -> int:
        if name not in self.body_names:
            raise UnknownName("body", name, self.body_names)
        return self.body_names.index(name)

    def velocity(self, body: str, point: ArrayLike, rates: ArrayLike) -> FloatArray:
        """Velocity (frames, 3) of a point of a body, at rates (frames, n) of the coordinates.

            v = D^T ((r, 1) (x) qdot)

        Source: [Ehsani2023], eq. 44.
        """
        r, qdot, k = np.append(np.asarray(point, dtype=float), 1.0), np.asarray(rates, dtype=float), self._body(body)
        x = np.einsum("a,...r->...ar", r, qdot)
        return np.einsum("...xb,...x->...b", self.D[..., k, :, :3], x.reshape(*x.shape[:-2], -1))

    def acceleration(self, body: str, point: ArrayLike, rates: ArrayLike, second: ArrayLike) -> FloatArray:
        """Acceleration (frames, 3) of a point of a body, at rates and second derivatives (frames, n).

            a = D'^T ((r, 1) (x) qdot (x) qdot) + D^T ((r, 1) (x) qddot)

        Source:  [Ehsani2023], eq. 57.
        Departs: the printed second term has a prime too many.
        """
        r, qdot, k = np.append(np.asarray(point, dtype=float), 1.0), np.asarray(rates, dtype=float), self._body(body)
        x = np.einsum("a,...r,...s->...ars", r, qdot, qdot)
        bent = np.einsum("...xb,...x->...b", self.D2[..., k, :, :3], x.reshape(*x.shape[:-3], -1))
        return bent + self.velocity(body, point, second)


def body_derivatives(
    model: Model,
    q: ArrayLike,
    bodies: str | Sequence[str] | None = None,
    *,
    method: DerivativeMethod = "closed-form",
    time: ArrayLike = 0.0,
    embedding: Embedding | None = None,
) -> BodyDerivatives:
    """D and D' of bodies: how their poses change with the independent coordinates, to second order.

    Couplers, locks, prescribed motions and closed loops are in the gradient and Hessian of the joint variables, so
    nothing is constrained any more. Second derivatives take 128 n^2 bytes a body and frame.

    Source: [Ehsani2023], section 2-3.

    Args:
        model: the model; its joints may be of any kind but those with quaternions.
        q: (frames, n_q) or (n_q,) coordinates of all the file [rad, m]; they satisfy what is enforced.
        bodies: names; all bodies by default.
        method: "closed-form" (eq. 75, 99) or "recursion" (eq. 74, 89); they agree to rounding.
        time: (frames,) or a number, for prescribed motion [s].
        embedding: which coordinates are independent, and how loops are differentiated; `embedding_of(model)` by
            default.
    """
    Q, times, single, e = checked(model, q, time, method, embedding)
    tree, c = elementary_tree(model), compiled(model)
    names = (bodies,) if isinstance(bodies, str) else tuple(model.body_names if bodies is None else bodies)
    for name in names:
        if name not in c.body_node or name == GROUND:
            raise UnknownName("body", name, model.body_names)
    coordinates = names_of(e)
    frames, n = len(Q), len(coordinates)
    A = np.tile(np.eye(4), (frames, len(names), 1, 1))
    D, D2 = np.zeros((frames, len(names), 4 * n, 4)), np.zeros((frames, len(names), 4 * n * n, 4))
    nodes = sorted({c.body_node[name] for name in names} - {0})
    step = frames_at_a_time(tree, n)
    for start in range(0, frames, step):
        now = slice(start, start + step)
        found = dict(node_derivatives(tree, e, Q[now], times[now], nodes, method))
        for k, name in enumerate(names):
            X = np.eye(4)
            X[:3, :3], X[:3, 3] = c.body_pose[name].R, c.body_pose[name].p
            at = found.get(c.body_node[name])
            if at is None:
                A[now, k] = X
                continue
            A[now, k] = at.A @ X
            D[now, k] = _transformed(X, at.D).reshape(len(at.A), 4 * n, 4)
            D2[now, k] = _transformed(X, at.D2).reshape(len(at.A), 4 * n * n, 4)
    parts = (part[0] if single else part for part in (A, D, D2))
    return BodyDerivatives(names, coordinates, *parts)


def names_of(e: Embedding) -> tuple[str, ...]:
    """The coordinates that derivatives are by."""
    return (*e.coordinate_names, "time") if moves_by_itself(e) else e.coordinate_names
