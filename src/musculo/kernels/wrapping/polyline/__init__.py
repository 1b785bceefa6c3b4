"""The fallback where surfaces overlap: a discretised cable pulled taut over them."""
