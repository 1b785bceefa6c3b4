"""Motion in time: integrators, and what keeps constrained models on their constraints."""
