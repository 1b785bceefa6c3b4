"""Files of forces alone, as set-up files name them: reserves, residuals, contact; beside a model's own or instead."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lxml import etree

from musculo.io.osim.context import Context
from musculo.io.osim.elements.osim_forces import read_forces
from musculo.io.osim.lone_set import add_bodies, read_lone_set
from musculo.io.osim.upgrade.upgrade_osim import upgrade
from musculo.io.osim.xml import Element, ensure
from musculo.io.text import PathLike
from musculo.model.body import Frame
from musculo.model.force import Force
from musculo.model.model import Model, Note

_KIND = "a file of forces (.xml)"
_TAGS = ("ForceSet", "ActuatorSet")


def read_force_set(path: PathLike, model: Model) -> tuple[Force, ...]:
    """Read the `<ForceSet>` of a file, for a model: its bodies and coordinates are what the forces may name.

    Raises:
        InvalidFile: no file, no XML, or no set of forces.
        InvalidModel: a force that does not fit the model; the message names file, line and force.
    """
    return _read(path, model)[0]


def with_force_sets(model: Model, paths: Iterable[PathLike] | PathLike, *, replace: bool = False) -> Model:
    """The model with the forces of files added to its own, or in their place, as OpenSim's tools do.

    If the name of a force exists already, the force is ignored, with a note: the model's own or that of an earlier file
    is used. OpenSim does the same without a message.

    Example: `with_force_sets(model, setup.force_set_files, setup.replace_force_set)`.
    """
    files: list[PathLike] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    forces: list[Force] = [] if replace else list(model.forces)
    frames, notes = list(model.frames), list(model.notes)
    taken = {force.name for force in forces}
    for file in files:
        new, new_frames, new_notes = _read(file, model)
        for force in new:
            if force.name in taken:
                why = "a force of this name is there already, so this one is ignored, as OpenSim does; rename it"
                notes.append(Note(f"{force.kind} {force.name!r}", os.fspath(file), why))
                continue
            taken.add(force.name)
            forces.append(force)
        frames += new_frames
        notes += new_notes
    return model.replace(forces=tuple(forces), frames=tuple(frames), notes=tuple(notes))


def _read(path: PathLike, model: Model) -> tuple[tuple[Force, ...], tuple[Frame, ...], list[Note]]:
    element, version = read_lone_set(path, model, _KIND, *_TAGS)
    add_names(element, model)
    notes = upgrade(element, version)
    context = Context(element)
    forces = read_forces(context)
    return forces, context.other_frames(set()), [*notes, *context.notes]


def add_names(element: Element, model: Model) -> None:
    """What forces may refer to: the bodies and coordinates of the model, by name."""
    add_bodies(element, model)
    joints = ensure(ensure(element, "JointSet"), "objects")
    for joint in model.joints:
        coordinates = etree.SubElement(etree.SubElement(joints, joint.kind, name=joint.name), "coordinates")
        for name in joint.coordinate_names:
            etree.SubElement(coordinates, "Coordinate", name=name)
