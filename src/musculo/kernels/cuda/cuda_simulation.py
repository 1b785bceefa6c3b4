"""Simulations of trees that their muscles drive on a GPU: one thread a simulation, from its start to its end.

The kernels are those of the CPU (`course_of` and all that it calls), with rooms for one state where the CPU has eight.
What the CPU calls by address, since it is compiled when first needed, is chosen here beforehand.
"""

from __future__ import annotations

import hashlib
from collections import namedtuple
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from musculo.kernels.cuda.cuda_batches import LARGE_BATCH
from musculo.kernels.cuda.cuda_code import Limits, jit
from musculo.kernels.cuda.cuda_compile_beside import Recipe, compile_beside
from musculo.kernels.cuda.cuda_device import Replaced, cuda_module, device_function, one_lane, with_names
from musculo.kernels.cuda.cuda_lanes import (
    EachLane,
    LaneMemory,
    LanesOnDevice,
    Layout,
    claim,
    lane_layout,
    lane_view,
    lanes_of_batch,
    lanes_table,
    placed,
)
from musculo.kernels.integrate.forced_tree import ForcedTree, forced_room, model_force
from musculo.kernels.integrate.muscle_drive import MuscleDrive, MuscleRoom, muscle_drive, muscle_room
from musculo.kernels.integrate.one_step_methods import Request, StepControl, Steps, step_room
from musculo.kernels.integrate.states_beside import DrivenTree, driven_room
from musculo.kernels.integrate.whole_course import (
    STATUS,
    UNDER_WAY,
    WholeCourse,
    course_of,
    whole_course,
)
from musculo.kernels.paths.paths_of_state import (
    PathRoom,
    function_paths_of_state,
    geodesic_paths,
    opensim_paths,
    path_scratch,
)
from musculo.kernels.tree.node_kinematics import kinematics, twists
from musculo.kernels.tree.nodes import Motion

# Threads a block. Fewer than of other kernels: those of a warp wait for the one with the most steps, blocks for none.
_THREADS = 64
# So many registers a thread let twice as many threads share a multiprocessor (on an H200: a tenth faster).
_REGISTERS = 128
# Functions of more LLVM instructions stay functions, see `cuda_paths`.
_LARGE = 500
# Steps between two looks at the times that are wanted. Lanes try steps together in between, whether they land or not.
_STEPS = 16
# So many times as many in one launch, after which it is asked whether all are at their ends.
_ROUNDS = 4
# The part of the free memory that lanes may take.
_SHARE = 0.6
# How paths are laid, beside those that are functions of coordinates.
NO_PATHS, GEODESIC, OPENSIM = "none", "geodesic", "opensim"


class LaneSystem(NamedTuple):
    """A model as the CPU's kernels take it."""

    tree: Any  # `OpenTree`
    drive: MuscleDrive
    implicit: np.ndarray  # of `DrivenTree`
    paths: Any  # `Paths`
    path_table: Any
    fitted: Any  # `FittedPaths`
    fitted_table: Any
    forces: Any  # `ActingForces`; not read where nothing but muscles acts


class Kinds(NamedTuple):
    """What there is to do: each kind is compiled for itself."""

    paths: str  # NO_PATHS, GEODESIC or OPENSIM
    functions: bool  # whether paths are functions of coordinates
    forces: bool  # whether anything else acts


class Wanted(NamedTuple):
    """What is wanted of simulations, and how they begin."""

    times: np.ndarray  # (k,)
    most_steps: int
    first: np.ndarray  # (simulations, states)
    controls: Sequence[Any]  # tables of functions of time, one for each simulation
    control: StepControl  # with a longest step for all
    longest: Sequence[float]  # of each simulation
    stretch: np.ndarray  # (lines,) of springs along paths at first
    n_controls: int
    depth: int  # of stacks of expressions


def _with_more(base: Any, *more: str) -> Any:
    """A named tuple with more fields: on the device paths are beside what needs them."""
    return namedtuple(base.__name__, (*base._fields, *more))


_DRIVE = _with_more(MuscleDrive, "path_data", "path_table", "fitted", "fitted_table")
_ROOM = _with_more(MuscleRoom, "paths", "fitted_work")


class _System(NamedTuple):
    """What `driven_rates` reads of a `DrivenTree`."""

    tree: Any
    implicit: np.ndarray


class _Force(NamedTuple):
    """All that acts: what `add_forces` is handed on the device."""

    drive: Any
    room: Any
    tree: Any  # `ForcedTree`
    tree_room: Any


class _Lane(NamedTuple):
    """All that a thread works with."""

    p: _System
    r: Any  # `DrivenRoom`
    s: Any  # `StepRoom`
    force: _Force
    a: Request
    course: WholeCourse


# --- what stands on the device for what the CPU calls by address ------------------------------------------------------
def _place_paths(q, u, p, r):
    for i in range(q.size):
        r.Q[i, 0] = q[i]
    for i in range(u.size):
        r.U[i, 0] = u[i]
    kinematics(p.tree, p.table, r.W, Motion(r.Q, r.U, r.U), u.size < 0, r.motion, 0)
    twists(p.tree, r.W, r.motion, r.columns, 0)


def _measure_geodesics(t, q, u, p, r):
    _place_paths(q, u, p, r)
    geodesic_paths(t, q, u, r.control, p.path_data, p.path_table, r.paths, 1)


def _measure_opensim(t, q, u, p, r):
    _place_paths(q, u, p, r)
    opensim_paths(t, q, u, r.control, p.path_data, p.path_table, r.paths)


def _measure_functions(t, q, u, p, r):
    for i in range(q.size):
        r.Q[i, 0] = q[i]
    for i in range(u.size):
        r.U[i, 0] = u[i]
    function_paths_of_state(t, q, u, r.control, p.fitted, p.fitted_table, r.paths, r.fitted_work)


def _measure_geodesics_and_functions(t, q, u, p, r):
    _measure_geodesics(t, q, u, p, r)
    function_paths_of_state(t, q, u, r.control, p.fitted, p.fitted_table, r.paths, r.fitted_work)


def _measure_opensim_and_functions(t, q, u, p, r):
    _measure_opensim(t, q, u, p, r)
    function_paths_of_state(t, q, u, r.control, p.fitted, p.fitted_table, r.paths, r.fitted_work)


def _measure_nothing(t, q, u, p, r):
    return


def _muscles_alone(force, t, q, u, tau):
    drive_muscles(t, q, u, tau, force.drive, force.room)  # noqa: F821


def _muscles_and_forces(force, t, q, u, tau):
    drive_muscles(t, q, u, tau, force.drive, force.room)  # noqa: F821
    model_force(t, q, u, tau, force.tree, force.tree_room)


def _no_call(address, t, q, u, x):
    return


def _same(array):
    return array


_MEASURES = {
    (NO_PATHS, False): _measure_nothing,
    (NO_PATHS, True): _measure_functions,
    (GEODESIC, False): _measure_geodesics,
    (GEODESIC, True): _measure_geodesics_and_functions,
    (OPENSIM, False): _measure_opensim,
    (OPENSIM, True): _measure_opensim_and_functions,
}
# One state where packs have eight.
_NARROW: Replaced = (("WIDTH", 1), ("lanes", _same), ("call_force", _no_call))


def _lanes(words, lanes, rounds, going):
    if cuda.grid(1) < lanes:  # noqa: F821
        x = view(words)  # noqa: F821
        course = x.course
        run((x.p, x.r, x.s), x.force, x.a, course, rounds)  # noqa: F821
        if course.counts[STATUS] == UNDER_WAY:
            going[0] = 1


@cache
def _stepper(layout: Layout, kinds: Kinds) -> Any:
    """The CUDA kernel that steps every lane."""
    measure = _MEASURES[kinds.paths, kinds.functions]
    drive = device_function(muscle_drive, (*_NARROW, ("_measure_paths", measure)))
    acting = with_names(_muscles_and_forces if kinds.forces else _muscles_alone, drive_muscles=drive)
    run = device_function(course_of, (*_NARROW, ("add_forces", acting)))
    lanes = with_names(_lanes, view=lane_view(layout), run=run)
    # machine code is kept by the kernel's name and its types, which do not say what the words are
    lanes.__qualname__ += hashlib.sha256(repr((layout, kinds)).encode()).hexdigest()[:16]
    return jit(lanes, Limits(max_registers=_REGISTERS, large=_LARGE))


def stepper_recipe(layout: Layout, kinds: Kinds) -> Recipe:
    """How it is compiled."""
    from numba.core import types

    words = types.Array(types.int64, 1, "C")
    return Recipe(_stepper, (layout, kinds), (words, types.int64, types.int64, words))


# --- a batch ----------------------------------------------------------------------------------------------------------
class LanesOfSimulations:
    """Simulations of models of one structure, placed for the device.

    Args:
        systems: one for all simulations, or one for each.
        kinds: the same for all.
    """

    def __init__(self, systems: Sequence[LaneSystem], kinds: Kinds, wanted: Wanted) -> None:
        first, states = systems[0], wanted.first.shape[1]
        self._kinds, self.simulations = kinds, len(wanted.first)
        self._memory = memory = LaneMemory()
        own = _muscle_room(first, wanted)
        driven = one_lane(driven_room, _NARROW)(DrivenTree(first.tree, first.drive, first.implicit), own)
        force_room = _ROOM(*own, *_path_rooms(first, own, kinds))
        applied = own.applied[:, None] if own.applied.size else np.zeros((1, 1))
        trees = [ForcedTree(one.drive.tree, one.drive.table, one.forces, applied) for one in systems]
        tree_room = forced_room(trees[0]) if kinds.forces else _Nothing(0)
        step = step_room(states)
        request = _request(first, states, wanted)
        self._course = course = whole_course(wanted.times, states, wanted.most_steps)
        claim(memory, (driven, force_room, tree_room, step, request.here, request.f, request.out, course[2:]))
        memory.vary(request.y, list(wanted.first))
        for rows in zip(first.drive.controls, *wanted.controls, strict=True):
            memory.vary(rows[0], rows[1:])
        lanes = [
            _Lane(
                _System(one.tree, one.implicit),
                driven,
                step,
                _Force(_drive(one, first), force_room, tree if kinds.forces else _Nothing(0), tree_room),
                request,
                course,
            )
            for one, tree in zip(systems, trees, strict=True)
        ]
        self._placed = placed(memory, lanes, own_types=len(systems) > 1)
        self.recipe = stepper_recipe(lane_layout(self._placed), kinds)
        self._on: LanesOnDevice | None = None

    @property
    def lanes(self) -> int:
        """How many simulations the device does at once."""
        if self._on is None:
            self._on = self._memory.on_device(lanes_of_batch(self._memory, self.simulations, LARGE_BATCH, _SHARE))
            self._table = lanes_table(self._placed, self._on)
        return self._on.lanes

    def step(self, first: int) -> int:
        """Simulate a batch, from the simulation `first` on; results stay on the device. How many there are."""
        lanes = min(self.lanes, self.simulations - first)
        assert self._on is not None
        compile_beside([self.recipe])
        run = self.recipe.maker(*self.recipe.arguments)
        self._on.begin(first)
        _step_all(run, self._table, lanes)
        return lanes

    def results(self, lanes: int) -> tuple[np.ndarray, np.ndarray]:
        """States (times, states, lanes) of the last batch, and what `WholeCourse.counts` holds (4, lanes)."""
        assert self._on is not None
        found, counts = (self._memory.own(one) for one in (self._course.found, self._course.counts))
        return self._on.read(found, lanes), self._on.read(counts, lanes)

    def run(self, give: Callable[[int, np.ndarray, np.ndarray], None]) -> None:
        """Simulate all, batch by batch.

        Args:
            give: called with the number of a batch's first simulation, and its `results`.
        """
        for first in range(0, self.simulations, self.lanes):
            lanes = self.step(first)
            give(first, *self.results(lanes))


def _step_all(run: Any, table: Any, lanes: int) -> None:
    """Step lanes that have begun to their ends."""
    cuda = cuda_module()
    going = cuda.to_device(np.ones(1, dtype=np.int64))
    blocks = (lanes + _THREADS - 1) // _THREADS, _THREADS
    while going.copy_to_host()[0]:
        going.copy_to_device(np.zeros(1, dtype=np.int64))
        run[blocks](table, lanes, _ROUNDS, going)


class _Nothing(NamedTuple):
    nothing: int


def _muscle_room(system: LaneSystem, wanted: Wanted) -> MuscleRoom:
    states = wanted.first.shape[1] - system.tree.z.size - system.tree.zu.size
    room = one_lane(muscle_room, _NARROW)(system.drive, states, wanted.n_controls, wanted.depth)
    room.stretch[:, 0] = wanted.stretch
    return room


def _path_rooms(system: LaneSystem, r: MuscleRoom, kinds: Kinds) -> tuple[Any, np.ndarray]:
    """A `PathRoom` in the muscles' room, and where polynomials are worked out."""
    later = np.zeros(r.length.shape[0], dtype=np.int64)
    scratch: Any = (np.zeros((0, 1)),) * 4
    if kinds.paths != NO_PATHS:
        scratch = path_scratch(system.paths)
    room = PathRoom(r.Q, r.U, r.motion, r.columns, r.length, r.speed, r.arms, r.status, r.turn, later, *scratch)
    return room, np.zeros((int(system.fitted.rows[0]) if kinds.functions else 0, 1))


def _drive(system: LaneSystem, first: LaneSystem) -> Any:
    """Controls are those of the first, in whose place each simulation finds its own."""
    drive = system.drive._replace(controls=first.drive.controls)
    return _DRIVE(*drive, system.paths, system.path_table, system.fitted, system.fitted_table)


def _request(system: LaneSystem, states: int, wanted: Wanted) -> Request:
    n, n_u = system.tree.speed_row.size, system.drive.tree.u_rows.size
    y, f, q, u, G = (np.zeros((_STEPS, size)) for size in (states, states, n, n_u, 0))
    out = Steps(np.zeros(_STEPS), y, f, q, u, G, np.zeros(_STEPS, dtype=np.int64))
    longest: Any = EachLane(wanted.longest)
    control = wanted.control._replace(longest=longest)
    return Request(np.zeros(n_u), control, np.zeros(2), np.zeros(states), np.zeros(states), out)
