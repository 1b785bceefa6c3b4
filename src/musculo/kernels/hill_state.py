"""Forces of a muscle: with its fibre in equilibrium, with a given fibre length, with a tendon that does not stretch."""

from __future__ import annotations

from musculo.kernels.hill_curves import active_force_length, passive_force_length, tendon_force_length
from musculo.kernels.hill_equilibrium import fiber_force, solve_equilibrium
from musculo.kernels.hill_math import angle_of, root
from musculo.kernels.hill_table import (
    ACTIVE_FORCE,
    CONVERGED,
    DAMPING,
    DE_GROOTE_FREGLY_2016,
    FIBER_AT_MINIMUM,
    FIBER_LENGTH,
    FIBER_VELOCITY,
    FORCE_ALONG_TENDON,
    KIND,
    LEAST_ACTIVATION,
    LEAST_ALONG,
    LEAST_LENGTH,
    MAX_FORCE,
    MAX_SPEED,
    MILLARD_2012,
    NOT_CONVERGED,
    OPTIMAL_LENGTH,
    PASSIVE_FORCE,
    PENNATION,
    RIGID_TENDON,
    SCHUTTE_1993,
    SLACK_LENGTH,
    STIFFNESS,
    TENDON_FORCE,
    TENDON_LENGTH,
    TENDON_SLACK,
    THELEN_2003,
    WIDTH,
)
from musculo.kernels.hill_velocity import velocity_of
from musculo.kernels.jit import kernel

# OpenSim's search for the share of a Thelen fibre in the path's speed: passes until it stands still.
_SHARE_PASSES = 60
_SHARE_TOLERANCE = 1e-10


@kernel
def activation_in_range(m, i, a):
    """The activation, raised to the muscle's least one."""
    return a if a.real >= m.number[i, LEAST_ACTIVATION] else m.number[i, LEAST_ACTIVATION] + 0.0 * a


@kernel
def _write(m, i, length, s, w, tendon, active, passive, stiffness, out, frame):
    """Rows of one muscle; forces come over the maximum isometric force, w over the largest speed."""
    h, scale = m.number[i, WIDTH], m.number[i, MAX_FORCE]
    fiber = root(s * s + h * h)
    out[FIBER_LENGTH, frame, i] = fiber
    out[FIBER_VELOCITY, frame, i] = w * m.number[i, MAX_SPEED]
    out[PENNATION, frame, i] = angle_of(h + 0.0 * s, s)
    out[TENDON_LENGTH, frame, i] = length - s
    out[TENDON_FORCE, frame, i] = scale * tendon
    out[ACTIVE_FORCE, frame, i] = scale * active
    out[PASSIVE_FORCE, frame, i] = scale * passive
    out[FORCE_ALONG_TENDON, frame, i] = scale * (active + passive) * (s / fiber)
    out[STIFFNESS, frame, i] = scale * stiffness


@kernel
def equilibrium(m, c, i, length, speed, a, out, frame):
    """Muscle i in equilibrium while its tendon keeps its length; returns the status."""
    a = activation_in_range(m, i, a)
    s, status = solve_equilibrium(m, c, i, length, speed, a)
    slack = m.number[i, SLACK_LENGTH]
    if status == TENDON_SLACK:
        x = root(s * s + m.number[i, WIDTH] * m.number[i, WIDTH])
        w = 0.0 * s
        fl, _ = active_force_length(m, c, i, x / m.number[i, OPTIMAL_LENGTH])
        pe, _ = passive_force_length(m, c, i, x / m.number[i, OPTIMAL_LENGTH])
        if s.real > m.number[i, LEAST_ALONG]:
            # the path shortens faster than the fibre can: the fibre shortens at the speed of zero force
            w = velocity_of(m, c, i, a, a * fl, -pe, m.number[i, DAMPING])
            given = speed * s / (x * m.number[i, MAX_SPEED])
            if a.real * fl.real <= 0.0 and m.number[i, DAMPING] == 0.0:
                w = given
            passive = pe + m.number[i, DAMPING] * w
            _write(m, i, length, s, w, 0.0 * s, -passive, passive, 0.0 * s, out, frame)
        else:
            _write(m, i, length, s, w, 0.0 * s, 0.0 * s, 0.0 * s, 0.0 * s, out, frame)
        return status
    v = speed if status != FIBER_AT_MINIMUM else 0.0 * speed
    _, cosine, slope, active, passive = fiber_force(m, c, i, a, s, v)
    ft, ft1 = tendon_force_length(m, c, i, (length - s) / slack)
    stiffness = ft1 / slack
    if status != FIBER_AT_MINIMUM:
        # fibre and tendon in series
        stiffness = stiffness * slope / (stiffness + slope)
    _write(m, i, length, s, v * cosine / m.number[i, MAX_SPEED], ft, active, passive, stiffness, out, frame)
    return status


@kernel
def state_forces(m, c, i, length, a, fiber, opensim, out, frame):
    """Muscle i with its fibre at the length `fiber`: the fibre velocity that its forces ask for; returns the status."""
    a = activation_in_range(m, i, a)
    kind = m.integer[i, KIND]
    if fiber.real < m.number[i, LEAST_LENGTH]:
        fiber = m.number[i, LEAST_LENGTH] + 0.0 * fiber
    h, slack = m.number[i, WIDTH], m.number[i, SLACK_LENGTH]
    s = (
        root(fiber * fiber - h * h)
        if fiber.real > m.number[i, LEAST_LENGTH]
        else m.number[i, LEAST_ALONG] + 0.0 * fiber
    )
    cosine = s / root(s * s + h * h)
    ft, ft1 = tendon_force_length(m, c, i, (length - s) / slack)
    fl, _ = active_force_length(m, c, i, fiber / m.number[i, OPTIMAL_LENGTH])
    pe, _ = passive_force_length(m, c, i, fiber / m.number[i, OPTIMAL_LENGTH])
    force = ft / cosine - pe
    damping = m.number[i, DAMPING]
    if opensim and kind == DE_GROOTE_FREGLY_2016:
        damping = 0.0
    if opensim and kind == SCHUTTE_1993 and force.real < 0.0:
        force = 0.0 * force
    w = velocity_of(m, c, i, a, a * fl, force, damping)
    status = CONVERGED if ft.real > 0.0 else TENDON_SLACK
    active, passive = force - damping * w, pe + m.number[i, DAMPING] * w
    if opensim and kind == SCHUTTE_1993:
        # OpenSim counts the damping as active
        active, passive = ft / cosine - pe, pe
    if fiber.real <= m.number[i, LEAST_LENGTH] and w.real <= 0.0:
        status = FIBER_AT_MINIMUM
        w, active, passive = 0.0 * w, a * fl, pe
        if opensim and kind in (MILLARD_2012, THELEN_2003):
            active, passive = 0.0 * w, 0.0 * w
    _write(m, i, length, s, w, ft, active, passive, ft1 / slack, out, frame)
    return status


@kernel
def rigid_forces(m, c, i, length, speed, a, opensim, out, frame):
    """Muscle i with a tendon of its slack length; returns the status."""
    a = activation_in_range(m, i, a)
    kind = m.integer[i, KIND]
    s = length - m.number[i, SLACK_LENGTH]
    short = s.real < m.number[i, LEAST_ALONG]
    if short:
        s = m.number[i, LEAST_ALONG] + 0.0 * length
    v = speed
    if short:
        v = 0.0 * speed
    elif opensim and kind == RIGID_TENDON:
        # OpenSim leaves the cosine out here
        v = speed * root(s * s + m.number[i, WIDTH] * m.number[i, WIDTH]) / s
    force, cosine, slope, active, passive = fiber_force(m, c, i, a, s, v)
    w = v * cosine / m.number[i, MAX_SPEED]
    status = CONVERGED
    tendon = force * cosine
    if (short and not opensim) or (force.real < 0.0 and (kind == MILLARD_2012 or not opensim)):
        # nothing pulls on the tendon; what the contractile part cannot take off the passive one, nothing takes
        status = TENDON_SLACK
        tendon, slope = 0.0 * tendon, 0.0 * slope
        if short:
            active, passive = 0.0 * active, 0.0 * passive
        else:
            passive = -active
    elif short:
        status = TENDON_SLACK
    _write(m, i, length, s, w, tendon, active, passive, slope, out, frame)
    return status


@kernel
def opensim_equilibrium(m, c, i, length, speed, a, out, frame):
    """Muscle i where OpenSim's computeEquilibrium puts it; returns the status.

    Millard and the deprecated muscles ignore the path's speed; De Groote and Fregly give all of it to the fibre;
    Thelen shares it by the stiffnesses of fibre and tendon.
    """
    a = activation_in_range(m, i, a)
    kind = m.integer[i, KIND]
    v = 0.0 * speed
    if kind in (DE_GROOTE_FREGLY_2016, THELEN_2003):
        v = 1.0 * speed
    s, status = solve_equilibrium(m, c, i, length, v, a)
    if kind == THELEN_2003 and speed.real != 0.0:
        settled, outrun = False, status == TENDON_SLACK
        for _ in range(_SHARE_PASSES):
            before = v.real
            v = speed * _thelen_share(m, c, i, length, a, s, v)
            # OpenSim does not let the contractile part push: f_V >= 0
            fastest = -(0.25 + 0.75 * a) * m.number[i, MAX_SPEED] * root(s * s + m.number[i, WIDTH] ** 2) / s
            if v.real < fastest.real:
                v = fastest
            s, status = solve_equilibrium(m, c, i, length, v, a)
            outrun = outrun or status == TENDON_SLACK
            settled = abs(v.real - before) <= _SHARE_TOLERANCE * abs(speed.real)
            if settled:
                break
        if outrun and not settled:
            # the share jumps where the tendon falls slack, and no speed agrees with its own share
            s, status = length - m.number[i, SLACK_LENGTH], TENDON_SLACK
        elif status == CONVERGED and not settled:
            status = NOT_CONVERGED
    fiber = root(s * s + m.number[i, WIDTH] * m.number[i, WIDTH])
    found = state_forces(m, c, i, length, a, fiber, True, out, frame)
    return status if status != CONVERGED else found


@kernel
def _thelen_share(m, c, i, length, a, s, v):
    """The fibre's share of the path's speed, along the tendon: K_T / (K_T + K_M); none where the tendon is slack."""
    h, optimal = m.number[i, WIDTH], m.number[i, OPTIMAL_LENGTH]
    slack = m.number[i, SLACK_LENGTH]
    _, tendon = tendon_force_length(m, c, i, (length.real - s.real) / slack)
    if tendon <= 0.0:
        return 0.0
    # the stiffness of the fibre at the velocity it has, not counting how that velocity changes
    fiber = root(s.real * s.real + h * h)
    force, cosine, _, active, _ = fiber_force(m, c, i, a.real, s.real, v.real)
    fl, fl1 = active_force_length(m, c, i, fiber / optimal)
    _, pe1 = passive_force_length(m, c, i, fiber / optimal)
    along = h * h / (fiber * fiber * fiber) * force + cosine * cosine * (active / fl * fl1 + pe1) / optimal
    return tendon / slack / (tendon / slack + along)
