"""Percentiles of samples, and which share of the variance comes from which group of inputs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from musculo.analyses.uncertainty.sampling import family_size
from musculo.arrays import FloatArray

# A spread below this part of the largest number of a column is rounding, whose variance comes from nowhere.
_ROUNDING = 1e-12


class Spread(NamedTuple):
    """Of all columns over the frames."""

    percentiles: FloatArray  # (percents, frames, columns)
    mean: FloatArray  # (frames, columns)
    sd: FloatArray  # (frames, columns)
    share: FloatArray  # (groups, frames, columns) of the variance; NaN where there is none
    share_error: FloatArray  # (groups, frames, columns) its standard error


def spread_of(values: FloatArray, percents: Sequence[float], groups: int, threads: int | None = None) -> Spread:
    """Percentiles, moments and shares of samples (samples, frames, columns); NaN counts as missing.

    The share of a group is the correlation of bases with the partners that share the group's numbers:

        S_g = corr(y_base, y_partner_g) = Var E(y | x_g) / Var y,   standard error (1 - S_g^2) / sqrt(families)

    Source: Sobol' 1993, Math Model Comput Exp 1:407; as a correlation, which needs no nominal value: Martinez 2011 (GdR
            Mascot-Num); the error is that of a correlation of normal numbers.
    """
    _, frames, columns = values.shape
    found = Spread(
        np.empty((len(percents), frames, columns)),
        np.empty((frames, columns)),
        np.empty((frames, columns)),
        np.full((groups, frames, columns), np.nan),
        np.full((groups, frames, columns), np.nan),
    )

    def frame(f: int) -> None:
        y = np.array(values[:, f])
        _moments(y, percents, f, found)
        _shares(y, groups, f, found)

    with ThreadPoolExecutor(min(threads or os.cpu_count() or 1, max(frames, 1))) as pool:
        list(pool.map(frame, range(frames)))
    return found


def _moments(y: FloatArray, percents: Sequence[float], f: int, found: Spread) -> None:
    # a copy by column, so that columns are sorted where they lie; NaN comes last
    ordered = np.sort(np.ascontiguousarray(y.T), axis=1)
    count = np.isfinite(ordered).sum(axis=1)
    last = np.maximum(count - 1, 0)
    rows = np.arange(len(ordered))
    for k, percent in enumerate(percents):
        at = percent / 100.0 * last
        low = np.floor(at).astype(int)
        part = at - low
        a, b = ordered[rows, low], ordered[rows, np.minimum(low + 1, last)]
        # equal neighbors stay what they are, bit by bit
        found.percentiles[k, f] = np.where(count > 0, np.where(a == b, a, a + part * (b - a)), np.nan)
    middle = _middle(ordered, count)
    off = np.where(np.isfinite(y), y - middle, 0.0)
    mean = off.sum(axis=0) / np.maximum(count, 1)
    square = ((off - np.where(np.isfinite(y), mean, 0.0)) ** 2).sum(axis=0)
    found.mean[f] = np.where(count > 0, middle + mean, np.nan)
    found.sd[f] = np.where(count > 1, np.sqrt(square / np.maximum(count - 1, 1)), np.where(count > 0, 0.0, np.nan))


def _middle(ordered: FloatArray, count: FloatArray) -> FloatArray:
    """(columns,) a number in the middle of each row, from which sums are taken so that nothing cancels."""
    middle = ordered[np.arange(len(ordered)), np.maximum(count - 1, 0) // 2]
    return np.where(count > 0, middle, 0.0)


def _shares(y: FloatArray, groups: int, f: int, found: Spread) -> None:
    varies = found.sd[f] > _ROUNDING * np.maximum(np.abs(found.mean[f]), 1e-300)
    if groups == 1:
        found.share[0, f], found.share_error[0, f] = np.where(varies, 1.0, np.nan), np.where(varies, 0.0, np.nan)
        return
    size = family_size(groups)
    families = len(y) // size
    if families < 3:
        return
    members = y[: families * size].reshape(families, size, -1)
    base = members[:, 0]
    for g in range(groups):
        partner = members[:, 1 + g]
        both = np.isfinite(base) & np.isfinite(partner)
        count = np.maximum(both.sum(axis=0), 1)
        a, b = (np.where(both, x - found.mean[f], 0.0) for x in (base, partner))
        a = np.where(both, a - a.sum(axis=0) / count, 0.0)
        b = np.where(both, b - b.sum(axis=0) / count, 0.0)
        product = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
        share = (a * b).sum(axis=0) / np.where(product > 0.0, product, np.inf)
        known = varies & (product > 0.0) & (both.sum(axis=0) > 2)
        found.share[g, f] = np.where(known, share, np.nan)
        found.share_error[g, f] = np.where(known, (1.0 - share * share) / np.sqrt(count), np.nan)
