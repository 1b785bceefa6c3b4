"""The numbers: compiled per-lane functions over arrays; knows no model.

Each kernel treats one lane of arrays whose last axis is the lane; `scalar` says what a lane's number is.
"""
