"""Normal ranges of walking: the file that ships, files of others, and where they stand behind curves."""

from __future__ import annotations

import re

import numpy as np
import pytest

from musculo.errors import InvalidFile
from musculo.io import read_normal_ranges
from musculo.report.page_parts import Panel, Section, with_normal

HEAD = "figure,quantity,positive,unit,percent,mean,sd"


@pytest.fixture
def write(tmp_path):
    def written(*lines):
        path = tmp_path / "ours.csv"
        path.write_text("\n".join(lines) + "\n")
        return path

    return written


def test_what_ships_is_a_walk():
    """Peaks as every textbook has them; a cycle ends as it begins; sources are named."""
    ranges = read_normal_ranges()
    knee = ranges.of("angle", "knee angle", "flexion")
    assert 55.0 < knee.mean.max() < 65.0
    assert 68 <= knee.percent[knee.mean.argmax()] <= 76
    push = ranges.of("moment", "ankle angle", "plantarflexion")
    assert 1.1 < push.mean.max() < 1.4
    assert 44 <= push.percent[push.mean.argmax()] <= 52
    assert 2.0 < ranges.of("power", "ankle angle").mean.max() < 4.0
    for one in ranges.ranges:
        if one.figure != "ground reaction":
            np.testing.assert_array_equal(one.percent, np.arange(0.0, 101.0, 4.0))
            assert abs(one.mean[-1] - one.mean[0]) < one.spread[0] + one.spread[-1]
    assert all("2008" in ranges.sources[figure] for figure in ("angle", "moment", "power"))
    assert "peaks" in ranges.sources["ground reaction"]


def test_the_direction_of_a_model_counts():
    ranges = read_normal_ranges()
    flexion, extension = (ranges.of("moment", "hip flexion", word) for word in ("flexion", "extension"))
    np.testing.assert_array_equal(flexion.mean, -extension.mean)
    np.testing.assert_array_equal(flexion.spread, extension.spread)
    assert ranges.of("moment", "hip flexion", "") is None  # a direction that is not known
    assert ranges.of("moment", "hip flexion", "abduction") is None
    assert ranges.of("moment", "elbow flex", "flexion") is None


def test_a_laboratory_has_its_own(write):
    path = write(
        "# angle: 40 adults, ours",
        HEAD,
        "angle,Knee angle,flexion,deg,0,5,2",
        "angle,Knee angle,flexion,deg,40,,",
        "angle,Knee angle,flexion,deg,100,6,3",
        "moment,knee angle,extension,N m/kg,0,0.1,0.05",
    )
    ranges = read_normal_ranges(path)
    assert ranges.sources == {"angle": "40 adults, ours"}
    knee = ranges.of("angle", "knee angle", "flexion")
    np.testing.assert_array_equal(knee.mean, [5.0, np.nan, 6.0])
    section = Section("Moments", (Panel("knee angle", "N m", (), positive="flexion"), Panel("hip", "N m", ())))
    shown = with_normal(section, ranges, "moment", 80.0)
    np.testing.assert_allclose([shown.panels[0].normal.low, shown.panels[0].normal.high], [[-12.0], [-4.0]])
    assert shown.panels[1].normal is None
    assert shown.normal == "their source is not stated"
    assert with_normal(section, ranges, "moment", 0.0) is section  # for each kilogram of an unknown mass
    assert with_normal(section, None, "moment", 80.0) is section


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("a,b",), "the first line that is no comment must be figure,"),
        ((HEAD, "angle,knee,flexion,rad,0,1,1"), "line 2: give figure"),
        ((HEAD, "angle,knee,flexion,deg,0,1"), "line 2: give figure"),
        ((HEAD, "angle,knee,flexion,deg,0,one,1"), "line 2: 0, one, 1 are not three numbers"),
        ((HEAD, "angle,knee,flexion,deg,120,1,1"), "line 2: percent is 0 to 100"),
        ((HEAD, "angle,knee,flexion,deg,0,1,-1"), "sd is not negative"),
        ((HEAD, "angle,knee,flexion,deg,50,1,1", "angle,knee,flexion,deg,0,1,1"), "does not increase"),
    ],
)
def test_mistakes_are_named(write, lines, said):
    with pytest.raises(InvalidFile, match=re.escape(said)):
        read_normal_ranges(write("# a comment", *lines) if said.startswith("the") else write(*lines))
