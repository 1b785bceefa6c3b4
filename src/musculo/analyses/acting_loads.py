"""External loads as users have them (one, several, or a file's over time), at the frames of a motion, and checked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.compile.coordinate_arrays import times_in
from musculo.diagnostics.finding import Finding, warn_of
from musculo.diagnostics.loads import foot_findings, plate_findings, span_findings, unknown_loads
from musculo.dynamics.loads.external import ExternalLoad, Loads, listed
from musculo.embedding.embedded_motion import times_of
from musculo.errors import InvalidInput
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads

# Which foot a load acts on is looked at in so many frames.
_LOOKS = 256


def frame_times(time: ArrayLike | None, q: object, frames: int) -> FloatArray | None:
    """(frames,) when the frames are, from `time` or from what q states; None where neither does [s]."""
    if time is None:
        found = times_in(q)
        return found if found is not None and found.shape == (frames,) else None
    if np.ndim(time) == 0 and frames > 1:
        times_of(time, frames)  # refuse what is no number
        return None  # one number for prescribed forces tells no times of frames
    return times_of(time, frames)


def acting_loads(
    model: Model, Q: FloatArray, loads: Loads, time: FloatArray | None
) -> tuple[list[ExternalLoad], list[Finding]]:
    """Loads at the frames Q (frames, n), and what is doubtful about them, of which warnings are given.

    Raises:
        InvalidInput: loads over time without times of the frames, or of another time altogether.
    """
    acting = listed(loads, len(Q), time)
    findings: list[Finding] = []
    if isinstance(loads, ExternalLoads) and time is not None and len(time):
        if unknown_loads(loads, time).all():
            known = loads.table.time
            raise InvalidInput(
                f"all {len(time)} frames, {time[0]:g} to {time[-1]:g} s, lie outside the external loads of "
                f"{loads.table.source or loads.name!r}, which last from {known[0]:g} to {known[-1]:g} s; are both of "
                "the same trial, and do their times begin at the same instant?"
            )
        findings += [*plate_findings(loads), *span_findings(loads, time)]
    rows = np.unique(np.linspace(0, max(len(Q) - 1, 0), min(len(Q), _LOOKS)).astype(int))
    some = [_rows(load, rows) for load in acting]
    findings += foot_findings(model, Q[rows], some, loads if isinstance(loads, ExternalLoads) else None)
    warn_of(findings)
    return acting, findings


def _rows(load: ExternalLoad, rows: np.ndarray) -> ExternalLoad:
    def some(values: ArrayLike) -> ArrayLike:
        array = np.asarray(values)
        return array[rows] if array.ndim == 2 else array

    return ExternalLoad(
        load.body, some(load.force), some(load.point), some(load.moment), load.force_in, load.point_in, load.source
    )
