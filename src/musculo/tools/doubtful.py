"""What in results is doubtful: angles that no body has, markers without a partner, plates under the other foot, lengths
of paths that hold a price."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from musculo.analyses.odd_angles import OddAngle, angles_far_outside, leaping_angles
from musculo.analyses.plates_and_feet import MisplacedLoad, free_base, misplaced_loads
from musculo.compile.frames import FloatArray
from musculo.dynamics.external import ExternalLoad
from musculo.model.model import Model
from musculo.muscle.geometry import STATUSES, PathGeometry
from musculo.results.angles import rotational_coordinates
from musculo.results.markers import Markers
from musculo.tools.work import Work, listed_frames

_MOST_NAMES = 12
_SAME_TIME = 1e-6  # [s]
_SMALL_PRICE = 1e-3  # [m] what lines of their own are not worth
_MOST_LINES = 10


def say_angles(model: Model, time: FloatArray, q: FloatArray, work: Work) -> None:
    """Angles that leap, which leaves frames that mean nothing, and those far outside their range."""
    leaping, outside = leaping_angles(model, time, q), angles_far_outside(model, q)
    if leaping:
        work.trouble(
            f"inverse kinematics: angles leap from one frame to the next: {in_words(leaping, time)}; look for swapped "
            "labels, outliers and gaps there"
        )
    if outside:
        work.note(
            f"angles are far outside the ranges that the model states: {in_words(outside, time)}; look at markers and "
            "labels, or clamp the coordinates"
        )


def in_words(odd: Sequence[OddAngle], time: FloatArray, most: int = 3) -> str:
    """Names, by how many degrees at most, and when."""
    parts = [
        f"{one.name} by {np.degrees(one.most):.0f} deg at {time[one.worst]:g} s"
        + (
            f" (in {len(one.frames)} frames, {listed_frames(one.frames.tolist(), time, 3)})"
            if len(one.frames) > 1
            else ""
        )
        for one in odd[:most]
    ]
    rest = f" and {len(odd) - most} more coordinates" if len(odd) > most else ""
    return ", ".join(parts) + rest


def say_partners(model: Model, markers: Markers, followed: Collection[str], tasked: bool, work: Work) -> None:
    """Markers that only the model or only the recording has, and those that were never seen.

    Where tasks choose the markers (`tasked`), those of the model that are lost are told with the tasks, and set-up
    files leave out others on purpose.
    """
    lost = [name for name in model.marker_names if name not in markers.names]
    strangers = [name for name in markers.names if name not in model.marker_names]
    never = [name for name in followed if np.isnan(markers.marker(name)).all()]
    if lost and not tasked:
        work.note(f"markers of the model that the recording lacks, so not followed ({len(lost)}): {_listed(lost)}")
    if strangers and not (tasked and work.of_file):
        work.note(f"recorded markers that the model lacks, so not followed ({len(strangers)}): {_listed(strangers)}")
    if never:
        work.note(f"markers that no frame in use shows ({len(never)}): {_listed(never)}")


def say_padding(recording: FloatArray, time: FloatArray, work: Work) -> None:
    """Rows beyond the times (frames,) of a recording, which OpenSim's filter adds."""
    outside = int(((time < recording[0] - _SAME_TIME) | (time > recording[-1] + _SAME_TIME)).sum())
    if outside:
        work.note(f"{outside} of {len(time)} rows lie outside the recording, in what OpenSim's filter reflects")


def say_feet(model: Model, q: FloatArray, loads: Sequence[ExternalLoad], work: Work) -> None:
    """Loads that seem to act on the wrong foot, and a walker that stands on nothing."""
    for one in misplaced_loads(model, q, loads):
        work.note(misplaced_in_words(one))
    base = free_base(model)
    turning = rotational_coordinates(model)
    if not loads and any(name not in turning for name in base) and np.any(model.gravity):
        work.note(
            f"no external loads are given, and nothing holds the model but the forces at {', '.join(base)}: moments "
            "are those of a body that hangs there; give external loads, if it stands on anything"
        )


def misplaced_in_words(one: MisplacedLoad) -> str:
    return (
        f"the external load on {one.body} acts {one.distance:.2g} m from it and {one.other_distance:.2g} m from "
        f"{one.other} (medians; much nearer to that in {100 * one.part:.0f} % of the loaded frames): is it on the "
        "wrong foot? Residuals do not tell"
    )


def _listed(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + rest


def say_paths(g: PathGeometry, muscles: Sequence[str], time: FloatArray, work: Work, name: str) -> None:
    """What the geometry (of frames) notes of its model, and which of these muscles have prices and statuses.

    `name` is that of the analysis.
    """
    notes = [note for note in g.model_notes if any(repr(muscle) in note for muscle in muscles)]
    for note in notes[:_MOST_LINES]:
        work.note(f"{name}: {note}")
    if len(notes) > _MOST_LINES:
        work.note(f"{name}: {len(notes) - _MOST_LINES} more of these (notes of musculo.muscle_geometry)")
    columns = [k for k, path in enumerate(g.names) if path in muscles]
    names = [g.names[k] for k in columns]
    say_prices(names, g.price[:, columns], time, work, name)
    _say_statuses(names, g.status[:, columns], work, name)


def say_prices(names: Sequence[str], price: FloatArray, time: FloatArray, work: Work, name: str) -> None:
    """Which lengths (frames, muscles) have a price, where and how much; the largest of each is kept for the page."""
    most = price.max(axis=0, initial=0.0)
    order = [int(k) for k in np.argsort(-most, kind="stable") if most[k] > 0.0]
    if order:
        work.prices |= {names[k]: float(most[k]) for k in order}
        count = f"{len(order)} of {len(names)} muscles {'has' if len(order) == 1 else 'have'}"
        work.note(
            f"{name}: {count} lengths with a price, in {int(price.any(axis=1).sum())} of {len(time)} frames: a path "
            "that breaks a rule of the model, such as the side of a quadrant, counts as longer than it is; moment arms "
            "there include the slope of the price and may be far too large"
        )
    large = [k for k in order if most[k] > _SMALL_PRICE]
    for k in large[:_MOST_LINES]:
        frames = np.flatnonzero(price[:, k])
        work.note(
            f"{name}: price of {names[k]!r}: in {len(frames)} of {len(time)} frames, frame {frames[0]} "
            f"({time[frames[0]]:g} s) the first of them, {1e3 * most[k]:.3g} mm at most (frame {price[:, k].argmax()})"
        )
    if len(large) > _MOST_LINES:
        work.note(f"{name}: {len(large) - _MOST_LINES} more muscles have prices above {1e3 * _SMALL_PRICE:g} mm")


def _say_statuses(names: Sequence[str], status: NDArray[np.int8], work: Work, name: str) -> None:
    """Paths (frames, paths) that a rule had to step in for, by what it was, in one line."""
    parts = []
    for code, word in enumerate(STATUSES[1:], start=1):
        frames = (status == code).sum(axis=0)
        found = [f"{names[k]} {frames[k]}" for k in np.argsort(-frames, kind="stable") if frames[k]]
        if found:
            more = f" and {len(found) - 3} more" if len(found) > 3 else ""
            parts.append(f"{word}: {', '.join(found[:3])}{more}")
    if parts:
        work.note(f"{name}: statuses of paths other than {STATUSES[0]}, frames of {len(status)}: {'; '.join(parts)}")
