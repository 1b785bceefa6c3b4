"""The samples of a trial on a GPU: what the kernels of `kernels.cuda.cuda_chain` take, batch by batch, and what the CPU
finishes.

Everything from markers to joint loads stays on the device; results alone come back. The CPU lays the paths of poses in
which surfaces overlap, serves frames whose program Newton's method leaves, and does samples that lack a pose.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from musculo.analyses.inverse_kinematics.pose_breaks import MOST_ITERATIONS
from musculo.analyses.static_optimization.least_effort import Status, least_effort
from musculo.analyses.uncertainty.chain_data import data_of_samples, refuse_unknown
from musculo.analyses.uncertainty.inputs import Changes, Step
from musculo.analyses.uncertainty.sample_chain import TOLERANCE, SampleChain
from musculo.analyses.uncertainty.sampling import Progress, SampleStore
from musculo.arrays import FloatArray
from musculo.compile.compiled import compiled
from musculo.kernels.cuda.cuda_chain import (
    EffortFound,
    EffortKnown,
    EffortProgram,
    JointLoads,
    Pulls,
    Recursion,
    chain_kernels,
    chain_recipes,
    move_grid,
    movers,
    sample_grid,
)
from musculo.kernels.cuda.cuda_compile_beside import compile_beside
from musculo.kernels.cuda.cuda_device import cuda_module
from musculo.kernels.cuda.cuda_lanes import LaneMemory, lane_layout, lanes_table, placed
from musculo.kernels.cuda.cuda_paths import PathsFound, path_kernels, path_recipes, path_workspaces
from musculo.kernels.cuda.cuda_tables import layout_of, table_in_place, table_on_device
from musculo.kernels.fit.pose_fit import Space
from musculo.kernels.fit.pose_search import CONVERGED, space_for
from musculo.kernels.scalar.bounded_effort import SERVED, EffortRoom, effort_room
from musculo.kernels.tree.nodes import Motion
from musculo.kernels.tree.tree_frames import work_rows
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.muscle.path_loads.path_wrenches import layout_of_wrenches
from musculo.muscle.paths.path_passes import Begun, run_paths

# Samples at once: some 200 kB a frame of Rajagopal's model.
BATCH = 1024
# The part of the free memory that a batch may take.
_SHARE = 0.7


class GpuChain:
    """A `SampleChain` for the device.

    Args:
        chain: the trial. changes: of all samples. batch: samples at once, fewer where memory is short.

    Raises:
        Unsupported: what the device does not do; says what does.
    """

    def __init__(self, chain: SampleChain, changes: Sequence[Changes], batch: int = BATCH) -> None:
        self.chain, self.samples, self.frames = chain, len(changes), len(chain.time)
        self.literal = chain.options.wrapping == "opensim"
        self.seconds: dict[str, float] = {}
        self.changes = changes
        self.finished_on_cpu = {"paths": 0, "programs": 0, "samples": 0}
        refuse_unknown(chain)
        self._data(changes)
        self._sizes()
        free = cuda_module().current_context().get_memory_info()[0]
        self.batch = max(1, int(min(batch, self.samples, _SHARE * free // (8 * self.rows * self.frames))))
        self._allocate()

    # --- what the kernels take ----------------------------------------------------------------------------------------
    def _data(self, changes: Sequence[Changes]) -> None:
        self.layout = layout_of_wrenches(self.chain.model)
        self.extra = np.tile(np.eye(6), (self.layout.width, 1))
        self.width = self.chain.c.n_u + len(self.extra)
        self.memory = LaneMemory()
        self.placed = placed(self.memory, data_of_samples(self.chain, self.layout, changes), own_types=False)

    def _sizes(self) -> None:
        chain, c = self.chain, self.chain.c
        joints = compiled(chain.model, merged=False)
        model = (c.tree, c.table, chain.tables.couplings, chain.tables.table, chain.targets)
        self.n_q, self.n_u, self.n_z = c.n_q, c.n_u, len(chain.embedding.speed_names)
        n = len(chain.low)
        self.space = space_for(model, chain.unknowns, self.n_q)
        self.room = effort_room(self.n_z, n)
        self.paths = len(self.layout.paths.names)
        work = path_workspaces(c.tree, self.layout.paths.paths, self.literal)
        work[0] = (max(int(work_rows(x.tree)) for x in (c, joints)), np.float64)
        work[2] = (6 * self.width, np.float64)
        self.path_work = work
        slopes = self.space.slopes.shape[0]
        nodes = max(c.tree.parent.size, joints.tree.parent.size)
        markers = max(chain.recorded.markers.shape[1], 1)
        self.shapes = {
            "q": self.n_q,
            "found": 2,
            "seen": markers,
            "errors": markers,
            "Q": self.n_q,
            "U": self.n_u,
            "A": self.n_u,
            "slopes": slopes,
            "E": 6 * nodes,
            "tau": self.n_u,
            "tau_of_joints": self.n_u,
            "length": self.paths,
            "flags": self.paths,
            "arms": self.paths * self.width,
            "strong": self.paths,
            "P": self.n_z * n,
            "b": self.n_z,
            "near": max(n, self.n_u),
            "x": n,
            "activation": self.paths,
            "force": self.paths,
            "served": 2,
            "pushes": 3 * len(chain.wanted),
            "turns": 3 * len(chain.wanted),
            "sizes": len(chain.wanted),
        }
        rooms = sum(x.shape[0] for x in (*self.space, *self.room)) + sum(rows for rows, _ in work)
        columns = sum(rows for name, rows in self.shapes.items() if name in _GIVEN.values())
        self.rows = rooms + sum(self.shapes.values()) + columns

    def _allocate(self) -> None:
        cuda, lanes = cuda_module(), self.batch * self.frames

        def array(rows: int, dtype: Any = np.float64) -> Any:
            return cuda.device_array((max(int(rows), 1), lanes), dtype=dtype)

        self.a = {name: array(rows) for name, rows in self.shapes.items()}
        space = Space(*(array(one.shape[0]) for one in self.space))
        room = EffortRoom(*(array(one.shape[0], one.dtype) for one in self.room))
        self.spaces, self.rooms = table_in_place(space), table_in_place(room)
        self.work = [array(rows, dtype) for rows, dtype in self.path_work]
        self.on = self.memory.on_device(self.batch)
        self.table = lanes_table(self.placed, self.on)
        layouts = lane_layout(self.placed), layout_of(space), layout_of(room)
        named = (self.chain.c.tree, self.chain.c.table, self.layout.paths.paths, self.layout.paths.table)
        self.tables = [table_on_device(one) for one in named]
        tree, functions, paths = (layout_of(one) for one in named[:3])
        compile_beside([*path_recipes(tree, functions, paths, self.literal), *chain_recipes(*layouts)])
        self.run_steps = chain_kernels(*layouts)
        self.run_paths = path_kernels(*named[:3], self.literal)
        rest = np.ascontiguousarray(self.extra.ravel())
        movers().fill[move_grid(lanes, len(rest))](cuda.to_device(rest), 6 * self.n_u, self.work[2])

    # --- the steps ----------------------------------------------------------------------------------------------------
    def run(self, store: SampleStore, progress: Progress | None = None) -> None:
        """Fill the store, batch by batch; the last batch is filled up with samples that were done before."""
        for first in range(0, self.samples, self.batch):
            start = min(first, self.samples - self.batch)
            self.step(start)
            self._give(store, start)
            if progress is not None:
                progress(min(first + self.batch, self.samples), self.samples)

    def step(self, first: int) -> None:
        """All steps of the samples from `first` on; results stay on the device."""
        a, run, grid = self.a, self.run_steps, sample_grid(self.batch, self.frames)
        words, lanes = self.table, self.batch * self.frames
        self._timed("data of samples", lambda: self.on.begin(first))
        poses = (words, self.spaces.words, a["seen"], a["errors"], TOLERANCE, MOST_ITERATIONS, a["q"], a["found"])
        self._timed("inverse kinematics", lambda: run.poses[grid](*poses))
        motion = Motion(*self._of("Q", "U", "A"))
        self._timed("filter and slopes", lambda: run.motion[grid](words, a["q"], motion, a["slopes"]))
        if self.chain.last >= Step.MOMENTS:
            recursion = Recursion(a["E"], self.work[0], a["tau"])
            self._timed("inverse dynamics", lambda: run.moments[grid](words, motion, recursion))
        if self.chain.last < Step.MUSCLES:
            return
        results = PathsFound(*self._of("length", "flags", "arms"))
        blocks = ((lanes + 127) // 128, 128)
        tables = [one.words for one in self.tables]
        self._timed(
            "muscle geometry", lambda: self.run_paths.launch(blocks, tables, self.literal, a["Q"], self.work, results)
        )
        self._timed("paths finished by the CPU", self._finish_paths)
        known = EffortKnown(*self._of("tau", "U", "slopes", "length", "arms"))
        program = EffortProgram(*self._of("strong", "P", "b", "near", "x"))
        effort = (words, self.rooms.words, known, self.width, program)
        found = EffortFound(*self._of("activation", "force", "served"))
        self._timed("static optimization", lambda: run.effort[grid](*effort, found))
        self._timed("programs finished by the CPU", self._finish_programs)
        if self.chain.last >= Step.LOADS:
            recursion = Recursion(a["E"], self.work[0], a["tau_of_joints"])
            loads = JointLoads(*self._of("pushes", "turns", "sizes"))
            pulls = Pulls(*self._of("force", "arms"))
            self._timed("joint loads", lambda: run.loads[grid](words, motion, pulls, recursion, loads))

    def _of(self, *names: str) -> list[Any]:
        return [self.a[name] for name in names]

    def _timed(self, name: str, run: Callable[[], Any]) -> None:
        """Run, wait, and add up the seconds."""
        begin = time.perf_counter()
        run()
        cuda_module().synchronize()
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - begin

    def _marked(self, name: str, value: float) -> Any:
        """Lanes in which any row has this value."""
        cuda, source = cuda_module(), self.a[name]
        out = cuda.device_array((1, source.shape[1]))
        movers().mark[move_grid(source.shape[1], 1)](source, float(value), out)
        return np.flatnonzero(out.copy_to_host()[0])

    def _picked(self, name: str, which: Any, rows: int | None = None) -> FloatArray:
        """(lanes, rows) of some lanes, on the host."""
        cuda, source = cuda_module(), self.a[name]
        out = cuda.device_array((source.shape[0], len(which)))
        movers().pick[move_grid(len(which), source.shape[0])](source, which, out)
        return np.ascontiguousarray(out.copy_to_host()[:rows].T)

    def _put(self, values: FloatArray, which: Any, name: str) -> None:
        cuda = cuda_module()
        rows = cuda.to_device(np.ascontiguousarray(values.T))
        movers().put[move_grid(len(which), values.shape[1])](rows, which, self.a[name])

    def _finish_paths(self) -> None:
        """Paths over surfaces that overlap, of which the first pass leaves a mark."""
        if self.literal:
            return
        lanes = self._marked("flags", UNFINISHED)
        if not lanes.size:
            return
        self.finished_on_cpu["paths"] += len(lanes)
        which = cuda_module().to_device(lanes.astype(np.int64))
        status = self._picked("flags", which, self.paths).astype(np.int8)
        length = self._picked("length", which, self.paths)
        arms = self._picked("arms", which, self.paths * self.width)
        begun = Begun(length, arms.reshape(len(lanes), self.paths, self.width), status)
        Q = self._picked("Q", which, self.n_q)
        c, paths = self.chain.c, self.layout.paths
        run_paths(c, paths, Q, None, begun, None, extra=self.extra, keep_points=False)
        self._put(begun.length, which, "length")
        self._put(begun.arms.reshape(len(lanes), -1), which, "arms")

    def _finish_programs(self) -> None:
        """Frames that Newton's method does not serve."""
        served = self.a["served"].copy_to_host()[0]
        lanes = np.flatnonzero(served != SERVED)
        self.unsolved = np.zeros(served.size, dtype=bool)
        if not lanes.size:
            return
        self.finished_on_cpu["programs"] += len(lanes)
        chain, n = self.chain, len(self.chain.low)
        which = cuda_module().to_device(lanes.astype(np.int64))
        A, b = self._picked("P", which).reshape(len(lanes), -1, n), self._picked("b", which)
        finite = np.isfinite(A).all(axis=(1, 2)) & np.isfinite(b).all(axis=1)
        self.unsolved[lanes[~finite]] = True
        if not finite.any():
            return
        found = least_effort(A[finite], b[finite], chain.low, chain.top, np.ones(n), 2.0)
        self.unsolved[lanes[finite][found.status != Status.SOLVED]] = True
        strong, used = self._picked("strong", which, self.paths), np.flatnonzero(chain.used)
        activation = np.zeros_like(strong)
        activation[np.ix_(finite, used)] = found.x[:, : len(used)]
        self._put(activation, which, "activation")
        self._put(activation * strong, which, "force")

    def _give(self, store: SampleStore, first: int) -> None:
        """Results of a batch into the store, where they are as the CPU has them."""
        cuda, give = cuda_module(), movers().give
        begin = time.perf_counter()
        columns = store.values.shape[2]
        out = cuda.device_array((self.batch, self.frames, columns))
        for name, at in store.columns.items():
            source = self.a[_GIVEN[name]]
            if at.stop > at.start:
                give[move_grid(source.shape[1], at.stop - at.start)](
                    source[: at.stop - at.start], self.batch, at.start, out
                )
        rows = store.values[first : first + self.batch]
        out.copy_to_host(np.asarray(rows))
        lost = (self.a["found"].copy_to_host()[0] != CONVERGED).reshape(self.frames, self.batch).T
        failed = store.failed[first : first + self.batch]
        failed[:] = 0
        failed[:, Step.KINEMATICS] = lost.sum(axis=1)
        rows[lost.any(axis=1)] = np.nan
        if "moment" in store.columns:
            bad = ~np.isfinite(rows[:, :, store.columns["moment"]]).all(axis=2) & ~lost.any(axis=1)[:, None]
            failed[:, Step.MOMENTS] = bad.sum(axis=1)
        if self.chain.last >= Step.MUSCLES:
            unsolved = self.unsolved.reshape(self.frames, self.batch).T & ~lost.any(axis=1)[:, None]
            failed[:, Step.MUSCLES] = unsolved.sum(axis=1)
            for name, at in store.columns.items():
                if name not in ("angle", "moment"):
                    rows[:, :, at][unsolved] = np.nan
        for k in np.flatnonzero(lost.any(axis=1)).tolist():
            # the CPU also seeks poses from those beside
            self.finished_on_cpu["samples"] += 1
            store.put(first + k, self.chain.run(self.changes[first + k], tuple(store.columns)))
        self.seconds["results to the host"] = self.seconds.get("results to the host", 0.0) + time.perf_counter() - begin


# Where each output is.
_GIVEN = {
    "angle": "Q",
    "moment": "tau",
    "activation": "activation",
    "muscle_force": "force",
    "joint_force": "pushes",
    "joint_moment": "turns",
    "joint_force_size": "sizes",
}
