"""Files of markers alone, and of scale factors: what OpenSim's scale tool reads and writes beside models."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lxml import etree

from musculo.errors import warn
from musculo.io.osim.context import Context
from musculo.io.osim.elements.bodies import read_markers
from musculo.io.osim.lone_set import add_bodies, read_lone_set
from musculo.io.osim.upgrade.upgrade_osim import upgrade
from musculo.io.osim.xml import exact_all
from musculo.io.text import PathLike, write_text
from musculo.model.body import Marker, Vec3
from musculo.model.model import Model

_KIND = "a file of markers (.xml)"
_HEAD = '<?xml version="1.0" encoding="UTF-8" ?>'


def read_marker_set(path: PathLike, model: Model) -> tuple[Marker, ...]:
    """Read the `<MarkerSet>` of a file, for a model: its bodies are what markers may stand on.

    Raises:
        InvalidFile: no file, no XML, or no set of markers.
        InvalidModel: a marker that does not fit the model; the message names file, line and marker.
    """
    element, version = read_lone_set(path, model, _KIND, "MarkerSet")
    add_bodies(element, model)
    notes = upgrade(element, version)
    context = Context(element)
    markers = read_markers(context)
    for note in (*notes, *context.notes):
        warn(f"{os.fspath(path)}: {note.what} ({note.where}): {note.why}")
    return markers


def with_marker_set(model: Model, markers: Iterable[Marker]) -> Model:
    """The model with further markers; those of a name that it has are taken out and put at the end, as OpenSim does."""
    new = tuple(markers)
    names = {marker.name for marker in new}
    return model.replace(markers=(*(m for m in model.markers if m.name not in names), *new))


def write_marker_set(model: Model, path: PathLike) -> None:
    """Write the markers of a model as a file of their own."""
    root = etree.Element("OpenSimDocument", Version="40600")
    members = etree.SubElement(etree.SubElement(root, "MarkerSet", name="markerset"), "objects")
    for marker in model.markers:
        element = etree.SubElement(members, "Marker", name=marker.name)
        frame = marker.frame if marker.frame.startswith("/") else f"/bodyset/{marker.frame}"
        frame = "/ground" if marker.frame == "ground" else frame
        for tag, words in (
            ("socket_parent_frame", frame),
            ("location", exact_all(marker.location)),
            ("fixed", "true" if marker.fixed else "false"),
        ):
            etree.SubElement(element, tag).text = words
    etree.SubElement(root[0], "groups")
    _write(root, path)


def write_scale_set(factors: Iterable[tuple[str, Vec3]], path: PathLike, digits: int = 17) -> None:
    """Write scale factors of bodies and frames, by name, as the `<ScaleSet>` that OpenSim reads."""
    root = etree.Element("OpenSimDocument", Version="40600")
    members = etree.SubElement(etree.SubElement(root, "ScaleSet", name="ScaleSet"), "objects")
    for name, scales in factors:
        element = etree.SubElement(members, "Scale")
        etree.SubElement(element, "scales").text = " " + " ".join(f"{x:.{digits}g}" for x in scales)
        etree.SubElement(element, "segment").text = name
        etree.SubElement(element, "apply").text = "true"
    etree.SubElement(root[0], "groups")
    _write(root, path)


def _write(root: etree._Element, path: PathLike) -> None:
    etree.indent(root, space="\t")
    write_text(path, [_HEAD, etree.tostring(root, encoding="unicode")])
