"""Loads on bodies: from outside, from closed loops, and what joints transmit."""
