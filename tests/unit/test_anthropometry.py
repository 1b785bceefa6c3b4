"""The tables of segments agree with themselves: other ends of the same matter have the same mass center and radii."""

from __future__ import annotations

import numpy as np
import pytest

from musculo.errors import InvalidInput, UnknownName
from musculo.model.anthropometry import (
    MEAN_STATURE,
    SEGMENTS,
    Sex,
    body_proportion,
    rigid_segment,
    segment,
    segment_inertia,
    segment_length,
    segment_mass,
    segment_mass_center,
)
from musculo.spatial.inertia import RigidInertia, is_physical

SEXES: tuple[Sex, ...] = ("male", "female")
# The table has radii to 0.1 % of a length of at most 0.61 m, mass centers to 0.01 % and lengths to 0.1 mm.
RADIUS_DIGIT = 0.0005 * 0.65 * 2.0
CENTER_DIGIT = 0.00005 * 0.65 * 2.0 + 2e-4
# The source's male trunk has its mass center 3 mm above that of its three parts.
TRUNK_OF_PARTS = 3.5e-3
# Masses are printed to 0.01 %, for 16 parts.
MASS_DIGIT = 16 * 0.00005
WHOLE = ("head", "trunk", *("upper_arm", "forearm", "hand", "thigh", "shank", "foot") * 2)


@pytest.mark.parametrize("sex", SEXES)
def test_masses_are_those_of_a_whole_body(sex: Sex) -> None:
    assert sum(segment_mass(name, sex, 1.0) for name in WHOLE) == pytest.approx(1.0, abs=MASS_DIGIT)
    parts = sum(segment(name, sex).mass for name in ("upper_trunk", "middle_trunk", "lower_trunk"))
    assert parts == pytest.approx(segment("trunk", sex).mass, abs=MASS_DIGIT)


@pytest.mark.parametrize("sex", SEXES)
@pytest.mark.parametrize(
    ("one", "other", "same_start"),
    [
        ("head", "head_neck", True),
        ("hand", "whole_hand", True),
        ("trunk", "whole_trunk", False),
        ("trunk", "shoulder_hip", False),
        ("upper_trunk", "thorax", False),
    ],
)
def test_other_ends_are_the_same_matter(sex: Sex, one: str, other: str, same_start: bool) -> None:
    stature = MEAN_STATURE[sex]
    a, b = (rigid_segment(name, sex, 1.0, stature) for name in (one, other))
    assert a.mass == b.mass
    np.testing.assert_allclose(
        np.sqrt(np.diag(a.central) / a.mass), np.sqrt(np.diag(b.central) / b.mass), rtol=0, atol=RADIUS_DIGIT
    )
    # the first ends are equal, or the second ones are
    lengths = (0.0, 0.0) if same_start else tuple(segment_length(name, sex, stature) for name in (one, other))
    from_shared = [segment_mass_center(name, sex, stature) - n for name, n in zip((one, other), lengths, strict=True)]
    assert from_shared[0] == pytest.approx(from_shared[1], abs=CENTER_DIGIT)


@pytest.mark.parametrize("sex", SEXES)
def test_parts_of_the_trunk_make_the_trunk(sex: Sex) -> None:
    stature, top, parts = MEAN_STATURE[sex], 0.0, []
    for name in ("upper_trunk", "middle_trunk", "lower_trunk"):
        part = rigid_segment(name, sex, 1.0, stature)
        parts.append(RigidInertia(part.mass, part.center - [0.0, top, 0.0], part.central))
        top += segment_length(name, sex, stature)
    total = RigidInertia.total(parts)
    assert top == pytest.approx(segment_length("trunk", sex, stature), abs=1e-4)
    assert -total.center[1] == pytest.approx(segment_mass_center("trunk", sex, stature), abs=TRUNK_OF_PARTS)


@pytest.mark.parametrize("sex", SEXES)
def test_every_segment_is_a_possible_body(sex: Sex) -> None:
    for name in SEGMENTS[sex]:
        body = rigid_segment(name, sex, 70.0, 1.7)
        assert is_physical(body.mass, body.central), name


def test_a_lying_foot_points_forward() -> None:
    foot = rigid_segment("foot", "male", 73.0, 1.741, lying=True, share=0.5)
    assert foot.mass == pytest.approx(0.5 * 0.0137 * 73.0)
    np.testing.assert_allclose(foot.center, [0.4415 * 0.2581, 0.0, 0.0])
    sagittal, transverse, longitudinal = segment_inertia("foot", "male", 73.0, 1.741)
    np.testing.assert_allclose(np.diag(foot.central), 0.5 * np.array([longitudinal, sagittal, transverse]))
    assert longitudinal < transverse < sagittal


def test_lengths_grow_with_stature() -> None:
    assert segment_length("thigh", "male", 1.741) == pytest.approx(0.4222)
    assert segment_length("thigh", "male", 2 * 1.741) == pytest.approx(2 * 0.4222)
    assert body_proportion("ankle_height", 1.8) == pytest.approx(0.0702)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="did you mean 'thigh'"):
        segment("thig")
    with pytest.raises(InvalidInput, match="male, female"):
        segment("thigh", "both")  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="proportion"):
        body_proportion("nose", 1.7)
