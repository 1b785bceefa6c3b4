"""Static optimization: the activations of least effort that give a motion's joint moments.

`reserves` (actuators that are no muscles) -> `force_by_activation` -> `least_effort` (a convex program a frame) ->
`share_load` -> `static_optimum` (the result).
"""
