"""The OpenSim side of live comparisons: for a process of its own, since `<defaults>` leak from model to model.

Writes random states (or takes those of STATES.npz) and what OpenSim computes for them with every force but gravity
switched off: everything in the order of Simbody's speeds, whose names are in `coordinates`.
"""

from __future__ import annotations

import os

import numpy as np

# Newton's steps after OpenSim's own assembly, which is looser than the comparison.
_POLISH, _ASSEMBLED = 30, 1e-12


def vec3(v):
    return [v.get(i) for i in range(3)]


def matrix(m):
    return np.array([[m.get(i, j) for j in range(m.ncol())] for i in range(m.nrow())]).reshape(m.nrow(), m.ncol())


class Numbers:
    """One model in OpenSim."""

    def __init__(self, path: str) -> None:
        import opensim

        opensim.Logger.setLevelString("off")
        self.osim = opensim
        os.chdir(os.path.dirname(os.path.abspath(path)))
        self.model = opensim.Model(os.path.abspath(path))
        self.state = self.model.initSystem()
        self.matter = self.model.getMatterSubsystem()
        for component in self.model.getComponentsList():
            force = opensim.Force.safeDownCast(component)
            if force is not None:
                force.setAppliesForce(self.state, False)
        self._slots()
        self.model.realizePosition(self.state)
        self.default = self.state.getQ().to_numpy().copy()
        self.solver = opensim.InverseDynamicsSolver(self.model)

    def _slots(self) -> None:
        """Which slot of Simbody's q and u each coordinate has: find out by moving it."""
        group = self.model.getCoordinateSet()
        coordinates = [group.get(i) for i in range(group.getSize())]
        probe = self.osim.State(self.state)
        u_slot, q_slot = [], []
        for c in coordinates:
            locked = c.getLocked(probe)
            c.setLocked(probe, False)
            probe.setU(self.vector(np.zeros(len(coordinates))))
            c.setSpeedValue(probe, 7.25)
            u_slot.append(int(np.argmax(np.abs(probe.getU().to_numpy()))))
            before, value = probe.getQ().to_numpy().copy(), c.getValue(probe)
            c.setValue(probe, value + 0.0123, False)
            q_slot.append(int(np.argmax(np.abs(probe.getQ().to_numpy() - before))))
            # OpenSim keeps the value of a lock in the model: restore the value first
            c.setValue(probe, value, False)
            c.setLocked(probe, locked)
        order = np.argsort(u_slot)
        assert sorted(u_slot) == list(range(len(coordinates)))
        self.coordinates = [coordinates[i] for i in order]
        self.q_slot = np.array(q_slot, dtype=int)[order]
        self.names = [c.getName() for c in self.coordinates]

    def vector(self, values):
        v = self.osim.Vector(len(values), 0.0)
        for i, x in enumerate(values):
            v.set(i, float(x))
        return v

    def set_q(self, q) -> None:
        all_q = self.default.copy()
        all_q[self.q_slot] = q
        self.state.setQ(self.vector(all_q))

    def random_q(self, rng) -> np.ndarray:
        """In range (translations within half a metre of the default), constraints assembled, locks at their values."""
        locked = np.array([c.getLocked(self.state) for c in self.coordinates], dtype=bool)
        low, high = (np.array(x) for x in zip(*(self._range(c) for c in self.coordinates), strict=True))
        default = np.clip(self.default[self.q_slot], low, high)
        for attempt in range(40):
            width = 0.9**attempt
            q = default + width * (low + rng.uniform(size=len(low)) * (high - low) - default)
            self.set_q(np.where(locked, self.default[self.q_slot], q))
            if self._assemble():
                break
        return self.state.getQ().to_numpy()[self.q_slot].copy()

    def _range(self, c):
        low, high = c.getRangeMin(), c.getRangeMax()
        if c.getMotionType() == 2:
            low, high = max(low, c.getDefaultValue() - 0.5), min(high, c.getDefaultValue() + 0.5)
        else:
            low, high = max(low, -np.pi), min(high, np.pi)
        if not np.isfinite(low + high) or low >= high:
            low, high = c.getDefaultValue() - 0.5, c.getDefaultValue() + 0.5
        return low, high

    def _assemble(self) -> bool:
        if not self.state.getNQErr():
            return True
        try:
            self.model.assemble(self.state)
        except RuntimeError:
            return False
        for _ in range(_POLISH):
            self.model.realizePosition(self.state)
            error = self.state.getQErr().to_numpy().copy()
            if np.abs(error).max() < _ASSEMBLED:
                return True
            P = self.osim.Matrix()
            self.matter.calcPq(self.state, P)
            P = matrix(P)
            step = -np.linalg.pinv(P, rcond=1e-10) @ error[: P.shape[0]]
            step *= min(1.0, 0.5 / max(np.linalg.norm(step), 1e-30))
            self.state.setQ(self.vector(self.state.getQ().to_numpy() + step))
        self.model.realizePosition(self.state)
        return bool(np.abs(self.state.getQErr().to_numpy()).max() < 1e-10)

    def forces(self, udot):
        return self.solver.solve(self.state, self.vector(udot)).to_numpy().copy()

    def at(self, q, u, udot) -> dict:
        """Everything at one state; all arrays in the order of `names`."""
        n, state = len(self.names), self.state
        out = {}
        self.set_q(q)
        state.setU(self.vector(np.zeros(n)))
        out["tau_gravity"] = self.forces(np.zeros(n))
        state.setU(self.vector(u))
        self.model.realizeVelocity(state)
        M = self.osim.Matrix()
        self.matter.calcM(state, M)
        out["M"] = matrix(M)
        out["tau_bias"], out["tau_id"] = self.forces(np.zeros(n)), self.forces(udot)
        out["qdot"] = state.getQDot().to_numpy()[self.q_slot].copy()
        bodies = [self.model.getBodySet().get(i) for i in range(self.model.getBodySet().getSize())]
        X = [b.getTransformInGround(state) for b in bodies]
        out["R"] = [[[x.R().get(i, j) for j in range(3)] for i in range(3)] for x in X]
        out["p"] = [vec3(x.p()) for x in X]
        out["w"] = [vec3(b.getAngularVelocityInGround(state)) for b in bodies]
        out["v"] = [vec3(b.getLinearVelocityInGround(state)) for b in bodies]
        markers = [self.model.getMarkerSet().get(i) for i in range(self.model.getMarkerSet().getSize())]
        out["marker"] = np.array([vec3(m.getLocationInGround(state)) for m in markers]).reshape(-1, 3)
        out["marker_velocity"] = np.array([vec3(m.getVelocityInGround(state)) for m in markers]).reshape(-1, 3)
        return {key: np.array(value, dtype=float) for key, value in out.items()}


def main(path: str, target: str, seed: int, poses: int, states: str = "") -> None:
    target = os.path.abspath(target)
    given = dict(np.load(os.path.abspath(states))) if states else {}
    numbers = Numbers(path)
    n = len(numbers.names)
    if given:
        order = [list(given["coordinates"]).index(name) for name in numbers.names]
        q, u, udot = (given[key][:, order] for key in ("q", "u", "udot"))
    else:
        rng = np.random.default_rng(seed)
        q = np.stack([numbers.random_q(rng) for _ in range(poses)])
        u, udot = rng.normal(size=(2, poses, n))
    frames = [numbers.at(*frame) for frame in zip(q, u, udot, strict=True)]
    arrays = {key: np.stack([frame[key] for frame in frames]) for key in frames[0]}
    bodies = [numbers.model.getBodySet().get(i).getName() for i in range(numbers.model.getBodySet().getSize())]
    np.savez(target, q=q, u=u, udot=udot, coordinates=np.array(numbers.names), bodies=np.array(bodies), **arrays)
