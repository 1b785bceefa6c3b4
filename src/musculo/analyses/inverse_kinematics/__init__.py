"""Inverse kinematics: the poses nearest to a recording.

`targets` (what is followed) -> `first_pose` -> `follow_recording` (frame by frame) -> `pose_breaks`, `near_default`
(other starts) -> `tracked_poses` (the result). `closed_poses` and `closed_loop_order` serve models with closed loops.
"""
