"""Low-pass filters without phase lag: the usual Butterworth, and the one of OpenSim's tools."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput
from musculo.kernels.functions.filter_frames import recursion_frames
from musculo.like import Like, like_opensim
from musculo.signals.gaps import runs
from musculo.signals.labels import labeled_like, time_first
from musculo.signals.named_arrays import Series, even_parts, series
from musculo.signals.natural_smoothing import NaturalSpline

# What Storage.cpp of OpenSim 4.6 holds fixed.
OPENSIM_ORDER = 3
OPENSIM_MOST_SAMPLES = 100_000
OPENSIM_TAPS = 50  # of the filter of motions to track, on either side
OPENSIM_PADDING = 60  # frames that are added to such a motion at either end
OPENSIM_HIGHEST_CUTOFF = 0.49  # of the sampling rate, in place of a cutoff at or above half of it
# Times that differ by less than this part of a step are the same.
_SAME_TIME = 1e-7
OPENSIM_STEP_TOLERANCE = 2.2204460492503131e-16  # [s] SimTK::Eps


def lowpass(
    time: ArrayLike, values: ArrayLike, cutoff: float | ArrayLike, order: int = 4, *, like: Like | None = None
) -> Series:
    """A signal without what is faster than the cutoff, without delay: a Butterworth filter, forwards and backwards.

    Half of the power passes at the cutoff after both passes.

    Args:
        time: (n,) [s], evenly spaced but for rounding; the values that come back belong to the times as stated. Where
            frames are missing altogether, each part is filtered by itself if it lasts a period of the cutoff
            (OpenSim's filter takes splines for what is missing).
        values: (n, ...); gaps (NaN) stay gaps, and what lies between them is filtered piece by piece. A data frame,
            series or xarray comes back as one.
        cutoff: [Hz]; one, or one per column.
        order: of the whole filter (both passes together), even.
        like: "opensim" for what OpenSim's inverse dynamics and analyses do, departures included (`opensim_lowpass`):
            one cutoff, an order of its own, and other times come back, from half a recording before the first to half a
            recording after the last.
    """
    if like_opensim(like):
        if np.ndim(cutoff) != 0:
            raise InvalidInput("OpenSim's filter takes one cutoff for all columns")
        return opensim_lowpass(time, values, float(np.asarray(cutoff)))
    return Series(np.asarray(time, dtype=float), butterworth(time, values, cutoff, order))


def corrected_cutoff(cutoff: float, rate: float, order: int) -> float:
    """The cutoff [Hz] to design one pass with, so that both passes together have half power at `cutoff`.

        w' = tan(pi fc / fs) / C,   C = (sqrt(2) - 1)^(1 / order),   fc' = fs atan(w') / pi

    with `order` that of both passes together, so each pass has order / 2.
    Source: Robertson & Dowling 2003, J Electromyogr Kinesiol 13:569; Winter 2009, eq. 3.8 and below.
    """
    warped = math.tan(math.pi * cutoff / rate) / (math.sqrt(2.0) - 1.0) ** (1.0 / order)
    return rate * math.atan(warped) / math.pi


def butterworth(time: ArrayLike, values: ArrayLike, cutoff: float | ArrayLike, order: int = 4) -> FloatArray:
    """The zero-lag Butterworth filter (n, ...) with the correction for two passes; see `lowpass`.

    Guarantees: gain 1/sqrt(2) at the cutoff, 1 at rest, no phase; a straight line passes unchanged.
    """
    if isinstance(order, bool) or not isinstance(order, int | np.integer) or order < 2 or order % 2 or order > 16:
        raise InvalidInput(f"order={order!r}; the order of both passes together is even, from 2 to 16 (4 is usual)")
    given = time_first(values)
    t, y = series(time, given, least=2, finite=False)
    rate, parts = even_parts(t)
    columns = y.reshape(len(t), -1)
    try:
        cutoffs = np.broadcast_to(np.asarray(cutoff, dtype=float), (columns.shape[1],))
    except (TypeError, ValueError):
        raise InvalidInput(
            f"cutoff has shape {np.shape(cutoff)}; give one number, or one per column ({columns.shape[1]})"
        ) from None
    result = np.full(columns.shape, np.nan)
    designs: dict[float, tuple[FloatArray, int]] = {}
    for fc in set(cutoffs.tolist()):
        designs[fc] = _design(fc, rate, int(order))
    _check_parts(t, parts, rate / float(cutoffs.min(initial=rate)))
    # Columns that share gaps and cutoff are filtered together.
    finite = np.isfinite(columns)
    groups: dict[tuple[float, bytes], list[int]] = {}
    for k, fc in enumerate(cutoffs.tolist()):
        groups.setdefault((fc, finite[:, k].tobytes()), []).append(k)
    for (fc, _), members in groups.items():
        sos, settle = designs[fc]
        for part, (first, last) in ((p, run) for p in parts for run in runs(finite[p, members[0]])):
            a, b = part.start + first, part.start + last
            if b - a < 2:
                raise InvalidInput(
                    f"column {members[0]} has a single frame between two gaps, at {t[a]:g} s, which cannot be "
                    "filtered; fill the gaps, or drop that frame"
                )
            piece = columns[a:b, members]
            smooth = _both_ways(sos, piece, min(b - a - 1, settle))
            result[a:b, members] = _at_stated_times(t[a:b], t[part.start] + first / rate, rate, smooth)
    return cast(FloatArray, labeled_like(given, result.reshape(y.shape)))


def parts_in_words(time: ArrayLike) -> str:
    """What to say of a filter over frames of which some are missing; nothing where none is."""
    count = len(even_parts(time)[1]) - 1
    places = f"{count} place{'s' if count > 1 else ''}"
    return f"; frames are missing at {places}, and each part was filtered by itself" if count else ""


def _check_parts(t: FloatArray, parts: Sequence[slice], least: float) -> None:
    """Refuse parts of fewer frames than a period of the cutoff: there is nothing to tell slow from fast in them."""
    short = min(parts, key=lambda part: part.stop - part.start)
    count = short.stop - short.start
    if len(parts) > 1 and count < max(2.0, least):
        raise InvalidInput(
            f"frames are missing at {len(parts) - 1} places, and the {count} from {t[short][0]:g} s on are fewer than "
            f"a period of the cutoff ({least:.0f}); resample first (--resample HZ in the shell, "
            "table.resample in Python)"
        )


def _at_stated_times(t: FloatArray, start: float, rate: float, values: FloatArray) -> FloatArray:
    """Values of even frames at the times that a file states for them, which are rounded.

    Files give times to the millisecond. Differentiating over them what belongs to even frames would bring back noise
    that the filter took out: 6 % of a step at 60 Hz is more than the whole second derivative of a slow motion.
    """
    even = start + np.arange(len(t)) / rate
    if len(t) < 4 or np.abs(t - even).max() <= _SAME_TIME / rate:
        return values
    return NaturalSpline(even, values, 5 if len(t) > 5 else 3)(t)


def _design(cutoff: float, rate: float, order: int) -> tuple[FloatArray, int]:
    """One pass as second-order sections, and how many frames beyond the ends it needs to settle."""
    if not math.isfinite(cutoff) or not 0.0 < cutoff < rate / 2.0:
        raise InvalidInput(
            f"a cutoff of {cutoff:g} Hz is not possible with {rate:g} frames a second; it lies between 0 and "
            f"{rate / 2:g} Hz"
        )
    single = corrected_cutoff(cutoff, rate, order)
    sos = _sections(*_poles_and_gain(order // 2, single / rate))
    # The slowest pole decays like exp(-2 pi fc t sin(pi / order)): three periods of the cutoff leave a millionth.
    return sos, max(6 * order, math.ceil(3.0 * rate / cutoff))


def _poles_and_gain(order: int, cutoff: float) -> tuple[NDArray[np.complex128], float]:
    """Poles and gain of the digital Butterworth filter, all of whose zeros are at -1.

        s_k = -w exp(i pi (2k - n - 1) / 2n),  k = 1 .. n,   w = 4 tan(pi fc)
        z_k = (4 + s_k) / (4 - s_k),   gain = w^n / prod(4 - s_k)

    Source: Butterworth's poles, put into discrete time by the bilinear transform; as `scipy.signal.butter`.

    Args: cutoff: fc, of the sampling rate.
    """
    warped = 4.0 * math.tan(math.pi * cutoff)
    s = -warped * np.exp(1j * np.pi * np.arange(1 - order, order, 2) / (2 * order))
    return (4.0 + s) / (4.0 - s), float(warped**order * (1.0 / np.prod(4.0 - s)).real)


def _sections(poles: NDArray[np.complex128], gain: float) -> FloatArray:
    """Second-order sections (sections, 6), each b_0, b_1, b_2, 1, a_1, a_2; a real pole has one of first order.

    The pole next to the unit circle comes last, so that what it amplifies is small before.
    """
    sections = []
    for pole in sorted((p for p in poles.tolist() if p.imag >= 0.0), key=abs):
        if pole.imag > 0.0:
            sections.append([1.0, 2.0, 1.0, 1.0, -2.0 * pole.real, abs(pole) ** 2])
        else:
            sections.append([1.0, 1.0, 0.0, 1.0, -pole.real, 0.0])
    sos = np.array(sections)
    sos[0, :3] *= gain
    return sos


def _both_ways(sos: FloatArray, x: FloatArray, reflected: int) -> FloatArray:
    """x (n, columns) filtered forwards and backwards, as `scipy.signal.sosfiltfilt`.

    Before each pass the filter is at rest at the first row, which is that of x reflected through its ends.
    """
    y = np.array(_reflect(x, reflected), order="C")
    for _ in range(2):
        level = y[0].copy()
        for b, a in zip(sos[:, :3], sos[:, 3:], strict=True):
            # s of a constant input 1, whose output is `gain`
            gain = b.sum() / a.sum()
            rest = np.array([b[1] + b[2] - (a[1] + a[2]) * gain, b[2] - a[2] * gain])
            recursion_frames(np.ascontiguousarray(b), np.ascontiguousarray(a), np.outer(rest, level), y)
            level *= gain
        y = np.ascontiguousarray(y[::-1])
    return y[reflected : len(y) - reflected]


def opensim_lowpass(time: ArrayLike, values: ArrayLike, cutoff: float) -> Series:
    """OpenSim's low-pass filter, as its inverse dynamics and analyses apply it to coordinates.

    Half of the recording is reflected oddly at either end; uneven times are resampled to the smallest step by quintic
    natural splines; then a third-order Butterworth recursion runs forwards and backwards, each from its first three
    samples as they are. Nothing is corrected for the two passes: a quarter of the power is left at the cutoff.
    The reflected parts come back with the rest.

    Source:  OpenSim 4.6, `Storage::pad`, `Storage::lowpassIIR`, `Signal::LowpassIIR`; checked against it.
    Departs: more exact coefficients (about 1e-13 of the signal).
    """
    given = time_first(values)
    t, y = series(time, given)
    if not math.isfinite(cutoff) or cutoff <= 0.0:
        raise InvalidInput(f"a cutoff of {cutoff!r} Hz is impossible; give a positive number")
    columns = y.reshape(len(t), -1)
    t, columns = _reflect(t, len(t) // 2), _reflect(columns, len(t) // 2)
    if len(t) < 4:
        return Series(t, labeled_like(given, columns.reshape(len(t), *y.shape[1:]), t))
    t, columns, step = _at_least_step(t, columns)
    rate = 1.0 / step
    fc = OPENSIM_HIGHEST_CUTOFF * rate if cutoff >= rate / 2.0 else cutoff
    poles, gain = _poles_and_gain(OPENSIM_ORDER, fc / rate)
    zeros = np.full(OPENSIM_ORDER, -1.0)
    b, a = (np.array(c, dtype=np.float64) for c in (gain * np.poly(zeros), np.poly(poles).real))
    once = _recursion(b, a, columns)
    twice = _recursion(b, a, once[::-1])[::-1]
    return Series(t, labeled_like(given, twice.reshape(len(t), *y.shape[1:]), t))


def opensim_tracking_lowpass(time: ArrayLike, values: ArrayLike, cutoff: float | None = None) -> Series:
    """OpenSim's low-pass filter of motions to track, as its residual reduction and computed muscle control apply it.

        y_n = sum_k c_k x_(n-k) / sum_k c_k,   c_k = sin(w k T) / (pi k) (0.54 + 0.46 cos(pi k / M)),   k = -M .. M

    with M = 50, w = 2 pi cutoff and T the smallest step, to which quintic natural splines resample uneven times.
    Before that, 60 frames are reflected oddly at either end, whether a filter is asked for or not (again and again
    where there are fewer), and they come back with the rest. The filter itself reflects M more.

    Source:     OpenSim 4.6, `Storage::pad`, `Storage::lowpassFIR`, `Signal::LowpassFIR`; checked against it.
    Guarantees: a straight line passes unchanged.

    Args:
        time: (n,) [s]. values: (n, ...) finite.
        cutoff: [Hz]; None or a negative number filters nothing.
    """
    given = time_first(values)
    t, y = series(time, given, least=2)
    if cutoff is not None and not math.isfinite(cutoff):
        raise InvalidInput(f"a cutoff of {cutoff!r} Hz is impossible; give a number, or a negative one for no filter")
    columns = y.reshape(len(t), -1)
    t, columns = _reflect_again(t, OPENSIM_PADDING), _reflect_again(columns, OPENSIM_PADDING)
    if cutoff is not None and cutoff >= 0.0:
        t, columns, step = _at_least_step(t, columns)
        k = np.arange(-OPENSIM_TAPS, OPENSIM_TAPS + 1)
        weight = np.sinc(2.0 * cutoff * step * k) * (0.54 + 0.46 * np.cos(np.pi * k / OPENSIM_TAPS))
        weight /= weight.sum()
        longer = _reflect(columns, OPENSIM_TAPS)
        columns = np.stack([np.convolve(column, weight, "valid") for column in longer.T], axis=1)
    return Series(t, labeled_like(given, columns.reshape(len(t), *y.shape[1:]), t))


def _at_least_step(t: FloatArray, columns: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Times at the smallest step, the columns there, and the step: as OpenSim resamples where steps differ."""
    step = float(np.diff(t).min())
    if (t[-1] - t[0]) / (len(t) - 1) - step > OPENSIM_STEP_TOLERANCE:
        step = max(step, float(t[-1] - t[0]) / OPENSIM_MOST_SAMPLES)
        grid = _accumulated(float(t[0]), step, float(t[-1]))
        columns = NaturalSpline(t, columns, 5)(grid)
        t = grid
    return t, columns, step


def _reflect_again(x: FloatArray, count: int) -> FloatArray:
    """As `_reflect`, as often as it takes where x has fewer rows."""
    while count:
        now = min(count, len(x) - 1)
        x, count = _reflect(x, now), count - now
    return x


def _reflect(x: FloatArray, count: int) -> FloatArray:
    """x (n, ...) with `count` rows before and after it, reflected through its ends."""
    if count == 0:
        return x
    before = 2.0 * x[0] - x[count:0:-1]
    after = 2.0 * x[-1] - x[-2 : -count - 2 : -1]
    return np.concatenate((before, x, after))


def _accumulated(start: float, step: float, end: float) -> FloatArray:
    """start, start + step, ... by repeated addition, as OpenSim counts."""
    count = int((end - start) / step) + 2
    times = np.add.accumulate(np.concatenate(([start], np.full(count, step))))
    return times[times <= end]


def _recursion(b: FloatArray, a: FloatArray, x: FloatArray) -> FloatArray:
    """The filter's recursion from the fourth sample on; the first three stand as they are."""
    y = np.array(x, order="C")
    if len(x) <= OPENSIM_ORDER:
        return y
    # inputs and outputs before the fourth sample, the last of them first: they are the same
    past = x[OPENSIM_ORDER - 1 :: -1]
    state = np.stack([(b - a)[k:] @ past[: OPENSIM_ORDER + 1 - k] for k in range(1, OPENSIM_ORDER + 1)])
    recursion_frames(b, a, state, y[OPENSIM_ORDER:])
    return y
