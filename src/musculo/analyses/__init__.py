"""Analyses: one file for each question a user asks."""
