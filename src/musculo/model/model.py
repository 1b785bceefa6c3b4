"""The subject: a frozen value that holds everything a model file says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.model.body import GROUND, Body, Frame, Marker, Placement, Vec3
from musculo.model.contact_model import ContactGeometry
from musculo.model.coordinate import Coordinate
from musculo.model.fingerprint import fingerprint_of
from musculo.model.force import Force, Muscle
from musculo.model.joints.joint import Joint
from musculo.model.model_constraint import Constraint, CoordinateCoupler
from musculo.model.model_notebook import facts_html
from musculo.model.validate import (
    NEGATIVE_MOMENT,
    check_body,
    check_force,
    check_joint,
    check_muscle,
    check_numbers,
    negative_inertias,
)
from musculo.model.wrap import WrapObject
from musculo.questions import ask

T = TypeVar("T")

STANDARD_GRAVITY: Vec3 = (0.0, -9.80665, 0.0)  # OpenSim's default [m/s^2]


@dataclass(frozen=True)
class Note:
    """Something of the file that the mechanics does not use: what it is, where it stands, why it is ignored."""

    what: str
    where: str
    why: str

    def __str__(self) -> str:
        return f"{self.what} ({self.where}): {self.why}"


@dataclass(frozen=True)
class Carried:
    """XML of a part of the file that has no mechanics yet, kept so that writing loses nothing.

    `owner` is the element it stands in, for instance `ControllerSet`; empty for the model itself.
    """

    owner: str
    xml: str


# Identity is equality: two models with the same data are different subjects to a cache, and comparing them field by
# field at each call would cost more than the mechanics.
@dataclass(frozen=True, eq=False)
class Model:
    """Bodies, joints and what is attached to them, in file order. Build one in Python, or with `read_osim`."""

    name: str
    bodies: tuple[Body, ...]
    joints: tuple[Joint, ...]
    constraints: tuple[Constraint, ...] = ()
    markers: tuple[Marker, ...] = ()
    frames: tuple[Frame, ...] = ()
    wrap_objects: tuple[WrapObject, ...] = ()
    forces: tuple[Force, ...] = ()
    contact_geometries: tuple[ContactGeometry, ...] = ()
    gravity: Vec3 = STANDARD_GRAVITY
    ground_carried: tuple[str, ...] = ()
    carried: tuple[Carried, ...] = ()
    notes: tuple[Note, ...] = ()
    source: str = ""

    def __post_init__(self) -> None:
        check_numbers("gravity", self.gravity, 3)
        for body in self.bodies:
            check_body(body)
        self._note_inertias()
        for joint in self.joints:
            check_joint(joint)
        for force in self.forces:
            check_force(force)
        for muscle in self.muscles:
            check_muscle(muscle)
        for kind, names in (
            ("body", self.body_names),
            ("joint", self.joint_names),
            ("coordinate", self.coordinate_names),
            ("marker", self.marker_names),
            ("constraint", [constraint.name for constraint in self.constraints]),
            ("force", [force.name for force in self.forces]),
        ):
            _refuse_duplicates(kind, names, self._where)
        known = {GROUND, *self.body_names}
        for joint in self.joints:
            for side, placement in (("parent", joint.parent), ("child", joint.child)):
                if placement.body not in known:
                    raise UnknownName("body", placement.body, sorted(known), f"{side} of joint {joint.name!r}")

    # --- names, in file order ---------------------------------------------------------------------------------------
    @cached_property
    def body_names(self) -> tuple[str, ...]:
        """Names of the bodies, ground not among them."""
        return tuple(b.name for b in self.bodies)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints."""
        return tuple(j.name for j in self.joints)

    @cached_property
    def coordinates(self) -> tuple[Coordinate, ...]:
        """The coordinates of all joints, in the order of `q`."""
        return tuple(c for j in self.joints for c in j.coordinates)

    @cached_property
    def coordinate_names(self) -> tuple[str, ...]:
        """All coordinates of the tree: the columns of `q`."""
        return tuple(c.name for c in self.coordinates)

    @cached_property
    def speed_names(self) -> tuple[str, ...]:
        """All speeds of the tree: the columns of `u`, `udot` and generalized forces."""
        return tuple(name for j in self.joints for name in j.speed_names)

    @cached_property
    def independent_coordinate_names(self) -> tuple[str, ...]:
        """The coordinates z that decide all others: the columns of `embedding_of(model)`, and of the moment arms per
        independent coordinate.

        Locks, prescribed motion and couplers leave `free_coordinate_names`; of these, closed loops make as many
        dependent as they have independent equations, and are solved for it.
        """
        loops = any(c.enforced and not isinstance(c, CoordinateCoupler) for c in self.constraints)
        if not loops:
            return self.free_coordinate_names
        names: tuple[str, ...] = ask("independent coordinates", self)
        return names

    @cached_property
    def free_coordinate_names(self) -> tuple[str, ...]:
        """Coordinates that are not locked, prescribed, or the dependent one of an enforced coupler; closed loops may
        make some of them depend on others (`independent_coordinate_names`)."""
        driven = {c.dependent for c in self.constraints if isinstance(c, CoordinateCoupler) and c.enforced}
        driven |= {c.name for c in self.coordinates if c.locked or (c.prescribed and c.prescribed_function is not None)}
        return tuple(name for name in self.coordinate_names if name not in driven)

    @cached_property
    def marker_names(self) -> tuple[str, ...]:
        """Names of the markers."""
        return tuple(m.name for m in self.markers)

    @cached_property
    def muscles(self) -> tuple[Muscle, ...]:
        """Those of the forces that are muscles: the columns of lengths, activations and muscle forces."""
        return tuple(f for f in self.forces if isinstance(f, Muscle))

    @cached_property
    def muscle_names(self) -> tuple[str, ...]:
        """Names of the muscles."""
        return tuple(m.name for m in self.muscles)

    @property
    def _where(self) -> str:
        return self.source or f"model {self.name!r}"

    def _note_inertias(self) -> None:
        """Inertias that no body can have are noted, whoever made the model, as long as they are there."""
        kept = tuple(note for note in self.notes if not note.why.startswith(NEGATIVE_MOMENT))
        told = negative_inertias(self.bodies)
        notes = tuple(Note(f"Body {name!r}", f"/bodyset/{name}", why) for name, why in told.items())
        if kept + notes != self.notes:
            object.__setattr__(self, "notes", kept + notes)

    # --- look-up ----------------------------------------------------------------------------------------------------
    def body(self, name: str) -> Body:
        """The body of that name; ground is none."""
        return _find("body", name, self.bodies, self._where)

    def joint(self, name: str) -> Joint:
        """The joint of that name."""
        return _find("joint", name, self.joints, self._where)

    def coordinate(self, name: str) -> Coordinate:
        """The coordinate of that name."""
        return _find("coordinate", name, self.coordinates, self._where)

    def marker(self, name: str) -> Marker:
        """The marker of that name."""
        return _find("marker", name, self.markers, self._where)

    def muscle(self, name: str) -> Muscle:
        """The muscle of that name."""
        return _find("muscle", name, self.muscles, self._where)

    def coordinate_index(self, name: str) -> int:
        """Column of a coordinate in `q`."""
        try:
            return self.coordinate_names.index(name)
        except ValueError:
            raise UnknownName("coordinate", name, self.coordinate_names, self._where) from None

    def speed_index(self, name: str) -> int:
        """Column of a speed in `u`, `udot` and generalized forces."""
        try:
            return self.speed_names.index(name)
        except ValueError:
            raise UnknownName("speed", name, self.speed_names, self._where) from None

    @cached_property
    def _placements(self) -> dict[str, Placement]:
        places = {name: Placement(name) for name in (GROUND, *self.body_names)}
        places |= {f"/bodyset/{name}": Placement(name) for name in self.body_names} | {"/ground": Placement(GROUND)}
        places |= {f.path: f.placement for f in self.frames}
        for joint in self.joints:
            for placement in (joint.parent, joint.child):
                if placement.name:
                    places[f"/jointset/{joint.name}/{placement.name}"] = placement
        return places

    def placement(self, frame: str) -> Placement:
        """The body and pose of a frame given as a body name, `ground`, or the path of an offset frame."""
        try:
            return self._placements[frame]
        except KeyError:
            raise UnknownName("frame", frame, self._placements, self._where) from None

    # --- what is derived from the model and kept with it ---------------------------------------------------------
    @cached_property
    def _derived(self) -> dict[Any, Any]:
        return {}

    def derived(self, key: Any, make: Callable[[], T]) -> T:
        """Something made from this model, once: a frozen model's compiled form cannot go stale, and goes with it."""
        if key not in self._derived:
            self._derived[key] = make()
        value: T = self._derived[key]
        return value

    def __getstate__(self) -> dict[str, Any]:
        # copies and pickles carry what the model says, not what was derived from it
        return {name: value for name, value in vars(self).items() if name in self.__dataclass_fields__}

    # --- change -----------------------------------------------------------------------------------------------------
    def replace(self, **changes: Any) -> Model:
        """A copy with some fields changed; the fields are those of the constructor."""
        return _changed(self, changes)

    def with_body(self, body: Body | str, **changes: Any) -> Model:
        """A copy with the body of that name replaced, or the body added; or with fields of the named body changed,
        for instance `with_body("tibia_r", mass=3.0)`."""
        new = _changed(self.body(body), changes) if isinstance(body, str) else _changed(body, changes)
        return replace(self, bodies=_put(self.bodies, new))

    def with_joint(self, joint: Joint) -> Model:
        """A copy with the joint of that name replaced, or the joint added."""
        return replace(self, joints=_put(self.joints, joint))

    def with_force(self, force: Force | str, **changes: Any) -> Model:
        """A copy with the force (a muscle, a spring) of that name replaced, or the force added; or with fields of the
        named one changed, for instance `with_force("soleus_r", max_isometric_force=3000.0)`."""
        old = _find("force", force, self.forces, self._where) if isinstance(force, str) else force
        return replace(self, forces=_put(self.forces, _changed(old, changes)))

    def with_muscle(self, muscle: Muscle | str, **changes: Any) -> Model:
        """A copy with the muscle of that name replaced, or the muscle added; or with fields of the named one changed,
        for instance `with_muscle("soleus_r", tendon_slack_length=0.26)`."""
        if isinstance(muscle, str):
            return self.with_force(self.muscle(muscle), **changes)
        if not isinstance(muscle, Muscle):
            raise InvalidInput(f"with_muscle takes a Muscle or the name of one, not a {type(muscle).__name__}")
        return self.with_force(muscle, **changes)

    def with_marker(self, marker: Marker | str, **changes: Any) -> Model:
        """A copy with the marker of that name replaced, or the marker added; or with fields of the named one changed:
        `with_marker(Marker("RHEE", "calcn_r", (0.0, 0.03, 0.0)))`."""
        new = _changed(self.marker(marker), changes) if isinstance(marker, str) else _changed(marker, changes)
        self.placement(new.frame)
        return replace(self, markers=_put(self.markers, new))

    def without(self, *names: str) -> Model:
        """A copy without these forces (muscles among them), markers or constraints.

        Raises:
            UnknownName: a name that none of them has.
        """
        kinds = ("forces", "markers", "constraints")
        for name in names:
            known = [one.name for kind in kinds for one in getattr(self, kind)]
            if name not in known:
                raise UnknownName("force, marker or constraint", name, known, self._where)
        kept = {kind: tuple(one for one in getattr(self, kind) if one.name not in names) for kind in kinds}
        return replace(self, **kept)  # type: ignore[arg-type]

    def with_scaled_muscles(self, strength: float | Mapping[str, float]) -> Model:
        """A copy whose muscles are stronger by a factor: maximal isometric forces of all, or of those named."""
        factors = dict(strength) if isinstance(strength, Mapping) else dict.fromkeys(self.muscle_names, strength)
        changed = self
        for name, factor in factors.items():
            if not isinstance(factor, int | float) or not 0.0 <= factor < float("inf"):
                raise InvalidInput(f"the strength of {name!r} is {factor!r}; give a number, 0 or above")
            force = self.muscle(name).max_isometric_force
            changed = changed.with_muscle(name, max_isometric_force=factor * force)
        return changed

    def with_constraint(self, constraint: Constraint) -> Model:
        """A copy with the constraint of that name replaced, or the constraint added."""
        return replace(self, constraints=_put(self.constraints, constraint))

    def with_coordinate(self, name: str, **changes: Any) -> Model:
        """A copy with fields of one coordinate changed, for instance `with_coordinate("knee", locked=True)`."""
        self.coordinate(name)
        joints = tuple(
            replace(j, coordinates=tuple(_changed(c, changes) if c.name == name else c for c in j.coordinates))
            for j in self.joints
        )
        return replace(self, joints=joints)

    @cached_property
    def hash(self) -> str:
        """A fingerprint of everything the model says, for the provenance of results.

        The same in every process. A user's own equations count by what they compute (`fingerprint_of`): by their
        bytecode, so another version of Python may give the same equations another fingerprint.
        """
        return fingerprint_of({k: getattr(self, k) for k in self.__dataclass_fields__ if k != "source"})

    def _repr_html_(self) -> str:
        """For notebooks; `musculo.view(model)` draws it."""
        free = len(self.free_coordinate_names)
        return facts_html(
            f"Model {self.name}",
            [
                ("bodies", f"{len(self.bodies)}, {sum(body.mass for body in self.bodies):.4g} kg"),
                ("joints", len(self.joints)),
                ("coordinates", f"{len(self.coordinates)}, {free} of them free: {_some(self.coordinate_names)}"),
                ("muscles", f"{len(self.muscles)}: {_some(self.muscle_names)}" if self.muscles else 0),
                ("markers", len(self.markers)),
                ("read from", self.source or "made in Python"),
                ("notes", len(self.notes)),
            ],
        )

    def __repr__(self) -> str:
        return (
            f"Model({self.name!r}: {len(self.bodies)} bodies, {len(self.joints)} joints, "
            f"{len(self.coordinates)} coordinates, {len(self.muscles)} muscles, {len(self.markers)} markers)"
        )


def _refuse_duplicates(kind: str, names: Iterable[str], where: str) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InvalidModel(f"two {kind} entries are named {name!r} in {where}; rename one of them")
        seen.add(name)


def _find(kind: str, name: str, items: Iterable[Any], where: str) -> Any:
    items = tuple(items)
    for item in items:
        if item.name == name:
            return item
    raise UnknownName(kind, name, [item.name for item in items], where)


def _changed(value: Any, changes: dict[str, Any]) -> Any:
    """A frozen value with some fields changed; an unknown field is named."""
    for name in changes:
        if name not in value.__dataclass_fields__:
            raise UnknownName(f"field of a {type(value).__name__}", name, value.__dataclass_fields__)
    try:
        return replace(value, **changes)
    except TypeError as error:
        raise InvalidInput(f"cannot change {', '.join(changes)} of a {type(value).__name__}: {error}") from None


def _put(items: tuple[Any, ...], new: Any) -> tuple[Any, ...]:
    if any(item.name == new.name for item in items):
        return tuple(new if item.name == new.name else item for item in items)
    return (*items, new)


def _some(names: Sequence[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
