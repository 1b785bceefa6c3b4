"""The second road: absolute coordinates, joints as constraint equations, motion prescribed by drivers."""
