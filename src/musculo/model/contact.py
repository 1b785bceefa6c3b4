"""Shapes that may touch, fixed to a frame."""

from __future__ import annotations

from dataclasses import dataclass

from musculo.model.body import Vec3


@dataclass(frozen=True)
class ContactGeometry:
    """A contact shape of `kind` (the file's element) in `frame`: a body name, `ground`, or an offset frame's path.

    X_FC = (Rxyz(orientation), location). `dimensions` are, by kind: sphere and cylinder (radius,); ellipsoid its three
    radii; torus (tube radius, ring radius); half space none; mesh none, its file in `filename`.
    """

    name: str
    kind: str
    frame: str
    location: Vec3 = (0.0, 0.0, 0.0)
    orientation: Vec3 = (0.0, 0.0, 0.0)
    dimensions: tuple[float, ...] = ()
    filename: str = ""
    carried: tuple[str, ...] = ()
