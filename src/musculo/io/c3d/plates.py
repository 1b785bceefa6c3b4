"""Force plates of a C3D file: channels to forces, moments and centers of pressure.

A plate has axes of its own: x from its second corner to the first, y from the fourth to the first, z = x cross y, which
points into the floor. What the file stores is the reaction to the subject, along these axes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from musculo.arrays import FloatArray
from musculo.io.c3d.file import C3DFile
from musculo.io.lengths import METRES
from musculo.results.force_plates import VERTICAL, ForcePlate

CHANNELS = {1: 6, 2: 6, 3: 8, 4: 6}
_NEWTONS = {"": 1.0, "n": 1.0, "newton": 1.0, "newtons": 1.0, "kn": 1000.0}
# Below it the center of pressure is noise divided by noise.
NOISE = 5.0  # [N]
LOAD = 50.0  # [N] a foot stood on the plate


def read_plates(file: C3DFile, time: FloatArray, length: float, notes: list[str]) -> tuple[ForcePlate, ...]:
    """The plates in the laboratory's axes.

    Args:
        file: the C3D file.
        time: (samples,) of the analog channels [s].
        length: the file's unit of length [m].
        notes: what is odd goes here.
    """
    used = file.numbers("FORCE_PLATFORM", "USED")
    count = int(used.flat[0]) if used is not None and np.isfinite(used.flat[0]) else 0
    plates = []
    for k in range(min(max(count, 0), 255)):
        plate = _plate(file, k, time, length, notes)
        if plate is not None:
            plates.append(plate)
    return tuple(plates)


def say_pull(plates: Sequence[ForcePlate], notes: list[str]) -> None:
    """A note on every plate (in ground) that pulls: the ground pushes a subject up."""
    for plate in plates:
        vertical = plate.force[:, VERTICAL]
        if -vertical.min() > LOAD and -vertical.min() > vertical.max():
            notes.append(
                f"force plate {plate.name} pulls the subject down ({vertical.min():.0f} N): the file may hold the "
                "force on the plate, or its corners in another order, or another axis is up"
            )


def _plate(file: C3DFile, k: int, time: FloatArray, length: float, notes: list[str]) -> ForcePlate | None:
    name = str(k + 1)
    kind, corners, origin = _geometry(file, k)
    if kind not in CHANNELS:
        notes.append(f"force plate {name} is of type {kind}; types 1 to 4 can be read, this one is ignored")
        return None
    columns = _columns(file, k, CHANNELS[kind])
    if corners is None or origin is None or columns is None:
        notes.append(f"force plate {name} lacks corners, origin or channels in the file, and is ignored")
        return None
    channels = file.analog[:, columns]
    if not np.isfinite(channels).all():
        notes.append(f"force plate {name} has samples that are not finite numbers, and is ignored")
        return None
    if kind == 4:
        matrix = _calibration(file, k)
        if matrix is None:
            notes.append(f"force plate {name} (type 4) lacks its calibration matrix, and is ignored")
            return None
        channels = channels @ matrix.T
    axes = _axes(corners)
    if axes is None:
        notes.append(f"the corners of force plate {name} span no surface; it is ignored")
        return None
    forces = slice(0, 8 if kind == 3 else 3)
    channels = np.array(channels)
    channels[:, forces] *= _force_unit(file, k, kind, columns, notes)
    F, M, cop, T = wrench(kind, channels, origin * length, _moment_unit(file, columns, length), length)
    center = corners.mean(axis=0) * length
    return ForcePlate(name, time, F @ axes.T, M @ axes.T, center + cop @ axes.T, T @ axes.T, corners * length, kind)


def wrench(
    kind: int, channels: FloatArray, origin: FloatArray, moment_unit: float, length: float
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Force, moment about the center of the surface, center of pressure from there, free moment; in the plate's axes.

        M = M_o - r x F,   x = -M_y / F_z,   y = M_x / F_z,   T = M - (x, y, 0) x F

    with r from the origin of the transducer to the center of the surface (FORCE_PLATFORM:ORIGIN, z negative as z points
    down; a positive one is a common mistake of files and is turned round). Type 1 stores the center of pressure and the
    free moment; type 3 the sums of four pillars at (+-a, +-b), with r = (0, 0, c) and ORIGIN = (a, b, c).

    Source:  C3D User Guide, "The FORCE_PLATFORM group".
    Departs: from ezc3d in the sign of the moment of type 1, which there is opposite to that of the other types, and in
             type 3 with a positive c, where only c is turned round, not a and b.

    Args:
        kind: 1 to 4; channels of type 4 come calibrated.
        channels: (n, 6 or 8) [N], moments in `moment_unit` [N m], positions in `length` [m].
        origin: (3,) [m].
    """
    x, y, z = origin
    if kind == 3:
        fx12, fx34, fy14, fy23, fz1, fz2, fz3, fz4 = channels.T
        F = np.stack((fx12 + fx34, fy14 + fy23, fz1 + fz2 + fz3 + fz4), axis=1)
        M = np.stack(
            (y * (fz1 + fz2 - fz3 - fz4), x * (-fz1 + fz2 + fz3 - fz4), y * (fx34 - fx12) + x * (fy14 - fy23)), axis=1
        )
        M = M - np.cross((0.0, 0.0, -abs(z)), F)
    elif kind == 1:
        F = channels[:, :3]
        cop = np.column_stack((channels[:, 3:5] * length, np.zeros(len(F))))
        T = np.column_stack((np.zeros((len(F), 2)), channels[:, 5] * moment_unit))
        empty = np.abs(F[:, 2]) < NOISE
        M = np.where(empty[:, None], 0.0, np.cross(cop, F)) + T
        cop[empty], T[empty] = np.nan, np.nan
        return F, M, cop, T
    else:
        F = channels[:, :3]
        r = -origin if z > 0.0 else origin
        M = channels[:, 3:6] * moment_unit - np.cross(r, F)
    normal = np.where(np.abs(F[:, 2]) < NOISE, np.nan, F[:, 2])
    cop = np.column_stack((-M[:, 1] / normal, M[:, 0] / normal, np.where(np.isnan(normal), np.nan, 0.0)))
    return F, M, cop, M - np.cross(cop, F)


def _geometry(file: C3DFile, k: int) -> tuple[int, FloatArray | None, FloatArray | None]:
    kinds = file.numbers("FORCE_PLATFORM", "TYPE")
    kind = int(kinds.flat[k]) if kinds is not None and kinds.size > k and np.isfinite(kinds.flat[k]) else 0
    corners = _nth(file, "CORNERS", k, 12)
    origin = _nth(file, "ORIGIN", k, 3)
    return kind, None if corners is None else corners.reshape(4, 3), origin


def _nth(file: C3DFile, name: str, k: int, size: int) -> FloatArray | None:
    """The numbers of plate k of a parameter that holds `size` for each plate, as they are stored."""
    values = file.numbers("FORCE_PLATFORM", name)
    if values is None or values.size < size * (k + 1):
        return None
    part = values.ravel(order="F")[size * k : size * (k + 1)]
    return part if np.isfinite(part).all() else None


def _columns(file: C3DFile, k: int, count: int) -> list[int] | None:
    channel = file.numbers("FORCE_PLATFORM", "CHANNEL")
    if channel is None:
        return None
    table = channel.reshape(channel.shape[0], -1, order="F")
    if table.shape[0] < count or table.shape[1] <= k or not np.isfinite(table[:count, k]).all():
        return None
    columns = [int(c) - 1 for c in table[:count, k]]
    return columns if all(0 <= c < file.analog.shape[1] for c in columns) else None


def _calibration(file: C3DFile, k: int) -> FloatArray | None:
    values = file.numbers("FORCE_PLATFORM", "CAL_MATRIX")
    if values is None or values.ndim < 2 or values.shape[:2] != (6, 6):
        return None
    part = _nth(file, "CAL_MATRIX", k, 36)
    return None if part is None else part.reshape(6, 6, order="F")


def _axes(corners: FloatArray) -> FloatArray | None:
    """(3, 3) the plate's axes as columns, in the laboratory."""
    x, toward_y = corners[0] - corners[1], corners[0] - corners[3]
    z = np.cross(x, toward_y)
    lengths = np.linalg.norm(x), np.linalg.norm(z)
    if not np.isfinite(lengths).all() or lengths[0] <= 0.0 or lengths[1] <= 1e-9 * lengths[0] ** 2:
        return None
    x, z = x / lengths[0], z / lengths[1]
    return np.stack((x, np.cross(z, x), z), axis=1)


def _force_unit(file: C3DFile, k: int, kind: int, columns: list[int], notes: list[str]) -> float:
    """The unit of the force channels [N]; those of type 4 become newtons by their calibration."""
    word = _unit(file, columns[0])
    if kind != 4 and word not in _NEWTONS:
        notes.append(
            f"the force channels of force plate {k + 1} are in {word!r:.20}; newtons were assumed: are they calibrated?"
        )
    return _NEWTONS.get(word, 1.0) if kind != 4 else 1.0


def _moment_unit(file: C3DFile, columns: list[int], length: float) -> float:
    """The unit of the moment channels [N m]: as their own units say, else newton times the unit of points."""
    word = _unit(file, columns[-1])
    kilo = word.startswith("kn")
    meters = METRES.get(word.removeprefix("k")[1:], length) if word.startswith(("n", "kn")) else length
    return 1000.0 * meters if kilo else meters


def _unit(file: C3DFile, column: int) -> str:
    units = file.texts("ANALOG", "UNITS")
    return units[column].lower().replace(".", "").replace("*", "").replace(" ", "") if column < len(units) else ""
