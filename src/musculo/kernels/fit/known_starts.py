"""Poses of frames of which each is started from a pose of its own that is near, as samples of a trial have it."""

from __future__ import annotations

from musculo.kernels.compiler.parts import driver
from musculo.kernels.fit.pose_fit import Misfit, Recorded
from musculo.kernels.fit.pose_search import nearest_pose, space_for


@driver
def fit_from_starts(model, unknowns, recorded, tolerance, most, found, start, stop):
    """Frames start .. stop - 1, each to the minimum nearest to its row of q; arrays as `track_frames` takes them.

    Coordinates that are given (locked, prescribed) are in q already. No other start is tried.

    Args:
        recorded: `Recorded`, the frame first. found: `TrackedFrames`, q read and all written.
    """
    q, misfit = found.q, found.misfit
    space = space_for(model, unknowns, q.shape[1])
    for f in range(start, stop):
        here = Recorded(recorded.markers[f : f + 1].T, recorded.sensors[f : f + 1].T, recorded.goals[f : f + 1].T)
        errors = Misfit(misfit.distance[f : f + 1].T, misfit.angle[f : f + 1].T)
        found.objective[f], found.status[f], found.iterations[f] = nearest_pose(
            model, unknowns, here, (tolerance, most), q[f : f + 1].T, space, errors, 0
        )
