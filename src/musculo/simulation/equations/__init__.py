"""A model as a differential equation: in independent coordinates, or in all of them with multipliers."""
