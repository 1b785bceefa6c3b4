"""`musculo c3d`: what a C3D file holds, as files that OpenSim reads."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from musculo.errors import InvalidInput
from musculo.io import read_c3d, write_storage, write_trc
from musculo.io.text import write_text
from musculo.results import Recording
from musculo.results.force_plates import plates_to_table


def convert_recording(
    source: Path, folder: Path, up: str | None, forward: str | None, force: bool, quiet: bool, as_json: bool
) -> None:
    """Markers as .trc, plates as .mot, channels as .sto, events as .csv, all in ground with y up."""
    recording = read_c3d(source, up, forward)
    markers = recording.markers
    notes = list(recording.notes)
    if not markers.names and recording.segments is not None:
        markers = recording.segments.origins()
        notes.append(
            f"there are no markers: {source.stem}.trc has the origins of the {len(markers.names)} segments, joint "
            "centers mostly; musculo ik and walk read their poses from the .c3d itself"
        )
    targets = {
        "markers": folder / f"{source.stem}.trc" if markers.names else None,
        "plates": folder / f"{source.stem}_grf.mot" if recording.plates else None,
        "channels": folder / f"{source.stem}_analog.sto" if recording.analog is not None else None,
        "events": folder / f"{source.stem}_events.csv" if recording.events else None,
    }
    files = {what: path for what, path in targets.items() if path is not None}
    if not files:
        raise InvalidInput(f"{source} holds no markers, poses, plates, channels or events that could be written")
    there = [path for path in files.values() if path.exists()]
    if there and not force:
        raise InvalidInput(f"{there[0]} exists; give another folder (-o), or --force to replace it")
    folder.mkdir(parents=True, exist_ok=True)
    if "markers" in files:
        write_trc(markers, files["markers"], units="mm")
    if "plates" in files:
        write_storage(plates_to_table(recording.plates), files["plates"])
    if recording.analog is not None:
        write_storage(recording.analog, files["channels"])
    if "events" in files:
        lines = [f"{event.time:.6g},{event.context},{event.label}" for event in recording.events]
        write_text(files["events"], ["\n".join(["time,side,event", *lines])])
    if as_json:
        made = {what: str(path) for what, path in files.items()}
        print(json.dumps({"up": recording.up, "files": made, "notes": notes}, indent=2, ensure_ascii=False))
        return
    for note in notes if not quiet else ():
        print(f"note: {note}", file=sys.stderr)
    if not quiet:
        for what, path in files.items():
            print(f"{what}: {_in_words(what, recording)}, {path}")


def _in_words(what: str, recording: Recording) -> str:
    if what == "markers":
        count = len(recording.markers.names)
        if count:
            return f"{count} in {len(recording.markers)} frames"
        return f"origins of {len(recording.segments.names) if recording.segments else 0} segments"
    if what == "plates":
        return f"{len(recording.plates)} in {len(recording.plates[0].time)} frames"
    if what == "channels":
        return str(len(recording.analog.names) if recording.analog else 0)
    return str(len(recording.events))
