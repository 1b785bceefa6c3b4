"""Numbers of one lane: packs of eight, choices, small vectors and rotations, jets, banded equations."""
