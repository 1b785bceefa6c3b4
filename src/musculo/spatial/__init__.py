"""Rotations, poses and inertias as plain arrays; knows no model."""
