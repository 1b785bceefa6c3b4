"""Paths of a model as arrays: points and surfaces in the nodes of the tree, and which speeds can matter to each."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray, IntArray
from musculo.compile.compiled import CompiledModel, compiled
from musculo.compile.joint_nodes import placed
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidModel, MusculoWarning, UnknownName, Unsupported
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.paths.path_points import CONDITIONAL, FIXED, MOVING, RANGE_MARGIN, Paths
from musculo.model.force import Force, Muscle
from musculo.model.function_path import FunctionPath
from musculo.model.idle_wraps import idle_wraps
from musculo.model.model import Model
from musculo.model.model_path import ConditionalPathPoint, MovingPathPoint, Path, PathPoint, UnsupportedPath
from musculo.model.path_force import PATH_FORCES
from musculo.model.validate import check_numbers
from musculo.muscle.paths.compile_function_paths import FunctionPathRow, FunctionPaths
from musculo.muscle.wrapping.wrap_rules import sample_coordinates, sample_poses, wrap_rules
from musculo.muscle.wrapping.wrap_surfaces import METHODS, SurfaceArrays, compile_surface
from musculo.spatial.pose import Pose


@dataclass(frozen=True, eq=False)
class CompiledPaths:
    """All paths of a model as arrays, muscles first, then the other forces that run along a path, in file order."""

    names: tuple[str, ...]
    paths: Paths
    table: FunctionTable
    wrap_names: tuple[str, ...]  # wrap object of each wrap
    indirect: tuple[str, ...]  # moving points whose coordinate's derivative is not a speed, in words
    conditional_ends: tuple[tuple[int, int, float, float], ...]  # path, column of q, and the range with its margin
    notes: tuple[str, ...]  # what geodesics do otherwise than a modeler might expect
    sample: FloatArray = field(repr=False)  # (poses, n) over the ranges of the coordinates; none without wraps
    # (paths,) 1 where a path begins in the second pass, 0 where it does not, -1 until that was decided: `begins_later`
    second_pass: NDArray[np.int8] = field(repr=False)
    functions: FunctionPaths = field(repr=False)  # those that are functions of coordinates: `paths` has no points there

    @property
    def all_functions(self) -> bool:
        """Whether there is no path with points."""
        return len(self.functions.members) == len(self.names)

    def cut_short(self, Q: FloatArray) -> NDArray[np.bool_]:
        """(frames, paths) whether an end of a path is a conditional point that is out of its range."""
        cut = np.zeros((len(Q), len(self.names)), dtype=bool)
        for k, column, low, high in self.conditional_ends:
            cut[:, k] |= (Q[:, column] < low) | (Q[:, column] > high)
        return cut


@dataclass
class _Lists:
    """What the arrays are filled from."""

    point_kind: list[int] = field(default_factory=list)
    point_node: list[int] = field(default_factory=list)
    point_slot: list[int] = field(default_factory=list)
    point_body: list[int] = field(default_factory=list)
    location: list[FloatArray] = field(default_factory=list)
    condition_row: list[int] = field(default_factory=list)
    condition_range: list[Sequence[float]] = field(default_factory=list)
    moving_R: list[FloatArray] = field(default_factory=list)
    moving_function: list[list[int]] = field(default_factory=list)
    moving_row: list[list[int]] = field(default_factory=list)
    moving_speed: list[list[int]] = field(default_factory=list)
    moving_range: list[list[Sequence[float]]] = field(default_factory=list)
    wrap_surface: list[int] = field(default_factory=list)
    wrap_slot: list[int] = field(default_factory=list)
    wrap_range: list[Sequence[int]] = field(default_factory=list)
    wrap_method: list[int] = field(default_factory=list)
    path_entry: list[int] = field(default_factory=lambda: [0])
    first_point: list[int] = field(default_factory=lambda: [0])
    first_wrap: list[int] = field(default_factory=lambda: [0])
    first_slot: list[int] = field(default_factory=lambda: [0])
    first_speed: list[int] = field(default_factory=lambda: [0])
    first_moved: list[int] = field(default_factory=list)
    n_inner: list[int] = field(default_factory=list)
    slot_node: list[int] = field(default_factory=list)
    speed_row: list[int] = field(default_factory=list)
    moved: list[int] = field(default_factory=list)


class _Compiler:
    """Collects the paths of one model."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.compiled: CompiledModel = compiled(model)
        self.lists = _Lists()
        self.functions: list[Function] = []
        self.surfaces: dict[str, SurfaceArrays] = {}
        self.bodies = {name: i for i, name in enumerate(self.compiled.body_node)}
        self.turning = {column for joint in turning_joints(model) for column in joint.q}
        self.indirect: list[str] = []
        self.function_paths: list[FunctionPathRow] = []

    def place(self, frame: str, what: str) -> tuple[int, int, Pose]:
        """Node and body of a frame, and the frame's pose in the node."""
        try:
            placement = self.model.placement(frame)
        except UnknownName as error:
            raise UnknownName("frame", frame, error.known, what) from None
        body = placement.body
        if body not in self.compiled.body_node:
            raise UnknownName("body", body, self.compiled.body_node, what)
        return self.compiled.body_node[body], self.bodies[body], self.compiled.body_pose[body] @ placed(placement)

    def coordinate(self, name: str, what: str) -> int:
        if name not in self.model.coordinate_names:
            raise UnknownName("coordinate", name, self.model.coordinate_names, what)
        return self.model.coordinate_index(name)

    def add_path(self, force: Force, path: Path) -> None:
        what = f"the path of {force.name!r}"
        if isinstance(path, UnsupportedPath):
            raise Unsupported(f"{what} is a {path.element}, which has no mechanics yet; replace it by points and wraps")
        if isinstance(path, FunctionPath):
            self.add_function_path(force, path, what)
            return
        if len(path.points) < 2:
            raise InvalidModel(f"{what} has {len(path.points)} points; it needs two at least")
        first = len(self.lists.point_kind)
        nodes: list[int] = []
        for point in path.points:
            self.add_point(point, nodes, f"point {point.name!r} of {what}")
        for wrap in path.wraps:
            named = f"wrap {wrap.name!r} of {what}" if wrap.name else f"a wrap of {what}"
            surface = self.surface(wrap.wrap_object, named)
            if wrap.method not in METHODS:
                raise UnknownName("method", wrap.method, METHODS, named)
            pair = isinstance(wrap.range, Sequence) and len(wrap.range) == 2
            if not pair or not all(isinstance(x, Integral) for x in wrap.range):
                raise InvalidModel(
                    f"{named} has the range {wrap.range!r}; give the numbers of its first and last point"
                )
            start, stop = wrap.range
            if max(start, stop) > len(path.points):
                raise InvalidModel(f"{named} has range {start} {stop}, but there are {len(path.points)} points")
            self.lists.wrap_surface.append(list(self.surfaces).index(wrap.wrap_object))
            self.lists.wrap_slot.append(_slot(nodes, surface.node))
            start, stop = (start - 1 if start >= 1 else 0), (stop - 1 if stop >= 1 else len(path.points) - 1)
            self.lists.wrap_range.append((first + start, first + stop))
            self.lists.wrap_method.append(METHODS.index(wrap.method))
        self.finish_path(nodes)

    def add_function_path(self, force: Force, path: FunctionPath, what: str) -> None:
        """A path without points, which moves no slot; its coordinates are looked up."""
        rows = tuple(self.coordinate(name, what) for name in path.coordinates)
        speeds = tuple(self.speed(name, row, what) for name, row in zip(path.coordinates, rows, strict=True))
        number = len(self.lists.first_point) - 1
        self.function_paths.append(FunctionPathRow(number, force.name, path, rows, speeds))
        self.finish_path([])

    def surface(self, name: str, what: str) -> SurfaceArrays:
        if name not in self.surfaces:
            named = [w for w in self.model.wrap_objects if w.name == name]
            if not named:
                raise UnknownName("wrap object", name, [w.name for w in self.model.wrap_objects], what)
            found = named[0]  # what a file means, as in OpenSim; the reader notes it
            if len(named) > 1 and not self.model.source:
                frames = " and ".join(repr(w.frame) for w in named)
                raise InvalidModel(
                    f"{what} slides over {name!r}, but {len(named)} wrap objects have this name (on {frames}); give "
                    "each a name of its own"
                )
            node, body, X = self.place(found.frame, f"wrap object {name!r}")
            self.surfaces[name] = compile_surface(found, node, body, X)
        return self.surfaces[name]

    def add_point(self, point: PathPoint, nodes: list[int], what: str) -> None:
        lists = self.lists
        node, body, X = self.place(point.frame, what)
        check_numbers(f"{what}: its location", point.location, 3)
        kind, location = FIXED, X.apply(point.location)
        row, bounds = -1, (0.0, 0.0)
        function, rows, speeds, ranges = [-1] * 3, [-1] * 3, [-1] * 3, [(0.0, 0.0)] * 3
        if isinstance(point, ConditionalPathPoint):
            kind, bounds = CONDITIONAL, point.range
            row = self.condition(point, what)
        elif isinstance(point, MovingPathPoint):
            kind, location = MOVING, X.p
            axes = ((point.x, point.x_coordinate), (point.y, point.y_coordinate), (point.z, point.z_coordinate))
            for axis, (curve, name) in enumerate(axes):
                if curve.n_arguments > 1:
                    raise InvalidModel(f"{what} moves by a function of {curve.n_arguments} coordinates; it has one")
                try:
                    curve.packed()
                except Unsupported as error:
                    raise Unsupported(f"{what} moves along {'xyz'[axis]} by {error}") from None
                if not name and _varies(curve):
                    raise InvalidModel(
                        f"{what} moves along {'xyz'[axis]} by a {type(curve).__name__} of no coordinate; name its "
                        f"{'xyz'[axis]}_coordinate, or give a number in place of the function"
                    )
                function[axis] = len(self.functions)
                self.functions.append(curve)
                if name:
                    rows[axis] = self.coordinate(name, what)
                    ranges[axis] = self.model.coordinate(name).range
                    speeds[axis] = self.speed(name, rows[axis], what)
        lists.point_kind.append(kind)
        lists.point_node.append(node)
        lists.point_slot.append(_slot(nodes, node))
        lists.point_body.append(body)
        lists.location.append(location)
        lists.condition_row.append(row)
        lists.condition_range.append(bounds)
        lists.moving_R.append(X.R.ravel())
        lists.moving_function.append(function)
        lists.moving_row.append(rows)
        lists.moving_speed.append(speeds)
        lists.moving_range.append(list(ranges))

    def condition(self, point: ConditionalPathPoint, what: str) -> int:
        """The coordinate whose range decides whether the point is there."""
        if not point.coordinate:
            raise InvalidModel(f"{what} names no coordinate for its range; name one, or make it a PathPoint")
        if len(point.range) != 2 or not point.range[0] <= point.range[1]:
            raise InvalidModel(
                f"{what} has the range {point.range!r}, in which no coordinate is; give the lowest and then the "
                f"highest value of {point.coordinate!r}"
            )
        return self.coordinate(point.coordinate, what)

    def speed(self, name: str, column: int, what: str) -> int:
        """The speed that is the coordinate's derivative; where there is none, the one OpenSim takes for it."""
        if column in self.turning:
            self.indirect.append(f"{what} (moved by {name!r})")
        return self.model.speed_index(name) if name in self.model.speed_names else -1

    def finish_path(self, nodes: list[int]) -> None:
        """Slots, and the speeds that move them: those that do not move all of them first."""
        lists = self.lists
        moved = self.compiled.moved_by[np.array(nodes, dtype=np.int64)] != 0.0
        some = moved.any(axis=0)
        whole = some & moved.all(axis=0)
        inner = [int(k) for k in np.flatnonzero(some & ~whole)]
        speeds = inner + [int(k) for k in np.flatnonzero(whole)]
        lists.first_moved.append(len(lists.moved))
        lists.moved += [int(moved[s, k]) for s in range(len(nodes)) for k in speeds]
        lists.n_inner.append(len(inner))
        lists.slot_node += nodes
        lists.speed_row += speeds
        lists.first_point.append(len(lists.point_kind))
        lists.first_wrap.append(len(lists.wrap_surface))
        lists.first_slot.append(len(lists.slot_node))
        lists.first_speed.append(len(lists.speed_row))
        wraps = lists.wrap_range[lists.first_wrap[-2] :]
        contacts = sum(2 * max(1, stop - start) for start, stop in wraps)
        points = lists.first_point[-1] - lists.first_point[-2]
        lists.path_entry.append(lists.path_entry[-1] + points + contacts)

    def arrays(self) -> Paths:
        s = list(self.surfaces.values())
        lists = {name: _array(name, values) for name, values in vars(self.lists).items()}
        return Paths(
            **lists,
            surface_kind=_ints([x.kind for x in s]),
            surface_node=_ints([x.node for x in s]),
            surface_body=_ints([x.body for x in s]),
            surface_R=_floats([x.X_NS.R.ravel() for x in s], 9),
            surface_p=_floats([x.X_NS.p for x in s], 3),
            surface_size=_floats([x.size for x in s], 3),
            surface_axis=_ints([x.axis for x in s]),
            surface_sign=_floats([x.sign for x in s]),
            surface_active=_ints([int(x.active) for x in s]),
            wrap_order=_ints([]),
            first_seen=_ints([]),
            seen_azimuth=_floats([]),
            seen_next=_ints([]),
            seen_shift=_floats([]),
            seen_inside=_ints([]),
        )


def _slot(nodes: list[int], node: int) -> int:
    """The place of a node in the path's list; put there if it is new."""
    if node not in nodes:
        nodes.append(node)
    return nodes.index(node)


# Rows of numbers in `_Lists`, by their length; all else are flat lists of integers.
_WIDTHS = {"location": 3, "condition_range": 2, "moving_R": 9}
_INT_WIDTHS = {"moving_function": 3, "moving_row": 3, "moving_speed": 3, "wrap_range": 2}


def _array(name: str, values: list) -> np.ndarray:
    if name == "moving_range":
        return np.array(values, dtype=float).reshape(-1, 3, 2)
    if name in _WIDTHS:
        return _floats(values, _WIDTHS[name])
    return _ints(values).reshape(-1, _INT_WIDTHS[name]) if name in _INT_WIDTHS else _ints(values)


def _ints(values: Sequence) -> IntArray:
    return np.array(values, dtype=np.int64)


def _floats(values: Sequence, width: int = 0) -> np.ndarray:
    array = np.array(values, dtype=float)
    return np.ascontiguousarray(array.reshape(-1, width)) if width else array


# Where a function of no coordinate is looked at, to see whether it varies [rad, m].
_PROBES = np.linspace(-6.0, 6.0, 49)


def _varies(curve: Function) -> bool:
    return curve.n_arguments == 1 and bool(np.ptp(curve(_PROBES)) > 0.0)


def path_forces(model: Model) -> tuple[Force, ...]:
    """Everything that runs along a path: muscles first, then the others in file order.

    Raises:
        InvalidModel: a spring, ligament or actuator that needs a path has none.
    """
    for force in model.forces:
        if isinstance(force, PATH_FORCES) and force.path is None:
            raise InvalidModel(f"{force.kind} {force.name!r} has no path; give it one of two points at least")
    others = [f for f in model.forces if f.path is not None and not isinstance(f, Muscle)]
    return (*(m for m in model.muscles if m.path is not None), *others)


def compile_paths(model: Model, forces: Sequence[Force]) -> CompiledPaths:
    """The paths of these forces as arrays.

    Raises:
        InvalidModel: a path with fewer than two points, a wrap range beyond the points, a surface without size.
        UnknownName: a frame, coordinate or wrap object that the model does not have.
        Unsupported: a path or a wrap object of a kind that is carried only.
    """
    pathless = [f.name for f in forces if f.path is None]
    if pathless:
        raise InvalidModel(f"muscle {pathless[0]!r} has no path; give it one of two points at least")
    compiler = _Compiler(model)
    wrap_names: list[str] = []
    for force in forces:
        if force.path is not None:
            compiler.add_path(force, force.path)
            wrap_names += [wrap.wrap_object for wrap in force.path.wraps]
    if not model.source:
        # what comes from a file has it among its notes
        for force, wrap, why, advice in idle_wraps(model):
            warnings.warn(
                f"the path of {force.name!r} never slides over {wrap.wrap_object!r}: {why}; {advice}",
                MusculoWarning,
                stacklevel=2,
            )
    paths = compiler.arrays()
    notes: tuple[str, ...] = ()
    sample = np.zeros((0, len(model.coordinates)))
    if wrap_names:
        sample = sample_coordinates(model)
        poses = sample_poses(model, sample, paths, compiler.functions)
        paths, lost = wrap_rules(paths, poses)
        owners = [f.name for f in forces if f.path is not None for _ in f.path.wraps]
        notes = tuple(
            f"the path of {owner!r} does not keep to the quadrant of {name!r} in {count} of {poses.count} "
            "sampled poses: OpenSim's path is on the other side there than in the default pose; geodesics stay on one"
            for owner, name, count in zip(owners, wrap_names, lost, strict=True)
            if count
        )
    return CompiledPaths(
        tuple(f.name for f in forces),
        paths,
        compile_functions(compiler.functions),
        tuple(wrap_names),
        tuple(compiler.indirect),
        tuple(_conditional_ends(paths)),
        notes,
        sample,
        np.full(len(forces), -1 if wrap_names else 0, dtype=np.int8),
        FunctionPaths(tuple(compiler.function_paths)),
    )


def _conditional_ends(paths: Paths) -> Iterator[tuple[int, int, float, float]]:
    for k, (first, after) in enumerate(pairwise(paths.first_point)):
        for point in (first, after - 1) if after > first else ():
            if paths.point_kind[point] == CONDITIONAL:
                low, high = paths.condition_range[point]
                yield k, int(paths.condition_row[point]), low - RANGE_MARGIN, high + RANGE_MARGIN


_cache: weakref.WeakKeyDictionary[Model, dict[bool, CompiledPaths]] = weakref.WeakKeyDictionary()


def compiled_paths(model: Model, muscles_only: bool) -> CompiledPaths:
    """The compiled paths of a model's muscles, or of everything that has one; made once."""
    compiled(model)  # which refuses what is no model
    forms = _cache.setdefault(model, {})
    if muscles_only not in forms:
        forms[muscles_only] = compile_paths(model, model.muscles if muscles_only else path_forces(model))
    return forms[muscles_only]
