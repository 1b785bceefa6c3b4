"""Exact derivatives on the tree, by every coordinate, speed and acceleration.

`joint_slopes` (one joint) -> `pose_slopes` (poses, Jacobians) and `torque_slopes` (inverse dynamics) ->
`torque_slope_frames` (over frames) -> `acceleration_slopes` (forward dynamics); `reaction_slopes` (what joints
transmit) -> `reaction_slope_frames`.
"""
