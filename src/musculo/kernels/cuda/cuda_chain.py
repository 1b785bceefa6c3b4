"""Samples of a trial on a GPU, from markers to joint loads, without leaving the device: one thread a sample and frame.

Samples lie side by side: lane = frame * samples + sample, so that the threads of a warp do the same frame of neighbor
samples and take the same branches. What a sample has for itself (markers, inertias, muscles) is found by its number,
which is the thread's number along x; frames are along y. The kernels are those of the CPU.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from musculo.kernels.constraints.coupling import follow
from musculo.kernels.cuda.cuda_code import Limits, jit
from musculo.kernels.cuda.cuda_compile_beside import Recipe
from musculo.kernels.cuda.cuda_device import cuda_module, device_function, with_names
from musculo.kernels.cuda.cuda_lanes import Layout, lane_view
from musculo.kernels.cuda.cuda_tables import Layout as TableLayout
from musculo.kernels.cuda.cuda_tables import view
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.fit.pose_search import nearest_pose
from musculo.kernels.hill.isometric_capacity import capacity
from musculo.kernels.scalar.bounded_effort import bounded_effort
from musculo.kernels.tree.nodes import FORCE, MOMENT, NODE_ROWS, WORLD, Loads, Motion
from musculo.kernels.tree.rnea import rnea

# Threads of a block, all of one frame.
THREADS = 64
# Functions of more LLVM instructions stay functions, see `cuda_paths`; registers a thread.
_LIMITS = Limits(max_registers=128, large=500)


class ChainData(NamedTuple):
    """What the steps know of a sample: tables that all share, and arrays of its own."""

    tree: Any  # `Tree`, welds merged, with the sample's inertias
    functions: Any
    joints: Any  # `Tree` with a node for each joint, likewise
    joint_functions: Any
    couplings: Any
    coupling_table: Any
    targets: Any  # `Targets` with the sample's markers
    unknowns: Any
    muscles: Any  # `MuscleTable` of the sample
    curves: Any
    trial: Any  # `TrialData`
    loads: Any  # `LoadData`
    effort: Any  # `EffortData`
    pulls: Any  # `PullData`


class TrialData(NamedTuple):
    """The trial as it was recorded, and the maps from its poses to values, slopes and accelerations."""

    start: Any  # (frames, n_q) poses
    markers: Any  # (frames, 3 markers)
    smooth: Any  # (frames, frames)
    slope: Any
    bend: Any
    independent: Any  # (n_z,) row of q
    speed: Any  # (n_z,) row of u


class LoadData(NamedTuple):
    """External loads, in ground."""

    force: Any  # (frames, 3 loads)
    moment: Any  # (frames, 3 loads)
    point: Any  # (frames, 3 loads)
    node: Any  # (loads,) of the tree
    joint_node: Any  # (loads,) of the tree with a node for each joint
    factor: Any  # (loads,) of the sample
    shift: Any  # (loads, 3) of the sample


class EffortData(NamedTuple):
    """The program of a frame: muscles that apply force, then actuators."""

    muscle: Any  # (used,) which muscles
    motor: Any  # (motors,) row of the equation that an actuator serves
    motor_force: Any  # (motors,)
    lower: Any  # (used + motors,)
    upper: Any
    weight: Any


class PullData(NamedTuple):
    """What paths do to bodies, and which joints are asked for."""

    path: Any  # (rows,)
    node: Any  # (rows,) of the tree with a node for each joint
    arm: Any  # (rows,) first of its six numbers among the moment arms of a lane
    joint_node: Any  # (joints,) outboard of each joint
    offset: Any  # (joints, 3) of the outboard joint frame in it


class Recursion(NamedTuple):
    """What `rnea` works in and finds, lanes last."""

    E: Any  # (6 nodes, lanes) external wrenches
    W: Any
    tau: Any  # (n_u, lanes)


class EffortKnown(NamedTuple):
    """What the program of a frame is made of, lanes last."""

    tau: Any  # (n_u, lanes)
    U: Any  # (n_u, lanes)
    slopes: Any  # of what follows other coordinates
    length: Any  # (paths, lanes)
    arms: Any  # (paths width, lanes)


class EffortProgram(NamedTuple):
    """The program itself, lanes last: P x = b."""

    strong: Any  # (paths, lanes) largest forces
    P: Any  # (n_z unknowns, lanes)
    b: Any  # (n_z, lanes)
    near: Any  # (unknowns, lanes)
    x: Any  # (unknowns, lanes)


class EffortFound(NamedTuple):
    """What comes of it, lanes last."""

    activation: Any  # (paths, lanes)
    force: Any  # (paths, lanes)
    served: Any  # (2, lanes)


class Pulls(NamedTuple):
    """What muscles do, lanes last."""

    force: Any  # (paths, lanes)
    arms: Any  # (paths width, lanes)


class JointLoads(NamedTuple):
    """Loads of the joints that are asked for, lanes last."""

    pushes: Any  # (3 joints, lanes)
    turns: Any  # (3 joints, lanes)
    sizes: Any  # (joints, lanes)


# Names that are not in this module (`cuda`, views and the device forms of kernels) are put into a copy of the globals.
def _place(lanes):
    # frame and lane of this thread among so many lanes; the lane is negative where there is nothing to do
    s, f = cuda.grid(2)  # noqa: F821
    samples = lanes // cuda.gridDim.y  # noqa: F821
    return f, f * samples + s if s < samples else -1


def _pose_lanes(chain, spaces, seen, errors, tolerance, most, q, found):
    f, lane = place(q.shape[1])  # noqa: F821
    if lane >= 0:
        c = view_chain(chain)  # noqa: F821
        for k in range(q.shape[0]):
            q[k, lane] = c.trial.start[f, k]
        for k in range(c.trial.markers.shape[1]):
            seen[k, lane] = c.trial.markers[f, k]
        space = view_space(spaces)  # noqa: F821
        model = (c.tree, c.functions, c.couplings, c.coupling_table, c.targets)
        recorded, misfit = Recorded(seen, seen, seen), Misfit(errors, errors)
        _, status, iterations = nearest(model, c.unknowns, recorded, (tolerance, most), q, space, misfit, lane)  # noqa: F821
        found[0, lane], found[1, lane] = status, iterations


def _motion_lanes(chain, q, motion, slopes):
    f, lane = place(q.shape[1])  # noqa: F821
    if lane >= 0:
        c = view_chain(chain)  # noqa: F821
        Q, U, A = motion.q, motion.u, motion.udot
        frames = c.trial.smooth.shape[0]
        samples = q.shape[1] // frames
        s = lane - f * samples
        for k in range(q.shape[0]):
            Q[k, lane] = q[k, lane]
        for k in range(U.shape[0]):
            U[k, lane] = 0.0
            A[k, lane] = 0.0
        for j in range(c.trial.independent.size):
            k = c.trial.independent[j]
            x, v, a = 0.0, 0.0, 0.0
            for g in range(frames):
                value = q[k, g * samples + s]
                x += c.trial.smooth[f, g] * value
                v += c.trial.slope[f, g] * value
                a += c.trial.bend[f, g] * value
            Q[k, lane] = x
            U[c.trial.speed[j], lane] = v
            A[c.trial.speed[j], lane] = a
        # what follows others, with its rates; rules are sorted
        followers(c.couplings, c.coupling_table, Q, slopes, lane)  # noqa: F821
        w = c.couplings
        for r in range(w.dependent.size):
            first, row = w.first_input[r], w.first_slope[r]
            m = c.coupling_table.n_arguments[w.function[r]]
            v, a = 0.0, 0.0
            for i in range(m):
                k = w.speed_row[w.inputs[first + i]]
                slope = slopes[row + 1 + i, lane]
                v += slope * U[k, lane]
                a += slope * A[k, lane]
                for j in range(m):
                    other = w.speed_row[w.inputs[first + j]]
                    a += slopes[row + 1 + m + i * m + j, lane] * U[k, lane] * U[other, lane]
            k = w.speed_row[w.dependent[r]]
            U[k, lane] = w.scale[r] * v
            A[k, lane] = w.scale[r] * a


def _put_loads(loads, node, f, E, lane):
    for k in range(E.shape[0]):
        E[k, lane] = 0.0
    for j in range(node.size):
        factor, o = loads.factor[j], 6 * node[j]
        x, y, z = factor * loads.force[f, 3 * j], factor * loads.force[f, 3 * j + 1], factor * loads.force[f, 3 * j + 2]
        a = loads.point[f, 3 * j] + loads.shift[j, 0]
        b = loads.point[f, 3 * j + 1] + loads.shift[j, 1]
        c = loads.point[f, 3 * j + 2] + loads.shift[j, 2]
        E[o, lane] += x
        E[o + 1, lane] += y
        E[o + 2, lane] += z
        E[o + 3, lane] += factor * loads.moment[f, 3 * j] + b * z - c * y
        E[o + 4, lane] += factor * loads.moment[f, 3 * j + 1] + c * x - a * z
        E[o + 5, lane] += factor * loads.moment[f, 3 * j + 2] + a * y - b * x


def _moment_lanes(chain, motion, space):
    f, lane = place(motion.q.shape[1])  # noqa: F821
    if lane >= 0:
        c = view_chain(chain)  # noqa: F821
        put(c.loads, c.loads.node, f, space.E, lane)  # noqa: F821
        recursion(c.tree, c.functions, space.W, motion, Loads(space.E, lane >= 0), space.tau, lane)  # noqa: F821


def _effort_lanes(chain, rooms, known, width, equations, found):
    _, lane = place(known.tau.shape[1])  # noqa: F821
    if lane >= 0:
        c = view_chain(chain)  # noqa: F821
        tau, U, slopes, length, arms = known.tau, known.U, known.slopes, known.length, known.arms
        strong, P, b, near, x = equations.strong, equations.P, equations.b, equations.near, equations.x
        activation, force, served = found.activation, found.force, found.served
        n_u, n_z, w = U.shape[0], c.trial.speed.size, c.couplings
        used, motors = c.effort.muscle.size, c.effort.motor.size
        n = used + motors
        # what speeds feel is felt by those that they follow, last rule first; targets are zero afterwards
        for k in range(n_u):
            near[k, lane] = tau[k, lane]
        for r in range(w.dependent.size - 1, -1, -1):
            k, row, first = w.speed_row[w.dependent[r]], w.first_slope[r], w.first_input[r]
            for i in range(c.coupling_table.n_arguments[w.function[r]]):
                near[w.speed_row[w.inputs[first + i]], lane] += w.scale[r] * slopes[row + 1 + i, lane] * near[k, lane]
        for z in range(n_z):
            b[z, lane] = near[c.trial.speed[z], lane]
        for k in range(near.shape[0]):
            near[k, lane] = 0.0
        for m in range(length.shape[0]):
            o, speed = m * width, 0.0
            for k in range(n_u):
                speed -= arms[o + k, lane] * U[k, lane]
            strong[m, lane] = largest(c.muscles, c.curves, m, length[m, lane], speed, False)  # noqa: F821
            activation[m, lane] = 0.0
            force[m, lane] = 0.0
        for j in range(used):
            o = c.effort.muscle[j] * width
            for r in range(w.dependent.size - 1, -1, -1):
                k, row, first = w.speed_row[w.dependent[r]], w.first_slope[r], w.first_input[r]
                for i in range(c.coupling_table.n_arguments[w.function[r]]):
                    slope = w.scale[r] * slopes[row + 1 + i, lane]
                    arms[o + w.speed_row[w.inputs[first + i]], lane] += slope * arms[o + k, lane]
            for z in range(n_z):
                P[z * n + j, lane] = arms[o + c.trial.speed[z], lane] * strong[c.effort.muscle[j], lane]
        for j in range(motors):
            for z in range(n_z):
                P[z * n + used + j, lane] = c.effort.motor_force[j] if c.effort.motor[j] == z else 0.0
        bounds = (c.effort.lower, c.effort.upper, c.effort.weight)
        room = view_room(rooms)  # noqa: F821
        served[0, lane], served[1, lane] = program(P, b, bounds, near, x, room, lane)  # noqa: F821
        for j in range(used):
            m = c.effort.muscle[j]
            activation[m, lane] = x[j, lane]
            force[m, lane] = x[j, lane] * strong[m, lane]


def _load_lanes(chain, motion, pulls, space, found):
    f, lane = place(motion.q.shape[1])  # noqa: F821
    if lane >= 0:
        c = view_chain(chain)  # noqa: F821
        E, W, force, arms = space.E, space.W, pulls.force, pulls.arms
        pushes, turns, sizes = found.pushes, found.turns, found.sizes
        put(c.loads, c.loads.joint_node, f, E, lane)  # noqa: F821
        for r in range(c.pulls.path.size):
            pull, o, row = force[c.pulls.path[r], lane], 6 * c.pulls.node[r], c.pulls.arm[r]
            if pull != 0.0:
                for k in range(3):
                    E[o + k, lane] += pull * arms[row + 3 + k, lane]
                    E[o + 3 + k, lane] += pull * arms[row + k, lane]
        recursion(c.joints, c.joint_functions, W, motion, Loads(E, lane >= 0), space.tau, lane)  # noqa: F821
        for j in range(c.pulls.joint_node.size):
            o, out = c.pulls.joint_node[j] * NODE_ROWS, 3 * j
            total = 0.0
            for k in range(3):
                x, y, z = W[o + WORLD + 3 * k, lane], W[o + WORLD + 3 * k + 1, lane], W[o + WORLD + 3 * k + 2, lane]
                push = x * W[o + FORCE, lane] + y * W[o + FORCE + 1, lane] + z * W[o + FORCE + 2, lane]
                turns[out + k, lane] = (
                    x * W[o + MOMENT, lane] + y * W[o + MOMENT + 1, lane] + z * W[o + MOMENT + 2, lane]
                )
                pushes[out + k, lane] = push
                total += push * push
            sizes[j, lane] = total**0.5
            # to the joint's own point, r in ground
            d, e, g = c.pulls.offset[j, 0], c.pulls.offset[j, 1], c.pulls.offset[j, 2]
            x = W[o + WORLD, lane] * d + W[o + WORLD + 1, lane] * e + W[o + WORLD + 2, lane] * g
            y = W[o + WORLD + 3, lane] * d + W[o + WORLD + 4, lane] * e + W[o + WORLD + 5, lane] * g
            z = W[o + WORLD + 6, lane] * d + W[o + WORLD + 7, lane] * e + W[o + WORLD + 8, lane] * g
            turns[out, lane] -= y * pushes[out + 2, lane] - z * pushes[out + 1, lane]
            turns[out + 1, lane] -= z * pushes[out, lane] - x * pushes[out + 2, lane]
            turns[out + 2, lane] -= x * pushes[out + 1, lane] - y * pushes[out, lane]


def _give_lanes(source, samples, first, out):
    # lanes last on one side; samples, frames and columns on the other
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < source.shape[1] and row < source.shape[0]:
        out[lane % samples, lane // samples, first + row] = source[row, lane]


def _fill_lanes(values, first, target):
    # the same numbers in all lanes
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < target.shape[1] and row < values.shape[0]:
        target[first + row, lane] = values[row]


def _mark_lanes(source, value, out):
    lane, row = cuda.grid(2)  # noqa: F821
    if lane < source.shape[1] and row == 0:
        found = 0.0
        for k in range(source.shape[0]):
            if source[k, lane] == value:
                found = 1.0
        out[0, lane] = found


def _pick_lanes(source, which, out):
    k, row = cuda.grid(2)  # noqa: F821
    if k < which.shape[0] and row < source.shape[0]:
        out[row, k] = source[row, which[k]]


def _put_lanes(values, which, target):
    k, row = cuda.grid(2)  # noqa: F821
    if k < which.shape[0] and row < values.shape[0]:
        target[row, which[k]] = values[row, k]


class ChainKernels(NamedTuple):
    """CUDA kernels in the order in which they run; paths are laid by those of `cuda_paths` before the effort."""

    poses: Any  # (chain, spaces, seen, errors, tolerance, most, q, found)
    motion: Any  # (chain, q, `Motion`, slopes)
    moments: Any  # (chain, `Motion`, `Recursion`)
    effort: Any  # (chain, rooms, `EffortKnown`, width, `EffortProgram`, `EffortFound`)
    loads: Any  # (chain, `Motion`, `Pulls`, `Recursion`, `JointLoads`)


@cache
def _placing() -> Any:
    """`_place` on the device."""
    return cuda_module().jit(device=True)(with_names(_place))


@cache
def _step(name: str, chain: Layout, spaces: TableLayout, rooms: TableLayout) -> Any:
    """One of the CUDA kernels."""
    kinds: dict[str, tuple[Any, dict[str, Any]]] = {
        "poses": (_pose_lanes, {"nearest": nearest_pose}),
        "motion": (_motion_lanes, {"followers": follow}),
        "moments": (_moment_lanes, {"put": _put_loads, "recursion": rnea}),
        "effort": (_effort_lanes, {"largest": capacity, "program": bounded_effort}),
        "loads": (_load_lanes, {"put": _put_loads, "recursion": rnea}),
    }
    lanes, parts = kinds[name]
    views = {"view_chain": lane_view(chain), "view_space": view(spaces), "view_room": view(rooms), "place": _placing()}
    return jit(with_names(lanes, **views, **{part: device_function(one) for part, one in parts.items()}), _LIMITS)


def chain_kernels(chain: Layout, spaces: TableLayout, rooms: TableLayout) -> ChainKernels:
    """The CUDA kernels for data of these layouts."""
    return ChainKernels(*(_step(name, chain, spaces, rooms) for name in ChainKernels._fields))


def chain_recipes(chain: Layout, spaces: TableLayout, rooms: TableLayout) -> list[Recipe]:
    """The kernels of `chain_kernels` and the types that they are launched with; first what takes longest to compile."""
    from numba.core import types

    f, w = types.Array(types.float64, 2, "C"), types.Array(types.int64, 1, "C")
    i, x = types.int64, types.float64
    kinds = (Motion, Recursion, EffortKnown, EffortProgram, EffortFound, Pulls, JointLoads)
    of = {kind: types.NamedUniTuple(f, len(kind._fields), kind) for kind in kinds}
    signatures = {
        "poses": (w, w, f, f, x, i, f, f),
        "effort": (w, w, of[EffortKnown], i, of[EffortProgram], of[EffortFound]),
        "loads": (w, of[Motion], of[Pulls], of[Recursion], of[JointLoads]),
        "moments": (w, of[Motion], of[Recursion]),
        "motion": (w, f, of[Motion], f),
    }
    return [Recipe(_step, (name, chain, spaces, rooms), given) for name, given in signatures.items()]


class Movers(NamedTuple):
    """CUDA kernels that hand results over; launch them with `move_grid`."""

    give: Any  # (source, samples, first, out) to (samples, frames, columns)
    fill: Any  # (values, first, target) the same numbers to all lanes
    mark: Any  # (source, value, out) lanes in which a row has this value
    pick: Any  # (source, which, out) some lanes
    put: Any  # (values, which, target) back to where they were


@cache
def movers() -> Movers:
    """These kernels."""
    return Movers(*(jit(with_names(one)) for one in (_give_lanes, _fill_lanes, _mark_lanes, _pick_lanes, _put_lanes)))


def sample_grid(samples: int, frames: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Blocks and threads of a launch with a thread for each sample and frame."""
    return ((samples + THREADS - 1) // THREADS, frames), (THREADS, 1)


def move_grid(lanes: int, rows: int) -> tuple[tuple[int, int], tuple[int, int]]:
    """Blocks and threads of a launch of `movers`."""
    return ((lanes + 31) // 32, (rows + 7) // 8), (32, 8)
