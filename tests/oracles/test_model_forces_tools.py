"""`musculo run` on models with forces of their own against OpenSim's tools: limits, expressions, contacts."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from lxml import etree
from numpy.testing import assert_allclose

from musculo import read_osim, read_storage
from musculo.io.tool_results import write_result
from musculo.opensim import run_setup
from support.opensim_run import run_opensim

pytest.importorskip("opensim")

# Half a unit of the eighth decimal on either side, and rounding of accelerations and forces up to 1e5.
PRINTED, RELATIVE = 2e-8, 1e-9
# OpenSim's assembly moves coordinates that fit their couplers already, by so little in the arm; in the walker, where
# test_assembly_opensim says why, a thousand times as much.
ASSEMBLED = 1e-8
# IPOPT at a tight tolerance still leaves weakly determined muscles off.
ACTIVATION = 1e-3
REPORTERS = (
    "<ForceReporter name='forces'/><Kinematics name='k'/>"
    "<JointReaction name='jr'><apply_on_bodies>child</apply_on_bodies><express_in_frame>ground</express_in_frame>"
    "</JointReaction>"
)


def analyze(model: str, motion: str, start: float, end: float, analyses: str, more: str = "") -> str:
    return (
        '<OpenSimDocument Version="40600"><AnalyzeTool name="t">'
        f"<model_file>{model}</model_file><results_directory>results</results_directory>"
        f"<initial_time>{start}</initial_time><final_time>{end}</final_time>"
        f"<coordinates_file>{motion}</coordinates_file><AnalysisSet><objects>{analyses}</objects></AnalysisSet>{more}"
        "</AnalyzeTool></OpenSimDocument>"
    )


def inverse_dynamics(model: str, motion: str, start: float, end: float, more: str = "") -> str:
    return (
        '<OpenSimDocument Version="40600"><InverseDynamicsTool name="t"><results_directory>results</results_directory>'
        f"<model_file>{model}</model_file><time_range>{start} {end}</time_range>"
        f"<forces_to_exclude>Muscles</forces_to_exclude><coordinates_file>{motion}</coordinates_file>{more}"
        "</InverseDynamicsTool></OpenSimDocument>"
    )


def compare(folder: Path, files: list[str], relative: float = RELATIVE):
    for name in files:
        theirs, ours = read_storage(folder / "results" / name), read_storage(folder / "ours" / name)
        assert ours.names == theirs.names, name
        assert_allclose(ours.time, theirs.time, rtol=0, atol=PRINTED)
        assert_allclose(ours.values, theirs.values, rtol=0, atol=PRINTED + relative * np.abs(theirs.values).max())


def both(folder: Path, *setups: str) -> list:
    (folder / "results").mkdir()
    run_opensim(*(folder / name for name in setups))
    return [run_setup(folder / name, output=folder / "ours", compare=False) for name in setups]


def with_sets(model: Path, target: Path, *sets: Path) -> None:
    """A model file with the members of sets in other files added to its own."""
    tree = etree.parse(str(model))
    for file in sets:
        (found,) = etree.parse(str(file)).getroot()
        own = next(tree.iter(found.tag), None)
        if own is None:
            own = etree.SubElement(next(tree.iter("Model")), found.tag, name=found.tag.lower())
            etree.SubElement(own, "objects")
        own.find("objects").extend(found.find("objects"))
    tree.write(str(target))


def test_limits_of_the_shoulder(data_folder, tmp_path):
    """MoBL-ARMS: every coordinate is swung beyond its limits."""
    shutil.copy(data_folder / "mobl_arms" / "MoBL_ARMS.osim", tmp_path / "arm.osim")
    model = read_osim(tmp_path / "arm.osim")
    time = np.linspace(0.0, 1.0, 41)
    free = model.independent_coordinate_names
    middle = np.array([np.mean(model.coordinate(name).range) for name in free])
    half = np.array([0.5 * np.ptp(model.coordinate(name).range) for name in free])
    swing = np.sin(2 * np.pi * (time[:, None] * 1.3 + np.linspace(0.0, 0.8, len(free))))
    write_result(tmp_path / "motion.sto", "Coordinates", time, free, middle + 1.15 * half * swing)
    without_muscles(tmp_path / "arm.osim")
    (tmp_path / "id.xml").write_text(inverse_dynamics("arm.osim", "motion.sto", 0.1, 0.9))
    (tmp_path / "run.xml").write_text(analyze("arm.osim", "motion.sto", 0.2, 0.5, REPORTERS))
    results = both(tmp_path, "id.xml", "run.xml")
    assert all(result.complete for result in results), [result.troubles for result in results]
    compare(tmp_path, ["inverse_dynamics.sto"])
    compare(tmp_path, ["t_forces_forces.sto", "t_k_dudt.sto", "t_jr_ReactionLoads.sto"], ASSEMBLED)
    forces = read_storage(tmp_path / "ours" / "t_forces_forces.sto")
    limits = [f.name for f in model.forces if f.kind == "CoordinateLimitForce"]
    assert len(limits) > 10
    assert sum(np.abs(forces.column(name)).max() > 1e-3 for name in limits) > 5


FORCES = """<OpenSimDocument Version="40600"><ForceSet name="more"><objects>
<CoordinateLimitForce name="stop"><coordinate>r_elbow_flex</coordinate><upper_limit>40</upper_limit>
<lower_limit>10</lower_limit><upper_stiffness>0.3</upper_stiffness><lower_stiffness>0.2</lower_stiffness>
<damping>0.001</damping><transition>20</transition></CoordinateLimitForce>
<SpringGeneralizedForce name="sling"><coordinate>r_shoulder_elev</coordinate><stiffness>3</stiffness>
<rest_length>0.4</rest_length><viscosity>0.1</viscosity></SpringGeneralizedForce>
<PointToPointSpring name="cord"><socket_body1>/bodyset/r_humerus</socket_body1>
<socket_body2>/bodyset/r_ulna_radius_hand</socket_body2><point1>0.05 0 0</point1><point2>0.05 -0.2 0</point2>
<stiffness>40</stiffness><rest_length>0.3</rest_length></PointToPointSpring></objects></ForceSet></OpenSimDocument>"""


def test_muscles_with_springs(data_folder, tmp_path):
    """Static optimisation of the arm: springs and a limit take their share, and stand in the file of forces."""
    data = data_folder / "arm26"
    for name in ("arm26.osim", "oracle_reserves.xml"):
        shutil.copy(data / name, tmp_path / name)
    shutil.copy(data_folder / "oracle" / "arm26" / "ik.mot", tmp_path / "ik.mot")
    (tmp_path / "more.xml").write_text(FORCES)
    wanted = (
        "<StaticOptimization name='so'><optimizer_convergence_criterion>1e-9</optimizer_convergence_criterion>"
        "<optimizer_max_iterations>1000</optimizer_max_iterations></StaticOptimization>"
    )
    sets = "<force_set_files>oracle_reserves.xml more.xml</force_set_files>"
    (tmp_path / "so.xml").write_text(analyze("arm26.osim", "ik.mot", 0.3, 0.5, wanted, sets))
    (result,) = both(tmp_path, "so.xml")
    assert result.complete, result.troubles
    theirs, ours = (read_storage(tmp_path / which / "t_so_activation.sto") for which in ("results", "ours"))
    assert ours.names == theirs.names
    assert_allclose(ours.values, theirs.values, rtol=0, atol=ACTIVATION)
    theirs, ours = (read_storage(tmp_path / which / "t_so_force.sto") for which in ("results", "ours"))
    assert ours.names == theirs.names
    springs = [k for k, name in enumerate(ours.names) if name.startswith(("stop", "sling", "cord", "PotentialEnergy"))]
    assert len(springs) == 15
    assert_allclose(ours.values[:, springs], theirs.values[:, springs], rtol=0, atol=1e-6)
    assert np.abs(ours.column("stop")).max() > 0.1


def without_muscles(file: Path) -> None:
    """What OpenSim's wrapping makes of such poses is another question."""
    tree = etree.parse(str(file))
    objects = tree.find(".//ForceSet/objects")
    for force in list(objects):
        if isinstance(force.tag, str) and "Muscle" in force.tag:
            objects.remove(force)
    for groups in tree.findall(".//ForceSet/groups"):
        groups.getparent().remove(groups)
    tree.write(str(file))


def test_a_walk_with_contacts_and_expressions(data_folder, tmp_path):
    """Rajagopal's walker with the sets of smooth contacts and of passive moments that come with it."""
    data = data_folder / "rajagopal_walk"
    prefix = data / "subject_walk_scaled"
    sets = [
        Path(f"{prefix}_{k}.xml")
        for k in ("ContactGeometrySet", "ContactForceSet", "ExpressionBasedCoordinateForceSet")
    ]
    with_sets(Path(f"{prefix}.osim"), tmp_path / "walker.osim", *sets)
    without_muscles(tmp_path / "walker.osim")
    shutil.copy(data_folder / "oracle" / "rajagopal_walk" / "ik.mot", tmp_path / "ik.mot")
    filtered = "<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>"
    (tmp_path / "id.xml").write_text(inverse_dynamics("walker.osim", "ik.mot", 0.5, 1.3, filtered))
    (tmp_path / "run.xml").write_text(analyze("walker.osim", "ik.mot", 0.6, 0.8, REPORTERS, filtered))
    results = both(tmp_path, "id.xml", "run.xml")
    assert all(result.complete for result in results), [result.troubles for result in results]
    compare(tmp_path, ["inverse_dynamics.sto"])
    compare(tmp_path, ["t_forces_forces.sto", "t_k_dudt.sto", "t_jr_ReactionLoads.sto"], 1e3 * ASSEMBLED)
    forces = read_storage(tmp_path / "ours" / "t_forces_forces.sto")
    assert np.abs(forces.column("contactHeel_r.Sphere.force.Y")).max() > 1.0
