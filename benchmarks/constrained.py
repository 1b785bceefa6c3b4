"""One acceleration of mechanisms with loops, couplers and measured joints: embedded, constrained, and Simbody's.

python benchmarks/constrained.py      needs the extra `oracles` for Simbody's part, the data folder for the last models

Embedded: independent coordinates only. Constrained: all coordinates and multipliers (index 1), same kernels. Simbody:
its constrained model of the same file, through OpenSim, a state at a time, as it works; only `realizeAcceleration` is
timed. (Where a knee's angle drives three rotations, as in Rajagopal's model, Simbody's accelerations are off by some
1e-3: tests/support/simbody_terms.py says why.) Ours is timed over frames (how analyses ask), and a state at a time from
Python (how an integrator with forces written in Python asks). Least processor time of several rounds in turn, one
thread.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import (
    Body,
    Coordinate,
    Model,
    Placement,
    constrained_acceleration,
    embedding_of,
    forward_dynamics,
    read_osim,
    write_osim,
)
from musculo.functions.elementary_functions import Linear
from musculo.functions.splines import SimmSpline
from musculo.model.joints import Axis, BallJoint, CustomJoint, EllipsoidJoint, FreeJoint, PinJoint, PlanarJoint
from musculo.model.model_constraint import CoordinateCoupler, EquationConstraint
from musculo.simulation.equations.accelerations import ConstrainedRates, EmbeddedRates
from support.mechanisms import andrews_squeezer, five_bar, four_bar
from trees import data_folder

HERE = Path(__file__).resolve().parent
FRAMES, STATES, ROUNDS = 2000, 20, 9
RADII = (0.12, 0.15, 0.2)
# The knee of Delp et al. 1990 as the public leg models have it, rounded [rad, m].
ANGLES = (-2.09, -1.75, -1.4, -1.05, -0.7, -0.35, -0.17, 0.2, 0.34, 0.49, 1.52, 2.09)
FORWARD = (-0.0032, 0.0018, 0.0041, 0.0041, 0.0021, -0.001, -0.0031, -0.0052, -0.0054, -0.0056, -0.0054, -0.0053)
UPWARD = (-0.4226, -0.4082, -0.399, -0.3976, -0.3966, -0.3953, -0.396, -0.396, -0.396, -0.396, -0.396, -0.396)


class Case(NamedTuple):
    """A model with consistent states."""

    model: Model
    q: np.ndarray
    u: np.ndarray


def single(joint, constraints=()) -> Model:
    """One body on a joint."""
    body = Body("shank", 3.0, (0.0, -0.18, 0.01), (0.05, 0.006, 0.05, 0.0, 0.001, 0.002))
    return Model(joint.name, (body,), (joint,), tuple(constraints), gravity=(0.0, -9.81, 0.0))


def coordinates(*names: str) -> tuple[Coordinate, ...]:
    return tuple(Coordinate(name, range=(-2.0, 2.0)) for name in names)


def measured_joints() -> dict[str, Model]:
    """Ball, ellipsoid and free joint with three equations; pin, knee and planar joint with two couplers."""
    parent, child = Placement("ground", (0.1, 0.2, 0.3)), Placement("shank")
    angles = ("x", "y", "z")

    def on_ellipsoid(x, y, z, tx, ty, tz):
        a, b, c = RADII
        return [tx - a * np.sin(y), ty + b * np.sin(x) * np.cos(y), tz - c * np.cos(x) * np.cos(y)]

    slides = ("tx", "ty", "tz")
    surface = EquationConstraint("surface", True, (), (*angles, *slides), on_ellipsoid)
    splines = SimmSpline(ANGLES, FORWARD), SimmSpline(ANGLES, UPWARD)
    turn = Axis((0.0, 0.0, 1.0), Linear(1.0, 0.0), ("bend",))
    along = tuple(Axis(d, f, ("bend",)) for d, f in zip(((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)), splines, strict=True))
    still = Axis((0.0, 1.0, 0.0)), Axis((1.0, 0.0, 0.0)), Axis((0.0, 0.0, 1.0))
    couplers = (
        CoordinateCoupler(f"{d}_of_bend", True, (), d, ("bend",), f) for d, f in zip("xy", splines, strict=True)
    )
    return {
        "ball": single(BallJoint("ball", parent, child, coordinates(*angles))),
        "ellipsoid": single(EllipsoidJoint("ellipsoid", parent, child, coordinates(*angles), radii=RADII)),
        "free + 3 equations": single(FreeJoint("free", parent, child, coordinates(*angles, *slides)), (surface,)),
        "pin": single(PinJoint("pin", parent, child, coordinates("bend"))),
        "knee": single(
            CustomJoint("knee", parent, child, coordinates("bend"), (), (turn, *still[:2]), (*along, still[2]))
        ),
        "planar + 2 couplers": single(PlanarJoint("planar", parent, child, coordinates("bend", "x", "y")), couplers),
    }


def consistent(model: Model, frames: int, reach: float = 0.1) -> Case:
    """Random states near the default pose that satisfy everything."""
    e, rng = embedding_of(model), np.random.default_rng(1)
    z = e.independent(e.default_pose()) + rng.uniform(-reach, reach, (frames, len(e.coordinate_names)))
    motion = e.motion(z, rng.normal(size=(frames, len(e.speed_names))))
    return Case(model, motion.q, motion.u)


def least(calls: dict[str, tuple[Callable[[], object], int]]) -> dict[str, float]:
    """Seconds a unit of each call: the least of rounds that take them in turn, the first for compiling."""
    found = dict.fromkeys(calls, np.inf)
    for k in range(ROUNDS + 1):
        for name, (call, units) in calls.items():
            start = time.process_time()
            call()
            spent = (time.process_time() - start) / units
            found[name] = min(found[name], spent) if k else np.inf
    return found


def simbody(cases: dict[str, Case]) -> dict[str, float]:
    """Seconds of one acceleration of each model in Simbody; checks that both sides agree."""
    if importlib.util.find_spec("opensim") is None:
        print("Simbody: skipped, opensim is not installed")
        return {}
    with tempfile.TemporaryDirectory() as folder:
        states, files = {}, []
        for k, case in enumerate(cases.values()):
            files.append(str(Path(folder) / f"{k}.osim"))
            write_osim(case.model, files[-1])
            names = np.array(case.model.coordinate_names)
            states |= {f"q_{k}": case.q[:STATES], f"u_{k}": case.u[:STATES], f"names_{k}": names}
        np.savez(Path(folder) / "states.npz", **states)
        script = [sys.executable, str(HERE / "simbody_accelerations.py")]
        subprocess.run([*script, f"{folder}/states.npz", f"{folder}/out.npz", *files], check=True, cwd=folder)
        out = dict(np.load(Path(folder) / "out.npz"))
    for k, (name, case) in enumerate(cases.items()):
        tau = np.zeros_like(case.u[:STATES])
        ours = constrained_acceleration(case.model, case.q[:STATES], case.u[:STATES], tau).udot
        theirs = out[f"udot_{k}"]
        print(f"{name:24s} agrees with Simbody to {abs(ours - theirs).max() / abs(theirs).max():.0e}")
    return dict(zip(cases, out["seconds"].tolist(), strict=True))


def timed(case: Case) -> dict[str, float]:
    """Seconds of one acceleration: over frames, and a state at a time from Python."""
    model, q, u = case
    tau = np.zeros_like(u)
    e = embedding_of(model)
    calls: dict[str, tuple[Callable[[], object], int]] = {
        "embedded": (lambda: forward_dynamics(model, q, u, tau, threads=1), len(q))
    }
    if e.rules:
        calls["constrained"] = (lambda: constrained_acceleration(model, q, u, tau, threads=1), len(q))
        one = ConstrainedRates(model)
        calls["constrained, one"] = (lambda: [one(q[i], u[i], tau[i]) for i in range(STATES)], STATES)
    if e.loops:
        own, z, zu = EmbeddedRates(model), e.independent(q), e.independent_speeds(q, u)
        # the branch is picked by a pose nearby, as from one step of an integrator to the next
        calls["embedded, one"] = (lambda: [own(z[i], zu[i], tau[i], q[i]) for i in range(STATES)], STATES)
    return least(calls)


def joint_times(joints: dict[str, Model]) -> dict[str, float]:
    """Seconds of one acceleration of each joint, in turn: constrained where there are constraints."""
    calls: dict[str, tuple[Callable[[], object], int]] = {}
    for name, model in joints.items():
        case = consistent(model, 4 * FRAMES, 1.0)
        arrays = (case.q, case.u, np.zeros_like(case.u))
        run = constrained_acceleration if model.constraints else forward_dynamics
        calls[name] = (partial(run, model, *arrays, threads=1), len(case.q))
    return least(calls)


def main() -> None:
    joints = measured_joints()
    cases = {
        "four-bar": consistent(four_bar(), FRAMES),
        "five-bar": consistent(five_bar(), FRAMES),
        "Andrews' squeezer": consistent(andrews_squeezer(), FRAMES, 0.02),
        "planar + 2 couplers": consistent(joints["planar + 2 couplers"], FRAMES, 1.0),
    }
    folder = data_folder()
    if folder is None:
        print("models of the data folder: skipped, it is not there")
    else:
        rajagopal = read_osim(folder / "rajagopal_walk" / "subject_walk_scaled.osim")
        shoulder = read_osim(folder / "thoracoscapular_shoulder" / "ThoracoscapularShoulderModel.osim")
        cases |= {"Rajagopal, couplers": consistent(rajagopal, FRAMES // 4)}
        cases |= {"shoulder, points": consistent(shoulder, FRAMES // 4, 0.02)}
    theirs = simbody({name: case for name, case in cases.items() if case.model.constraints})
    for name, case in cases.items():
        found = timed(case)
        print(f"\n{name}")
        for what, seconds in found.items():
            line = f"  {what:22s} {seconds * 1e6:8.2f} us"
            if name in theirs:
                line += f"   Simbody {theirs[name] * 1e6:7.2f} us, {theirs[name] / seconds:6.1f}x"
            print(line)
        if "constrained" in found:
            print(f"  embedded is {found['constrained'] / found['embedded']:.2f}x as fast as constrained, over frames")
    alone = joint_times(joints)
    print("\nmeasured joints, one body, over frames")
    for name, plain, rival, papers in (
        ("ellipsoid", "ball", "free + 3 equations", ("0.98x", "12.1x")),
        ("knee", "pin", "planar + 2 couplers", ("1.28x", "5.7x")),
    ):
        own, simple, slow = alone[name], alone[plain], alone[rival]
        print(
            f"  {name:10s} {own * 1e9:6.1f} ns, {plain} {simple * 1e9:6.1f} ns: {own / simple:.2f}x (paper {papers[0]})"
        )
        print(f"  {name:10s} against {rival} {slow * 1e9:7.1f} ns: {slow / own:.1f}x as fast (paper {papers[1]})")


if __name__ == "__main__":
    main()
