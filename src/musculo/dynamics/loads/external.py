"""Loads from outside: forces and moments on bodies, as labs measure them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.compiled import CompiledModel
from musculo.dynamics.poses import Kinematics
from musculo.errors import InvalidInput, UnknownName
from musculo.model.body import GROUND
from musculo.results.external_loads import ExternalLoads, LoadSeries


@dataclass(frozen=True, eq=False)
class ExternalLoad:
    """A force and a moment on one body.

    Args:
        body: the body it acts on.
        force: (3,) or (frames, 3) [N].
        point: (3,) or (frames, 3) where the force acts [m].
        moment: (3,) or (frames, 3) free moment [N m].
        force_in: frame in which force and moment are expressed: `ground` (default) or any frame of the model.
        point_in: frame in which the point is given: `ground` (default) or any frame of the model.
        source: where it comes from, for messages.
    """

    body: str
    force: ArrayLike = (0.0, 0.0, 0.0)
    point: ArrayLike = (0.0, 0.0, 0.0)
    moment: ArrayLike = (0.0, 0.0, 0.0)
    force_in: str = GROUND
    point_in: str = GROUND
    source: str = ""


def _vectors(name: str, value: ArrayLike, frames: int) -> FloatArray:
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"external load: {name} is not three numbers a frame: {error}") from None
    if array.shape not in ((3,), (frames, 3)):
        raise InvalidInput(f"external load: {name} has shape {array.shape}; it needs (3,) or ({frames}, 3)")
    if not np.isfinite(array).all():
        raise InvalidInput(f"external load: {name} holds a number that is not finite; fill such frames first")
    return np.broadcast_to(array, (frames, 3))


Loads = ExternalLoad | LoadSeries | ExternalLoads | Sequence[ExternalLoad | LoadSeries]
"""What functions take as `loads`: one or several at their frames, or those of a file, over time."""


def listed(loads: Loads, frames: int, time: FloatArray | None = None) -> list[ExternalLoad]:
    """External loads as a list, checked; loads over time are interpolated at `time` (frames,) [s]."""
    if isinstance(loads, ExternalLoads):
        if time is None:
            raise InvalidInput(
                f"loads are external loads over time; give the times of the {frames} frames (time=motion.time where "
                "the function takes time, or a table as q), or the loads at them: loads.at(motion.time)"
            )
        loads = loads.at(time)
    if isinstance(loads, str | os.PathLike):
        raise InvalidInput(
            f"loads are {os.fspath(loads)!r}, the name of a file; give what it holds: "
            "musculo.read_external_loads(path) of its .xml"
        )
    if not isinstance(loads, ExternalLoad | Iterable):
        raise InvalidInput(f"loads are {loads!r:.60}; give a list of ExternalLoad, () for none, or ExternalLoads")
    given = [loads] if isinstance(loads, ExternalLoad | LoadSeries) else list(loads)
    found = [ExternalLoad(*load) if isinstance(load, LoadSeries) else load for load in given]
    for load in found:
        if not isinstance(load, ExternalLoad):
            raise InvalidInput(f"an external load is {load!r:.60}; give ExternalLoad(body, force=..., point=...)")
        for name in ("force", "point", "moment"):
            _vectors(name, getattr(load, name), frames)
    return found


def part(load: ExternalLoad, start: int, stop: int) -> ExternalLoad:
    """A load over some of its frames."""

    def some(values: ArrayLike) -> ArrayLike:
        array = np.asarray(values)
        return array[start:stop] if array.ndim == 2 else array

    return replace(load, force=some(load.force), point=some(load.point), moment=some(load.moment))


def repeated(load: ExternalLoad, count: int) -> ExternalLoad:
    """A load over its frames, so many times one after another."""

    def again(values: ArrayLike) -> ArrayLike:
        array = np.asarray(values)
        return np.tile(array, (count, 1)) if array.ndim == 2 else array

    return replace(load, force=again(load.force), point=again(load.point), moment=again(load.moment))


def node_wrenches(
    compiled: CompiledModel, loads: Sequence[ExternalLoad], frames: int, poses: Callable[[], Kinematics]
) -> FloatArray:
    """(frames, 6 nodes): force, then moment about ground's origin, on each node, in ground.

    `poses` is asked only where a load is given in a moving frame; measured ones are given in ground.
    """
    wrenches = np.zeros((frames, compiled.tree.parent.size, 6))
    motion = cache(poses)
    for load in loads:
        if load.body not in compiled.body_node:
            raise UnknownName("body", load.body, compiled.body_node, load.source or "an external load")
        force, point = _vectors("force", load.force, frames), _vectors("point", load.point, frames)
        moment = _vectors("moment", load.moment, frames)
        if load.force_in != GROUND:
            R, _ = motion().batch_pose(load.force_in)
            force, moment = np.einsum("fij,fj->fi", R, force), np.einsum("fij,fj->fi", R, moment)
        if load.point_in != GROUND:
            R, p = motion().batch_pose(load.point_in)
            point = p + np.einsum("fij,fj->fi", R, point)
        node = compiled.body_node[load.body]
        wrenches[:, node, :3] += force
        wrenches[:, node, 3:] += moment + np.cross(point, force)
    return np.ascontiguousarray(wrenches.reshape(frames, -1))
