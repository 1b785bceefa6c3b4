"""Derivatives of moment arms of the paths that `moment_arm_slope_frames` leaves unfinished."""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.paths.moment_arm_slope_frames import slope_work
from musculo.kernels.paths.moment_arm_slopes import (
    arm_slopes_of_path,
    begin_slopes,
    can_change,
    end_slopes,
)
from musculo.kernels.paths.path_arms import arms_of_path
from musculo.kernels.paths.path_points import ENTRY_ROWS, TAG_ROWS, first_entry, list_points
from musculo.kernels.tree.derivatives.pose_slopes import pose_slopes
from musculo.kernels.wrapping.geodesic.taut_path import UNFINISHED
from musculo.kernels.wrapping.polyline.polyline_second_pass import finish_segment
from musculo.kernels.wrapping.polyline.polyline_segment import polyline_work
from musculo.kernels.wrapping.rules.wrap_geodesic import insert_contacts, most_wraps


@kernel
def _finish_slopes(
    paths, coordinates, table, k, q, motion, T, C, I, counts, S, status, V, D, out, n_u, exact, polylines, lane
):
    """As `wrap_slopes`, for path k, of which the points are listed, whatever it takes."""
    entries = first_entry(paths, paths.first_point.size - 1)
    base, tags, most = entries * ENTRY_ROWS, entries * TAG_ROWS, most_wraps(paths)
    status[k, lane] = 0
    exact[k, lane] = 1
    count = coordinates.first[k + 1] - coordinates.first[k]
    e = first_entry(paths, k)
    end = e + counts[k, lane]
    while e < end - 1:
        n, is_polyline = finish_segment(paths, k, e, motion, C, I, S, status, base, tags, most, polylines, lane)
        if is_polyline:
            exact[k, lane] = 0
        elif count > 0 and (n > 0 or can_change(paths, I, e, lane)):
            good = begin_slopes(paths, coordinates, table, k, e, n, q, motion, T, C, I, V, D, base, tags, most, lane)
            if good == 1:
                end_slopes(paths, coordinates, table, k, e, n, q, motion, T, C, I, V, D, out, n_u, lane)
            exact[k, lane] &= good
        came = insert_contacts(paths, e, end, n, C, I, base, tags, most, lane) if n > 0 else 0
        end += came
        e += came + 1
    counts[k, lane] = end - first_entry(paths, k)


@driver
def second_pass_slope_frames(
    tree,
    table,
    paths,
    path_table,
    carriers,
    coordinates,
    q,
    motion,
    columns,
    arms,
    slopes,
    status,
    exact,
    frames,
    start,
    stop,
):
    """Paths whose status is UNFINISHED in frames[start] .. frames[stop - 1]; arrays as of `moment_arm_slope_frames`."""
    n_q, n_u = q.shape[1], columns.shape[1] // 6
    w, polylines = slope_work(tree, paths, coordinates, n_q, n_u), polyline_work(most_wraps(paths))
    for i in range(start, stop):
        f = frames[i]
        Q, K, Y = q[f : f + 1].T, motion[f : f + 1].T, columns[f : f + 1].T
        out, state, good = slopes[f : f + 1].T, status[f : f + 1].T, exact[f : f + 1].T
        pose_slopes(tree, table, carriers, Q, K, Y, w.X, w.U, w.W, w.T, w.column_slopes, 0)
        for k in range(status.shape[1]):
            if state[k, 0] != UNFINISHED:
                continue
            w.counts[k, 0] = list_points(paths, path_table, k, Q, K, False, w.C, w.I, 0)
            w.S[6 * paths.first_slot[k] : 6 * paths.first_slot[k + 1]] = 0.0
            w.D[6 * coordinates.first_moved[k] : 6 * coordinates.first_moved[k + 1]] = 0.0
            out[k * n_u * n_q : (k + 1) * n_u * n_q] = 0.0
            _finish_slopes(
                paths,
                coordinates,
                path_table,
                k,
                Q,
                K,
                w.T,
                w.C,
                w.I,
                w.counts,
                w.S,
                state,
                w.V,
                w.D,
                out,
                n_u,
                good,
                polylines,
                0,
            )
            arms_of_path(paths, path_table, k, Q, K, Y, False, w.C, w.I, w.counts, w.S, arms[f : f + 1].T, 0)
            arm_slopes_of_path(paths, coordinates, k, Y, w.column_slopes, w.S, w.D, out, n_q, 0)
