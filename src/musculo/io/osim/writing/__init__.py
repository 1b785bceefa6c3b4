"""A model as a file in the layout of OpenSim 4.6."""
