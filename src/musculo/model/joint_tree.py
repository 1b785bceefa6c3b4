"""Which joint holds which body: the tree from ground outward, and what is wrong where there is none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from musculo.errors import InvalidModel
from musculo.model.body import GROUND
from musculo.model.joints.joint import Joint


class TreeEdge(NamedTuple):
    """A joint of the tree. `reversed`: its child is the inboard body, so it is traversed from child to parent."""

    joint_index: int
    reversed: bool


def tree_order(joints: Sequence[Joint], body_names: Iterable[str]) -> tuple[TreeEdge, ...]:
    """The joints from ground outward, in file order among those that can be reached; inboard bodies come first.

    A joint whose child is already reached and whose parent is not is traversed backwards (ground may be a child).

    Raises:
        InvalidModel: a closed loop (a joint whose two bodies are both held already), or bodies that no joint connects
            to ground, with the cycle they form if they do.
    """
    names = tuple(body_names)
    waiting = list(range(len(joints)))
    reached = {GROUND}
    edges: list[TreeEdge] = []
    while waiting:
        later = []
        for index in waiting:
            joint = joints[index]
            parent, child = joint.parent.body, joint.child.body
            if parent in reached and child in reached:
                raise _closed_loop(joints, edges, index)
            if parent not in reached and child not in reached:
                later.append(index)
                continue
            edges.append(TreeEdge(index, parent not in reached))
            reached |= {parent, child}
        if len(later) == len(waiting):
            break
        waiting = later
    lost = [name for name in names if name not in reached]
    if lost:
        raise _unreached(joints, lost)
    return tuple(edges)


def base_bodies(joints: Sequence[Joint], body_names: Iterable[str]) -> tuple[str, ...]:
    """The bodies to be joined to ground so that every body is reached, in the order in which OpenSim chooses them.

    Bodies without any joint come first; then, until all are reached, the body that is nobody's child and has most
    joints. Bodies that only form cycles are left: `tree_order` refuses them.
    """
    names = tuple(body_names)
    degree = {name: sum(name in (j.parent.body, j.child.body) for j in joints) for name in names}
    children = {j.child.body for j in joints}
    chosen = [name for name in names if degree[name] == 0]
    while True:
        reached = _reach(joints, {GROUND, *chosen})
        candidates = [name for name in names if name not in reached and name not in children]
        if not candidates:
            return tuple(chosen)
        chosen.append(max(candidates, key=lambda name: degree[name]))


def _reach(joints: Sequence[Joint], start: set[str]) -> set[str]:
    reached = set(start)
    grown = True
    while grown:
        grown = False
        for joint in joints:
            ends = {joint.parent.body, joint.child.body}
            if ends & reached and not ends <= reached:
                reached |= ends
                grown = True
    return reached


def _closed_loop(joints: Sequence[Joint], edges: Sequence[TreeEdge], index: int) -> InvalidModel:
    joint = joints[index]
    child = joint.child.body
    holders = [joints[e.joint_index].name for e in edges if child in _ends(joints[e.joint_index])]
    return InvalidModel(
        f"joint {joint.name!r} closes a loop: its bodies {joint.parent.body!r} and {child!r} are already connected to "
        f"ground (body {child!r} is joined by {', '.join(map(repr, holders)) or 'ground itself'}); keep one joint for "
        "each body and state the other connection as a constraint (WeldConstraint, PointConstraint)"
    )


def _ends(joint: Joint) -> tuple[str, str]:
    return joint.parent.body, joint.child.body


def _unreached(joints: Sequence[Joint], lost: Sequence[str]) -> InvalidModel:
    cycle = _cycle(joints, lost)
    if cycle:
        return InvalidModel(
            f"bodies {' -> '.join(map(repr, cycle))} form a cycle of joints that does not reach ground; join one of "
            "them to ground and state one of these joints as a constraint"
        )
    return InvalidModel(
        f"no joint connects {', '.join(map(repr, lost))} to ground; add a joint (a FreeJoint lets a body move freely)"
    )


def _cycle(joints: Sequence[Joint], lost: Sequence[str]) -> list[str]:
    """Follow parents from body to body until one comes again; empty where a body without a parent is met."""
    parent = {j.child.body: j.parent.body for j in joints if j.child.body in lost}
    for start in lost:
        walk = [start]
        while walk[-1] in parent:
            following = parent[walk[-1]]
            if following in walk:
                ring = walk[walk.index(following) :]
                return [following, *reversed(ring)]
            walk.append(following)
    return []
