"""What a tool left behind."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path


class ToolStatus(Enum):
    """How a tool ended."""

    DONE = "done"
    """Every frame is solved and every file written."""
    INCOMPLETE = "incomplete"
    """Every file is written; some frames did not converge or cannot be served, or a part could not be done."""
    UNCHANGED = "unchanged"
    """Nothing was done: inputs, options and result files are those of an earlier run."""


Status = ToolStatus


@dataclass(frozen=True)
class ToolResult:
    """The files that a tool wrote, and what is to be known about them.

    `notes` say what was assumed, what OpenSim's method does and by how much ours differs, and what was ignored.
    `troubles` say which frames are not solved, or which parts of the set-up could not be done.
    """

    setup: str  # the file
    tool: str  # for instance "InverseDynamicsTool"
    name: str
    status: Status
    folder: Path  # of results; single files may be elsewhere
    files: tuple[Path, ...]
    notes: tuple[str, ...]
    troubles: tuple[str, ...]
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether nothing is amiss."""
        return not self.troubles

    def to_json(self) -> dict[str, object]:
        """For programs."""
        return {
            "setup": self.setup,
            "tool": self.tool,
            "name": self.name,
            "status": self.status.value,
            "folder": str(self.folder),
            "files": [str(file) for file in self.files],
            "notes": list(self.notes),
            "troubles": list(self.troubles),
            "seconds": round(self.seconds, 3),
        }
