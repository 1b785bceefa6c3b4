"""Euler parameters that should not be prescribed: figures 5 and 6 of [Antunes2025], made on purpose and found out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, Status, kinematic_analysis
from musculo.absolute.drivers.euler_driver import E0, E1, E2, E3, FourVector
from musculo.absolute.euler_parameters import rotation_matrix
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import GivenOrientation
from musculo.absolute.parameter_choice import ParameterChoice, choose_parameters, judge_parameters
from musculo.arrays import FloatArray
from musculo.model.body import Vec3
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS
from musculo.replications.drivers.driven_human import assembled, driven_human
from musculo.replications.drivers.human import LOWER_BODY, Human, HumanJoint
from musculo.replications.drivers.relative_motion import body_fixed_angles, relative_motion
from musculo.spatial.rotation import from_xyz


class Tried(NamedTuple):
    """A joint of the right leg whose driver prescribes certain Euler parameters, frame after frame."""

    prescribed: FloatArray  # (frames,) flexion as recorded [rad]
    found: FloatArray  # (frames,) of frames with a position; NaN in the others
    judged: ParameterChoice  # what the check says of the parameters before anything is computed
    chosen: ParameterChoice  # the automatic choice
    lost: int  # frames without a position


KNEE_WRONG: tuple[FourVector, ...] = (E1,)
KNEE_RIGHT: tuple[FourVector, ...] = (E3,)
HIP_WRONG: tuple[FourVector, ...] = (E0, E1, E2)
HIP_RIGHT: tuple[FourVector, ...] = (E1, E2, E3)


def turning_axes(joint: HumanJoint) -> tuple[Vec3, ...]:
    """The axes about which a joint turns, in the body that moves."""
    R = from_xyz(joint.child.orientation)
    if joint.kind == "spherical":
        return X_AXIS, Y_AXIS, Z_AXIS
    if joint.kind == "revolute":
        return (_vector(R[:, 2]),)
    raise ValueError(f"the axes of a {joint.kind} joint depend on its position")


def universal_axes(joint: HumanJoint, given: GivenOrientation) -> tuple[Vec3, ...]:
    """The axes of a universal joint in the body that moves, where its motion is the mean one."""
    first, second = from_xyz(joint.parent.orientation)[:, 0], from_xyz(joint.child.orientation)[:, 1]
    seen = np.einsum("fji,j->fi", rotation_matrix(given.parameters), first).mean(axis=0)
    return _vector(seen), _vector(second)


def _vector(v: FloatArray) -> Vec3:
    x, y, z = (float(k) for k in v)
    return x, y, z


def automatic_choice(human: Human, joint: str, motion: AbsoluteAnalysis) -> ParameterChoice:
    """The Euler parameters that the rule of table 1 picks for a joint and its motion."""
    one = human.joint(joint)
    given = relative_motion(motion, Frame(one.parent.body), Frame(one.child.body))
    if one.kind == "universal":
        axes = universal_axes(one, given)
    elif len(one.vectors) == 1 and one.kind == "spherical":
        # in a closed chain that leaves one rotation: the scapula's about its y axis, protraction
        axes = (Y_AXIS,)
    else:
        axes = turning_axes(one)
    return choose_parameters(given, axes, silent=True)


def tried(human: Human, joint: str, vectors: tuple[FourVector, ...], motion: AbsoluteAnalysis) -> Tried:
    """Prescribe these Euler parameters at a joint of the lower body and those of table 1 at all others.

    Each frame starts from the one before it.
    """
    one = human.joint(joint)
    first, second = Frame(one.parent.body), Frame(one.child.body)
    given = relative_motion(motion, first, second)
    driven = driven_human(human, LOWER_BODY, "euler", {joint: vectors})
    start = assembled(human, LOWER_BODY, motion)
    found = kinematic_analysis(driven.mechanism, driven.told(motion), start=start, together=1)
    lost = found.status != Status.FOUND
    angle = np.full(len(lost), np.nan)
    angle[~lost] = body_fixed_angles("zxy", relative_motion(found, first, second).parameters[~lost])[:, 0]
    return Tried(
        body_fixed_angles("zxy", given.parameters)[:, 0],
        angle,
        judge_parameters(given, vectors, turning_axes(one)),
        automatic_choice(human, joint, motion),
        int(lost.sum()),
    )
