"""What muscles do to bodies in absolute coordinates."""

from __future__ import annotations

import numpy as np

from musculo.absolute.absolute_analysis import AbsoluteAnalysis
from musculo.arrays import FloatArray
from musculo.errors import Unsupported
from musculo.model.body import GROUND
from musculo.model.model import Model
from musculo.model.model_path import MovingPathPoint
from musculo.muscle.path_loads.path_wrenches import PathWrenches


def muscle_jacobian(model: Model, found: AbsoluteAnalysis, geometry: PathWrenches) -> FloatArray:
    """Phi (frames, muscles, n_unknowns): Phi^T F are the forces of tensions F on the velocities of the mechanism.

        F dl = -F sum over straight parts AB of l_AB . (dr_B - dr_A),   nothing along a surface

    so that each body feels l at the points that are fixed to it and at the ends of its contacts. Velocities are those
    of mass centers in ground and angular velocities in body axes, so that norms of Euler parameters play no part.

    Source: Ruggiero2020 eq. 27 with the coordinates of eq. 17.

    Args:
        model: the model.
        found: a kinematic analysis of its mechanism.
        geometry: `path_wrenches` of the same frames.

    Raises:
        Unsupported: a muscle with a point that moves along its body, which acts on a coordinate, too.
    """
    for muscle in model.muscles:
        moving = [p.name for p in getattr(muscle.path, "points", ()) if isinstance(p, MovingPathPoint)]
        if moving:
            raise Unsupported(
                f"muscle {muscle.name!r} has the moving path point {moving[0]!r}, which acts on a coordinate beside "
                "its body; its Jacobian has no part for that: use musculo.static_optimization"
            )
    names = list(model.body_names)
    rotations = {name: found.rotation(name) for name in names}
    jacobian = np.zeros((len(found.x), len(model.muscles), found.mechanism.n_unknowns))
    n = len(model.muscles)
    for row, (path, body) in enumerate(zip(geometry.row_path, geometry.row_body, strict=True)):
        name = geometry.body_names[body]
        if path >= n or name == GROUND:
            continue
        k = names.index(name)
        moment, force = geometry.wrench[:, row, :3], geometry.wrench[:, row, 3:]
        about = moment - np.cross(found.x[:, 7 * k : 7 * k + 3], force)
        jacobian[:, path, 6 * k : 6 * k + 3] += force
        jacobian[:, path, 6 * k + 3 : 6 * k + 6] += np.einsum("fji,fj->fi", rotations[name], about)
    return jacobian
