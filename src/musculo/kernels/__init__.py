"""The numbers: compiled per-lane functions over arrays; knows no model.

Each kernel treats one lane of arrays whose last axis is the lane; what a lane's scalar is, `scalar.py` says.
"""
