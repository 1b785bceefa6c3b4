"""Electromyograms beside activations: envelopes over the same times, and how well both go together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.analyses.emg_targets import envelope_of, is_raw
from musculo.analyses.muscle_channels import Channel, muscle_channels
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.model.named_sides import side_of
from musculo.results.table import Table
from musculo.results.trial import Trial
from musculo.signals.emg import EmgAgreement, emg_agreement

_EVEN = 500.0  # [Hz] at which an envelope is compared


class Measured(NamedTuple):
    """A channel at the times of the activations."""

    channel: Channel
    envelope: FloatArray  # (frames,) its largest value is 1; NaN outside of the measurement
    raw: bool  # whether it was made of a raw signal here
    agreement: dict[str, EmgAgreement]  # with the mean activation of its muscles, by side


def measured_activations(trial: Trial) -> tuple[Measured, ...]:
    """Envelopes of the channels that name muscles of the model, at the times of the activations."""
    table, activations, model = trial.emg, trial.activations, trial.model
    if table is None or activations is None or model is None or len(activations) < 8:
        return ()
    found = []
    for channel in muscle_channels(table.names, model):
        muscles = tuple(name for name in channel.muscles if activations.find(name) is not None)
        signal = table.column(channel.name)
        if not muscles or not np.isfinite(signal).all():
            continue
        try:
            raw, whole = is_raw(signal), envelope_of(table, channel.name)
            envelope = np.interp(activations.time, table.time, whole, np.nan, np.nan)
        except InvalidInput as error:
            trial.unread.append(f"electromyogram {channel.name}: {error}")
            continue
        largest = float(np.nanmax(envelope)) if np.isfinite(envelope).any() else 0.0
        if largest > 0.0:
            envelope = envelope / largest
            agreement = _agreements(activations, envelope, muscles)
            found.append(Measured(channel._replace(muscles=muscles), envelope, raw, agreement))
    return tuple(found)


def _agreements(activations: Table, envelope: FloatArray, muscles: tuple[str, ...]) -> dict[str, EmgAgreement]:
    known = np.isfinite(envelope)
    time = activations.time[known]
    if len(time) < 8:
        return {}
    even = np.arange(time[0], time[-1], 1.0 / _EVEN)
    found = {}
    for side in dict.fromkeys(side_of(name) for name in muscles):
        mean = np.mean([activations.column(name)[known] for name in muscles if side_of(name) == side], axis=0)
        try:
            found[side] = emg_agreement(even, np.interp(even, time, envelope[known]), np.interp(even, time, mean))
        except InvalidInput:  # one of them does not change
            continue
    return found
