"""Labelled time series and what made them."""
