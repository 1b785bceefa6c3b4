"""Forces of a muscle: with its fiber in equilibrium, with a given fiber length, with a tendon that does not stretch.

Each kernel returns the rows of `muscle_table` from FIBER_LENGTH to STIFFNESS, and the status, a whole float64.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.hill.curve_values import (
    active_force_length,
    passive_force_length,
    tendon_force_length,
    thelen_speed,
)
from musculo.kernels.hill.exponentials import angle_of, magnitude, root
from musculo.kernels.hill.fiber_equilibrium import fiber_force, solve_equilibrium
from musculo.kernels.hill.fiber_velocity import velocity_of
from musculo.kernels.hill.muscle_table import (
    CONVERGED,
    DE_GROOTE_FREGLY_2016,
    FIBER_AT_MINIMUM,
    MILLARD_2012,
    NOT_CONVERGED,
    RIGID_TENDON,
    SCHUTTE_1993,
    TENDON_SLACK,
    THELEN_2003,
)
from musculo.kernels.scalar.choices import (
    any_of,
    at_most,
    both,
    either,
    equal,
    is_zero,
    less,
    opposite,
    real_part,
    where,
)
from musculo.kernels.scalar.scalars import like

# OpenSim's search for the share of a Thelen fiber in the path's speed: passes until it stands still.
_SHARE_PASSES = 60
_SHARE_TOLERANCE = 1e-10
# The part along the tendon of a fiber that stands across it, over the optimal length.
_ACROSS = 1e-8


@inline
def activation_in_range(m, i, a):
    """The activation, raised to the muscle's least one."""
    least = m.least_activation[i]
    return where(less(a, least), least, a)


@inline
def _rows(m, i, length, of_fiber, of_tendon):
    """Rows of one muscle; forces come over the maximum isometric force, w over the largest speed.

    Args:
        of_fiber: its part along the tendon, length, cosine, w, active and passive force. of_tendon: force, stiffness.
    """
    s, fiber, cosine, w, active, passive = of_fiber
    tendon, stiffness = of_tendon
    h, scale = m.width[i], m.max_force[i]
    angle = like(s, 0.0)
    if h > 0.0:
        angle = angle_of(like(s, h), s)
    return (
        fiber,
        w * m.max_speed[i],
        angle,
        length - s,
        scale * tendon,
        scale * active,
        scale * passive,
        scale * (active + passive) * cosine,
        scale * stiffness,
    )


@kernel
def equilibrium(m, c, i, length, speed, a):
    """Muscle i in equilibrium while its tendon keeps its length."""
    a = activation_in_range(m, i, a)
    s, status, of_fiber, of_tendon = solve_equilibrium(m, c, i, length, speed, a)
    fiber, cosine, slope, active, passive = of_fiber
    tendon, stiffness = of_tendon
    w = speed * cosine * m.per_max_speed[i]
    # fiber and tendon in series; where neither resists, as without activation and load, there is nothing to divide by
    resistance = stiffness + slope
    series = stiffness * slope / where(is_zero(resistance), 1.0, resistance)
    stopped = equal(status, float(FIBER_AT_MINIMUM))
    if any_of(stopped):
        _, _, _, _, active0, passive0 = fiber_force(m, c, i, a, s, 0.0 * speed)
        active, passive = where(stopped, active0, active), where(stopped, passive0, passive)
        w, series = where(stopped, 0.0, w), where(stopped, stiffness, series)
    slack = equal(status, float(TENDON_SLACK))
    if any_of(slack):
        w0, active0, passive0 = _without_load(m, c, i, a, s, speed)
        w, tendon, series = where(slack, w0, w), where(slack, 0.0, tendon), where(slack, 0.0, series)
        active, passive = where(slack, active0, active), where(slack, passive0, passive)
    return _rows(m, i, length, (s, fiber, cosine, w, active, passive), (tendon, series)), status


@kernel
def _without_load(m, c, i, a, s, speed):
    """(w, active, passive) of fibers on a slack tendon.

    Where the path is longer than its shortest, it shortens faster than the fibers can, and they shorten at the speed
    of zero force; else they are as short as they get and do nothing.
    """
    h, damping = m.width[i], m.damping[i]
    length = root(s * s + h * h)
    x = length * m.per_optimal_length[i]
    fl, _ = active_force_length(m, c, i, x)
    pe, _ = passive_force_length(m, c, i, x)
    w = velocity_of(m, c, i, a, a * fl, -pe, damping)
    if damping == 0.0:
        given = speed * s / length * m.per_max_speed[i]
        w = where(at_most(a * fl, 0.0), given, w)
    passive = pe + damping * w
    outrun = less(m.least_along[i], s)
    return where(outrun, w, 0.0), where(outrun, -passive, 0.0), where(outrun, passive, 0.0)


@kernel
def state_forces(m, c, i, length, a, fiber, opensim):
    """Muscle i with its fiber at the length `fiber`: the fiber velocity that its forces ask for."""
    a = activation_in_range(m, i, a)
    h, per_slack = m.width[i], m.per_slack_length[i]
    longer = less(m.least_length[i], fiber)
    fiber = where(longer, fiber, m.least_length[i])
    s = where(longer, root(fiber * fiber - h * h), m.least_along[i])
    x = fiber * m.per_optimal_length[i]
    tendon, stiffness = tendon_force_length(m, c, i, (length - s) * per_slack)
    fl, _ = active_force_length(m, c, i, x)
    pe, _ = passive_force_length(m, c, i, x)
    of_fiber, of_tendon = (s, fiber, s / fiber, a * fl, pe), (tendon, stiffness * per_slack)
    return _at_rest_or_moving(m, c, i, length, a, of_fiber, of_tendon, opensim)


@kernel
def _at_rest_or_moving(m, c, i, length, a, of_fiber, of_tendon, opensim):
    """Muscle i whose fiber would give `isometric` and `pe` without velocity: the velocity that balances the tendon."""
    s, fiber, cosine, isometric, pe = of_fiber
    tendon, stiffness = of_tendon
    kind = m.kind[i]
    if kind == DE_GROOTE_FREGLY_2016:
        # the exponential of a slack tendon would push
        tendon = where(less(tendon, 0.0), 0.0, tendon)
    carried = tendon / cosine - pe
    force = carried
    damping = m.damping[i]
    if opensim and kind == DE_GROOTE_FREGLY_2016:
        damping = 0.0
    if opensim and kind == SCHUTTE_1993:
        force = where(less(force, 0.0), 0.0, force)
    w = velocity_of(m, c, i, a, isometric, force, damping)
    active, passive = force - damping * w, pe + m.damping[i] * w
    if opensim and kind == SCHUTTE_1993:
        # OpenSim counts the damping as active
        active, passive = carried, pe
    status = where(less(0.0, tendon), like(real_part(s), float(CONVERGED)), float(TENDON_SLACK))
    stopped = both(at_most(fiber, m.least_length[i]), at_most(w, 0.0))
    if any_of(stopped):
        status, w = where(stopped, float(FIBER_AT_MINIMUM), status), where(stopped, 0.0, w)
        kept = 0.0 if opensim and kind in (MILLARD_2012, THELEN_2003) else 1.0
        active, passive = where(stopped, kept * isometric, active), where(stopped, kept * pe, passive)
    return _rows(m, i, length, (s, fiber, cosine, w, active, passive), (tendon, stiffness)), status


@kernel
def rigid_forces(m, c, i, length, speed, a, opensim):
    """Muscle i with a tendon of its slack length.

    A path shorter than tendon and shortest fiber leaves the tendon slack: nothing pulls. In OpenSim the fibers of
    RigidTendonMuscle keep the length of a fiber across the tendon, and pull as before; those of De Groote and Fregly
    turn round and push, which is not followed.
    """
    a = activation_in_range(m, i, a)
    kind = m.kind[i]
    least = m.least_along[i]
    if opensim and kind == RIGID_TENDON:
        least = _ACROSS / m.per_optimal_length[i]
    s = length - m.slack_length[i]
    short = less(s, least)
    s = where(short, least, s)
    v = 1.0 * speed
    if opensim and kind == RIGID_TENDON:
        # OpenSim leaves the cosine out here
        v = v * root(s * s + m.width[i] * m.width[i]) / s
    else:
        v = where(short, 0.0, v)
    force, fiber, cosine, slope, active, passive = fiber_force(m, c, i, a, s, v)
    w = v * cosine * m.per_max_speed[i]
    tendon = force * cosine
    # nothing pulls on the tendon; what the contractile part cannot take off the passive one, nothing takes
    free = less(force, 0.0)
    slack = short if opensim and kind != MILLARD_2012 else either(short, free)
    dropped = slack
    if opensim and kind == RIGID_TENDON:
        dropped = less(force, force)
    else:
        active, passive = where(short, 0.0, active), where(short, 0.0, passive)
    tendon, slope = where(dropped, 0.0, tendon), where(slack, 0.0, slope)
    passive = where(dropped, -active, passive)
    status = where(slack, float(TENDON_SLACK), float(CONVERGED))
    return _rows(m, i, length, (s, fiber, cosine, w, active, passive), (tendon, slope)), status


@kernel
def opensim_equilibrium(m, c, i, length, speed, a):
    """Muscle i where OpenSim's computeEquilibrium puts it.

    Millard and the deprecated muscles ignore the path's speed; De Groote and Fregly give all of it to the fiber;
    Thelen shares it by the stiffnesses of fiber and tendon.
    """
    a = activation_in_range(m, i, a)
    kind = m.kind[i]
    v = 0.0 * speed
    if kind in (DE_GROOTE_FREGLY_2016, THELEN_2003):
        v = 1.0 * speed
    s, status, of_fiber, of_tendon = solve_equilibrium(m, c, i, length, v, a)
    fiber, cosine, _, isometric, pe = of_fiber
    moving = opposite(is_zero(v))
    if any_of(moving):
        if kind == THELEN_2003:
            s, status = _thelen_moving(m, c, i, length, speed, a, (s, status, moving))
        # at that length, forces of the fiber without velocity
        fiber = root(s * s + m.width[i] * m.width[i])
        rows, found = state_forces(m, c, i, length, a, fiber, True)
    else:
        rows, found = _at_rest_or_moving(m, c, i, length, a, (s, fiber, cosine, isometric, pe), of_tendon, True)
    return rows, where(equal(status, float(CONVERGED)), found, status)


@kernel
def _thelen_moving(m, c, i, length, speed, a, begun):
    """(s, status) with the path's speed shared by the stiffnesses of fiber and tendon, pass after pass.

    begun: (s, status) without speed, and which lanes move.
    """
    s, status, searching = begun
    v = 1.0 * speed
    outrun = equal(status, float(TENDON_SLACK))
    for _ in range(_SHARE_PASSES):
        if not any_of(searching):
            break
        new = speed * _thelen_share(m, c, i, length, a, s, v)
        # OpenSim does not let the contractile part push: f_V >= 0
        fastest = -thelen_speed(m, i, a) * m.max_speed[i] * root(s * s + m.width[i] ** 2) / s
        new = where(less(new, fastest), fastest, new)
        still = at_most(magnitude(real_part(new) - real_part(v)), _SHARE_TOLERANCE * magnitude(real_part(speed)))
        v = where(searching, new, v)
        next_s, next_status, _, _ = solve_equilibrium(m, c, i, length, v, a)
        s, status = where(searching, next_s, s), where(searching, next_status, status)
        outrun = either(outrun, equal(status, float(TENDON_SLACK)))
        searching = both(searching, opposite(still))
    # the share jumps where the tendon falls slack, and no speed agrees with its own share
    lost = both(searching, outrun)
    open_end = both(both(searching, opposite(outrun)), equal(status, float(CONVERGED)))
    s = where(lost, length - m.slack_length[i], s)
    return s, where(lost, float(TENDON_SLACK), where(open_end, float(NOT_CONVERGED), status))


@kernel
def _thelen_share(m, c, i, length, a, s, v):
    """The fiber's share of the path's speed, along the tendon: K_T / (K_T + K_M); none where the tendon is slack."""
    h, optimal, per_slack = m.width[i], m.per_optimal_length[i], m.per_slack_length[i]
    along, share = real_part(s), real_part(a)
    _, tendon = tendon_force_length(m, c, i, (real_part(length) - along) * per_slack)
    tendon = tendon * per_slack
    # the stiffness of the fiber at the velocity it has, not counting how that velocity changes
    fiber = root(along * along + h * h)
    force, _, cosine, _, active, _ = fiber_force(m, c, i, share, along, real_part(v))
    fl, fl1 = active_force_length(m, c, i, fiber * optimal)
    _, pe1 = passive_force_length(m, c, i, fiber * optimal)
    muscle = h * h / (fiber * fiber * fiber) * force + cosine * cosine * (active / fl * fl1 + pe1) * optimal
    return where(less(0.0, tendon), tendon / (tendon + muscle), 0.0)
