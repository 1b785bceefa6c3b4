"""Inverse kinematics: the pose nearest to markers and sensors."""
