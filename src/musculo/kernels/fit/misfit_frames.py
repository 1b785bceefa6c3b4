"""Misfit of poses over frames with its slopes, for searches that are made outside of kernels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray
from musculo.kernels.compiler.parts import driver
from musculo.kernels.fit.pose_fit import Misfit, Recorded, fit, slopes_of_fit
from musculo.kernels.fit.pose_search import space_for


class FitFrames(NamedTuple):
    """Poses and how well they fit, the frame first."""

    q: FloatArray  # (frames, n) of which coordinates that follow others by couplers are written
    misfit: Misfit
    objective: FloatArray  # (frames,)
    gradient: FloatArray  # (frames, free)
    hessian: FloatArray  # (frames, free free)


@driver
def fit_frames(model, unknowns, recorded, newton, found, start, stop):
    """Objective, gradient and Hessian at the poses of frames start .. stop - 1 of `FitFrames`.

    `newton`: see `slopes_of_fit`.
    """
    tree, _, _, _, _ = model
    q, misfit, objective, gradient, hessian = found.q, found.misfit, found.objective, found.gradient, found.hessian
    n_q, n_u, free = q.shape[1], tree.u_rows.size, unknowns.speed.size
    space = space_for(model, unknowns, n_q)
    here = np.zeros((n_q, 1))
    for f in range(start, stop):
        for k in range(n_q):
            here[k, 0] = q[f, k]
        known = Recorded(recorded.markers[f : f + 1].T, recorded.sensors[f : f + 1].T, recorded.goals[f : f + 1].T)
        off = Misfit(misfit.distance[f : f + 1].T, misfit.angle[f : f + 1].T)
        objective[f] = fit(model, known, here, space, off, 0)
        for k in range(n_q):
            q[f, k] = here[k, 0]
        slopes_of_fit(model, known, newton, here, space, 0)
        for i in range(free):
            row = unknowns.speed[i]
            gradient[f, i] = space.gradient[row, 0]
            for j in range(free):
                hessian[f, i * free + j] = space.hessian[row * n_u + unknowns.speed[j], 0]
