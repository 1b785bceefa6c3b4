"""Forces of shapes that touch."""
