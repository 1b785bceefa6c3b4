"""OpenSim's side of the arm26 study: its tools on the same model and motion, or what they left for its own arm26."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.recorded_motion import Motion
from musculo.arrays import FloatArray
from musculo.io.storage import read_storage
from musculo.model.model import Model
from musculo.replications.elbow import arm26_setups as setups
from musculo.replications.peer import run_opensim
from musculo.results.table import Table

# What OpenSim's arm26 calls the muscles and coordinates of the arm, for results recorded with it.
ARM26_NAMES = {
    "triceps_long": "TRIlong",
    "triceps_lateral": "TRIlat",
    "triceps_medial": "TRImed",
    "biceps_long": "BIClong",
    "biceps_short": "BICshort",
    "brachialis": "BRA",
    "shoulder_flexion": "r_shoulder_elev",
    "elbow_flexion": "r_elbow_flex",
}


class Peer(NamedTuple):
    """OpenSim's results at the times of the motion; None where there are none."""

    fiber_length: FloatArray | None = None  # (frames, muscles) [m]
    moment: FloatArray | None = None  # (frames, coordinates) [N m]
    plain_activation: FloatArray | None = None  # without force-length-velocity
    activation: FloatArray | None = None
    force: FloatArray | None = None  # [N]
    loads: FloatArray | None = None  # (frames, joints x 6): force [N] and moment [N m]
    cmc_activation: FloatArray | None = None
    cmc_force: FloatArray | None = None
    cmc_reserve: FloatArray | None = None  # (frames, coordinates) [N m]


def ask_tools(model: Model, flexion: Table, m: Motion, control: bool, say: Callable[[str], None]) -> Peer:
    """What OpenSim's tools give for model and motion, both read from files."""
    model_file, motion_file = Path(model.source).resolve(), Path(flexion.source).resolve()
    end = float(m.time[-1])
    muscles, speeds = model.muscle_names, model.speed_names
    with tempfile.TemporaryDirectory(prefix="musculo-arm26-") as scratch:
        folder = Path(scratch).resolve()
        files = (folder, model_file, motion_file, end)
        say("OpenSim: inverse dynamics, muscle analysis, static optimization, joint reactions ...")
        run_opensim(
            [
                setups.inverse_dynamics_setup(*files),
                setups.muscle_analysis_setup(*files),
                setups.static_optimization_setup(folder, "plain", *files[1:], physiology=False),
                setups.static_optimization_setup(folder, "full", *files[1:], physiology=True),
            ],
            folder,
        )
        forces = folder / "full" / "arm_StaticOptimization_force.sto"
        run_opensim([setups.joint_reaction_setup(folder, "loads", *files[1:], forces)], folder)
        reactions = read_storage(folder / "loads" / "arm_JointReaction_ReactionLoads.sto")
        carried = [name for name in reactions.names if name.rsplit("_", 1)[1][0] in "fm"]
        found = Peer(
            fiber_length=_at(read_storage(folder / "muscles" / "arm_MuscleAnalysis_FiberLength.sto"), m, muscles),
            moment=_at(read_storage(folder / "id" / "moments.sto"), m, [f"{name}_moment" for name in speeds]),
            plain_activation=_at(read_storage(folder / "plain" / "arm_StaticOptimization_activation.sto"), m, muscles),
            activation=_at(read_storage(folder / "full" / "arm_StaticOptimization_activation.sto"), m, muscles),
            force=_at(read_storage(forces), m, muscles),
            loads=_at(reactions, m, carried),
        )
        if control:
            say("OpenSim: computed muscle control, half a minute ...")
            run_opensim([setups.computed_muscle_control_setup(*files, speeds)], folder)
            found = _with_control(
                m, found, folder / "cmc" / "arm_states.sto", folder / "cmc" / "arm_Actuation_force.sto", muscles, speeds
            )
    return found


def with_recorded(model: Model, m: Motion, peer: Peer, folder: Path) -> Peer:
    """Results that OpenSim left of its own arm26 where a run of it gave none: its control, and its optimization."""
    muscles, speeds = ([ARM26_NAMES[name] for name in names] for names in (model.muscle_names, model.speed_names))
    control = folder / "CMC" / "arm26_states.sto", folder / "CMC" / "arm26_Actuation_force.sto"
    if peer.cmc_activation is None and all(file.is_file() for file in control):
        peer = _with_control(m, peer, *control, muscles, speeds)
    plain = folder / "SO_Nonphysiological" / "arm26_StaticOptimization_activation.sto"
    full = folder / "SO_Physiological" / "arm26_StaticOptimization_activation.sto"
    force = full.with_name("arm26_StaticOptimization_force.sto")
    if peer.activation is None and all(file.is_file() for file in (plain, full, force)):
        plain_activation, activation, pull = (_at(read_storage(file), m, muscles) for file in (plain, full, force))
        peer = peer._replace(plain_activation=plain_activation, activation=activation, force=pull)
    return peer


def _with_control(
    m: Motion,
    peer: Peer,
    states: Path,
    forces: Path,
    muscles: tuple[str, ...] | list[str],
    speeds: tuple[str, ...] | list[str],
) -> Peer:
    state, force = read_storage(states), read_storage(forces)
    return peer._replace(
        cmc_activation=_at(state, m, [f"/forceset/{name}/activation" for name in muscles]),
        cmc_force=_at(force, m, muscles),
        cmc_reserve=_at(force, m, [f"{name}_reserve" for name in speeds]),
    )


def _at(table: Table, m: Motion, names: tuple[str, ...] | list[str]) -> FloatArray:
    """Columns at the times of the motion; straight lines between rows, NaN where the table does not reach."""
    # Times in files are rounded to eight digits.
    reach = 1e-6
    columns = [np.interp(m.time, table.time, table.column(name)) for name in names]
    values = np.stack(columns, axis=1)
    values[(m.time < table.time[0] - reach) | (m.time > table.time[-1] + reach)] = np.nan
    return values
