"""Markers of recordings in the Brain Imaging Data Structure (BIDS), its extension for motion.

Source: https://bids-specification.readthedocs.io, Motion; Jeung et al. (2024), Scientific Data 11, 716.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np

from musculo.errors import InvalidFile
from musculo.io.lengths import METRES
from musculo.io.text import PathLike, checked_path, read_lines
from musculo.results.markers import Markers

ENDING = "_motion.tsv"
_KIND = f"a recording of motion in BIDS (..{ENDING})"
_AXES = ("x", "y", "z")


def read_bids_motion(path: PathLike) -> Markers:
    """Positions of tracked points, in the axes of the laboratory.

    Columns have no names in the file itself; `.._channels.tsv` beside it names them, with the point, the axis and the
    unit of each, and `.._motion.json` has the rate. Channels of other types (orientations, accelerations) are not used.
    """
    where = checked_path(path, _KIND)
    if not where.endswith(ENDING):
        raise InvalidFile(f"{where} should end in {ENDING}")
    stem = where.removesuffix(ENDING)
    channels = _channels(f"{stem}_channels.tsv")
    rate = _rate(f"{stem}_motion.json", channels)
    rows = [line.split("\t") for line in read_lines(path, _KIND) if line.strip()]
    if not rows or any(len(row) != len(channels) for row in rows):
        widths = sorted({len(row) for row in rows})
        raise InvalidFile(f"{where}: lines have {widths} columns, and {stem}_channels.tsv names {len(channels)}")
    try:
        values = np.array([[np.nan if cell.strip() in ("n/a", "") else float(cell) for cell in row] for row in rows])
    except ValueError as error:
        raise InvalidFile(f"{where}: {error}; cells are numbers, or n/a") from None
    places: dict[str, dict[str, int]] = {}
    scale = np.ones(len(channels))
    for k, channel in enumerate(channels):
        if channel.get("type", "").upper() == "POS" and channel.get("component", "").lower() in _AXES:
            unit = channel.get("units", "m")
            if unit not in METRES:
                raise InvalidFile(
                    f"{stem}_channels.tsv: the unit of {channel.get('name')!r} is {unit!r}; known: m, mm, cm"
                )
            scale[k] = METRES[unit]
            point = channel.get("tracked_point") or channel.get("name", "")
            places.setdefault(point, {})[channel["component"].lower()] = k
    names = [name for name, axes in places.items() if len(axes) == 3]
    if not names:
        raise InvalidFile(f"{stem}_channels.tsv names no point with channels of type POS for x, y and z")
    position = np.stack([(values * scale)[:, [places[name][axis] for axis in _AXES]] for name in names], axis=1)
    position[np.isnan(position).any(axis=2)] = np.nan
    markers = Markers(np.arange(len(values)) / rate, tuple(names), position, rate, (), None, where)
    return markers


def _channels(path: str) -> list[dict[str, str]]:
    lines = read_lines(path, "the channels of a recording of motion in BIDS")
    return [dict(row) for row in csv.DictReader(lines, delimiter="\t")]


def _rate(path: str, channels: list[dict[str, str]]) -> float:
    """Frames a second, from the JSON file, else from the channels."""
    stated: object = None
    if Path(path).is_file():
        try:
            stated = json.loads(Path(path).read_text(encoding="utf-8")).get("SamplingFrequency")
        except (OSError, ValueError, AttributeError) as error:
            raise InvalidFile(f"{path} cannot be read ({error})") from None
    if stated is None and channels:
        stated = channels[0].get("sampling_frequency")
    try:
        rate = float(stated)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        rate = 0.0
    if not 0.0 < rate < 1e6:
        raise InvalidFile(f"{path}: SamplingFrequency is {stated!r}; it should be the frames a second")
    return rate
