"""How commands end: one rule for all of them."""

from __future__ import annotations

from musculo.errors import InvalidInput

GOOD = 0
"""All that was asked for is written, and nothing is amiss."""
BAD_INPUT = 1
"""An input is bad: one sentence on stderr says which and where; nothing is written for it."""
WRONG_USAGE = 2
"""A flag or argument is wrong whatever the files hold: the parser of the command line ends so, and `WrongUsage`."""
INCOMPLETE = 3
"""Results are written, but frames or parts of them are not solved or mean nothing, or their page could not be written;
sentences on stderr say which."""
NOT_GOOD = 4
"""All is written and solved, and `--strict` was asked for: the report judges something as bad, and stderr says what."""
STOPPED = 130
"""Ctrl-C: 128 and the number of SIGINT."""
READER_GONE = 141
"""Nobody reads what is printed (`| head`): 128 and the number of SIGPIPE, as shells tell of other tools."""

EXIT_CODES = (
    "Exit code 0: all is well; 1: bad input; 2: wrong usage; 3: results are written, but some frames or parts are not "
    "solved or have no meaning, or the page could not be written (stderr says which); 4: with --strict, the report "
    "judges something as bad."
)


class WrongUsage(InvalidInput):
    """A flag or argument that is wrong whatever the files hold; a command that raises it ends with `WRONG_USAGE`.

    A name that a model lacks, and a time outside a recording, are not of this kind: they end with `BAD_INPUT`.
    """
