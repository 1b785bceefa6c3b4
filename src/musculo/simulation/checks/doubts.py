"""What speaks against a run that came to its end: drift, energy from nowhere, a singular position stepped over.

A method bounds the error of each step, not what steps do together: a state that has left its constraints, or a step
across a place where branches meet, has small errors of its own. So the steps are looked at once more, all together.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.dynamics.constraint_rank import scales_of
from musculo.dynamics.inverse import gravity_forces, inverse_dynamics
from musculo.errors import MusculoError
from musculo.functions.sampled import SampledSpline
from musculo.model.joints.custom import CustomJoint
from musculo.model.model import Model
from musculo.simulation.checks.singular import Followed
from musculo.simulation.equations.constraint_projection import project_position
from musculo.simulation.equations.systems import ConstrainedSystem
from musculo.simulation.integrators.control import Control
from musculo.simulation.integrators.stepped_run import Course

# Drift of positions that is no motion of the mechanism any more [rad, parts of its size]: so many times the tolerance,
# within these bounds.
DRIFT, LEAST_DRIFT, MOST_DRIFT = 1e4, 1e-3, 1e-2
# Energy may change so many times what all errors that steps are allowed make of it, and by this part of it anyway.
ENERGY, LEAST_ENERGY = 10.0, 1e-4
# Energies are looked at in no more states than this.
_LOOKS = 50
# Poses between steps that are further apart than the first are looked at, so close together [rad, m] ...
_LONG, _STRIDE, _MOST, _STEEP = 0.1, 0.05, 200, 3.0
# ... where the smallest singular value is below the first part of the largest again and closer, each time by the
# second, and below the third it counts as zero.
_SMALL, _CLOSER, _GONE, _TIMES = 0.2, 20, 1e-3, 4
# Above this part, and what open loops add to its error, nothing is singular between two poses that are looked at.
_CLEAR = 0.02


class Doubt(NamedTuple):
    """The last step that can be trusted, and what speaks against the next."""

    step: int
    reason: str


def first_doubt(system: ConstrainedSystem, course: Course, control: Control, conserved: bool) -> Doubt | None:
    """What speaks against the steps of a simulation with constraints as equations, if anything does.

    Args:
        system: the equations. course: all steps. control: what bounded them.
        conserved: whether nothing but gravity acts.
    """
    if not system.equations.count or len(course.t) < 2:
        return None
    for look in (_drift, _stepped_over):
        found = look(system, course, control)
        if found is not None:
            return found
    driven = any(c.prescribed and c.prescribed_function is not None for c in system.model.coordinates)
    return _energy(system, course, control) if conserved and not driven else None


def _drift(system: ConstrainedSystem, course: Course, control: Control) -> Doubt | None:
    q, _ = system.parts(course.y)
    g = np.abs(system.equations.by_speeds(q, None, course.t, 1).residual) * scales_of(system.equations).unit
    limit = float(np.clip(DRIFT * max(control.rtol, control.atol), LEAST_DRIFT, MOST_DRIFT))
    bad = np.flatnonzero(~(g.max(axis=1) <= limit))
    if not bad.size:
        return None
    k, name = int(bad[0]), system.equations.name_of(int(np.argmax(g[bad[0]])))
    return Doubt(
        max(k - 1, 0),
        f"the state has left the constraint {name!r} by {g[k].max():.3g} (radians, or parts of the mechanism's size; "
        f"{limit:.3g} is the limit) at t = {course.t[k]:.9g} s; use stabilization='project', smaller rtol and atol, or "
        "formulation='embedded'",
    )


def _energy(system: ConstrainedSystem, course: Course, control: Control) -> Doubt | None:
    model, steps = system.model, len(course.t) - 1
    at = np.unique(np.linspace(0, steps, min(steps + 1, _LOOKS)).astype(int))
    q, u = system.parts(course.y[at])
    pull = gravity_forces(model, q, threads=1)
    p = inverse_dynamics(model, q, np.zeros_like(u), u, threads=1) - pull
    tree, poses = compiled(model).tree, system.equations.poses(q, 1)
    moment = np.einsum("n,fni->fi", tree.inertia[:, 0], poses.p)
    moment += np.einsum("fnij,nj->fi", poses.R, tree.inertia[:, 1:4])
    kinetic, potential = 0.5 * np.einsum("fi,fi->f", p, u), -moment @ tree.gravity
    energy = kinetic + potential
    a_step = control.rtol * np.einsum("fi,fi->f", np.abs(p), np.abs(u)) + control.atol * np.abs(p).sum(axis=1)
    fall = np.abs(pull).sum(axis=1) * (control.atol + control.rtol * np.abs(q).max(axis=1))
    errors = np.cumsum(a_step + fall) * (steps + 1) / len(at)
    size = np.maximum.accumulate(np.abs(kinetic)) + np.maximum.accumulate(np.abs(potential - potential[0]))
    bad = np.flatnonzero(~(np.abs(energy - energy[0]) <= ENERGY * errors + LEAST_ENERGY * size))
    if not bad.size:
        return None
    k = int(bad[0])
    names = ", ".join(repr(name) for name in system.equations.names[:6])
    return Doubt(
        int(at[max(k - 1, 0)]),
        f"the energy, which nothing should change, is {energy[k] - energy[0]:.3g} J off at t = {course.t[at[k]]:.9g} "
        f"s, more than rtol and atol explain: the constraints ({names}) are not followed; use smaller rtol and atol, "
        "another method, or formulation='embedded'",
    )


def _stepped_over(system: ConstrainedSystem, course: Course, control: Control) -> Doubt | None:
    """A singular position between two steps: where they are far apart, or where it looked as if it lay ahead."""
    q, _ = system.parts(course.y)
    apart = np.abs(np.diff(q, axis=0)).max(axis=1)
    spans = [(one, max(a, float(course.t[0])), b) for one, a, b in system.loops.suspects if b <= course.t[-1]]
    for one in system.loops.followed if apart.max() > _LONG else ():
        smallest, largest = one.all_values(q)
        # singular values change by no more than so much a radian
        reached = (apart > _LONG) & (smallest[:-1] + smallest[1:] < _STEEP * apart * largest[0])
        if not reached.any():
            continue
        counts = np.where(reached, np.minimum(np.ceil(apart / _STRIDE), _MOST), 1).astype(int)
        pieces = zip(course.t[:-1], course.t[1:], counts, strict=True)
        times = np.concatenate([[course.t[0]], *(np.linspace(a, b, n + 1)[1:] for a, b, n in pieces)])
        part = _margins(system, course, times, one, closed=False)
        low = np.flatnonzero((part[1:-1] <= part[:-2]) & (part[1:-1] <= part[2:]) & (part[1:-1] < _SMALL)) + 1
        spans += [(one, float(times[k - 1]), float(times[k + 1])) for k in low]
    for one, a, b in sorted(spans, key=lambda span: span[1]):
        if _is_clear(system, course, np.linspace(a, b, 2 * _CLOSER + 1), one):
            continue
        for _ in range(_TIMES):
            near = np.linspace(a, b, 2 * _CLOSER + 1)
            values = _margins(system, course, near, one)
            least = int(np.argmin(values))
            if values[least] < _GONE:
                return Doubt(
                    int(course.step_of(near[least : least + 1])[0]),
                    f"the {one.loop.title} passes a singular position at t = {near[least]:.6g} s, between two steps: "
                    f"its equations repeat each other there, and {one.consequence}; change the mechanism or the motion",
                )
            a, b = float(near[max(least - 1, 0)]), float(near[min(least + 1, len(near) - 1)])
    return None


def _is_clear(system: ConstrainedSystem, course: Course, times: FloatArray, one: Followed) -> bool:
    """Whether poses between steps are so far from a singular one that closing their loops first changes nothing."""
    q, _ = system.parts(course(times))
    off = np.abs(system.equations.by_speeds(q, None, times, 1).residual) * scales_of(system.equations).unit
    margins = _margins(system, course, times, one, closed=False)
    return bool((margins > _CLEAR + _STEEP * off.max(axis=1)).all())


def _margins(
    system: ConstrainedSystem, course: Course, times: FloatArray, one: Followed, closed: bool = True
) -> FloatArray:
    """The smallest singular value of a loop at poses of the course, as a part of the largest at the start."""
    q, _ = system.parts(course(times))
    if closed:
        try:
            q = project_position(system.model, q, times, threads=1)
        except MusculoError:  # one of them has no closed pose near: it has to serve as it is
            for k, t in enumerate(times):
                with suppress(MusculoError):
                    q[k] = project_position(system.model, q[k], t, threads=1)
    _, largest = one.values(system.parts(course.y[:1])[0][0])
    return np.asarray(one.all_values(q)[0] / max(largest, 1e-300))


_CONTACTS = ("HuntCrossleyForce", "ElasticFoundationForce", "SmoothSphereHalfSpaceForce")
_ONE_STEP = ("rkf45", "tr-bdf2", "imex")
# Impacts of a body on a floor take some milliseconds: steps no longer than this mostly meet them [s].
_IMPACT = 1e-2


def long_steps(model: Model, t: FloatArray, method: str, longest: float) -> tuple[str, ...]:
    """One note if contacts act, nothing bounds the steps, and they are longer than impacts.

    Args:
        t: ends of steps [s]. longest: the longest step allowed [s].
    """
    contacts = [one.name for one in model.forces if one.kind in _CONTACTS and one.applies_force]
    taken = float(np.diff(t).max(initial=0.0))
    if method not in _ONE_STEP or np.isfinite(longest) or not contacts or taken <= _IMPACT:
        return ()
    return (
        f"steps of {method!r} are up to {taken:.3g} s long, and contacts act ({contacts[0]!r}): such a step may pass "
        "over an impact, or meet it late; give max_step (1 ms serves most impacts), or method='cvode'",
    )


def sampled_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """By coordinate: the range of the samples that a joint of one coordinate was made from."""
    found: dict[str, tuple[float, float]] = {}
    for joint in model.joints:
        if not isinstance(joint, CustomJoint):
            continue
        for axis in (*joint.rotations, *joint.translations):
            if isinstance(axis.function, SampledSpline) and len(axis.coordinates) == 1:
                low, high = found.get(axis.coordinates[0], (-np.inf, np.inf))
                x = axis.function.x
                found[axis.coordinates[0]] = (max(low, x[0]), min(high, x[-1]))
    return found


def beyond_samples(
    model: Model, time: FloatArray, q: FloatArray, fitted: Mapping[str, tuple[float, float]]
) -> tuple[str, ...]:
    """One note for each coordinate that leaves the samples of its joint, or those that paths were fitted to: when
    first, and how far it goes.

    Args:
        fitted: ranges of the samples of fitted paths, by coordinate.
    """
    joints = "its joint is extrapolated there; measure more, limit it (CoordinateLimitForce), or stop by an event"
    paths = "fitted paths are extrapolated there; fit them over wider ranges, or simulate with exact ones"
    ranges = [(name, "its measured range", one, joints) for name, one in sampled_ranges(model).items()]
    ranges += [(name, "the range of its fitted paths", one, paths) for name, one in fitted.items()]
    notes = []
    for name, what, (low, high), so in ranges:
        x = q[:, model.coordinate_index(name)]
        outside = np.flatnonzero((x < low) | (x > high))
        if outside.size:
            farthest = x[int(np.argmax(np.maximum(low - x, x - high)))]
            notes.append(
                f"{name!r} leaves {what}, {low:.6g} to {high:.6g}, at t = {time[outside[0]]:.6g} s and "
                f"goes to {farthest:.6g}: {so}"
            )
    return tuple(notes)
