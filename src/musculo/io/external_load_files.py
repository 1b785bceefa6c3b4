"""OpenSim's external loads: an XML file that says which columns of a table act on which body."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

from lxml import etree

from musculo.errors import InvalidFile, InvalidInput, Unsupported
from musculo.io.storage import read_storage, write_storage
from musculo.io.text import PathLike, read_bytes, write_text
from musculo.io.xml_text import parse_text
from musculo.model.body import GROUND
from musculo.results.external_loads import ExternalForce, ExternalLoads

_KIND = "an external loads file (.xml)"
_VERSION = 40000
# From this version on <appliesForce> takes the place of <isDisabled>, which OpenSim no longer looks at.
_APPLIES_FORCE = 30509


def read_external_loads(path: PathLike, *, by_position: bool = False, obsolete_flags: bool = True) -> ExternalLoads:
    """Read an `<ExternalLoads>` file and the table that it names.

    Which columns are x, y and z follows from the ends of their names, and other columns are refused; with
    `by_position` by their order, as OpenSim does.

    A load that a file of OpenSim 4 switches off by `<isDisabled>`, which was the word before, is off; OpenSim lets it
    act, and so does this without `obsolete_flags`. A note says which.

    The table is looked for beside the XML file, then in the working directory (OpenSim looks there first).
    `loads.at(time)` gives force, point and moment of each load at any times, as OpenSim interpolates them.
    """
    where = os.fspath(path) if isinstance(path, str | os.PathLike) else str(path)
    notes: list[str] = []
    root = _parse(read_bytes(path, _KIND), where, notes)
    element = root if root.tag == "ExternalLoads" else root.find("ExternalLoads")
    if element is None:
        raise InvalidFile(f"{where}:{root.sourceline}: holds no <ExternalLoads>; it should be {_KIND}")
    members = element.find("objects")
    forces = []
    for member in members if members is not None else ():
        if member.tag == "PrescribedForce":
            raise Unsupported(
                f"{where}:{member.sourceline}: <PrescribedForce> is the layout before OpenSim 2.3; open the file in "
                "OpenSim, save it, and read the saved one"
            )
        if member.tag != "ExternalForce":
            notes.append(f"<{member.tag}> in line {member.sourceline} is not an external force, and is ignored")
            continue
        forces.append(_force(member, where))
        if _version(root) >= _APPLIES_FORCE and _flag(member, "isDisabled", False, where) and forces[-1].applies:
            forces[-1] = replace(forces[-1], applies=not obsolete_flags)
            acts = (
                "OpenSim does not look at, so that it acts there"
                if obsolete_flags
                else ("OpenSim does not look at: it acts, as it does there (--exact ignores it)")
            )
            notes.append(
                f"external force {forces[-1].name!r} is switched off by <isDisabled>, which in files of this version "
                f"{acts}; write <appliesForce>false</appliesForce>"
            )
            continue
        if not forces[-1].applies:
            notes.append(f"external force {forces[-1].name!r} is switched off and does not act")
    if not forces:
        raise InvalidFile(f"{where}:{element.sourceline}: <ExternalLoads> holds no <ExternalForce>")
    stated = _text(element, "datafile")
    if not stated:
        raise InvalidFile(f"{where}:{element.sourceline}: <ExternalLoads> names no <datafile>; add it")
    data = _data_file(stated, where)
    if data not in _stated_places(stated, where):
        notes.append(f"its data file {stated!r:.80} is a path of Windows with nothing here; {data} is used instead")
    table = read_storage(data)
    name = element.get("name") or "externalloads"
    try:
        return ExternalLoads(name, tuple(forces), table, stated, where, (*notes, *table.notes), by_position)
    except InvalidInput as error:
        raise InvalidFile(str(error)) from None


def _parse(content: bytes, where: str, remarks: list[str]) -> Any:
    root = parse_text(content, where, f"it should be {_KIND}", remarks)
    if root.getroottree().docinfo.internalDTD is not None:
        raise InvalidFile(f"{where}:1: the document has a DOCTYPE, which OpenSim's files do not; remove that block")
    return root


def _version(root: Any) -> int:
    """Of the document; one that does not tell is as old as can be."""
    stated = root.get("Version", "")
    return int(stated) if stated.isdecimal() else 0


def _text(element: Any, tag: str) -> str:
    found = element.find(tag)
    words = "".join(found.itertext()).strip() if found is not None else ""
    return "" if words == "Unassigned" else words


def _force(element: Any, where: str) -> ExternalForce:
    name = element.get("name") or "externalforce"
    applies = _flag(element, "appliesForce", True, where)
    if _version(element.getroottree().getroot()) < _APPLIES_FORCE:
        applies = applies and not _flag(element, "isDisabled", False, where)
    return ExternalForce(
        name,
        _frame(_text(element, "applied_to_body")),
        _text(element, "force_identifier"),
        _text(element, "point_identifier"),
        _text(element, "torque_identifier"),
        _frame(_text(element, "force_expressed_in_body")) or GROUND,
        _frame(_text(element, "point_expressed_in_body")) or GROUND,
        applies,
    )


def _flag(element: Any, tag: str, otherwise: bool, where: str) -> bool:
    word = _text(element, tag).lower()
    if word in ("true", "1", "false", "0", ""):
        return word in ("true", "1") if word else otherwise
    raise InvalidFile(
        f"{where}:{element.sourceline}: <{tag}> of external force {element.get('name')!r} is {word!r:.40}; write true "
        "or false"
    )


def _frame(path: str) -> str:
    """A body by its name; other frames keep their path."""
    for prefix in ("/bodyset/", "./bodyset/", "/"):
        rest = path.removeprefix(prefix)
        if rest != path and "/" not in rest:
            return rest
    return path


def data_files(path: PathLike) -> tuple[Path, ...]:
    """Where the table of an external loads file may be, in the order of the search; none where the file tells none."""
    where = os.fspath(path)
    try:
        found = _parse(read_bytes(path, _KIND), where, []).find(".//datafile")
    except InvalidFile:
        return ()
    stated = "".join(found.itertext()).strip() if found is not None else ""
    return tuple(_candidates(stated, where)) if stated not in ("", "Unassigned") else ()


def _candidates(stated: str, where: str) -> list[Path]:
    windows = PureWindowsPath(stated)
    # of a path of another machine the last part may lie beside the loads
    beside = [Path(where).parent / windows.name] if windows.drive or "\\" in stated else []
    return [*_stated_places(stated, where), *beside]


def _stated_places(stated: str, where: str) -> list[Path]:
    names = [Path(stated), Path(PureWindowsPath(stated).as_posix())]
    return [folder / name for folder in (Path(where).parent, Path()) for name in names]


def _data_file(stated: str, where: str) -> Path:
    places = _candidates(stated, where)
    try:
        for place in places:
            if place.is_file():
                return place
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{where}: the data file {stated!r:.80} cannot be looked for ({error})") from None
    folders = dict.fromkeys(os.path.abspath(folder) for folder in (Path(where).parent, Path()))
    looked = " and ".join(folders)
    raise InvalidFile(f"{where}: its data file {stated!r:.80} is missing; looked in {looked}")


def write_external_loads(loads: ExternalLoads, path: PathLike, data_file: PathLike | None = None) -> None:
    """Write the XML file, and the table beside it under the same name with the ending .mot (or as `data_file`).

    Columns are put in the order x, y, z, which is all that OpenSim goes by.
    """
    if not isinstance(loads, ExternalLoads):
        raise InvalidInput(f"write_external_loads(loads, path) needs ExternalLoads, not {type(loads).__name__}")
    target = Path(os.fspath(path))
    table_path = Path(os.fspath(data_file)) if data_file is not None else target.with_suffix(".mot")
    if table_path.absolute() == target.absolute():
        raise InvalidInput(f"{target} would hold both the loads and their data; give them different names")
    root = etree.Element("OpenSimDocument", Version=str(_VERSION))
    element = etree.SubElement(root, "ExternalLoads", name=loads.name)
    members = etree.SubElement(element, "objects")
    try:
        for force in loads.forces:
            member = etree.SubElement(members, "ExternalForce", name=force.name)
            for tag, words in (
                ("appliesForce", "true" if force.applies else "false"),
                ("applied_to_body", force.body),
                ("force_expressed_in_body", force.force_in),
                ("point_expressed_in_body", force.point_in),
                ("force_identifier", force.force_identifier),
                ("point_identifier", force.point_identifier),
                ("torque_identifier", force.torque_identifier),
                ("data_source_name", "Unassigned"),
            ):
                etree.SubElement(member, tag).text = words
        etree.SubElement(element, "groups")
        relative = os.path.relpath(table_path.absolute(), target.absolute().parent)
        etree.SubElement(element, "datafile").text = Path(relative).as_posix()
    except ValueError as error:
        raise InvalidInput(f"the loads hold text that XML cannot ({error}); rename it") from None
    etree.indent(root, space="\t")
    table = loads.in_order.table
    write_storage(replace(table, name=table.name or loads.name), table_path)
    write_text(target, ['<?xml version="1.0" encoding="UTF-8" ?>', etree.tostring(root, encoding="unicode")])
