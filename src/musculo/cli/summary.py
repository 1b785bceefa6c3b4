"""What a model holds, as plain data: the JSON of `musculo info`, and what its tables show."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from musculo.embedding.couplers.coordinate_rules import Coupled, Locked, Prescribed
from musculo.embedding.embedding import embedding_of
from musculo.errors import MusculoError
from musculo.io.osim.xml import document_version, parse_document
from musculo.model.coordinate import Coordinate
from musculo.model.force import Muscle
from musculo.model.joints import UnsupportedJoint
from musculo.model.joints.joint import BallMotion, EllipsoidMotion, FreeMotion, FunctionMotion, Joint
from musculo.model.model import Model
from musculo.model.model_constraint import Constraint, UnsupportedConstraint
from musculo.model.wrap import UnsupportedWrapObject, WrapObject
from musculo.results.angle_columns import is_coordinate

Summary = dict[str, Any]

# How a coordinate moves its joint: what its numbers mean.
ROTATION, TRANSLATION, MIXED, QUATERNION, UNKNOWN = "rotation", "translation", "mixed", "quaternion", "unknown"


def summarize(model: Model, file: Path) -> Summary:
    """Everything worth telling, in SI units and radians; numbers that are not finite become None."""
    problems: list[str] = []
    drivers: dict[str, tuple[str, str]] = {}
    unsolved: tuple[str, ...] = ()
    try:
        rules = embedding_of(model)
    except MusculoError as error:
        problems.append(str(error))
    else:
        unsolved = rules.unsolved
        kinds = {Locked: "locked", Prescribed: "prescribed", Coupled: "coupled"}
        drivers = {rule.dependent: (kinds.get(type(rule), "dependent"), rule.reason) for rule in rules.rules}
    return _finite(
        {
            "name": model.name,
            "file": str(file),
            "document_version": document_version(parse_document(file)),
            "total_mass": math.fsum(body.mass for body in model.bodies),
            "gravity": list(model.gravity),
            "independent_coordinates": [name for name in model.coordinate_names if name not in drivers],
            "bodies": [
                {"name": b.name, "mass": b.mass, "mass_center": list(b.mass_center), "inertia": list(b.inertia)}
                for b in model.bodies
            ],
            "joints": [_joint(joint) for joint in model.joints],
            "coordinates": [
                _coordinate(c, joint, *drivers.get(c.name, ("free", "free")))
                for joint in model.joints
                for c in joint.coordinates
            ],
            "constraints": [_constraint(c, c.name in unsolved) for c in model.constraints],
            "muscles": [_muscle(m) for m in model.muscles],
            "forces": [
                {"name": f.name, "kind": f.kind, "applies_force": f.applies_force}
                for f in model.forces
                if not isinstance(f, Muscle)
            ],
            "markers": [{"name": m.name, "frame": m.frame, "location": list(m.location)} for m in model.markers],
            "wrap_objects": [
                {"name": w.name, "kind": _wrap_kind(w), "frame": w.frame, "active": w.active}
                for w in model.wrap_objects
            ],
            "contact_geometries": [
                {"name": g.name, "kind": g.kind, "frame": g.frame} for g in model.contact_geometries
            ],
            "notes": [{"what": n.what, "where": n.where, "why": n.why} for n in model.notes],
            "problems": problems,
        }
    )


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _joint(joint: Joint) -> Summary:
    computed = not isinstance(joint, UnsupportedJoint)
    return {
        "name": joint.name,
        "kind": joint.element if isinstance(joint, UnsupportedJoint) else joint.kind,
        "parent": joint.parent.body,
        "child": joint.child.body,
        "coordinates": list(joint.coordinate_names),
        "computed": computed,
    }


def _coordinate(coordinate: Coordinate, joint: Joint, driver: str, reason: str) -> Summary:
    return {
        "name": coordinate.name,
        "joint": joint.name,
        "motion": motion_of(coordinate.name, joint),
        "range": list(coordinate.range),
        "clamped": coordinate.clamped,
        "default_value": coordinate.default_value,
        "driver": driver,
        "driven_by": reason,
    }


def motion_of(coordinate: str, joint: Joint) -> str:
    """Rotation, translation, or a mixture: as OpenSim derives it from the joint, whatever the file claims.

    A function that is a line of slope 1 or -1 makes the coordinate a pure rotation or translation; the last such axis
    decides, and a coordinate with none is mixed.
    """
    if isinstance(joint, UnsupportedJoint):
        return UNKNOWN
    found = MIXED
    for motion in joint.motions():
        if isinstance(motion, FunctionMotion):
            for kind, axes in ((ROTATION, motion.rotations), (TRANSLATION, motion.translations)):
                for axis in axes:
                    if is_coordinate(axis.function) and axis.coordinates == (coordinate,):
                        found = kind
        elif isinstance(motion, BallMotion | FreeMotion | EllipsoidMotion) and coordinate in motion.coordinates:
            quaternion = not isinstance(motion, EllipsoidMotion) and motion.quaternion
            turns = motion.coordinates.index(coordinate) < (4 if quaternion else 3)
            found = (QUATERNION if quaternion else ROTATION) if turns else TRANSLATION
    return found


def _constraint(constraint: Constraint, unsolved: bool) -> Summary:
    known = not isinstance(constraint, UnsupportedConstraint)
    return {
        "name": constraint.name,
        "kind": type(constraint).__name__ if known else getattr(constraint, "element", ""),
        "enforced": constraint.enforced,
        "solved": constraint.enforced and not unsolved,
    }


def _muscle(muscle: Muscle) -> Summary:
    return {
        "name": muscle.name,
        "kind": muscle.kind,
        "max_isometric_force": muscle.max_isometric_force,
        "optimal_fiber_length": muscle.optimal_fiber_length,
        "tendon_slack_length": muscle.tendon_slack_length,
        "pennation_angle_at_optimal": muscle.pennation_angle_at_optimal,
        "applies_force": muscle.applies_force,
    }


def _wrap_kind(wrap: WrapObject) -> str:
    return wrap.element if isinstance(wrap, UnsupportedWrapObject) else wrap.kind
