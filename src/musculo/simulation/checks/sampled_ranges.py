"""Joints and paths made from samples, and where a motion goes beyond these: there it is an extrapolation."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from musculo.arrays import FloatArray
from musculo.functions.sampled import SampledSpline
from musculo.model.joints.custom import CustomJoint
from musculo.model.model import Model


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
