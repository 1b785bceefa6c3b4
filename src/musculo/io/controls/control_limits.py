"""Limits of controls over time, as `<constraints_file>` of RRA and CMC names them: the bounds of a `<ControlSet>`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidFile, InvalidModel
from musculo.io.controls.control_files import Control, actuator_of, control_set
from musculo.io.osim.xml import Element, flag, number, place
from musculo.io.text import PathLike

_KIND = "a file of limits of controls (.xml with <ControlSet>)"
# OpenSim's own, of every ControlLinear.
_LEAST, _MOST = 0.02, 1.0


@dataclass(frozen=True, eq=False)
class ControlLimits:
    """Between which values a control may be, and how it goes between its nodes.

    Where a bound has nodes it follows them over time; otherwise it is constant.

    Args:
        name: of the actuator.
        least, most: the bounds where there are no nodes.
        lower, upper: the nodes of a bound.
        steps: whether the control is constant between nodes, in the files that CMC writes and while it runs.
    """

    name: str
    least: float = _LEAST
    most: float = _MOST
    lower: Control | None = None
    upper: Control | None = None
    steps: bool = False

    def at(self, time: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and the largest value at some times."""
        time = np.asarray(time, dtype=float)
        bounds = ((self.lower, self.least), (self.upper, self.most))
        low, high = (np.full(time.shape, fixed) if of is None else of.at(time) for of, fixed in bounds)
        return low, high


def read_control_limits(path: PathLike) -> tuple[ControlLimits, ...]:
    """Read the limits of controls from the `<ControlSet>` of a file.

    Bounds without nodes are `<default_min>` and `<default_max>`. As in OpenSim, nodes of the upper bound alone are
    ignored. Where a file gives `<min_nodes>` alone OpenSim has no number for the upper bound; here it is
    `<default_max>`.

    Raises:
        InvalidFile: what cannot be read.
    """
    try:
        return tuple(_limits(element) for element in control_set(path, _KIND).iterfind("objects/*"))
    except InvalidModel as error:  # what reads the elements of models reads these, too
        raise InvalidFile(str(error)) from None


def _limits(element: Element) -> ControlLimits:
    if element.tag not in ("ControlLinear", "ControlConstant"):
        raise InvalidFile(
            f"{place(element)}: <{element.tag}> is not a kind of control that is known; known are <ControlLinear> and "
            "<ControlConstant>"
        )
    name = actuator_of(element.get("name", ""))
    steps, extrapolate = flag(element, "use_steps", False), flag(element, "extrapolate", True)
    lower, upper = (_nodes(element, tag, name, steps, extrapolate) for tag in ("min_nodes", "max_nodes"))
    return ControlLimits(
        name,
        number(element, "default_min", _LEAST),
        number(element, "default_max", _MOST),
        lower,
        upper if lower is not None else None,
        steps,
    )


def _nodes(element: Element, tag: str, name: str, steps: bool, extrapolate: bool) -> Control | None:
    nodes = list(element.iterfind(f"{tag}/ControlLinearNode"))
    if not nodes:
        return None
    time, value = (np.array([number(node, part, None) for node in nodes]) for part in ("t", "value"))
    if (np.diff(time) <= 0.0).any():
        raise InvalidFile(f"{place(element)}: the times of <{tag}> of {name!r} do not increase; sort its nodes")
    return Control(name, time, value, steps, extrapolate)
