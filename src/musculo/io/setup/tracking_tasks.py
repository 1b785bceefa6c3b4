"""`<CMC_TaskSet>`: what residual reduction and computed muscle control follow, and how closely."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from musculo.errors import InvalidFile, InvalidModel
from musculo.io.osim.xml import Element, invalid, numbers, parse_xml, place, resolve_defaults, text
from musculo.io.setup.setup_properties import (
    FLAG,
    NUMBER,
    TEXT,
    VECTOR,
    Kinds,
    SetupFile,
    read_by,
    read_members,
    read_properties,
)
from musculo.io.text import PathLike, checked_path, read_bytes

Three = tuple[float, float, float]
_KIND = "a file of tracking tasks (.xml)"


def _three(element: Element, tag: str, file: SetupFile, default: Three) -> Three:
    """Up to three numbers; components that the file leaves out keep OpenSim's defaults."""
    found = numbers(element, tag)
    if len(found) > 3:
        raise invalid(element.find(tag), f"must be up to 3 numbers, found {len(found)}")
    return (*found, *default[len(found) :])  # type: ignore[return-value]


def _flags(element: Element, tag: str, file: SetupFile, default: tuple[bool, bool, bool]) -> tuple[bool, ...]:
    words = text(element, tag).lower().split()
    if len(words) > 3 or not set(words) <= {"true", "false", "1", "0"}:
        raise invalid(element.find(tag), f"must be up to 3 of the words true and false, found {text(element, tag)!r}")
    return (*(word in ("true", "1") for word in words), *default[len(words) :])


_THREE, _ACTIVE = read_by(_three), read_by(_flags)


@dataclass(frozen=True)
class TrackingTask:
    """What every task states of up to three components; a coordinate is the first component alone.

    A task with an error e of position asks for the acceleration ka a + kv edot + kp e.

    Args:
        name: of the task; OpenSim finds the columns of the motion by it.
        on: whether the task counts at all.
        weight: of each component, against the others and effort.
        active: which components count.
        kp, kv, ka: gains of position [1/s^2], speed [1/s] and acceleration; OpenSim uses the first of each.
        wrt_body: the body that carries the point, or the word `center_of_mass`.
        express_body: the body in which the trajectory is given, or `ground`.
        r0, r1, r2: the directions in ground of the three components of a point.
    """

    name: str
    on: bool = field(default=True, metadata=FLAG)
    weight: Three = field(default=(1.0, 1.0, 1.0), metadata=_THREE)
    active: tuple[bool, bool, bool] = field(default=(False, False, False), metadata=_ACTIVE)
    kp: Three = field(default=(1.0, 1.0, 1.0), metadata=_THREE)
    kv: Three = field(default=(0.5, 0.5, 0.5), metadata=_THREE)
    ka: Three = field(default=(1.0, 1.0, 1.0), metadata=_THREE)
    wrt_body: str = field(default="", metadata=TEXT)
    express_body: str = field(default="", metadata=TEXT)
    r0: Three = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)
    r1: Three = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)
    r2: Three = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)


@dataclass(frozen=True)
class CoordinateTracking(TrackingTask):
    """`<CMC_Joint>`: follow a coordinate; a `limit` [rad, m] above zero raises its weight as its error comes near."""

    coordinate: str = field(default="", metadata=TEXT)
    limit: float = field(default=0.0, metadata=NUMBER)


@dataclass(frozen=True)
class PointTracking(TrackingTask):
    """`<CMC_Point>`: follow a `point` [m] of `wrt_body`, or the mass center of the model."""

    point: Three = field(default=(0.0, 0.0, 0.0), metadata=VECTOR)


@dataclass(frozen=True)
class OtherTracking:
    """A task of a kind that musculo does not follow; `element` is its kind."""

    name: str
    element: str = ""
    on: bool = True


AnyTracking: TypeAlias = CoordinateTracking | PointTracking | OtherTracking


def _other(element: Element, file: SetupFile) -> Any:
    file.note(element, f"is a task that is kept but not followed; known: {', '.join(_FOLLOWED)}")
    return OtherTracking(element.get("name", ""), str(element.tag))


_FOLLOWED: Kinds = {
    "CMC_Joint": lambda e, file: read_properties(CoordinateTracking, e, file, name=e.get("name", "")),
    "CMC_Point": lambda e, file: read_properties(PointTracking, e, file, name=e.get("name", "")),
}
_TASKS: Kinds = {**_FOLLOWED, "CMC_Orientation": _other, "StateTrackingTask": _other}


@dataclass(frozen=True)
class TrackingTasks:
    """The tasks of a file, in its order, and what is to be said of it."""

    tasks: tuple[AnyTracking, ...]
    notes: tuple[str, ...] = ()
    source: str = ""

    @property
    def coordinates(self) -> tuple[CoordinateTracking, ...]:
        """Those that follow a coordinate and count."""
        return tuple(t for t in self.tasks if isinstance(t, CoordinateTracking) and t.on and t.active[0])

    @property
    def points(self) -> tuple[PointTracking, ...]:
        """Those that follow a point and of which a component counts."""
        return tuple(t for t in self.tasks if isinstance(t, PointTracking) and t.on and any(t.active))


def read_tracking_tasks(path: PathLike) -> TrackingTasks:
    """Read the `<CMC_TaskSet>` of a file.

    Raises:
        InvalidFile: no file, no XML, no such set, or values that cannot be; the message names file, line and element.
    """
    where = checked_path(path, _KIND)
    root = parse_xml(read_bytes(path, _KIND), where, "it should hold <CMC_TaskSet>")
    found = root if root.tag == "CMC_TaskSet" else root.find(".//CMC_TaskSet")
    if found is None:
        raise InvalidFile(f"{place(root)}: the document holds no <CMC_TaskSet>; give the tasks of RRA or CMC")
    file = SetupFile(where)
    try:
        resolve_defaults(found)
        tasks = read_members(_TASKS, found, file)
    except InvalidModel as error:  # what reads the elements of models reads these, too
        raise InvalidFile(str(error)) from None
    return TrackingTasks(tasks, tuple(file.notes), where)
