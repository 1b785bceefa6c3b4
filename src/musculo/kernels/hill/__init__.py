"""Muscles: curves, activation, fiber and tendon in equilibrium, forces."""
