"""`musculo report`: one page of a folder of results."""

from __future__ import annotations

import webbrowser
from pathlib import Path

from musculo.io.osim import read_osim
from musculo.report import report_of_folder, write_report
from musculo.report.contents import Light

PAGE = "report.html"


def make_report(folder: Path, model: Path | None, output: Path | None, title: str, opened: bool, quiet: bool) -> None:
    """Write the page and say how good the results are."""
    report = report_of_folder(folder, read_osim(model) if model is not None else None, title)
    path = output or folder / PAGE
    write_report(path, report)
    if not quiet:
        for check in report.checks:
            mark = {Light.GOOD: "good", Light.LOOK: "look", Light.BAD: "BAD ", Light.INFO: "    "}[check.light]
            print(f"{mark}  {check.title}: {check.found}")
        print(path)
    if opened:
        webbrowser.open(path.resolve().as_uri())
