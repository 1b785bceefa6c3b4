"""Ruggiero2020: an elbow flexes by 90 degrees in a second; which muscles do it, and what do the joints carry?

The study takes an arm of two joints and six muscles from joint angles to joint reactions. It prints curves (its figures
12 to 20) and compares them with OpenSim's by eye; here the numbers stand side by side, OpenSim's computed on the spot.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from musculo.analyses.joint_loads import joint_loads
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.analyses.recorded_motion import Motion, motion_of
from musculo.analyses.static_optimization.share_load import static_optimization
from musculo.analyses.static_optimization.static_optimum import StaticOptimum
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.replications.elbow.arm26_opensim import Peer, ask_tools, with_recorded
from musculo.replications.elbow.arm26_rows import rows_of
from musculo.replications.peer import PYTHON, opensim_version
from musculo.replications.study import NOT_INSTALLED, Part, Quantity, Study, beside, plots_of
from musculo.results.table import Table

SOURCE = "Ruggiero and Sicilia 2020, Appl. Sci. 10, 7760"
_WRAPPING = "with OpenSim's wrapping"
_ELASTIC = "with elastic tendons"
_RECORDED = (
    "Recorded results of static optimization are of the markers that come with OpenSim's arm26, whose angles are up to "
    "0.3 degrees from these and carry noise: moments differ by up to 1 N m."
)
# Optimal moment of the residual actuators, as in OpenSim's example of this arm [N m].
_RESERVE = 1.0
# Of the central differences of lengths [rad]: their error is about 1e-10 m by rounding.
_SLOPE_STEP = 1e-6


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
        recorded: a folder of what OpenSim left for its own arm26. `CMC` in it stands in for a run of that tool,
            `SO_Physiological` and `SO_Nonphysiological` for runs of static optimization where OpenSim does not run.
        say: told what takes time.
    """
    if not (model.source and flexion.source):
        raise InvalidInput("model and motion must come from files, which OpenSim reads too; see musculo.demo")
    m = motion_of(model, flexion)
    peer, missing, beside_whom = Peer(), "", ""
    version = opensim_version()
    if opensim and version:
        peer = ask_tools(model, flexion, m, control and (recorded is None or not (recorded / "CMC").is_dir()), say)
        beside_whom = f" OpenSim {version}, static optimization converged to 1e-7; CMC is its computed muscle control."
    elif opensim:
        missing = f"{NOT_INSTALLED}, so its values are not available; ${PYTHON} may name a Python that has it."
    else:
        missing = "OpenSim was not run, so its values are not available."
    cmc, optimum = "OpenSim's CMC", "OpenSim"
    if recorded is not None:
        ran, peer = peer, with_recorded(model, m, peer, recorded)
        cmc = cmc if peer.cmc_force is ran.cmc_force else "recorded CMC"
        if peer.force is not ran.force:
            optimum, missing = "recorded", f"{missing} {_RECORDED}"
    say("musculo: inverse dynamics, static optimization, joint loads ...")
    parts = (
        _fiber_lengths(model, m, peer),
        _contradictions(model, m),
        _moments(model, m, peer),
        *_optimization(model, m, _like_opensim(model, flexion), peer, optimum),
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
        rows=rows_of(parts),
        plots=plots_of(parts, m.time),
    )


# --- the parts -------------------------------------------------------------------------------------------------------
def _fiber_lengths(model: Model, m: Motion, peer: Peer) -> Part:
    ours = muscle_analysis(model, m.q, m.u, coordinates=()).fiber_length
    alike = muscle_analysis(model, m.q, m.u, coordinates=(), like="opensim").fiber_length
    remark = "Paper: alike but for the long head of the biceps, by another wrapping."
    if peer.fiber_length is not None:
        apart = np.abs(ours - peer.fiber_length).max(axis=0)
        most = int(apart.argmax())
        remark += f" Here {model.muscle_names[most]} differs most, by {1e3 * apart[most]:.2f} mm."
    return _columns("Fiber lengths (figure 12)", model.muscle_names, "m", ours, peer.fiber_length, alike, remark)


def _contradictions(model: Model, m: Motion) -> Part:
    """Comparison with a reference where wrappings differ: a moment arm is minus the slope of its length."""
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


def _moments(model: Model, m: Motion, peer: Peer) -> Part:
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
    return motion_of(model, flexion, like="opensim", tool="analyze")


def _optimization(model: Model, m: Motion, theirs: Motion, peer: Peer, whose: str) -> tuple[Part, ...]:
    """Activations and forces without passive forces, and what the joints carry then."""
    plain = static_optimization(model, m.q, m.u, m.udot, force_length_velocity=False)
    full = static_optimization(model, m.q, m.u, m.udot, passive=False)
    given = (model, theirs.q, theirs.u, theirs.udot)
    plain_alike = static_optimization(*given, force_length_velocity=False, like="opensim")
    alike = static_optimization(*given, like="opensim")
    muscles = model.muscle_names
    loads = joint_loads(model, m.q, m.u, m.udot, muscle_forces=full.force)
    # As OpenSim: accelerations are those of the forces that were found.
    loads_alike = joint_loads(
        model, theirs.q, theirs.u, muscle_forces=alike.force if peer.loads is None else peer.force, like="opensim"
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
            whose,
        ),
        _columns(
            "Activations with force-length-velocity (figure 15)",
            muscles,
            "1",
            full.activation,
            peer.activation,
            alike.activation,
            f"Paper: small differences either way; OpenSim's jump. {_steps(full, peer.activation)}",
            whose,
        ),
        _columns(
            "Forces with force-length-velocity (figure 16)",
            muscles,
            "N",
            full.force,
            peer.force,
            alike.force,
            "",
            whose,
        ),
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


def _with_passive(model: Model, m: Motion, peer: Peer, whose: str) -> tuple[Part, ...]:
    """Activations, forces and residual actuators with passive forces; tendons give in OpenSim's control."""
    rigid = static_optimization(model, m.q, m.u, m.udot, passive=True, reserves=_RESERVE)
    elastic = static_optimization(model, m.q, m.u, m.udot, passive=True, reserves=_RESERVE, tendon="elastic")
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
