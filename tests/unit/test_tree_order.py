"""The order of bodies from ground outward, which joints are traversed backwards, and what is no tree."""

from __future__ import annotations

import pytest

from musculo.errors import InvalidModel
from musculo.model.body import Placement
from musculo.model.joint_tree import TreeEdge, tree_order
from musculo.model.joints import WeldJoint


def weld(name: str, parent: str, child: str) -> WeldJoint:
    return WeldJoint(name, Placement(parent), Placement(child))


def test_tree_order_goes_outward_and_reverses_where_it_must():
    joints = (weld("bc", "b", "c"), weld("ag", "a", "ground"), weld("ab", "a", "b"))
    assert tree_order(joints, "abc") == (TreeEdge(1, True), TreeEdge(2, False), TreeEdge(0, False))


def test_body_with_two_parents_is_a_tree_if_one_of_them_hangs_on_it():
    joints = (weld("ga", "ground", "a"), weld("ab", "a", "b"), weld("cb", "c", "b"))
    assert tree_order(joints, "abc") == (TreeEdge(0, False), TreeEdge(1, False), TreeEdge(2, True))


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ((weld("ga", "ground", "a"), weld("gb", "ground", "b"), weld("ab", "a", "b")), "'ab' closes a loop"),
        ((weld("ab", "a", "b"), weld("ba", "b", "a")), "cycle"),
        ((weld("ga", "ground", "a"),), "no joint connects 'b' to ground"),
    ],
    ids=["loop", "cycle", "lone"],
)
def test_what_is_no_tree_is_refused(joints, words):
    with pytest.raises(InvalidModel, match=words):
        tree_order(joints, "ab")
