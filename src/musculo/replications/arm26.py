"""Ruggiero2020: an elbow flexes by 90 degrees in a second; which muscles do it, and what do the joints carry?

The study takes an arm of two joints and six muscles from joint angles to joint reactions. It prints curves (its figures
12 to 20) and compares them with OpenSim's by eye; here the numbers stand side by side, OpenSim's computed on the spot.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.joint_loads import joint_loads
from musculo.analyses.motion import Motion, motion_of
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.analyses.static_optimisation import static_optimisation
from musculo.analyses.static_optimum import StaticOptimum
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput
from musculo.io.storage import read_storage
from musculo.model.model import Model
from musculo.muscle.geometry import muscle_geometry
from musculo.replications import arm26_setups as setups
from musculo.replications.peer import opensim_version, run_opensim
from musculo.replications.study import FloatArray, Part, Quantity, Study, beside
from musculo.results.table import Table

SOURCE = "Ruggiero and Sicilia 2020, Appl. Sci. 10, 7760"
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
_WRAPPING = "with OpenSim's wrapping"
_ELASTIC = "with elastic tendons"
# Optimal moment of the residual actuators, as in OpenSim's example of this arm [N m].
_RESERVE = 1.0
# Of the central differences of lengths [rad]: their error is about 1e-10 m by rounding.
_SLOPE_STEP = 1e-6


class _Peer(NamedTuple):
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


def arm26_study(
    model: Model,
    flexion: Table,
    *,
    opensim: bool = True,
    control: bool = True,
    recorded: Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> Study:
    """Ruggiero2020's study of an elbow flexion, beside OpenSim's tools on the same model and motion.

    Args:
        model: the arm that ships with the package (`musculo.demo.arm()`), read from a file.
        flexion: its coordinates over time (`musculo.demo.arm_flexion()`), read from a file.
        opensim: whether to run OpenSim, where it is installed.
        control: whether to run OpenSim's computed muscle control, too, which takes it half a minute.
        recorded: a folder with `arm26_states.sto` and `arm26_Actuation_force.sto`, which that tool wrote for OpenSim's
            own arm26: they then stand in for a run of it.
        say: told what takes time.
    """
    if not (model.source and flexion.source):
        raise InvalidInput("model and motion must come from files, which OpenSim reads too; see musculo.demo")
    m = motion_of(model, flexion)
    peer, missing, beside_whom = _Peer(), "", ""
    version = opensim_version()
    if opensim and version:
        peer = _ask_opensim(model, flexion, m, control and recorded is None, say)
        beside_whom = f" OpenSim {version}, static optimisation converged to 1e-7; CMC is its computed muscle control."
    elif opensim:
        missing = "OpenSim is not installed (pip install opensim), so its values are not available."
    else:
        missing = "OpenSim was not run, so its values are not available."
    cmc = "OpenSim's CMC"
    if recorded is not None:
        peer, cmc = _with_recorded(model, m, peer, recorded), "recorded CMC"
    say("musculo: inverse dynamics, static optimisation, joint loads ...")
    parts = (
        _fiber_lengths(model, m, peer),
        _contradictions(model, m),
        _moments(model, m, peer),
        *_optimisation(model, m, _like_opensim(model, flexion), peer),
        *_with_passive(model, m, peer, cmc),
    )
    return Study(
        "arm26",
        "An elbow flexes from 0 to 90 degrees in 1 s while the shoulder is still",
        SOURCE,
        "Elbow angle 45 (1 - cos pi t) degrees. musculo wraps muscles along geodesics, as the paper does; tendons are "
        "rigid and the sum of squared activations is least, with reserves of 1 N m where passive forces act. A series "
        f"is told by its value of largest magnitude; a difference is the largest at any time.{beside_whom}",
        parts,
        m.time,
        missing,
    )


# --- the parts -------------------------------------------------------------------------------------------------------
def _fiber_lengths(model: Model, m: Motion, peer: _Peer) -> Part:
    ours = muscle_analysis(model, m.q, m.u, coordinates=()).fiber_length
    alike = muscle_analysis(model, m.q, m.u, coordinates=(), method="opensim", wrapping="opensim").fiber_length
    remark = "Paper: alike but for the long head of the biceps, by another wrapping."
    if peer.fiber_length is not None:
        apart = np.abs(ours - peer.fiber_length).max(axis=0)
        most = int(apart.argmax())
        remark += f" Here {model.muscle_names[most]} differs most, by {1e3 * apart[most]:.2f} mm."
    return _columns("Fibre lengths (figure 12)", model.muscle_names, "m", ours, peer.fiber_length, alike, remark)


def _contradictions(model: Model, m: Motion) -> Part:
    """Who is right where wrappings differ: a moment arm is minus the slope of the length that goes with it."""
    errors = []
    for wrapping in ("opensim", "geodesic"):
        arms = muscle_geometry(model, m.q, wrapping=wrapping).moment_arm
        apart = np.empty_like(arms)
        for k in range(m.q.shape[1]):
            # Coordinates are speeds' integrals here: both joints are pins.
            step = np.zeros(m.q.shape[1])
            step[k] = _SLOPE_STEP
            after, before = (muscle_geometry(model, m.q + s * step, wrapping=wrapping).length for s in (1.0, -1.0))
            apart[:, :, k] = arms[:, :, k] + (after - before) / (2.0 * _SLOPE_STEP)
        errors.append(1e3 * np.abs(apart).max(axis=(0, 2)))
    theirs, ours = errors
    quantities = tuple(
        Quantity(name, "mm", float(ours[k]), float(theirs[k])) for k, name in enumerate(model.muscle_names)
    )
    return Part(
        "Moment arms against minus the slope of the length: largest contradiction",
        "OpenSim's wrapping",
        quantities,
        "Where the two wrappings differ, this says which one contradicts itself.",
    )


def _moments(model: Model, m: Motion, peer: _Peer) -> Part:
    ours = inverse_dynamics(model, m.q, m.u, m.udot)
    return _columns(
        "Driving moments (figure 13)",
        model.speed_names,
        "N m",
        ours,
        peer.moment,
        remark="Paper: a very satisfactory match.",
    )


def _like_opensim(model: Model, flexion: Table) -> Motion:
    """Speeds and accelerations as OpenSim's analyses take them."""
    return motion_of(model, flexion, like="opensim analyze")


def _optimisation(model: Model, m: Motion, theirs: Motion, peer: _Peer) -> tuple[Part, ...]:
    """Activations and forces without passive forces, and what the joints carry then."""
    plain = static_optimisation(model, m.q, m.u, m.udot, force_length_velocity=False)
    full = static_optimisation(model, m.q, m.u, m.udot, passive=False)
    given = (model, theirs.q, theirs.u, theirs.udot)
    plain_alike = static_optimisation(*given, force_length_velocity=False, method="opensim", wrapping="opensim")
    alike = static_optimisation(*given, method="opensim", wrapping="opensim")
    muscles = model.muscle_names
    loads = joint_loads(model, m.q, m.u, m.udot, muscle_forces=full.force)
    # As OpenSim: accelerations are those of the forces that were found.
    loads_alike = joint_loads(
        model, theirs.q, theirs.u, muscle_forces=alike.force if peer.force is None else peer.force, wrapping="opensim"
    )
    components = tuple(f"{name} {part}" for name in model.joint_names for part in ("fx", "fy", "fz", "mx", "my", "mz"))
    carried, carried_alike = (
        np.concatenate([x.force, x.moment], axis=2).reshape(len(m), -1) for x in (loads, loads_alike)
    )
    return (
        _columns(
            "Activations without force-length-velocity (figure 14)",
            muscles,
            "1",
            plain.activation,
            peer.plain_activation,
            plain_alike.activation,
            f"Paper: slightly below OpenSim's, which jump. {_steps(plain, peer.plain_activation)}",
        ),
        _columns(
            "Activations with force-length-velocity (figure 15)",
            muscles,
            "1",
            full.activation,
            peer.activation,
            alike.activation,
            f"Paper: small differences either way; OpenSim's jump. {_steps(full, peer.activation)}",
        ),
        _columns("Forces with force-length-velocity (figure 16)", muscles, "N", full.force, peer.force, alike.force),
        _columns(
            "Joint loads on the child, in ground, with the forces of figure 16 [fx fy fz in N, mx my mz in N m]",
            components,
            "",
            carried,
            peer.loads,
            carried_alike,
            "Paper: figure 20, its own only.",
        ),
    )


def _with_passive(model: Model, m: Motion, peer: _Peer, whose: str) -> tuple[Part, ...]:
    """Activations, forces and residual actuators with passive forces; tendons give in OpenSim's control."""
    rigid = static_optimisation(model, m.q, m.u, m.udot, passive=True, reserves=_RESERVE)
    elastic = static_optimisation(model, m.q, m.u, m.udot, passive=True, reserves=_RESERVE, tendon="elastic")
    driving = np.abs(inverse_dynamics(model, m.q, m.u, m.udot)).max()
    most = np.abs(rigid.reserve).max()
    loads = joint_loads(model, m.q, m.u, m.udot, muscle_forces=rigid.force)
    sizes = np.concatenate([np.linalg.norm(x, axis=2) for x in (loads.force, loads.moment)], axis=1)
    size_names = tuple(f"{name} {what}" for what in ("force [N]", "moment [N m]") for name in model.joint_names)

    def part(
        title: str,
        names: tuple[str, ...],
        unit: str,
        ours: FloatArray,
        theirs: FloatArray | None,
        alike: FloatArray,
        remark: str,
    ) -> Part:
        return _columns(title, names, unit, ours, theirs, alike, remark, whose, _ELASTIC)

    return (
        part(
            "Activations with passive forces (figure 17)",
            model.muscle_names,
            "1",
            rigid.activation,
            peer.cmc_activation,
            elastic.activation,
            "Paper: below those of OpenSim's control (which keeps them at 0.02 and above; here 0.01).",
        ),
        part(
            "Forces with passive forces (figure 18)",
            model.muscle_names,
            "N",
            rigid.force,
            peer.cmc_force,
            elastic.force,
            "Paper: closer to each other than the activations, but for the first instants.",
        ),
        part(
            "Residual actuators (figure 19)",
            model.speed_names,
            "N m",
            rigid.reserve,
            peer.cmc_reserve,
            elastic.reserve,
            f"Paper: marginal beside the driving moments. Here {most:.3g} N m beside {driving:.3g} N m.",
        ),
        _columns("Joint loads with passive forces, sizes (figure 20)", size_names, "", sizes),
    )


def _columns(
    title: str,
    names: tuple[str, ...],
    unit: str,
    ours: FloatArray,
    theirs: FloatArray | None = None,
    alike: FloatArray | None = None,
    remark: str = "",
    whose: str = "OpenSim",
    replaced: str = _WRAPPING,
) -> Part:
    """One quantity for each column of the series."""
    known = theirs is not None
    quantities = tuple(
        beside(
            name,
            unit,
            ours[:, k],
            None if theirs is None else theirs[:, k],
            None if alike is None else alike[:, k],
        )
        for k, name in enumerate(names)
    )
    series = {"ours": ours} | ({"theirs": theirs} if theirs is not None else {})
    series |= {"alike": alike} if alike is not None else {}
    columns = {f"{name} {which}": values[:, k] for which, values in series.items() for k, name in enumerate(names)}
    return Part(
        title,
        whose if known else "",
        quantities,
        remark.strip(),
        replaced if known and alike is not None else "",
        columns,
    )


def _steps(ours: StaticOptimum, theirs: FloatArray | None) -> str:
    if theirs is None:
        return ""
    mine, other = (np.abs(np.diff(x, axis=0)).max() for x in (ours.activation, theirs))
    return f"Largest step from frame to frame: OpenSim {other:.4f}, musculo {mine:.4f}."


# --- OpenSim's side --------------------------------------------------------------------------------------------------
def _ask_opensim(model: Model, flexion: Table, m: Motion, control: bool, say: Callable[[str], None]) -> _Peer:
    model_file, motion_file = Path(model.source).resolve(), Path(flexion.source).resolve()
    end = float(m.time[-1])
    muscles, speeds = model.muscle_names, model.speed_names
    with tempfile.TemporaryDirectory(prefix="musculo-arm26-") as scratch:
        folder = Path(scratch).resolve()
        files = (folder, model_file, motion_file, end)
        say("OpenSim: inverse dynamics, muscle analysis, static optimisation, joint reactions ...")
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
        found = _Peer(
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


def _with_recorded(model: Model, m: Motion, peer: _Peer, folder: Path) -> _Peer:
    muscles, speeds = ([ARM26_NAMES[name] for name in names] for names in (model.muscle_names, model.speed_names))
    files = folder / "arm26_states.sto", folder / "arm26_Actuation_force.sto"
    return _with_control(m, peer, *files, muscles, speeds)


def _with_control(
    m: Motion,
    peer: _Peer,
    states: Path,
    forces: Path,
    muscles: tuple[str, ...] | list[str],
    speeds: tuple[str, ...] | list[str],
) -> _Peer:
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
