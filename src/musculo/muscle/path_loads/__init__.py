"""Forces along paths: tensions, and what they do to coordinates and bodies."""
