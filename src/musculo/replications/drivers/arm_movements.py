"""Four movements of the arm, made by a human whose elbow and forearm turn about other axes than those analyzed.

[Antunes2025], section 4.2, recorded eight subjects, whose data are not public. Here the elevation of the arm and the
rotations of elbow, forearm and wrist go between values rounded from published ranges: [Magermans2005] for reaching
behind the back and combing the hair, [Ludewig2009] for clavicle and scapula during elevation. Each angle starts at its
first value, reaches its last in the middle of the movement, and returns. Rests and phases are ours.

A recorded elbow never turns about a model's axes. So the generating human's axes are tilted, else the differences of
table 2 would be zero by construction. The tilts are ours, of a size that gives differences like the paper's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis, Status, kinematic_analysis
from musculo.absolute.drivers.driver import FrameDriver
from musculo.absolute.drivers.orientation_driver import OrientationDriver
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.absolute.mechanism import Mechanism
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.replications.drivers.driven_human import ROOT, driven_human
from musculo.replications.drivers.human import CLAVICLE_AT_REST, RIGHT_ARM, Axes, Human, at_rest, human, turned
from musculo.replications.drivers.relative_motion import about_axes, composed, mapped
from musculo.spatial.rotation import to_quaternion

RATE = 100.0  # frames a second
# Tilts of the axes of elbow and forearm in the generating human [degrees]: about x and y, and about x and z.
ELBOW_TILT, FOREARM_TILT = (8.0, 2.0), (2.0, 10.0)

Range = tuple[float, float]


@dataclass(frozen=True)
class ArmMovement:
    """Angles at rest and in the middle of a movement [degrees]; of the arm to the thorax about y, x, y."""

    name: str
    frames: int
    plane: Range  # of elevation: 0 to the side, 90 to the front
    elevation: Range
    rotation: Range  # internal is positive
    elbow: Range  # flexion
    pronation: Range
    wrist_flexion: Range
    deviation: Range
    retraction: Range  # of the clavicle beyond rest
    rise: Range  # of the clavicle
    backward_turn: Range  # of the clavicle about itself
    protraction: Range  # of the scapula about the clavicle's end, beyond rest


MOVEMENTS = (
    ArmMovement(
        "abduction", 324, (20, 5), (12, 140), (-10, -60), (10, 20), (20, 70), (0, 10), (0, 5), (0, -15), (0, 10),
        (0, 25), (0, 10),
    ),
    ArmMovement(
        "flexion", 352, (60, 85), (12, 140), (-10, -50), (10, 25), (20, 60), (0, 10), (0, -5), (0, -8), (0, 9), (0, 25),
        (0, 14),
    ),
    ArmMovement(
        "behind the back", 213, (20, -55), (14, 45), (0, 75), (15, 95), (20, 75), (0, 25), (0, 10), (0, -6), (0, 4),
        (0, 4), (0, 8),
    ),
    ArmMovement(
        "combing", 286, (40, 65), (14, 105), (-5, -60), (15, 130), (20, -30), (0, 20), (0, 8), (0, -8), (0, 9), (0, 18),
        (0, 10),
    ),
)  # fmt: skip


def _there_and_back(values: Range, t: FloatArray, duration: float, phase: float) -> GivenNumbers:
    """From the first value to the second and back [degrees to rad], once in the duration.

    Higher harmonics, by a phase of each angle's own, keep angles from being proportional to each other.
    """
    a, b = np.radians(values)
    w = 2.0 * np.pi / duration
    half = 0.5 * (b - a)
    s, c = np.sin(w * t), np.cos(w * t)
    # sin^4(w t / 2) leaves slowly and lingers; its share depends on the phase
    low = [0.5 * (1.0 - c), 0.5 * w * s, 0.5 * w * w * c]
    high = [0.25 * (1.0 - c) ** 2, 0.5 * (1.0 - c) * w * s, 0.5 * w * w * (s * s + (1.0 - c) * c)]
    value, rate, acceleration = ((1.0 - phase) * x + phase * y for x, y in zip(low, high, strict=True))
    return GivenNumbers.of(a + 2.0 * half * value, 2.0 * half * rate, 2.0 * half * acceleration)


def generating_human() -> Human:
    """The human that moves: its elbow and forearm turn about tilted axes."""
    x, y = np.radians(ELBOW_TILT)
    elbow = turned(np.array([x, y]), "xy")[:, 2]
    x, z = np.radians(FOREARM_TILT)
    forearm = turned(np.array([x, z]), "xz")[:, 1]
    return human(Axes(tuple(elbow.tolist()), tuple(forearm.tolist())))


def generated(movement: ArmMovement, frames: int | None = None) -> AbsoluteAnalysis:
    """The motion of all bodies of the right arm.

    The clavicle, the scapula's protraction about it, and the arm to the thorax are driven; the scapula glides on the
    rib cage. So the girdle is consistent, as the paper's is after its optimization.

    Args:
        movement: what is moved.
        frames: fewer frames of the same duration, for a look.
    """
    source = generating_human()
    base = driven_human(source, RIGHT_ARM, "tangent", free=("GH_r",))
    arm: FrameDriver = OrientationDriver("arm", Frame("thorax"), Frame("humerus_r"))
    mechanism = Mechanism(
        base.mechanism.bodies, (*base.mechanism.equations, arm), chain=base.mechanism.chain, loads=base.mechanism.loads
    )
    n = movement.frames if frames is None else frames
    duration = (movement.frames - 1) / RATE
    t = np.linspace(0.0, duration, n)

    def angle(values: Range, phase: float = 0.0, rest: float = 0.0) -> GivenNumbers:
        a, b = values
        return _there_and_back((a + rest, b + rest), t, duration, phase)

    def fixed(p: FloatArray) -> GivenOrientation:
        return GivenOrientation.of(np.broadcast_to(p, (n, 4)))

    still = GivenNumbers.of(np.zeros((n, 3)))
    y, x, _ = np.degrees(CLAVICLE_AT_REST)
    turned_by = [
        angle(movement.retraction, 0.3, y),
        angle(_minus(movement.rise), 0.1, x),
        angle(movement.backward_turn, 0.5),
    ]
    clavicle = about_axes("yxz", turned_by)
    # of the scapula on the clavicle only the rotation about y is driven; the others say where the search begins
    bones = at_rest("r")
    between = bones[0].T @ bones[1]
    protraction = about_axes("y", [angle(movement.protraction, 0.2)])
    scapula = composed(fixed(to_quaternion(between)), protraction)
    told: dict[str, Given] = {
        ROOT: GivenPose(fixed(np.array([1.0, 0.0, 0.0, 0.0])), still),
        "drive SC_r": clavicle,
        "drive AC_r": scapula,
        "arm": about_axes(
            "yxy",
            [angle(movement.plane, 0.4), angle(_minus(movement.elevation)), angle(_difference(movement), 0.6)],
        ),
        "drive HU_r": about_axes("z", [angle(movement.elbow, 0.5)]),
        "drive RU_r": about_axes("z", [angle(movement.pronation, 0.2)]),
        "drive RC_r": about_axes("xy", [angle(movement.wrist_flexion, 0.3), angle(movement.deviation, 0.7)]),
    }
    found = kinematic_analysis(mechanism, told, start=_first(mechanism, told))
    if not found.found:
        worst = Status(int(found.status.max())).name
        raise InvalidInput(f"movement {movement.name!r} has frames without a position ({worst}): {found.diagnosis}")
    return found


def _first(mechanism: Mechanism, told: dict[str, Given]) -> FloatArray:
    """The position of the first frame, from the assembled bodies."""
    first = {name: mapped(given, lambda x: x[:1]) for name, given in told.items()}
    return np.asarray(kinematic_analysis(mechanism, first).x[0])


def _minus(values: Range) -> Range:
    return -values[0], -values[1]


def _difference(movement: ArmMovement) -> Range:
    """The third angle about y, y: axial rotation less the plane."""
    (p, q), (a, b) = movement.plane, movement.rotation
    return a - p, b - q
