"""Muscles for the tests of paths: points of all kinds on any model."""

from __future__ import annotations

import numpy as np

from musculo import Model
from musculo.embedding.speed_rates import turning_joints
from musculo.functions import SimmSpline
from musculo.model.force import Muscle
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint

KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)


def with_muscles(model: Model, rng: np.random.Generator, muscles: int = 12) -> Model:
    """Points of all kinds on random bodies and joint frames; moving ones follow coordinates with u = qdot."""
    frames = [*model.body_names, "ground", *(f"/jointset/{j.name}/{j.parent.name}" for j in model.joints)]
    turning = {column for joint in turning_joints(model) for column in joint.q}
    plain = [name for k, name in enumerate(model.coordinate_names) if k not in turning]
    made = []
    for i in range(muscles):
        points = []
        for k in range(int(rng.integers(2, 6))):
            name, frame, at = f"p{k}", str(rng.choice(frames)), tuple(rng.uniform(-0.3, 0.3, 3))
            draw = rng.uniform()
            if draw < 0.2:
                # states are 0.3 to 0.7 from zero, so no edge is near
                points.append(
                    ConditionalPathPoint(name, frame, at, coordinate=str(rng.choice(plain)), range=(0.0, 9.0))
                )
            elif draw < 0.5:
                x, y, z = (SimmSpline(KNOTS, tuple(rng.uniform(-0.2, 0.2, 5))) for _ in range(3))
                a, b = (str(n) for n in rng.choice(plain, 2))
                still = float(z(0.0))
                points.append(MovingPathPoint(name, frame, x=x, y=y, z=still, x_coordinate=a, y_coordinate=b))
            else:
                points.append(PathPoint(name, frame, at))
        ends = (PathPoint("origin", "ground", (0.1, 0.2, 0.3)), PathPoint("end", str(rng.choice(model.body_names))))
        made.append(Muscle(f"m{i}", "Thelen2003Muscle", path=Path((ends[0], *points, ends[1]))))
    return model.replace(forces=tuple(made))
