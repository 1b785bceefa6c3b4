"""What OpenSim and musculo make of one model file: numbers by name, at one random pose, to be compared one by one."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Numbers = dict[str, np.ndarray]

ACTIVATION = 0.5
# Relative to the largest entry of each named quantity. Both sides compute the same formulas in float64; paths and fibre
# equilibria are iterated, by OpenSim to about these digits: fibres of the deprecated muscles to 0.01 N.
EXACT, PATH, FIBRE = 1e-9, 1e-7, 5e-4


# --- OpenSim's side: runs in a child of `opensim_server` --------------------------------------------------------------
def _facts(o: Any, path: str, seed: int) -> dict:
    from support import opensim_numbers as numbers

    live = numbers.Numbers(path)
    model, state = live.model, live.state
    rng = np.random.default_rng(seed)
    q = live.random_q(rng)
    u = rng.normal(size=len(q))
    live.set_q(q)
    model.realizePosition(state)
    # The random pose of a file whose constraints cannot be met means nothing.
    errors = state.getQErr().to_numpy()
    met = bool(np.abs(errors).max(initial=0.0) < 1e-9)
    found: Numbers = {}
    coordinates = live.coordinates
    names = [f"{c.getJoint().getName()}/{c.getName()}" for c in coordinates]
    for name, c in zip(names, coordinates, strict=True):
        default = o.Coordinate.safeDownCast(c)
        found[f"coordinate {name}"] = np.array(
            [
                default.get_default_value(),
                default.get_default_speed_value(),
                c.getRangeMin(),
                c.getRangeMax(),
                default.get_clamped(),
                default.get_locked(),
                default.get_prescribed(),
            ],
            dtype=float,
        )
    at = live.at(q, u, np.zeros(len(q)))
    order = np.argsort(names)
    found["mass matrix"] = at["M"][np.ix_(order, order)]
    found["gravity"], found["bias"] = at["tau_gravity"][order], at["tau_bias"][order]
    found["rates"] = at["qdot"][order]
    for body in model.getBodyList():
        X = body.getTransformInGround(state)
        found[f"body {body.getName()}"] = np.array(
            [*numbers.vec3(X.p()), *(X.R().get(i, j) for i in range(3) for j in range(3))]
        )
        found[f"motion of {body.getName()}"] = np.array(
            [
                *numbers.vec3(body.getLinearVelocityInGround(state)),
                *numbers.vec3(body.getAngularVelocityInGround(state)),
            ]
        )
    for marker in model.getMarkerSet():
        found[f"marker {marker.getName()}"] = np.array(numbers.vec3(marker.getLocationInGround(state)))
    found["constraints"] = np.array([len(errors)], dtype=float)
    _forces_of(o, live, u, names, found)
    return {"names": names, "q": q, "u": u, "met": met, "numbers": found}


def _forces_of(o: Any, live: Any, u: np.ndarray, names: list[str], found: Numbers) -> None:
    """Paths, muscles, limits of controls, and what passive forces do together."""
    model, state = live.model, live.state
    matter = live.matter
    state.setU(live.vector(u))
    model.realizeVelocity(state)
    passive = []
    for component in model.getComponentsList():
        force = o.Force.safeDownCast(component)
        if force is None:
            continue
        name, kind = force.getName(), force.getConcreteClassName()
        exact = getattr(o, kind, None)
        actuator = o.ScalarActuator.safeDownCast(component)
        if actuator is not None:
            limits = [actuator.getMinControl(), actuator.getMaxControl()]
            if hasattr(exact, "getOptimalForce") and o.Muscle.safeDownCast(component) is None:
                limits.append(exact.safeDownCast(force).getOptimalForce())
            found[f"control {name}"] = np.array(limits)
        elif kind != "ExternalForce" and force.get_appliesForce():
            passive.append(force)
        muscle = o.Muscle.safeDownCast(component)
        own = muscle if muscle is not None else None if exact is None else exact.safeDownCast(force)
        get = getattr(own, "get_path", None) or getattr(own, "getGeometryPath", None)
        if get is not None:
            path = get()
            found[f"path {name}"] = np.array([path.getLength(state), path.getLengtheningSpeed(state)])
    muscles = [o.Muscle.safeDownCast(c) for c in model.getMuscleList()]
    for muscle in muscles:
        muscle.setAppliesForce(state, True)  # the deprecated ones carry nothing otherwise
        if not muscle.get_ignore_activation_dynamics():  # its control is its activation
            muscle.setActivation(state, ACTIVATION)
    if model.getNumControls():
        model.realizeVelocity(state)
        model.setControls(state, o.Vector(model.getNumControls(), ACTIVATION))
    for muscle in muscles:
        try:
            muscle.computeEquilibrium(state)
            model.realizeDynamics(state)
            value = [muscle.getTendonForce(state) / muscle.getMaxIsometricForce(), muscle.getFiberLength(state)]
        except RuntimeError:
            value = [np.nan, np.nan]
        if not value[1] > 0.0:  # a fibre of negative length is no equilibrium
            value = [np.nan, np.nan]
        found[f"muscle {muscle.getName()}"] = np.array(value)
    for muscle in muscles:
        muscle.setAppliesForce(state, False)

    def applied() -> np.ndarray:
        model.realizeDynamics(state)
        pulled = o.Vector()
        matter.multiplyBySystemJacobianTranspose(state, model.getRigidBodyForces(state), pulled)
        return pulled.to_numpy() + model.getMobilityForces(state).to_numpy()

    without = applied().copy()
    for force in passive:
        force.setAppliesForce(state, True)
    found["passive forces"] = (applied() - without)[np.argsort(names)]


# --- our side ---------------------------------------------------------------------------------------------------------
def ours(model: Any, names: list[str], q: np.ndarray, u: np.ndarray) -> Numbers:
    """The same numbers by musculo, at OpenSim's pose."""
    import musculo

    by_name = dict(zip(names, zip(q, u, strict=True), strict=True))
    joints = [(joint.name, c) for joint in model.joints for c in joint.coordinates]
    public = list(model.coordinate_names)
    own = [f"{joint}/{c.name.rsplit('/', 1)[-1]}" for joint, c in joints]
    known = {c.name: name for (_, c), name in zip(joints, own, strict=True)}
    columns = [known[name] for name in public]
    found: Numbers = {}
    for (_, c), name in zip(joints, own, strict=True):
        found[f"coordinate {name}"] = np.array(
            [
                c.default_value,
                c.default_speed,
                *c.range,
                c.clamped,
                c.locked,
                bool(c.prescribed and c.prescribed_function),
            ],
            dtype=float,
        )
    if set(by_name) != set(columns):
        return found
    Q, U = (np.array([by_name[name][k] for name in columns]) for k in (0, 1))
    order = np.argsort(columns)
    found["mass matrix"] = musculo.mass_matrix(model, Q)[np.ix_(order, order)]
    found["gravity"] = np.asarray(musculo.gravity_forces(model, Q))[order]
    found["bias"] = np.asarray(musculo.inverse_dynamics(model, Q, U, np.zeros_like(U)))[order]
    found["rates"] = np.asarray(musculo.coordinate_rates(model, Q, U))[order]
    poses = musculo.kinematics(model, Q, U)
    for name in model.body_names:
        X = poses.pose(name)
        found[f"body {name}"] = np.concatenate([np.ravel(X.p), np.ravel(X.R)])
        found[f"motion of {name}"] = np.concatenate([poses.velocity(name), poses.angular_velocity(name)])
    if model.markers:
        for marker, at in zip(model.markers, poses.markers([m.name for m in model.markers]), strict=True):
            found[f"marker {marker.name}"] = np.ravel(at)
    found["constraints"] = np.array([musculo.constraint_residuals(model, Q).residual.size], dtype=float)
    _our_forces(musculo, model, Q, U, order, found)
    return found


def _our_forces(musculo: Any, model: Any, Q: np.ndarray, U: np.ndarray, order: np.ndarray, found: Numbers) -> None:
    from musculo.model.force import Muscle

    paths = musculo.path_geometry(model, Q, U, like="opensim")
    for k, name in enumerate(paths.names):
        found[f"path {name}"] = np.array([paths.length[k], paths.speed[k]])
    for force in model.forces:
        if isinstance(force, Muscle):
            found[f"control {force.name}"] = np.array([force.min_control, force.max_control])
    muscles = [force for force in model.forces if isinstance(force, Muscle)]
    if muscles:
        length, speed = (np.array([found[f"path {m.name}"][k] for m in muscles]) for k in (0, 1))
        state = musculo.muscle_equilibrium(model, length, speed, ACTIVATION, like="opensim")
        for k, muscle in enumerate(muscles):
            value = [state.tendon_force[k] / muscle.max_isometric_force, state.fiber_length[k]]
            found[f"muscle {muscle.name}"] = np.array(value)
    acting = musculo.model_forces(model, Q, U, like="opensim")
    found["passive forces"] = np.asarray(acting.tau)[order]


# --- the verdict ------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Verdict:
    """How the two compare: `kind` is one of the keys of a count, `detail` says what differs or what was said."""

    kind: str
    detail: str = ""

    @property
    def silent(self) -> bool:
        return self.kind.startswith("SILENT")


def tolerance(key: str) -> float:
    kind = key.split(" ", 1)[0]
    return {"path": PATH, "muscle": FIBRE, "passive": PATH}.get(kind, EXACT)


def differences(theirs: Numbers, own: Numbers) -> list[str]:
    """What differs beyond its tolerance, or is known to one side only."""
    found = [f"only OpenSim: {key}" for key in theirs if key not in own and not key.startswith("control ")]
    found += [f"only musculo: {key}" for key in own if key not in theirs]
    for key in theirs:
        if key not in own:
            continue
        a, b = np.ravel(theirs[key]), np.ravel(own[key])
        if a.shape != b.shape:
            found.append(f"{key}: {a.size} and {b.size} numbers")
            continue
        finite = np.isfinite(a) & np.isfinite(b)
        same = np.where(finite, np.abs(a - b) <= tolerance(key) * max(1.0, np.abs(a[finite]).max(initial=0.0)), a == b)
        same |= np.isnan(a)  # OpenSim has no number: nothing to compare with
        if not same.all():
            at = int(np.argmin(same))
            found.append(f"{key}[{at}]: OpenSim {a[at]:.9g}, musculo {b[at]:.9g}")
    return found


def said(model: Any) -> set[str]:
    """Notes of a model, less counts, so that one muscle less is no new note."""
    return {re.sub(r"\d+", "#", f"{note.what} {note.why}") for note in model.notes}


def judge(path: Path, known: set[str], answer: dict, expected: set[str] = frozenset()) -> Verdict:  # type: ignore[assignment]
    """Compare what OpenSim answered about an edited file with what we make of it.

    Args:
        known: what `said` of the file before the edit: such notes explain nothing.
        expected: differences that the file has before the edit.
    """
    import musculo

    refused = answer.get("error")
    if refused and "isA(node)" in refused:  # no refusal: OpenSim meets an old file that is not as it expects
        answer["crashed"] = True
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            model = musculo.read_osim(path, opensim_rounding=True)
        except musculo.MusculoError as error:
            return Verdict("refused by both" if refused else "refused by us", f"{error} | {refused}")
        new = said(model) - known
        if refused:
            kind = "OpenSim crashes" if answer.get("crashed") else "OpenSim refuses"
            if new:
                return Verdict(f"{kind}, noted", f"{sorted(new)} | {refused}")
            # Ours may be refused when it is computed with.
            refused = f"{kind}: {refused}"
        try:
            if refused:
                q = np.array([c.default_value for joint in model.joints for c in joint.coordinates])
                names = [f"{j.name}/{c.name.rsplit('/', 1)[-1]}" for j in model.joints for c in j.coordinates]
                ours(model, names, q, np.zeros_like(q))
                return Verdict("OpenSim crashes" if answer.get("crashed") else "SILENT: OpenSim refuses", refused)
            own = ours(model, answer["names"], answer["q"], answer["u"])
        except musculo.MusculoError as error:
            return Verdict("refused by both" if refused else "refused by us", f"{error} | {refused}")
    apart = [one for one in differences(answer["numbers"], own) if one.split("[")[0] not in expected]
    if not apart:
        return Verdict("equal")
    if not answer["met"]:
        return Verdict("constraints not met", "; ".join(apart[:4]))
    detail = "; ".join(apart[:4])
    loud = [str(w.message) for w in warned if issubclass(w.category, musculo.MusculoWarning)]
    if new or loud:
        return Verdict("noted", f"{detail} | {sorted(new)} {loud}")
    return Verdict("SILENT: differs", detail)
