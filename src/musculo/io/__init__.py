"""Files to models and back; the only place with foreign units and formats."""

from musculo.io.osim import read_osim, write_osim

__all__ = ["read_osim", "write_osim"]
