"""Exact derivatives of the tension of muscles, and of the balance of fiber and tendon."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.hill.muscle_table import (
    DE_GROOTE_FREGLY_2016,
    DELP_1990,
    SCHUTTE_1993,
    THELEN_DEPRECATED,
    MuscleTable,
)
from musculo.kernels.hill.tension_slopes import (
    RESIDUAL_SLOPES,
    SLOPES,
    TensionFrames,
    TensionSlopes,
    tension_slope_frames,
)
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.model import Model
from musculo.muscle.fibers.compile_muscles import compiled_muscles
from musculo.muscle.fibers.muscle_arrays import muscle_columns
from musculo.muscle.fibers.muscle_kinds import MAXIMUM_PENNATION

# Kinds whose shortest fiber has a part along the tendon that does not depend on the pennation.
_FREE = (DE_GROOTE_FREGLY_2016, SCHUTTE_1993, DELP_1990, THELEN_DEPRECATED)


@dataclass(frozen=True, eq=False)
class MuscleForceDerivatives:
    """Tensions of muscles and their derivatives; arrays (frames, muscles), or (muscles,) for a single frame."""

    muscle_names: tuple[str, ...]
    tendon_force: FloatArray = field(repr=False)  # [N]
    by_length: FloatArray = field(repr=False)  # of the path [N/m]; `stiffness` of `MuscleForces`
    by_speed: FloatArray = field(repr=False)  # of the path [N s/m]
    by_activation: FloatArray = field(repr=False)  # [N]
    by_max_isometric_force: FloatArray = field(repr=False)  # [-]
    by_optimal_fiber_length: FloatArray = field(repr=False)  # [N/m]
    by_tendon_slack_length: FloatArray = field(repr=False)  # [N/m]
    by_pennation_angle: FloatArray = field(repr=False)  # at the optimal length [N/rad]
    by_max_contraction_velocity: FloatArray = field(repr=False)  # in optimal lengths a second [N s]
    status: NDArray[np.int64] = field(repr=False)  # `MuscleStatus`


@dataclass(frozen=True, eq=False)
class EquilibriumResidual:
    """What tendon and fiber differ by, and its derivatives; arrays (frames, muscles), or (muscles,) for one frame."""

    muscle_names: tuple[str, ...]
    residual: FloatArray = field(repr=False)  # [N] tension less the force of the fiber along the tendon
    by_length: FloatArray = field(repr=False)  # of the path [N/m]
    by_fiber_velocity: FloatArray = field(repr=False)  # [N s/m]
    by_activation: FloatArray = field(repr=False)  # [N]
    by_max_isometric_force: FloatArray = field(repr=False)  # [-]
    by_optimal_fiber_length: FloatArray = field(repr=False)  # [N/m]
    by_tendon_slack_length: FloatArray = field(repr=False)  # [N/m]
    by_pennation_angle: FloatArray = field(repr=False)  # [N/rad]
    by_max_contraction_velocity: FloatArray = field(repr=False)  # [N s]
    by_fiber_length: FloatArray = field(repr=False)  # [N/m]


def muscle_force_derivatives(
    model: Model,
    length: ArrayLike,
    speed: ArrayLike,
    activation: ArrayLike,
    *,
    tendon: Literal["as stated", "rigid"] = "as stated",
    threads: int | None = None,
) -> MuscleForceDerivatives:
    """Tension of every muscle in equilibrium and its derivatives by state and parameters, exact.

        dF/dp = F_0 (df_T/dp - K_T ds/dp),   ds/dp = (df_T/dp - dg/dp) / (K_T + K_M)

    of the equilibrium that `muscle_equilibrium` finds; of rigid tendons F = F_0 g. Curves are functions of lengths over
    the optimal and the slack length and of velocities over the largest one, and stay as they are.

    Source:     the implicit function theorem on [Millard2013] eq. 6-12; `kernels/hill/tension_slopes.py`.
    Guarantees: no finite difference. Zero where a tendon is slack, and by the activation below the least one. Where
                curves have corners (Thelen's velocity at zero) the derivative is that of one side.

    Args:
        model: the model.
        length, speed, activation: as `muscle_equilibrium` has them.
        tendon: "rigid" treats every tendon as one that does not stretch.
        threads: the number of threads; all cores by default.
    """
    if tendon not in ("as stated", "rigid"):
        raise InvalidInput(f"tendon is 'as stated' or 'rigid', not {tendon!r}")
    rigid = tendon == "rigid"
    c = compiled_muscles(model, rigid)
    (L, v, a), single = muscle_columns(c, length=length, speed=speed, activation=activation)
    force, status, slopes = np.empty_like(L), np.zeros_like(L), np.zeros((SLOPES, *L.shape))
    x = TensionFrames(L, v, a, np.zeros((0, L.shape[1])))
    found = TensionSlopes(force, status, slopes)
    arguments = (*c.arrays, x, rigid, _shortest_by_pennation(model, c.muscles), found)
    over_frames(tension_slope_frames, arguments, len(L), threads)
    if single:
        force, status, slopes = force[0], status[0], slopes[:, 0]
    return MuscleForceDerivatives(c.names, force, *slopes, status.astype(np.int64))  # type: ignore[call-arg]


def equilibrium_residual(
    model: Model,
    length: ArrayLike,
    fiber_length: ArrayLike,
    fiber_velocity: ArrayLike,
    activation: ArrayLike,
    *,
    threads: int | None = None,
) -> EquilibriumResidual:
    """Tension less the force of the fiber along the tendon at any state, and its derivatives, for optimizers.

        R = F_0 (f_T((L - l cos) / l_S) - (a f_L(l) f_V(ldot) + beta ldot + f_PE(l)) cos),   sin = h / l

    Nothing is solved, so it is smooth wherever the curves are. Rigid tendons have no such state: their columns are
    those of the elastic tendon that the muscle would have.

    Source:     [Millard2013] eq. 6-9; [DeGroote2016], implicit formulations.

    Args:
        model: the model.
        length: path length of every muscle [m]; (frames, muscles), (muscles,) or a number.
        fiber_length: [m], longer than the width of the muscle. fiber_velocity: [m/s], shortening negative.
        activation: 0 to 1. threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: a fiber that is no longer than the muscle is wide.
    """
    c = compiled_muscles(model)
    (L, fiber, velocity, a), single = muscle_columns(
        c, length=length, fiber_length=fiber_length, fiber_velocity=fiber_velocity, activation=activation
    )
    short = np.argwhere(fiber <= c.muscles.width)
    if len(short):
        frame, k = short[0]
        raise InvalidInput(
            f"fiber_length of {c.names[k]!r} is {fiber[frame, k]:g} m at frame {frame}; its fibers stand across the "
            f"tendon at {c.muscles.width[k]:g} m, and must be longer"
        )
    value, slopes = np.empty_like(L), np.zeros((RESIDUAL_SLOPES, *L.shape))
    x = TensionFrames(L, velocity, a, fiber)
    found = TensionSlopes(value, np.zeros_like(L), slopes)
    arguments = (*c.arrays, x, False, _shortest_by_pennation(model, c.muscles), found)
    over_frames(tension_slope_frames, arguments, len(L), threads)
    if single:
        value, slopes = value[0], slopes[:, 0]
    return EquilibriumResidual(c.names, value, *slopes)


def _shortest_by_pennation(model: Model, m: MuscleTable) -> FloatArray:
    """d(part of the shortest fiber along the tendon)/d(pennation) (muscles,).

    A shortest length c l_M has s^2 = c^2 l_M^2 - h^2; where the largest pennation decides, s and h grow together.
    """
    limits = [float(x.parameter("maximum_pennation_angle", MAXIMUM_PENNATION)) for x in model.muscles]
    least, width, along = m.least_length, m.width, np.where(m.least_along > 0.0, m.least_along, 1.0)
    turned = (width > 0.0) & np.isclose(least * np.sin(limits), width, rtol=1e-12)
    ratio = np.where(turned, along / np.where(width > 0.0, width, 1.0), -width / along)
    return np.where(np.isin(m.kind, _FREE), 0.0, ratio * m.optimal_length * m.cosine_at_optimal)
