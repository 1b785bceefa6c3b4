"""Moco's example of tracking with muscles: Rajagopal's model with 80 muscles follows its recorded walk."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from musculo.io.external_load_files import read_external_loads
from musculo.io.function_path_set import with_function_paths
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.muscle.fibers.de_groote_fregly import with_de_groote_fregly_muscles
from musculo.replications.moco.recordings import SOURCE, folder_of, least_seconds, missing
from musculo.replications.study import Quantity, Row, Settings, Study, judged
from musculo.trajectory.muscles.muscle_nodes import TendonChoice
from musculo.trajectory.muscles.track_motion import track_motion
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.transcription.mesh import Transcription
from musculo.trajectory.transcription.schemes import HermiteSimpson, Trapezoidal

NAME, TITLE, FOLDER = "moco-walk", "A walk of 80 muscles follows its recording: Moco's example", "rajagopal_walk"
_TURNS, _SLIDES = ("pelvis_tilt", "pelvis_list", "pelvis_rotation"), ("pelvis_tx", "pelvis_ty", "pelvis_tz")
_RESIDUALS = dict.fromkeys(_TURNS, 250.0) | dict.fromkeys(_SLIDES, 50.0)
# Five minutes on two cores.
SECONDS, VIOLATION = 600.0, 1e-6


def solved(folder: Path, transcription: Transcription, tendons: TendonChoice, tolerance: float) -> PredictedMotion:
    """The example's problem: rigid tendons in Moco's, wider active curves, no passive forces, paths by polynomials."""
    model = with_de_groote_fregly_muscles(
        read_osim(folder / "subject_walk_scaled.osim"), passive=False, active_width=1.5
    )
    model = with_function_paths(model, folder / "subject_walk_scaled_FunctionBasedPathSet.xml")
    for name in ("mtp_angle_r", "mtp_angle_l"):
        model = model.with_coordinate(name, locked=True)
    return track_motion(
        model,
        read_storage(folder / "coordinates.sto"),
        transcription,
        loads=read_external_loads(folder / "grf_walk.xml"),
        start=0.48,
        end=1.61,
        tendons=tendons,
        reserves=_RESIDUALS,
        weights={"pelvis_*_reserve/control": 10.0},
        effort_weight=0.1,
        control_limit=1.0,
        periodic=True,
        tolerance=tolerance,
    )


def study(settings: Settings) -> Study:
    """Where the time goes, on a coarse mesh and on Moco's, with rigid and with elastic tendons."""
    folder = folder_of(settings, FOLDER)
    if folder is None:
        return missing(NAME, TITLE, FOLDER)
    settings.say(f"{NAME}: 25 intervals, rigid tendons ...")
    solved(folder, Trapezoidal(4), "rigid", 1e-2)  # what is compiled or imported is now
    cases: list[tuple[str, Transcription, TendonChoice]] = [
        ("25 intervals, trapezoidal, rigid tendons", Trapezoidal(25), "rigid"),
        ("57 intervals, Hermite-Simpson, rigid tendons", HermiteSimpson(57), "rigid"),
        ("25 intervals, trapezoidal, elastic tendons", Trapezoidal(25), "stated"),
    ]
    found: list[Row | Quantity] = []
    for name, transcription, tendons in cases:
        settings.say(f"{NAME}: {name} ...")
        motion, seconds = least_seconds(lambda t=transcription, k=tendons: solved(folder, t, k, VIOLATION), 1)  # type: ignore[misc]
        times = motion.solver.times
        note = f"{motion.solver.iterations} iterations, {motion.status.name}"
        found += [
            Row(f"violation: {name}", None, motion.solver.largest_violation, "", note, limit=VIOLATION),
            Row(f"processor time: {name}", None, seconds, "s", limit=SECONDS, timed=True),
            Quantity(f"{name}: callbacks", "s", times.callbacks_cpu),
            Quantity(f"{name}: linear algebra", "s", times.linear_algebra_cpu),
            Quantity(f"{name}: solver", "s", times.rest_cpu),
        ]
    rows, parts = judged(found)
    return Study(
        NAME,
        TITLE,
        SOURCE,
        "33 coordinates, 80 muscles, recorded ground reactions, residual forces of 250 N m and 50 N at most, a "
        "periodic walk. Moco's example says 35 minutes on 12 cores; it was not run here.",
        parts,
        np.zeros(0),
        rows=rows,
    )
