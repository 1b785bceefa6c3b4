"""Elimination in one front: dense symmetric equations, of which some variables are eliminated and the rest updated.

    [F11  .  ]   [L1    ] [D  .] [L1' L2']
    [F21  F22] = [L2  I ] [.  S] [.   I  ],   S = F22 - L2 D L2'

D has pivots of one or two variables. A pivot is taken where no entry of its columns of L exceeds 1 / threshold; what
finds no such pivot is delayed: it stays in S and is eliminated with the parent.

Source: Bunch and Kaufman (1977), Some stable methods for calculating inertia and solving symmetric linear systems,
Mathematics of Computation 31, 163-179; Duff (2004), MA57: a code for the solution of sparse symmetric definite and
indefinite systems, ACM Transactions on Mathematical Software 30, 118-144.
Departs: columns are updated one by one within a panel and all others once for a panel; of the pivots of one or two
variables that a column offers, the one with the smallest entries of L is taken.

The front's lower triangle lies column by column in `a` from `at` on, columns `step` apart, a multiple of `ROWS`.
"""

from __future__ import annotations

from typing import NamedTuple

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.scalar.packed import lanes, splat

# The registers of one product hold so many rows (two packs) and columns.
ROWS, COLUMNS = 16, 4
# Columns whose pivots are chosen before all others are updated.
PANEL = 32
# One variable alone is the pivot, unasked, where no entry of its column of L exceeds the inverse of this.
_GOOD = 0.1
# What is left of a column of the scaled equations is zero but for rounding; so is a determinant, relative to its terms.
_NOTHING, _CANCELED = 1e-16, 1e-14


class FactorArrays(NamedTuple):
    """L and D of all fronts, and the variables of each."""

    numbers: FloatArray  # (many,) L from the front, with what children leave to parents from the back
    packs: FloatArray  # (many / 8, 8) the same memory
    kept: IntArray  # (many,) the variables of each front in the order of their elimination
    diagonal: FloatArray  # (variables,) D in the order of elimination
    beside: FloatArray  # (variables,) not zero at the first of two variables


class Front(NamedTuple):
    """Where a front lies, and how large it is."""

    at: int  # in the numbers
    step: int  # from column to column
    size: int  # variables
    summed: int  # of these, which may be eliminated
    row: int  # where its variables lie


@inline
def _product(packs, weights, left, step, places, first, last, count):
    """Four columns, the packs from `first` to `last` of each, less products of `count` columns and weights."""
    for r in range(first, last, 2):
        a0, a1, a2, a3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        b0, b1, b2, b3 = splat(0.0), splat(0.0), splat(0.0), splat(0.0)
        source = left + r
        for k in range(count):
            x, y = packs[source, 0], packs[source + 1, 0]
            w0, w1, w2, w3 = weights[4 * k], weights[4 * k + 1], weights[4 * k + 2], weights[4 * k + 3]
            a0 = a0 + x * w0
            b0 = b0 + y * w0
            a1 = a1 + x * w1
            b1 = b1 + y * w1
            a2 = a2 + x * w2
            b2 = b2 + y * w2
            a3 = a3 + x * w3
            b3 = b3 + y * w3
            source += step
        c = places[0] + r
        packs[c, 0] = packs[c, 0] - a0
        packs[c + 1, 0] = packs[c + 1, 0] - b0
        c = places[1] + r
        packs[c, 0] = packs[c, 0] - a1
        packs[c + 1, 0] = packs[c + 1, 0] - b1
        c = places[2] + r
        packs[c, 0] = packs[c, 0] - a2
        packs[c + 1, 0] = packs[c + 1, 0] - b2
        c = places[3] + r
        packs[c, 0] = packs[c, 0] - a3
        packs[c + 1, 0] = packs[c + 1, 0] - b3


@kernel
def _update(memory, front, start, end, panel, weights):
    """Columns from `end` on, less what the pivots of columns `start` to `end` take from them."""
    packs, at, step, size = lanes(memory), front.at, front.step, front.size
    spare = at + size * step
    count = end - start
    unit = step // 8
    left = at // 8 + start * unit
    for j in range(end, size, 4):
        columns = min(4, size - j)
        for k in range(count):
            for c in range(4):
                weights[4 * k + c] = panel[k, j + c] if c < columns else 0.0
        base = at // 8 + j * unit
        c1 = base + unit if columns > 1 else spare // 8
        c2 = base + 2 * unit if columns > 2 else spare // 8
        c3 = base + 3 * unit if columns > 3 else spare // 8
        _product(packs, weights, left, unit, (base, c1, c2, c3), (j // ROWS) * 2, step // 8, count)


@kernel
def _exchange(factors, front, i, j, panel, pivots):
    """Give variables i < j of the front each other's places; `pivots` columns of the panel hold products."""
    a, rows, row = factors.numbers, factors.kept, front.row
    at, step, size = front.at, front.step, front.size
    rows[row + i], rows[row + j] = rows[row + j], rows[row + i]
    for k in range(i):
        c = at + k * step
        a[c + i], a[c + j] = a[c + j], a[c + i]
    ci, cj = at + i * step, at + j * step
    a[ci + i], a[cj + j] = a[cj + j], a[ci + i]
    for k in range(i + 1, j):
        ck = at + k * step
        a[ci + k], a[ck + j] = a[ck + j], a[ci + k]
    for k in range(j + 1, size):
        a[ci + k], a[cj + k] = a[cj + k], a[ci + k]
    for k in range(pivots):
        panel[k, i], panel[k, j] = panel[k, j], panel[k, i]


@kernel
def _column(a, front, start, p, j, panel, out):
    """Column j as the pivots `start` to p leave it, rows p and on, in `out`."""
    at, step, size = front.at, front.step, front.size
    for i in range(p, j):
        out[i] = a[at + i * step + j]
    c = at + j * step
    for i in range(j, size):
        out[i] = a[c + i]
    k = start
    o = out[p:size]
    while k + 4 <= p:
        c = at + k * step
        c1, c2, c3 = c + step, c + 2 * step, c + 3 * step
        of_pivots = a[c + p : c + size], a[c1 + p : c1 + size], a[c2 + p : c2 + size], a[c3 + p : c3 + size]
        q = k - start
        _subtract_four(o, of_pivots, (panel[q, j], panel[q + 1, j], panel[q + 2, j], panel[q + 3, j]))
        k += 4
    while k < p:
        subtract(o, a[at + k * step + p : at + k * step + size], panel[k - start, j])
        k += 1


@inline
def subtract(x, column, factor):
    """x less a multiple of a column."""
    for i in range(x.size):
        x[i] -= column[i] * factor


@inline
def _subtract_four(x, columns, factors):
    c0, c1, c2, c3 = columns
    f0, f1, f2, f3 = factors
    for i in range(x.size):
        x[i] -= c0[i] * f0 + c1[i] * f1 + c2[i] * f2 + c3[i] * f3


@inline
def _largest(x):
    """In four, which do not wait for each other."""
    m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
    whole = x.size // 4
    for k in range(whole):
        m0 = max(m0, abs(x[4 * k]))
        m1 = max(m1, abs(x[4 * k + 1]))
        m2 = max(m2, abs(x[4 * k + 2]))
        m3 = max(m3, abs(x[4 * k + 3]))
    for k in range(4 * whole, x.size):
        m0 = max(m0, abs(x[k]))
    return max(max(m0, m1), max(m2, m3))


@inline
def _place_of(x, value):
    """Where a number of this size is."""
    for i in range(x.size):
        if abs(x[i]) == value:
            return i
    return -1


@inline
def _keep(kept, x):
    for i in range(x.size):
        kept[i] = x[i]


@inline
def _scale(column, kept, x, factor):
    for i in range(x.size):
        kept[i] = x[i]
        column[i] = x[i] * factor


@inline
def _combine(c0, c1, x, y, t11, t12, t22):
    for i in range(x.size):
        c0[i] = x[i] * t11 + y[i] * t12
        c1[i] = x[i] * t12 + y[i] * t22


@kernel
def eliminate(factors, front, d, threshold, last, room, counts):
    """Eliminate what has a pivot among the first variables of a front; how many were.

    Args:
        factors: `FactorArrays`, written. front: `Front`.
        d: how many variables other fronts eliminated.
        last: whether nothing can be delayed: then every pivot is taken that is not zero.
        room: (PANEL + 4, step of the largest front) to work in.
        counts: (3,) negative, zero and two-variable pivots, to be added to.
    """
    a, memory, diagonal, beside = factors.numbers, factors.packs, factors.diagonal, factors.beside
    at, step, size, summed = front.at, front.step, front.size, front.summed
    panel, x, y = room, room[PANEL + 1], room[PANEL + 2]
    weights = room[PANEL + 3]
    p, failed = 0, 0
    start = 0
    while p < summed - failed:
        while p < summed - failed and p - start < PANEL:
            _column(a, front, start, p, p, panel, x)
            inside = _largest(x[p + 1 : summed])
            highest = max(inside, _largest(x[summed:size]))
            alone = abs(x[p])
            two = False
            accepted = alone > 0.0 and alone >= _GOOD * highest
            if max(alone, highest) < _NOTHING:
                accepted = False
            elif not accepted and inside > 0.0:
                mate = p + 1 + _place_of(x[p + 1 : summed], inside)
                if mate != p + 1:
                    _exchange(factors, front, p + 1, mate, panel, p - start)
                    x[p + 1], x[mate] = x[mate], x[p + 1]
                _column(a, front, start, p, p + 1, panel, y)
                e = x[p + 1]
                beyond, beyond_mate = _largest(x[p + 2 : size]), _largest(y[p + 2 : size])
                determinant = x[p] * y[p + 1] - e * e
                ones = alone / highest
                mates = abs(y[p + 1]) / max(abs(e), beyond_mate)
                grown = max(abs(y[p + 1]) * beyond + abs(e) * beyond_mate, abs(e) * beyond + alone * beyond_mate)
                # cancelled to rounding, a determinant says nothing
                twos = 0.0
                if abs(determinant) > _CANCELED * max(alone * abs(y[p + 1]), e * e):
                    twos = abs(determinant) / grown if grown > 0.0 else 1.0
                best = max(ones, mates, twos)
                if best >= threshold or (last and best > 0.0):
                    accepted = True
                    if twos == best:
                        two = True
                    elif mates == best:
                        _exchange(factors, front, p, p + 1, panel, p - start)
                        for i in range(p, size):
                            x[i] = y[i]
                        x[p], x[p + 1] = y[p + 1], y[p]
            elif not accepted:
                accepted = alone >= threshold * highest
            if not accepted and last and p + 1 == summed - failed:
                # of what is left, none has a pivot: the equations are singular
                for i in range(p, size):
                    x[i] = 0.0
                x[p] = 1.0
                counts[1] += 1
                accepted = True
            if not accepted:
                failed += 1
                other = summed - failed
                if other > p:
                    _exchange(factors, front, p, other, panel, p - start)
                continue
            k = p - start
            c = at + p * step
            if not two:
                pivot = x[p]
                diagonal[d + p], beside[d + p] = pivot, 0.0
                if pivot < 0.0:
                    counts[0] += 1
                _scale(a[c + p + 1 : c + size], panel[k, p + 1 : size], x[p + 1 : size], 1.0 / pivot)
                p += 1
            else:
                e = x[p + 1]
                first, second = x[p], y[p + 1]
                determinant = first * second - e * e
                diagonal[d + p], diagonal[d + p + 1] = first, second
                beside[d + p], beside[d + p + 1] = e, 0.0
                counts[2] += 1
                if determinant < 0.0:
                    counts[0] += 1
                elif first + second < 0.0:
                    counts[0] += 2
                t11, t12, t22 = second / determinant, -e / determinant, first / determinant
                c2 = c + step
                a[c + p + 1] = 0.0
                _keep(panel[k, p + 2 : size], x[p + 2 : size])
                _keep(panel[k + 1, p + 2 : size], y[p + 2 : size])
                _combine(
                    a[c + p + 2 : c + size], a[c2 + p + 2 : c2 + size], x[p + 2 : size], y[p + 2 : size], t11, t12, t22
                )
                p += 2
            failed = 0
        if p > start:
            _update(memory, front, start, p, panel, weights)
        start = p
    return p
