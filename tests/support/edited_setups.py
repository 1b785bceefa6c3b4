"""What OpenSim and `run_setup` make of one set-up: the files that they write, compared column by column.

The set-ups are complete ones on the arm that ships, so that an edit finds every property of every tool.
"""

from __future__ import annotations

import os
import re
import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from support.edited_models import Verdict

_MARKERS = ("acromion", "upper_arm", "elbow_lateral", "elbow_medial", "forearm", "wrist_radial", "wrist_ulnar")
_TASKS = "".join(
    f'<IKMarkerTask name="{name}"><apply>true</apply><weight>{1 + k}</weight></IKMarkerTask>'
    for k, name in enumerate(_MARKERS)
)
_COORDINATE_TASK = (
    '<IKCoordinateTask name="shoulder_flexion"><apply>true</apply><weight>0.01</weight>'
    "<value_type>manual_value</value_type><value>0.05</value></IKCoordinateTask>"
)
_TASK_SET = f"<IKTaskSet><objects>{_TASKS}{_COORDINATE_TASK}</objects><groups/></IKTaskSet>"


def _pairs(*pairs: str) -> str:
    inner = "".join(f'<MarkerPair name=""><markers>{pair}</markers></MarkerPair>' for pair in pairs)
    return f'<MarkerPairSet name=""><objects>{inner}</objects></MarkerPairSet>'


def _body_scale(body: str, axes: str) -> str:
    return (
        f'<BodyScaleSet name=""><objects><BodyScale name="{body}"><axes>{axes}</axes></BodyScale></objects>'
        "</BodyScaleSet>"
    )


def _document(tool: str, content: str) -> str:
    return f'<OpenSimDocument Version="40600"><{tool} name="arm">{content}</{tool}></OpenSimDocument>'


def _analysis(kind: str, more: str) -> str:
    return (
        f'<{kind} name="{kind}"><on>true</on><start_time>0.1</start_time><end_time>0.2</end_time>'
        f"<step_interval>1</step_interval><in_degrees>true</in_degrees>{more}</{kind}>"
    )


def _analyze(*analyses: str) -> str:
    return _document(
        "AnalyzeTool",
        "<model_file>arm.osim</model_file><replace_force_set>false</replace_force_set>"
        "<force_set_files>reserves.xml</force_set_files><results_directory>results</results_directory>"
        "<output_precision>12</output_precision><initial_time>0.1</initial_time><final_time>0.2</final_time>"
        "<solve_for_equilibrium_for_auxiliary_states>true</solve_for_equilibrium_for_auxiliary_states>"
        "<maximum_number_of_integrator_steps>20000</maximum_number_of_integrator_steps>"
        "<maximum_integrator_step_size>1</maximum_integrator_step_size>"
        f'<AnalysisSet name="Analyses"><objects>{"".join(analyses)}</objects><groups/></AnalysisSet>'
        '<ControllerSet name="Controllers"><objects/><groups/></ControllerSet>'
        "<external_loads_file>loads.xml</external_loads_file><states_file></states_file>"
        "<coordinates_file>motion.mot</coordinates_file><speeds_file></speeds_file>"
        "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>",
    )


SETUPS = {
    "scale": _document(
        "ScaleTool",
        "<mass>5.5</mass><height>1800</height><age>30</age><notes>nobody</notes>"
        '<GenericModelMaker name=""><model_file>arm.osim</model_file><marker_set_file>Unassigned</marker_set_file>'
        '</GenericModelMaker><ModelScaler name=""><apply>true</apply>'
        '<scaling_order>measurements manualScale</scaling_order><MeasurementSet name="set"><objects>'
        f'<Measurement name="upper"><apply>true</apply>{_pairs("acromion elbow_lateral", "acromion elbow_medial")}'
        f"{_body_scale('humerus', 'X Y Z')}</Measurement>"
        f'<Measurement name="lower"><apply>true</apply>{_pairs("elbow_lateral wrist_radial")}'
        f'{_body_scale("forearm", "X Z")}</Measurement></objects></MeasurementSet><ScaleSet name="manual"><objects>'
        '<Scale name=""><scales>1.1 0.9 1.05</scales><segment>forearm</segment><apply>true</apply></Scale>'
        "</objects></ScaleSet><marker_file>markers.trc</marker_file><time_range>0.1 0.2</time_range>"
        "<preserve_mass_distribution>true</preserve_mass_distribution>"
        "<output_model_file>scaled_only.osim</output_model_file><output_scale_file>factors.xml</output_scale_file>"
        f'</ModelScaler><MarkerPlacer name=""><apply>true</apply>{_TASK_SET}<marker_file>markers.trc</marker_file>'
        "<coordinate_file></coordinate_file><time_range>0.1 0.2</time_range>"
        "<output_motion_file>static.mot</output_motion_file><output_model_file>placed.osim</output_model_file>"
        "<output_marker_file>Unassigned</output_marker_file><max_marker_movement>-1</max_marker_movement>"
        "</MarkerPlacer>",
    ),
    "ik": _document(
        "InverseKinematicsTool",
        "<results_directory>results</results_directory><model_file>arm.osim</model_file>"
        "<constraint_weight>Inf</constraint_weight><accuracy>1e-9</accuracy><time_range>0.1 0.2</time_range>"
        f"<output_motion_file>ik.mot</output_motion_file><report_errors>true</report_errors>{_TASK_SET}"
        "<marker_file>markers.trc</marker_file><coordinate_file>motion.mot</coordinate_file>"
        "<report_marker_locations>true</report_marker_locations>",
    ),
    "id": _document(
        "InverseDynamicsTool",
        "<results_directory>results</results_directory><model_file>arm.osim</model_file>"
        "<time_range>0.1 0.2</time_range><forces_to_exclude>Muscles</forces_to_exclude>"
        "<external_loads_file>loads.xml</external_loads_file><coordinates_file>motion.mot</coordinates_file>"
        "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>"
        "<output_gen_force_file>id.sto</output_gen_force_file>"
        "<joints_to_report_body_forces>elbow</joints_to_report_body_forces>"
        "<output_body_forces_file>body_forces.sto</output_body_forces_file>",
    ),
    "so": _analyze(
        _analysis(
            "StaticOptimization",
            "<use_model_force_set>true</use_model_force_set><activation_exponent>2</activation_exponent>"
            "<use_muscle_physiology>true</use_muscle_physiology>"
            "<optimizer_convergence_criterion>1e-8</optimizer_convergence_criterion>"
            "<optimizer_max_iterations>500</optimizer_max_iterations>",
        )
    ),
    "motion": _analyze(
        _analysis("Kinematics", "<coordinates>all</coordinates>"),
        _analysis(
            "BodyKinematics",
            "<bodies>all</bodies><express_results_in_body_local_frame>false</express_results_in_body_local_frame>",
        ),
        _analysis(
            "PointKinematics",
            "<body_name>forearm</body_name><relative_to_body_name>humerus</relative_to_body_name>"
            "<point_name>tip</point_name><point>0.01 -0.2 0.03</point>",
        ),
    ),
    "forces": _analyze(
        _analysis("Actuation", ""),
        _analysis("ForceReporter", "<include_constraint_forces>true</include_constraint_forces>"),
        _analysis(
            "MuscleAnalysis",
            "<muscle_list>all</muscle_list><moment_arm_coordinate_list>all</moment_arm_coordinate_list>"
            "<compute_moments>true</compute_moments>",
        ),
        _analysis(
            "JointReaction",
            "<forces_file></forces_file><joint_names>ALL</joint_names><apply_on_bodies>child</apply_on_bodies>"
            "<express_in_frame>ground</express_in_frame>",
        ),
    ),
}
LOADS = _document(
    "ExternalLoads",
    '<objects><ExternalForce name="push"><appliesForce>true</appliesForce><applied_to_body>forearm</applied_to_body>'
    "<force_expressed_in_body>ground</force_expressed_in_body><point_expressed_in_body>forearm"
    "</point_expressed_in_body><force_identifier>push_v</force_identifier><point_identifier>push_p</point_identifier>"
    "<torque_identifier>push_m</torque_identifier><data_source_name>loads.sto</data_source_name></ExternalForce>"
    "</objects><groups/><datafile>loads.sto</datafile>",
)
RESERVES = (
    '<OpenSimDocument Version="40600"><ForceSet name="reserves"><objects>'
    + "".join(
        f'<CoordinateActuator name="{joint}_motor"><appliesForce>true</appliesForce><coordinate>{joint}_flexion'
        "</coordinate><optimal_force>10</optimal_force><min_control>-5</min_control><max_control>5</max_control>"
        "</CoordinateActuator>"
        for joint in ("shoulder", "elbow")
    )
    + "</objects><groups/></ForceSet></OpenSimDocument>"
)


def folder_of_setups(folder: Path) -> Path:
    """The arm, a recording, loads and every set-up, in a new folder."""
    from musculo.demo import ARM_FILE, ARM_FLEXION_FILE
    from musculo.demo.chain import arm_chain
    from musculo.io.trc import write_trc

    folder.mkdir(parents=True)
    shutil.copy(ARM_FILE, folder / "arm.osim")
    shutil.copy(ARM_FLEXION_FILE, folder / "motion.mot")
    write_trc(arm_chain().markers, folder / "markers.trc", "mm")
    for name, text in {**SETUPS, "loads": LOADS, "reserves": RESERVES}.items():
        (folder / f"{name}.xml").write_text(text)
    columns = [f"push_{part}{axis}" for part in "vpm" for axis in "xyz"]
    rows = [[t, 3.0, -5.0 - t, 1.0, 0.01, -0.2, 0.0, 0.1, 0.0, 0.2 * t] for t in np.linspace(0.0, 1.0, 101)]
    lines = ["\t".join(repr(float(x)) for x in row) for row in rows]
    head = f"loads\nversion=1\nnRows=101\nnColumns=10\ninDegrees=no\nendheader\n{chr(9).join(['time', *columns])}\n"
    (folder / "loads.sto").write_text(head + "\n".join(lines) + "\n")
    return folder


# --- OpenSim's side: runs in a child of `opensim_server` --------------------------------------------------------------
def _run(o: Any, setup: str) -> dict:
    from xml.etree import ElementTree

    path = Path(setup)
    os.chdir(path.parent)
    root = ElementTree.parse(path).getroot()
    tool = root[0].tag if root.tag == "OpenSimDocument" else root.tag
    if not hasattr(o, tool) or "Tool" not in tool:
        return {"error": f"no tool {tool}"}
    return {} if getattr(o, tool)(path.name).run() else {"error": "the tool failed"}


# --- the comparison ---------------------------------------------------------------------------------------------------
def written(folder: Path, before: set[str]) -> dict[str, dict[str, np.ndarray]]:
    """Every table and model that was written into a folder, as columns by name."""
    from musculo import read_osim, read_storage

    found = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if name in before or not file.is_file():
            continue
        if file.suffix in (".sto", ".mot"):
            table = read_storage(file)
            found[name] = {"time": table.time, **{c: table.values[:, k] for k, c in enumerate(table.names)}}
        elif file.suffix == ".osim":
            model = read_osim(file)
            columns = {f"body {b.name}": np.array([b.mass, *b.mass_center, *b.inertia]) for b in model.bodies}
            columns |= {f"marker {m.name}": np.array(m.location) for m in model.markers}
            columns |= {
                f"joint {j.name}": np.array([*j.parent.translation, *j.child.translation]) for j in model.joints
            }
            found[name] = columns
    return found


def unlike(theirs: dict, own: dict) -> dict[str, float]:
    """By file and column: the largest difference relative to the column's size; infinite where one side has none."""
    found: dict[str, float] = {}
    for name in theirs.keys() | own.keys():
        a, b = theirs.get(name), own.get(name)
        if a is None or b is None:
            found[f"{name} only of {'musculo' if a is None else 'OpenSim'}"] = np.inf
            continue
        size = max([1e-3, *(np.abs(x[np.isfinite(x)]).max(initial=0.0) for c, x in a.items() if c != "time")])
        for column in a.keys() | b.keys():
            x, y = a.get(column), b.get(column)
            if x is None or y is None or x.shape != y.shape:
                found[f"{name} {column}"] = np.inf
                continue
            apart = np.abs(x - y) / size
            apart[np.isnan(x)] = 0.0  # OpenSim has no number
            found[f"{name} {column}"] = float(np.nan_to_num(apart, nan=np.inf).max(initial=0.0))
    return found


def ours(setup: Path) -> tuple[str, set[str]]:
    """Run a set-up with musculo: what refuses it, or nothing, and all that is said of it."""
    import musculo
    from musculo.opensim_tools.setup_runner import run_setup

    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = run_setup(setup, compare=False)
        except musculo.MusculoError as error:
            return str(error), set()
    told = {*result.notes, *result.troubles, *(str(w.message) for w in warned)}
    # Numbers, and names in brackets beside them, are results: only other words are news.
    return "", {re.sub(r"\([^)]*\)|[\d.e+-]*\d", "#", one) for one in told}


def _accuracy(setup: Path) -> float:
    """How far OpenSim's inverse kinematics goes on, which is no matter of ours: we go on to rounding.

    It stops where the weighted squares change by less than its accuracy, so one large weight makes it stop early: with
    1000 for one marker of the arm a simplex search over the same objective ends 6e-9 rad from our pose and 1e-2 from
    OpenSim's (1e-10 and 2e-5 with all weights as they are). Differences of that size do not count here.
    """
    text = setup.read_text()
    weights = sum(float(word) for word in re.findall(r"<weight>([^<]*)</weight>", text) if word)
    if "<InverseKinematicsTool" not in text:
        return 1e-5 * weights if "<ScaleTool" in text else 0.0
    stated = re.search(r"<accuracy>([^<]*)</accuracy>", text)
    # OpenSim's default is 1e-5; errors add up over frames
    return 50.0 * float(stated.group(1)) if stated else 1e-4


def judge(
    folders: tuple[Path, Path], before: set[str], setup: str, answer: dict, known: set[str], usual: dict[str, float]
) -> Verdict:
    """Compare what OpenSim left in the first folder with what we leave in the second.

    Args:
        known: what is said of the set-up before the edit: it explains nothing.
        usual: how far the results of the set-up are apart before the edit.
    """
    error, told = ours(folders[1] / setup)
    refused = answer.get("error", "")
    if error:
        return Verdict("refused by both" if refused else "refused by us", f"{error} | {refused}")
    new = told - known
    if refused:
        crashed = answer.get("crashed") or "bad_alloc" in refused
        kind = "OpenSim crashes" if crashed else "OpenSim refuses"
        if new or crashed:
            return Verdict(f"{kind}, noted" if new else kind, f"{refused} | {sorted(new)}")
        return Verdict("SILENT: OpenSim refuses", refused)
    apart = unlike(written(folders[0], before), written(folders[1], before))
    most = 20.0 * max([1e-6, _accuracy(folders[1] / setup), *(v for v in usual.values() if np.isfinite(v))])
    far = {key: value for key, value in apart.items() if value > most and not np.isinf(usual.get(key, 0.0))}
    if not far:
        return Verdict("equal")
    detail = "; ".join(f"{key}: {value:.2g}" for key, value in sorted(far.items())[:5])
    return Verdict("noted", f"{detail} | {sorted(new)}") if new else Verdict("SILENT: differs", detail)
