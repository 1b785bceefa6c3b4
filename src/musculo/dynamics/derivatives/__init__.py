"""Exact derivatives of dynamics: of poses, of inverse and forward dynamics, by what bodies weigh."""
