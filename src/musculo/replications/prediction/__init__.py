"""Barman2020 and beyond: motions that are predicted, of two manipulators and of a skeleton.

`two_link` and `prismatic` (manipulators); `skeleton` (the model) -> `chain_points` and `two_step` (node functions:
points, ground reactions) -> `gait_problem` (limits, phases, constraints) -> `gait`, the study.
"""
