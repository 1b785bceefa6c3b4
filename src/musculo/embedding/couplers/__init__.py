"""Couplers, locked and prescribed coordinates: rules by which coordinates follow others or time."""
