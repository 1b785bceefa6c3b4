"""Joint variables of closed loops, three ways: projection, molecule, fit."""
