"""Muscles in a simulation: their excitations, what they do as one force, and what they did."""
