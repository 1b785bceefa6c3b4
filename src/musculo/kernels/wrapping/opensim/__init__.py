"""OpenSim's own wrapping recipes, as they are."""
