"""Electromyograms as activations that an optimum should stay near."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from musculo.analyses.muscle_channels import muscle_channels
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.model.model import Model
from musculo.model.named_sides import side_of
from musculo.results.table import Table
from musculo.signals.emg import emg_envelope

# A signal that is below zero by more than this share of its largest value is no envelope yet.
_RAW = 0.05
# Envelopes of a maximal contraction are 1; a little more is noise of the measurement.
_MOST = 1.2
_ALL = ""  # of `largest`: all channels that are not named
# Frames beyond the measurement by no more than this have its first or last value [s].
_BEYOND = 0.02


def is_raw(signal: FloatArray) -> bool:
    """Whether a signal swings about zero, as no envelope does."""
    return bool(np.nanmin(signal, initial=0.0) < -_RAW * np.abs(signal[np.isfinite(signal)]).max(initial=0.0))


def envelope_of(table: Table, channel: str) -> FloatArray:
    """(frames,) the envelope of a channel at its own times, in its own unit."""
    signal = table.column(channel)
    return emg_envelope(table.time, signal) if is_raw(signal) else np.maximum(signal, 0.0)


def assigned_channels(
    table: Table, model: Model | None, channels: Sequence[tuple[str, str]] = (), side: str = ""
) -> Table:
    """The table with channels called after their muscles: a channel that has several muscles is there several times.

    Args:
        table: of all channels.
        model: whose muscles they are; None checks no names of muscles.
        channels: pairs of a channel and a muscle; other channels keep their names.
        side: "r" or "l", of other channels whose names tell muscles of both sides.
    """
    pairs = _named(table, model, channels, side)
    if all(old == new for old, new in pairs):
        return table
    values = np.stack([table.column(old) for old, _ in pairs], axis=1)
    return Table(table.time, tuple(new for _, new in pairs), values, source=table.source)


def _named(table: Table, model: Model | None, channels: Sequence[tuple[str, str]], side: str) -> list[tuple[str, str]]:
    """Channels, and what they are called by their muscles."""
    for channel, muscle in channels:
        if table.find(channel) is None:
            raise UnknownName("channel", channel, table.names, table.source or "the electromyograms")
        if model is not None and muscle not in model.muscle_names:
            raise UnknownName("muscle", muscle, model.muscle_names, f"the channel {channel!r}")
    used = {name for pair in channels for name in pair}
    open_ones = muscle_channels(table.names, model) if model is not None and side else ()
    both = {one.name for one in open_ones if not one.side}
    kept = [(name, f"{name}_{side}" if name in both else name) for name in table.names if name not in used]
    return [*kept, *channels]


def emg_targets(
    table: Table,
    model: Model,
    time: FloatArray,
    channels: Sequence[tuple[str, str]] = (),
    side: str = "",
    largest: Mapping[str, float] | None = None,
) -> dict[str, FloatArray]:
    """(frames,) for each muscle with a channel: its measured activation at the times of a motion.

    That is the envelope over the value that a maximal contraction gives. Where several channels are of one muscle,
    their mean. Nothing is shifted: an electromyogram is ahead of force by 30 to 100 ms, of activation by less.

    Args:
        table: channels, raw or envelopes.
        model: whose muscles they are of.
        time: (frames,) of the motion [s].
        channels, side: as of `assigned_channels`.
        largest: what a maximal contraction gives, by channel, or under "" for all others, in the unit of the signal.
            By default envelopes of files count as normalized, if they stay between 0 and 1.

    Raises:
        InvalidInput: no channel is of a muscle, one does not tell its side, a signal is not normalized, or it does not
            last as long as the motion.
    """
    known = dict(largest or {})
    for name in known:
        if name != _ALL and table.find(name) is None:
            raise UnknownName("channel", name, table.names, table.source or "the electromyograms")
    pairs = _named(table, model, channels, side)
    of_name = {new: old for old, new in pairs}
    of_muscle: dict[str, list[FloatArray]] = {}
    for found in muscle_channels(tuple(of_name), model):
        channel = of_name[found.name]
        if len({side_of(muscle) for muscle in found.muscles}) > 1:
            raise InvalidInput(
                f"the channel {channel!r} does not tell whether it is of {found.muscles[0]} or {found.muscles[-1]}: "
                "say its muscle or its side"
            )
        envelope = envelope_of(table, channel)
        unit = known.get(channel, known.get(_ALL))
        top = float(np.nanmax(envelope, initial=0.0))
        if unit is None and (is_raw(table.column(channel)) or top > _MOST):
            raise InvalidInput(
                f"the electromyogram {channel!r} is not normalized, its envelope reaches {top:.3g}: say what a maximal "
                "contraction gives"
            )
        if unit is not None and not (np.isfinite(unit) and unit > 0.0):
            raise InvalidInput(f"a maximal contraction of {channel!r} gives {unit!r}; give a number above zero")
        measured = _at(time, table, channel, envelope / (unit or 1.0))
        for muscle in found.muscles:
            of_muscle.setdefault(muscle, []).append(measured)
    if not of_muscle:
        raise InvalidInput(
            f"no channel of {table.source or 'the electromyograms'} is called after a muscle of the model; say "
            f"which is which. Its channels: {', '.join(table.names[:12])}"
        )
    return {name: np.clip(np.mean(values, axis=0), 0.0, 1.0) for name, values in of_muscle.items()}


def _at(time: FloatArray, table: Table, channel: str, values: FloatArray) -> FloatArray:
    finite = np.isfinite(values)
    known = table.time[finite]
    if not len(known) or time[0] < known[0] - _BEYOND or time[-1] > known[-1] + _BEYOND:
        span = f"from {known[0]:g} to {known[-1]:g} s" if len(known) else "at no time"
        raise InvalidInput(
            f"the electromyogram {channel!r} is known {span} and the motion lasts from {time[0]:g} to {time[-1]:g} s; "
            "choose a span within it"
        )
    return np.interp(time, known, values[finite])
