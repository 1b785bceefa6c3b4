"""Nonlinear programs, and what solves them."""
