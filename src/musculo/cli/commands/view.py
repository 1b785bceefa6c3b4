"""`musculo view`: a model and its motion in the browser."""

from __future__ import annotations

import json
import re
import sys
import tempfile
import webbrowser
from pathlib import Path

from musculo.cli.commands.command_flags import ViewFlags
from musculo.cli.flag_values import check_page
from musculo.cli.starting import imports_end, tell_of_compiling
from musculo.errors import unwarned
from musculo.io import read_osim
from musculo.io.external_load_files import read_external_loads
from musculo.io.marker_columns import read_markers
from musculo.io.storage import read_storage
from musculo.viewer import view


def open_viewer(flags: ViewFlags) -> None:
    """Read the files, write the page, and open it unless it shall not be."""
    imports_end()
    check_page(flags.output)
    tell_of_compiling(flags.quiet)
    model = read_osim(flags.model)
    with unwarned():  # what warnings say in Python stands in notes here
        scene = view(
            model,
            None if flags.motion is None else read_storage(flags.motion),
            activation=None if flags.activation is None else read_storage(flags.activation),
            forces=None if flags.forces is None else read_storage(flags.forces),
            markers=None if flags.markers is None else read_markers(flags.markers),
            loads=None if flags.loads is None else read_external_loads(flags.loads),
            reactions=None if flags.reactions is None else read_storage(flags.reactions),
            geometry=flags.geometry,
        )
    for note in () if flags.quiet or flags.as_json else scene.notes:
        print(f"note: {note}", file=sys.stderr)
    target = flags.output if flags.output is not None else _kept(model.name)
    scene.to_html(target)
    if flags.as_json:
        told = {"page": str(target), "model": model.name, "notes": list(scene.notes)}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    elif not flags.quiet:
        print(f"wrote {target}")
    if not flags.no_open:
        webbrowser.open(target.absolute().as_uri())


def _kept(name: str) -> Path:
    """A file of the temporary folder that is still there when the browser reads it."""
    word = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:40] or "model"
    return Path(tempfile.mkdtemp(prefix="musculo-")) / f"{word}.html"
