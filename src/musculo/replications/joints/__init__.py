"""Seth2010: joints as mobilizers beside the same joints as constraints."""
