"""Ehsani2023: moment arms and tracking at a shoulder with a rhythm."""
