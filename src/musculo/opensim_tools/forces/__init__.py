"""The forces of a model as OpenSim's tools see them: controllers, default states, Simbody's departures."""
