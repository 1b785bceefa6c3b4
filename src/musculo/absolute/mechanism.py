"""Bodies in absolute coordinates with their constraints and drivers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from musculo.absolute.compiled_mechanism import CompiledMechanism, MechanismCompiler
from musculo.absolute.constraints.constraint import Equations
from musculo.absolute.drivers.driver import Driver
from musculo.absolute.euler_parameters import rotation_matrix
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given
from musculo.absolute.load_of import LoadOf
from musculo.arrays import FloatArray
from musculo.dynamics.loads.external import ExternalLoad
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.model.body import GROUND, Body, Placement
from musculo.spatial.rotation import quaternion_from_xyz


@dataclass(frozen=True, eq=False)
class Mechanism:
    """Bodies, constraints and drivers; ground is there without being named.

    Args:
        bodies: all bodies.
        equations: constraints and drivers, each of a name of its own.
        gravity: [m/s^2], in ground.
        coordinates: the order of the coordinates that are unknowns; by default as they are met in `equations`.
        chain: pairs of frames, from ground on, of which the second is placed on the first to assemble the bodies.
        loads: what is reported of the equations; by default the load of each on the body of its second frame.
    """

    bodies: tuple[Body, ...]
    equations: tuple[Equations, ...]
    gravity: tuple[float, float, float] = (0.0, -9.80665, 0.0)
    coordinates: tuple[str, ...] = ()
    chain: tuple[tuple[Frame, Frame], ...] = ()
    loads: tuple[LoadOf, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.bodies, Body) or isinstance(self.equations, Equations):
            raise InvalidModel("give bodies and equations as tuples, one of them as (rod,)")
        for key in ("bodies", "equations", "coordinates", "chain", "loads"):
            object.__setattr__(self, key, tuple(getattr(self, key)))
        names = [e.name for e in self.equations]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InvalidModel(f"two constraints or drivers are called {twice!r}; give each a name of its own")
        bodies = [GROUND, *(b.name for b in self.bodies)]
        twice = next((name for name in bodies if bodies.count(name) > 1), None)
        if twice is not None or not self.bodies:
            raise InvalidModel(
                f"two bodies are called {twice!r}; give each a name of its own, not that of ground"
                if self.bodies
                else "a mechanism needs a body; ground is there anyway"
            )
        met = dict.fromkeys(self.coordinates)
        for e in self.equations:
            try:
                met.update(dict.fromkeys(e.unknowns))
            except InvalidModel as error:
                raise InvalidModel(f"{e.name!r}: {error}") from None
            if "" in met:
                raise InvalidModel(f"{e.name!r} names no coordinate; give it one")
            frames = (frame for row in e.rows() for term in row for frame in (term.first, term.second))
            for frame in (*frames, *(e.place or ())):
                if frame is not None:
                    self._check_frame(frame, repr(e.name))
        object.__setattr__(self, "coordinates", tuple(met))
        for frame in (frame for pair in self.chain for frame in pair):
            self._check_frame(frame, "the chain", met)
        placed = {GROUND}
        for known, new in self.chain:
            if known.body not in placed or new.body in placed:
                why = f"{known.body!r} has no place yet" if known.body not in placed else "it has a place already"
                raise InvalidModel(
                    f"the chain places {new.body!r} on {known.body!r}, but {why}; begin at ground and name each body "
                    "once, as (frame on a placed body, frame on the new one)"
                )
            placed.add(new.body)
        if not self.loads:
            own = [(e.name, e.place) for e in self.equations]
            loads = tuple(LoadOf(name, (name,), place[1], place[0]) for name, place in own if place is not None)
            object.__setattr__(self, "loads", loads)
        for load in self.loads:
            for name in load.equations:
                if name not in names:
                    raise UnknownName("constraint or driver", name, names, f"load {load.name!r}")

    def _check_frame(self, frame: Frame, where: str, coordinates: Mapping[str, None] | None = None) -> None:
        """Refuse a frame on a body that is not there, or moved by a driver or a coordinate that is not."""
        bodies = [GROUND, *(b.name for b in self.bodies)]
        if frame.body not in bodies:
            raise UnknownName("body", frame.body, bodies, where)
        drivers = [d.name for d in self.drivers]
        if isinstance(frame.motion, str) and frame.motion not in drivers:
            raise UnknownName("driver", frame.motion, drivers, f"{where}, as what moves a frame")
        for name in frame.coordinates:
            if coordinates is not None and name not in coordinates:
                raise UnknownName("coordinate", name, coordinates, f"the constraints; {where} moves a frame by it")

    def __repr__(self) -> str:
        inside = ", ".join(f"{e.name}: {type(e).__name__} ({self.count(e.name)})" for e in self.equations)
        return (
            f"Mechanism({len(self.bodies)} bodies, {self.n_equations} equations for {self.n_unknowns} unknowns; "
            f"{inside if len(inside) < 400 else f'{len(self.equations)} constraints and drivers'})"
        )

    # --- counts -----------------------------------------------------------------------------------------------------
    @property
    def drivers(self) -> tuple[Driver, ...]:
        """The equations that prescribe motion."""
        return tuple(e for e in self.equations if isinstance(e, Driver))

    @cached_property
    def row_names(self) -> tuple[str, ...]:
        """The constraint or driver of each equation."""
        return tuple(e.name for e in self.equations for _ in e.rows())

    @property
    def n_equations(self) -> int:
        """Equations in the form of angular velocities, where Euler parameters need no norms."""
        return len(self.row_names)

    @property
    def n_norms(self) -> int:
        """Equations that keep Euler parameters at unit length: one a body."""
        return len(self.bodies)

    @property
    def n_unknowns(self) -> int:
        """Unknown velocities: six a body, and the coordinates that are unknowns too."""
        return 6 * len(self.bodies) + len(self.coordinates)

    @property
    def n_positions(self) -> int:
        """Unknown positions: seven a body, and the coordinates."""
        return 7 * len(self.bodies) + len(self.coordinates)

    def count(self, name: str) -> int:
        """How many equations a constraint or driver has."""
        if name not in self.row_names and name not in [e.name for e in self.equations]:
            raise UnknownName("constraint or driver", name, [e.name for e in self.equations])
        return self.row_names.count(name)

    # --- arrays -----------------------------------------------------------------------------------------------------
    @cached_property
    def compiled(self) -> CompiledMechanism:
        """The arrays."""
        return self._compiled[1]

    @cached_property
    def compiled_frames(self) -> dict[int, int]:
        """The number in the arrays of every frame, by its id."""
        return self._compiled[0].frames

    @cached_property
    def _compiled(self) -> tuple[MechanismCompiler, CompiledMechanism]:
        compiler = MechanismCompiler(self)
        return compiler, compiler.compile()

    def signals(self, given: Mapping[str, Given], frames: int) -> FloatArray:
        """(frames, rows): what the drivers are told, as kernels read it.

        Raises:
            UnknownName: for a driver that there is none of.
            InvalidInput: a driver that is told nothing, or arrays that do not fit.
        """
        c, drivers = self.compiled, {d.name: d for d in self.drivers}
        for name in given:
            if name not in drivers:
                raise UnknownName("driver", name, drivers)
        told = np.zeros((frames, c.signal_rows))
        for first in c.pose_rows.values():
            told[:, first] = 1.0
        for name, driver in drivers.items():
            if name not in given:
                raise InvalidInput(f"driver {name!r} is told nothing; give it in `given`, or leave the driver out")
            for key, values in driver.signals(given[name]).items():
                if not np.isfinite(values).all():
                    raise InvalidInput(f"driver {name!r} is told a number that is not finite; fill such frames first")
                rows = c.pose_rows if key in c.pose_rows else c.number_rows
                if len(values) != frames:
                    raise InvalidInput(f"driver {name!r} is told {len(values)} frames, others {frames}")
                if key not in rows:
                    continue  # a pose that no frame follows
                told[:, rows[key] : rows[key] + values.shape[1]] = values
        return told

    def position(self, bodies: Mapping[str, Placement], coordinates: Mapping[str, float] | None = None) -> FloatArray:
        """x (n_positions,) of bodies placed in ground, near which a search for a position may start.

        Args:
            bodies: where each body's frame is: `{"rod": Placement("ground", (0, 1, 0), (0, 0, 0.5))}`, with body-fixed
                x, y, z angles [rad].
            coordinates: of the coordinates that are unknowns; zero where not given.
        """
        for name in bodies:
            if name not in [b.name for b in self.bodies]:
                raise UnknownName("body", name, [b.name for b in self.bodies])
        for name in coordinates or {}:
            if name not in self.coordinates:
                raise UnknownName("coordinate", name, self.coordinates)
        for b in self.bodies:
            if b.name not in bodies or bodies[b.name].body != GROUND:
                raise InvalidInput(f"body {b.name!r} has no place; give Placement('ground', (x, y, z), angles)")
        own = [bodies[b.name] for b in self.bodies]
        turned = np.array([quaternion_from_xyz(place.orientation) for place in own])
        values = [float((coordinates or {}).get(name, 0.0)) for name in self.coordinates]
        places = np.array([place.translation for place in own], dtype=float)
        return np.asarray(self.positions(places[None], turned[None], np.array([values]))[0])

    def forces(self, loads: Sequence[ExternalLoad], frames: int) -> FloatArray:
        """(frames, n_unknowns) of loads given in ground: of each body force, and moment about ground's origin.

        Raises:
            InvalidInput: a load that is given in another frame.
        """
        found, names = np.zeros((frames, self.n_unknowns)), [b.name for b in self.bodies]
        for load in loads:
            if load.body not in (GROUND, *names):
                raise UnknownName("body", load.body, names, load.source or "an external load")
            if load.force_in != GROUND or load.point_in != GROUND:
                raise InvalidInput(f"the load on {load.body!r} is given in another frame; give it in ground")
            force, point, moment = (
                np.broadcast_to(np.asarray(x, dtype=float), (frames, 3)) for x in (load.force, load.point, load.moment)
            )
            if load.body != GROUND:
                k = 6 * names.index(load.body)
                found[:, k : k + 3] += force
                found[:, k + 3 : k + 6] += moment + np.cross(point, force)
        return found

    def positions(self, places: FloatArray, parameters: FloatArray, coordinates: FloatArray) -> FloatArray:
        """x of body frames at `places` (frames, bodies, 3) turned by `parameters` (frames, bodies, 4)."""
        center = np.array([b.mass_center for b in self.bodies], dtype=float)
        p = np.asarray(parameters, dtype=float)
        r = np.asarray(places, dtype=float) + np.einsum("fbij,bj->fbi", rotation_matrix(p), center)
        bodies = np.concatenate([r, p], axis=2).reshape(len(r), -1)
        return np.ascontiguousarray(np.concatenate([bodies, np.asarray(coordinates, dtype=float)], axis=1))
