"""A generic model made as large and as heavy as a subject, as OpenSim's scale tool does it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from musculo.arrays import FloatArray
from musculo.embedding.embedding import embedding_of
from musculo.errors import InvalidInput, InvalidModel, UnknownName, Unsupported
from musculo.functions.elementary_functions import times
from musculo.io.osim.xml import exact_all, from_text, put, to_text
from musculo.like import Like, Wrapping, wrapping_of
from musculo.model.body import GROUND, Body, Frame, Placement, Vec3, Vec6
from musculo.model.force import Force, Muscle
from musculo.model.function_path import FunctionPath
from musculo.model.joints.joint import Joint
from musculo.model.model import Model, Note
from musculo.model.model_constraint import Constraint, CoordinateCoupler, WeldConstraint
from musculo.model.model_path import MovingPathPoint, Path, PathPoint, UnsupportedPath
from musculo.model.path_force import Blankevoort1991Ligament, ExpressionBasedPathForce, Ligament, PathSpring
from musculo.model.wrap import WrapCylinder, WrapEllipsoid, WrapObject, WrapSphere, WrapTorus
from musculo.muscle.paths.geometry import path_geometry
from musculo.results.angle_columns import translational_coordinates
from musculo.spatial.rotation import from_xyz

Factors = Mapping[str, float | Sequence[float]]
P = TypeVar("P", bound=PathPoint)

_UNSCALED: Vec3 = (1.0, 1.0, 1.0)
# Factors that differ by less are the same (SimTK::isNumericallyEqual).
_SAME = 1e-14
# OpenSim's rigid-tendon muscle forgets to scale itself.
_UNSCALED_MUSCLES = ("RigidTendonMuscle",)
# Lengths of what runs along a path, by kind of force: those that grow with the path.
_LENGTHS: dict[type[Force], tuple[str, ...]] = {
    Muscle: ("optimal_fiber_length", "tendon_slack_length"),
    PathSpring: ("resting_length",),
    Ligament: ("resting_length",),
    Blankevoort1991Ligament: ("slack_length",),
    ExpressionBasedPathForce: ("resting_length",),
}


def scale_model(
    model: Model,
    factors: Factors,
    mass: float | None = None,
    *,
    preserve_mass_distribution: bool = False,
    like: Like | None = "opensim",
    wrapping: Wrapping | None = None,
) -> Model:
    """The model with its bodies stretched along their own axes, and everything on them.

        p' = s p                     points and frames of a body with factors s = (s_x, s_y, s_z)
        m' = m s_x s_y s_z           or m, with `preserve_mass_distribution`; then all masses times mass / sum(m')
        l' = l L'/L                  optimal fiber and tendon slack lengths, L the path at the default pose

    Inertias: see `scaled_inertia`. Translations of custom joints grow by |axis| . s of the parent body, unless they
    are coordinates themselves; wrap objects by the size of their own axes. Contact shapes, point constraints,
    strengths, ranges and default values stay.

    Source:     OpenSim 4.6, `Model::scale`.
    Departs:    a frame that stands on another frame is scaled along the axes of the body, not of that frame; a closed
                loop is not closed before paths are measured, and the scaled model says so in its notes.

    Args:
        model: the generic model.
        factors: by body (or `ground`): one number, or three for x, y and z. Bodies without one stay.
        mass: of the whole subject [kg].
        preserve_mass_distribution: share the mass among bodies as in the generic model, whatever their size.
        like: how paths are measured, see `muscle_geometry`: here by default as OpenSim does, None is exact.
        wrapping: another word for it: "geodesic" or "opensim".

    Raises:
        UnknownName: a body that the model does not have.
        InvalidInput: factors or a mass that are not above zero.
        Unsupported: a coupler drives a translation of a body whose factors differ; OpenSim refuses that, too.
    """
    scale = checked_factors(model, factors)
    total = _checked_mass(mass)

    def of(frame: str) -> Vec3:
        return scale.get(model.placement(frame).body, _UNSCALED)

    bodies = tuple(_body(b, scale.get(b.name, _UNSCALED), preserve_mass_distribution) for b in model.bodies)
    scaled = model.replace(
        bodies=_with_mass(bodies, total),
        joints=tuple(_joint(j, scale) for j in model.joints),
        constraints=tuple(_constraint(c, model, scale) for c in model.constraints),
        markers=tuple(replace(m, location=_times(m.location, of(m.frame))) for m in model.markers),
        frames=tuple(Frame(f.path, _placement(f.placement, scale)) for f in model.frames),
        wrap_objects=tuple(_wrap(w, of(w.frame)) for w in model.wrap_objects),
        forces=tuple(
            f if f.path is None else replace(f, path=_path(f.path, {p.frame: of(p.frame) for p in f.path.points}))
            for f in model.forces
        ),
        ground_carried=_carried(model.ground_carried, scale.get(GROUND, _UNSCALED)),
    )
    return _with_lengths(model, scaled, wrapping_of(like, wrapping))


def scaled_inertia(body: Body, factors: Vec3, mass: float) -> Vec6:
    """The inertia (xx, yy, zz, xy, xz, yz) of a body of that new mass.

    Equal factors s:  I' = I (m'/m) s^2
    Else the body is a cylinder about its axis a of least inertia, of radius r^2 = 2 I_aa / m and length
    L^2 = 12 (I_oo / m - r^2 / 4), o the first other axis:  L' = s_a L,  r'^2 = s_b s_c r^2,
        I_aa' = m' r'^2 / 2,   I_bb' = I_cc' = m' (L'^2 / 12 + r'^2 / 4),   I_ij' = I_ij s_i s_j (m'/m)

    Source: OpenSim 4.6, `Body::scaleInertialProperties`.
    """
    if mass <= np.finfo(float).eps:
        return (0.0,) * 6
    s, moments, products = factors, body.inertia[:3], body.inertia[3:]
    growth = mass / body.mass
    if _equal(s):
        return tuple(moment * growth * s[0] * s[0] for moment in body.inertia)  # type: ignore[return-value]
    axis = min(range(3), key=lambda k: (moments[k], (0, 1, 2)[k]))
    other = 1 if axis == 0 else 0
    b, c = (k for k in range(3) if k != axis)
    r2 = max(0.0, 2.0 * moments[axis] / body.mass)
    length2 = max(0.0, 12.0 * (moments[other] / body.mass - 0.25 * r2)) * s[axis] ** 2
    r2 *= s[b] * s[c]
    across = mass * (length2 / 12.0 + 0.25 * r2)
    x, y, z = (0.5 * mass * r2 if k == axis else across for k in range(3))
    xy, xz, yz = (p * growth * s[i] * s[j] for p, (i, j) in zip(products, ((0, 1), (0, 2), (1, 2)), strict=True))
    return x, y, z, xy, xz, yz


# --- factors --------------------------------------------------------------------------------------------------------
def checked_factors(model: Model, factors: Factors) -> dict[str, Vec3]:
    """Three factors above zero by body."""
    known = (GROUND, *model.body_names)
    scale: dict[str, Vec3] = {}
    for name, given in factors.items():
        if name not in known:
            raise UnknownName("body", name, known, model.source or f"model {model.name!r}")
        try:
            x, y, z = np.broadcast_to(np.asarray(given, dtype=float), (3,)).tolist()
        except (TypeError, ValueError):
            raise InvalidInput(f"the factors of {name!r} are {given!r:.60}; give one number, or three") from None
        if not all(math.isfinite(v) and v > 0.0 for v in (x, y, z)):
            raise InvalidInput(f"the factors of {name!r} are {x:g}, {y:g}, {z:g}; give numbers above zero")
        scale[name] = (x, y, z)
    return scale


def _checked_mass(mass: float | None) -> float | None:
    if mass is not None and not (np.ndim(mass) == 0 and np.isfinite(mass) and mass > 0.0):
        raise InvalidInput(f"the mass is {mass!r:.40}; give that of the whole subject, above zero [kg]")
    return mass


def _equal(factors: Vec3) -> bool:
    x, y, z = factors
    return math.isclose(x, y, rel_tol=_SAME, abs_tol=_SAME) and math.isclose(y, z, rel_tol=_SAME, abs_tol=_SAME)


def _times(p: Vec3, factors: Vec3) -> Vec3:
    return p[0] * factors[0], p[1] * factors[1], p[2] * factors[2]


# --- bodies and frames ----------------------------------------------------------------------------------------------
def _body(body: Body, factors: Vec3, keep_mass: bool) -> Body:
    if factors == _UNSCALED:
        return body
    mass = body.mass if keep_mass else body.mass * math.prod(factors)
    return replace(
        body,
        mass=mass,
        mass_center=_times(body.mass_center, factors),
        inertia=scaled_inertia(body, factors, mass),
        carried=_carried(body.carried, factors),
    )


def _with_mass(bodies: tuple[Body, ...], mass: float | None) -> tuple[Body, ...]:
    total = math.fsum(b.mass for b in bodies)
    if mass is None or total <= 0.0:
        return bodies
    ratio = mass / total
    return tuple(
        replace(b, mass=b.mass * ratio, inertia=tuple(moment * ratio for moment in b.inertia))  # type: ignore[arg-type]
        for b in bodies
    )


def _placement(placement: Placement, scale: Mapping[str, Vec3]) -> Placement:
    factors = scale.get(placement.body, _UNSCALED)
    if factors == _UNSCALED:
        return placement
    return replace(
        placement,
        translation=_times(placement.translation, factors),
        carried=_carried(placement.carried, factors),
    )


def _carried(parts: tuple[str, ...], factors: Vec3) -> tuple[str, ...]:
    """What is drawn grows, too."""
    return tuple(_drawing(xml, factors) if xml.startswith("<attached_geometry") else xml for xml in parts)


def _drawing(xml: str, factors: Vec3) -> str:
    if factors == _UNSCALED:
        return xml
    element = from_text(xml)
    for shape in element:
        stated = shape.find("scale_factors")
        if stated is None:
            stated = put(shape, "scale_factors", "1 1 1")
        try:
            x, y, z = (float(word) for word in (stated.text or "1 1 1").split())
        except ValueError:
            raise InvalidModel(
                f"the scale_factors of a drawn {shape.tag} are {stated.text!r:.60}; give three numbers"
            ) from None
        stated.text = exact_all(_times((x, y, z), factors))
    return to_text(element)


# --- joints and constraints -----------------------------------------------------------------------------------------
def _joint(joint: Joint, scale: Mapping[str, Vec3]) -> Joint:
    grown = joint.scaled(*(scale.get(side.body, _UNSCALED) for side in (joint.parent, joint.child)))
    return replace(grown, parent=_placement(joint.parent, scale), child=_placement(joint.child, scale))


def _constraint(constraint: Constraint, model: Model, scale: Mapping[str, Vec3]) -> Constraint:
    if isinstance(constraint, WeldConstraint):
        return replace(
            constraint, first=_placement(constraint.first, scale), second=_placement(constraint.second, scale)
        )
    if not isinstance(constraint, CoordinateCoupler):
        return constraint
    joint = next(j for j in model.joints if constraint.dependent in j.coordinate_names)
    factors = scale.get(joint.parent.body, _UNSCALED)
    if constraint.dependent not in translational_coordinates(joint):
        return constraint
    if len(set(factors)) > 1:
        raise Unsupported(
            f"coupler {constraint.name!r} drives {constraint.dependent!r}, a translation on {joint.parent.body!r}, "
            f"whose factors are {factors}; give that body three equal factors"
        )
    return replace(constraint, scale=constraint.scale * factors[0])


# --- paths ----------------------------------------------------------------------------------------------------------
def _wrap(wrap: WrapObject, factors: Vec3) -> WrapObject:
    """Sizes grow as the object's own axes do: |e o s| for an axis e given in the frame that it is fixed to."""
    if factors == _UNSCALED:
        return wrap
    moved = replace(wrap, translation=_times(wrap.translation, factors))
    x, y, z = np.linalg.norm(from_xyz(wrap.orientation) * np.asarray(factors)[:, None], axis=0).tolist()
    round_z = 0.5 * (x + y)
    if isinstance(moved, WrapSphere):
        return replace(moved, radius=moved.radius * math.fsum(factors) / 3.0)
    if isinstance(moved, WrapCylinder):
        return replace(moved, radius=moved.radius * round_z, length=moved.length * z)
    if isinstance(moved, WrapEllipsoid):
        return replace(moved, semi_axes=_times(moved.semi_axes, (x, y, z)))
    if isinstance(moved, WrapTorus):
        return replace(moved, inner_radius=moved.inner_radius * round_z, outer_radius=moved.outer_radius * round_z)
    return moved


def _path(path: Path, factors: Mapping[str, Vec3]) -> Path:
    return replace(path, points=tuple(_point(point, factors[point.frame]) for point in path.points))


def _point(point: P, factors: Vec3) -> P:
    moved = replace(point, location=_times(point.location, factors))
    if isinstance(moved, MovingPathPoint):
        x, y, z = (times(f, s) for f, s in zip((moved.x, moved.y, moved.z), factors, strict=True))
        return replace(moved, x=x, y=y, z=z)
    return moved


def _with_lengths(generic: Model, scaled: Model, wrapping: Wrapping) -> Model:
    """Fibers, tendons, springs and ligaments that keep their share of the path."""
    elastic = [f for f in generic.forces if type(f) in _LENGTHS and f.path is not None]
    notes = [
        Note(f"{f.kind} {f.name!r}", f"/forceset/{f.name}", "its lengths are not scaled, as in OpenSim; set them")
        for f in elastic
        if f.kind in _UNSCALED_MUSCLES or isinstance(f.path, UnsupportedPath)
    ]
    notes += [
        Note(
            f"{f.kind} {f.name!r}",
            f"/forceset/{f.name}",
            "its path is a function of coordinates, which is not scaled, nor are its lengths, as in OpenSim; scale the "
            "model that it was fitted to, and fit again",
        )
        for f in elastic
        if isinstance(f.path, FunctionPath)
    ]
    unscaled = UnsupportedPath | FunctionPath
    wanted = {f.name for f in elastic if not (f.kind in _UNSCALED_MUSCLES or isinstance(f.path, unscaled))}
    if not wanted:
        return scaled.replace(notes=(*scaled.notes, *notes)) if notes else scaled
    before, after = (_lengths(m, wanted, wrapping) for m in (generic, scaled))
    ratio = {name: after[name] / length for name, length in before.items() if length > 0.0}
    notes += [
        Note(f"constraint {name!r}", f"/constraintset/{name}", "muscles were scaled at a pose with this loop open")
        for name in _loops(generic)
    ]
    return scaled.replace(
        forces=tuple(_stretched(f, ratio[f.name]) if f.name in ratio else f for f in scaled.forces),
        notes=(*scaled.notes, *notes),
    )


def _lengths(model: Model, names: set[str], wrapping: Wrapping) -> dict[str, float]:
    """Lengths of some paths at the default pose."""
    measured = model.replace(forces=tuple(f for f in model.forces if f.name in names))
    geometry = path_geometry(measured, default_pose(measured), wrapping=wrapping)
    return dict(zip(geometry.names, geometry.length.tolist(), strict=True))


def _loops(model: Model) -> list[str]:
    return [c.name for c in model.constraints if c.enforced and not isinstance(c, CoordinateCoupler)]


def default_pose(model: Model) -> FloatArray:
    """Coordinates (n,) at their default values, couplers kept and loops as they are, as OpenSim's scaling has it."""
    couplers = tuple(c for c in model.constraints if isinstance(c, CoordinateCoupler))
    return embedding_of(model.replace(constraints=couplers)).default_pose()


def _stretched(force: Force, ratio: float) -> Force:
    return replace(force, **{name: getattr(force, name) * ratio for name in _LENGTHS[type(force)]})
