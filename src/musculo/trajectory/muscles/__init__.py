"""Muscles in optimal motions: `muscle_nodes` (equations of a node), `inverse_program`, `muscle_inverse`."""
