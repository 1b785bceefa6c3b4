"""A shoulder with a rhythm that follows an elevation of the arm: problem, runs, what they cost, and the muscles.

[Ehsani2023], section 4-4 C; `shoulder_tracking` sets the paper's figures beside it. The paper's trajectory is a picture
(figure 19), so it is ours here.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.analyses.static_optimization.share_load import static_optimization
from musculo.analyses.static_optimization.static_optimum import StaticOptimum
from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.functions.elementary_functions import Sine
from musculo.functions.function import Function
from musculo.model.model import Model
from musculo.muscle.paths.geometry import muscle_geometry
from musculo.replications.shoulder.mobl_arms import COORDINATES, UNITS, arm_of, shoulder_alone, shoulder_with_locks
from musculo.replications.shoulder.shoulder_rhythm import ELEVATION, PLANE, ROTATION, with_shoulder_rhythm
from musculo.simulation.forces.computed_torque import ComputedTorque, computed_torque
from musculo.simulation.simulate import Formulation, simulate
from musculo.simulation.simulation import Simulation

GAINS = {PLANE: 100.0, ELEVATION: 100.0, ROTATION: 1000.0}  # K [1/s]: kp = K^2, kv = 2 K
# One raise of the arm and back, from 10 to 100 degrees; at rest at both ends.
END = 2.0
LOW, HIGH = np.radians(10.0), np.radians(100.0)
TOLERANCE = 1e-6
# A step with which an error that decays as exp(-1000 t) is followed, and not only kept stable [s].
SHORT_STEP = 1e-3
_FRAMES = 101
# Runs of each kind that are timed, after a first one.
ROUNDS = 3


class Form(NamedTuple):
    """A formulation of the same problem."""

    name: str
    formulation: Formulation
    stabilization: float | None


ODE = Form("ODE", "embedded", None)
STABILIZED, PROJECTED = Form("stabilized DAE", "constrained", 10.0), Form("projected DAE", "constrained", None)
FORMS = (ODE, STABILIZED, PROJECTED)


def tracking_model(file: Path, locks: bool = False) -> Model:
    """Three coordinates, fourteen units, and the rhythm in elevation and plane of elevation.

    Args:
        file: MoBL-ARMS.
        locks: whether elbow, wrist and thorax are locked coordinates; else they are welds.
    """
    whole = arm_of(file, tuple(UNITS.values()))
    return with_shoulder_rhythm(shoulder_with_locks(whole) if locks else shoulder_alone(whole))


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
    model: Model,
    control: ComputedTorque,
    form: Form = ODE,
    end: float = END,
    max_step: float = np.inf,
    tolerance: float = TOLERANCE,
) -> Simulation:
    """The motion from the desired state on; its controller is compiled in every formulation."""
    q0, u0 = control.start()
    return simulate(
        model, q0, u0, (0.0, end), forces=control, model_forces=False, method="rkf45", formulation=form.formulation,
        stabilization=form.stabilization, rtol=tolerance, atol=tolerance, max_step=max_step, dense=False,
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


def costs(
    model: Model, control: ComputedTorque, max_step: float = np.inf, rounds: int | None = None
) -> dict[Form, Cost]:
    """Least processor times of each form, taken in turn; an evaluation from a run and a part of it."""
    ends = (0.2 * END, END)
    least: dict[tuple[Form, float], tuple[float, Simulation]] = {}
    for _ in range((ROUNDS if rounds is None else rounds) + 1):
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
