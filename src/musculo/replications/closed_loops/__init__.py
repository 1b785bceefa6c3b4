"""Ehsani2023: a four-bar, a five-bar and Andrews' squeezer."""
