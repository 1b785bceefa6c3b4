"""Polynomials of coordinates in place of paths: samples, least squares, and the errors that remain."""
