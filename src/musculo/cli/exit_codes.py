"""How commands end: one rule for all of them."""

from __future__ import annotations

GOOD = 0
"""All that was asked for is written, and nothing is amiss."""
BAD_INPUT = 1
"""An input is bad: one sentence on stderr says which and where; nothing is written for it."""
WRONG_USAGE = 2
"""A flag or argument is wrong (the parser of the command line ends so)."""
INCOMPLETE = 3
"""All is written, but frames or parts of it are not solved or mean nothing; sentences on stderr say which."""

EXIT_CODES = (
    "Exit code 0: all is well; 1: bad input; 2: wrong usage; 3: all is written, but some frames or parts are not "
    "solved or mean nothing, and stderr says which."
)
