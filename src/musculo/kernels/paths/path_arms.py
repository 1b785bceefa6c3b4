"""Moment arms of current paths in closed form, and lengthening speeds as OpenSim computes them."""

from __future__ import annotations

import numpy as np

from musculo.kernels.compiler.parts import kernel, spliced
from musculo.kernels.paths.path_points import (
    BODY,
    COINCIDENT,
    ENTRY_ROWS,
    GAIN,
    MOVING,
    OWNER,
    PLACE,
    POINT,
    SEEN,
    SHORT,
    SLOT,
    TAG_ROWS,
    TANGENT,
    first_entry,
    fixed_rotation_of,
    moving_axis_at,
)
from musculo.kernels.scalar.scalars import like, square_root
from musculo.kernels.scalar.vectors import accumulate3, add, cross, dot, load3, rotate, scale, subtract
from musculo.kernels.tree.node_kinematics import MOTION_ROWS, ROTATION
from musculo.kernels.tree.nodes import load_rotation


@spliced
def _slide(x, point, d, literal, arms, first, lane):
    """What a moving point's own motion adds to the moment arms: its slope along the pull d on it."""
    paths = x.paths
    node = paths.point_node[point] * MOTION_ROWS
    along = fixed_rotation_of(paths.moving_R, point)
    R = load_rotation(x.motion, node + ROTATION, lane)
    for axis in range(3):
        speed = paths.moving_speed[point, axis]
        if speed >= 0:
            _, slope = moving_axis_at(paths, x.table, point, axis, x.q, literal, lane)
            e = (along[axis], along[axis + 3], along[axis + 6])
            arms[first + speed, lane] = arms[first + speed, lane] + slope * dot(rotate(R, e), d)


@spliced
def _pull(x, now, e, literal, s, arms, first, lane):
    """Add what unit tension between entries e and e + 1 does to the path's nodes and moving points."""
    paths, C, I, S = x.paths, now.C, now.I, now.S
    c = e * ENTRY_ROWS
    a = e * TAG_ROWS
    b = a + TAG_ROWS
    d = subtract(load3(C, c + ENTRY_ROWS + SEEN, lane), load3(C, c + SEEN, lane))
    norm = square_root(dot(d, d))
    if not literal and norm.real < SHORT and (I[a + OWNER, lane] >= 0 or I[b + OWNER, lane] >= 0):
        d = load3(C, c + (0 if I[a + OWNER, lane] >= 0 else ENTRY_ROWS) + TANGENT, lane)
    elif norm.real < COINCIDENT:
        d = scale(np.nan if literal else 0.0, d)
    else:
        d = scale(1.0 / norm, d)
    for end in range(2):
        # the first end is pulled along d, the second against it
        row = s + 6 * I[a + SLOT, lane]
        accumulate3(S, row, lane, cross(load3(C, c + PLACE, lane), d))
        accumulate3(S, row + 3, lane, d)
        if I[a + OWNER, lane] < 0 and paths.point_kind[I[a + POINT, lane]] == MOVING:
            _slide(x, I[a + POINT, lane], d, literal, arms, first, lane)
        if end == 0:
            a, c, d = b, c + ENTRY_ROWS, scale(-1.0, d)


@spliced
def _pulls(paths, I, e, literal, lane):
    """Whether tension between entries e and e + 1 can do anything."""
    a = e * TAG_ROWS
    b = a + TAG_ROWS
    if literal:
        # OpenSim leaves out what stays on one body, even where a point moves on it
        pulls = I[a + BODY, lane] != I[b + BODY, lane]
    else:
        pulls = I[a + SLOT, lane] != I[b + SLOT, lane]
        if not pulls:
            for t in range(a, b + 1, TAG_ROWS):
                if I[t + OWNER, lane] < 0 and paths.point_kind[I[t + POINT, lane]] == MOVING:
                    pulls = True
    return pulls


@kernel
def moment_arms(x, now, columns, literal, arms, lane):
    """Moment arms of all paths per tree speed: the generalized force of unit tension.

        r_j = sum over the points i that speed j moves of  v_j . f_i + w_j . (x_i x f_i),   f_i = e_next - e_previous

    with (w_j, v_j) the twist of ground's origin that unit speed j gives; a moving point adds its slope along f_i to
    the speed of its own coordinate.

    Source:     Ehsani2023 eq. 174-195: e is the line of action of definition 3, summed over the bodies of the
                attachment sequence only.
    Departs:    twist columns of the tree take the place of the paper's beta and gamma; couplings come in by r J.
    Guarantees: r = -dl/du where contacts are geodesic; r = 0 for speeds that move the whole path.

    Args:
        x: `PosedPaths`. columns: (6 n_u, lanes) from the kernel `twists`.
        now: `CurrentPaths`; its S has the forces that the wrapping method found, else zero, and in the end all.
        arms: (paths n_u, lanes), written.
    """
    for k in range(x.paths.first_point.size - 1):
        arms_of_path(x, now, k, columns, literal, arms, lane)


@spliced
def arms_of_path(x, now, k, columns, literal, arms, lane):
    """Moment arms of path k, as `moment_arms`."""
    paths, C, I, counts, S = x.paths, now.C, now.I, now.counts, now.S
    n_u = columns.shape[0] // 6
    zero = like(C[0, lane], 0.0)
    first = k * n_u
    for j in range(n_u):
        arms[first + j, lane] = zero
    slots = paths.first_slot[k + 1] - paths.first_slot[k]
    wrench = 6 * paths.first_slot[k]
    begin = first_entry(paths, k)
    for e in range(begin, begin + counts[k, lane] - 1):
        if _pulls(paths, I, e, literal, lane):
            _pull(x, now, e, literal, wrench, arms, first, lane)
    for e in range(begin, begin + counts[k, lane]):
        point = I[e * TAG_ROWS + POINT, lane]
        if I[e * TAG_ROWS + OWNER, lane] < 0 and paths.point_kind[point] == MOVING:
            gain = scale(-1.0, load3(C, e * ENTRY_ROWS + GAIN, lane))
            _slide(x, point, gain, literal, arms, first, lane)
    speeds = paths.first_speed[k + 1] - paths.first_speed[k]
    # OpenSim's contacts may pull past each other (see SEEN), so that even what moves the whole path feels them
    several = paths.first_wrap[k + 1] - paths.first_wrap[k] > 1
    for j in range(speeds if literal and several else paths.n_inner[k]):
        row = paths.speed_row[paths.first_speed[k] + j]
        w = load3(columns, 6 * row, lane)
        v = load3(columns, 6 * row + 3, lane)
        arm = arms[first + row, lane]
        for s in range(slots):
            if paths.moved[paths.first_moved[k] + s * speeds + j] != 0:
                f = wrench + 6 * s
                arm = arm + dot(w, load3(S, f, lane)) + dot(v, load3(S, f + 3, lane))
        arms[first + row, lane] = arm


@spliced
def _point_velocity(x, now, e, u, lane):
    """Velocity in ground of entry e of the current path, given the twists of the path's nodes."""
    paths, C, I, S = x.paths, now.C, now.I, now.S
    t = e * TAG_ROWS
    row = 6 * I[t + SLOT, lane]
    v = add(load3(S, row + 3, lane), cross(load3(S, row, lane), load3(C, e * ENTRY_ROWS + PLACE, lane)))
    point = I[t + POINT, lane]
    if I[t + OWNER, lane] < 0 and paths.point_kind[point] == MOVING:
        along = fixed_rotation_of(paths.moving_R, point)
        R = load_rotation(x.motion, paths.point_node[point] * MOTION_ROWS + ROTATION, lane)
        for axis in range(3):
            speed = paths.moving_speed[point, axis]
            if speed >= 0:
                _, slope = moving_axis_at(paths, x.table, point, axis, x.q, True, lane)
                direction = rotate(R, (along[axis], along[axis + 3], along[axis + 6]))
                v = add(v, scale(slope * u[speed, lane], direction))
    return v


@kernel
def path_speeds(x, now, columns, u, speed, lane):
    """Lengthening speeds (paths, lanes) as OpenSim computes them, from the velocities of the points [m/s].

        ldot = sum over neighbors of (v_i - v_i+1) . e,   e = unit(x_i - x_i+1)

    Both contacts of a surface move with its body, so their pair adds nothing unless they are not where they are seen.
    There, and where OpenSim's moment arms leave out a point that moves on its own body, this is not -sum(r u).
    The S of the current paths, `now`, is scratch.
    """
    paths, C, counts, S = x.paths, now.C, now.counts, now.S
    zero = like(C[0, lane], 0.0)
    for k in range(paths.first_point.size - 1):
        speeds = paths.first_speed[k + 1] - paths.first_speed[k]
        for s in range(paths.first_slot[k + 1] - paths.first_slot[k]):
            for i in range(6):
                total = zero
                for j in range(speeds):
                    if paths.moved[paths.first_moved[k] + s * speeds + j] != 0:
                        row = paths.speed_row[paths.first_speed[k] + j]
                        total = total + columns[6 * row + i, lane] * u[row, lane]
                S[6 * s + i, lane] = total
        total = zero
        before = (zero, zero, zero)
        begin = first_entry(paths, k)
        for e in range(begin, begin + counts[k, lane]):
            velocity = _point_velocity(x, now, e, u, lane)
            if e > begin:
                v = subtract(before, velocity)
                c = e * ENTRY_ROWS
                d = subtract(load3(C, c - ENTRY_ROWS + SEEN, lane), load3(C, c + SEEN, lane))
                distance = square_root(dot(d, d))
                if distance.real < COINCIDENT:
                    total = total + square_root(dot(v, v))
                else:
                    total = total + dot(v, d) / distance
            before = velocity
        speed[k, lane] = total
