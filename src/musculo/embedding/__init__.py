"""From independent coordinates to all of them: couplers, locked and prescribed coordinates, closed loops."""
