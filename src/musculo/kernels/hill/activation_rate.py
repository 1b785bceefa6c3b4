"""How fast activation follows excitation."""

from __future__ import annotations

from musculo.kernels.compiler.parts import kernel
from musculo.kernels.hill.exponentials import hyperbolic_tangent
from musculo.kernels.hill.muscle_force import activation_in_range

# Models of activation.
DIRECT = 0
FIRST_ORDER = 1
SMOOTH = 2
RATES = 3
LINEAR = 4


@kernel
def activation_rate(m, i, excitation, a):
    """da/dt of muscle i [1/s]; the formulas are at `musculo.muscle.fibers.activation`."""
    model = m.activation_model[i]
    if model == DIRECT:
        return 0.0 * a
    if model == RATES:
        # activation_time holds the rate of rise, deactivation_time the common rate
        rate = m.deactivation_time[i] + 0.0 * a
        if excitation.real >= a.real:
            rate = rate + m.activation_time[i] * excitation
        return (excitation - a) * rate
    if model == LINEAR:
        time = m.activation_time[i] if excitation.real >= a.real else m.deactivation_time[i]
        return (excitation - a) / time
    if model == FIRST_ORDER:
        a = activation_in_range(m, i, a)
        scale = 0.5 + 1.5 * a
        if excitation.real > a.real:
            return (excitation - a) / (m.activation_time[i] * scale)
        return (excitation - a) * scale / m.deactivation_time[i]
    scale = 0.5 + 1.5 * a
    rising = 0.5 * hyperbolic_tangent(m.activation_smoothing[i] * (excitation - a))
    up = (0.5 + rising) / (m.activation_time[i] * scale)
    down = (0.5 - rising) * scale / m.deactivation_time[i]
    return (up + down) * (excitation - a)
