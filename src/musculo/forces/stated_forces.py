"""What a force of a model states: numbers, vectors, frames and coordinates from its text."""

from __future__ import annotations

import math
import posixpath

import numpy as np

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel, UnknownName
from musculo.model.body import GROUND
from musculo.model.force import Force
from musculo.model.model import Model

Vec3 = tuple[float, float, float]


def described(force: Force) -> str:
    """For messages: its kind and name."""
    return f"{force.kind} {force.name!r}"


def number(force: Force, key: str, default: float) -> float:
    """A number of the force; the default where it states none."""
    text = force.text(key).strip()
    try:
        return float(text) if text else default
    except ValueError:
        raise InvalidModel(f"{described(force)}: {key} is {text!r}, not a number") from None


def finite(force: Force, key: str, default: float) -> float:
    """As `number`; one that is not finite is refused."""
    value = number(force, key, default)
    if not math.isfinite(value):
        raise InvalidModel(f"{described(force)}: {key} is {value}; give a finite number")
    return value


def flag(force: Force, key: str, default: bool) -> bool:
    """True or false, as OpenSim reads them: in any case, or 1 and 0; other words are refused."""
    text = force.text(key).strip().lower()
    if text in ("true", "1", "false", "0", ""):
        return text in ("true", "1") if text else default
    raise InvalidModel(f"{described(force)}: {key} is {text!r}, neither true nor false")


def vector(force: Force, key: str, default: Vec3, unit: bool = False) -> FloatArray:
    """(3,), scaled to length one where `unit`."""
    text = force.text(key)
    try:
        found = np.array([float(x) for x in text.split()] if text.strip() else default)
    except ValueError:
        found = np.zeros(0)
    length = float(np.linalg.norm(found))
    if found.shape != (3,) or not math.isfinite(length) or (unit and length == 0.0):
        raise InvalidModel(f"{described(force)}: {key} is {text!r}; it needs three numbers")
    return found / length if unit else found


def coordinate(force: Force, model: Model) -> str:
    """The coordinate that the force acts on, which has a speed of its name."""
    stated = (force.text("coordinate") or force.text("socket_coordinate")).strip()
    name = stated if stated in model.coordinate_names else stated.rsplit("/", 1)[-1]
    if name not in model.coordinate_names or name not in model.speed_names:
        known = [n for n in model.coordinate_names if n in model.speed_names]
        raise UnknownName("coordinate", name, known, described(force))
    return name


def frame(force: Force, key: str, model: Model) -> str:
    """The frame that a property or socket names, as `model.placement` knows it."""
    stated = (force.text(f"socket_{key}") or force.text(key)).strip()
    if not stated:
        raise InvalidModel(f"{described(force)}: {key} names no frame; give the path of a body or frame")
    own = f"/forceset/{force.name}"
    candidates = [posixpath.normpath(posixpath.join(base, stated)) for base in (own, "/forceset")]
    for candidate in (stated, *candidates, stated.rsplit("/", 1)[-1]):
        try:
            model.placement(candidate)
        except UnknownName:
            continue
        return "ground" if candidate == "/ground" else candidate
    known = (GROUND, *model.body_names, *(f.path for f in model.frames))
    raise UnknownName("frame", stated, known, f"{key} of {described(force)}")


def body(force: Force, key: str, model: Model) -> str:
    """The body that a property names, or ground."""
    name = last_name(force.text(key).strip())
    if name not in (GROUND, *model.body_names):
        raise UnknownName("body", name, (GROUND, *model.body_names), described(force))
    return name


def last_name(path: str) -> str:
    """The name of a component, the last part of its path."""
    return path.rsplit("/", 1)[-1]
