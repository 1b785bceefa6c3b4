"""Curves of one argument in a flat table: polynomials over equal steps, and splines over given knots.

A curve is known by where it starts in the table. The lanes of a pack may sit in different pieces of a curve: pieces are
found by passing the borders one after the other, and their polynomials are fetched for each lane.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import inline, kernel
from musculo.kernels.hill.exponentials import rounded_down
from musculo.kernels.scalar.choices import any_of, at_most, both, entry_of, less, opposite, real_part, row_of, where
from musculo.kernels.scalar.scalars import like

# A stepped curve: how many sections, then a directory of them, then the polynomials it points to. The first and the
# last section are the straight lines beyond the ends, of one step each.
SECTIONS = 0
HEAD = 1
# The entry of a section: its left border (the first has none), the beginning of its first step, steps per unit of x,
# the number of its last step, and where its polynomials begin, counted from the start of the curve. The polynomial of a
# step is of -1 at its beginning to 1 at its end, highest power first.
BORDER = 0
ORIGIN = 1
RATE = 2
LAST = 3
FIRST = 4
ENTRY = 5
DEGREE = 7
ROW = DEGREE + 1

# A spline: how many knots, the degree, how many knots most arguments are right of, how many they are at most right of,
# where its polynomials begin, counted from the start of the curve, then the knots. A piece has ROW numbers up to
# degree 3: where its polynomial has its origin, how far right of that the piece reaches (nowhere beyond the ends), two
# of no use, and the polynomial, highest power first; above that degree, the origin and the polynomial.
BREAKS = 0
SPLINE_DEGREE = 1
USUAL_FIRST = 2
USUAL_LAST = 3
PIECES = 4
SPLINE_HEAD = 5
CUBIC = 3


# inlined whatever is around it: a call costs Millard's muscles a tenth of their time
@inline
def stepped(c, start, x):
    """(y, dy/dx) at x of a stepped curve."""
    at = real_part(x)
    k = start + HEAD
    origin, rate = like(at, entry_of(c, k + ORIGIN)), like(at, entry_of(c, k + RATE))
    last, first = like(at, entry_of(c, k + LAST)), like(at, entry_of(c, k + FIRST))
    for _ in range(1, int(entry_of(c, start + SECTIONS))):
        k += ENTRY
        passed = at_most(entry_of(c, k + BORDER), at)
        origin, rate = where(passed, entry_of(c, k + ORIGIN), origin), where(passed, entry_of(c, k + RATE), rate)
        last, first = where(passed, entry_of(c, k + LAST), last), where(passed, entry_of(c, k + FIRST), first)
    place = (x - origin) * rate
    step = real_part(place)
    step = where(less(step, 0.0), 0.0, where(less(last, step), last, step))
    step = rounded_down(step)
    t = 2.0 * (place - step) - 1.0
    c7, c6, c5, c4, c3, c2, c1, c0 = row_of(c, first + step * float(ROW) + float(start))
    y = c7 * t + c6
    slope = c7 * t + y
    y = y * t + c5
    slope = slope * t + y
    y = y * t + c4
    slope = slope * t + y
    y = y * t + c3
    slope = slope * t + y
    y = y * t + c2
    slope = slope * t + y
    y = y * t + c1
    slope = slope * t + y
    y = y * t + c0
    return y, 2.0 * slope * rate


@inline
def _row_at(c, start, at):
    """Where the row of the piece lies that holds `at`; a knot belongs to its right, the last one to its left."""
    n_breaks = int(entry_of(c, start + BREAKS))
    knots = start + SPLINE_HEAD
    # no look at each knot whether it is the last to pass: that question cannot be foreseen, the number of knots can
    low, high = int(entry_of(c, start + USUAL_FIRST)), int(entry_of(c, start + USUAL_LAST))
    if low > 0 and any_of(less(at, entry_of(c, knots + low - 1))):
        low = 0
    if high < n_breaks and any_of(at_most(entry_of(c, knots + high), at)):
        high = n_breaks
    piece, passes = like(at, float(low)), float(low)
    for k in range(low, min(high, n_breaks - 1)):
        passes += 1.0
        piece = where(at_most(entry_of(c, knots + k), at), passes, piece)
    if high == n_breaks and n_breaks > 0:
        piece = where(less(entry_of(c, knots + n_breaks - 1), at), float(n_breaks), piece)
    numbers = max(ROW, int(entry_of(c, start + SPLINE_DEGREE)) + 2)
    return piece * float(numbers) + (float(start) + entry_of(c, start + PIECES))


@inline
def _cubic(t, c3, c2, c1, c0):
    y = c3 * t + c2
    slope = c3 * t + y
    y = y * t + c1
    return y * t + c0, slope * t + y


@kernel
def spline(c, start, x):
    """(y, dy/dx) at x of a spline."""
    degree, row = int(entry_of(c, start + SPLINE_DEGREE)), _row_at(c, start, real_part(x))
    if degree <= CUBIC:
        origin, _, _, _, c3, c2, c1, c0 = row_of(c, row)
        return _cubic(x - origin, c3, c2, c1, c0)
    t = x - entry_of(c, row)
    y, slope = like(x, 0.0) + entry_of(c, row + 1.0), like(x, 0.0)
    for k in range(2, degree + 2):
        slope = slope * t + y
        y = y * t + entry_of(c, row + float(k))
    return y, slope


@inline
def no_piece(x):
    """What `spline_again` takes for scalars such as x where there was no evaluation before."""
    none = like(x, 0.0)
    return none, none, none, none, none, none


@kernel
def _cubic_piece(c, start, x):
    """(origin, reach, polynomial) of the piece that holds x, of a spline of degree 3 at most."""
    origin, reach, _, _, c3, c2, c1, c0 = row_of(c, _row_at(c, start, x))
    return origin, reach, c3, c2, c1, c0


@inline
def spline_again(c, start, x, piece):
    """(y, dy/dx, piece) at x of a spline; `piece` is the one of the evaluation before.

    The steps of a search soon stay within a piece: then it is neither sought nor fetched again.
    """
    t = x - piece[0]
    if any_of(opposite(both(at_most(0.0, t), less(t, piece[1])))):
        if int(entry_of(c, start + SPLINE_DEGREE)) > CUBIC:
            y, slope = spline(c, start, x)
            return y, slope, piece
        piece = _cubic_piece(c, start, x)
        t = x - piece[0]
    y, slope = _cubic(t, piece[2], piece[3], piece[4], piece[5])
    return y, slope, piece


@kernel
def last_value(c, start):
    """The value of a stepped curve at its right end."""
    k = start + HEAD + ENTRY * (int(c[start + SECTIONS]) - 1)
    return c[start + int(c[k + FIRST]) + DEGREE]
