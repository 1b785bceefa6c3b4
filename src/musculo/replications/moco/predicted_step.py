"""A planar walker with 18 muscles: steps that nobody has walked, at three speeds, from one that follows a recording."""

from __future__ import annotations

import math
import time
from pathlib import Path

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.energy import total_mass
from musculo.dynamics.poses import kinematics
from musculo.io.osim import read_osim
from musculo.io.storage import read_storage
from musculo.model.contact_model import ContactGeometry
from musculo.model.force import Force
from musculo.model.model import Model
from musculo.muscle.fibers.de_groote_fregly import with_de_groote_fregly_muscles
from musculo.replications.moco.recordings import SOURCE, folder_of, missing
from musculo.replications.study import Plot, Quantity, Row, Settings, Study, judged
from musculo.results.table import Table
from musculo.trajectory.muscles.metabolic_power import MetabolicRate
from musculo.trajectory.muscles.muscle_driven import MuscleDriven
from musculo.trajectory.muscles.walking_step import ground_forces, predict_step, track_step
from musculo.trajectory.predicted_motion import PredictedMotion
from musculo.trajectory.problem.goals import Integral
from musculo.trajectory.transcription.schemes import Trapezoidal

NAME, TITLE = "predicted-step", "A step at a given speed, by 18 muscles on compliant ground"
FOLDER = "gait10dof18musc/moco_track"
_MODEL, _MOTION = "walk_gait1018_subject01.osim", "walk_gait1018_state_reference.mot"
# From one heel strike to the other [s]; and while the right foot is flat, when the belt's speed is seen.
STRIKES, STANCE = (0.63, 1.25), (0.8, 1.05)
SPEEDS = (1.14, 1.0, 1.3)
INTERVALS = 30
# Places of spheres in the heel's frame and their radii [m]: the soles of the recording rest on y = 0 with these.
SPHERES = {"heel": ((0.02, -0.012, 0.0), 0.035), "toe": ((0.18, -0.025, 0.0), 0.02)}
# Hard rubber, as Moco's examples have it.
LAW = {
    "stiffness": 3e6,
    "dissipation": 2.0,
    "static_friction": 0.8,
    "dynamic_friction": 0.8,
    "viscous_friction": 0.5,
    "transition_velocity": 0.2,
}
TORSO, PELVIS = {"lumbar_extension": 100.0}, dict.fromkeys(("pelvis_tilt", "pelvis_tx", "pelvis_ty"), 100.0)
# Of metabolic cost [1 / (J/(kg m))] beside mean squared excitations.
COST = 0.1
FROM_NOWHERE, VIOLATION, SECONDS = 10.0, 1e-4, 60.0


def walker(folder: Path) -> Model:
    """The model with two spheres under each foot, on level ground."""
    model = with_de_groote_fregly_muscles(read_osim(folder / _MODEL))
    shapes = [ContactGeometry("floor", "ContactHalfSpace", "ground", orientation=(0.0, 0.0, -0.5 * math.pi))]
    forces = []
    for side in "rl":
        for part, (place, radius) in SPHERES.items():
            name = f"{part}_{side}"
            shapes.append(ContactGeometry(name, "ContactSphere", f"calcn_{side}", place, dimensions=(radius,)))
            stated = {key: repr(value) for key, value in LAW.items()}
            stated |= {"socket_sphere": f"/contactgeometryset/{name}", "socket_half_space": "/contactgeometryset/floor"}
            forces.append(Force(name, "SmoothSphereHalfSpaceForce", properties=tuple(stated.items())))
    return model.replace(contact_geometries=tuple(shapes), forces=(*model.forces, *forces))


def over_ground(model: Model, folder: Path) -> Table:
    """The recording on a treadmill, moved on by the belt: as fast as the standing foot goes back."""
    recorded = read_storage(folder / _MOTION).lowpass(6.0)
    q, t = recorded.coordinates(model), recorded.time
    foot = kinematics(model, q).position("calcn_r", (0.1, 0.0, 0.0))[:, 0]
    flat = (t > STANCE[0]) & (t < STANCE[1])
    belt = -np.polyfit(t[flat], foot[flat], 1)[0]
    moved = q.copy()
    moved[:, model.coordinate_index("pelvis_tx")] += belt * t
    return Table(t, model.coordinate_names, moved)


def tracked(model: Model, folder: Path, intervals: int = INTERVALS) -> PredictedMotion:
    """The recorded step, on ground that pushes."""
    start, end = STRIKES
    return track_step(
        model,
        over_ground(model, folder),
        Trapezoidal(intervals),
        start=start,
        end=end,
        residuals=PELVIS,
        reserves=TORSO,
        weights={"pelvis_tx/value": 0.1},
    )


def study(settings: Settings) -> Study:
    """What is left from nowhere when a recording is tracked; and steps at three speeds."""
    folder = folder_of(settings, FOLDER)
    if folder is None:
        return missing(NAME, TITLE, FOLDER)
    model = walker(folder)
    settings.say(f"{NAME}: a step that follows the recording ...")
    before = time.process_time()
    step = tracked(model, folder)
    seconds = time.process_time() - before
    nowhere = max(100.0 * float(np.abs(step[f"{name}_reserve/control"]).max()) for name in PELVIS)
    found: list[Row | Quantity] = [
        Row("tracked: largest force from nowhere", None, nowhere, "N, N m", limit=FROM_NOWHERE),
        Row("tracked: largest violation", None, step.solver.largest_violation, limit=VIOLATION),
        Row("tracked: processor time", None, seconds, "s", "four searches", limit=SECONDS, timed=True),
    ]
    plots = [_plot("tracked", "the recorded step", step)]
    weight = 9.80665 * total_mass(model)
    for speed in SPEEDS:
        settings.say(f"{NAME}: {speed} m/s ...")
        before = time.process_time()
        step = predict_step(model, speed, step, reserves=TORSO)
        seconds = time.process_time() - before
        up, violation = _upward(step)["right"], step.solver.largest_violation
        name = f"{speed:g} m/s"
        found += [
            Row(f"{name}: largest violation", None, violation, "", step.status.name, limit=VIOLATION),
            Row(f"{name}: processor time", None, seconds, "s", "two searches", limit=SECONDS, timed=True),
            Quantity(f"{name}: duration of the step", "s", step.duration),
            Quantity(f"{name}: largest force of the ground over weight", "", float(up.max()) / weight),
            Quantity(f"{name}: effort", "", step.goals["effort"]),
        ]
        plots.append(_plot(f"at_{speed:g}", f"a step at {name}", step))
        if speed == SPEEDS[0]:
            found += _metabolic(model, speed, step, settings)
    rows, parts = judged(found)
    return Study(
        NAME,
        TITLE,
        SOURCE,
        f"{INTERVALS} trapezoidal intervals, rigid tendons, spheres under heels and toes; the end of a step mirrors "
        "its start. Least mean of squared excitations, and a little of squared accelerations.",
        parts,
        np.zeros(0),
        rows=rows,
        plots=tuple(plots),
    )


def _metabolic(model: Model, speed: float, step: PredictedMotion, settings: Settings) -> list[Row | Quantity]:
    """A step with the metabolic cost by distance in its goal, beside one of least effort."""
    name = f"{speed:g} m/s with metabolic cost"
    settings.say(f"{NAME}: {name} ...")
    rate = MetabolicRate(MuscleDriven(model, tendons="rigid", reserves=TORSO))
    per = 1.0 / (speed * total_mass(model))
    before = time.process_time()
    cost = Integral(rate, COST * per, average=True, name="metabolic cost")
    thrifty = predict_step(model, speed, step, reserves=TORSO, goals=[cost])
    seconds = time.process_time() - before
    found: list[Row | Quantity] = [
        Row(f"{name}: largest violation", None, thrifty.solver.largest_violation, "", limit=VIOLATION),
        Row(f"{name}: processor time", None, seconds, "s", "two searches", limit=SECONDS, timed=True),
        Quantity(f"{name}: duration of the step", "s", thrifty.duration),
        Quantity(f"{name}: effort", "", thrifty.goals["effort"]),
    ]
    for label, one in (("of least effort", step), ("with its cost in the goal", thrifty)):
        power = one.evaluate(rate).values.sum(axis=1)
        mean = float(np.trapezoid(power, one.time)) / one.duration
        found.append(Quantity(f"muscles' metabolic cost of a step {label}", "J/(kg m)", mean * per))
        found.append(Quantity(f"the body's, rest included, {label}", "J/(kg m)", (mean + rate.basal) * per))
    return found


def _upward(step: PredictedMotion) -> dict[str, FloatArray]:
    forces = ground_forces(step)
    return {
        side: np.asarray(sum(force[:, 1] for name, force in forces.items() if name.endswith(f"_{side[0]}")))
        for side in ("right", "left")
    }


def _plot(name: str, title: str, step: PredictedMotion) -> Plot:
    x = (step.time - step.time[0]) / step.duration
    return Plot(f"ground_{name}", f"Ground under {title}", "part of the step", "force up [N]", x, _upward(step))
