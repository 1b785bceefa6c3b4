"""Which muscles do a motion: the activations of least effort that give its joint moments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.analyses.acting_loads import acting_loads, frame_times
from musculo.analyses.static_optimization.activation_targets import near_targets
from musculo.analyses.static_optimization.force_by_activation import ForceByActivation
from musculo.analyses.static_optimization.least_effort import Status, check_power, least_effort
from musculo.analyses.static_optimization.reserves import (
    Actuator,
    Reserves,
    actuator_columns,
    actuators_of,
    reserves_of,
)
from musculo.analyses.static_optimization.static_optimum import StaticOptimum
from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import accelerations_of, coordinates_of, speeds_of
from musculo.compile.frame_arrays import frames_of, same_frames
from musculo.diagnostics.finding import Finding, texts
from musculo.dynamics.inverse import inverse_dynamics
from musculo.dynamics.loads.external import ExternalLoad, Loads
from musculo.embedding.couplers.stated_rules import refuse_carried
from musculo.embedding.embedding import embedding_of, times_of
from musculo.errors import InvalidInput, UnknownName
from musculo.forces.compiled_forces import left_out
from musculo.forces.model_forces import passive_forces
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import spring_forces
from musculo.muscle.paths.geometry import PathGeometry, muscle_geometry, path_geometry
from musculo.results.external_loads import ExternalLoads
from musculo.results.table import Table
from musculo.results.tables_of_others import TableLike, table_of

# Elastic tendons: rounds of linear models of force by activation, and the change of activation that ends them.
_ROUNDS = 150
_FULL_STEPS = 8
_LEAST_SHARE = 0.02
_SETTLED = 1e-9


def static_optimization(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table,
    udot: ArrayLike | Table | None = None,
    *,
    tau: ArrayLike | None = None,
    loads: Loads = (),
    power: float = 2.0,
    force_length_velocity: bool = True,
    passive: bool = False,
    tendon: Literal["rigid", "elastic"] = "rigid",
    reserves: Reserves | None = None,
    weights: Mapping[str, float] | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    targets: Mapping[str, ArrayLike] | TableLike | None = None,
    model_forces: bool = True,
    geometry: PathGeometry | None = None,
    time: ArrayLike | None = None,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> StaticOptimum:
    """The activations a (and controls of actuators) of least effort that give the generalized forces of a motion.

        minimize sum_i w_i |a_i|^p   subject to   sum_i r_i (a_i F_CE,i + F_PE,i) + actuators = tau,  bounds on a_i

    There is one equation for each independent speed: couplings are pulled back, and locked, prescribed and dependent
    coordinates need no muscle. Springs and ligaments along paths act, and so do limits of coordinates, bushings and
    contacts of the model unless `model_forces` is false: they take their share of tau, as in OpenSim. Each frame is
    for itself; one that cannot be served says so (`status`, `messages`) and has the activations of least effort among
    those that miss least (sum of squares over equations, N and N m alike).

    Source:     [Ruggiero2020] eq. 31-33; the force of a muscle by [Ruggiero2020] eq. 20 as corrected.
    Departs:    33 leaves the controls of residual actuators in the sum of activations; they are here too, in units of
                their optimal force, as in OpenSim. `tendon="elastic"`: force is what fiber and tendon in equilibrium
                carry (`muscle_equilibrium`), which is not a straight line of activation; linear models of it are
                renewed until nothing changes. Such a program need not be convex: the answer is stationary.
                F_PE is zero unless `passive` is asked for, as in OpenSim; 31 has it. `like="opensim"` takes
                OpenSim's capacity (`active_force_capacity`), faults included. OpenSim's targets are accelerations
                udot: derivatives of a quintic spline through the speeds, not second derivatives of the coordinates.
    Guarantees: where the status is SOLVED, equations hold to 1e-9 of their largest term, and with rigid tendons every
                activation is within 1e-9 of the largest from the answer, for every power (see `least_effort`).

    Args:
        model: the model. Its actuators (at coordinates, on bodies, along paths) take part with muscles.
        q, u: (frames, n) or (n,) coordinates and speeds, all of the file in its order.
        udot: accelerations, likewise; or give
        tau: (frames, n_u) generalized forces of the tree, as `inverse_dynamics` gives them, in place of udot and loads.
        loads: from outside, for instance ground reactions: one or several at these frames, or `read_external_loads` of
            a file, which need times. Doubts about them are `notes` and warnings.
        power: of the activations, 1 to 100.
        force_length_velocity: whether the strength of a muscle depends on length and speed of its fiber; else it is
            its maximum isometric force, and there is no passive force.
        passive: whether fibers resist being stretched. Off by default, as in OpenSim: many models of whole legs
            have tendons too short for it (gait2392 in walking: tensor fasciae latae at twice its optimal fiber length
            would resist with 15 times its maximal isometric force, and 53 of 92 muscles saturate). With elastic
            tendons, False takes away what is carried at no activation.
        tendon: "rigid" or "elastic".
        reserves: optimal forces of extra actuators without bounds, by independent speed; or a number for all.
        weights: of muscles, actuators and reserves (`<speed>_reserve`) by name; 1 for those not named.
        bounds: least and largest activation by muscle, within those of the model; or of the control of an actuator.
        targets: activations to stay near, by muscle, for instance measured ones (`musculo.signals.emg_envelope`):
            numbers, (frames,), or a table over time, which then needs times of the frames; NaN for none. The effort is
            w_i (a_i - target_i)^2 for these muscles, and as above for the others. With power 2.
        model_forces: whether the forces of `musculo.model_forces` act; those along paths always do.
        geometry: `path_geometry(model, q, u)`, so that paths are not computed again; `wrapping` is then its own.
        time: (frames,) or a number, for prescribed forces and loads over time [s]; by default what a table or an xarray
            `q` states, else 0.
        like: "opensim" for OpenSim's wrapping and its own definitions.
        wrapping, method: the parts of `like`: "geodesic" or "opensim"; "exact" or "opensim".
        threads: the number of threads; all cores by default.
    """
    p = check_power(power)
    wrapping, method = wrapping_of(like, wrapping), method_of(like, method)
    _check(tendon)
    e = embedding_of(model)
    refuse_carried(e.unsolved)
    Q, single = coordinates_of(model, q)
    U, _ = speeds_of(model, u)
    same_frames(q=Q, u=U)
    when = frame_times(time, q, len(Q))
    at = when if when is not None else times_of(0.0 if time is None else time, len(Q))
    T, findings = _generalized_forces(model, Q, U, udot, tau, loads, when, threads)
    J = e.jacobian(Q)
    motors = (*actuators_of(model), *reserves_of(model, reserves, e.speed_names))
    paths = len(model.muscles) < sum(f.path is not None for f in model.forces)
    make = path_geometry if paths else muscle_geometry
    g = make(model, Q, U, wrapping=wrapping, threads=threads) if geometry is None else _known(geometry, len(Q), paths)
    if paths:
        T = T - spring_forces(model, g, threads)
    if model_forces:
        T = T - passive_forces(model, Q, U, at, method, threads)[0]
    need = np.einsum("fuz,fu->fz", J, T)
    muscles = ForceByActivation(model, g, J, force_length_velocity, passive, tendon, method, threads)
    columns = actuator_columns(model, Q, J, g, motors, threads)
    w = _weights(muscles.names, motors, weights)
    n, used = len(muscles.names), muscles.used
    take = np.concatenate([np.flatnonzero(used), n + np.arange(len(motors))])
    low, top = _bounds(model, muscles.used, motors, bounds)
    wanted: Mapping[str, ArrayLike] | Table | None = table_of(targets)
    near = near_targets(wanted, (*muscles.names, *(m.name for m in motors)), when, len(Q))
    if near is not None and p != 2.0:
        raise InvalidInput(f"targets go with power=2, not {p:g}: the effort is the square of the distance from them")
    x, status = _solve(muscles, columns, need, low, top, w[take], p, threads, None if near is None else near[:, take])
    activation = np.zeros((len(Q), n))
    activation[:, used] = x[:, : used.sum()]
    control = x[:, used.sum() :]
    force = muscles.force(activation)
    resting = muscles.force(np.zeros_like(activation))
    reserve = np.einsum("fza,fa->fz", columns, control)
    pulled = np.einsum("fmz,fm->fz", muscles.arms, force)
    residual = need - pulled - reserve
    objective = np.abs(x if near is None else x - near[:, take]) ** p @ w[take]
    options = {
        "power": p,
        "force_length_velocity": force_length_velocity,
        "passive": muscles.passive,
        "tendon": tendon,
        "model_forces": model_forces,
        "method": method,
        "wrapping": g.wrapping,
        **_told(reserves, weights, at),
        **({"bounds": {name: list(pair) for name, pair in bounds.items()}} if bounds else {}),
        **({"targets": sorted(getattr(wanted, "names", wanted or ()))} if near is not None else {}),
    }

    def cut(part: Any) -> Any:
        return part[0] if single else part

    return StaticOptimum(
        model=model,
        muscle_names=muscles.names,
        actuator_names=tuple(motor.name for motor in motors),
        coordinate_names=e.speed_names,
        activation=cut(activation),
        force=cut(force),
        passive_force=cut(resting),
        control=cut(control),
        reserve=cut(reserve),
        muscle_moment=cut(pulled),
        passive_moment=cut(np.einsum("fmz,fm->fz", muscles.arms, resting)),
        balance_residual=cut(residual),
        objective=cut(objective),
        status=cut(status),
        penalty=cut(g.penalty[:, [g.index(name) for name in muscles.names]]),
        left_out=left_out(model) if model_forces else (),
        options=options,
        notes=texts(findings),
    )


def _known(geometry: PathGeometry, frames: int, paths: bool) -> PathGeometry:
    """The geometry that is given, if it holds what is needed."""
    if geometry.speed is None or np.shape(geometry.length)[:-1] != (frames,):
        raise InvalidInput(f"geometry is not of these {frames} frames with speeds: path_geometry(model, q, u)")
    if paths and set(geometry.names) <= set(geometry.model.muscle_names):
        raise InvalidInput("geometry has muscles only, and springs act along paths, too: path_geometry(model, q, u)")
    return geometry


def _told(reserves: Reserves | None, weights: Mapping[str, float] | None, time: FloatArray) -> dict[str, Any]:
    """What was asked for by name, and the span of time, for the provenance of results."""
    found: dict[str, Any] = {"start": float(time[0]), "end": float(time[-1])} if len(time) else {}
    for name, given in (("reserves", reserves), ("weights", weights)):
        if given is not None:
            found[name] = dict(given) if isinstance(given, Mapping) else float(given)
    return found


def _check(tendon: str) -> None:
    if tendon not in ("rigid", "elastic"):
        raise InvalidInput(f"tendon is 'rigid' or 'elastic', not {tendon!r}")


def _generalized_forces(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    udot: ArrayLike | Table | None,
    tau: ArrayLike | None,
    loads: Loads,
    time: FloatArray | None,
    threads: int | None,
) -> tuple[FloatArray, list[Finding]]:
    if (udot is None) == (tau is None):
        raise InvalidInput("give either udot, the accelerations, or tau, the generalized forces of the tree")
    if tau is not None:
        if isinstance(loads, ExternalLoad | ExternalLoads) or len(loads):
            raise InvalidInput("loads are part of tau already; give udot and loads, or tau alone")
        T, _ = frames_of("tau", tau, model.speed_names)
        same_frames(q=Q, tau=T)
        return T, []
    D, _ = accelerations_of(model, udot)  # type: ignore[arg-type]
    acting, findings = acting_loads(model, Q, loads, time)
    return inverse_dynamics(model, Q, U, D, acting, threads=threads), findings


def _weights(muscles: tuple[str, ...], motors: Sequence[Actuator], weights: Mapping[str, float] | None) -> FloatArray:
    names = [*muscles, *(m.name for m in motors)]
    w = np.ones(len(names))
    for name, value in (weights or {}).items():
        if name not in names:
            raise UnknownName("muscle or actuator", name, names, "weights")
        if not isinstance(value, int | float) or not np.isfinite(value) or value <= 0.0:
            raise InvalidInput(f"the weight of {name!r} is {value!r}; give a number above zero")
        w[names.index(name)] = value
    return w


def _bounds(
    model: Model, used: NDArray[np.bool_], motors: Sequence[Actuator], bounds: Mapping[str, tuple[float, float]] | None
) -> tuple[FloatArray, FloatArray]:
    strong = [m for m, on in zip(model.muscles, used, strict=True) if on]
    limits = {m.name: (float(m.min_control), float(m.max_control)) for m in strong}
    limits |= {m.name: (float(m.min_control), float(m.max_control)) for m in motors}
    for m in strong:
        if not 0.0 <= m.min_control <= m.max_control <= 1.0:
            raise InvalidInput(
                f"muscle {m.name!r} has controls from {m.min_control:g} to {m.max_control:g}; activations lie "
                "between 0 and 1"
            )
    for name, (low, top) in (bounds or {}).items():
        if name not in limits:
            raise UnknownName("muscle or actuator", name, limits, "bounds")
        least, largest = limits[name]
        if not least <= low <= top <= largest:
            raise InvalidInput(f"bounds of {name!r} are {low!r} to {top!r}; give two from {least:g} to {largest:g}")
        limits[name] = (float(low), float(top))
    pairs = [limits[m.name] for m in strong] + [limits[m.name] for m in motors]
    return np.array([low for low, _ in pairs]), np.array([top for _, top in pairs])


def _solve(
    muscles: ForceByActivation,
    columns: FloatArray,
    need: FloatArray,
    low: FloatArray,
    top: FloatArray,
    w: FloatArray,
    p: float,
    threads: int | None,
    near: FloatArray | None = None,
) -> tuple[FloatArray, NDArray[np.int64]]:
    used = muscles.used

    def linear(
        slope: FloatArray, offset: FloatArray, frames: NDArray[np.int64] | slice
    ) -> tuple[FloatArray, NDArray[np.int64]]:
        arms = muscles.arms[frames]
        rows = np.swapaxes(arms[:, used] * slope[:, used, None], 1, 2)
        A = np.concatenate([rows, columns[frames]], axis=2)
        b = need[frames] - np.einsum("fmz,fm->fz", arms, offset)
        found = least_effort(A, b, low, top, w, p, threads, None if near is None else near[frames])
        return found.x, found.status

    if not muscles.elastic:
        return linear(muscles.capacity, muscles.resting, slice(None))
    open_frames = np.arange(len(need))
    rest, full = np.zeros_like(muscles.length), np.ones_like(muscles.length)
    at_rest = muscles.force(rest)
    x, status = linear(muscles.force(full) - at_rest, at_rest, open_frames)
    share, last = np.ones(len(need)), np.zeros_like(x)
    for turn in range(_ROUNDS):
        activation = np.zeros((len(open_frames), len(used)))
        activation[:, used] = x[open_frames, : used.sum()]
        y, status[open_frames] = linear(*muscles.line(activation, open_frames), open_frames)
        step = y - x[open_frames]
        settled = np.abs(step)[:, : used.sum()].max(axis=1, initial=0.0) <= _SETTLED
        if turn >= _FULL_STEPS:
            # Where the slope changes much with activation a full step may swing about the answer: go part of the way,
            # by the secant of the last two steps (Aitken's relaxation).
            bend = step - last[open_frames]
            secant = -np.einsum("fn,fn->f", last[open_frames], bend) / np.maximum((bend**2).sum(axis=1), 1e-300)
            share[open_frames] = np.clip(share[open_frames] * secant, _LEAST_SHARE, 1.0)
        last[open_frames] = step
        part = np.where(settled, 1.0, share[open_frames])[:, None]
        x[open_frames] += part * step
        open_frames = open_frames[~settled]
        if not open_frames.size:
            return x, status
    solved = open_frames[status[open_frames] == Status.SOLVED]
    status[solved] = Status.NOT_CONVERGED
    return x, status


# The same in British spelling.
static_optimisation = static_optimization
