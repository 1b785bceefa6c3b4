"""Documents of old versions brought to the layout of OpenSim 4.6."""
