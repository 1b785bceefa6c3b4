"""Poses, Jacobians, inverse and forward dynamics of a model, for one frame or a million."""
