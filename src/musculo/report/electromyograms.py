"""Electromyograms behind the activations of a section, and a table of how well both go together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from musculo.analyses.measured_activations import Measured
from musculo.report.page_parts import Curve, Panel, TextTable
from musculo.signals.emg import BAND, ENVELOPE, EmgAgreement


def with_electromyograms(
    panels: tuple[Panel, ...], measured: Sequence[Measured]
) -> tuple[tuple[Panel, ...], tuple[TextTable, ...], str]:
    """Panels with the envelopes of their muscles, the table, and what there is to say; nothing changes without any."""
    if not measured:
        return panels, (), ""
    shown = tuple(replace(one, curves=(*_areas(one, measured), *one.curves)) for one in panels)
    rows = tuple(
        (
            one.channel.name,
            ", ".join(one.channel.muscles),
            *(_said(one.agreement.get(side)) for side in _sides(one)),
        )
        for one in measured
    )
    table = TextTable("Electromyograms", ("channel", "muscles", "right", "left"), rows, ("right", "left"))
    low, high = BAND
    made = (
        f" Envelopes are made of the raw signals: {low:g} to {high:g} Hz, rectified, {ENVELOPE:g} Hz."
        if any(one.raw for one in measured)
        else ""
    )
    text = (
        "Areas are electromyograms, scaled to the largest activation of their muscle: their times tell, not their "
        f"heights.{made} The table has the correlation of envelope and activation, and the delay that fits best."
    )
    if any(not one.channel.side for one in measured):
        text += " Channels without a side in their names are compared with both sides (--emg-side says theirs)."
    return shown, (table,), text


def _areas(panel: Panel, measured: Sequence[Measured]) -> list[Curve]:
    """Curves of the channels of a panel's muscles."""
    found = []
    for one in measured:
        own = [c for c in panel.curves if c.name in one.channel.muscles and one.channel.side in ("", c.side)]
        if own:
            top = max(float(np.nanmax(curve.values, initial=0.0)) for curve in own)
            name = f"EMG {one.channel.name}"
            found.append(Curve(name, own[0].time, top * one.envelope, one.channel.side, measured=True))
    return found


def _sides(one: Measured) -> tuple[str, ...]:
    """The keys of the columns right and left; muscles without a side stand to the right."""
    return ("r" if "r" in one.agreement or "" not in one.agreement else "", "l")


def _said(found: EmgAgreement | None) -> str:
    return f"{found.correlation:.2f} at {1e3 * found.delay:.0f} ms" if found is not None else "–"
