"""Files of function-based paths alone, as OpenSim's PolynomialPathFitter writes them, in place of a model's paths."""

from __future__ import annotations

from dataclasses import replace

from musculo.errors import UnknownName
from musculo.io.force_set import add_names
from musculo.io.osim.context import Context
from musculo.io.osim.elements.osim_paths import read_path
from musculo.io.osim.lone_set import read_lone_set
from musculo.io.osim.xml import describe, invalid, objects, place
from musculo.io.text import PathLike
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model

_KIND = "a file of function-based paths (.xml)"
_TAG = "Set_FunctionBasedPath_"


def with_function_paths(model: Model, path: PathLike) -> Model:
    """The model with the paths of a `<Set_FunctionBasedPath_>` file in place of its own.

    Each path of the file is called as the force that it is for: `/forceset/soleus_r`, as OpenSim's
    `ModOpReplacePathsWithFunctionBasedPaths` has it. Forces that the file does not name keep their paths.

    Raises:
        InvalidFile: no file, no XML, or no set of such paths.
        InvalidModel: a path that does not fit the model; the message names file, line and path.
        UnknownName: a force that the model does not have, or that has no path.
    """
    element, _ = read_lone_set(path, model, _KIND, _TAG)
    add_names(element, model)
    context = Context(element)
    known = [f.name for f in model.forces if f.path is not None]
    found = {}
    for one in objects(element, _TAG):
        if one.tag != "FunctionBasedPath":
            raise invalid(one, f"stands in a <{_TAG}>, which holds <FunctionBasedPath> only; correct it")
        name = one.get("name", "").rsplit("/", 1)[-1]
        if name not in known:
            raise UnknownName("force with a path", name, known, f"{place(one)}: {describe(one)}")
        made = read_path(one, context)
        if not isinstance(made, FunctionPath):
            raise invalid(one, "it has no coordinates or no function for its length; fit it again")
        found[name] = made
    forces = []
    for force in model.forces:
        if force.name in found and force.path is not None:
            force = replace(force, path=replace(found[force.name], name=force.path.name))
        forces.append(force)
    return model.replace(forces=tuple(forces), notes=(*model.notes, *context.notes))
