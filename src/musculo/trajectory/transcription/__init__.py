"""From functions of time to a nonlinear program.

`mesh` (a transcription's choice of nodes) -> `schemes` (direct collocation) or `bspline_motion` (control points) ->
`discretization` (which variables there are, and what every node's variables follow from them) -> `row_blocks` (what is
asked of nodes) -> `node_program` (the program, with its exact sparse Jacobian), `node_curvature` (its Hessian).
"""
