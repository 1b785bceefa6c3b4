"""Masses, lengths, mass centers and inertias of the segments of a human body, by sex, body mass and stature.

Sources: [DeLeva1996], table 4: means of 100 men (1.741 m, 73.0 kg) and 15 women (1.735 m, 61.9 kg), measured by gamma
rays and adjusted to joint centers. [DrillisContini1966], as in [Winter2009], figure 4.1: heights and widths.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from musculo.errors import InvalidInput, UnknownName
from musculo.spatial.inertia import RigidInertia

Sex = Literal["male", "female"]

# Mean statures of those who were measured [m]; lengths of the table are stated for them.
MEAN_STATURE: Mapping[str, float] = {"male": 1.741, "female": 1.735}

# Distances and heights as fractions of stature, standing upright. Widths are those of half the body.
BODY_PROPORTIONS: Mapping[str, float] = {
    "eye_height": 0.936,
    "chin_height": 0.870,
    "shoulder_height": 0.818,
    "elbow_height": 0.630,
    "hip_height": 0.530,
    "wrist_height": 0.485,
    "fingertip_height": 0.377,
    "knee_height": 0.285,
    "ankle_height": 0.039,
    "half_shoulder_width": 0.129,
    "half_hip_width": 0.0955,
    "half_chest_width": 0.087,
    "upper_arm_length": 0.186,
    "forearm_length": 0.146,
    "hand_length": 0.108,
    "foot_length": 0.152,
    "foot_width": 0.055,
}


@dataclass(frozen=True)
class Segment:
    """A segment of a mean body. Radii of gyration are about its mass center, as fractions of its length.

    The sagittal axis points forward, the transverse axis sideways, the longitudinal axis from one end to the other. A
    foot's longitudinal axis points forward, and its sagittal axis up.
    """

    name: str
    ends: tuple[str, str]  # from, to; cranial and proximal ends come first, of the foot the heel
    mass: float  # fraction of body mass
    length_mm: float  # of the mean body
    mass_center: float  # distance from the first end, as a fraction of the length
    sagittal: float
    transverse: float
    longitudinal: float


# Name, ends, then male and female: mass [%], length [mm], mass center [%], radii sagittal, transverse, longitudinal
# [%].
# Further names of a segment (`head_neck`, `whole_trunk`) have other ends, but are the same matter.
_TABLE = """
head         vertex    gonion     6.94 203.3 59.76 36.2 37.6 31.2   6.68 200.2 58.94 33.0 35.9 31.8
head_neck    vertex    cervicale  6.94 242.9 50.02 30.3 31.5 26.1   6.68 243.7 48.41 27.1 29.5 26.1
trunk        suprasternale mid_hip 43.46 531.9 44.86 37.2 34.7 19.1 42.57 529.3 41.51 35.7 33.9 17.1
whole_trunk  cervicale mid_hip   43.46 603.3 51.38 32.8 30.6 16.9  42.57 614.8 49.64 30.7 29.2 14.7
shoulder_hip mid_shoulder mid_hip 43.46 515.5 43.10 38.4 35.8 19.7 42.57 497.9 37.82 37.9 36.1 18.2
upper_trunk  suprasternale xiphion 15.96 170.7 29.99 71.6 45.4 65.9 15.45 142.5 20.77 74.6 50.2 71.8
thorax       cervicale xiphion   15.96 242.1 50.66 50.5 32.0 46.5  15.45 228.0 50.50 46.6 31.4 44.9
middle_trunk xiphion   omphalion 16.33 215.5 45.02 48.2 38.3 46.8  14.65 205.3 45.12 43.3 35.4 41.5
lower_trunk  omphalion mid_hip   11.17 145.7 61.15 61.5 55.1 58.7  12.47 181.5 49.20 43.3 40.2 44.4
upper_arm    shoulder  elbow      2.71 281.7 57.72 28.5 26.9 15.8   2.55 275.1 57.54 27.8 26.0 14.8
forearm      elbow     wrist      1.62 268.9 45.74 27.6 26.5 12.1   1.38 264.3 45.59 26.1 25.7  9.4
hand         wrist     metacarpale3 0.61 86.2 79.00 62.8 51.3 40.1  0.56  78.0 74.74 53.1 45.4 33.5
whole_hand   wrist     dactylion3 0.61 187.9 36.24 28.8 23.5 18.4   0.56 170.1 34.27 24.4 20.8 15.4
thigh        hip       knee      14.16 422.2 40.95 32.9 32.9 14.9  14.78 368.5 36.12 36.9 36.4 16.2
shank        knee      ankle      4.33 440.3 43.95 25.1 24.6 10.2   4.81 438.6 43.52 26.7 26.3  9.2
foot         heel      toe_tip    1.37 258.1 44.15 25.7 24.5 12.4   1.29 228.3 40.14 29.9 27.9 13.9
"""


def _read(columns: slice) -> dict[str, Segment]:
    found = {}
    for line in _TABLE.strip().splitlines():
        name, start, end, *numbers = line.split()
        mass, length, *percents = map(float, numbers[columns])
        found[name] = Segment(name, (start, end), mass / 100.0, length, *(one / 100.0 for one in percents))
    return found


SEGMENTS: Mapping[str, Mapping[str, Segment]] = {"male": _read(slice(0, 6)), "female": _read(slice(6, 12))}


def segment(name: str, sex: Sex = "male") -> Segment:
    """The row of the table: fractions, for your own arithmetic."""
    if sex not in SEGMENTS:
        raise InvalidInput(f"sex={sex!r}; the tables know {', '.join(get_args(Sex))}")
    if name not in SEGMENTS[sex]:
        raise UnknownName("segment", name, SEGMENTS[sex])
    return SEGMENTS[sex][name]


def segment_mass(name: str, sex: Sex, body_mass: float) -> float:
    """[kg] of a body of this mass."""
    return segment(name, sex).mass * body_mass


def segment_length(name: str, sex: Sex, stature: float) -> float:
    """[m] from the first to the second end, in the same proportion to stature as in the mean body."""
    return segment(name, sex).length_mm * 1e-3 * stature / MEAN_STATURE[sex]


def segment_mass_center(name: str, sex: Sex, stature: float) -> float:
    """[m] from the first end of the segment, along it."""
    return segment(name, sex).mass_center * segment_length(name, sex, stature)


def segment_inertia(name: str, sex: Sex, body_mass: float, stature: float) -> tuple[float, float, float]:
    """Moments about the mass center: sagittal, transverse and longitudinal axis [kg m^2].

    I = m (k L)^2 with the radius of gyration k as a fraction of the length L.
    """
    row = segment(name, sex)
    unit = segment_mass(name, sex, body_mass) * segment_length(name, sex, stature) ** 2
    return unit * row.sagittal**2, unit * row.transverse**2, unit * row.longitudinal**2


def rigid_segment(
    name: str, sex: Sex, body_mass: float, stature: float, *, lying: bool = False, share: float = 1.0
) -> RigidInertia:
    """A segment in axes x forward, y up, z to the right, the origin at its first end, the second end below it.

    Args:
        name: the row of the table.
        sex: of the table.
        body_mass: of the whole body [kg].
        stature: of the whole body [m].
        lying: for a foot: the second end is in front of the first.
        share: of the segment's mass, where the rest belongs to other bodies; the tensor shrinks alike.
    """
    sagittal, transverse, longitudinal = segment_inertia(name, sex, body_mass, stature)
    center = segment_mass_center(name, sex, stature)
    mass = share * segment_mass(name, sex, body_mass)
    if lying:
        return RigidInertia(mass, np.array([center, 0.0, 0.0]), share * np.diag([longitudinal, sagittal, transverse]))
    return RigidInertia(mass, np.array([0.0, -center, 0.0]), share * np.diag([sagittal, longitudinal, transverse]))


def body_proportion(name: str, stature: float) -> float:
    """[m] a height, width or length of the whole body from stature alone, one of `BODY_PROPORTIONS`."""
    if name not in BODY_PROPORTIONS:
        raise UnknownName("proportion", name, BODY_PROPORTIONS)
    return BODY_PROPORTIONS[name] * stature
