"""`read_setup`: the set-up file of an OpenSim tool as a frozen value."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeAlias

from musculo.errors import InvalidFile, InvalidModel
from musculo.io.osim.xml import Element, parse_xml, place, resolve_defaults, restore_colons, text
from musculo.io.setup.dynamics_setups import AnalyzeSetup, InverseDynamicsSetup
from musculo.io.setup.kinematics_setups import TASK_KINDS, InverseKinematicsSetup, Task
from musculo.io.setup.scale_setup import ScaleSetup
from musculo.io.setup.sensor_setups import IMUInverseKinematicsSetup, IMUPlacerSetup
from musculo.io.setup.setup_properties import HINT, KIND, SetupFile, read_members, read_properties
from musculo.io.setup.simulation_setups import CMCSetup, ForwardSetup, RRASetup
from musculo.io.setup.upgrade_setup import upgrade_setup
from musculo.io.text import PathLike, checked_path, read_bytes

Setup: TypeAlias = (
    ScaleSetup
    | InverseKinematicsSetup
    | InverseDynamicsSetup
    | AnalyzeSetup
    | ForwardSetup
    | RRASetup
    | CMCSetup
    | IMUPlacerSetup
    | IMUInverseKinematicsSetup
)
TOOLS: dict[str, type[Any]] = {
    "ScaleTool": ScaleSetup,
    "InverseKinematicsTool": InverseKinematicsSetup,
    "InverseDynamicsTool": InverseDynamicsSetup,
    "AnalyzeTool": AnalyzeSetup,
    "ForwardTool": ForwardSetup,
    "RRATool": RRASetup,
    "CMCTool": CMCSetup,
    "IMUPlacer": IMUPlacerSetup,
    "IMUInverseKinematicsTool": IMUInverseKinematicsSetup,
}
_OLD = ("IKTool",)
# OpenSim takes a file without <OpenSimDocument> for one of this version.
_BARE_VERSION = 10500


def read_setup(path: PathLike) -> Setup:
    """Read the set-up file of OpenSim's tools.

    They scale, do inverse kinematics and dynamics, analyses, simulations, RRA, CMC, and work with IMUs.

    Files may be of any version.

    Paths in it count from its own folder (OpenSim opens the `model_file` of its inverse tools from the working
    directory instead). What is not used stands in `notes`.

    Raises:
        InvalidFile: no file, no XML, no set-up of a tool that is known, or values that cannot be; the message names
            file, line and element.
    """
    where = checked_path(path, KIND)
    file = SetupFile(where)
    root = parse_xml(read_bytes(path, KIND), where, HINT, file.notes)
    try:
        tool, version = _tool(root)
        resolve_defaults(tool)
        upgrade_setup(tool, version, tool is root, file)
        kind = TOOLS[tool.tag]
        given: dict[str, Any] = {"name": tool.get("name", "")}
        if tool.find("results_directory") is None and "results_directory" in kind.__dataclass_fields__:
            given["results_directory"] = file.folder
        if "states_time_range" in kind.__dataclass_fields__:
            given["states_time_range"] = bool(text(tool, "time_range"))
        if "states_final_time" in kind.__dataclass_fields__:
            given["states_final_time"] = bool(text(tool, "final_time"))
        setup = read_properties(kind, tool, file, **given)
    except InvalidModel as error:  # what reads the elements of models reads these, too
        raise InvalidFile(str(error)) from None
    result: Setup = replace(setup, notes=tuple(file.notes), source=where, included=tuple(file.included))
    return result


def read_tasks(path: PathLike) -> tuple[Task, ...]:
    """Read the `<IKTaskSet>` of a file, alone or in the set-up of a tool: weights of markers and coordinates."""
    where = checked_path(path, "a file of inverse kinematics tasks (.xml)")
    root = parse_xml(read_bytes(path, "a file of inverse kinematics tasks (.xml)"), where, "it should hold <IKTaskSet>")
    found = next(root.iter("IKTaskSet"), None)
    if found is None:
        raise InvalidFile(f"{place(root)}: the document holds no <IKTaskSet>; give the tasks, or a set-up with tasks")
    file = SetupFile(where)
    try:
        return read_members(TASK_KINDS, file.inline(found), file)
    except InvalidModel as error:
        raise InvalidFile(str(error)) from None


def _tool(root: Element) -> tuple[Element, int]:
    """The element of the tool, and the version of the document."""
    if root.tag in TOOLS or root.tag in _OLD:
        return root, _BARE_VERSION
    if root.tag != "OpenSimDocument":
        raise InvalidFile(f"{place(root)}: the root element is <{restore_colons(root.tag)}>; {HINT}")
    stated = root.get("Version", "")
    if not (stated.isascii() and stated.isdigit() and len(stated) < 9):
        raise InvalidFile(f'{place(root)}: <OpenSimDocument> has Version="{stated:.40}", not a number; {HINT}')
    for child in root:
        if child.tag in TOOLS or child.tag in _OLD:
            return child, int(stated)
    held = ", ".join(f"<{restore_colons(child.tag)}>" for child in root[:4]) or "nothing"
    raise InvalidFile(f"{place(root)}: the document holds {held:.200}; known tools: {', '.join((*TOOLS, *_OLD))}")
