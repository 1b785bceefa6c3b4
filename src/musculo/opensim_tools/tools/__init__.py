"""OpenSim's tools, a file each."""
