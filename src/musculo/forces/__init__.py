"""Forces of a model besides muscles: limits of coordinates, springs, bushings, contacts, and their sum."""
