"""Simulate: from a state, forces and a span of time to a motion."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.dynamics.forward import impossible_inertias, refuse_indefinite
from musculo.dynamics.loads.external import Loads
from musculo.embedding.embedding import embedding_of
from musculo.embedding.loops.methods.joint_variables import LoopMethod
from musculo.embedding.loops.methods.loop_methods import LoopName, in_words, method_of
from musculo.embedding.loops.methods.loop_projection import Projection
from musculo.errors import InvalidInput, MusculoWarning, SingularSystem, Unsupported
from musculo.like import Like, Wrapping, wrapping_of
from musculo.like import method_of as method_of_muscles
from musculo.model.model import Model
from musculo.results.provenance import Provenance
from musculo.simulation.checks.doubts import beyond_samples, first_doubt, long_steps, sampled_ranges
from musculo.simulation.equations.systems import ConstrainedSystem, EmbeddedSystem, MultiplierSystem, System
from musculo.simulation.forces.acting import Acting, AllForces, LoadsOfState
from musculo.simulation.forces.forces_on_model import Laws, all_that_acts
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.simulation_events import SimulationEvent, StateFunction, Watch, events_of
from musculo.simulation.integrators.stepped_run import Run
from musculo.simulation.integrators.steppers import OneStep, Stepper
from musculo.simulation.simulation import Simulation, SimulationStatus

if TYPE_CHECKING:
    from musculo.simulation.equations.absolute_form import AbsoluteSystem
    from musculo.simulation.muscles.excitations import Controller, Excitations
    from musculo.simulation.muscles.muscle_motion import FiberStart, MuscleMotion
    from musculo.simulation.muscles.muscles_as_force import MuscleForce


Method = Literal["cvode", "adams", "rkf45", "tr-bdf2", "imex", "ida"]
Formulation = Literal["embedded", "constrained", "absolute"]
METHODS: tuple[Method, ...] = ("cvode", "adams", "rkf45", "tr-bdf2", "imex", "ida")
FORMULATIONS: tuple[Formulation, ...] = ("embedded", "constrained", "absolute")
ONE_STEP = ("rkf45", "tr-bdf2", "imex")
# Errors of a step, relative and absolute, where none are given: of a body, and of one with muscles, whose parameters
# are known to some per cent; OpenSim's default is 1e-5.
_TIGHT, _WITH_MUSCLES = (1e-8, 1e-10), (1e-5, 1e-7)
# Baumgarte's rate where a multistep method keeps constraints as equations and none is given [1/s].
BAUMGARTE = 10.0
# Steps at least in which a motion that is driven altogether is looked at.
_LOOKS = 100


def simulate(
    model: Model,
    q0: ArrayLike | Simulation | None,
    u0: ArrayLike | None,
    times: ArrayLike,
    *,
    forces: AllForces = None,
    loads: LoadsOfState | Loads | None = None,
    model_forces: bool = True,
    excitations: Excitations | None = None,
    controller: Controller | None = None,
    activation: ArrayLike | None = None,
    fiber_length: FiberStart | None = None,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Method | None = None,
    formulation: Formulation = "embedded",
    independent: str | Sequence[str] | None = None,
    loops: LoopName | LoopMethod = "projection",
    stabilization: float | Literal["project"] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    events: Mapping[str, StateFunction] | Sequence[SimulationEvent] | SimulationEvent | None = None,
    max_step: float = np.inf,
    max_steps: int = 1_000_000,
    dense: bool = True,
    progress: Callable[[float], None] | None = None,
) -> Simulation:
    """The motion of a model from a state, under gravity, forces and loads, with the error of every step controlled.

    What the model has of springs, ligaments, limits of coordinates, bushings and contacts acts (`model_forces`). Its
    muscles and actuators act where `excitations` or a `controller` are given: activations follow excitations, fibers
    and tendons balance, and both are states beside the body's (`Simulation.muscles`).

    Embedded, the equations are ordinary ones in the independent coordinates, and couplers, locks, prescribed motions
    and closed loops hold exactly. Constrained, all coordinates are integrated and multipliers keep the constraints.

    Args:
        model: the model.
        q0: (n,) coordinates of all the file at the start; None for the default pose; or a `Simulation`, from whose
            end this one goes on, speeds and states of muscles included.
        u0: (n_u,) speeds at the start; None for rest of all that is independent.
        times: (start, end), and the result is at the integrator's steps; or three and more times [s].
        forces: generalized forces of the tree; gravity acts anyway. (n_u,) constant, a function (t, q, u) -> (n_u,), a
            kernel (a function (t, q, u, tau) compiled by `numba.njit`, which adds to tau; it is called from compiled
            code), or a list of such, which add up. A controller is such a force.
        loads: from outside: those of a recording (`read_external_loads`), one or several `ExternalLoad` that are
            constant, or a function (t, q, u) -> list of `ExternalLoad`.
        model_forces: whether those of the model that need no control act.
        excitations: of muscles, and controls of other actuators: one number for all muscles; by name numbers,
            functions of time or (times, values), with straight lines between samples and the first and last value
            beyond; a table; or a file of controls. Those without one get zero. Steps pass over two nodes at most.
        controller: (t, state) -> what is added to these, for each actuator (`actuator_names`) or by name; `state` has
            q, u, activation, fiber_length, length, speed and control. It is called at every evaluation, and should
            depend on nothing else. Or a kernel (t, x, v, control) compiled by `numba.njit`, which adds to control: x
            holds q, activations, fiber lengths and path lengths one after the other, v u and lengthening speeds.
        activation: of muscles at the start, (muscles,) or a number; by default what the model states.
        fiber_length: of muscles at the start, (muscles,) [m]; by default in equilibrium; or "default", as the model
            states.
        like: "opensim" for OpenSim's wrapping, and its laws of muscles and faults in contacts where they differ.
        wrapping: "geodesic" or "opensim", of paths alone.
        method: by default "cvode", with muscles "imex".
            "cvode" (backward differentiation, orders 1 to 5), "adams" (orders 1 to 12, smooth motions that are not
            stiff), both of SUNDIALS' CVODE; "rkf45" (Runge-Kutta-Fehlberg); "tr-bdf2" (second order, stiff); "imex"
            (fourth order, implicit in the fibers and explicit in the rest; of models without closed loops whose
            muscles act); "ida" (SUNDIALS' IDA, with multipliers as unknowns where constrained).
        formulation: "embedded", "constrained", or "absolute": bodies with positions and Euler parameters, every joint
            as equations (`musculo.absolute`), which is slow and shares no mechanics with the others.
        independent: coordinates that shall be independent in the embedded form of a model with closed loops; the rest
            is chosen. By default those first in the file, which may have dead points where others have none.
        loops: how dependents of closed loops are had in the embedded form, as in `embedding_of`: "projection" (exact),
            "molecule", "fitted" (a model made once in advance), or `Fitted(...)`, `Molecule(...)` with settings.
        stabilization: of the constrained form. A number is Baumgarte's rate [1/s]; "project" brings positions and
            velocities of all states that are given onto the constraints. "rkf45" and "tr-bdf2" also go on from the
            projected state of every step; the others remember many states and keep near by Baumgarte's 10 /s. By
            default the first two project, and the others take 10 /s.
        rtol, atol: error of a step, relative and absolute [rad, m, rad/s, m/s]; by default 1e-8 and 1e-10, and 1e-5 and
            1e-7 with muscles.
        events: functions (t, q, u) by name, or `SimulationEvent`s, which can also end the simulation.
        max_step: longest step [s]; two zeros of an event within one step are not detected.
        max_steps: so many steps end the simulation as failed.
        dense: whether `at` knows every time between.
        progress: called with the time after each step.

    Raises:
        InvalidInput: what is handed in does not fit, or the start contradicts what is enforced; names it.
        SingularSystem: the start is a singular position.
    What happens later is an outcome: `Simulation.status` and `reason`; and `notes`, which are warned of, too.
    Constrained, a run is looked at once more when it has come to its end, and has failed where positions drifted off
    by more than 1e4 times the tolerance (0.001 at least and 0.01 at most; radians, or parts of the mechanism's size),
    where a step went across a singular position, or where energy that nothing changes did, by more than the
    tolerances explain.
    """
    muscular = excitations is not None or controller is not None
    pose = q0.q[-1] if isinstance(q0, Simulation) else q0
    if isinstance(q0, Simulation):
        u0 = q0.u[-1] if u0 is None else u0
        if muscular and q0.muscles is not None:
            activation = q0.muscles.activation[-1] if activation is None else activation
            fiber_length = q0.muscles.fiber_length[-1] if fiber_length is None else fiber_length
    asked = method
    usual = _WITH_MUSCLES if muscular else _TIGHT
    method = ("imex" if muscular else "cvode") if method is None else method
    rtol, atol = usual[0] if rtol is None else rtol, usual[1] if atol is None else atol
    wanted, control = _times(times), _control(rtol, atol, max_step)
    for what, value, known in (("method", method, METHODS), ("formulation", formulation, FORMULATIONS)):
        if value not in known:
            raise InvalidInput(f"{what}={value!r}; known: {', '.join(known)}")
    watched = events_of(events)
    start = float(wanted[0])
    used = _embedded_as(model, independent, loops, formulation)
    q, u = start_of(used, pose, u0, start)
    refuse_indefinite(used, np.atleast_2d(q))
    muscles: MuscleForce | None = None
    doubts: tuple[str, ...] = ()
    if muscular:
        if formulation != "embedded":
            raise Unsupported(f"muscles act in the embedded form alone; omit formulation={formulation!r}")
        # mechanisms without muscles need none of this
        from musculo.muscle.fitted_paths.fitted_path_model import FITTED
        from musculo.simulation.muscles.controlled_muscles import controlled_muscles
        from musculo.simulation.muscles.driven_system import DrivenSystem
        from musculo.simulation.muscles.muscle_motion import muscle_motion, start_of_muscles

        muscles, longest, doubts = controlled_muscles(
            used, excitations, controller, like, wrapping, model_forces, (start, float(wanted[-1]))
        )
        control = replace(control, max_step=min(control.max_step, longest))
    elif method == "imex" or activation is not None or fiber_length is not None:
        raise InvalidInput(
            "no muscle acts without excitations or a controller: give excitations (0.0 for rest), or leave out "
            "activation, fiber_length and method='imex'"
        )
    laws = Laws(wrapping_of(like, wrapping), method_of_muscles(like, None))
    acting, sprung = all_that_acts(used, forces, loads, model_forces, wanted, muscles, laws)
    if muscles is None:
        system, project = _system(used, acting, method, formulation, stabilization)
        y = system.state(start, q, u)
    else:
        system, project = DrivenSystem(acting, muscles), False
        tree = system.state(start, q, u)
        y = system.with_muscles(
            tree, start_of_muscles(muscles, start, q, u, activation, fiber_length, method_of_muscles(like, None))
        )
        if method == "imex" and not system.steps_ahead:
            if asked == "imex":
                doubts += ("the model has closed loops, which 'imex' does not step: 'cvode' is used in its place",)
            method = "cvode"
    stepper = _stepper(method, system, project, start, y, control, float(wanted[-1]) - start)
    run = Run(system, stepper, Watch(watched, system.one, stepper), dense or wanted.size > 2)
    status, reason = run.to(float(wanted[-1]), max_steps, progress)
    if isinstance(system, ConstrainedSystem):
        doubt = first_doubt(system, run.course(), control, conserved=not acting.describe())
        if doubt is not None:
            run.forget(doubt.step)
            later = f"; after that {reason}" if status == SimulationStatus.FAILED else ""
            status, reason = SimulationStatus.FAILED, f"at t = {run.course().t[-1]:.9g} s: {doubt.reason}{later}"

    course, poses = run.course(), np.array(run.poses)
    negative = impossible_inertias(used)
    if negative:
        try:
            refuse_indefinite(used, system.whole(course.t, course.y, poses)[0])
        except SingularSystem as error:
            later = f"; after that {reason}" if status == SimulationStatus.FAILED else ""
            status, reason = SimulationStatus.FAILED, f"{str(error).replace('frame', 'step')}{later}"
    if status == SimulationStatus.FAILED and negative and "negative moment" not in reason:
        reason += f"; the inertia of {negative} has a negative moment, which can bring the mass matrix to be singular"

    def states(t: FloatArray) -> tuple[FloatArray, FloatArray]:
        return system.whole(t, course(t), poses[course.step_of(t)])

    def accelerations(t: FloatArray, Q: FloatArray, U: FloatArray) -> FloatArray:
        tau = np.zeros_like(U)
        own_states = course(t)[:, course.y.shape[1] - muscles.size :] if muscles is not None else np.zeros((len(t), 0))
        for out, time, at, rate, states in zip(tau, t.tolist(), Q, U, own_states, strict=True):
            if muscles is not None:
                muscles.take(states)
            out[:] = system.acting(time, at, rate)
        return system.accelerations(t, Q, U, tau)

    end = course.t[-1]
    kept = course.t if wanted.size == 2 else np.unique(np.append(wanted[wanted <= end], end))
    Q, U = states(kept)
    found = tuple(run.events)
    counts = (len(course.t) - 1, stepper.n_evaluations)
    known_states = states if dense else None
    made = Provenance.of(
        "simulate",
        model,
        start=start,
        end=float(wanted[-1]),
        **_told(forces=acting.describe(), method=method, formulation=formulation, rtol=rtol, atol=atol),
        **_told(independent=system.independent, stabilization=system.stabilized, max_step=control.max_step),
        **_told(loops=in_words(loops) if system.independent else "", events=", ".join(map(str, watched))),
        model_forces=model_forces,
    )
    if model_forces:
        doubts += long_steps(model, course.t, method, control.max_step)
    fitted: dict[str, tuple[float, float]] = model.derived(FITTED, dict) if muscles is not None else {}
    if fitted or sampled_ranges(model):
        doubts += beyond_samples(model, course.t, states(course.t)[0], fitted)
    for note in doubts:
        warnings.warn(note, MusculoWarning, stacklevel=2)

    def over() -> MuscleMotion:
        assert muscles is not None
        return muscle_motion(muscles, kept, Q, U, course(kept)[:, course.y.shape[1] - muscles.size :])

    notes = (*(embedding_of(used).notes if q0 is None else ()), *doubts)
    return Simulation(
        *(model, kept, Q, U, status, reason, found, *counts, method, formulation, made, known_states, accelerations),
        _sprung=sprung,
        notes=notes,
        _muscles=None if muscles is None else over,
    )


def _told(**options: Any) -> dict[str, Any]:
    """Options that say something."""
    return {name: value for name, value in options.items() if value not in ("", np.inf)}


def _embedded_as(
    model: Model, independent: str | Sequence[str] | None, loops: LoopName | LoopMethod, formulation: Formulation
) -> Model:
    """The same model, embedded with the named coordinates independent and loops solved as asked for."""
    method = method_of(loops)
    if independent is None and method == Projection():
        return model
    for what, given in (("independent", independent is not None), ("loops", method != Projection())):
        if given and formulation != "embedded":
            raise InvalidInput(f"{what} is for formulation='embedded': constrained, all coordinates are integrated")
    named = (independent,) if isinstance(independent, str) else None if independent is None else tuple(independent)

    def make() -> Model:
        chosen = model.replace()
        chosen.derived("embedding", lambda: embedding_of(chosen, independent=named, loops=method))
        return chosen

    # made once: a fit takes longer than many a simulation with it
    return model.derived(("embedded as", named, method), make)


def _times(times: ArrayLike) -> FloatArray:
    try:
        wanted = np.asarray(times, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"times is not an array of numbers: {error}") from None
    if wanted.ndim != 1 or wanted.size < 2 or not np.isfinite(wanted).all() or not np.all(np.diff(wanted) > 0.0):
        raise InvalidInput(f"times is {times!r:.60}; give (start, end) or more times, finite and increasing [s]")
    return wanted


def _control(rtol: float, atol: float, max_step: float) -> Control:
    for what, value in (("rtol", rtol), ("atol", atol), ("max_step", max_step)):
        if not isinstance(value, int | float | np.floating) or not value > 0.0:
            raise InvalidInput(f"{what} is {value!r}; give a number above zero")
    if not (1e-15 <= rtol < 1.0) or not np.isfinite(atol):
        raise InvalidInput(f"rtol is {rtol!r} and atol {atol!r}; give rtol from 1e-15 to below 1, and a finite atol")
    return Control(float(rtol), float(atol), float(max_step))


def _system(
    model: Model, acting: Acting, method: Method, formulation: Formulation, stabilization: float | str | None
) -> tuple[System, bool]:
    """The equations, and whether steps are projected."""
    if formulation == "embedded":
        if stabilization is not None:
            raise InvalidInput("stabilization is for formulation='constrained': embedded constraints do not drift")
        return EmbeddedSystem(model, acting), False
    if stabilization is None:
        stabilization = "project" if method in ONE_STEP else BAUMGARTE
    kind: Callable[..., ConstrainedSystem | AbsoluteSystem] = ConstrainedSystem
    if formulation == "absolute":
        from musculo.simulation.equations.absolute_form import AbsoluteSystem as kind
    elif method == "ida":
        kind = MultiplierSystem
    if stabilization == "project":
        # a multistep method would lose its memory if it went on from other states: it is held by Baumgarte's rate
        alone = method in ONE_STEP
        return kind(model, acting, 0.0 if alone else BAUMGARTE, projects=True), alone
    if isinstance(stabilization, str) or not (np.isfinite(stabilization) and stabilization >= 0.0):
        raise InvalidInput(f"stabilization is {stabilization!r}; give a rate of zero or more [1/s], or 'project'")
    return kind(model, acting, float(stabilization), projects=False), False


def _stepper(
    method: Method, system: System, project: bool, t: float, y: FloatArray, control: Control, span: float
) -> Stepper:
    if not y.size:
        # everything is driven: there is nothing to integrate, and steps only look where the motion can go
        return OneStep("rkf45", system.rates, t, y, replace(control, max_step=min(control.max_step, span / _LOOKS)))
    if method in ONE_STEP:
        settled = getattr(system, "settled", None) if project else None
        return OneStep(method, system.rates, t, y, control, settled, system.ahead(method, control, project))
    from musculo.simulation.integrators.sundials import Cvode, Ida

    if method != "ida":
        return Cvode(system.rates, t, y, control, "BDF" if method == "cvode" else "Adams")
    if isinstance(system, MultiplierSystem):
        return Ida(system.rates, t, y, control, system.residual)
    return Ida(system.rates, t, y, control)


def start_of(model: Model, q0: ArrayLike | None, u0: ArrayLike | None, time: float) -> tuple[FloatArray, FloatArray]:
    """q (n,) and u (n_u,) of the first state."""
    e = embedding_of(model)
    q = e.default_pose(time) if q0 is None else _one("q0", coordinates_of(model, q0, "q0"))
    compiled(model).check_coordinates(q[None])
    if u0 is not None:
        return q, _one("u0", speeds_of(model, u0, "u0"))
    return q, e.motion(e.independent(q), np.zeros(len(e.speed_names)), time=time, guess=q).u


def _one(name: str, given: tuple[FloatArray, bool]) -> FloatArray:
    array, single = given
    if not single:
        raise InvalidInput(f"{name} has shape {array.shape}; a simulation starts from one state, ({array.shape[1]},)")
    return array[0].copy()
