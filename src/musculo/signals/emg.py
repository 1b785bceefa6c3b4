"""Electromyograms: the envelope of a raw signal, and how it goes with computed activations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.signals.named_arrays import sampling_rate, series

# What the SENIAM project and most gait laboratories use.
BAND = (20.0, 400.0)  # [Hz] of the raw signal
ENVELOPE = 6.0  # [Hz]
# A muscle is stimulated before its force rises: electromechanical delay; longer lags are no delays.
MOST_DELAY = 0.15  # [s]


def emg_envelope(
    time: ArrayLike,
    raw: ArrayLike,
    *,
    band: tuple[float, float] = BAND,
    cutoff: float = ENVELOPE,
    largest: ArrayLike | None = None,
) -> FloatArray:
    """The envelope of a raw electromyogram: band-pass, rectify, low-pass; all without delay.

    Both filters are Butterworth filters of fourth order, forwards and backwards. The mean of the raw signal does not
    count. Where the sampling rate does not reach the upper end of the band, what is above 0.45 of the rate stays out.

    Args:
        time: (n,) [s], evenly spaced.
        raw: (n,) or (n, channels) in any unit.
        band: of the raw signal [Hz].
        cutoff: of the envelope [Hz].
        largest: the value that is 1, one or one per channel: that of a maximal voluntary contraction, or of the trial
            (`envelope.max(axis=0)`). By default the envelope stays in the unit of the signal.

    Returns:
        The envelope, not negative, of the shape of `raw`.
    """
    from scipy.signal import butter, sosfiltfilt

    t, x = series(time, raw, least=16)
    if not np.isfinite(x).all():
        raise InvalidInput("the electromyogram has values that are not finite; fill them or choose a span without them")
    rate = sampling_rate(t)
    low, high = band
    if not 0.0 < low < high or not 0.0 < cutoff < rate / 2.0:
        raise InvalidInput(f"band={band!r} Hz and cutoff={cutoff!r} Hz at {rate:g} frames a second; they do not fit")
    if low >= 0.45 * rate:
        raise InvalidInput(
            f"{rate:g} frames a second hold nothing above {low:g} Hz of an electromyogram; is it an envelope already? "
            "Then filter it (lowpass), or give a lower band"
        )
    top = min(high, 0.45 * rate)
    passed = sosfiltfilt(butter(2, (low, top), "bandpass", fs=rate, output="sos"), x - x.mean(axis=0), axis=0)
    smooth = sosfiltfilt(butter(2, cutoff, fs=rate, output="sos"), np.abs(passed), axis=0)
    envelope = np.maximum(np.asarray(smooth), 0.0)
    if largest is None:
        return envelope
    unit = np.asarray(largest, dtype=float)
    if not (np.isfinite(unit) & (unit > 0.0)).all():
        raise InvalidInput(f"largest={largest!r}; give what is 1 for each channel, above zero")
    return np.asarray(envelope / unit)


class EmgAgreement(NamedTuple):
    """How an envelope goes with an activation."""

    correlation: float  # at the delay
    delay: float  # by which the envelope is best before the activation [s]
    error: float  # RMS of both, each divided by its largest value, at the delay [-]


def emg_agreement(
    time: ArrayLike, envelope: ArrayLike, activation: ArrayLike, *, most_delay: float = MOST_DELAY
) -> EmgAgreement:
    """How well a measured envelope and a computed activation go together.

    The envelope is shifted to later by what gives the best correlation, from 0 to `most_delay`: electromyograms are
    ahead of force by 30 to 100 ms.

    Args:
        time: (n,) [s], evenly spaced.
        envelope, activation: (n,) at these times.
        most_delay: the largest delay that is tried [s].
    """
    t, pair = series(time, np.stack([np.asarray(envelope, float), np.asarray(activation, float)], axis=1), least=8)
    step = 1.0 / sampling_rate(t)
    best = EmgAgreement(-np.inf, 0.0, np.inf)
    for shift in range(int(most_delay / step) + 1):
        a, b = pair[: len(t) - shift, 0], pair[shift:, 1]
        if len(a) < 8 or not (a.std() > 0.0 and b.std() > 0.0):
            continue
        r = float(np.corrcoef(a, b)[0, 1])
        if r > best.correlation:
            error = float(np.sqrt(np.mean((a / np.abs(a).max() - b / np.abs(b).max()) ** 2)))
            best = EmgAgreement(r, shift * step, error)
    if not np.isfinite(best.correlation):
        raise InvalidInput("the envelope or the activation does not change, or is too short; nothing can be compared")
    return best
