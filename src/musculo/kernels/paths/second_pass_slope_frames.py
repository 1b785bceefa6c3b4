"""Derivatives of moment arms of the paths that `moment_arm_slope_frames` leaves unfinished."""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver, kernel
from musculo.kernels.paths.moment_arm_slope_frames import slope_work, slopes_of_frame
from musculo.kernels.paths.moment_arm_slopes import (
    arm_slopes_of_path,
    can_change,
    segment_slopes,
)
from musculo.kernels.paths.path_arms import arms_of_path
from musculo.kernels.paths.path_points import CurrentPaths, PosedPaths, first_entry, list_points
from musculo.kernels.tree.derivatives.pose_slopes import ComplexPose, PoseSlopes, pose_slopes
from musculo.kernels.tree.node_kinematics import PlacedNodes
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.kernels.wrapping.polyline.polyline_second_pass import finish_segment
from musculo.kernels.wrapping.polyline.polyline_segment import polyline_work
from musculo.kernels.wrapping.rules.wrap_geodesic import Wrapped, insert_contacts, most_wraps, segment_room


@kernel
def _finish_slopes(x, coordinates, k, work, found, polylines, lane):
    """As `wrap_slopes`, for path k, of which the points are listed, whatever it takes."""
    paths, status, exact, counts = x.paths, found.status, found.exact, work.counts
    s, out = segment_room(paths, work.C, work.I), Wrapped(work.S, status)
    status[k, lane] = 0
    exact[k, lane] = 1
    e = first_entry(paths, k)
    end = e + counts[k, lane]
    while e < end - 1:
        n, is_polyline = finish_segment(paths, k, e, x.motion, s, out, polylines, lane)
        if is_polyline:
            exact[k, lane] = 0
        elif n > 0 or can_change(paths, s.I, e, lane):
            segment_slopes(x, coordinates, (k, e), s, n, work, found, lane)
        came = insert_contacts(paths, e, end, s, n, lane) if n > 0 else 0
        end += came
        e += came + 1
    counts[k, lane] = end - first_entry(paths, k)


@driver
def second_pass_slope_frames(model, poses, found, frames, start, stop):
    """Paths whose status is UNFINISHED in frames[start] .. frames[stop - 1]; arrays as of `moment_arm_slope_frames`."""
    tree, table, paths, path_table = model.tree, model.table, model.paths, model.path_table
    carriers, coordinates = model.carriers, model.coordinates
    n_q, n_u = poses.q.shape[1], poses.columns.shape[1] // 6
    w, polylines = slope_work(tree, paths, coordinates, n_q, n_u), polyline_work(most_wraps(paths))
    for i in range(start, stop):
        f = frames[i]
        Q, K, Y = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        here, x = slopes_of_frame(found, f), PosedPaths(paths, path_table, Q, K)
        now = CurrentPaths(w.C, w.I, w.counts, w.S)
        work, twists = ComplexPose(w.X, w.U, w.W), PoseSlopes(w.T, w.column_slopes)
        pose_slopes(tree, table, carriers, PlacedNodes(Q, K, Y), work, twists, 0)
        for k in range(found.status.shape[1]):
            if here.status[k, 0] != UNFINISHED:
                continue
            w.counts[k, 0] = list_points(x, now, k, False, 0)
            w.S[6 * paths.first_slot[k] : 6 * paths.first_slot[k + 1]] = 0.0
            w.D[6 * coordinates.first_moved[k] : 6 * coordinates.first_moved[k + 1]] = 0.0
            here.slopes[k * n_u * n_q : (k + 1) * n_u * n_q] = 0.0
            _finish_slopes(x, coordinates, k, w, here, polylines, 0)
            arms_of_path(x, now, k, Y, False, here.arms, 0)
            arm_slopes_of_path(paths, coordinates, k, Y, w, here.slopes, n_q, 0)
