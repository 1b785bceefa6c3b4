"""A model in absolute coordinates under forces: accelerations, and states of the model from those of its bodies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from musculo.absolute.absolute_analysis import kinematic_analysis
from musculo.absolute.absolute_model import AbsoluteModel, from_model
from musculo.absolute.diagnosis import jacobian, missed, unresisted
from musculo.absolute.drivers.coordinate_driver import CoordinateDriver
from musculo.absolute.drivers.pose_driver import PoseDriver
from musculo.absolute.euler_parameters import matrix_L, relative_euler_parameters, rotation_matrix
from musculo.absolute.frame import Frame
from musculo.absolute.given_motion import Given, GivenNumbers, GivenOrientation, GivenPose
from musculo.absolute.load_of import LoadOf
from musculo.absolute.mechanism import Mechanism
from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, SingularSystem
from musculo.functions.function import Function
from musculo.kernels.absolute.absolute_system import AbsoluteState
from musculo.kernels.absolute.free_motion import MOTION_ROWS, FreeFrames, free_frames, projected_state
from musculo.kernels.absolute.normal_equations import UNDETERMINED
from musculo.model.joints.joint import FreeMotion as FreeJointMotion
from musculo.model.joints.joint import FunctionMotion
from musculo.model.model import Model
from musculo.spatial.rotation import from_xyz, to_xyz

# The penalty against the mean mass: what a round misses is of the order of one over it.
_PENALTY = 1e5
# Positions are brought this near [rad, m].
_CLOSED = 1e-12
_MOST_STEPS = 30


class _Turning(NamedTuple):
    """A joint whose speeds are an angular velocity, and perhaps a velocity, in its parent's frame."""

    inside: Frame
    outside: Frame
    q: list[int]
    u: list[int]
    quaternion: bool
    moves: bool


class FreeMotion:
    """dx/dt and dv/dt of a model's bodies under generalized forces, with constraints as equations.

    State y: x, then v, of `Mechanism`. Drivers are those of locked and prescribed coordinates alone.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.system: AbsoluteModel = from_model(model, driven="none")
        self._assembling: AbsoluteModel = from_model(model, driven="tree")
        self._turning = self._turning_joints()
        self.mechanism = _with_frames(self.system.mechanism, [f for j in self._turning for f in (j.inside, j.outside)])
        self._frame = self.mechanism.compiled_frames
        self.n_x, self.n_v = self.mechanism.n_positions, self.mechanism.n_unknowns
        self.bodies = len(model.bodies)
        names = self.mechanism.coordinates
        self._q = np.array([model.coordinate_index(name) for name in names], dtype=np.int64)
        turned = {k for j in self._turning for k in j.u}
        speeds = list(model.speed_names)
        # coordinates whose derivative is a speed of the model
        known = [(k, speeds.index(name)) for k, name in enumerate(names) if name in speeds]
        self._plain = [(k, speed) for k, speed in known if speed not in turned]
        mass = float(np.mean([b.mass for b in model.bodies])) or 1.0
        self._penalty = np.full(self.mechanism.n_equations + 1, _PENALTY * mass)
        self._functions: dict[str, tuple[float, Function | None]] = {}
        for d in self.mechanism.drivers:
            if isinstance(d, CoordinateDriver):
                c = model.coordinate(d.coordinate)
                self._functions[d.name] = (c.default_value, None if c.locked else c.prescribed_function)

    def _turning_joints(self) -> list[_Turning]:
        found = []
        for joint in self.model.joints:
            part = self.system.joints[joint.name]
            if part.motion is None or part.driver is None:
                continue
            names = part.motion.coordinates
            quaternion = bool(getattr(part.motion, "quaternion", False))
            moves = isinstance(part.motion, FreeJointMotion)
            speeds = joint.speed_names[: 6 if moves else 3]
            found.append(
                _Turning(
                    part.driver.frames[0],
                    part.outside,
                    [self.model.coordinate_index(name) for name in names],
                    [self.model.speed_index(name) for name in speeds],
                    quaternion,
                    moves,
                )
            )
        return found

    # --- states -----------------------------------------------------------------------------------------------------
    def states(self, Q: FloatArray, U: FloatArray) -> FloatArray:
        """y (frames, ...) of coordinates and speeds (frames, ...) of the model."""
        given = self._assembling.given(Q, U, np.zeros_like(U))
        found = kinematic_analysis(
            self._assembling.mechanism, given, coordinates=self._assembling.coordinates(Q), threads=1
        )
        rates = np.zeros((len(Q), len(self._q)))
        for k, speed in self._plain:
            rates[:, k] = U[:, speed]
        angles, _ = self.system.angle_rates(Q, U, np.zeros_like(U))
        for name, value in angles.items():
            rates[:, self.mechanism.coordinates.index(name)] = value
        n = self.bodies
        return np.concatenate([found.x[:, : 7 * n], Q[:, self._q], found.v[:, : 6 * n], rates], axis=1)

    def split(self, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """x (frames, n_x) with unit Euler parameters, and v (frames, n_v)."""
        x = np.array(y[:, : self.n_x])
        for k in range(self.bodies):
            p = x[:, 7 * k + 3 : 7 * k + 7]
            p /= np.linalg.norm(p, axis=1, keepdims=True)
        return x, np.ascontiguousarray(y[:, self.n_x :])

    def positions_rate(self, x: FloatArray, v: FloatArray) -> FloatArray:
        """xdot of one state: pdot = L^T omega' / 2 (Antunes2025 eq. 31)."""
        n = self.bodies
        rate = np.empty(self.n_x)
        p = x[: 7 * n].reshape(n, 7)[:, 3:]
        w = v[: 6 * n].reshape(n, 6)
        out = rate[: 7 * n].reshape(n, 7)
        out[:, :3] = w[:, :3]
        out[:, 3:] = 0.5 * np.einsum("bji,bj->bi", matrix_L(p), w[:, 3:])
        rate[7 * n :] = v[6 * n :]
        return rate

    def model_state(self, t: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """q and u (frames, ...) of the model."""
        x, v = self.split(y)
        run = self._run(t, x, v, np.zeros((len(x), self.n_v)), motion=bool(self._turning))
        return self._as_model(x, v, run.motion)[:2]

    def _as_model(
        self, x: FloatArray, v: FloatArray, motion: FloatArray, a: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """q, u and udot of the model."""
        n, frames = self.bodies, len(x)
        q = np.zeros((frames, len(self.model.coordinate_names)))
        u, udot = np.zeros((2, frames, len(self.model.speed_names)))
        q[:, self._q] = x[:, 7 * n :]
        for k, speed in self._plain:
            u[:, speed] = v[:, 6 * n + k]
            if a is not None:
                udot[:, speed] = a[:, 6 * n + k]
        for joint in self._turning:
            first, second = (self._motion(motion, frame) for frame in (joint.inside, joint.outside))
            p = relative_euler_parameters(second[:, :4], first[:, :4])
            R = rotation_matrix(first[:, :4] / np.linalg.norm(first[:, :4], axis=1, keepdims=True))
            turn = second[:, 7:10] - first[:, 7:10]
            bent = second[:, 13:16] - first[:, 13:16] - np.cross(first[:, 7:10], turn)
            q_turn = p if joint.quaternion else to_xyz(rotation_matrix(p))
            q[:, joint.q[: q_turn.shape[1]]] = q_turn
            u[:, joint.u[:3]] = np.einsum("fji,fj->fi", R, turn)
            udot[:, joint.u[:3]] = np.einsum("fji,fj->fi", R, bent)
            if joint.moves:
                d, w = second[:, 4:7] - first[:, 4:7], first[:, 7:10]
                slide = second[:, 10:13] - first[:, 10:13] - np.cross(w, d)
                change = second[:, 16:19] - first[:, 16:19] - np.cross(first[:, 13:16], d)
                change = change - np.cross(w, np.cross(w, d)) - 2.0 * np.cross(w, slide)
                q[:, joint.q[-3:]] = np.einsum("fji,fj->fi", R, d)
                u[:, joint.u[3:]] = np.einsum("fji,fj->fi", R, slide)
                udot[:, joint.u[3:]] = np.einsum("fji,fj->fi", R, change)
        return q, u, udot

    def _motion(self, motion: FloatArray, frame: Frame) -> FloatArray:
        first = MOTION_ROWS * self._frame[id(frame)]
        return motion[:, first : first + MOTION_ROWS]

    # --- dynamics -----------------------------------------------------------------------------------------------------
    def accelerations(
        self, t: FloatArray, y: FloatArray, tau: FloatArray, baumgarte: float = 0.0
    ) -> tuple[FloatArray, FloatArray]:
        """vdot (frames, n_v) under generalized forces tau (frames, n_u), and udot of the model.

        Raises:
            SingularSystem: no inertia resists a motion that no constraint excludes.
        """
        x, v = self.split(y)
        forces = np.zeros((len(x), self.n_v))
        for k, speed in self._plain:
            forces[:, 6 * self.bodies + k] = tau[:, speed]
        if self._turning:
            poses = self._run(t, x, v, forces, motion=True).motion
            for joint in self._turning:
                self._push(joint, x, poses, tau, forces)
        run = self._run(t, x, v, forces, motion=bool(self._turning), baumgarte=baumgarte)
        if not np.all(run.pivot > UNDETERMINED):
            frame = int(np.argmin(run.pivot > UNDETERMINED))
            light = unresisted(self.mechanism, x[frame], self._signals(t)[frame])
            what = f"a motion of {', '.join(light)} in" if light else "some motion of"
            raise SingularSystem(
                f"no inertia resists {what} {self.model.name!r} that constraints allow; give these bodies mass, or "
                "lock the coordinate"
            )
        return run.a, self._as_model(x, v, run.motion, run.a)[2]

    def _push(self, joint: _Turning, x: FloatArray, motion: FloatArray, tau: FloatArray, forces: FloatArray) -> None:
        """Forces on the speeds of a joint, as a moment and a force between its two bodies."""
        first, second = (self._motion(motion, frame) for frame in (joint.inside, joint.outside))
        R = rotation_matrix(first[:, :4] / np.linalg.norm(first[:, :4], axis=1, keepdims=True))
        moment = np.einsum("fij,fj->fi", R, tau[:, joint.u[:3]])
        force = np.zeros_like(moment)
        if joint.moves:
            force = np.einsum("fij,fj->fi", R, tau[:, joint.u[3:]])
        at = second[:, 4:7]
        names = list(self.model.body_names)
        for frame, sign in ((joint.outside, 1.0), (joint.inside, -1.0)):
            if frame.body in names:
                k = 6 * names.index(frame.body)
                forces[:, k : k + 3] += sign * force
                forces[:, k + 3 : k + 6] += sign * (moment + np.cross(at, force))
        if isinstance(joint.outside.motion, FunctionMotion):
            # the frame turns on its body by a coordinate, which feels the moment along its axis
            (axis,) = joint.outside.motion.rotations
            direction = from_xyz(joint.outside.after.orientation).T @ axis.direction
            p = second[:, :4] / np.linalg.norm(second[:, :4], axis=1, keepdims=True)
            k = self.mechanism.coordinates.index(axis.coordinates[0])
            slope = axis.function.derivative(x[:, 7 * self.bodies + k])
            along = np.einsum("fij,j,fi->f", rotation_matrix(p), direction, moment)
            forces[:, 6 * self.bodies + k] += slope * along / np.linalg.norm(axis.direction)

    def project(self, t: float, y: FloatArray) -> FloatArray:
        """y with positions and velocities on the constraints, changed as little as their inertia allows.

        Raises:
            InvalidInput: where Newton's method does not find such positions.
        """
        c = self.mechanism.compiled
        x, v = y[: self.n_x].copy(), y[self.n_x :].copy()
        signals = self._signals(np.array([t]))[0]
        start = AbsoluteState(x, v, signals)
        taken = projected_state(c.system, c.table, c.pattern, start, self._penalty, _CLOSED, _MOST_STEPS)
        if taken < 0:
            off = self.missed(t, np.concatenate([x, v]) if np.isfinite(x).all() else y)
            names = ", ".join(missed(self.mechanism, off)) or ", ".join(dict.fromkeys(self.equation_names))
            raise InvalidInput(
                f"positions cannot be brought onto the constraints at t = {t:.9g} s; these contradict each other, or "
                f"are out of reach: {names}"
            )
        return np.concatenate([x, v])

    def missed(self, t: float, y: FloatArray) -> FloatArray:
        """(equations,) what positions are off the constraints."""
        x, _ = self.split(y[None])
        return jacobian(self.mechanism, x[0], self._signals(np.array([t]))[0])[0]

    def _run(
        self, t: FloatArray, x: FloatArray, v: FloatArray, forces: FloatArray, motion: bool, baumgarte: float = 0.0
    ) -> FreeFrames:
        c, frames = self.mechanism.compiled, len(x)
        given = FreeFrames(
            np.ascontiguousarray(x),
            v,
            self._signals(t),
            forces,
            self._penalty,
            baumgarte,
            np.empty((frames, self.n_v)),
            np.zeros((frames, self.mechanism.n_equations)),
            np.zeros(frames),
            np.zeros((frames if motion else 0, MOTION_ROWS * c.system.frame_body.size)),
        )
        free_frames(c.system, c.table, c.pattern, given, 0, frames)
        return given

    def _signals(self, t: FloatArray) -> FloatArray:
        """What locked and prescribed coordinates do, as kernels read it."""
        given: dict[str, Given] = {}
        for d in self.mechanism.drivers:
            if isinstance(d, CoordinateDriver):
                value, function = self._functions[d.name]
                if function is None:
                    given[d.name] = GivenNumbers.of(np.full(len(t), value))
                else:
                    given[d.name] = GivenNumbers.of(*(np.asarray(function.derivative(t, order=k)) for k in range(3)))
            elif isinstance(d, PoseDriver):
                still = GivenOrientation.about((0.0, 0.0, 1.0), np.zeros(len(t)))
                given[d.name] = GivenPose(still, GivenNumbers.of(np.zeros((len(t), 3))))
        told = self.mechanism.signals(given, len(t))
        return told if told.shape[1] else np.zeros((len(t), 1))

    @property
    def equation_names(self) -> tuple[str, ...]:
        """The constraint of each equation."""
        return self.mechanism.row_names


def _with_frames(mechanism: Mechanism, frames: list[Frame]) -> Mechanism:
    """The same mechanism with frames whose motion is wanted; they are those of loads that nothing exerts."""
    loads = tuple(LoadOf(f"frame {k}", (), frame, frame) for k, frame in enumerate(frames))
    return Mechanism(
        mechanism.bodies,
        mechanism.equations,
        mechanism.gravity,
        mechanism.coordinates,
        mechanism.chain,
        mechanism.loads + loads,
    )
