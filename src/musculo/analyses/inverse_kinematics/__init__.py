"""Inverse kinematics: the poses nearest to a recording.

`targets` (what is followed) -> `first_pose` -> `fit_recording` (frame by frame) -> `pose_breaks`, `near_default`
(other starts) -> `follow_recording` (all of it, and findings) -> `tracked_poses` (the result). `closed_poses` and
`closed_loop_order` serve models with closed loops.
"""
