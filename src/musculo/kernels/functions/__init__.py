"""Functions of coordinates and of time, from tables: values and derivatives."""
