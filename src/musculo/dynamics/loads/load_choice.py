"""Which loads of joints are asked for: of which joint, on which of its bodies, in which frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import Placement
from musculo.model.model import Model

Choice = str | Sequence[str] | Mapping[str, str]
"""One word for all joints, one for each, or by joint."""
SIDES = ("child", "parent")


class LoadChoice(NamedTuple):
    """One load that is asked for."""

    joint: str
    side: str
    frame: str  # a name of the model; keywords are resolved

    @property
    def name(self) -> str:
        """What a message calls it."""
        return f"{self.joint} on its {self.side} in {self.frame}"


def load_choices(model: Model, joints: str | Sequence[str] | None, on: Choice, frame: Choice) -> list[LoadChoice]:
    """The loads of joints (all by default), on the child or the parent, in ground, in these bodies' frames or any.

    Raises:
        UnknownName, InvalidInput: joints, sides or frames that the model does not have.
    """
    names = model.joint_names if joints is None else (joints,) if isinstance(joints, str) else tuple(joints)
    for name in names:
        model.joint(name)
    sides, frames = _chosen("on", on, names, "child"), _chosen("frame", frame, names, "ground")
    found = []
    for name, side, where in zip(names, sides, frames, strict=True):
        if side not in SIDES:
            raise UnknownName("side of a joint", side, SIDES, f"on, joint {name!r}")
        # A frame of the model that is named child or parent would come first, as in OpenSim.
        own = where in SIDES and where not in model.body_names
        found.append(LoadChoice(name, side, placement_of(model, name, where).body if own else where))
        model.placement(found[-1].frame)
    return found


def _chosen(what: str, choice: Choice, joints: Sequence[str], default: str) -> list[str]:
    if isinstance(choice, str):
        return [choice] * len(joints)
    if isinstance(choice, Mapping):
        for name in choice:
            if name not in joints:
                raise UnknownName("joint", name, joints, what)
        return [choice.get(name, default) for name in joints]
    listed_ones = list(choice)
    if len(listed_ones) not in (1, len(joints)):
        raise InvalidInput(f"{what} has {len(listed_ones)} entries for {len(joints)} joints; give one, or one for each")
    return listed_ones * (len(joints) if len(listed_ones) == 1 else 1)


def placement_of(model: Model, joint: str, side: str) -> Placement:
    """Where a joint's frame is on one of its bodies."""
    found = model.joint(joint)
    return found.child if side == "child" else found.parent
