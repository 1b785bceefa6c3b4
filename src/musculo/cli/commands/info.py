"""`musculo info`: what a model holds, for people (tables) and for programs (JSON)."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from musculo.cli.console import printing, table
from musculo.cli.summary import QUATERNION, ROTATION, TRANSLATION, Summary, summarize
from musculo.io import read_osim


class Section(NamedTuple):
    """A part of the summary."""

    title: str
    size: int
    remark: str
    grid: Table


def print_info(file: Path, as_json: bool, quiet: bool = False) -> None:
    """Read a model and print its summary; `quiet` only sees whether it can be read."""
    summary = summarize(read_osim(file), file)
    if as_json:
        print(json.dumps(summary, indent=2, ensure_ascii=False))
    elif not quiet:
        with printing() as out:
            _print_tables(summary, out)


def _print_tables(model: Summary, out: Console) -> None:
    gravity = ", ".join(_number(g, 6) for g in model["gravity"])
    out.print(Text(model["name"] or "(no name)", style="bold"))
    # A path is for copying, so it is never broken.
    out.print(f"  {model['file']}, document version {model['document_version']}", soft_wrap=True)
    out.print(f"  total mass {_number(model['total_mass'], 6)} kg, gravity ({gravity}) m/s^2")
    sections = (_bodies, _joints, _coordinates, _constraints, _muscles, _forces, _markers, _wraps, _contact)
    found = [make(model) for make in sections]
    for section in found:
        _print_section(section, out)
    absent = [section.title.lower() for section in found if not section.size]
    if absent:
        out.print(f"\nNone of: {', '.join(absent)}.")
    notes = [f"{note['what']} ({note['where']}): {note['why']}" for note in model["notes"]]
    _print_list("Ignored or changed, and why", notes, "", out)
    _print_list("Problems", model["problems"], "red", out)
    if not notes:
        out.print("\nNothing in the file is ignored.")


def _print_section(section: Section, out: Console) -> None:
    """A table under its heading; nothing where there is nothing to show."""
    if section.size:
        _print_heading(f"{section.title}: {section.size}{section.remark}", out)
        out.print(Padding(section.grid, (0, 0, 0, 2), expand=False))


def _print_list(title: str, lines: list[str], style: str, out: Console) -> None:
    if lines:
        _print_heading(title, out)
        items = Table.grid(padding=(0, 1, 0, 0))
        for line in lines:
            items.add_row("-", Text(line, style=style))
        out.print(Padding(items, (0, 0, 0, 2), expand=False))


def _print_heading(text: str, out: Console) -> None:
    out.print()
    out.print(Text(text, style="bold cyan"))


# --- sections -------------------------------------------------------------------------------------------------------
def _bodies(model: Summary) -> Section:
    rows = ((b["name"], _number(b["mass"], 5), _vector(b["mass_center"])) for b in model["bodies"])
    return Section(
        "Bodies", len(model["bodies"]), "", table(("body", "mass [kg]", "mass center [m]"), rows, ("mass [kg]",))
    )


def _joints(model: Summary) -> Section:
    rows = (
        (
            j["name"],
            j["kind"] + ("" if j["computed"] else " (not computed)"),
            f"{j['parent']} → {j['child']}",
            ", ".join(j["coordinates"]),
        )
        for j in model["joints"]
    )
    return Section("Joints", len(model["joints"]), "", table(("joint", "kind", "parent → child", "coordinates"), rows))


def _coordinates(model: Summary) -> Section:
    coordinates = model["coordinates"]
    more = f", {len(model['independent_coordinates'])} independent"
    if any(c["motion"] not in _UNITS for c in coordinates):
        more += " (without unit: rad or m, through the joint's own curves)"
    rows = ((c["name"], _range(c), _value(c, c["default_value"]), _driver(c)) for c in coordinates)
    columns = ("coordinate", "range", "default", "driven by")
    return Section("Coordinates", len(coordinates), more, table(columns, rows, ("range", "default")))


def _constraints(model: Summary) -> Section:
    rows = ((c["name"], c["kind"], _standing(c)) for c in model["constraints"])
    return Section("Constraints", len(model["constraints"]), "", table(("constraint", "kind", "state"), rows))


def _standing(constraint: Summary) -> str:
    if not constraint["enforced"]:
        return "switched off"
    return "met by construction" if constraint["solved"] else "carried, not enforced"


def _muscles(model: Summary) -> Section:
    rows = (
        (_force_name(m), m["kind"], _number(m["optimal_fiber_length"]), _number(m["max_isometric_force"]))
        for m in model["muscles"]
    )
    columns = ("muscle", "kind", "fiber [m]", "force [N]")
    return Section(
        "Muscles", len(model["muscles"]), " (optimal fiber length, largest force)", table(columns, rows, columns[2:])
    )


def _forces(model: Summary) -> Section:
    return _grouped("Other forces", ("kind",), [{**f, "name": _force_name(f)} for f in model["forces"]])


def _force_name(force: Summary) -> str:
    return str(force["name"]) + ("" if force["applies_force"] else " (off)")


def _markers(model: Summary) -> Section:
    return _grouped("Markers", ("frame",), model["markers"])


def _wraps(model: Summary) -> Section:
    return _grouped("Wrap objects", ("frame", "kind"), model["wrap_objects"])


def _contact(model: Summary) -> Section:
    return _grouped("Contact geometry", ("frame", "kind"), model["contact_geometries"])


def _grouped(title: str, by: tuple[str, ...], items: list[Summary]) -> Section:
    """Names in one paragraph for each value of `by`: short even where there are hundreds."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for item in items:
        groups.setdefault(tuple(item[key] for key in by), []).append(item["name"])
    rows = ((*key, ", ".join(names)) for key, names in groups.items())
    return Section(title, len(items), "", table((*by, "names"), rows))


# --- numbers --------------------------------------------------------------------------------------------------------
def _number(value: float | None, digits: int = 4) -> str:
    if value is None:
        return "-"
    text = f"{value:.{digits}g}"
    # Whole numbers stay whole: 5000 rather than 5e+03.
    return f"{value:.0f}" if "e+" in text and abs(value) < 1e7 else ("0" if text == "-0" else text)


def _vector(values: list[float | None]) -> str:
    return "(" + ", ".join(_number(v, 3) for v in values) + ")"


# Factor and unit in which a coordinate is shown; a mixed one is rad or m, and nobody can say which.
_UNITS = {ROTATION: (180.0 / math.pi, "°"), TRANSLATION: (1.0, " m"), QUATERNION: (1.0, " (quaternion)")}


# Files write such ranges for "any" [rad, m].
_UNBOUNDED = 1000.0
# Smaller than this, a value in a table is a zero that some program wrote with an error of rounding [degrees, m].
_ZERO = 5e-6


def _value(coordinate: Summary, value: float | None) -> str:
    factor, unit = _UNITS.get(coordinate["motion"], (1.0, ""))
    if value is None:
        return "-"
    return f"{_number(factor * value if abs(factor * value) > _ZERO else 0.0)}{unit}"


def _range(coordinate: Summary) -> str:
    factor, unit = _UNITS.get(coordinate["motion"], (1.0, ""))
    if all(end is None or abs(end) >= _UNBOUNDED for end in coordinate["range"]):
        return "unbounded"
    low, high = (_number(None if end is None else factor * end) for end in coordinate["range"])
    return f"{low} to {high}{unit}"


def _driver(coordinate: Summary) -> str:
    if coordinate["driver"] == "locked":
        return f"locked at {_value(coordinate, coordinate['default_value'])}"
    return str(coordinate["driven_by"])
