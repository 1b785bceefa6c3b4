"""Moco's test of MocoInverse: which excitations make a recorded walk, 18 muscles, 10 of them with elastic tendons."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from musculo.io.external_load_files import read_external_loads
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.muscle.fibers.de_groote_fregly import with_de_groote_fregly_muscles
from musculo.replications.moco.recordings import (
    AS_MOCO,
    SOURCE,
    TIMES,
    ask_moco,
    folder_of,
    least_seconds,
    missing,
    rms,
)
from musculo.replications.study import Quantity, Row, Settings, Study, judged
from musculo.results.table import Table
from musculo.trajectory.muscles.muscle_inverse import MuscleInverse, muscle_inverse

NAME, TITLE, FOLDER = "moco-inverse", "Which excitations make a walk: MocoInverse's own test", "moco_walk_armless"
_MODEL = "subject_walk_armless_18musc.osim"
_MOTION, _LOADS = "subject_walk_armless_coordinates.mot", "subject_walk_armless_external_loads.xml"
_STORED = "std_testMocoInverse_subject_18musc_solution.sto"
_LOCKED = ("subtalar_angle_r", "subtalar_angle_l", "mtp_angle_r", "mtp_angle_l")
_MOCO = f"""
folder = str(given["folder"]) + "/"
processor = opensim.ModelProcessor(folder + "{_MODEL}")
processor.append(opensim.ModOpReplaceJointsWithWelds(names(("subtalar_r", "subtalar_l", "mtp_r", "mtp_l"))))
processor.append(opensim.ModOpReplaceMusclesWithDeGrooteFregly2016())
processor.append(opensim.ModOpIgnorePassiveFiberForcesDGF())
processor.append(opensim.ModOpTendonComplianceDynamicsModeDGF("implicit"))
processor.append(opensim.ModOpAddExternalLoads(folder + "{_LOADS}"))
tool = opensim.MocoInverse()
tool.setModel(processor)
table = opensim.TableProcessor(folder + "{_MOTION}")
table.append(opensim.TabOpLowPassFilter(6))
tool.setKinematics(table)
tool.set_initial_time(0.45)
tool.set_final_time(1.0)
tool.set_kinematics_allow_extra_columns(True)
tool.set_mesh_interval(0.025)
tool.set_constraint_tolerance(1e-4)
tool.set_convergence_tolerance(1e-4)
solution = timed(tool.solve).getMocoSolution()
answer["objective"] = solution.getObjective()
answer["iterations"] = solution.getNumIterations()
"""


def solved(folder: Path, like_opensim: bool, tolerance: float = 1e-6) -> MuscleInverse:
    """The test's problem, with OpenSim's paths or exact ones."""
    model = with_de_groote_fregly_muscles(read_osim(folder / _MODEL), passive=False)
    for name in _LOCKED:
        model = model.with_coordinate(name, locked=True)
    motion, loads = read_storage(folder / _MOTION), read_external_loads(folder / _LOADS)
    filtered = motion if like_opensim else motion.lowpass(6.0, like="opensim")
    return muscle_inverse(
        model,
        filtered,
        loads=loads,
        cutoff=6.0 if like_opensim else None,
        start=0.45,
        end=1.0,
        interval=0.025,
        tolerance=tolerance,
        like="opensim" if like_opensim else None,
    )


def differences(found: MuscleInverse, stored: Table) -> tuple[float, float]:
    """Root mean squares over all controls and all states of muscles, as Moco's test takes them."""
    controls = [found.excitation[:, k] - stored.column(f"/forceset/{n}") for k, n in enumerate(found.muscle_names)]
    controls += [found.control[:, k] - stored.column(f"/forceset/{n}") for k, n in enumerate(found.actuator_names)]
    states = [
        found.activation[:, k] - stored.column(f"/forceset/{n}/activation") for k, n in enumerate(found.muscle_names)
    ]
    states += [
        found.normalized_tension[:, k] - stored.column(f"/forceset/{n}/normalized_tendon_force")
        for k, n in enumerate(found.tendon_names)
    ]
    return rms(controls), rms(states)


def study(settings: Settings) -> Study:
    """The stored solution beside ours, and processor times beside Moco's."""
    folder = folder_of(settings, FOLDER)
    if folder is None:
        return missing(NAME, TITLE, FOLDER)
    stored = read_storage(folder / _STORED)
    settings.say(f"{NAME}: ours ...")
    alike, seconds = least_seconds(lambda: solved(folder, True))
    exact = solved(folder, False)
    settings.say(f"{NAME}: OpenSim Moco, half a minute ...")
    theirs, why = ask_moco(settings, _MOCO, folder)
    ratio = float(theirs["seconds"]) / seconds if theirs else None
    by_opensim, by_exact = differences(alike, stored), differences(exact, stored)
    note = f"{alike.outcome.iterations} iterations, violation {alike.outcome.largest_violation:.1g}"
    found: list[Row | Quantity] = [
        Row("controls off, with OpenSim's paths", None, by_opensim[0], "", "root mean square", limit=AS_MOCO),
        Row("states off, with OpenSim's paths", None, by_opensim[1], "", "root mean square", limit=AS_MOCO),
        Row("controls off, with exact paths", None, by_exact[0], "", "root mean square", limit=AS_MOCO),
        Row("states off, with exact paths", None, by_exact[1], "", "root mean square", limit=AS_MOCO),
        Row("objective over the stored one", None, alike.objective / 0.876367, "", note, limit=1.0 + AS_MOCO),
        Row("Moco's processor time over ours", None, ratio, "", why, "at least", TIMES, timed=True),
        Quantity("processor time", "s", seconds, float(theirs["seconds"]) if theirs else None),
        Quantity("objective", "", alike.objective, float(theirs["objective"]) if theirs else 0.876367),
    ]
    rows, parts = judged(found)
    return Study(
        NAME,
        TITLE,
        SOURCE,
        "22 intervals of Hermite and Simpson; excitations, activations, tendon forces and reserves. Ours at tolerance "
        "1e-6 with exact first and second derivatives, Moco's at 1e-4 as in its test.",
        parts,
        np.zeros(0),
        rows=rows,
    )
