"""Signals as arrays over time: splines, filters, gaps, sampling, events. Knows no model and no file."""
