"""What speaks against a simulation: drift, singular positions, extrapolation."""
