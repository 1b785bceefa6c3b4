"""Computed muscle control: excitations under which muscles make a model follow a motion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from musculo.analyses.tracking.acceleration_targets import AccelerationTargets
from musculo.analyses.tracking.actuated_model import StateLoads
from musculo.analyses.tracking.desired_motion import DesiredMotion
from musculo.analyses.tracking.driven_model import DrivenModel
from musculo.analyses.tracking.muscle_control import MuscleControl
from musculo.analyses.tracking.muscle_controller import Controller
from musculo.analyses.tracking.nodewise_muscle_control import nodewise_muscle_control
from musculo.analyses.tracking.tracking_arguments import (
    check_limits,
    check_motion_and_targets,
    check_names,
    checked_duration,
    checked_span,
)
from musculo.errors import InvalidInput
from musculo.io.controls.control_limits import ControlLimits
from musculo.like import Like, method_of, wrapping_of
from musculo.results.external_loads import ExternalLoads

# At so many times at most it is looked whether limits leave room.
_LOOKS = 1000

Target = Literal["fast", "slow"]


def computed_muscle_control(
    desired: DesiredMotion,
    targets: AccelerationTargets,
    span: tuple[float, float],
    *,
    loads: ExternalLoads | None = None,
    window: float = 0.01,
    target: Target = "fast",
    limits: Sequence[ControlLimits] = (),
    excluded: Sequence[str] = (),
    departures: StateLoads | None = None,
    like: Like | None = None,
    tolerance: float = 1e-6,
    progress: Callable[[float], None] | None = None,
) -> MuscleControl:
    """Excitations of muscles, and controls of other actuators, under which a model follows a motion.

    By default node by node: at every node forces of least effort give exactly the accelerations of the motion, within
    what activation dynamics can reach from the last node, and excitations follow from activations
    (`musculo.analyses.tracking.nodewise_muscle_control`). With `like="opensim"` as OpenSim does, window by window:

        a* = ka a_d(t + T) + kv (u_d - u) + kp (q_d - q)
        minimize sum (F / F0)^2   subject to   A F + b = a*,   F(t + T; x_min) <= F <= F(t + T; x_max)

    at the state that is expected at the end of the window (the motion to follow, as far off as now), with A and b the
    map from forces to accelerations. The constant excitation x then gives the force, F(t + T; x) = F, and the model
    moves under it. `target="slow"` weighs accelerations against effort instead. The first 30 ms pass until muscles have
    the states of the motion, and the last window is not made.

    Source:  [ThelenAndersonDelp2003], [ThelenAnderson2006]; OpenSim 4.6, `CMC.cpp`.
    Departs: see `musculo.analyses.tracking.muscle_controller`. An outcome that OpenSim ends at is noted here:
             `failures` say which accelerations are missed, and which actuators are at a bound.
    Guarantees: node by node, and where nothing failed, accelerations are met to 1e-9 of their largest term.

    Args:
        desired: the motion; its model is the one that moves. Make it with the same `like`.
        targets: the tasks; node by node their gains and weights do not count.
        span: from where to where [s], within the recording.
        loads: from outside.
        window: over which forces are reached, or between nodes [s].
        target: "fast" or "slow", of windows.
        limits: of controls by the names of actuators, in the place of what these state themselves.
        excluded: actuators that get no control.
        departures: loads by coordinates and speeds that act besides, as those with which our dynamics gives Simbody's.
        like: "opensim" for windows, OpenSim's paths over surfaces and its laws of muscles.
        tolerance: of speeds, in rounds between skeleton and muscles in a window [rad/s, m/s].
        progress: is called with the part that is done.

    Raises:
        InvalidInput: a span without a window or beyond the recording, limits that leave no room, or an argument that
            is something else than its name says.
        UnknownName: limits of, or excluded, actuators that the model lacks.
        Unsupported: closed loops, and joints whose speeds are no coordinate rates.

    Example:
        desired = desired_motion(model, table, 6.0)
        targets = tracking_targets(model, read_tracking_tasks("tasks.xml"))
        control = computed_muscle_control(desired, targets, (0.2, 1.0))
    """
    if target not in ("fast", "slow"):
        raise InvalidInput(f"target is {target!r}; give 'fast' or 'slow'")
    check_motion_and_targets(desired, targets)
    start, end = checked_span(span, desired)
    window, tolerance = checked_duration(window, "window", 0.01), checked_duration(tolerance, "tolerance", 1e-6)
    method, wrapping = method_of(like, None), wrapping_of(like, None)
    driven = DrivenModel(desired.model, loads, method, wrapping, departures)
    check_limits(limits, driven.names, np.linspace(start, end, 1 + min(int((end - start) / window), _LOOKS)))
    check_names(excluded, driven.names, "excluded")
    controller = Controller(
        driven, desired, targets, limits=limits, window=window, fast=target == "fast", excluded=excluded,
        tolerance=tolerance,
    )  # fmt: skip
    if method == "opensim":
        found = controller.run(start, end, progress)
    else:
        found = nodewise_muscle_control(controller, start, end, progress)
    return replace(found, options={"window": window, "target": target, "method": method})
