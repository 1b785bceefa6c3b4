"""Controllers of set-ups and of models: what gives controls to actuators."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from musculo.functions import Function
from musculo.io.osim.context import Context
from musculo.io.osim.functions import is_function, read_function
from musculo.io.osim.xml import Element, flag, names, parse_xml, text, whole
from musculo.model.model import Model

CONTROL_SET_CONTROLLER, PRESCRIBED_CONTROLLER = "ControlSetController", "PrescribedController"
COMPUTED = (CONTROL_SET_CONTROLLER, PRESCRIBED_CONTROLLER)


@dataclass(frozen=True)
class Controller:
    """A controller of a set-up or of a model.

    Args:
        kind: the element.
        name: of the controller.
        enabled: whether it is on; OpenSim's tools switch those on that have a file of controls.
        controls_file: of a `ControlSetController` or `PrescribedController`.
        actuators: names of the actuators that a `PrescribedController` drives; the word ALL stands for all.
        functions: of time, one for each of these actuators, in their order.
        interpolation: of the rows of the file of a `PrescribedController`: 0 constant, else the degree of a spline.
    """

    kind: str
    name: str
    enabled: bool = True
    controls_file: Path | None = None
    actuators: tuple[str, ...] = ()
    functions: tuple[Function, ...] = ()
    interpolation: int = 1


def controller_of(element: Element, path_of: Callable[[str], Path | None]) -> Controller:
    """What an element of a ControllerSet states; `path_of` makes a path of the name of a file."""
    stated = text(element, "controls_file")
    on = flag(element, "enabled", not flag(element, "isDisabled", False))
    file = None if stated in ("", "Unassigned") else path_of(stated)
    found = Controller(str(element.tag), element.get("name", ""), on, file)
    return _prescribed(element, found) if found.kind == PRESCRIBED_CONTROLLER else found


def _prescribed(element: Element, controller: Controller) -> Controller:
    """Functions stand in a `FunctionSet` of the property's name, as newer files have it, or in the property itself."""
    sets = [child for child in element if "ControlFunctions" in (child.tag, child.get("name", ""))]
    listed = names(element, "socket_actuators") or names(element, "actuator_list")
    context = Context(element)
    return Controller(
        controller.kind,
        controller.name,
        controller.enabled,
        controller.controls_file,
        tuple(one.rsplit("/", 1)[-1] for one in listed),
        tuple(read_function(one, context) for held in sets for one in held.iterfind("objects/*") if is_function(one)),
        whole(element, "interpolation_method", 1),
    )


def controllers_of_model(model: Model, folder: Path) -> tuple[Controller, ...]:
    """The controllers that a model carries along, with files that count from a folder."""
    parts = [parse_xml(part.xml.encode(), model.name, "") for part in model.carried if part.owner == "ControllerSet"]
    return tuple(controller_of(element, lambda stated: folder / stated) for element in parts if element.tag != "groups")
