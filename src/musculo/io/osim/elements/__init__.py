"""The elements of a model file to parts of a model, and which properties are known."""
