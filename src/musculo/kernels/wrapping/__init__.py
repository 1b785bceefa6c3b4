"""Paths over surfaces.

`rules` say which surface a path meets and on which side, `geodesic` lays the exact path, `polyline` finds it where
surfaces overlap (a second pass), `opensim` repeats OpenSim's recipes.
"""
