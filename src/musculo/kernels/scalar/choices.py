"""Choices between states, for every scalar there is: a kernel that branches on states asks here.

The eight lanes of a `Pack` take different branches at once. So a comparison gives a mask, one truth a lane, and `where`
takes each lane from the side it is on; work that no lane asks for is skipped by `if any_of(mask)`. For a float64 and a
complex128 a mask is a plain bool (complex numbers compare by their real parts), and the same source branches as ever.

`row_of` and `entry_of` fetch what lies at another place of a table for each lane.
"""

from __future__ import annotations

from musculo.kernels.compiler.parts import Lowered


def _less(x, y):
    """x < y."""
    return x < y


def _at_most(x, y):
    """x <= y."""
    return x <= y


def _equal(x, y):
    """x == y, by the real parts."""
    return x == y


def _both(x, y):
    """Where both masks are true."""
    return x and y


def _either(x, y):
    """Where one mask or the other is true."""
    return x or y


def _opposite(mask):
    """Where a mask is false."""
    return not mask


def _never(x):
    """A mask for scalars such as x that is false everywhere."""
    return False


def _any_of(mask):
    """Whether a mask is true in any lane."""
    return mask


def _where(mask, x, y):
    """x where the mask is true, else y."""
    return x if mask else y


def _real_part(x):
    """The real part: of a complex lane what it would be without its imaginary step."""
    return x


def _is_zero(x):
    """Where x is zero, an imaginary step included."""
    return x == 0.0


def _entry_of(table, place):
    """The number at a place of a table, a whole number that may be a float64, and whose lanes are.

    Unlike an index it is never counted from the end, and so costs no question whether it is negative.
    """
    return table[int(place)]


def _row_of(table, place):
    """The eight numbers from a place of a table on, as a tuple; the place is a float64, and so are its lanes."""
    k = int(place)
    a, b, c, d = table[k], table[k + 1], table[k + 2], table[k + 3]
    return a, b, c, d, table[k + 4], table[k + 5], table[k + 6], table[k + 7]


less = Lowered("masks", "less", _less)
at_most = Lowered("masks", "at_most", _at_most)
equal = Lowered("masks", "equal", _equal)
both = Lowered("masks", "both", _both)
either = Lowered("masks", "either", _either)
opposite = Lowered("masks", "opposite", _opposite)
never = Lowered("masks", "never", _never)
any_of = Lowered("masks", "any_of", _any_of)
where = Lowered("masks", "where", _where)
real_part = Lowered("masks", "real_part", _real_part)
is_zero = Lowered("masks", "is_zero", _is_zero)
entry_of = Lowered("masks", "entry_of", _entry_of)
row_of = Lowered("masks", "row_of", _row_of)

# Copies the 8 x 8 block of a C-contiguous (rows, columns) array of float64 at a place, turned, to one of another:
# (source, row, column, target, target_row, target_column).
turn_block = Lowered("masks", "turn_block")
two_to = Lowered("masks", "two_to")  # 2^k of whole numbers k from -1022 to 1023, in a pack
mantissa_and_exponent = Lowered("masks", "mantissa_and_exponent")  # (m, k): x = m 2^k, 1 <= m < 2, of normal positive x
