"""What tools say of their inputs: loads that end before a motion does, a filter that would suit, unseen columns."""

from __future__ import annotations

from musculo.arrays import FloatArray
from musculo.diagnostics.loads import span_findings, unknown_loads
from musculo.model.model import Model
from musculo.opensim_tools.preparation import suggested_cutoff
from musculo.opensim_tools.work import SAME_TIME, Work, told_apart
from musculo.results.external_loads import ExternalLoads
from musculo.results.table import Table


def say_span(loads: ExternalLoads | None, time: FloatArray, recording: FloatArray, work: Work) -> None:
    """Frames at which external loads are not known: their splines go on as lines, which may be far off.

    Frames beyond the times of the `recording`, which OpenSim's filter adds, are another matter.
    """
    if loads is None or len(loads.table) < 2:
        return  # one row is a constant load
    time = time[(time >= recording[0] - SAME_TIME) & (time <= recording[-1] + SAME_TIME)]
    if not len(time):
        return
    known, outside = loads.table.time, int(unknown_loads(loads, time).sum())
    whose = loads.table.source or loads.source
    if outside == len(time):
        work.nothing_shared(
            f"all {len(time)} frames, {time[0]:g} to {time[-1]:g} s, lie outside the external loads of {whose}, which "
            f"last from {known[0]:g} to {known[-1]:g} s"
        )
    elif outside:
        span = work.advised_span(max(known[0], time[0]), min(known[-1], time[-1]))
        work.tell(one._replace(text=f"{one.text}; {span}") for one in span_findings(loads, time))


def suggest_cutoff(table: Table, model: Model, cutoff: float, work: Work) -> None:
    """Where flags ask for no filter, say which one would suit: derivatives of unfiltered coordinates are noise."""
    if cutoff >= 0.0 or work.of_file:
        return
    found = suggested_cutoff(table, model)
    if found is not None:
        work.note(f"coordinates are not filtered; residual analysis suggests {found}; --lowpass auto takes it")


def say_unseen_columns(table: Table, model: Model, work: Work) -> None:
    """Name columns that OpenSim's analyze tool ignores: those of such coordinates that do not end in /value."""
    known = {form: name for name in told_apart(model) for form in (name, f"jointset/{name}")}
    unseen = [column for column in table.names if column.strip("/") in known]
    if unseen:
        work.note(
            f"{table.source}: columns {', '.join(unseen)} are read, which OpenSim ignores since several joints "
            f"have coordinates of that name: call them by their paths (/jointset/{known[unseen[0].strip('/')]}/value)"
        )
