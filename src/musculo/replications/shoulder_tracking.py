"""Ehsani2023, section 4-4 C: a shoulder with a rhythm follows an elevation of the arm under computed torque.

The plane of elevation stays at 90 degrees and the axial rotation at -30, with gains K of 100, 100 and 1000 /s. What is
asked: tracking errors, torques, forces of fourteen muscle units that give these torques at the least squared activation,
and what the same costs as a differential-algebraic equation.

The paper's trajectory (figure 19), torques (20) and forces (21) are pictures only. The trajectory is ours.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.share_load import static_optimization
from musculo.analyses.static_optimization.static_optimum import StaticOptimum
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import inverse_dynamics
from musculo.embedding.embedding import embedding_of
from musculo.functions.elementary_functions import Sine
from musculo.functions.function import Function
from musculo.model.model import Model
from musculo.muscle.geometry import muscle_geometry
from musculo.replications.mobl_arms import COORDINATES, NO_MODEL, SOURCE, UNITS, arm_of, model_file, shoulder_alone
from musculo.replications.peer import opensim_version
from musculo.replications.shoulder_inverse import opensim_torques
from musculo.replications.shoulder_rhythm import ELEVATION, PLANE, ROTATION, with_shoulder_rhythm
from musculo.replications.study import (
    NOT_INSTALLED,
    NOT_RUN,
    Part,
    Plot,
    Quantity,
    Row,
    Settings,
    Study,
    relative_difference,
    significant,
)
from musculo.simulation.computed_torque import ComputedTorque, computed_torque
from musculo.simulation.simulate import Formulation, simulate
from musculo.simulation.simulation import Simulation

CITE = "section 4-4 C"
# Tracking errors of the elevation [rad, rad/s], figures of the other coordinates, and how many times faster than a DAE.
PAPER_ERRORS, PAPER_FIGURES, PAPER_SPEEDUP = (2e-4, 0.02), 16, 3.0
GAINS = {PLANE: 100.0, ELEVATION: 100.0, ROTATION: 1000.0}  # K [1/s]: kp = K^2, kv = 2 K
# One raise of the arm and back, from 10 to 100 degrees; at rest at both ends.
END = 2.0
LOW, HIGH = np.radians(10.0), np.radians(100.0)
TOLERANCE = 1e-6
# A step with which an error that decays as exp(-1000 t) is followed, and not only kept stable [s].
SHORT_STEP = 1e-3
_FRAMES = 101
# Torques of two formulations of the same run, and torques against inverse dynamics of another program.
_ALIKE, _INVERSE = 1e-4, 1e-9
# Moments of the forces that were found, of the largest torque.
_BALANCE = 1e-8
_ROUNDS = 3


class Form(NamedTuple):
    """A formulation of the same problem."""

    name: str
    formulation: Formulation
    stabilisation: float | None


ODE = Form("ODE", "embedded", None)
STABILIZED, PROJECTED = Form("stabilized DAE", "constrained", 10.0), Form("projected DAE", "constrained", None)
FORMS = (ODE, STABILIZED, PROJECTED)


def tracking_model(file: Path) -> Model:
    """Three coordinates, fourteen units, and the rhythm in elevation and plane of elevation."""
    return with_shoulder_rhythm(shoulder_alone(arm_of(file, tuple(UNITS.values()))))


def desired() -> dict[str, Function | float]:
    """Functions of time, and numbers to stay at."""
    middle, half = 0.5 * (HIGH + LOW), 0.5 * (HIGH - LOW)
    return {
        PLANE: float(np.radians(90.0)),
        ELEVATION: Sine(half, 2.0 * np.pi / END, -0.5 * np.pi, middle),
        ROTATION: float(np.radians(-30.0)),
    }


def controller(model: Model, gains: dict[str, float] | None = None) -> ComputedTorque:
    k = GAINS if gains is None else gains
    return computed_torque(
        model, desired(), {name: x**2 for name, x in k.items()}, {name: 2.0 * x for name, x in k.items()}
    )


def followed(
    model: Model, control: ComputedTorque, form: Form = ODE, end: float = END, max_step: float = np.inf
) -> Simulation:
    """The motion from the desired state on; its controller is compiled in every formulation."""
    q0, u0 = control.start()
    return simulate(
        model, q0, u0, (0.0, end), forces=control, model_forces=False, method="rkf45", formulation=form.formulation,
        stabilisation=form.stabilisation, rtol=TOLERANCE, atol=TOLERANCE, max_step=max_step, dense=False,
    )  # fmt: skip


def tracking_errors(control: ComputedTorque, done: Simulation) -> tuple[FloatArray, FloatArray]:
    """The largest errors of plane, elevation and rotation (3,) and of their speeds, at all steps."""
    model = control.model
    order = [control.coordinate_names.index(name) for name in COORDINATES]
    z, zu, _ = (one[:, order] for one in control.desired(done.time))
    q = done.q[:, [model.coordinate_index(name) for name in COORDINATES]]
    u = done.u[:, [model.speed_index(name) for name in COORDINATES]]
    return np.abs(q - z).max(axis=0), np.abs(u - zu).max(axis=0)


class Cost(NamedTuple):
    """Of a run: seconds, evaluations of the equations, and seconds of one more evaluation."""

    seconds: float
    evaluations: int
    evaluation: float
    steps: int

    @property
    def once(self) -> float:
        """Seconds that do not grow with the evaluations: checks at the start and at the end."""
        return self.seconds - self.evaluations * self.evaluation


def costs(model: Model, control: ComputedTorque, max_step: float = np.inf, rounds: int = _ROUNDS) -> dict[Form, Cost]:
    """Least processor times of each form, taken in turn; an evaluation from a run and a part of it."""
    ends = (0.2 * END, END)
    least: dict[tuple[Form, float], tuple[float, Simulation]] = {}
    for _ in range(rounds + 1):
        for form in FORMS:
            for end in ends:
                since = time.process_time()
                done = followed(model, control, form, end, max_step)
                spent = time.process_time() - since
                least[form, end] = min(least.get((form, end), (np.inf, done)), (spent, done), key=lambda one: one[0])
    found = {}
    for form in FORMS:
        (part, short), (whole, long) = (least[form, end] for end in ends)
        evaluation = (whole - part) / (long.n_evaluations - short.n_evaluations)
        found[form] = Cost(whole, long.n_evaluations, evaluation, long.n_steps)
    return found


class Shared(NamedTuple):
    """The desired motion at some times, its torques, and the muscles that give them."""

    time: FloatArray
    q: FloatArray
    u: FloatArray
    udot: FloatArray
    torque: FloatArray  # (frames, 3) of `COORDINATES` [N m]
    optimum: StaticOptimum
    arms: FloatArray  # (frames, units, 3) [m]


def shared(model: Model, control: ComputedTorque, frames: int = _FRAMES) -> Shared:
    """Torques along the desired motion, and forces of the units by least squared activation."""
    t, e = np.linspace(0.0, END, frames), embedding_of(model)
    m = e.motion(*control.desired(t), time=t)
    tau = control.torques(t, m.q, m.u)
    optimum = static_optimization(model, m.q, m.u, m.udot, model_forces=False)
    geometry = muscle_geometry(model, m.q)
    columns = [geometry.independent_names.index(name) for name in COORDINATES]
    torque = tau[:, [model.speed_index(name) for name in COORDINATES]]
    return Shared(t, m.q, m.u, m.udot, torque, optimum, geometry.moment_arm_independent[:, :, columns])


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
    settings.say("shoulder: runs are timed ...")
    spent = costs(model, control)
    slow = controller(model, dict.fromkeys(GAINS, 100.0))
    rows = [
        *_error_rows(control, runs[ODE], short),
        *_speed_rows(spent),
        *_torque_rows(model, control, runs, load, settings),
    ]
    return _told(
        tuple(rows),
        (
            _costs_part("What a run costs", spent, _errors_of(control, runs)),
            _costs_part(
                f"The same with steps of {1e3 * SHORT_STEP:g} ms at most", costs(model, control, SHORT_STEP, 1), {}
            ),
            _gain_part(runs[ODE], followed(model, slow)),
            _torque_part(load),
            _force_part(load),
        ),
        load.time,
        (
            Plot("elevation", "The desired elevation (figure 19)", "time [s]", "[deg]", load.time,
                 {"elevation": np.degrees(load.q[:, model.coordinate_index(ELEVATION)])}),
            Plot("torques", "Torques (figure 20)", "time [s]", "[N m]", load.time, _columns(load)),
            Plot("forces", "Forces of the units (figure 21)", "time [s]", "[N]", load.time,
                 {name: load.optimum.force[:, k] for k, name in enumerate(UNITS)}),
        ),
    )  # fmt: skip


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
        rows.append(Row(f"{words}, tracking error", equal, float(q_short[c] / sizes[name]), "relative", note, cite=CITE))
    rows.append(
        Row("speeds of plane and rotation, tracking error", None, float(u_short[list(fixed)].max()), "rad/s", steps,
            limit=1e-14)
    )  # fmt: skip
    return rows


def _speed_rows(spent: dict[Form, Cost]) -> list[Row]:
    def ratio(form: Form, what: Callable[[Cost], float]) -> float:
        return what(spent[form]) / what(spent[ODE])

    note = f"tolerance {TOLERANCE:g}; the controller compiled on both sides"
    rows = [
        Row("time of a run: stabilized DAE over ODE", PAPER_SPEEDUP, ratio(STABILIZED, lambda one: one.seconds), "x", note,
            "at least", timed=True, cite=CITE),
    ]  # fmt: skip
    for form in (STABILIZED, PROJECTED):
        if form is PROJECTED:
            rows.append(
                Row(f"time of a run: {form.name} over ODE", None, ratio(form, lambda one: one.seconds), "x", "as accurate",
                    "at least", 1.0, timed=True)
            )  # fmt: skip
        rows.append(
            Row(f"one evaluation: {form.name} over ODE", None, ratio(form, lambda one: one.evaluation), "x",
                "21 coordinates and 18 equations beside 3 coordinates", "at least", 1.0, timed=True)
        )  # fmt: skip
    return rows


def _torque_rows(
    model: Model, control: ComputedTorque, runs: dict[Form, Simulation], load: Shared, settings: Settings
) -> list[Row]:
    e = embedding_of(model)
    exact = e.pull_back(load.q, inverse_dynamics(model, load.q, load.u, load.udot), time=load.time)
    order = [e.speed_names.index(name) for name in COORDINATES]
    along = {}
    for form, done in runs.items():
        tau = control.torques(done.time, done.q, done.u)[:, [model.speed_index(name) for name in COORDINATES]]
        along[form] = np.array([np.interp(load.time, done.time, one) for one in tau.T]).T
    rows = [
        Row("torques on the desired motion against inverse dynamics", None, relative_difference(load.torque, exact[:, order]),
            "relative", limit=_INVERSE),
        Row("torques along the ODE and along the projected DAE", None, relative_difference(along[PROJECTED], along[ODE]),
            "relative", f"tolerance {TOLERANCE:g}", limit=_ALIKE),
        Row("drift of the couplers, projected DAE", None, float(runs[PROJECTED].drift.position.max()), "rad", limit=1e-14),
    ]  # fmt: skip
    missing = "" if settings.opensim and opensim_version() else NOT_INSTALLED if settings.opensim else NOT_RUN
    theirs = None
    if not missing:
        settings.say("OpenSim: inverse dynamics ...")
        found = e.pull_back(load.q, opensim_torques(model, load.q, load.u, load.udot), time=load.time)
        theirs = relative_difference(load.torque, found[:, order])
    rows.append(
        Row("torques on the desired motion against OpenSim's inverse dynamics", None, theirs, "relative",
            missing or "of all 21 coordinates, pulled back by ours", limit=_INVERSE)
    )  # fmt: skip
    given = np.einsum("fm,fmc->fc", load.optimum.force, load.arms)
    unserved = int(np.sum(np.asarray(load.optimum.status) != 0))
    rows += [
        Row("moments of the units' forces against the torques", None, relative_difference(given, load.torque), "relative",
            "fourteen units, no reserve", limit=_BALANCE),
        Row("frames that the units cannot serve", None, float(unserved), "", f"of {len(load.time)}", limit=0.0),
    ]  # fmt: skip
    return rows


# --- tables ----------------------------------------------------------------------------------------------------------
def _errors_of(control: ComputedTorque, runs: dict[Form, Simulation]) -> dict[Form, str]:
    k = COORDINATES.index(ELEVATION)
    return {form: f"elevation off by {tracking_errors(control, done)[0][k]:.1e} rad" for form, done in runs.items()}


def _costs_part(title: str, spent: dict[Form, Cost], notes: dict[Form, str]) -> Part:
    quantities = []
    for form, cost in spent.items():
        note = notes.get(form, "")
        quantities += [
            Quantity(f"{form.name}: a run of {END:g} s", "ms", 1e3 * cost.seconds, note=note),
            Quantity(f"{form.name}: evaluations", "", float(cost.evaluations), note=f"in {cost.steps} steps"),
            Quantity(f"{form.name}: one evaluation", "us", 1e6 * cost.evaluation, note="from runs of two lengths"),
            Quantity(f"{form.name}: before and after the steps", "ms", 1e3 * cost.once),
        ]
    return Part(title, "", tuple(quantities), "Processor time.")


def _gain_part(fast: Simulation, slow: Simulation) -> Part:
    return Part(
        "What the gain 1000 costs",
        "",
        (
            Quantity("evaluations of the ODE, K = 100, 100, 1000", "", float(fast.n_evaluations),
                     note=f"steps of {1e3 * END / fast.n_steps:.1f} ms on average"),
            Quantity("evaluations of the ODE, K = 100, 100, 100", "", float(slow.n_evaluations),
                     note=f"steps of {1e3 * END / slow.n_steps:.1f} ms on average"),
        ),
        "Errors that decay as exp(-1000 t) limit the steps of Runge-Kutta-Fehlberg to 3.7 ms in every formulation: the DAE "
        "needs no more evaluations, and each of them costs more.",
    )  # fmt: skip


def _columns(load: Shared) -> dict[str, FloatArray]:
    return {name: load.torque[:, k] for k, name in enumerate(COORDINATES)}


def _torque_part(load: Shared) -> Part:
    quantities = tuple(
        Quantity(name, "N m", float(one[np.abs(one).argmax()]), note=f"from {one.min():.2f} to {one.max():.2f}")
        for name, one in _columns(load).items()
    )
    series = {f"{name} ours": one for name, one in _columns(load).items()}
    return Part("Torques on the desired motion (figure 20)", "", quantities, "Largest by size.", series=series)


def _force_part(load: Shared) -> Part:
    quantities, optimum = [], load.optimum
    for k, name in enumerate(UNITS):
        at = int(optimum.force[:, k].argmax())
        quantities.append(
            Quantity(name, "N", float(optimum.force[at, k]),
                     note=f"at {load.time[at]:.2f} s; activation {optimum.activation[:, k].max():.3f} at most")
        )  # fmt: skip
    series = {f"{name} ours": optimum.force[:, k] for k, name in enumerate(UNITS)}
    return Part(
        "Forces of the units by least squared activation (figure 21)",
        "",
        tuple(quantities),
        "Largest values. Rigid tendons, active forces by length and speed of the fibers.",
        series=series,
    )


def _told(
    rows: tuple[Row, ...], parts: tuple[Part, ...] = (), t: FloatArray | None = None, plots: tuple[Plot, ...] = (),
    missing: str = "",
) -> Study:  # fmt: skip
    return Study(
        name="shoulder-tracking",
        title="A shoulder follows an elevation of the arm, as ODE and as DAE",
        source=SOURCE + CITE,
        method=f"MoBL-ARMS with the rhythm of de Groot and Brand in both angles; elevation from {np.degrees(LOW):.0f} to "
        f"{np.degrees(HIGH):.0f} degrees and back in {END:g} s at plane 90 and rotation -30 degrees; computed torque with "
        "K = 100, 100, 1000 /s; Runge-Kutta-Fehlberg. The trajectory is ours (figure 19 is a picture), and so are masses "
        "(the paper takes those of Quental et al. 2012, which were not at hand: here they are the model's) and the "
        "locked elbow.",
        parts=parts,
        time=np.zeros(0) if t is None else t,
        missing=missing,
        rows=rows,
        plots=plots,
    )
