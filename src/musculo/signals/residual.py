"""Which cutoff? Winter's residual analysis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.signals.filters import butterworth
from musculo.signals.named_arrays import sampling_rate, series

# The line of the noise is fitted between these parts of the Nyquist frequency: above the movement, below the bend that
# the filter's warping makes.
LINE_FROM, LINE_TO = 0.4, 0.8
COUNT = 100  # cutoffs that are tried


class ResidualAnalysis(NamedTuple):
    """What was found for each of the columns (k,), and the curves to look at."""

    cutoff: FloatArray  # (k,) [Hz]
    noise: FloatArray  # (k,) the line at 0 Hz: an estimate of the noise, in the unit of the signal
    frequencies: FloatArray  # (f,) [Hz]
    residual: FloatArray  # (f, k) root mean square of what the filter takes away


def residual_cutoff(time: ArrayLike, values: ArrayLike, order: int = 4) -> ResidualAnalysis:
    """The cutoff at which the filter distorts the signal as much as it lets noise pass, channel by channel.

        R(fc) = sqrt(mean((x - x_fc)^2)),   R(fc*) = a,   with a + b fc the line through R where only noise is left

    Source:  Winter 2009, section 3.4.4.3 (residual analysis).
    Departs: the line is fitted between 0.4 and 0.8 of half the sampling rate instead of by eye; where noise is not
             white up there, look at the curves.
    Where the signal holds no noise to speak of (a line that does not fall), the highest cutoff tried is given.

    Args:
        time: (n,) evenly spaced; n at least 32.
        values: (n,) or (n, k), without gaps.
        order: of the filter, as in `lowpass`.
    """
    t, y = series(time, values, least=32)
    if y.ndim > 2:
        raise InvalidInput(f"values have shape {y.shape}; residual analysis takes (frames,) or (frames, channels)")
    columns = y.reshape(len(t), -1)
    nyquist = sampling_rate(t) / 2.0
    frequencies = np.linspace(0.01, LINE_TO, COUNT) * nyquist
    residual = np.empty((COUNT, columns.shape[1]))
    for k, fc in enumerate(frequencies):
        residual[k] = np.sqrt(np.mean((columns - butterworth(t, columns, float(fc), order)) ** 2, axis=0))
    tail = frequencies >= LINE_FROM * nyquist
    slope, noise = np.polyfit(frequencies[tail], residual[tail], 1)
    cutoff = np.array([_crossing(frequencies, residual[:, k], noise[k]) for k in range(columns.shape[1])])
    return ResidualAnalysis(np.where(slope < 0.0, cutoff, frequencies[-1]), noise, frequencies, residual)


def _crossing(x: FloatArray, y: FloatArray, level: float) -> float:
    """Where y first falls to the level, between samples."""
    below = np.flatnonzero(y <= level)
    if not below.size:
        return float(x[-1])
    k = int(below[0])
    if k == 0:
        return float(x[0])
    part = (y[k - 1] - level) / (y[k - 1] - y[k])
    return float(x[k - 1] + part * (x[k] - x[k - 1]))
