"""Tracking: forces under which a model follows a recorded motion, as residual reduction and muscle control need them.

`desired_motion` (what is to be followed) -> `acceleration_targets` (what accelerations follow it) -> `actuator_forces`
(forces that give them).
"""
