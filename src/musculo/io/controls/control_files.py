"""Controls of actuators over time, as OpenSim's `ControlSetController` reads them: a table, or a `<ControlSet>`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidFile, InvalidModel
from musculo.functions import Constant, Function, PiecewiseConstant, PiecewiseLinear
from musculo.io.osim.xml import Element, flag, number, parse_xml, place, resolve_defaults, text
from musculo.io.storage import read_storage
from musculo.io.text import PathLike, checked_path, read_bytes
from musculo.results.table import Table

_KIND = "a file of controls (.sto, .mot, or .xml with <ControlSet>)"
_CONSTANT = "ControlConstant"
_OF_EXCITATION = ".excitation"  # what OpenSim's own tools write behind the names of muscles


@dataclass(frozen=True, eq=False)
class Control:
    """The control of one actuator: nodes, and what is between and beyond them."""

    name: str  # of the actuator
    time: FloatArray  # of the nodes [s], increasing
    value: FloatArray
    steps: bool = False  # from a node on, without it, until the next: the value of the next
    extrapolate: bool = True  # along the line of the two outermost nodes; the value at the end otherwise
    # What is no control of the model is kept in the file for optimizers. None: a constant that does not say, which
    # OpenSim takes for no control of the model.
    of_model: bool | None = True
    of_excitation: bool = False  # whether the file names the excitation of the actuator

    def at(self, time: FloatArray) -> FloatArray:
        """Values at some times."""
        if self.steps:
            return self.value[np.minimum(np.searchsorted(self.time, time), len(self.time) - 1)]
        found = np.interp(time, self.time, self.value)
        if self.extrapolate and len(self.time) > 1:
            for beyond, at in ((time < self.time[0], 0), (time > self.time[-1], -2)):
                slope = (self.value[at + 1] - self.value[at]) / (self.time[at + 1] - self.time[at])
                found[beyond] = self.value[at] + slope * (time[beyond] - self.time[at])
        return found

    @property
    def nodes(self) -> FloatArray:
        """Times between which it is smooth [s]."""
        return self.time

    @property
    def function(self) -> Function:
        """The same as a function of time; in steps it takes the next value at a node already."""
        time, value = self.time.tolist(), self.value.tolist()
        if len(time) == 1:
            return Constant(value[0])
        if self.steps:
            return PiecewiseConstant((time[0] - 1.0, *time[:-1]), tuple(value))
        if self.extrapolate:
            return PiecewiseLinear(tuple(time), tuple(value))
        return PiecewiseLinear((time[0] - 1.0, *time, time[-1] + 1.0), (value[0], *value, value[-1]))


def read_controls(path: PathLike) -> tuple[Control, ...]:
    """Read controls: columns of a table by actuators, or the members of a `<ControlSet>`.

    Raises:
        InvalidFile: what cannot be read, or has a control without nodes.
    """
    where = checked_path(path, _KIND)
    if where.lower().endswith((".sto", ".mot")):
        table = read_storage(path)
        if not len(table):
            raise InvalidFile(f"{where} has no rows; it should be {_KIND}")
        names = [_stated(name, table) for name in table.names]
        return tuple(
            Control(actuator_of(name), table.time, table.values[:, k], of_excitation=_is_of_excitation(name))
            for k, name in enumerate(names)
        )
    holder = control_set(path, _KIND)
    try:
        return tuple(
            replace(
                _control(element),
                of_model=_is_of_model(element),
                of_excitation=_is_of_excitation(element.get("name", "")),
            )
            for element in holder.iterfind("objects/*")
        )
    except InvalidModel as error:  # what reads the elements of models reads these, too
        raise InvalidFile(str(error)) from None


def control_set(path: PathLike, kind: str) -> Element:
    """The `<ControlSet>` of a file, with what its `<defaults>` say written into its members."""
    where = checked_path(path, kind)
    root = parse_xml(read_bytes(path, kind), where, f"it should be {kind}")
    holder = root if root.tag == "ControlSet" else root.find(".//ControlSet")
    if holder is None:
        raise InvalidFile(f"{where} holds no <ControlSet>; it should be {kind}")
    try:
        for owner in (root, holder):
            resolve_defaults(owner)
    except InvalidModel as error:
        raise InvalidFile(str(error)) from None
    return holder


def _stated(name: str, table: Table) -> str:
    """The name of a column as the file has it: tables count those of one name."""
    return name.partition("_")[2] if any(f"is called {name!r}" in note for note in table.notes) else name


def actuator_of(name: str) -> str:
    """The actuator that a control is called after, by its own name or that of its excitation."""
    return name.removesuffix(_OF_EXCITATION)


def _is_of_excitation(name: str) -> bool:
    return name.endswith(_OF_EXCITATION)


def _is_of_model(element: Element) -> bool | None:
    if element.tag == _CONSTANT and not text(element, "is_model_control"):
        return None
    return flag(element, "is_model_control", True)


def _control(element: Element) -> Control:
    name = actuator_of(element.get("name", ""))
    if element.tag == _CONSTANT:
        return Control(name, np.zeros(1), np.array([number(element, "value", 0.0)]))
    if element.tag != "ControlLinear":
        raise InvalidFile(
            f"{place(element)}: <{element.tag}> {name!r} is not a kind of control that is known; known are "
            "<ControlLinear> and <ControlConstant>"
        )
    nodes = list(element.iterfind("x_nodes/ControlLinearNode"))
    if not nodes:
        raise InvalidFile(f"{place(element)}: the control {name!r} has no nodes; give it <x_nodes>")
    time, value = (np.array([number(node, tag, None) for node in nodes]) for tag in ("t", "value"))

    if (np.diff(time) <= 0.0).any():
        raise InvalidFile(f"{place(element)}: the times of the control {name!r} do not increase; sort its nodes")
    return Control(name, time, value, flag(element, "use_steps", False), flag(element, "extrapolate", True))


class Driving(NamedTuple):
    """Controls of one file that drive actuators, one each, and what is to be said of the others."""

    controls: tuple[Control, ...]
    notes: tuple[str, ...]


def driving(controls: Sequence[Control], exact: bool) -> Driving:
    """Which controls of a file drive actuators: those of the model, and the first of each actuator.

    OpenSim counts the controls of the model and uses as many from the first one on, whatever they are; the exact method
    uses the controls of the model. Of one actuator both prefer what has its plain name to its excitation.
    """
    own = [one for one in controls if one.of_model or (exact and one.of_model is None)]
    used, known = (own, own) if exact else (controls[: len(own)], controls)
    of_actuators = {name: [one for one in known if one.name == name] for name in dict.fromkeys(x.name for x in used)}
    chosen = {name: min(some, key=lambda one: one.of_excitation) for name, some in of_actuators.items()}
    twice = [name for name, some in of_actuators.items() if len(some) > 1]
    unsaid = [one.name for one in controls if one.of_model is None]
    others = [one.name for one in controls if one.of_model is False]
    notes = []
    if unsaid and exact:
        notes.append(
            f"constant without is_model_control, which drives its actuator: {_listed(unsaid)}; OpenSim 4.6 takes it "
            "for no model control: state <is_model_control>true</is_model_control>"
        )
    elif unsaid:
        notes.append(
            f"constant without is_model_control, which OpenSim takes for no model control: {_listed(unsaid)}; state "
            "<is_model_control>true</is_model_control> (--exact takes it for one)"
        )
    if others:
        notes.append(f"no model control: {_listed(others)}")
    lost = [one.name for one in controls if one.name not in chosen]
    if lost:
        notes.append(f"control that drives nothing: {_listed(lost)}")
    if any(one.of_model is not True for one in used) and not exact:
        notes.append(
            f"of its controls the first {len(used)} are used, as OpenSim does, since {len(own)} are model controls, "
            "though those are others: write model controls first (--exact uses the model controls)"
        )
    if twice:
        notes.append(
            f"several controls of one actuator, of which one alone is used, as in OpenSim: {_listed(twice)} (the first "
            "of its plain name, if there is one)"
        )
    return Driving(tuple(chosen.values()), tuple(notes))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in dict.fromkeys(names[:3]))
    return shown + (f" and {len(names) - 3} more" if len(names) > 3 else "")
