"""The same kernels on a GPU: one thread a lane, neighboring threads at neighboring addresses.

A kernel's Python source is compiled again as a CUDA device function (`device`). Compiled code is kept on disk between
processes (`code`). Tables of a model that many functions hand on go by address (`tables`). Frames are worked through in
batches, whose transfers overlap the work on their neighbors (`batches`, `arrays`). The work itself: `dynamics`,
`paths`, `hill`. Simulations (`simulation`) are lanes that have named tuples of arrays each for itself (`lanes`).
"""
