"""[Antunes2025]: rotational drivers by angles and by Euler parameters, on a human of 26 bodies."""
