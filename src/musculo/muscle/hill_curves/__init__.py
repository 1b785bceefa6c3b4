"""Curves of muscles: force by length and by velocity, tendons, and the tables that kernels read."""
