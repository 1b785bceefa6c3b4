"""The language in which a motion is asked for.

`variables` (coordinates, states, controls, parameters) and `selection` (which of them, or of a function's outputs) ->
`goals` and `constraints` -> `problem` (all of it) -> `solve`, which returns a `predicted_motion`.
"""
