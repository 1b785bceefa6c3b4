"""Derivatives of moment arms of all paths over all frames on the CPU."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from musculo.kernels.compiler.parts import driver, inline, room
from musculo.kernels.paths.moment_arm_slopes import (
    ArmSlopes,
    PathCoordinates,
    SlopeWork,
    arm_slopes,
    wrap_slopes,
)
from musculo.kernels.paths.path_arms import moment_arms
from musculo.kernels.paths.path_points import ENTRY_ROWS, TAG_ROWS, CurrentPaths, PosedPaths, active_points, first_entry
from musculo.kernels.tree.derivatives.pose_slopes import ComplexPose, PoseSlopes, pose_slopes
from musculo.kernels.tree.node_kinematics import PlacedNodes
from musculo.kernels.tree.tree_frames import work_rows
from musculo.kernels.wrapping.geodesic.obstacle_workspace import OBSTACLE_TAGS, geodesic_rows
from musculo.kernels.wrapping.geodesic.taut_path_slopes import slope_rows
from musculo.kernels.wrapping.rules.wrap_geodesic import most_wraps


class PathModel(NamedTuple):
    """What a model's paths and their slopes depend on."""

    tree: Any  # `Tree`
    table: Any  # functions of its joints
    paths: Any  # `Paths`
    path_table: Any  # functions of the moving points
    carriers: Any  # `Carriers`
    coordinates: PathCoordinates


@room
def slope_work(tree, paths, coordinates, n_q, n_u):
    """Room for one lane."""
    n_paths = paths.first_point.size - 1
    entries, most, widest = first_entry(paths, n_paths), most_wraps(paths), 0
    for k in range(n_paths):
        widest = max(widest, coordinates.first[k + 1] - coordinates.first[k])
    return SlopeWork(
        np.zeros((ENTRY_ROWS * entries + geodesic_rows(most), 1)),
        np.zeros((TAG_ROWS * entries + OBSTACLE_TAGS * most, 1), dtype=np.int64),
        np.zeros((n_paths, 1), dtype=np.int64),
        np.zeros((6 * paths.slot_node.size, 1)),
        np.zeros((slope_rows(most, widest), 1)),
        np.zeros((6 * coordinates.moved.size, 1)),
        np.zeros((6 * n_q, 1)),
        np.zeros((6 * n_u * n_q, 1)),
        np.zeros((n_q, 1), dtype=np.complex128),
        np.zeros((n_u, 1), dtype=np.complex128),
        np.zeros((work_rows(tree), 1), dtype=np.complex128),
    )


@inline
def slopes_of_frame(found, f):
    """The results of one frame, the lane last."""
    return ArmSlopes(
        found.arms[f : f + 1].T, found.slopes[f : f + 1].T, found.status[f : f + 1].T, found.exact[f : f + 1].T
    )


@driver
def moment_arm_slope_frames(model, poses, found, start, stop):
    """Frames start .. stop - 1 of arrays with the frame first.

    Paths whose status is UNFINISHED then are for `second_pass_slope_frames`.

    Args:
        model: `PathModel`. poses: `PoseFrames`. found: `ArmSlopes`, written.
    """
    tree, table, paths, path_table = model.tree, model.table, model.paths, model.path_table
    carriers, coordinates = model.carriers, model.coordinates
    n_q, n_u = poses.q.shape[1], poses.columns.shape[1] // 6
    w = slope_work(tree, paths, coordinates, n_q, n_u)
    for f in range(start, stop):
        Q, K, Y = poses.q[f : f + 1].T, poses.motion[f : f + 1].T, poses.columns[f : f + 1].T
        here = slopes_of_frame(found, f)
        work, twists = ComplexPose(w.X, w.U, w.W), PoseSlopes(w.T, w.column_slopes)
        pose_slopes(tree, table, carriers, PlacedNodes(Q, K, Y), work, twists, 0)
        x, now = PosedPaths(paths, path_table, Q, K), CurrentPaths(w.C, w.I, w.counts, w.S)
        active_points(x, now, False, 0)
        w.S[:] = 0.0
        wrap_slopes(x, coordinates, w, here, 0)
        moment_arms(x, now, Y, False, here.arms, 0)
        arm_slopes(paths, coordinates, Y, w, here.slopes, n_q, 0)
