"""Lengths and moment arms of paths, and their derivatives: paths as arrays, and the passes of the kernels."""
