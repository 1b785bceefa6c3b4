"""`model_forces`: what the forces of a model do that act by themselves, without a muscle or a control."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.coordinate_arrays import coordinates_of, speeds_of
from musculo.compile.frame_arrays import finite, same_frames
from musculo.dynamics.poses import Kinematics, kinematics
from musculo.embedding.embedding import times_of
from musculo.errors import UnknownName
from musculo.forces.along_paths import path_columns, stored_energy
from musculo.forces.compiled_forces import Group, acting_on, add, compiled_forces, moving, passive_paths
from musculo.forces.placed import Acting, Columns, Moving
from musculo.like import Like, Method, Wrapping, method_of, wrapping_of
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.muscle.path_loads.path_forces import path_tensions
from musculo.muscle.path_loads.path_wrenches import PathWrenches, path_wrenches
from musculo.results.labeled_arrays import labeled
from musculo.results.result_base import Result, times_or_numbers
from musculo.results.table import Table

if TYPE_CHECKING:
    import xarray


class OneForce(NamedTuple):
    """What one force does; without the frame axis where a single pose was asked for."""

    tau: FloatArray  # (frames, n_u) generalized forces [N m, N]
    wrench: FloatArray  # (frames, 1 + bodies, 6) moment about ground's origin, force, in ground [N m, N]
    energy: FloatArray  # (frames,) potential energy [J]


@dataclass(frozen=True, eq=False, repr=False)
class ModelForces(Result):
    """What the passive forces of a model do; arrays have no frame axis for a single pose."""

    made_by: ClassVar[str] = "model_forces"

    model: Model = field(repr=False)
    names: tuple[str, ...]  # of the forces, those along paths last
    kinds: tuple[str, ...]
    body_names: tuple[str, ...]  # ground first
    tau: FloatArray = field(repr=False)  # (frames, n_u) generalized forces of all of them [N m, N]
    wrench: FloatArray = field(repr=False)  # (frames, bodies, 6) moment about ground's origin, force, in ground
    energy: FloatArray = field(repr=False)  # (frames, forces) potential energy [J]; zero where none is known
    tension: FloatArray = field(repr=False)  # (frames, paths) of those along paths [N]
    left_out: Mapping[str, str]  # forces that apply and are not computed, and why
    options: Mapping[str, Any] = field(repr=False)  # that made it
    _report: Callable[[], Columns] = field(repr=False)
    _parts: tuple[tuple[IntArray, Acting], ...] = field(repr=False)
    _paths: PathWrenches | None = field(repr=False)
    _poses: Kinematics = field(repr=False)

    def _frames(self) -> int | None:
        return len(self.tau) if self.tau.ndim == 2 else None

    @cached_property
    def reported(self) -> tuple[tuple[str, str, FloatArray], ...]:
        """Force, label and values (frames,) of every column of OpenSim's force reporter; made when first asked for."""
        return tuple((self.names[k], label, values) for k, label, values in self._report())

    def of(self, name: str) -> OneForce:
        """What one of the forces does."""
        if name not in self.names:
            raise UnknownName("force", name, self.names)
        k, frames = self.names.index(name), self._poses.frames
        wrench = np.zeros((frames, len(self.body_names), 6))
        tau = np.zeros((frames, len(self.model.speed_names)))
        tension = self.tension.reshape(frames, -1)
        if self._paths is not None and name in self._paths.names:
            alone = np.zeros_like(tension)
            row = self._paths.index(name)
            alone[:, row] = tension[:, row]
            wrench += self._paths.on_bodies(alone)
            tau += alone[:, row, None] * self._paths.moment_arm[:, row]
        for at, acting in self._parts:
            for row, body in enumerate(acting.row_body.tolist()):
                if at[acting.row_force[row]] == k:
                    wrench[:, body] += acting.wrench[:, row]
            for row, speed in enumerate(acting.speed.tolist()):
                if at[acting.speed_force[row]] == k:
                    tau[:, speed] += acting.on_speed[:, row]
        if self._paths is None or name not in self._paths.names:
            tau += self._poses.pull_back(wrench).reshape(frames, -1)
        if self._poses.single:
            tau, wrench = tau[0], wrench[0]
        return OneForce(tau, wrench, self.energy[..., k])

    def to_table(self, time: ArrayLike | None = None) -> Table:
        """The columns of OpenSim's force reporter."""
        columns = [values for _, _, values in self.reported]
        values = np.stack(columns, axis=1) if columns else np.zeros((self._poses.frames, 0))
        labels = _unique([label for _, label, _ in self.reported])
        times = times_or_numbers(time, len(values))
        return Table(times, labels, values, name="ModelForces", provenance=self.provenance)

    def to_xarray(self, time: ArrayLike | None = None) -> xarray.Dataset:
        """A labeled dataset with units and provenance, by `time` (or `frame`), force, body, coordinate."""
        import xarray

        rows = self._rows(time)
        on_body = {**rows, "body": self.body_names, "axis": ("x", "y", "z")}
        parts = {
            "tau": labeled("tau", self.tau, {**rows, "coordinate": self.model.speed_names}),
            "moment": labeled("moment", self.wrench[..., :3], on_body, "N m"),
            "force": labeled("force", self.wrench[..., 3:], on_body, "N"),
            "energy": labeled("energy", self.energy, {**rows, "model_force": self.names}, "J"),
        }
        return xarray.Dataset(parts, attrs=self.provenance.attributes())


def _unique(names: Sequence[str]) -> tuple[str, ...]:
    """OpenSim names the energy of every limit the same: later ones get a number."""
    seen: dict[str, int] = {}
    found = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name}_{seen[name]}")
    return tuple(found)


def model_forces(
    model: Model,
    q: ArrayLike | Table,
    u: ArrayLike | Table | None = None,
    *,
    time: ArrayLike = 0.0,
    paths: bool = True,
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    method: Method | None = None,
    threads: int | None = None,
) -> ModelForces:
    """What the forces of a model do by themselves: limits of coordinates, springs, bushings, contacts, ligaments.

    Muscles and actuators are none of them: they need an activation or a control. A force that is switched off
    (`applies_force`) does nothing. The law of each kind is stated where it is computed, in `musculo.kernels.forces` and
    `musculo.kernels.contact`.

        tau = inverse_dynamics(model, q, u, udot, acting=model_forces(model, q, u).tau)

    is what remains for muscles and actuators.

    Guarantees: wrenches of a force between bodies, ground among them, add up to zero; tau . u is their power.

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates, all of the file in its order.
        u: speeds, likewise; at rest by default.
        time: (frames,) or a number, for prescribed forces [s].
        paths: whether springs and ligaments along paths are among them.
        like: "opensim" for OpenSim's wrapping of these, and its faults in contacts (`HuntCrossleyForce`).
        wrapping, method: the parts of `like`: "geodesic" or "opensim"; "exact" or "opensim".
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: arrays that do not fit.
        InvalidModel: a force whose numbers, frames, shapes or expressions cannot be used; names it.
    """
    wrapping, method = wrapping_of(like, wrapping), method_of(like, method)
    c = compiled_forces(model, method)
    Q, U, times, single = _arrays(model, q, u, time)
    frames = len(Q)
    poses = kinematics(model, Q[0] if single else Q, U[0] if single else U, threads=threads)
    s = moving(poses, Q, U, times)
    parts = tuple(zip(c.at, c.acting(s, threads), strict=True))
    energy = np.zeros((frames, len(c.names)))
    wrench, direct = np.zeros((frames, 1 + len(model.bodies), 6)), np.zeros_like(U)
    for at, acting in parts:
        energy[:, at] = acting.energy
        add(acting, wrench, direct)
    tau = direct + poses.pull_back(wrench).reshape(frames, -1)

    along = passive_paths(model) if paths else None
    lines, tension = None, np.zeros((frames, 0))
    if along is not None:
        lines = path_wrenches(along, Q, U, wrapping=wrapping, threads=threads)
        assert lines.speed is not None
        tension = path_tensions(along, lines.length, lines.speed, threads=threads).tension
        tau = tau + (tension[:, None] @ lines.moment_arm)[:, 0]
        wrench = wrench + lines.on_bodies(tension)
        energy = np.concatenate([energy, stored_energy(along, lines.length)], axis=1)
    finite("the generalized force", tau, model.speed_names)

    def report() -> Columns:
        found = _columns(c.groups, parts, s)
        if along is not None and lines is not None and lines.speed is not None:
            for k, label, values in path_columns(along, lines.length, lines.speed, tension):
                found.append((len(c.names) + k, label, values))
        return found

    def cut(part: FloatArray) -> FloatArray:
        return part[0] if single else part

    return ModelForces(
        model,
        (*c.names, *(() if along is None else (f.name for f in along.forces))),
        (*c.kinds, *(() if along is None else (f.kind for f in along.forces))),
        (GROUND, *model.body_names),
        cut(tau),
        cut(wrench),
        cut(energy),
        cut(tension),
        dict(c.reasons),
        {"paths": paths, "wrapping": wrapping, "method": method},
        report,
        parts,
        lines,
        poses,
    )


def passive_forces(
    model: Model,
    Q: FloatArray,
    U: FloatArray,
    time: FloatArray,
    method: Method = "exact",
    threads: int | None = None,
) -> tuple[FloatArray, FloatArray]:
    """tau (frames, n_u) and wrenches (frames, 1 + bodies, 6) of all forces but those along paths, and nothing else."""
    c = compiled_forces(model, method)
    if not c.groups:
        return np.zeros_like(U), np.zeros((len(Q), 1 + len(model.bodies), 6))
    wrench, direct, poses = acting_on(model, c, Q, U, time, threads)
    return direct + poses.pull_back(wrench), wrench


def _arrays(
    model: Model, q: ArrayLike | Table, u: ArrayLike | Table | None, time: ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray, bool]:
    Q, single = coordinates_of(model, q)
    U = np.zeros((len(Q), len(model.speed_names))) if u is None else speeds_of(model, u)[0]
    same_frames(q=Q, u=U)
    return Q, U, times_of(time, len(Q)), single


def _columns(groups: Sequence[Group], parts: Sequence[tuple[IntArray, Acting]], s: Moving) -> Columns:
    """Columns of all groups in the order of the file."""
    found: Columns = []
    for group, (at, acting) in zip(groups, parts, strict=True):
        found += [(int(at[k]), label, values) for k, label, values in group.columns(s, acting)]
    return sorted(found, key=lambda column: column[0])
