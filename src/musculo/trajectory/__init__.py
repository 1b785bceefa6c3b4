"""Optimization of whole motions: state what a motion must do, get the motion.

`node_function` (what is computed at one node) -> transcription over a mesh -> `solvers` (nonlinear programs).
"""
