"""What a search tells of itself while it runs."""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from musculo.compile.waiting import is_quiet, is_terminal, overwrite, say
from musculo.trajectory.solvers.interrupts import searches_end

# Nothing is told of shorter searches [s]; a terminal's line is written anew this often, and others get lines this
# often; less often the longer a search takes, by this part of its time.
_AFTER, _LINE, _LINES, _RARER = 2.0, 0.2, 5.0, 0.2


class Progress(NamedTuple):
    """One iteration."""

    iteration: int
    objective: float
    violation: float  # largest, scaled as IPOPT scales
    dual_infeasibility: float
    barrier: float
    step: float  # largest change of a variable
    regularization: float
    step_length: float  # the fraction of the step that is taken
    restoring: bool  # whether it searches for smaller violations alone


Tell = Callable[[Progress], bool | None] | bool | None
"""Who hears of each iteration: a function, which stops the search by False; True: stderr, wherever that goes; False:
nobody; None: a line in a terminal and lines in a notebook, of a search of more than two seconds."""


class Told:
    """Tells of iterations as it is asked to."""

    def __init__(self, tell: Tell) -> None:
        self._function = None if isinstance(tell, bool) else tell
        mine = multiprocessing.parent_process() is None  # not in a worker, whose terminal belongs to another process
        wanted = self._function is None and tell is not False and mine and not is_quiet()
        self._terminal = wanted and is_terminal()
        self._lines = tell is True or (wanted and "ipykernel" in sys.modules)
        self._started = self._last = time.monotonic()
        self._shown = False

    def __call__(self, at: Progress) -> bool:
        """After an iteration; False where the search shall stop."""
        if self._function is not None:
            return self._function(at) is not False
        now = time.monotonic()
        often = _LINE if self._terminal else max(_LINES, _RARER * (now - self._started))
        due = now - self._last > often or not self._shown
        if (self._terminal or self._lines) and now - self._started > _AFTER and due:
            self._last, self._shown = now, True
            (overwrite if self._terminal else say)(self._line(at, now - self._started))
        return True

    def _line(self, at: Progress, seconds: float) -> str:
        what = ", looking for a point without violations" if at.restoring else ""
        stop = f"; Ctrl-C ends {'the command' if searches_end() else 'with what is found'}" if self._terminal else ""
        return (
            f"{seconds:.0f} s, iteration {at.iteration}: objective {at.objective:.6g}, violation {at.violation:.1e}, "
            f"optimality {at.dual_infeasibility:.1e}{what}{stop}"
        )

    def end(self) -> None:
        """Take the line away."""
        if self._shown and self._terminal:
            overwrite("")
