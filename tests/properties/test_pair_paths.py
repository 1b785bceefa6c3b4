"""Paths over two surfaces are the shortest outside both, on the sides that are held; so their lengths do not jump."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from musculo import path_geometry
from musculo.muscle.paths.geometry import STATUSES
from support.pair_models import pair
from support.rule_lengths import rule_length
from support.who_is_right import Court

# Pairs of poses, some 1e-11 apart, between which lengths once jumped by 0.1 to 141 mm. Nine more do so again since the
# search is one that serves the real models (docs/theory/taut_paths.md).
JUMPED = json.loads((Path(__file__).parents[1] / "support" / "pairs_jumped.json").read_text())
# What is left of them: polylines and rows of contacts differ by so much, and so do two polylines [m].
AS_LONG = 1e-7
# What the judge's polylines are off, beyond what it says itself [m].
ROUNDING = 1e-6
NOT_CONVERGED = STATUSES.index("not converged")
# A polyline round two cylinders that cross, both held for more than half a turn; an open one beside a held one; the
# edge of the rule about the side of one beside another; ends inside. And the pose of the two that was wrong.
LOOKED = {"cc15-m3": "after", "cc11-m2": "before", "cc8-m4": "after"}


def name_of(jump):
    return f"{jump['kinds']}{jump['seed']}-{jump['path']}"


@pytest.mark.parametrize("jump", JUMPED, ids=name_of)
def test_what_once_jumped_no_longer_does(jump):
    model = pair(jump["kinds"], jump["seed"], jump["quadrants"])
    g = path_geometry(model, np.array([jump["before"], jump["after"]]))
    k = g.names.index(jump["path"])
    assert (g.status[:, k] < NOT_CONVERGED).all()
    assert abs(g.length[1, k] - g.length[0, k]) < AS_LONG


@pytest.mark.parametrize("jump", [j for j in JUMPED if name_of(j) in LOOKED], ids=name_of)
def test_it_is_the_shortest_of_all(jump):
    """By a search over a graph of points that see each other, which shares nothing with the kernels."""
    court = Court(pair(jump["kinds"], jump["seed"], jump["quadrants"]), np.array([jump[LOOKED[name_of(jump)]]]))
    shortest = rule_length(court, jump["path"])
    ours = court.ours.length[0, court.ours.names.index(jump["path"])]
    assert ours < shortest.length + shortest.error + ROUNDING
