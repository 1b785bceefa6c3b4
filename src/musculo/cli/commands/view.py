"""`musculo view`: a model and its motion in the browser."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import webbrowser
from pathlib import Path
from typing import NamedTuple

from musculo.cli.compiling import tell_of_compiling
from musculo.cli.overwriting import check_page
from musculo.cli.starting import imports_end
from musculo.errors import unwarned
from musculo.io import read_osim
from musculo.io.external_load_files import read_external_loads
from musculo.io.marker_columns import read_markers
from musculo.io.storage import read_storage
from musculo.viewer import view


class ShownFiles(NamedTuple):
    """What is to be seen of a model."""

    model: Path
    motion: Path | None
    activation: Path | None
    forces: Path | None
    markers: Path | None
    loads: Path | None
    reactions: Path | None
    geometry: Path | None


def open_viewer(files: ShownFiles, output: Path | None, show: bool, quiet: bool = False, as_json: bool = False) -> None:
    """Read the files, write the page, and open it unless `show` is off."""
    imports_end()
    check_page(output)
    tell_of_compiling(quiet)
    model = read_osim(files.model)
    with unwarned():  # what warnings say in Python stands in notes here
        scene = view(
            model,
            None if files.motion is None else read_storage(files.motion),
            activation=None if files.activation is None else read_storage(files.activation),
            forces=None if files.forces is None else read_storage(files.forces),
            markers=None if files.markers is None else read_markers(files.markers),
            loads=None if files.loads is None else read_external_loads(files.loads),
            reactions=None if files.reactions is None else read_storage(files.reactions),
            geometry=files.geometry,
        )
    for note in () if quiet or as_json else scene.notes:
        print(f"note: {note}", file=sys.stderr)
    target = output if output is not None else _kept(model.name)
    scene.to_html(target)
    if as_json:
        told = {"page": str(target), "model": model.name, "notes": list(scene.notes)}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    elif not quiet:
        print(f"wrote {target}")
    if show:
        webbrowser.open(target.absolute().as_uri())


def _kept(name: str) -> Path:
    """A file of the temporary folder that is still there when the browser reads it."""
    word = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40] or "model"
    return Path(tempfile.mkdtemp(prefix="musculo-")) / f"{word}.html"
