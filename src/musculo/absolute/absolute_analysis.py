"""Positions, velocities, accelerations and multipliers of a mechanism that is driven over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from musculo.absolute.diagnosis import Diagnosis, diagnose
from musculo.absolute.drivers.euler_driver import EulerDriver
from musculo.absolute.euler_parameters import product, relative_euler_parameters, rotation_matrix
from musculo.absolute.frame import Frame, framed
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.absolute.mechanism import Mechanism
from musculo.arrays import FloatArray, IntArray
from musculo.dynamics.loads.external import Loads, listed
from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.absolute.absolute_frames import (
    ASSEMBLED,
    FROM_BEFORE,
    FROM_GIVEN,
    AbsoluteFrames,
    Search,
    analysis_frames,
)
from musculo.kernels.tree.tree_frames import over_frames
from musculo.model.body import Placement

# The paper's tolerance of the last step (Antunes2025, section 4.3) [rad, m].
TOLERANCE = 1e-10
# What joints weigh against drivers in least squares (the same section).
JOINT_WEIGHT = 1000.0
_MOST_STEPS = 50
# Nothing turned further than this from where its search began: no other branch is so near [rad].
_NEAR = 0.3
# Two searches of one tolerance end as near to each other [rad, m].
_SAME = 1e-6
# Constraints that are missed by more contradict each other; drivers that do move joints by a millionth of it [rad, m].
_CONTRADICTED = 1e-5


class Status(IntEnum):
    """How a frame came out."""

    FOUND = 0
    NOT_CONVERGED = 1
    NOT_DETERMINED = 2
    INCONSISTENT = 3
    """Constraints contradict each other: what was found misses them least. Drivers may be missed, by their weight."""


@dataclass(frozen=True, eq=False)
class AbsoluteAnalysis:
    """What a kinematic analysis found, and the multipliers where loads were asked for; frames first.

    `residual` is what the equations are off by: zero to rounding where none contradict each other.
    """

    mechanism: Mechanism
    x: FloatArray  # (frames, n_positions)
    v: FloatArray  # (frames, n_unknowns) velocities of mass centers in ground, angular velocities in body axes, ...
    a: FloatArray  # (frames, n_unknowns)
    residual: FloatArray  # (frames, n_equations)
    status: IntArray  # (frames,) `Status`
    steps: IntArray  # (frames,) steps of Newton's method
    multipliers: FloatArray  # (frames, n_equations) of M a + J^T multipliers = g; the shortest where not unique
    load_force: FloatArray  # (frames, loads, 3) in ground or the load's axes [N]
    load_moment: FloatArray  # (frames, loads, 3) [N m]
    signals: FloatArray  # (frames, rows) what the drivers were told, as kernels read it

    def __repr__(self) -> str:
        counts = [f"{int(np.sum(self.status == s))} {s.name.lower().replace('_', ' ')}" for s in Status]
        told = ", ".join(count for count in counts if not count.startswith("0 "))
        off = float(np.abs(self.residual).max(initial=0.0))
        return f"AbsoluteAnalysis({len(self.x)} frames: {told}; residual at most {off:.1e}; {self.mechanism!r})"

    @property
    def found(self) -> bool:
        """Whether all frames have a position."""
        return bool(np.all(self.status == Status.FOUND))

    def parameters(self, body: str) -> FloatArray:
        """Euler parameters (frames, 4) of a body."""
        k = self._body(body)
        return self.x[:, 7 * k + 3 : 7 * k + 7]

    def rotation(self, body: str) -> FloatArray:
        """(frames, 3, 3) from a body's axes to ground."""
        return np.asarray(rotation_matrix(self.parameters(body)))

    def place(self, body: str) -> FloatArray:
        """(frames, 3) origin of a body's frame in ground [m]."""
        k = self._body(body)
        center = np.asarray(self.mechanism.bodies[k].mass_center, dtype=float)
        return np.asarray(self.x[:, 7 * k : 7 * k + 3] - self.rotation(body) @ center)

    def coordinate(self, name: str) -> FloatArray:
        """(frames,) a coordinate that is an unknown."""
        if name not in self.mechanism.coordinates:
            raise UnknownName("coordinate", name, self.mechanism.coordinates)
        return self.x[:, 7 * len(self.mechanism.bodies) + self.mechanism.coordinates.index(name)]

    def relative(self, first: Frame | Placement | str, second: Frame | Placement | str) -> FloatArray:
        """Euler parameters (frames, 4) of a second frame relative to a first one, both fixed to their bodies.

        Names of bodies stand for the bodies' own frames. Those of joints give other components.
        """
        return relative_between(self.mechanism, self.x, framed(first), framed(second))

    def load(self, name: str) -> tuple[FloatArray, FloatArray]:
        """Force and moment (frames, 3) that a constraint, or what is reported under this name, exerts."""
        if not len(self.multipliers) and len(self.x):
            raise InvalidInput("no loads were computed; ask for them: kinematic_analysis(..., loads=True)")
        names = [load.name for load in self.mechanism.loads]
        if name not in names:
            raise UnknownName("load", name, names)
        k = names.index(name)
        return self.load_force[:, k], self.load_moment[:, k]

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Of the worst frame: which equations repeat or contradict others, and what no equation determines."""
        bad = np.flatnonzero(self.status != Status.FOUND)
        off = np.where(np.isfinite(self.residual).all(axis=1), np.abs(self.residual).max(axis=1, initial=0.0), np.inf)
        frame = int(bad[0]) if bad.size else int(np.argmax(np.where(np.isfinite(off), off, -1.0)))
        determined = bool(self.status[frame] != Status.NOT_DETERMINED)
        return diagnose(self.mechanism, self.x[frame], self.residual[frame], self.signals[frame], frame, determined)

    def _body(self, name: str) -> int:
        names = [b.name for b in self.mechanism.bodies]
        if name not in names:
            raise UnknownName("body", name, names)
        return names.index(name)


def kinematic_analysis(
    mechanism: Mechanism,
    given: Mapping[str, Given],
    *,
    start: ArrayLike | Mapping[str, Placement] | None = None,
    coordinates: ArrayLike | None = None,
    forces: FloatArray | Loads | None = None,
    loads: bool = False,
    tolerance: float = TOLERANCE,
    together: int = 8,
    weights: tuple[float, float] | None = None,
    threads: int | None = None,
) -> AbsoluteAnalysis:
    """Solve Phi(x, t) = 0, J v = nu, J a = gamma at every frame (Antunes2025 eq. 1-3); loads by eq. 4, 5.

    Every frame has a status; one after a frame without a position starts from the last that has one.
    Where equations repeat each other the solution is that of least squares, in which joints weigh 1000 and drivers 1,
    and the multipliers are the shortest. Frames whose equations do not determine the motion, or for which Newton's
    method finds nothing, have that as their status; `diagnosis` names the constraints.

    Args:
        mechanism: bodies, constraints, and drivers for all that can move.
        given: what each driver is told, by its name.
        start: where bodies are near the first frame, from which each frame follows the one before: a mapping from their
            names to placements in ground, or (n_positions,) of `mechanism.position`; or (frames, n_positions). By
            default the bodies are assembled along `mechanism.chain`.
        coordinates: (frames, n) of the coordinates that are unknowns, for assembling.
        forces: loads from outside: `ExternalLoad`s given in ground, or (frames, n_unknowns): of each body force and
            moment about ground's origin, in ground; then forces on coordinates.
        loads: whether multipliers and loads are wanted.
        tolerance: of the last step of Newton's method [rad, m].
        together: how many frames (1 to 8) are sought at once from the same one before them. Where a motion is so fast
            that this could find another branch of a closed chain, what was found is checked, and frames are sought one
            after the other if need be.
        weights: of joints and of drivers; by default 1 and 1 where there are as many equations as unknowns.
        threads: the number of threads where frames do not follow each other; all cores by default.
    """
    if together not in range(1, 9) or not tolerance > 0.0:
        raise InvalidInput(
            f"together is {together!r} and tolerance {tolerance!r}; give 1 to 8, and a number above zero"
        )
    if isinstance(start, Mapping):
        start = mechanism.position(start)
    frames = _frames(given, coordinates, start)
    c, m = mechanism.compiled, mechanism.n_equations
    signals = mechanism.signals(given, frames)
    begin, first = _start(mechanism, start, coordinates, frames)
    acting = _forces(mechanism, forces, frames)
    if weights is not None and not (len(weights) == 2 and min(weights) > 0.0):
        raise InvalidInput(f"weights are {weights}; give two above zero, of joints and of drivers")
    if weights is None:
        weights = (JOINT_WEIGHT, 1.0) if m > mechanism.n_unknowns else (1.0, 1.0)
    weight = np.array([w for e in mechanism.equations for w in [weights[e.drives] ** 2] * mechanism.count(e.name)])
    n = mechanism.n_unknowns
    search = Search(
        begin,
        together,
        tolerance,
        _MOST_STEPS,
        loads,
        np.concatenate([weight, np.ones(1)]),
        np.ones(m + 1),
        weights != (1.0, 1.0),
    )
    n_loads = 6 * c.system.load_body.size
    out = AbsoluteFrames(
        start=first,
        signals=signals if signals.shape[1] else np.zeros((frames, 1)),
        forces=acting,
        x=np.empty((frames, mechanism.n_positions)),
        v=np.empty((frames, n)),
        a=np.empty((frames, n)),
        multipliers=np.zeros((frames if loads else 0, m)),
        loads=np.zeros((frames if loads else 0, n_loads)),
        residual=np.empty((frames, m)),
        status=np.zeros(frames, dtype=np.int64),
        steps=np.zeros(frames, dtype=np.int64),
        pivot=np.zeros(frames),
    )
    if any(isinstance(d, EulerDriver) for d in mechanism.drivers):
        at = first
        if begin == ASSEMBLED:
            assembling = search._replace(most_steps=0, dynamics=False)
            over_frames(analysis_frames, (c.system, c.table, c.pattern, assembling, out), frames, threads)
            at = out.x.copy()
        _give_signs(mechanism, at, given, out.signals)
    arguments = (c.system, c.table, c.pattern, search, out)
    over_frames(analysis_frames, arguments, frames, 1 if begin == FROM_BEFORE else threads)
    if begin == FROM_BEFORE and together > 1 and not _follows(mechanism, search, out, threads):
        one_by_one = search._replace(together=1)
        over_frames(analysis_frames, (c.system, c.table, c.pattern, one_by_one, out), frames, 1)
    joints = np.array([not e.drives for e in mechanism.equations for _ in range(mechanism.count(e.name))], dtype=bool)
    off = np.abs(out.residual[:, joints]).max(axis=1, initial=0.0)
    out.status[(out.status == Status.FOUND) & (off > _CONTRADICTED)] = Status.INCONSISTENT
    load = out.loads.reshape(len(out.loads), n_loads // 6, 2, 3) * c.load_sign[:, None, None]
    return AbsoluteAnalysis(
        mechanism,
        out.x,
        out.v,
        out.a,
        out.residual,
        out.status,
        out.steps,
        out.multipliers,
        load[:, :, 0],
        load[:, :, 1],
        out.signals,
    )


def _follows(mechanism: Mechanism, search: Search, out: AbsoluteFrames, threads: int | None) -> bool:
    """Whether each frame is what a search from the frame before it finds, though several started from one position."""
    if not np.all(out.status == Status.FOUND):
        return False
    before = np.concatenate([out.start, out.x[:-1]])
    begun = before[np.arange(len(before)) // search.together * search.together]
    far = np.flatnonzero(_apart(mechanism, begun, out.x) > _NEAR)
    if not far.size:
        return True
    c = mechanism.compiled
    again = AbsoluteFrames(
        start=before[far],
        signals=out.signals[far],
        forces=out.forces[:0],
        x=np.empty((far.size, out.x.shape[1])),
        v=np.empty((far.size, out.v.shape[1])),
        a=np.empty((far.size, out.a.shape[1])),
        multipliers=out.multipliers[:0],
        loads=out.loads[:0],
        residual=np.empty((far.size, out.residual.shape[1])),
        status=np.zeros(far.size, dtype=np.int64),
        steps=np.zeros(far.size, dtype=np.int64),
        pivot=np.zeros(far.size),
    )
    one = search._replace(begin=FROM_GIVEN, dynamics=False)
    over_frames(analysis_frames, (c.system, c.table, c.pattern, one, again), far.size, threads)
    same = _apart(mechanism, again.x, out.x[far]) < _SAME
    return bool(np.all(same & (again.status == Status.FOUND)))


def _apart(mechanism: Mechanism, x: FloatArray, y: FloatArray) -> FloatArray:
    """(frames,) the largest angle between bodies, or difference of coordinates, of positions (frames, n_positions)."""
    n = len(mechanism.bodies)
    p, q = (part[:, : 7 * n].reshape(-1, n, 7)[:, :, 3:] for part in (x, y))
    turned = 2.0 * np.arccos(np.clip(np.abs(np.sum(p * q, axis=2)), 0.0, 1.0))
    moved = np.abs(x[:, 7 * n :] - y[:, 7 * n :])
    return np.asarray(np.concatenate([turned, moved], axis=1).max(axis=1))


def _frames(given: Mapping[str, Given], coordinates: ArrayLike | None, start: ArrayLike | None) -> int:
    """How many frames there are."""
    for name, told in given.items():
        if not isinstance(told, GivenNumbers | GivenOrientation | GivenPose):
            raise InvalidInput(
                f"driver {name!r} is told {type(told).__name__}; give GivenOrientation.about(axis, angle, rate, "
                "acceleration), GivenOrientation.of(parameters, omega, alpha) or GivenNumbers.of(value, rate, ...)"
            )
    counts = {name: told.frames for name, told in given.items()}
    if coordinates is not None:
        counts["coordinates"] = len(np.asarray(coordinates))
    if start is not None and np.ndim(start) == 2:
        counts["start"] = len(np.asarray(start))
    if len(set(counts.values())) > 1:
        stated = ", ".join(f"{name}: {count}" for name, count in counts.items())
        raise InvalidInput(f"drivers are told different numbers of frames ({stated})")
    return next(iter(counts.values()), 1)


def _forces(mechanism: Mechanism, forces: FloatArray | Loads | None, frames: int) -> FloatArray:
    """(frames, n_unknowns), or no rows where there are none."""
    n = mechanism.n_unknowns
    if forces is None:
        return np.zeros((0, n))
    if not isinstance(forces, np.ndarray):
        return mechanism.forces(listed(forces, frames), frames)
    array = np.ascontiguousarray(forces, dtype=float)
    if array.shape != (frames, n) or not np.isfinite(array).all():
        raise InvalidInput(
            f"forces have shape {array.shape}; give (frames, n_unknowns), here {(frames, n)}, of finite numbers, or "
            "ExternalLoads: [ExternalLoad('rod', force, point)]"
        )
    return array


def _start(
    mechanism: Mechanism, start: ArrayLike | None, coordinates: ArrayLike | None, frames: int
) -> tuple[int, FloatArray]:
    """Where the search begins, and the array that says so."""
    n, k = mechanism.n_positions, len(mechanism.coordinates)
    if start is None:
        if len(mechanism.chain) < len(mechanism.bodies):
            raise InvalidInput(
                f"the mechanism does not say how its {len(mechanism.bodies)} bodies are assembled; give a position "
                "near the first frame as start"
            )
        first = np.zeros((frames, k)) if coordinates is None else np.asarray(coordinates, dtype=float)
        if first.shape != (frames, k):
            raise InvalidInput(f"coordinates have shape {first.shape}; they need {(frames, k)}")
        return ASSEMBLED, np.ascontiguousarray(first if k else np.zeros((frames, 1)))
    array = np.asarray(start, dtype=float)
    if array.shape not in ((n,), (frames, n)):
        raise InvalidInput(f"start has shape {array.shape}; it needs {(n,)} or {(frames, n)}")
    if not np.isfinite(array).all():
        raise InvalidInput("start holds a number that is not finite")
    if array.ndim == 1:
        return FROM_BEFORE, np.ascontiguousarray(array[None])
    return FROM_GIVEN, np.ascontiguousarray(array)


def relative_between(mechanism: Mechanism, x: FloatArray, first: Frame, second: Frame) -> FloatArray:
    """Euler parameters (frames, 4) of a frame relative to another, both fixed to their bodies."""
    names = [b.name for b in mechanism.bodies]

    def turned(frame: Frame) -> FloatArray:
        own = frame.base[0]
        if frame.body not in names:
            return np.broadcast_to(own, (len(x), 4))
        k = 7 * names.index(frame.body) + 3
        return np.asarray(product(x[:, k : k + 4], np.broadcast_to(own, (len(x), 4))))

    return np.asarray(relative_euler_parameters(turned(second), turned(first)))


def _give_signs(mechanism: Mechanism, at: FloatArray, given: Mapping[str, Given], signals: FloatArray) -> None:
    """Give prescribed components of Euler parameters the sign that those of the bodies have where a search starts.

    p and -p are one orientation. Where frames follow each other, the prescribed ones and those of the bodies are both
    continuous over time, so that the first frame decides for all; otherwise each frame decides for itself.

    Args:
        at: (1, n_positions) where the first frame starts, or (frames, n_positions) where each does.
    """
    rows = mechanism.compiled.number_rows
    for driver in mechanism.drivers:
        told = given[driver.name]
        if isinstance(driver, EulerDriver) and isinstance(told, GivenOrientation):
            here = relative_between(mechanism, at, *driver.frames)
            along = np.einsum("fi,fi->f", here, told.parameters[: len(here)])
            sign = np.where(along < 0.0, -1.0, 1.0)[:, None]
            for name in driver.numbers:
                signals[:, rows[name] : rows[name] + 3] *= sign
