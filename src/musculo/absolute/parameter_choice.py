"""Which Euler parameters to prescribe at a joint: the rule of the paper, checked by what it leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from musculo.absolute.drivers.euler_driver import E0, E1, E2, E3, FourVector
from musculo.absolute.euler_parameters import product
from musculo.absolute.given_motion import GivenOrientation
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, warn
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS

PARAMETERS: tuple[FourVector, ...] = (E0, E1, E2, E3)
# The gradient of the best choice is 1/2; a driver with less than this of it loses digits, and misses what the joint
# cannot follow by 1 over this part: 5 degrees for each degree. A tenth is 168.5 degrees of a hinge.
WEAK = 0.1
# A parameter that is this part of the dominating one might as well be chosen.
_AMBIGUOUS = 0.7


@dataclass(frozen=True)
class ParameterChoice:
    """Which Euler parameters a driver prescribes, and how well they do."""

    vectors: tuple[FourVector, ...]
    regularity: float  # the smallest over frames, as a part of what the best driver has; 0 loses the motion
    frame: int  # where it is smallest
    reasons: tuple[str, ...]  # why the choice is ambiguous or fails; empty where it is good

    @property
    def names(self) -> tuple[str, ...]:
        """e0, e1, e2, e3, where the vectors are these."""
        return tuple(f"e{PARAMETERS.index(v)}" if v in PARAMETERS else str(v) for v in self.vectors)

    @property
    def good(self) -> bool:
        """Whether nothing speaks against it."""
        return not self.reasons


def regularity(given: GivenOrientation, vectors: Sequence[FourVector], axes: Sequence[Vec3]) -> FloatArray:
    """(frames,) how well prescribing v . p determines the rotations about the joint's axes: 1 at best, 0 not at all.

    The smallest singular value of v . dp/dphi_a = v . (p (0, a)) / 2 by axes a of the moving frame, times two.
    For `E3` and a hinge about z it is |cos(phi/2)|: what Antunes2025 leaves out is that it vanishes at half a turn.
    """
    if len(vectors) < len(axes):
        return np.zeros(given.frames)
    tangents = [product(given.parameters, np.broadcast_to((0.0, *a), given.parameters.shape)) for a in axes]
    M = np.einsum("vi,afi->fva", np.asarray(vectors, dtype=float), np.stack(tangents))
    return np.asarray(np.linalg.svd(M, compute_uv=False)[:, -1])


def choose_parameters(
    given: GivenOrientation, axes: Sequence[Vec3] = (X_AXIS, Y_AXIS, Z_AXIS), *, silent: bool = False
) -> ParameterChoice:
    """The relative Euler parameters to prescribe at a joint, by the rule of table 1.

    A joint with one or two axes: those of e1, e2, e3 that dominate in magnitude through its range of motion. A
    spherical joint: e1, e2 and e3, since with e0 among them the sign of the one that is missing is open (figure 6).

    Source:  Antunes2025, table 1 and section 5.1.1.
    Departs: the choice is checked by its gradient (`regularity`), which also finds figures 5 and 6. Where it is weak
             or ambiguous a `MusculoWarning` says why; `TangentDriver` needs no choice.

    Args:
        given: the motion of the second frame relative to the first.
        axes: about which the joint turns, in the moving frame; three for a spherical joint.
        silent: whether no warning is given.
    """
    n = len(axes)
    if not isinstance(given, GivenOrientation):
        raise InvalidInput("give the motion as GivenOrientation.of(parameters) or GivenOrientation.about(axis, angle)")
    if n not in (1, 2, 3):
        raise InvalidInput(f"a joint turns about one, two or three axes, not {n}")
    size = np.sqrt(np.mean(given.parameters[:, 1:] ** 2, axis=0))
    order = np.argsort(-size, kind="stable")
    chosen = sorted(int(k) for k in order[:n])
    found = judge_parameters(given, tuple(PARAMETERS[1 + k] for k in chosen), axes)
    reasons = list(found.reasons)
    if n < 3 and size[order[n]] > _AMBIGUOUS * size[order[n - 1]]:
        reasons.insert(
            0,
            f"e{order[n - 1] + 1} and e{order[n] + 1} are of like size ({size[order[n - 1]]:.2g} and "
            f"{size[order[n]]:.2g}), so that neither dominates",
        )
    result = ParameterChoice(found.vectors, found.regularity, found.frame, tuple(reasons))
    if reasons and not silent:
        warn(f"Euler parameters {', '.join(result.names)} are prescribed, but {'; '.join(reasons)}")
    return result


def judge_parameters(
    given: GivenOrientation, vectors: Sequence[FourVector], axes: Sequence[Vec3] = (X_AXIS, Y_AXIS, Z_AXIS)
) -> ParameterChoice:
    """How well a choice of Euler parameters drives a motion, and where it fails; `axes` as in `choose_parameters`."""
    amount = regularity(given, vectors, axes)
    k = int(np.argmin(amount))
    reasons: list[str] = []
    if amount[k] < WEAK:
        turn = 2.0 * np.degrees(np.arccos(np.clip(abs(given.parameters[k, 0]), 0.0, 1.0)))
        reasons.append(
            f"at frame {k}, {turn:.1f} degrees of relative rotation, their gradient is {amount[k]:.2g} of the best: "
            "small inconsistencies become large angles there, and at zero the motion is lost; use a TangentDriver, or "
            "frames in which the motion stays short of half a turn"
        )
    signs = [v for v in vectors if v != E0]
    if E0 in vectors and len(signs) < len(axes):
        free = np.sign(given.parameters[:, 1:])
        turned = [f"e{i + 1}" for i in range(3) if PARAMETERS[1 + i] not in vectors and np.ptp(free[:, i]) > 1.0]
        if turned:
            reasons.append(
                f"{turned[0]} changes sign and is not prescribed: e0, a cosine, does not tell the sign, and the motion "
                "turns back where it should pass zero"
            )
    return ParameterChoice(tuple(vectors), float(amount[k]), k, tuple(reasons))
