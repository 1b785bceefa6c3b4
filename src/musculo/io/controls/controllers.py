"""Controllers of set-ups and of models: what gives controls to actuators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName, Unsupported
from musculo.functions import Function, PiecewiseConstant, PiecewiseLinear
from musculo.io.osim.context import Context
from musculo.io.osim.elements.functions import is_function, read_function
from musculo.io.osim.xml import Element, flag, names, parse_xml, text, whole
from musculo.io.storage import read_storage
from musculo.model.model import Model

CONTROL_SET_CONTROLLER, PRESCRIBED_CONTROLLER = "ControlSetController", "PrescribedController"
COMPUTED = (CONTROL_SET_CONTROLLER, PRESCRIBED_CONTROLLER)
ALL = "ALL"  # in the place of names of actuators


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


@dataclass(frozen=True)
class PrescribedControl:
    """What a `PrescribedController` gives to one actuator: a function of time."""

    name: str  # of the actuator
    function: Function

    @property
    def nodes(self) -> FloatArray:
        """Times between which it is smooth [s]."""
        return np.asarray(getattr(self.function, "x", ()), dtype=float)

    def at(self, time: FloatArray) -> FloatArray:
        """Values at some times."""
        found = np.asarray(self.function(time), dtype=float)
        return np.array(np.broadcast_to(found, np.shape(time)))


def prescribed_controls(controller: Controller, actuators: Sequence[str]) -> tuple[PrescribedControl, ...]:
    """What a `PrescribedController` gives to the actuators of a model, in the order of the model.

    Its functions belong to the actuators that it lists, in their order. Without any, the columns of its file do, to
    actuators of their names; between rows they are as `interpolation` says, and beyond they keep the values of the
    ends. OpenSim 4.6 refuses a controller that has a file and lists actuators.

    Raises:
        InvalidInput: the numbers of actuators and functions differ.
        UnknownName: an actuator that the model does not have.
    """
    whose = f"controller {controller.name!r}"
    if controller.controls_file is not None and not controller.functions:
        table = read_storage(controller.controls_file)
        columns = zip(table.names, table.values.T, strict=True)
        given = {name: _between_rows(table.time, column, controller) for name, column in columns}
    else:
        listed = tuple(actuators) if ALL in controller.actuators else controller.actuators
        if len(listed) != len(controller.functions):
            raise InvalidInput(
                f"{whose} drives {len(listed)} actuators ({', '.join(listed[:4])}) and has "
                f"{len(controller.functions)} functions; give it one for each, in the same order"
            )
        given = dict(zip(listed, controller.functions, strict=True))
    for name in given:
        if name not in actuators:
            raise UnknownName("actuator", name, actuators, whose)
    return tuple(PrescribedControl(name, function) for name, function in given.items())


def _between_rows(time: FloatArray, values: FloatArray, controller: Controller) -> Function:
    """A column of a file as a function; it keeps the values of its ends."""
    if len(time) == 0:
        raise InvalidInput(f"{controller.controls_file} has no rows; controller {controller.name!r} needs one at least")
    x, y, degree = time.tolist(), values.tolist(), controller.interpolation
    if degree == 0 or len(x) == 1:
        return PiecewiseConstant(tuple(x), tuple(y))
    if degree != 1:
        raise Unsupported(
            f"controller {controller.name!r}: interpolation_method {degree} of {controller.controls_file}; known are 0 "
            "(constant) and 1 (lines); OpenSim 4.6 fails with others"
        )
    return PiecewiseLinear((x[0] - 1.0, *x, x[-1] + 1.0), (y[0], *y, y[-1]))


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
