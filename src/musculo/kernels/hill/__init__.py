"""Muscles: curves, activation, fibre and tendon in equilibrium, forces."""
