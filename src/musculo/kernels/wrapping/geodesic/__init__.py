"""Exact paths over obstacles: geodesics, Newton's method on the path error, slopes."""
