"""One coordinate of a joint: its range and who drives it."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.functions.base import Function


@dataclass(frozen=True)
class Coordinate:
    """A generalised coordinate as the file states it [rad or m].

    `locked` holds it at `default_value`; `prescribed` drives it by `prescribed_function` of time; a lock wins.
    `clamped` and `range` bound it in assembly and inverse kinematics; they exert no force.
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
