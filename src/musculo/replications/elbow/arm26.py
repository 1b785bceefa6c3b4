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
from musculo.replications.peer import PYTHON, opensim_version
from musculo.replications.study import NOT_INSTALLED, Part, Quantity, Row, Study, beside, plots_of
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
# Goals beside OpenSim where its definitions are used, of its largest value. What is left: its search for equilibrium,
# the eight digits of its files, its tolerance of static optimization, and two recursions in float64.
FIBERS, MOMENTS, ACTIVATIONS, LOADS = 1e-6, 1e-6, 2e-3, 1e-9
# Moment arms are minus the slopes of lengths, but for the error of differences [mm].
CONTRADICTION = 1e-6
# What the paper calls marginal beside the driving moments.
MARGINAL = 0.1


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
        rows=_rows(parts),
        plots=plots_of(parts, m.time),
    )


def _rows(parts: tuple[Part, ...]) -> tuple[Row, ...]:
    """Goals: agreement with OpenSim where its definitions are used, and what the paper says in words of its figures."""
    by_title = {part.title.split(" (")[0]: part for part in parts}
    fibers, moments = by_title["Fiber lengths"], by_title["Driving moments"]
    plain, full = (by_title[f"Activations {w} force-length-velocity"] for w in ("without", "with"))
    forces, loads = by_title["Forces with force-length-velocity"], _titled(parts, "Joint loads on the child")
    control, control_forces = by_title["Activations with passive forces"], by_title["Forces with passive forces"]
    arms, residual = _titled(parts, "Moment arms"), by_title["Residual actuators"]
    largest = [[abs(one.ours) for one in part.quantities] for part in (moments, residual)]
    agreement = (
        ("fiber lengths with OpenSim's wrapping, difference", fibers, _apart(fibers, True, True), FIBERS, "relative"),
        ("driving moments, difference from OpenSim's", moments, _apart(moments, False, True), MOMENTS, "relative"),
        ("activations without force-length-velocity, OpenSim's wrapping", plain, _apart(plain, True, False),
         ACTIVATIONS, "1"),
        ("activations with force-length-velocity, OpenSim's wrapping", full, _apart(full, True, False),
         ACTIVATIONS, "1"),
        ("forces with force-length-velocity, OpenSim's wrapping", forces, _apart(forces, True, True),
         ACTIVATIONS, "relative"),
        ("joint loads under OpenSim's forces", loads, _apart(loads, True, True), LOADS, "relative"),
    )  # fmt: skip
    rows = [
        Row(name, None, value if part.whose == "OpenSim" else None, unit, _why_not(part), limit=goal)
        for name, part, value, goal, unit in agreement
    ]
    rows.append(
        Row(
            "moment arms against slopes of lengths, geodesics",
            None,
            max(one.ours for one in arms.quantities),
            "mm",
            limit=CONTRADICTION,
        )
    )
    rows.append(
        Row(
            "residual actuators over driving moments, largest over least",
            None,
            max(largest[1]) / min(largest[0]),
            "",
            "paper, figure 19, in words: marginal",
            limit=MARGINAL,
        )
    )
    alone = sorted((one.difference for one in fibers.quantities if one.difference is not None), reverse=True)
    biceps = next((one.difference for one in fibers.quantities if one.name == "biceps_long"), None)
    words: tuple[tuple[str, Part, float | None, str], ...] = (
        ("fiber lengths' differences from OpenSim's: largest of the others over that of biceps_long",
         fibers, None if biceps is None else max(x for x in (*alone, 0.0) if x != biceps) / biceps,
         "figure 12: the only noticeable difference is that of the long biceps"),
        ("mean activation over that of OpenSim's control", control, _mean_over(control),
         "figure 17 and conclusions: lower activations"),
        ("mean force off that of OpenSim's control, over mean activation off", control_forces,
         _off_over(control_forces, control), "figure 18: forces are closer than activations"),
    )  # fmt: skip
    rows += [
        Row(name, None, value, "x", "; ".join(filter(None, (f"paper, {said}", _why_not(part)))), limit=1.0)
        for name, part, value, said in words
    ]
    return tuple(rows)


def _titled(parts: tuple[Part, ...], start: str) -> Part:
    return next(part for part in parts if part.title.startswith(start))


def _why_not(part: Part) -> str:
    """Why nothing of OpenSim's stands beside ours; empty where it does."""
    if not part.whose:
        return "OpenSim's values are not available"
    return "recorded of another motion" if part.whose == "recorded" else ""


def _apart(part: Part, alike: bool, relative: bool) -> float | None:
    """The largest difference from OpenSim's, with its own definitions or without, of its largest value or as it is."""
    found = [one.alike if alike else one.difference for one in part.quantities]
    known = [x for x in found if x is not None]
    size = max((abs(one.theirs) for one in part.quantities if one.theirs is not None), default=0.0)
    return max(known) / (size if relative else 1.0) if known and size else None


def _both(part: Part) -> tuple[FloatArray, FloatArray] | None:
    """Series of ours and of theirs (quantities, frames), where there are some of theirs."""
    if not part.whose:
        return None
    ours, theirs = (
        np.array([part.series[f"{one.name} {which}"] for one in part.quantities]) for which in ("ours", "theirs")
    )
    return ours, theirs


def _mean_over(part: Part) -> float | None:
    found = _both(part)
    return None if found is None else float(np.nanmean(found[0]) / np.nanmean(found[1]))


def _off_over(forces: Part, activations: Part) -> float | None:
    """How far means are off, relative: of forces over that of activations."""
    pair = _mean_over(forces), _mean_over(activations)
    return None if pair[0] is None or pair[1] is None else abs(pair[0] - 1.0) / abs(pair[1] - 1.0)


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
