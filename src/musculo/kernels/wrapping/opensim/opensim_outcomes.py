"""What an attempt to wrap a segment over a surface may end in."""

from __future__ import annotations

# The segment passes by; an end lies within the surface; it may be wrapped, if no other segment is better; it must be.
NO_WRAP, INSIDE, WRAPPED, MANDATORY = range(4)
