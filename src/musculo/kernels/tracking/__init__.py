"""Forces and excitations that follow a motion: computed torques, residual reduction, computed muscle control.

`tracking_torque` (torques toward given accelerations), `actuated_tree` (accelerations under controls) and
`tracked_motion` (residual reduction over windows); `muscle_window` and `muscle_node` (excitations with which muscles
reach forces).
"""
