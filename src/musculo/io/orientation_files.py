"""Orientations of sensors from and to OpenSim's `_orientations.sto`: a quaternion (w, x, y, z) in each cell."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from musculo.errors import InvalidFile, InvalidInput
from musculo.io.storage import read_storage
from musculo.io.text import PathLike, exact, write_text
from musculo.results.orientations import Orientations
from musculo.spatial.rotation import axis_rotation

_PARTS = 4


def read_orientations(path: PathLike, sensor_to_opensim_rotations: ArrayLike = (0.0, 0.0, 0.0)) -> Orientations:
    """Read the orientations of sensors.

    Args:
        path: a .sto with `DataType=Quaternion`.
        sensor_to_opensim_rotations: angles [rad] about the axes x, y and z of ground, one after the other, that turn
            the ground of the sensors to one with y up, R = Rz Ry Rx; (-pi/2, 0, 0) where the sensors have z up. The
            element of that name in OpenSim's set-up files.

    Raises:
        InvalidFile: with file, line and column, for everything that is no such table.
    """
    angles = np.asarray(sensor_to_opensim_rotations, dtype=float)
    if angles.shape != (3,) or not np.isfinite(angles).all():
        raise InvalidInput(f"sensor_to_opensim_rotations are {sensor_to_opensim_rotations!r}; give three angles in rad")
    table = read_storage(path)
    kind = {key.lower(): value for key, value in table.header.items()}.get("datatype", "double")
    if kind.lower() != "quaternion":
        raise InvalidFile(f"{table.source}: DataType={kind}; orientations need DataType=Quaternion, with cells w,x,y,z")
    names = tuple(name.removesuffix("_1") for name in table.names[::_PARTS])
    quaternion = table.values.reshape(len(table), len(names), _PARTS)
    try:
        found = Orientations(table.time, names, quaternion, table.notes, table.provenance, table.source)
    except InvalidInput as error:
        raise InvalidFile(str(error)) from None
    return found.rotated(space_fixed_xyz(angles)) if angles.any() else found


def space_fixed_xyz(angles: ArrayLike) -> np.ndarray:
    """Rz(c) Ry(b) Rx(a): turned about the fixed axes x, y and z, one after the other, by the angles (3,) [rad]."""
    a, b, c = np.asarray(angles, dtype=float)
    x, y, z = np.eye(3)
    return np.asarray(axis_rotation(z, c) @ axis_rotation(y, b) @ axis_rotation(x, a))


def write_orientations(orientations: Orientations, path: PathLike) -> None:
    """Write orientations as a .sto that OpenSim's sensor tools read; every digit is kept."""
    if not isinstance(orientations, Orientations):
        raise InvalidInput(f"write_orientations needs Orientations, not {type(orientations).__name__}")
    for name in orientations.names:
        if not name.isprintable() or name != name.strip():
            raise InvalidInput(
                f"a sensor is named {name!r}; tabs, line breaks and blanks at the ends cannot be written"
            )
    steps = np.diff(orientations.time)
    rate = 1.0 / float(np.median(steps)) if len(steps) else 1.0
    # OpenSim's sensor tools want a rate, which changes nothing; a whole number looks like one
    rate = round(rate) if math.isclose(rate, round(rate), rel_tol=1e-3) and round(rate) else rate
    header = [f"DataRate={rate:.6f}", "DataType=Quaternion", "version=3", "OpenSimVersion=4.6"]
    if orientations.provenance is not None:
        header += [f"{key}={value}" for key, value in orientations.provenance.attributes().items()]
    rows = (
        "\t".join((exact(t), *(",".join(map(exact, quaternion)) for quaternion in row)))
        for t, row in zip(orientations.time.tolist(), orientations.quaternion.tolist(), strict=True)
    )
    write_text(path, [*header, "endheader", "\t".join(("time", *orientations.names)), *rows])
