"""Eight lanes in one CPU register: the scalar type that kernels see on the CPU.

A kernel is written for one lane. On a GPU that lane is a thread and a scalar is a float64; in tests it may be a
complex128. On the CPU the same source is compiled with `Pack`, an LLVM vector of eight float64, as its scalar: every
`a * b - c * d` becomes vector instructions by construction, where the loop vectorizer gives up on the aliasing of a
workspace (measured on a 37-dof tree, inverse dynamics: 3.1 us a frame one lane at a time, 2.2 us with loops over
lanes, see `benchmarks/`).

`lanes(array)` views a contiguous (rows, WIDTH) float64 array so that `view[row, lane]` loads and stores whole packs.
"""

from __future__ import annotations

from musculo.kernels.compiler.options import WIDTH as WIDTH
from musculo.kernels.compiler.parts import Lowered

splat = Lowered("packs", "splat")  # (a): a pack whose lanes all hold the scalar `a`
lane_of = Lowered("packs", "lane_of")  # (a, k): lane k of a pack
with_lane = Lowered("packs", "with_lane")  # (a, k, x): the pack with lane k replaced by x
pack_sqrt = Lowered("packs", "pack_sqrt")
pack_rint = Lowered("packs", "pack_rint")
pack_floor = Lowered("packs", "pack_floor")
pack_fabs = Lowered("packs", "pack_fabs")
select_equal = Lowered("packs", "select_equal")  # (a, b, x, y): per lane: x where a == b, else y; b is a scalar
largest = Lowered("packs", "largest")  # (a): the largest lane of a pack (NaN if any lane is one)
lanes = Lowered("packs", "lanes")  # (array): view a C-contiguous (rows, WIDTH) float64 array as packs
