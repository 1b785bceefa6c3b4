"""Couplers and closed loops: coordinates that follow others, equations between bodies, multipliers."""
