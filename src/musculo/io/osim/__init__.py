"""OpenSim model files (.osim): read at any version since 1.9.1, written in the layout of 4.6."""

from musculo.io.osim.osim_reader import read_osim
from musculo.io.osim.writing.write import write_osim

__all__ = ["read_osim", "write_osim"]
