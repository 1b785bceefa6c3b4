"""Old layouts of set-up files, changed into that of OpenSim 4.6 as OpenSim changes them."""

from __future__ import annotations

from copy import deepcopy

from musculo.io.osim.xml import Element, drop, ensure, flag, invalid, put, text
from musculo.io.setup.setup_properties import UNASSIGNED, SetupFile

# What an inverse dynamics analysis shared with all analyses, and the tool does not know.
_OF_ANALYSES = ("on", "in_degrees", "step_interval", "start_time", "end_time", "use_model_force_set")


def upgrade_setup(tool: Element, version: int, bare: bool, file: SetupFile) -> None:
    """Change the element of a tool in place. `bare` is a document of which the tool itself is the root."""
    if tool.tag == "IKTool":
        _flatten_trial(tool, bare, file)
    if version < 10900:
        _rename(tool, "replace_actuator_set", "replace_force_set")
    if version < 10904:
        _rename(tool, "actuator_set_files", "force_set_files")
        _controls_file(tool)
    if tool.tag == "ForwardTool":
        _note_springs(tool, version, file)
    if version < 20001:
        _note_loads(tool, file)
    if version < 20202 and tool.tag == "AnalyzeTool" and tool.find("AnalysisSet/objects/InverseDynamics") is not None:
        _analysis_to_tool(tool, file)


# Of springs that once pulled a simulation to a recording; OpenSim 2 and later have none.
_OF_SPRINGS = ("spring", "scaling_rise_time")


def _note_springs(tool: Element, version: int, file: SetupFile) -> None:
    """One word about springs for all their properties: before 1.9.4 OpenSim makes a controller of them."""
    found = [child for child in tool if any(word in child.tag for word in _OF_SPRINGS)]
    active = [child for child in found if child.tag.endswith("_active") and flag(tool, child.tag, False)]
    made = version < 10904 and any(child.tag.endswith("_active") for child in found)
    if made or active:
        does = "OpenSim makes a <CorrectionController> of it, which is not computed" if made else "OpenSim ignores it"
        file.note((active or found)[0], f"asks for corrective springs, which are not used; {does}")
    for child in found:
        drop(child)


def _rename(tool: Element, old: str, new: str) -> None:
    if tool.find(new) is None:
        for child in tool.findall(old):
            child.tag = new


def _controls_file(tool: Element) -> None:
    """Controls named by the tool itself became a controller."""
    stated = text(tool, "controls_file")
    drop(tool.find("controls_file"))
    if stated and stated != UNASSIGNED:
        members = ensure(ensure(tool, "ControllerSet"), "objects")
        put(ensure(members, "ControlSetController"), "controls_file", stated)


def _note_loads(tool: Element, file: SetupFile) -> None:
    found = tool.find("external_loads_file")
    stated = text(tool, "external_loads_file")
    if found is not None and stated not in ("", UNASSIGNED) and not stated.lower().endswith(".xml"):
        bodies = " and ".join(repr(text(tool, f"external_loads_body{k}")) for k in (1, 2))
        file.note(found, f"is a table of loads on {bodies}, as before OpenSim 2.0; make an external loads file for it")
    for k in (1, 2):
        drop(tool.find(f"external_loads_body{k}"))


def _flatten_trial(tool: Element, bare: bool, file: SetupFile) -> None:
    """Before 2.2 one set-up held several trials; OpenSim takes the first."""
    tool.tag = "InverseKinematicsTool"
    trials = tool.findall("IKTrialSet/objects/IKTrial")
    if not trials:
        raise invalid(tool, "<IKTool> holds no <IKTrial>, so there is nothing to solve; add one to its <IKTrialSet>")
    for other in trials[1:]:
        file.note(other, "is not the first trial, and is ignored, as OpenSim does")
    drop(tool.find("optimizer_algorithm"))
    tool.extend(deepcopy(child) for child in trials[0])
    for tag, value in (("constraint_weight", "20"), ("accuracy", "1e-5" if bare else "1e-4")):
        if tool.find(tag) is None:
            put(tool, tag, value)
    drop(tool.find("IKTrialSet"))


def _analysis_to_tool(tool: Element, file: SetupFile) -> None:
    """Before 2.2 inverse dynamics was an analysis."""
    tool.tag = "InverseDynamicsTool"
    holder = tool.find("AnalysisSet")
    analysis = holder.find("objects/InverseDynamics")
    for other in holder.iterfind("objects/*"):
        if other is not analysis:
            file.note(other, "stands beside an inverse dynamics analysis, and is ignored, as OpenSim does")
    span = f"{text(tool, 'initial_time') or '-inf'} {text(tool, 'final_time') or 'inf'}"
    for tag in ("initial_time", "final_time", "output_precision"):
        drop(tool.find(tag))
    tool.extend(deepcopy(child) for child in analysis if child.tag not in _OF_ANALYSES)
    put(tool, "time_range", span)
    put(tool, "forces_to_exclude", "" if flag(analysis, "use_model_force_set", False) else "Muscles")
    put(tool, "output_gen_force_file", f"{tool.get('name', '')}_InverseDynamics.sto")
    drop(holder)
