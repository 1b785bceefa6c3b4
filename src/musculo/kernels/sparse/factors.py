"""L D L' of sparse symmetric equations front by front, and what it solves."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from musculo.arrays import FloatArray, IntArray
from musculo.kernels.compiler.parts import driver, inline, kernel
from musculo.kernels.sparse.dense_front import ROWS, Front, eliminate, subtract

# What `factorize` answers: all is done, or there is not enough memory for numbers, or for indices.
DONE, NUMBERS, INDICES = 0, 1, 2


class FrontPattern(NamedTuple):
    """The fronts of a pattern, and where its entries belong."""

    tree: IntArray  # (fronts,) parents (`elimination`)
    own: IntArray  # (fronts + 1,)
    rows: IntArray  # (all,)
    size: IntArray  # (fronts,)
    entry_start: IntArray  # (fronts + 1,) where the entries of A that each front begins with start in
    entry: IntArray  # (entries,) their places among the values; entries of one place are added


class ScaledMatrix(NamedTuple):
    """S A S with S diagonal."""

    row: IntArray  # (entries,)
    column: IntArray  # (entries,)
    values: FloatArray  # (entries,) of A
    scale: FloatArray  # (variables,) S


class FrontPlaces(NamedTuple):
    """Where each front lies in the numbers and among the variables, and how many of these it has and eliminates."""

    start: IntArray  # (fronts,)
    row: IntArray  # (fronts,)
    size: IntArray  # (fronts,)
    eliminated: IntArray  # (fronts,)


class FactorSpace(NamedTuple):
    """Room to work in."""

    room: FloatArray  # (PANEL + 4, any) as long as the largest front
    place: IntArray  # (variables,)
    runs: IntArray  # (2, any) longer than the largest front
    delayed: IntArray  # (fronts,) set to the number of variables left to the parent
    totals: IntArray  # (6,) set to negative, zero and two-variable pivots, delays, the largest front, the memory's use


@kernel
def _extend(a, at, step, source, size, rows, space):
    """Add what a child left to the front. Most rows that follow each other do so in the front, too: runs of such.

    Args:
        a: the numbers. at, step: of the front. source, size: of what the child left, of variables `rows`.
    """
    place, runs = space.place, space.runs
    count, increasing = 0, True
    for i in range(size):
        p = place[rows[i]]
        if i == 0 or p != runs[1, count - 1] + i - runs[0, count - 1]:
            increasing = increasing and (i == 0 or p > runs[1, count - 1])
            runs[0, count], runs[1, count] = i, p
            count += 1
    runs[0, count] = size
    for r in range(count):
        for j in range(runs[0, r], runs[0, r + 1]):
            pj = runs[1, r] + j - runs[0, r]
            column, c = at + pj * step, source + j * size
            _add(a[column + pj : column + pj + runs[0, r + 1] - j], a[c + j : c + runs[0, r + 1]])
            for q in range(r + 1, count):
                first, end, to = runs[0, q], runs[0, q + 1], runs[1, q]
                if increasing or to > pj:
                    _add(a[column + to : column + to + end - first], a[c + first : c + end])
                else:
                    for i in range(first, end):
                        a[at + (to + i - first) * step + pj] += a[c + i]


@inline
def _add(sums, summands):
    for i in range(sums.size):
        sums[i] += summands[i]


@inline
def _copy(to, source):
    for i in range(to.size):
        to[i] = source[i]


@inline
def _clear(numbers):
    for i in range(numbers.size):
        numbers[i] = 0.0


@driver
def factorize(pattern, matrix, threshold, factors, places, space):
    """The factors of S A S; `DONE`, or what there is too little of.

    Args:
        pattern: `FrontPattern`. matrix: `ScaledMatrix`.
        threshold: no entry of L exceeds its inverse by much.
        factors: `FactorArrays`, written. places: `FrontPlaces`, written. space: `FactorSpace`.
    """
    tree, own, rows, size = pattern.tree, pattern.own, pattern.rows, pattern.size
    entry_start, entry = pattern.entry_start, pattern.entry
    entry_row, entry_column, values, scale = matrix.row, matrix.column, matrix.values, matrix.scale
    a, kept = factors.numbers, factors.kept
    front_start, row_start, front_size, eliminated = places.start, places.row, places.size, places.eliminated
    room, place, delayed, totals = space.room, space.place, space.delayed, space.totals
    fronts = tree.size
    for k in range(6):
        totals[k] = 0
    children = np.full(fronts, -1, np.int64)
    siblings = np.full(fronts, -1, np.int64)
    left = np.zeros(fronts, np.int64)
    top, back, filled, done = 0, a.size, 0, 0
    for s in range(fronts):
        # variables: what children delayed, then the front's own, then what it touches
        count = own[s + 1] - own[s]
        child = children[s]
        while child != -1:
            count += delayed[child]
            child = siblings[child]
        step = (count + ROWS - 1) // ROWS * ROWS
        if step > room.shape[1]:
            totals[4] = count
            return INDICES
        # a column more, for what products compute beside
        if top + step * (count + 1) > back:
            return NUMBERS
        if filled + count > kept.size:
            return INDICES
        row, k = filled, 0
        child = children[s]
        while child != -1:
            begin = row_start[child] + eliminated[child]
            for i in range(delayed[child]):
                kept[row + k] = kept[begin + i]
                k += 1
            child = siblings[child]
        for i in range(own[s], own[s + 1]):
            kept[row + k] = rows[i]
            k += 1
        for i in range(count):
            place[kept[row + i]] = i
        summed = count - (own[s + 1] - own[s]) + size[s]
        for j in range(count):
            _clear(a[top + j * step + j // ROWS * ROWS : top + (j + 1) * step])
        for k in range(entry_start[s], entry_start[s + 1]):
            e = entry[k]
            i, j = entry_row[e], entry_column[e]
            pi, pj = place[i], place[j]
            value = values[e] * scale[i] * scale[j]
            if pi >= pj:
                a[top + pj * step + pi] += value
            else:
                a[top + pi * step + pj] += value
        child = children[s]
        while child != -1:
            remaining = front_size[child] - eliminated[child]
            begin = row_start[child] + eliminated[child]
            _extend(a, top, step, left[child], remaining, kept[begin : begin + remaining], space)
            back = max(back, left[child] + remaining * remaining)
            child = siblings[child]
        front = Front(top, step, count, summed, row)
        found = eliminate(factors, front, done, threshold, tree[s] == -1, room, totals)
        front_start[s], row_start[s], front_size[s], eliminated[s] = top, row, count, found
        delayed[s] = summed - found
        totals[3] += delayed[s]
        totals[4] = max(totals[4], count)
        remaining = count - found
        if tree[s] != -1:
            # children's are at the back until they are added; what the front leaves is moved there
            back -= remaining * remaining
            if back < top + step * count:
                return NUMBERS
            left[s] = back
            for j in range(remaining):
                c = top + (found + j) * step + found
                _copy(a[back + j * remaining + j : back + (j + 1) * remaining], a[c + j : c + remaining])
            siblings[s] = children[tree[s]]
            children[tree[s]] = s
        done += found
        filled += count
        top += step * found
        totals[5] = max(totals[5], top + (a.size - back))
    return DONE


@inline
def _dot(x, y):
    """In four sums, which do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = x.size // 4
    for k in range(whole):
        s0 += x[4 * k] * y[4 * k]
        s1 += x[4 * k + 1] * y[4 * k + 1]
        s2 += x[4 * k + 2] * y[4 * k + 2]
        s3 += x[4 * k + 3] * y[4 * k + 3]
    for k in range(4 * whole, x.size):
        s0 += x[k] * y[k]
    return (s0 + s1) + (s2 + s3)


@driver
def substitute(factors, places, scale, right, room):
    """Solve A x = right with the factors of `factorize`; `right` (right sides, variables) becomes x."""
    a, kept, diagonal, beside = factors.numbers, factors.kept, factors.diagonal, factors.beside
    front_start, row_start, front_size, eliminated = places.start, places.row, places.size, places.eliminated
    fronts = front_start.size
    y = room
    for c in range(right.shape[0]):
        x = right[c]
        for v in range(scale.size):
            x[v] *= scale[v]
        d = 0
        for s in range(fronts):
            at, row, size, found = front_start[s], row_start[s], front_size[s], eliminated[s]
            step = (size + ROWS - 1) // ROWS * ROWS
            for i in range(size):
                y[i] = x[kept[row + i]]
            for k in range(found):
                subtract(y[k + 1 : size], a[at + k * step + k + 1 : at + k * step + size], y[k])
            for i in range(found, size):
                x[kept[row + i]] = y[i]
            k = 0
            while k < found:
                if beside[d + k] == 0.0:
                    x[kept[row + k]] = y[k] / diagonal[d + k]
                    k += 1
                else:
                    e, first, second = beside[d + k], diagonal[d + k], diagonal[d + k + 1]
                    determinant = first * second - e * e
                    x[kept[row + k]] = (second * y[k] - e * y[k + 1]) / determinant
                    x[kept[row + k + 1]] = (first * y[k + 1] - e * y[k]) / determinant
                    k += 2
            d += found
        for s in range(fronts - 1, -1, -1):
            at, row, size, found = front_start[s], row_start[s], front_size[s], eliminated[s]
            step = (size + ROWS - 1) // ROWS * ROWS
            for i in range(size):
                y[i] = x[kept[row + i]]
            for k in range(found - 1, -1, -1):
                y[k] -= _dot(a[at + k * step + k + 1 : at + k * step + size], y[k + 1 : size])
                x[kept[row + k]] = y[k]
        for v in range(scale.size):
            x[v] *= scale[v]


@driver
def equilibrate(matrix, sweeps, largest):
    """Scale with s so that the largest entry of each row of S A S is near one.

    Source: Ruiz (2001), A scaling algorithm to equilibrate both rows and columns norms in matrices, report
    RAL-TR-2001-034.

    Args:
        matrix: `ScaledMatrix` of which S is written; of entries of one place, the largest counts.
        sweeps: how often the scale is improved.
        largest: (variables,) to work in.
    """
    row, column, values, scale = matrix.row, matrix.column, matrix.values, matrix.scale
    for v in range(scale.size):
        scale[v] = 1.0
    for _ in range(sweeps):
        for v in range(scale.size):
            largest[v] = 0.0
        for k in range(values.size):
            i, j = row[k], column[k]
            size = abs(values[k]) * scale[i] * scale[j]
            largest[i] = max(largest[i], size)
            largest[j] = max(largest[j], size)
        for v in range(scale.size):
            if largest[v] > 0.0:
                scale[v] /= math.sqrt(largest[v])
