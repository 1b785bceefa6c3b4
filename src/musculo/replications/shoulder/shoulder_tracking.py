"""Ehsani2023, section 4-4 C: a shoulder with a rhythm follows an elevation of the arm under computed torque.

The plane of elevation stays at 90 degrees and the axial rotation at -30, with gains K of 100, 100 and 1000 /s. What is
asked: tracking errors, torques, forces of fourteen muscle units that give these torques at the least squared
activation, and what the same costs as a differential-algebraic equation.

The paper's trajectory (figure 19), torques (20) and forces (21) are pictures only. The trajectory is ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from musculo.analyses.static_optimization.least_effort import Status
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.model.model import Model
from musculo.replications.peer import opensim_version
from musculo.replications.shoulder.mobl_arms import COORDINATES, NO_MODEL, SOURCE, UNITS, model_file
from musculo.replications.shoulder.shoulder_control import (
    END,
    FORMS,
    GAINS,
    HIGH,
    LOW,
    ODE,
    PROJECTED,
    SHORT_STEP,
    STABILIZED,
    TOLERANCE,
    Cost,
    Form,
    Shared,
    controller,
    costs,
    followed,
    shared,
    tracking_errors,
    tracking_model,
)
from musculo.replications.shoulder.shoulder_inverse import opensim_torques
from musculo.replications.shoulder.shoulder_rhythm import (
    DE_GROOT_BRAND,
    ELEVATION,
    PLANE,
    ROTATION,
    Slopes,
    with_shoulder_rhythm,
)
from musculo.replications.study import (
    NOT_INSTALLED,
    NOT_RUN,
    Part,
    Plot,
    Quantity,
    Row,
    Settings,
    Study,
    beside,
    relative_difference,
    significant,
)
from musculo.replications.timing import seconds_per_call
from musculo.simulation.forces.computed_torque import ComputedTorque
from musculo.simulation.simulation import Simulation

CITE = "section 4-4 C"
# Tracking errors of the elevation [rad, rad/s], figures of the other coordinates, and how many times faster than a DAE.
PAPER_ERRORS, PAPER_FIGURES, PAPER_SPEEDUP = (2e-4, 0.02), 16, 3.0
# Torques of two formulations of the same run, and torques against inverse dynamics of another program.
_ALIKE, _INVERSE = 1e-4, 1e-9
_DRIFT = 1e-14  # of states that are projected [rad]
# Moments of the forces that were found, of the largest torque.
_BALANCE = 1e-8
_LOOSE = 1e-4  # a tolerance at which errors do not bound the steps
_ALONE = "elevation alone"
_IDLE = 1e-6  # activations of units that do nothing


def study(settings: Settings) -> Study:
    """Tracking errors, torques, forces, and the cost of an ODE beside that of a DAE."""
    file = model_file(settings)
    if file is None:
        return _told((), missing=NO_MODEL)
    model = tracking_model(file)
    control = controller(model)
    settings.say("shoulder: the arm is raised, as ODE and as DAE ...")
    runs = {form: followed(model, control, form) for form in FORMS}
    short = followed(model, control, max_step=SHORT_STEP)
    settings.say("shoulder: forces of fourteen units ...")
    load = shared(model, control)
    elevation_alone = with_shoulder_rhythm(model, {k: Slopes(one.elevation, 0.0) for k, one in DE_GROOT_BRAND.items()})
    alone = shared(elevation_alone, controller(elevation_alone))
    settings.say("shoulder: runs are timed ...")
    spent = costs(model, control)
    locked = tracking_model(file, locks=True)
    rows = [
        *_error_rows(control, runs[ODE], short),
        *_speed_rows(spent, _sizes(model)),
        *inverse_rows(model, load, settings),
        *_run_rows(model, control, runs, load.time),
        *_force_rows(load),
    ]
    return _told(
        tuple(rows),
        (
            _costs_part("What a run costs", spent, control, _errors_of(control, runs)),
            _costs_part(
                f"The same with steps of {1e3 * SHORT_STEP:g} ms at most", costs(model, control, SHORT_STEP, 1), control
            ),
            _costs_part(
                f"The same with locked coordinates in place of welds: {_sizes(locked)}",
                costs(locked, controller(locked), rounds=1),
                controller(locked),
            ),
            _gain_part(model),
            _torque_part(load, alone),
            _force_part(load, alone),
        ),
        load.time,
        (
            Plot(
                "elevation",
                "The desired elevation (figure 19)",
                "time [s]",
                "[deg]",
                load.time,
                {"elevation": np.degrees(load.q[:, model.coordinate_index(ELEVATION)])},
            ),
            Plot("torques", "Torques (figure 20)", "time [s]", "[N m]", load.time, _columns(load)),
            Plot(
                "forces",
                "Forces of the units (figure 21)",
                "time [s]",
                "[N]",
                load.time,
                {name: load.optimum.force[:, k] for k, name in enumerate(UNITS)},
            ),
        ),
    )


# --- rows ------------------------------------------------------------------------------------------------------------
def _error_rows(control: ComputedTorque, free: Simulation, short: Simulation) -> list[Row]:
    """The paper's errors; the coordinates that stay where they are, with steps that follow gain 1000."""
    place, speed = PAPER_ERRORS
    (q, u), (q_short, u_short) = (tracking_errors(control, done) for done in (free, short))
    fixed = (COORDINATES.index(PLANE), COORDINATES.index(ROTATION))
    sizes = {PLANE: np.radians(90.0), ROTATION: np.radians(30.0)}
    k = COORDINATES.index(ELEVATION)
    steps = f"steps of {1e3 * SHORT_STEP:g} ms at most"
    noise = f"tolerance {TOLERANCE:g} alone: {q[fixed[1]]:.1e} rad, since gain 1000 is at the limit of stable steps"
    rows = [
        Row("elevation, tracking error", place, float(q[k]), "rad", f"tolerance {TOLERANCE:g}", cite=CITE),
        Row("speed of elevation, tracking error", speed, float(u[k]), "rad/s", f"tolerance {TOLERANCE:g}", cite=CITE),
    ]
    for c in fixed:
        name = COORDINATES[c]
        words = "plane of elevation" if name == PLANE else "axial rotation"
        note = steps + (f"; {noise}" if name == ROTATION else "")
        equal = significant(PAPER_FIGURES)
        rows.append(
            Row(f"{words}, tracking error", equal, float(q_short[c] / sizes[name]), "relative", note, cite=CITE)
        )
    rows.append(
        Row(
            "speeds of plane and rotation, tracking error",
            None,
            float(u_short[list(fixed)].max()),
            "rad/s",
            steps,
            limit=1e-14,
        )
    )
    return rows


def _sizes(model: Model) -> str:
    """Of the two formulations, in words."""
    e = embedding_of(model)
    whole, ties = len(model.coordinates), len(e.rules)
    return f"{whole} coordinates and {ties} equations beside {len(e.coordinate_names)} coordinates"


def _speed_rows(spent: dict[Form, Cost], sizes: str) -> list[Row]:
    def ratio(form: Form, what: Callable[[Cost], float]) -> float:
        return what(spent[form]) / what(spent[ODE])

    note = f"tolerance {TOLERANCE:g}; the controller compiled on both sides"
    rows = [
        Row(
            "time of a run: stabilized DAE over ODE",
            PAPER_SPEEDUP,
            ratio(STABILIZED, lambda one: one.seconds),
            "x",
            note,
            "at least",
            timed=True,
            cite=CITE,
        ),
    ]
    for form in (STABILIZED, PROJECTED):
        if form is PROJECTED:
            rows.append(
                Row(
                    f"time of a run: {form.name} over ODE",
                    None,
                    ratio(form, lambda one: one.seconds),
                    "x",
                    "as accurate",
                    "at least",
                    1.0,
                    timed=True,
                )
            )
        rows.append(
            Row(
                f"one evaluation: {form.name} over ODE",
                None,
                ratio(form, lambda one: one.evaluation),
                "x",
                sizes,
                "at least",
                1.0,
                timed=True,
            )
        )
    return rows


def inverse_rows(model: Model, load: Shared, settings: Settings) -> list[Row]:
    """The torques of the controller beside inverse dynamics at the desired accelerations, ours and OpenSim's."""
    e = embedding_of(model)
    order = [e.speed_names.index(name) for name in COORDINATES]

    def apart(tau: FloatArray) -> float:
        return relative_difference(load.torque, e.pull_back(load.q, tau, time=load.time)[:, order])

    missing = "" if settings.opensim and opensim_version() else NOT_INSTALLED if settings.opensim else NOT_RUN
    if not missing:
        settings.say("OpenSim: inverse dynamics ...")
    theirs = None if missing else apart(opensim_torques(model, load.q, load.u, load.udot))
    what, unit = "torques on the desired motion against {} inverse dynamics", "relative"
    note = f"of all {len(model.coordinates)} coordinates, pulled back by ours"
    return [
        Row(what.format("our"), None, apart(inverse_dynamics(model, load.q, load.u, load.udot)), unit, limit=_INVERSE),
        Row(what.format("OpenSim's"), None, theirs, unit, missing or note, limit=_INVERSE),
    ]


def _run_rows(model: Model, control: ComputedTorque, runs: dict[Form, Simulation], times: FloatArray) -> list[Row]:
    """The same torques along both formulations, and constraints that hold."""
    rows = [model.speed_index(name) for name in COORDINATES]
    along = {}
    for form, done in runs.items():
        tau = control.torques(done.time, done.q, done.u)[:, rows]
        along[form] = np.array([np.interp(times, done.time, one) for one in tau.T]).T
    apart, drift = relative_difference(along[PROJECTED], along[ODE]), float(runs[PROJECTED].drift.position.max())
    tolerance = f"tolerance {TOLERANCE:g}"
    return [
        Row("torques along the ODE and along the projected DAE", None, apart, "relative", tolerance, limit=_ALIKE),
        Row("drift of the couplers, projected DAE", None, drift, "rad", limit=_DRIFT),
    ]


def _force_rows(load: Shared) -> list[Row]:
    """What the units' forces give, by moment arms that the optimization did not make."""
    given = np.einsum("fm,fmc->fc", load.optimum.force, load.arms)
    unserved = int(np.sum(np.asarray(load.optimum.status) != Status.SOLVED))
    return [
        Row(
            "moments of the units' forces against the torques",
            None,
            relative_difference(given, load.torque),
            "relative",
            "fourteen units, no reserve",
            limit=_BALANCE,
        ),
        Row("frames that the units cannot serve", None, float(unserved), "", f"of {len(load.time)}", limit=0.0),
    ]


# --- tables ----------------------------------------------------------------------------------------------------------
def _errors_of(control: ComputedTorque, runs: dict[Form, Simulation]) -> dict[Form, str]:
    k = COORDINATES.index(ELEVATION)
    return {form: f"elevation off by {tracking_errors(control, done)[0][k]:.1e} rad" for form, done in runs.items()}


def _costs_part(
    title: str, spent: dict[Form, Cost], control: ComputedTorque, notes: Mapping[Form, str] | None = None
) -> Part:
    """A run, its evaluations, and one of them, apart from each other."""
    quantities = []
    for form, cost in spent.items():
        note, over = (notes or {}).get(form, ""), ""
        if form is not ODE:
            over = f"{cost.seconds / spent[ODE].seconds:.2f} of the ODE's"
        quantities += [
            Quantity(
                f"{form.name}: a run of {END:g} s", "ms", 1e3 * cost.seconds, note="; ".join(filter(None, (over, note)))
            ),
            Quantity(f"{form.name}: evaluations", "", float(cost.evaluations), note=f"in {cost.steps} steps"),
            Quantity(f"{form.name}: one evaluation", "us", 1e6 * cost.evaluation, note="from runs of two lengths"),
            Quantity(f"{form.name}: before and after the steps", "ms", 1e3 * cost.once),
        ]
    q, u = control.start()
    call = control.bound(len(q), len(u))
    alone = seconds_per_call({"controller": call})["controller"]
    quantities.append(
        Quantity("the controller's part of one evaluation", "us", 1e6 * alone, note="the same in all forms")
    )
    return Part(title, "", tuple(quantities), "Processor time.")


def _gain_part(model: Model) -> Part:
    """Evaluations with the paper's gains and without the largest one, at two tolerances."""
    quantities = []
    for tolerance in (_LOOSE, TOLERANCE):
        for gains in (GAINS, dict.fromkeys(GAINS, 100.0)):
            done = followed(model, controller(model, gains), tolerance=tolerance)
            name = f"evaluations of the ODE, K = {', '.join(f'{k:g}' for k in gains.values())}"
            note = f"tolerance {tolerance:g}; steps of {1e3 * END / done.n_steps:.1f} ms on average"
            quantities.append(Quantity(name, "", float(done.n_evaluations), note=note))
    return Part(
        "What the gain 1000 costs",
        "",
        tuple(quantities),
        "Errors that decay as exp(-1000 t) limit the steps of Runge-Kutta-Fehlberg to 3.7 ms in every formulation.",
    )


def _columns(load: Shared) -> dict[str, FloatArray]:
    return {name: load.torque[:, k] for k, name in enumerate(COORDINATES)}


def _torque_part(load: Shared, alone: Shared) -> Part:
    ours, theirs = _columns(load), _columns(alone)
    return Part(
        "Torques on the desired motion (figure 20)",
        _ALONE,
        tuple(beside(name, "N m", ours[name], theirs[name]) for name in ours),
        "Largest by size, beside those of bones that follow the elevation alone.",
        series={f"{name} {whose}": one[name] for whose, one in (("ours", ours), ("theirs", theirs)) for name in ours},
    )


def _force_part(load: Shared, alone: Shared) -> Part:
    quantities, optimum = [], load.optimum
    series: dict[str, FloatArray] = {}
    for k, name in enumerate(UNITS):
        ours, theirs = optimum.force[:, k], alone.optimum.force[:, k]
        most = optimum.activation[:, k].max()
        note = f"at {load.time[int(ours.argmax())]:.2f} s; activation {most:.3f} at most" if most > _IDLE else "idle"
        quantities.append(replace(beside(name, "N", ours, theirs), note=note))
        series |= {f"{name} ours": ours, f"{name} theirs": theirs}
    return Part(
        "Forces of the units by least squared activation (figure 21)",
        _ALONE,
        tuple(quantities),
        "Largest values. Rigid tendons, active forces by length and speed of the fibers.",
        series=series,
    )


def _told(
    rows: tuple[Row, ...],
    parts: tuple[Part, ...] = (),
    t: FloatArray | None = None,
    plots: tuple[Plot, ...] = (),
    missing: str = "",
) -> Study:
    return Study(
        name="shoulder-tracking",
        title="A shoulder follows an elevation of the arm, as ODE and as DAE",
        source=SOURCE + CITE,
        method="MoBL-ARMS with the rhythm of de Groot and Brand in both angles; elevation from "
        f"{np.degrees(LOW):.0f} to {np.degrees(HIGH):.0f} degrees and back in {END:g} s at plane 90 and rotation -30 "
        "degrees; computed torque with K = 100, 100, 1000 /s; Runge-Kutta-Fehlberg. The trajectory is ours (figure 19 "
        "is a picture). Masses are the "
        "model's (the paper takes those of Quental et al. 2012, which were not at hand), and so is the rigid forearm.",
        parts=parts,
        time=np.zeros(0) if t is None else t,
        missing=missing,
        rows=rows,
        remarks=(
            "Gain 1000 limits the steps of both formulations, so that both evaluate their equations equally often, and "
            "the ratio of times is that of one evaluation, and of what is done once. Both are compiled, with the "
            "controller, by the same code; the paper's are not. Locked coordinates, which the paper's model does not "
            "have, are equations of the DAE and cost the ODE little: with them the ratio is larger.",
        )
        if rows
        else (),
        plots=plots,
    )
