"""Muscles and other forces from the 40600 layout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from musculo.functions import Function
from musculo.io.osim.context import HOLDERS_OF_COMPONENTS, REFUSED, Context, account, carried_components
from musculo.io.osim.elements.functions import is_function, read_function
from musculo.io.osim.elements.known_elements import PROPERTIES, stands_by_class
from musculo.io.osim.elements.osim_paths import is_path, read_path
from musculo.io.osim.xml import Element, flag, invalid, number, objects, restore_colons, to_text
from musculo.model.force import Force, Muscle, MuscleCurve
from musculo.model.muscle_parameters import (
    CURVES,
    PARAMETERS,
    Scalar,
    is_muscle,
    min_control,
)
from musculo.model.path_force import PATH_FORCES

_COMMON_NUMBERS = {
    "max_isometric_force": 1000.0,
    "optimal_fiber_length": 0.1,
    "tendon_slack_length": 0.2,
    "pennation_angle_at_optimal": 0.0,
    "max_contraction_velocity": 10.0,
}
_COMMON_FLAGS = ("ignore_tendon_compliance", "ignore_activation_dynamics")
_CONTROLS = ("min_control", "max_control")
# Far above the strongest muscle of a model of a human, some 10 kN [N].
_STRONGEST = 1e5
# Of OpenSim's muscles that divide by their activation.
_LEAST_ACTIVATION = 0.01
_FORCE_FIELDS = {field.name for field in fields(Force)}
_MUSCLE_TAGS = {*_COMMON_NUMBERS, *_COMMON_FLAGS, *_CONTROLS}


# Kinds whose equations are known and whose every value is kept; others are noted as carried only.
_KNOWN_FORCES = {
    "BodyActuator",
    "BushingForce",
    "CoordinateActuator",
    "CoordinateLimitForce",
    "ActivationCoordinateActuator",
    "ElasticFoundationForce",
    "ExpressionBasedBushingForce",
    "ExpressionBasedCoordinateForce",
    "ExpressionBasedPointToPointForce",
    "FunctionBasedBushingForce",
    "HuntCrossleyForce",
    "PointActuator",
    "PointToPointActuator",
    "PointToPointSpring",
    "PrescribedForce",
    "SmoothSphereHalfSpaceForce",
    "SpringGeneralizedForce",
    "TorqueActuator",
}


# Of these less is computed than OpenSim computes.
_LESS = {
    "BodyActuator": "actuators of this kind exert a force in simulations only: no analysis here controls them",
    "ActivationCoordinateActuator": "in analyses its control acts at once: its activation dynamics, and its activation "
    "where no control is given, are computed in simulations alone",
}
# The sets of functions of time of a PrescribedForce.
_PRESCRIBED = ("forceFunctions", "pointFunctions", "torqueFunctions")
_PATH_FORCES = {kind.__name__: kind for kind in PATH_FORCES}
# Without these OpenSim does not open the file.
_REQUIRED = {
    "PathSpring": ("resting_length", "stiffness", "dissipation"),
    "ClutchedPathSpring": ("stiffness", "dissipation"),
}


def acts_by_itself(tag: str) -> bool:
    """Whether a force needs no activation and no control, and its law is known."""
    passive = tag in _KNOWN_FORCES or (tag in _PATH_FORCES and tag != "ClutchedPathSpring")
    return passive and not tag.endswith("Actuator")


def read_forces(context: Context) -> tuple[Force, ...]:
    forces: list[Force] = []
    taken: set[str] = set()
    for element in objects(context.model, "ForceSet"):
        name, count = element.get("name", ""), 0
        while name in taken:
            name, count = f"{element.get('name')}_{count}", count + 1
        if name != element.get("name"):
            context.note(element, f"another force has this name; it is called {name!r}, as in OpenSim")
            element.set("name", name)
        taken.add(name)
        forces.append(_read_force(element, context))
    return tuple(forces)


class _Parts:
    """The children of a force, sorted by how they are kept."""

    def __init__(self, element: Element, context: Context) -> None:
        self.path = None
        self.leaves: dict[str, str] = {}
        self.functions: list[tuple[str, Function]] = []
        self.curves: list[MuscleCurve] = []
        self.carried: list[str] = []
        for child in element:
            if child.tag == "appliesForce":
                continue
            if child.tag in HOLDERS_OF_COMPONENTS:  # offset frames are the model's own
                self.carried += carried_components(child, context)
                continue
            inner = next(iter(child), None)
            if is_path(child):
                self.path = read_path(child, context)
            elif is_function(child) and stands_by_class(element.tag, child.get("name", "")):
                self.functions.append((child.get("name", ""), read_function(child, context)))
            elif child.tag == "FunctionSet" and element.tag == "PrescribedForce":
                account(child, context)
                members = list(child.iterfind("objects/*"))
                name = child.get("name", "")
                if name not in _PRESCRIBED or len(members) not in (0, 3):
                    raise invalid(
                        child,
                        f"is called {name!r} and holds {len(members)} functions; a PrescribedForce has "
                        f"{', '.join(_PRESCRIBED)} of three functions each",
                    )
                self.functions += [(f"{name}/{k}", read_function(f, context)) for k, f in enumerate(members)]
            elif child.tag in _PRESCRIBED and child.find("objects") is not None:
                raise invalid(child, f'is not a FunctionSet; write <FunctionSet name="{child.tag}">')
            elif inner is not None and len(child) == 1 and is_function(inner):
                self.functions.append((child.tag, read_function(inner, context)))
            elif inner is None and not child.attrib:
                self.leaves[child.tag] = child.text or ""
            elif child.tag.endswith("Curve") and all(len(c) == 0 for c in child):
                self.curves.append(_read_curve(child, context))
            else:
                self.carried.append(to_text(child))
                if restore_colons(child.tag) in PROPERTIES:  # sets of contact parameters
                    account(child, context)
                    for member in child.iterfind("objects/*"):
                        if restore_colons(member.tag) in PROPERTIES:
                            account(member, context)


def _read_curve(element: Element, context: Context) -> MuscleCurve:
    # Empty leaves are optional parameters that are not set.
    stated = [c.tag for c in element if c.text]
    known = CURVES.get(element.tag, stated)
    if element.tag in PROPERTIES:
        account(element, context)
    parameters = tuple((tag, number(element, tag, None)) for tag in stated if tag in known)
    return MuscleCurve(element.tag, element.get("name") or element.tag, parameters)


def _read_force(element: Element, context: Context) -> Force:
    parts = _Parts(element, context)
    if element.tag in PROPERTIES:
        account(element, context)
    common: dict[str, Any] = {
        "name": element.get("name", ""),
        "kind": element.tag,
        "applies_force": flag(element, "appliesForce", True),
        "path": parts.path,
        "functions": tuple(parts.functions),
        "carried": tuple(parts.carried),
    }
    if is_muscle(element.tag):
        return _read_muscle(element, parts, common, context)
    curves = tuple(
        f'<{c.element} name="{c.name}">' + "".join(f"<{k}>{v!r}</{k}>" for k, v in c.parameters) + f"</{c.element}>"
        for c in parts.curves
    )
    common["carried"] += curves
    leaves = {k: v for k, v in parts.leaves.items() if v}
    driven = leaves.get("coordinate", leaves.get("socket_coordinate", "")).strip()
    known = (*context.coordinates, *context.coordinates.values())
    if driven and element.tag in PROPERTIES and not {driven, driven.rsplit("/", 1)[-1]} & set(known):
        context.note(element, f"no coordinate {driven!r} is in the model; {REFUSED}")
    if element.tag in _PATH_FORCES and common["path"] is not None:
        return _read_path_force(element, leaves, common)
    if element.tag not in _KNOWN_FORCES:
        context.note(element, "forces of this kind are kept but exert no force")
    elif element.tag in _LESS:
        context.note(element, _LESS[element.tag])
    return Force(**common, properties=tuple(leaves.items()))


def _read_path_force(element: Element, leaves: dict[str, str], common: dict[str, Any]) -> Force:
    """A spring, ligament or actuator along a path; what its kind does not know stays a plain property."""
    kind = _PATH_FORCES[element.tag]
    values: dict[str, Any] = {}
    for own in fields(kind):
        if own.name in _FORCE_FIELDS:
            continue
        if own.name in _REQUIRED.get(element.tag, ()):
            values[own.name] = number(element, own.name, None)
        elif own.name in leaves:
            if isinstance(own.default, bool):
                values[own.name] = flag(element, own.name, own.default)
            else:
                values[own.name] = leaves[own.name] if own.type == "str" else number(element, own.name, None)
        leaves.pop(own.name, None)
    functions = dict(common.pop("functions"))
    if "force_length_curve" in functions and element.tag == "Ligament":
        values["force_length_curve"] = functions.pop("force_length_curve")
    return kind(**common, **values, functions=tuple(functions.items()), properties=tuple(leaves.items()))


def _read_muscle(element: Element, parts: _Parts, common: dict[str, Any], context: Context) -> Muscle:
    if not common["applies_force"]:
        context.note(element, "it is switched off (<appliesForce> is false), and does nothing on the coordinates")
    if element.tag not in PROPERTIES:
        context.note(element, "muscles of this kind are kept: their paths are computed, their forces are not")
    if common["path"] is None:
        raise invalid(element, "has no path; add a <GeometryPath> with at least two points")
    numbers: dict[str, Any] = {tag: number(element, tag, default) for tag, default in _COMMON_NUMBERS.items()}
    if not numbers["optimal_fiber_length"] > 0.0:
        raise invalid(
            element, f"its optimal_fiber_length is {numbers['optimal_fiber_length']:g}; give a number above zero"
        )
    if numbers["max_isometric_force"] < 0.0:
        raise invalid(element, f"its max_isometric_force is {numbers['max_isometric_force']:g} N; give zero or more")
    if numbers["max_isometric_force"] == 0.0:
        context.note(element, "its max_isometric_force is 0: it has a length and moment arms, and pulls nothing")
    if numbers["tendon_slack_length"] < 0.0:
        raise invalid(element, f"its tendon_slack_length is {numbers['tendon_slack_length']:g} m; give zero or more")
    parameters: dict[str, Scalar] = dict(PARAMETERS.get(element.tag, {}))
    known = PARAMETERS.get(element.tag)
    kept: dict[str, str] = {}
    for tag, word in parts.leaves.items():
        if tag in _MUSCLE_TAGS or not word:
            continue
        if known is None or tag in known:
            parameters[tag] = _scalar(element, tag, word)
        else:
            kept[tag] = word
    flags: dict[str, Any] = {tag: flag(element, tag, False) for tag in _COMMON_FLAGS}
    muscle = Muscle(
        **common,
        **numbers,
        **flags,
        min_control=number(element, "min_control", min_control(element.tag)),
        max_control=number(element, "max_control", 1.0),
        properties=tuple(kept.items()),
        parameters=tuple(parameters.items()),
        curves=tuple(parts.curves),
    )
    if muscle.max_isometric_force > _STRONGEST:
        context.note(element, f"its max_isometric_force is {muscle.max_isometric_force:g} N, more than any muscle's")
    for what in _beyond_opensim(muscle):
        context.note(element, f"{what}; {REFUSED}")
    return muscle


def _beyond_opensim(muscle: Muscle) -> Iterator[str]:
    """What can be computed here and is refused by OpenSim's muscle of this kind."""
    least = float(muscle.parameter("minimum_activation", 0.0))
    if muscle.kind in ("Thelen2003Muscle", "Millard2012EquilibriumMuscle"):
        if least < _LEAST_ACTIVATION:
            yield f"its minimum_activation {least:g} is below {_LEAST_ACTIVATION:g}"
        if muscle.min_control < least:
            yield f"its min_control {muscle.min_control:g} is below its minimum_activation {least:g}"
    if muscle.kind == "Thelen2003Muscle" and (muscle.ignore_tendon_compliance or muscle.ignore_activation_dynamics):
        yield "muscles of this kind have no rigid tendon and no immediate activation there"
    default = float(muscle.parameter("default_activation", 0.05))
    if muscle.kind == "DeGrooteFregly2016Muscle" and not default > 0.0:
        yield f"its default_activation is {default:g}"


def _scalar(element: Element, tag: str, word: str) -> Scalar:
    if isinstance(PARAMETERS.get(element.tag, {}).get(tag), bool):
        return flag(element, tag, False)
    if word in ("true", "false"):  # of a kind that is not known
        return word == "true"
    try:
        float(word)
    except ValueError:
        return word
    return number(element, tag, None)
