"""Random poses of a model, slopes of path lengths by extrapolated differences, and the search for jumps."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo import Model, coordinate_rates, embedding_of, path_geometry, speeds_from_rates
from musculo.muscle.paths.geometry import STATUSES, PathGeometry

# Every model with paths, by its file in the data folder.
MODELS = {
    "arm26": "arm26/arm26.osim",
    "gait10dof18musc": "gait10dof18musc/subject01.osim",
    "gait2392": "gait2392/subject01_simbody.osim",
    "leg6dof9musc": "leg6dof9musc/leg6dof9musc.osim",
    "mobl_arms": "mobl_arms/MoBL_ARMS.osim",
    "moco_walk_armless": "moco_walk_armless/subject_walk_armless_18musc.osim",
    "rajagopal_walk": "rajagopal_walk/subject_walk_scaled.osim",
    "moving_points": "small_models/MovingPathPointMomentArmTest.osim",
    "ball_joint": "small_models/P2PBallJointMomentArmTest.osim",
    "constrained_body": "small_models/PathOnConstrainedBodyMomentArmTest.osim",
    "custom_joint_wrap": "small_models/WrapPathCustomJointMomentArmTest.osim",
    "constraint_b": "small_models/testMomentArmsConstraintB.osim",
    "thoracoscapular_shoulder": "thoracoscapular_shoulder/ThoracoscapularShoulderModel.osim",
    "tug_of_war": "tug_of_war/Tug_of_War.osim",
}
# Differences of these steps are compared, and the best counts: kinks spoil large steps, rounding small ones.
STEPS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)
# A step is bisected (by ten) so often where its length changes most; what is left of the change then is a jump.
_CUTS = 9
# What moment arms at both ends of a step leave of a change of length [m] where it is smooth; more is looked into.
SMOOTH = 1e-5
# Change of length [m] that is left to jumps; slopes of up to 10 m/rad over 5e-12 rad leave less.
JUMP = 1e-7


# Why a length may jump: a conditional point comes or goes; surfaces overlap where the path runs; another of several
# local shortest paths is found.
RANGE_EDGE, OVERLAP, SEVERAL = "range edge", "overlap", "several"


class Jump(NamedTuple):
    """A place where a length jumps: which path, by how much [m], the poses on both sides, and why."""

    name: str
    size: float
    before: np.ndarray
    after: np.ndarray
    reason: str


def random_poses(model: Model, n: int, rng: np.random.Generator, spread: float = 1.0) -> np.ndarray:
    """Poses (n, coordinates) over `spread` of the coordinates' ranges about the default pose; couplings hold.

    A model with a closed loop is moved by a third of that, and the loop is left open: paths do not mind.
    """
    e = embedding_of(model)
    q_0 = e.default_pose()
    low, high = np.array([c.range for c in model.coordinates]).T
    q = q_0 + (rng.uniform(low, high, (n, len(q_0))) - q_0) * (spread if not e.loops else 0.3 * spread)
    return q if e.loops else e.coordinates(e.independent(q))


def length_slopes(model: Model, q: np.ndarray, h: float, wrapping: str = "geodesic") -> np.ndarray:
    """dl/du (paths, speeds) by central differences of fourth order with step h."""
    n = len(model.speed_names)
    rates = coordinate_rates(model, np.repeat(q[None], n, axis=0), np.eye(n))
    poses = q + h * np.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * rates
    L = path_geometry(model, poses.reshape(4 * n, -1), wrapping=wrapping).length.reshape(4, n, -1)
    return ((L[0] - L[3]) / 12.0 + (L[2] - L[1]) * 8.0 / 12.0).T / h


def moment_arm_errors(model: Model, q: np.ndarray) -> np.ndarray:
    """|r + dl/du| (paths, speeds) in one pose."""
    r = path_geometry(model, q).moment_arm
    return np.min([np.abs(r + length_slopes(model, q, h)) for h in STEPS], axis=0)


def reason_of(geometry: PathGeometry, name: str) -> str:
    """Why the length of a path jumps between the two poses that the geometry is of."""
    k = geometry.names.index(name)
    points = [[wrap or None for wrap in geometry.path_points.of(name, f)[1]].count(None) for f in range(2)]
    if points[0] != points[1]:
        return RANGE_EDGE
    return OVERLAP if (geometry.status[:, k] == STATUSES.index("overlapped")).any() else SEVERAL


def jumps(
    model: Model, n: int, step: float, rng: np.random.Generator, wrapping: str = "geodesic"
) -> tuple[list[Jump], int]:
    """The jumps that n random steps [rad, m] from random poses meet, and how many lengths were watched."""
    e = embedding_of(model)
    q_0 = random_poses(model, n, rng)
    d = rng.normal(size=q_0.shape)
    q_1 = q_0 + step * d / np.linalg.norm(d, axis=1)[:, None]
    q_1 = q_1 if e.loops else e.coordinates(e.independent(q_1))
    g_0, g_1 = path_geometry(model, q_0, wrapping=wrapping), path_geometry(model, q_1, wrapping=wrapping)
    u = speeds_from_rates(model, 0.5 * (q_0 + q_1), q_1 - q_0)
    mean = 0.5 * np.einsum("fpu,fu->fp", g_0.moment_arm + g_1.moment_arm, u)
    rest = np.abs(g_1.length - g_0.length + mean)
    found = []
    for f, k in np.argwhere(~(rest < SMOOTH)):
        a, b = q_0[f], q_1[f]
        for _ in range(_CUTS):
            cuts = a + np.linspace(0.0, 1.0, 11)[:, None] * (b - a)
            L = path_geometry(model, cuts, wrapping=wrapping).length[:, k]
            i = int(np.argmax(np.abs(np.diff(L))))
            a, b = cuts[i], cuts[i + 1]
            if abs(L[i + 1] - L[i]) <= JUMP:
                break
        size = abs(L[i + 1] - L[i])
        if size > JUMP:
            name = g_0.names[k]
            sides = path_geometry(model, np.array([a, b]), wrapping=wrapping)
            found.append(Jump(name, size, a, b, reason_of(sides, name)))
    return found, rest.size
