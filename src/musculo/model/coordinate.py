"""One coordinate of a joint: its range and who drives it."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.functions.function import Function


@dataclass(frozen=True)
class Coordinate:
    """A generalized coordinate as the file states it [rad or m].

    `locked` holds it at `default_value`; `prescribed` drives it by `prescribed_function` of time; a lock wins.
    `clamped` and `range` bound it in assembly and inverse kinematics; they exert no force.

    Names are unique in a model. Where a file has coordinates of one name in several joints, which OpenSim tells apart
    by their paths, each is called `joint/name`; `write_osim` writes the file's name again.
    """

    name: str
    default_value: float = 0.0
    default_speed: float = 0.0
    range: tuple[float, float] = (-10.0, 10.0)
    clamped: bool = False
    locked: bool = False
    prescribed: bool = False
    prescribed_function: Function | None = None
    free_to_satisfy_constraints: bool = False
    carried: tuple[str, ...] = ()


def coordinate_path(joint: str, name: str) -> str:
    """OpenSim's path of a coordinate (or speed) of a joint; a name that begins with the joint's has it once."""
    return f"/jointset/{joint}/{bare_name(joint, name)}"


def bare_name(joint: str, name: str) -> str:
    """What a file calls a coordinate: where several joints have one of a name, it is called `joint/name` here."""
    return name.removeprefix(f"{joint}/")
