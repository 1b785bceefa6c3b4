"""Inverse dynamics, mass matrix and forward dynamics against Pinocchio and OpenSim, one thread, same run.

python benchmarks/dynamics.py      needs the extra `oracles`; OpenSim's part needs the data folder
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from musculo import forward_dynamics, inverse_dynamics, mass_matrix, read_osim
from musculo.model.model import Model
from musculo.spatial.inertia import tensor
from musculo.spatial.rotation import from_xyz
from timing import report, time_of
from trees import data_folder, humanoid, pin_tree, random_motion

FRAMES = 2000


def pinocchio_tree(model: Model):
    """The same tree of pins in Pinocchio."""
    import pinocchio as pin

    peer = pin.Model()
    index = {"ground": 0}
    for joint in model.joints:
        placement = pin.SE3(from_xyz(joint.parent.orientation), np.array(joint.parent.translation))
        j = peer.addJoint(index[joint.parent.body], pin.JointModelRZ(), placement, joint.name)
        body = model.body(joint.child.body)
        inertia = pin.Inertia(body.mass, np.array(body.mass_center), tensor(body.inertia))
        peer.appendBodyToJoint(j, inertia, pin.SE3.Identity())
        index[joint.child.body] = j
    peer.gravity.linear = np.array(model.gravity)
    return pin, peer


def against_pinocchio() -> None:
    """The 37-dof tree; every frame is one call in Pinocchio and one batch here."""
    model = humanoid()
    q, u, udot = random_motion(model, FRAMES)
    pin, peer = pinocchio_tree(model)
    data = peer.createData()
    tau = inverse_dynamics(model, q, u, udot, threads=1)
    reference = np.stack([pin.rnea(peer, data, q[i], u[i], udot[i]) for i in range(FRAMES)])
    print(f"inverse dynamics against Pinocchio: {abs(tau - reference).max() / abs(reference).max():.1e} relative")

    def loop(run):
        def frames():
            for i in range(FRAMES):
                run(i)

        return frames

    report(
        "inverse dynamics, 37-dof tree",
        time_of(lambda: inverse_dynamics(model, q, u, udot, threads=1), FRAMES),
        "Pinocchio",
        time_of(loop(lambda i: pin.rnea(peer, data, q[i], u[i], udot[i])), FRAMES),
        "3x",
    )
    report(
        "mass matrix, 37-dof tree",
        time_of(lambda: mass_matrix(model, q, threads=1), FRAMES),
        "Pinocchio",
        time_of(loop(lambda i: pin.crba(peer, data, q[i])), FRAMES),
        "2x",
    )
    report(
        "forward dynamics, 37-dof tree",
        time_of(lambda: forward_dynamics(model, q, u, tau, threads=1), FRAMES),
        "Pinocchio",
        time_of(loop(lambda i: pin.aba(peer, data, q[i], u[i], tau[i])), FRAMES),
        "2x",
    )
    one = time_of(lambda: inverse_dynamics(model, q[0], u[0], udot[0], threads=1), 1, 200)
    print(f"a single frame, one call: {one}")


def against_opensim() -> None:
    """Rajagopal's model: the solver alone on realised states, and with realisation."""
    folder = data_folder()
    if folder is None:
        print("OpenSim: skipped, the data folder is not there")
        return
    import opensim

    opensim.Logger.setLevelString("off")
    path = folder / "rajagopal_walk" / "subject_walk_scaled.osim"
    model = read_osim(path)
    frames = 400
    q, u, udot = random_motion(model, frames)
    peer = opensim.Model(str(path))
    state = peer.initSystem()
    names = [str(peer.getCoordinateNamesInMultibodyTreeOrder().getElt(i)).split("/")[-1] for i in range(q.shape[1])]
    order = [model.coordinate_names.index(name) for name in names]

    def vector(values: np.ndarray):
        filled = opensim.Vector(len(values), 0.0)
        for k, value in enumerate(values):
            filled.set(k, float(value))
        return filled

    # without muscles: the work is that of the rigid tree
    for force in peer.getComponentsList():
        as_force = opensim.Force.safeDownCast(force)
        if as_force is not None:
            as_force.setAppliesForce(state, False)
    solver = opensim.InverseDynamicsSolver(peer)
    Q, U, A = ([vector(x[i, order]) for i in range(frames)] for x in (q, u, udot))
    # locked coordinates keep their value in OpenSim; both sides are given the values that hold there
    states = []
    for i in range(frames):
        state.setQ(Q[i])
        state.setU(U[i])
        peer.realizeVelocity(state)
        states.append(opensim.State(state))
        peer.realizeVelocity(states[-1])

    def solve_only() -> None:
        for i in range(frames):
            solver.solve(states[i], A[i])

    def with_realisation() -> None:
        for i in range(frames):
            state.setQ(Q[i])
            state.setU(U[i])
            peer.realizeVelocity(state)
            solver.solve(state, A[i])

    batch = tuple(np.tile(x, (5, 1)) for x in (q, u, udot))
    ours = time_of(lambda: inverse_dynamics(model, *batch, threads=1), 5 * frames)
    report("inverse dynamics, Rajagopal", ours, "OpenSim", time_of(solve_only, frames, 3), "3x")
    report("  with realisation", ours, "OpenSim", time_of(with_realisation, frames, 3), "20x")


def against_size() -> None:
    """Time against the number of bodies in a chain of branches; the slope in log-log is 1 for O(n)."""
    sizes, times = [10, 30, 100, 300, 1000], []
    rng = np.random.default_rng(0)
    for n in sizes:
        # branches of random length: each body hangs on one of the five before it
        parents = [-1] + [int(rng.integers(max(0, i - 5), i)) for i in range(1, n)]
        model = pin_tree(parents)
        q, u, udot = random_motion(model, 256)
        tau = inverse_dynamics(model, q, u, udot, threads=1)
        rows = (
            time_of(lambda m=model, a=(q, u, udot): inverse_dynamics(m, *a, threads=1), 256),
            time_of(lambda m=model, a=(q, u, tau): forward_dynamics(m, *a, threads=1), 256),
        )
        times.append([row.middle for row in rows])
        print(f"{n:5d} bodies: inverse dynamics {rows[0]}, forward dynamics {rows[1]}")
    slopes = np.polyfit(np.log(sizes), np.log(times), 1)[0]
    print(f"slope in log-log, 10 to 1000 bodies: inverse dynamics {slopes[0]:.2f}, forward dynamics {slopes[1]:.2f}")


if __name__ == "__main__":
    against_pinocchio()
    against_opensim()
    against_size()
