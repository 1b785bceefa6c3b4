"""Absolute coordinates: bodies with Euler parameters, joints as constraint equations, reactions as multipliers.

In this order: `absolute_system` (the model as arrays), `euler_parameter_tuples`, `moving_frames` (where frames are
and how they move), `constraint_terms` (the few terms that all constraints are sums of), `constraint_rows` (residual,
Jacobian, right-hand sides), `normal_equations` (sparse least squares), `absolute_frames` (kinematic analysis and
multipliers of a recording), `free_acceleration` (accelerations under forces).

Nothing here is shared with the recursions of `kernels/tree`: the two formulations check each other.
"""
