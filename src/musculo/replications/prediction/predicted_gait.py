"""Barman2020, chapter V: one step of walking of a skeleton of 55 degrees of freedom, with least effort.

The step is predicted twice: as in the paper (rooted at the pelvis, six control points for each coordinate, tolerance
1e-3), and rooted at the standing foot, which then stands exactly at all times, to 1e-6.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.loads.joint_reactions import joint_reactions
from musculo.replications.prediction.gait_problem import GaitParts, Walk, gait_parts
from musculo.replications.prediction.skeleton import Root, mirror_of, skeleton
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.results.table import Table
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.solvers.told_progress import Progress
from musculo.trajectory.transcription.bspline_motion import BSplines

SOURCE = "Barman 2020, Recursive Newton-Euler dynamics and sensitivity analysis, chapter V"
PAPER_TIME = 34.10  # [s] on a Xeon E-2186G
# How far points in contact may be off in the paper's mode: its tolerance [m], and ten times that [m/s]. Six control
# points for each coordinate cannot hold a foot still.
BAND, SPEED_BAND = 1e-3, 1e-2
# Frames of a step in results.
FRAMES = 101
# Second derivatives of dynamics count once a search is this near to feasible, and has run this long.
_NEAR, _EARLY = 5e-2, 10
_START: dict[str, str | float | int] = {"bound_push": 1e-4, "bound_frac": 1e-4, "nlp_scaling_method": "gradient-based"}
# The second search of the exact mode, with second derivatives of dynamics from its start: a barrier that falls step by
# step finds the optimum, where one that adapts leaves it.
_SHARPEN: dict[str, str | float | int] = {
    "nlp_scaling_method": "gradient-based",
    "mu_strategy": "monotone",
    "mu_init": 1e-4,
}
_SHARP, _LONGEST = 1e-6, 300
# Normal walking at a free speed, mean of adults: [Perry2010] (angles), [Winter2009] (ground reactions of the weight).
NORMAL = {
    "hip flexion, largest": ("deg", 20.0, 40.0),
    "hip extension, largest": ("deg", 5.0, 20.0),
    "knee flexion in stance, largest": ("deg", 10.0, 25.0),
    "knee flexion in swing, largest": ("deg", 55.0, 70.0),
    "ankle dorsiflexion, largest": ("deg", 5.0, 15.0),
    "ankle plantar flexion, largest": ("deg", 10.0, 25.0),
    "vertical ground reaction, first peak": ("weight", 1.0, 1.3),
    "vertical ground reaction, valley": ("weight", 0.6, 0.9),
    "vertical ground reaction, second peak": ("weight", 1.0, 1.3),
    "braking, largest": ("weight", 0.10, 0.25),
    "propulsion, largest": ("weight", 0.10, 0.25),
    "hip abduction moment, largest": ("N m/kg", 0.6, 1.2),
    "ankle plantar flexion moment, largest": ("N m/kg", 1.1, 1.8),
}


@dataclass(frozen=True, eq=False)
class PredictedStep:
    """A step that was found, and what it took."""

    parts: GaitParts
    motion: PredictedMotion
    iterations: int
    wall: float  # [s] preparation included
    cpu: float  # [s]


def paper_step(walk: Walk | None = None, max_iterations: int = 300) -> PredictedStep:
    """The step in the paper's way: six control points, the feet within bands."""
    walk = Walk() if walk is None else walk
    parts = gait_parts(walk, "pelvis", band=BAND, speed_band=SPEED_BAND)
    T = walk.duration
    knots = (0.0, walk.double / T, walk.heel_off / T, 1.0)
    return _solved(parts, BSplines(6, 3, 4, knots=knots, limit_points=True), 1e-3, max_iterations, sharpen=False)


def exact_step(walk: Walk | None = None, max_iterations: int = 60) -> PredictedStep:
    """The step with a foot that stands exactly: rooted there, quartic splines over five spans."""
    walk = Walk() if walk is None else walk
    parts = gait_parts(walk, "left_foot")
    T = walk.duration
    knots = np.unique([0.0, walk.double / T, 0.4, walk.heel_off / T, 0.8, 1.0])
    zero = {f"foot_{end}": (0.0, 1.0) for end in ("tx", "ty", "tz", "rotation", "list")}
    zero |= {"foot_tilt": (walk.flat / T, 1.0), "toe_extension_l": (walk.flat / T, walk.heel_off / T)}
    splines = BSplines(len(knots) + 3, 4, 5, knots=knots, limit_points=True, zero=zero)
    return _solved(parts, splines, 1e-4, max_iterations, sharpen=True)


def _solved(
    parts: GaitParts, splines: BSplines, tolerance: float, max_iterations: int, *, sharpen: bool
) -> PredictedStep:
    wall, cpu = time.perf_counter(), time.process_time()
    forces = parts.forces
    forces.exact = False

    def progress(at: Progress) -> None:
        if at.violation < _NEAR and at.iteration >= _EARLY:
            forces.exact = True

    upright = {f"{name}/value": 0.0 for name in parts.active}
    motion = parts.problem.solve(
        splines, upright, tolerance=tolerance, max_iterations=max_iterations, progress=progress, options=_START
    )
    iterations = motion.solver.iterations
    if sharpen:
        forces.exact = True
        motion = parts.problem.solve(splines, motion, tolerance=_SHARP, max_iterations=_LONGEST, options=_SHARPEN)
        iterations += motion.solver.iterations
    return PredictedStep(parts, motion, iterations, time.perf_counter() - wall, time.process_time() - cpu)


def stride_of(step: PredictedStep, frames: int = FRAMES) -> Table:
    """A whole cycle of the left leg, from heel strike to heel strike: the step, then its mirror image.

    Columns: angles of hip, knee and ankle [deg], ground reactions as fractions of the weight (fore-aft, vertical, and
    lateral, towards the other foot), joint moments [N m/kg] and forces that joints transmit [weight].
    """
    walk, parts = step.parts.walk, step.parts
    t = np.linspace(0.0, walk.duration, frames)
    variables = _variables(step, t)
    n = len(parts.active)
    q, u, udot = (variables[:, k * n : (k + 1) * n] for k in range(3))
    wrench = parts.forces.reactions(variables)
    effort = parts.forces.values(variables)
    ground = {
        "l": wrench["toes_l"] + wrench["foot_l"],
        "r": np.where((t <= walk.double + 1e-9)[:, None], wrench["toes_r"], 0.0),
    }
    loads = [ExternalLoad(body, force=W[:, 3:], moment=W[:, :3]) for body, W in wrench.items()]
    carried = joint_reactions(parts.model, q, u, udot, loads)
    weight, mass = parts.forces.weight, walk.sizes.body_mass
    columns: dict[str, FloatArray] = {}
    for name in ("hip_flexion", "hip_adduction", "knee_flexion", "ankle_dorsiflexion"):
        pair = [parts.active.index(f"{name}_{side}") for side in "lr"]
        columns[name.replace("_", " ")] = np.degrees(np.concatenate([q[:, k] for k in pair]))
        moments = [parts.forces.moments.index(f"{name}_{side}") for side in "lr"]
        scaled = [effort[:, k] * parts.forces.strength[k] / mass for k in moments]
        columns[name.replace("_", " ") + " moment"] = np.concatenate(scaled)
    for k, name in enumerate(("fore-aft", "vertical", "lateral")):
        # towards the other foot is positive z on the left and negative z on the right
        sides = (1.0, -1.0) if name == "lateral" else (1.0, 1.0)
        both = [sign * ground[side][:, 3 + k] / weight for sign, side in zip(sides, "lr", strict=True)]
        columns[f"ground {name}"] = np.concatenate(both)
    for joint in ("hip", "knee", "ankle"):
        size = [np.linalg.norm(carried.of(f"{joint}_{side}")[0], axis=1) / weight for side in "lr"]
        columns[f"{joint} force"] = np.concatenate(size)
    # the moment when the other foot strikes is there once, just after it
    time_of = np.concatenate([t[:-1], t + walk.duration])
    values = np.column_stack([np.delete(one, frames - 1) for one in columns.values()])
    return Table(time_of, tuple(columns), values, name="stride")


def coordinates_of_step(step: PredictedStep, steps: int = 2, frames: int = 51) -> Table:
    """All 55 coordinates over some steps, each the mirror image of the one before: to write, or to view."""
    root: Root = "pelvis" if step.parts.model.name.endswith("pelvis") else "left_foot"
    model = skeleton(root=root)
    names = model.coordinate_names
    walk = step.parts.walk
    t = np.linspace(0.0, walk.duration, frames)
    values = np.zeros((frames, len(names)))
    variables = _variables(step, t)
    for k, name in enumerate(step.parts.active):
        values[:, names.index(name)] = variables[:, k]
    if root == "left_foot":
        return Table(t, names, values, name="step")
    column, sign = mirror_of(names)
    parts, times, now = [values[:-1]], [t[:-1]], values
    for k in range(1, steps):
        now = now[:, column] * sign
        now[:, names.index("pelvis_tx")] += walk.length
        parts.append(now[:-1] if k < steps - 1 else now)
        times.append((t if k == steps - 1 else t[:-1]) + k * walk.duration)
    return Table(np.concatenate(times), names, np.vstack(parts), name="steps")


def _variables(step: PredictedStep, t: FloatArray) -> FloatArray:
    """Inputs of the ground reactions at these times."""
    d = step.motion.program.discretization
    values = step.motion.variables_at(t / step.parts.walk.duration)
    return np.ascontiguousarray(values[:, [d.column(name) for name in step.parts.forces.inputs]])


def features_of(stride: Table) -> dict[str, float]:
    """What `NORMAL` has bands of, from a stride that begins with a heel strike."""
    x = {name: stride.values[:, k] for k, name in enumerate(stride.names)}
    half = len(stride.time) // 2
    stance = slice(0, half)
    single = slice(half // 5, half)
    vertical = x["ground vertical"][single]
    third = len(vertical) // 3
    valley = third + int(np.argmin(vertical[third : 2 * third]))
    return {
        "hip flexion, largest": float(x["hip flexion"].max()),
        "hip extension, largest": float(-x["hip flexion"].min()),
        "knee flexion in stance, largest": float(x["knee flexion"][: half // 2].max()),
        "knee flexion in swing, largest": float(x["knee flexion"][half:].max()),
        "ankle dorsiflexion, largest": float(x["ankle dorsiflexion"][stance].max()),
        "ankle plantar flexion, largest": float(-x["ankle dorsiflexion"].min()),
        "vertical ground reaction, first peak": float(x["ground vertical"][: half // 5 + valley].max()),
        "vertical ground reaction, valley": float(vertical[valley]),
        "vertical ground reaction, second peak": float(vertical[valley:].max()),
        "braking, largest": float(-x["ground fore-aft"].min()),
        "propulsion, largest": float(x["ground fore-aft"].max()),
        "hip abduction moment, largest": float(-x["hip adduction moment"][stance].min()),
        "ankle plantar flexion moment, largest": float(-x["ankle dorsiflexion moment"].min()),
    }


def study(settings: Settings) -> Study:
    """The paper's figures of its gait beside ours, in both modes."""
    found: list[Row | Quantity] = []
    remarks, plots = [], []
    for name, make, limit, seconds in (
        ("paper's mode", paper_step, 1e-3, 3.0),
        ("exact mode", exact_step, 1e-6, 20.0),
    ):
        settings.say(f"gait: {name} ...")
        step = make()
        motion = step.motion
        program = motion.program
        found += [
            Row(f"violation, {name}", None, motion.solver.largest_violation, limit=limit,
                note="rows of the problem: m, rad, m/s and fractions"),
            Row(f"CPU time, {name}", None, step.cpu, "s", limit=seconds, timed=True, note="preparation included"),
            Quantity(f"effort, {name}", "s", motion.objective, note=motion.status.name.lower()),
            Quantity(f"variables, {name}", "", len(program.variable_names)),
            Quantity(f"rows, {name}", "", len(program.row_names)),
            Quantity(f"active limits, {name}", "", len(motion.solver.active_bounds())),
            Quantity(f"iterations, {name}", "", step.iterations),
            Quantity(f"wall time, {name}", "s", step.wall, PAPER_TIME),
        ]  # fmt: skip
        worst = motion.violations(10, 0.0)[:1]
        for one in worst:
            where = one.name.replace(" at ", ", ")
            found.append(Quantity(f"violation between nodes, {name}", "", one.amount, note=where))
        stride = stride_of(step)
        for what, value in features_of(stride).items():
            unit, low, high = NORMAL[what]
            found.append(Quantity(f"{what}, {name}", unit, value, note=f"normal {low:g} to {high:g}"))
        inside = sum(NORMAL[what][1] <= value <= NORMAL[what][2] for what, value in features_of(stride).items())
        inside_of = f"{inside} of {len(NORMAL)} features of the walk"
        remarks.append(f"In the {name} {inside_of} are in the bands of normal walking.")
        plots += _plots(stride, name.split("'")[0].split()[0])
    rows, parts = judged(found)
    return Study(
        "gait",
        "One step of a skeleton with 55 degrees of freedom, 38 of them active, at 1.2 m/s",
        SOURCE,
        "Least integral of squared joint moments over their limits, under the nine kinds of constraints of section "
        "5.2, from upright standing. Control points of 38 coordinates are variables; the other 17 are frozen, as in "
        "the paper, which counts 330 variables, 1726 rows and 244 active limits. What it leaves open is stated in "
        "`gait_problem.py`.",
        parts=parts,
        rows=rows,
        remarks=tuple(remarks),
        plots=tuple(plots),
    )


def _plots(stride: Table, mode: str) -> list[Plot]:
    x = {name: stride.values[:, k] for k, name in enumerate(stride.names)}
    cycle = 100.0 * stride.time / stride.time[-1]
    groups = (
        ("angles", "Joint angles (figure 5.3)", "[deg]", ("hip flexion", "knee flexion", "ankle dorsiflexion")),
        (
            "ground",
            "Ground reactions (figure 5.4)",
            "[weight]",
            ("ground fore-aft", "ground vertical", "ground lateral"),
        ),
        ("forces", "Forces that joints transmit (figure 5.5)", "[weight]", ("hip force", "knee force", "ankle force")),
    )
    return [
        Plot(f"{mode}_{name}", f"{title}, {mode} mode", "cycle [%]", unit, cycle, {one: x[one] for one in curves})
        for name, title, unit, curves in groups
    ]
