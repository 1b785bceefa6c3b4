"""Muscle paths: points, lengths, moment arms and their derivatives."""
