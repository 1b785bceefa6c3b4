"""What the poses of a model say about its wraps, and what of a wrapped length is in doubt."""
