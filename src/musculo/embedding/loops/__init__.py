"""Closed loops: their equations, which coordinates are independent, and their solution along a branch."""
