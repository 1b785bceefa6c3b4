"""From bodies, constraints and drivers to the arrays that kernels run on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from musculo.absolute.constraints.constraint import Equations
from musculo.absolute.drivers.driver import Driver
from musculo.absolute.frame import Frame
from musculo.absolute.load_of import LoadOf
from musculo.absolute.normal_pattern import normal_pattern
from musculo.absolute.terms import Term
from musculo.arrays import FloatArray, IntArray
from musculo.errors import InvalidModel, UnknownName
from musculo.functions.function import Function
from musculo.functions.function_table import FunctionTable, compile_functions
from musculo.kernels.absolute.absolute_system import (
    FUNCTION_FRAME,
    GIVEN_FRAME,
    NUMBER_ROWS,
    POSE_ROWS,
    AbsoluteSystem,
    NormalPattern,
)
from musculo.kernels.absolute.constraint_terms import ALONG, CONSTANT, DOT, EULER, FUNCTION, LENGTH, NUMBER, QUADRIC
from musculo.model.body import GROUND, Body, Placement
from musculo.model.joints.joint import Axis, FunctionMotion
from musculo.spatial.rotation import quaternion_from_xyz

_BETWEEN_FRAMES = (DOT, ALONG, LENGTH, QUADRIC, EULER)


class CompiledMechanism(NamedTuple):
    """A mechanism as arrays."""

    system: AbsoluteSystem
    table: FunctionTable
    pattern: NormalPattern
    number_rows: dict[str, int]  # name of a number over time -> its first row
    pose_rows: dict[str, int]  # name of a driver that moves a frame -> the first row of its pose
    signal_rows: int
    load_sign: FloatArray  # (loads,)


class Parts(Protocol):
    """What a mechanism is made of."""

    @property
    def bodies(self) -> tuple[Body, ...]: ...
    @property
    def equations(self) -> tuple[Equations, ...]: ...
    @property
    def drivers(self) -> tuple[Driver, ...]: ...
    @property
    def gravity(self) -> tuple[float, float, float]: ...
    @property
    def coordinates(self) -> tuple[str, ...]: ...
    @property
    def chain(self) -> tuple[tuple[Frame, Frame], ...]: ...
    @property
    def loads(self) -> tuple[LoadOf, ...]: ...
    @property
    def row_names(self) -> tuple[str, ...]: ...


class MechanismCompiler:
    """From a mechanism to arrays."""

    def __init__(self, mechanism: Parts) -> None:
        self.m = mechanism
        self.body = {GROUND: 0} | {b.name: k + 1 for k, b in enumerate(mechanism.bodies)}
        self.center = {GROUND: np.zeros(3)} | {b.name: np.array(b.mass_center) for b in mechanism.bodies}
        self.coordinate = {name: k for k, name in enumerate(mechanism.coordinates)}
        self.frames: dict[int, int] = {}
        self.kept: list[Frame] = []
        self.functions: list[Function] = []
        self.argument_rows: list[int] = []
        self.argument_dof: list[int] = []

    def frame(self, frame: Frame | None) -> int:
        """The number of a frame."""
        if frame is None:
            return 0
        if id(frame) not in self.frames:
            if frame.body not in self.body:
                raise UnknownName("body", frame.body, self.body, "a frame of a constraint")
            self.frames[id(frame)] = len(self.kept)
            self.kept.append(frame)
        return self.frames[id(frame)]

    def arguments(self, names: Sequence[str], dofs: Sequence[int]) -> int:
        """Where the arguments of a function begin; a constant reads what is there."""
        first = len(self.argument_rows)
        for name, dof in zip(names, dofs, strict=True):
            self.argument_rows.append(7 * len(self.m.bodies) + self.coordinate[name])
            self.argument_dof.append(dof)
        return first

    def compile(self) -> CompiledMechanism:
        m = self.m
        self.frame(Frame(Placement(GROUND)))
        rows = [row for e in m.equations for row in e.rows()]
        for row in rows:
            for term in row:
                self.frame(term.first), self.frame(term.second)
        for known, placed in m.chain:
            self.frame(known), self.frame(placed)
        for load in m.loads:
            self.frame(load.at)
            if load.axes is not None:
                self.frame(load.axes)
        number_rows: dict[str, int] = {}
        for driver in m.drivers:
            for name in driver.numbers:
                number_rows[name] = NUMBER_ROWS * len(number_rows)
        pose_rows: dict[str, int] = {}
        for frame in self.kept:
            if isinstance(frame.motion, str) and frame.motion not in pose_rows:
                pose_rows[frame.motion] = NUMBER_ROWS * len(number_rows) + POSE_ROWS * len(pose_rows)
        frames = self._frames(pose_rows)
        terms = self._terms(rows, frames["dof_first"], number_rows)
        loads, sign = self._loads()
        chain = np.array([[self.frame(a), self.frame(b)] for a, b in m.chain], dtype=np.int64).reshape(-1, 2)
        system = AbsoluteSystem(
            bodies=len(m.bodies),
            coordinates=len(m.coordinates),
            equations=len(rows),
            mass=np.array([0.0, *(b.mass for b in m.bodies)]),
            inertia=np.array([(0.0,) * 6, *(b.inertia for b in m.bodies)], dtype=float),
            gravity=np.array(m.gravity, dtype=float),
            argument_rows=_ints([*self.argument_rows, 0]),
            argument_dof=_ints([*self.argument_dof, 0]),
            chain_known=np.ascontiguousarray(chain[:, 0]),
            chain_placed=np.ascontiguousarray(chain[:, 1]),
            **frames,
            **terms,
            **loads,
        )
        pattern = normal_pattern(system.row_first, system.column, system.bodies, system.coordinates)
        signal_rows = NUMBER_ROWS * len(number_rows) + POSE_ROWS * len(pose_rows)
        return CompiledMechanism(
            system, compile_functions(self.functions), pattern, number_rows, pose_rows, signal_rows, sign
        )

    def _frames(self, pose_rows: Mapping[str, int]) -> dict[str, np.ndarray]:
        n = len(self.kept)
        function, axes = np.full((n, 6), -1, dtype=np.int64), np.zeros((n, 6, 3))
        argument_first, kind, given = np.zeros((n, 6), dtype=np.int64), np.zeros(n, dtype=np.int64), [0] * n
        dof_first, dof_coordinate = [0], []
        for f, frame in enumerate(self.kept):
            names = frame.coordinates
            if isinstance(frame.motion, FunctionMotion):
                kind[f] = FUNCTION_FRAME
                for j, axis in self._moving(frame.motion):
                    arguments = axis.coordinates[: axis.function.n_arguments]
                    function[f, j], axes[f, j] = len(self.functions), _unit(axis.direction)
                    self.functions.append(axis.function)
                    argument_first[f, j] = self.arguments(arguments, [names.index(name) for name in arguments])
            elif isinstance(frame.motion, str):
                kind[f], given[f] = GIVEN_FRAME, pose_rows[frame.motion]
            dof_first.append(dof_first[-1] + len(names))
            dof_coordinate += [self.coordinate[name] for name in names]
        placements = [frame.place for frame in self.kept]
        return {
            "frame_body": _ints([self.body[p.body] for p in placements]),
            "frame_kind": kind,
            "frame_quaternion": np.array([f.base[0] for f in self.kept]),
            "frame_place": np.array([f.base[1] - self.center[f.body] for f in self.kept]),
            "after_quaternion": np.array([quaternion_from_xyz(f.after.orientation) for f in self.kept]),
            "after_place": np.array([f.after.translation for f in self.kept], dtype=float),
            "frame_given": _ints(given),
            "frame_function": function,
            "frame_axes": axes,
            "argument_first": argument_first,
            "dof_first": _ints(dof_first),
            "dof_coordinate": _ints([*dof_coordinate, 0]),
        }

    @staticmethod
    def _moving(motion: FunctionMotion) -> list[tuple[int, Axis]]:
        """Axes in their places: three rotations, three translations."""
        if len(motion.rotations) > 3 or len(motion.translations) > 3:
            raise InvalidModel("a frame moves by at most three rotations and three translations")
        return [*enumerate(motion.rotations), *((3 + k, axis) for k, axis in enumerate(motion.translations))]

    def _columns(self, term: Term) -> list[int]:
        """(4,) first columns of the velocity and the angular velocity of both bodies; -1 for what a term is free of."""
        if term.kind not in _BETWEEN_FRAMES:
            return [-1] * 4
        found = []
        for frame, is_first in ((term.first, True), (term.second, False)):
            assert frame is not None
            b = self.body[frame.body]
            arm = frame.motion is not None or np.any(frame.base[1] != self.center[frame.body])
            turning = term.kind in (DOT, EULER)
            turned = turning or bool(arm) or (is_first and term.kind in (ALONG, QUADRIC))
            found += [-1 if b == 0 or turning else 6 * b - 6, -1 if b == 0 or not turned else 6 * b - 3]
        return found

    def _terms(
        self, rows: Sequence[Sequence[Term]], dof_first: IntArray, number_rows: Mapping[str, int]
    ) -> dict[str, np.ndarray]:
        coordinates = 6 * len(self.m.bodies)
        first_term, row_first = [0], [0]
        column: list[int] = []
        terms: list[Term] = []
        slots: list[list[int]] = []
        slot_first: list[int] = []
        coordinate_slots: list[int] = []
        number: list[int] = []
        argument: list[int] = []
        for row in rows:
            triples: dict[int, int] = {}  # first column of three -> element of J
            singles: dict[int, int] = {}
            for term in row:
                columns = self._columns(term)
                own = self._coordinates(term)
                for c in columns:
                    if c >= 0 and c not in triples:
                        triples[c] = len(column)
                        column += [c, c + 1, c + 2]
                for name in own:
                    k = coordinates + self.coordinate[name]
                    if k not in singles:
                        singles[k] = len(column)
                        column.append(k)
                slots.append([triples[c] if c >= 0 else -1 for c in columns])
                slot_first.append(len(coordinate_slots))
                coordinate_slots += [singles[coordinates + self.coordinate[name]] for name in own]
                is_function = term.kind == FUNCTION
                if is_function:
                    assert term.function is not None
                    number.append(len(self.functions))
                    self.functions.append(term.function)
                    argument.append(self.arguments(term.coordinates, range(len(term.coordinates))))
                else:
                    number.append(number_rows[term.number] if term.kind == NUMBER else 0)
                    argument.append(0)
                terms.append(term)
            first_term.append(len(terms))
            row_first.append(len(column))
        kinds = [t.kind for t in terms] or [CONSTANT]
        return {
            "first_term": _ints(first_term),
            "kind": _ints(kinds),
            "first_frame": _ints([self.frame(t.first) for t in terms] or [0]),
            "second_frame": _ints([self.frame(t.second) for t in terms] or [0]),
            "coefficient": np.array([t.coefficient for t in terms] or [0.0]),
            "a": np.array([(*t.a, *(0.0,) * (4 - len(t.a))) for t in terms] or [(0.0,) * 4], dtype=float),
            "b": np.array([t.b or (0.0,) * 3 for t in terms] or [(0.0,) * 3], dtype=float),
            "number": _ints(number or [0]),
            "term_argument": _ints(argument or [0]),
            "slots": np.array(slots or [[-1] * 4], dtype=np.int64),
            "slot_first": _ints(slot_first or [0]),
            "coordinate_slots": _ints([*coordinate_slots, 0]),
            "row_first": _ints(row_first),
            "column": _ints(column or [0]),
        }

    @staticmethod
    def _coordinates(term: Term) -> tuple[str, ...]:
        """Coordinates in a term: of the first frame, of the second; or of its function."""
        if term.kind in _BETWEEN_FRAMES:
            assert term.first is not None
            assert term.second is not None
            return (*term.first.coordinates, *term.second.coordinates)
        return term.coordinates

    def _loads(self) -> tuple[dict[str, np.ndarray], FloatArray]:
        rows: dict[str, list[int]] = {e.name: [] for e in self.m.equations}
        for k, name in enumerate(self.m.row_names):
            rows[name].append(k)
        first, listed, bodies, frames, axes, signs = [0], [], [], [], [], []
        for load in self.m.loads:
            for name in load.equations:
                listed += rows[name]
            first.append(len(listed))
            on_ground = load.at.body == GROUND
            bodies.append(self.body[load.other.body if on_ground else load.at.body])
            signs.append(-1.0 if on_ground else 1.0)
            frames.append(self.frame(load.at))
            axes.append(-1 if load.axes is None else self.frame(load.axes))
        empty = not self.m.loads
        return {
            "load_first": _ints(first + [0] * empty),
            "load_rows": _ints([*listed, 0]),
            "load_body": _ints(bodies + [1] * empty),
            "load_frame": _ints(frames + [0] * empty),
            "load_axes": _ints(axes + [-1] * empty),
        }, np.array(signs + [1.0] * empty)


def _ints(values: Sequence[int]) -> IntArray:
    return np.array(values, dtype=np.int64)


def _unit(axis: Sequence[float]) -> FloatArray:
    a = np.asarray(axis, dtype=float)
    size = np.linalg.norm(a)
    if not size > 0.0:
        raise InvalidModel(f"axis {tuple(axis)} has no direction; give three numbers, not all zero")
    return a / size
