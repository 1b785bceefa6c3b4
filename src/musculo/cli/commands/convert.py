"""`musculo convert`: any version of the format in, the newest out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from musculo.errors import InvalidInput
from musculo.io import read_osim, write_osim


def convert_model(source: Path, target: Path, opensim_rounding: bool, force: bool, quiet: bool, as_json: bool) -> None:
    """Read `source`, write `target`, and say what is not written exactly as it was read."""
    model = read_osim(source, opensim_rounding=opensim_rounding)
    if target.exists() and not force:
        raise InvalidInput(f"{target} exists; choose another name, or pass --force to replace it")
    notes = list(write_osim(model, target))
    if as_json:
        print(json.dumps({"model": str(target), "notes": notes}, indent=2, ensure_ascii=False))
    elif not quiet:
        for note in notes:
            print(f"note: {note}", file=sys.stderr)
        print(f"wrote {target}")
