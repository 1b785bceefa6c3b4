"""Force and moment that joints transmit, as a node function: of a model that moments drive, or that muscles drive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from musculo.arrays import FloatArray
from musculo.dynamics.derivatives.reaction_derivatives import joint_reaction_derivatives
from musculo.dynamics.loads.load_choice import Choice, LoadChoice, load_choices, placement_of
from musculo.dynamics.poses import kinematics
from musculo.errors import InvalidInput, Unsupported
from musculo.model.body import Body, Placement
from musculo.model.coordinate import Coordinate
from musculo.model.function_path import FunctionPath
from musculo.model.joints.custom import CustomJoint
from musculo.model.joints.joint import X_AXIS, Y_AXIS, Z_AXIS, along
from musculo.model.model import Model
from musculo.trajectory.functions.rates import CurvedByDifferences, RateModel
from musculo.trajectory.muscles.muscle_driven import TIME, MuscleDriven

_PARTS = ("force_x", "force_y", "force_z", "moment_x", "moment_y", "moment_z")
_AXES = (X_AXIS, Y_AXIS, Z_AXIS)
# Of the coordinates of an opened joint: no name of a file has a space before a slash.
_OPEN = " /opened "


class JointLoads(CurvedByDifferences):
    """What joints transmit at a node: outputs `knee_r/force_x`, .. `knee_r/moment_z` [N, N m] of each joint.

    The load is that of `musculo.joint_loads`: what the joint exerts on a body, at the origin of the joint frame on it.
    Without `muscles`, the joint carries all that the motion takes, drive included; inputs are values, speeds and
    accelerations. With them, muscles press the bones together: tensions are those of the equations `muscles`, and
    inputs are its variables; what drives coordinates (actuators, reserves) is part of the joint's moment.

        F_j = sum over the bodies outboard of  m (a - g) - applied forces - sum_i F_i dl_i/dx_j

    x_j are three translations and three rotations that a joint would have if it were open: dl_i/dx_j are moment arms of
    an opened model at x = 0, so that slopes of what muscles do are as exact as those of moment arms.

    Source:     [Barman2020] chapter III, internal forces and moments at the joints.
    Guarantees: exact slopes. Second derivatives are central differences of them, of models with at most 12
                independent coordinates.

    Args:
        model: without joints whose speeds are angular velocities (ball, free), and without closed loops.
        joints: which, by name; all by default.
        on: the body that the load acts on: "child" or "parent", one for all, one for each, or by joint.
        frame: to express it in: "ground", "child" or "parent" (the frame of that body), or any frame of the model.
        muscles: the equations of the same model with muscles, their loads and contacts. Its paths may be polynomials;
            those of `model` must lead over points, since polynomials do not say how muscles press on bones.
        threads: the number of threads; all cores by default.

    Raises:
        Unsupported: muscles whose paths are functions of coordinates.
    """

    def __init__(
        self,
        model: Model,
        joints: str | Sequence[str] | None = None,
        *,
        on: Choice = "child",
        frame: Choice = "ground",
        muscles: MuscleDriven | None = None,
        threads: int | None = None,
    ) -> None:
        self.model, self.threads, self._rates = model, threads, RateModel(model, type(self).__name__)
        self.choices = tuple(load_choices(model, joints, on, frame))
        named = [one.joint for one in self.choices]
        labels = [
            one.joint
            if named.count(one.joint) == 1
            else f"{one.joint}_on_{placement_of(model, one.joint, one.side).body}_in_{one.frame}"
            for one in self.choices
        ]
        self.outputs: tuple[str, ...] = tuple(f"{label}/{part}" for label in labels for part in _PARTS)
        self._opened: _OpenedModel | None = None
        if muscles is None:
            self.inputs = self._rates.inputs(2)
            self.pattern = self._rates.nonzeros(lambda states: self._both(states)[1], 2)
        else:
            self._opened = _OpenedModel(model, self.choices, muscles, threads)
            self.inputs = self._opened.inputs
            rows, columns = np.nonzero((self._both(self._opened.some_states())[1] != 0.0).any(axis=0))
            self.pattern = (rows, columns)
        n = len(self._rates.names)
        self._bend(len(self.inputs), 2 * n, n)  # tensions and accelerations enter in a line

    def __repr__(self) -> str:
        return f"JointLoads({', '.join(one.joint for one in self.choices)})"

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, 6 loads) [N, N m]."""
        if self._opened is not None:
            return self._turned(variables, self._opened.values(variables))[0]
        return self._both(variables)[0]

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, 6 loads) and (nodes, entries)."""
        values, slopes = self._both(variables)
        return values, slopes[:, self.pattern[0], self.pattern[1]]

    def _all_slopes(self, variables: FloatArray) -> FloatArray:
        return self._both(variables)[1]

    def _both(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, 6 loads) and (nodes, 6 loads, inputs)."""
        if self._opened is not None:
            return self._turned(variables, *self._opened.slopes(variables))
        found = joint_reaction_derivatives(
            self.model,
            *self._rates.motion(variables),
            joints=[one.joint for one in self.choices],
            on=[one.side for one in self.choices],
            frame=[one.frame for one in self.choices],
            threads=self.threads,
        )
        parts = (
            found.independent if self._rates.embedding.rules else (found.dload_dq, found.dload_du, found.dload_dudot)
        )
        slopes = np.concatenate(parts, axis=3)
        return found.load.reshape(len(variables), -1), slopes.reshape(len(variables), -1, slopes.shape[3])

    def _turned(
        self, variables: FloatArray, load: FloatArray, slopes: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Loads (nodes, 6 loads) in the frames asked for, of those in the frames of their bodies; and slopes.

        d(R_FB L) = R_FB (dL + (w_B - w_F) x L)
        """
        nodes, n = len(variables), len(self._rates.names)
        time = variables[:, self.inputs.index(TIME)]
        q = self._rates.embedding.coordinates(np.ascontiguousarray(variables[:, :n]), time)
        at = kinematics(self.model, q, threads=self.threads)
        found = load.reshape(nodes, -1, 2, 3).copy()
        by = None if slopes is None else slopes.reshape(nodes, -1, 2, 3, slopes.shape[2]).copy()
        for k, one in enumerate(self.choices):
            body = placement_of(self.model, one.joint, one.side).body
            if one.frame == body:
                continue
            R_WB, R_WF = at.batch_pose(body)[0], at.batch_pose(one.frame)[0]
            R_FB = np.swapaxes(R_WF, 1, 2) @ R_WB
            if by is not None:
                w = at.frame_jacobian(body)[:, :3] - at.frame_jacobian(one.frame)[:, :3]
                w = np.swapaxes(R_WB, 1, 2) @ self._rates.by_independent(w, q)
                by[:, k, :, :, :n] += np.cross(w[:, None], found[:, k, :, :, None], axis=2)
                by[:, k] = R_FB[:, None] @ by[:, k]
            found[:, k] = np.einsum("nij,npj->npi", R_FB, found[:, k])
        values = found.reshape(nodes, -1)
        return values, np.zeros((nodes, 0, 0)) if by is None else by.reshape(nodes, -1, by.shape[4])


class _OpenedModel:
    """A model with muscles whose joints are open by six coordinates each, which stay at zero.

    What keeps these at zero is the load of the joint, in the frame of the body that it acts on.
    """

    def __init__(self, model: Model, choices: Sequence[LoadChoice], muscles: MuscleDriven, threads: int | None) -> None:
        if muscles.model.muscle_names != model.muscle_names or muscles.names != RateModel(model, "JointLoads").names:
            raise InvalidInput(
                f"muscles are the equations of {muscles.model.name!r}, which has other muscles or coordinates than "
                f"{model.name!r}"
            )
        for muscle in model.muscles:
            if isinstance(muscle.path, FunctionPath):
                raise Unsupported(
                    f"the path of {muscle.name!r} is a function of coordinates, which does not say how the muscle "
                    "presses on bones; give JointLoads the model with points: JointLoads(model, muscles=...)"
                )
        sides = list(dict.fromkeys((one.joint, one.side) for one in choices))
        opened = model
        for joint, side in sides:
            opened = _opened(opened, joint, side)
        self.equations = MuscleDriven(opened, loads=muscles.loads, tendons=muscles.tendons, threads=threads)
        every = self.equations.inputs
        self._own = np.array([k for k, name in enumerate(every) if _OPEN not in name], dtype=np.int64)
        self.inputs = tuple(every[k] for k in self._own)
        places = {name: k for k, name in enumerate(self.equations.outputs)}
        self._rows = np.array(
            [places[f"{one.joint}{_OPEN}{one.side} {part}/moment"] for one in choices for part in _PARTS]
        )
        # an opened coordinate moves the body that is the child of it
        self._sign = np.array([1.0 if one.side == "child" else -1.0 for one in choices for _ in _PARTS])

    def _every(self, variables: FloatArray) -> FloatArray:
        found = np.zeros((len(variables), len(self.equations.inputs)))
        found[:, self._own] = variables
        return found

    def values(self, variables: FloatArray) -> FloatArray:
        """(nodes, 6 loads)."""
        return np.asarray(self.equations.values(self._every(variables))[:, self._rows] * self._sign)

    def slopes(self, variables: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(nodes, 6 loads) and (nodes, 6 loads, inputs)."""
        f = self.equations
        values, entries = f.slopes(self._every(variables))
        rows, columns = f.pattern
        dense = np.zeros((len(variables), len(f.outputs), len(f.inputs)))
        dense[:, rows, columns] = entries
        slopes = dense[:, self._rows][:, :, self._own] * self._sign[:, None]
        return values[:, self._rows] * self._sign, slopes

    def some_states(self) -> FloatArray:
        """Random variables at a few nodes."""
        return self.equations.some_states()[:, self._own]


def _opened(model: Model, joint: str, side: str) -> Model:
    """A model whose joint is open, on one side of it, by six coordinates along and about axes of the body there."""
    own, place = model.joint(joint), placement_of(model, joint, side)
    name = f"{joint}{_OPEN}{side}"
    between = Placement(name)
    at_body = Placement(place.body, place.translation)
    names = [f"{name} {part}" for part in _PARTS]
    parent, child = (between, at_body) if side == "child" else (at_body, between)
    gap = CustomJoint(
        name,
        parent,
        child,
        # no range: sides of wraps are found in the poses of the model itself
        tuple(Coordinate(one, range=(0.0, 0.0)) for one in names),
        rotations=tuple(along(axis, one) for axis, one in zip(_AXES, names[3:], strict=True)),
        translations=tuple(along(axis, one) for axis, one in zip(_AXES, names[:3], strict=True)),
    )
    moved = Placement(name, orientation=place.orientation)
    changed = replace(own, child=moved) if side == "child" else replace(own, parent=moved)
    return model.with_body(Body(name, 0.0)).with_joint(changed).with_joint(gap)
