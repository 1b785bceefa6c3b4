"""Which obstacles a path meets, on which side it passes them, and the penalty where it does not."""
