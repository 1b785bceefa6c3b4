"""C3D files: markers, analog channels, force plates and events."""

from musculo.io.c3d.c3d_reader import read_c3d

__all__ = ["read_c3d"]
