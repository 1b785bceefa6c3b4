"""Fibers and tendons: activation, equilibrium and capacity of muscles."""
