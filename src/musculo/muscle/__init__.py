"""Paths of muscles and ligaments over bodies: their lengths, speeds, moment arms and contacts."""
