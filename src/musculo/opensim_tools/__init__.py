"""OpenSim's tools from their set-up files: the same result files, by the same methods or by better ones."""
