"""Moco's test of MocoTrack: a planar walk driven by torques follows its recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from musculo.arrays import FloatArray
from musculo.io.external_load_files import read_external_loads
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
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
from musculo.trajectory.muscles.track_motion import track_motion
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.straight_controls import StraightControls
from musculo.trajectory.transcription.schemes import HermiteSimpson

NAME, TITLE = "moco-track", "A walk driven by torques follows its recording: MocoTrack's own test"
FOLDER = "gait10dof18musc/moco_track"
_MODEL, _MOTION = "walk_gait1018_subject01.osim", "walk_gait1018_state_reference.mot"
_LOADS, _STORED = "walk_gait1018_subject01_grf.xml", "std_testMocoTrackGait10dof18musc_solution.sto"
_MOCO = f"""
folder = str(given["folder"]) + "/"
processor = opensim.ModelProcessor(folder + "{_MODEL}")
processor.append(opensim.ModOpRemoveMuscles())
processor.append(opensim.ModOpAddReserves(100))
processor.append(opensim.ModOpAddExternalLoads(folder + "{_LOADS}"))
tool = opensim.MocoTrack()
tool.setModel(processor)
table = opensim.TableProcessor(folder + "{_MOTION}")
table.append(opensim.TabOpLowPassFilter(6))
tool.setStatesReference(table)
tool.set_states_global_tracking_weight(10.0)
tool.set_track_reference_position_derivatives(True)
tool.set_initial_time(0.5)
tool.set_final_time(1.0)
problem = tool.initialize()
solver = opensim.MocoCasADiSolver.safeDownCast(problem.updSolver())
solver.set_optim_constraint_tolerance(1e-4)
solver.set_optim_convergence_tolerance(1e-4)
solution = timed(problem.solve)
answer["objective"] = solution.getObjective()
answer["iterations"] = solution.getNumIterations()
"""


def solved(folder: Path, tolerance: float = 1e-6) -> PredictedMotion:
    """The test's problem."""
    return track_motion(
        read_osim(folder / _MODEL).replace(forces=()),
        read_storage(folder / _MOTION),
        HermiteSimpson(25),
        loads=read_external_loads(folder / _LOADS),
        cutoff=6.0,
        like="opensim",
        start=0.5,
        end=1.0,
        reserves=100.0,
        tracking_weight=10.0,
        constraints=[StraightControls("*/control")],
        tolerance=tolerance,
    )


def differences(found: PredictedMotion, stored: Table) -> dict[str, float]:
    """Root mean squares over all values, speeds and controls."""

    def column(end: str) -> FloatArray:
        return stored.values[:, [name.endswith(end) for name in stored.names]][:, 0]

    coordinates = [name.removesuffix("/value") for name in found.names if name.endswith("/value")]
    off = {
        kind: rms([found[f"{name}/{kind}"] - column(f"/{name}/{kind}") for name in coordinates])
        for kind in ("value", "speed")
    }
    off["control"] = rms([found[f"{name}_reserve/control"] - column(f"_{name}") for name in coordinates])
    off["states"] = float(np.sqrt(0.5 * (off["value"] ** 2 + off["speed"] ** 2)))
    return off


def study(settings: Settings) -> Study:
    """The stored solution beside ours, and processor times beside Moco's."""
    folder = folder_of(settings, FOLDER)
    if folder is None:
        return missing(NAME, TITLE, FOLDER)
    settings.say(f"{NAME}: ours ...")
    motion, seconds = least_seconds(lambda: solved(folder))
    settings.say(f"{NAME}: OpenSim Moco, half a minute ...")
    theirs, why = ask_moco(settings, _MOCO, folder)
    ratio = float(theirs["seconds"]) / seconds if theirs else None
    off = differences(motion, read_storage(folder / _STORED))
    note = f"{motion.solver.iterations} iterations, violation {motion.solver.largest_violation:.1g}"
    found: list[Row | Quantity] = [
        Row("states off", None, off["states"], "", "root mean square", limit=AS_MOCO),
        Row("objective over the stored one", None, motion.objective / 0.039827, "", note, limit=1.0),
        Row("Moco's processor time over ours", None, ratio, "", why, "at least", TIMES, timed=True),
        Quantity("processor time", "s", seconds, float(theirs["seconds"]) if theirs else None),
        Quantity("controls off", "", off["control"], note="of 100 N m or N; root mean square"),
        Quantity("objective", "", motion.objective, float(theirs["objective"]) if theirs else 0.039827),
    ]
    rows, parts = judged(found)
    return Study(
        NAME,
        TITLE,
        SOURCE,
        "25 intervals of Hermite and Simpson, controls straight over each. Ours at tolerance 1e-6 with exact first and "
        "second derivatives, Moco's at 1e-4 as in its test.",
        parts,
        np.zeros(0),
        rows=rows,
        remarks=(
            "Controls count so little in the objective that at tolerance 1e-4 they are not found: Moco at 1e-6 (694 "
            "iterations, 134 s of processor time) agrees with ours to 4e-3 in controls and 4e-5 in states.",
        ),
    )
