"""Lengths, lengthening speeds and moment arms of every path of every model in the data folder, as OpenSim 4.6 has them.

With wrapping="opensim" nothing remains: all 16,800 lengths and their moment arms agree, contradictions of OpenSim with
itself included (`test_contradictions_are_those_of_opensim`). Three things have to be known before comparing:

- Under couplers, independent coordinates are compared: r J here, `computeMomentArm` there.
- A closed loop (the clavicle of the shoulder model) has no J; OpenSim's projection is done with its own constraint
  matrix, which is in the table.
- OpenSim rewrites the joint frames of older files with six digits; `read_osim` keeps all of them. Two models show it.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from musculo import Model, embedding_of, read_osim
from musculo.muscle.paths.geometry import PathGeometry, path_geometry

# Rounding, multiplied by iterations that stop early (MoBL-ARMS: tori and ellipsoids in paths of up to four wraps).
SAME = 1e-9
# The bound [m], where a file is read with more digits than OpenSim keeps.
WANTED = 1e-7
ROUNDED_BY_OPENSIM = ("moco_walk_armless", "small_P2PBallJointMomentArmTest")
# Where OpenSim's moment arm is further than this from the slope of its own length, it contradicts itself [m].
CONTRADICTION = 1e-4

MODELS = (
    "arm26",
    "gait10dof18musc",
    "gait10dof18musc_dgf",
    "gait2392",
    "leg6dof9musc",
    "mobl_arms",
    "moco_walk_armless",
    "rajagopal_walk",
    "small_MovingPathPointMomentArmTest",
    "small_P2PBallJointMomentArmTest",
    "small_PathOnConstrainedBodyMomentArmTest",
    "small_WrapPathCustomJointMomentArmTest",
    "small_testMomentArmsConstraintB",
    "thoracoscapular_shoulder",
    "tug_of_war_millard",
    "tug_of_war_thelen",
)


class Table:
    """OpenSim's numbers of one model in our order of coordinates and paths, and our geometry of the same poses."""

    def __init__(self, folder, name: str) -> None:
        self.facts = json.loads((folder / "oracle" / f"{name}.json").read_text())
        arrays = np.load(folder / "oracle" / f"{name}.npz")
        self.model: Model = read_osim(folder / self.facts["model"])
        if name in ROUNDED_BY_OPENSIM:
            self.model = with_six_digits(self.model)
        order = [self.facts["coordinates"].index(n) for n in self.model.coordinate_names]
        self.q, self.u = arrays["q"][:, order], arrays["u"][:, order]
        self.ours: PathGeometry = path_geometry(self.model, self.q, self.u, like="opensim")
        paths = [self.facts["paths"].index(n) for n in self.ours.names]
        self.length, self.speed = arrays["path_length"][:, paths], arrays["path_speed"][:, paths]
        self.points = arrays["n_path_pts"][:, paths]
        self.arm, self.slope = (arrays[k][:, paths][:, :, order] for k in ("moment_arm", "moment_arm_fd"))
        self.G = arrays["G"][:, :, order]

    def arms(self) -> tuple[np.ndarray, np.ndarray]:
        """(ours, theirs) on the independent coordinates; through OpenSim's own projection where loops are closed."""
        e = embedding_of(self.model)
        columns = [self.model.coordinate_names.index(n) for n in e.speed_names]
        if not e.loops:
            return self.ours.moment_arm_independent, self.arm[:, :, columns]
        projector = np.eye(self.q.shape[1]) - np.linalg.pinv(self.G, rcond=1e-10) @ self.G
        scale = np.einsum("fii->fi", projector)[:, columns]
        return self.ours.moment_arm @ projector[:, :, columns] / scale[:, None], self.arm[:, :, columns]


def with_six_digits(model: Model) -> Model:
    """The model with its joint frames rounded as OpenSim rounds them when it brings an old file up to date."""

    def rounded(v):
        return tuple(float(f"{x:.6g}") for x in v)

    def place(p):
        return replace(p, translation=rounded(p.translation), orientation=rounded(p.orientation))

    return model.replace(joints=tuple(replace(j, parent=place(j.parent), child=place(j.child)) for j in model.joints))


@pytest.fixture(scope="module", params=MODELS)
def table(request, data_folder):
    return Table(data_folder, request.param)


def test_lengths(table):
    assert np.abs(table.ours.length - table.length).max() < SAME


def test_speeds(table):
    """OpenSim's own, even where they are not -sum(r u)."""
    assert np.abs(table.ours.speed - table.speed).max() < SAME


def test_moment_arms(table):
    ours, theirs = table.arms()
    assert ours.shape == theirs.shape
    assert np.abs(ours - theirs).max() < SAME


def test_numbers_of_path_points(table):
    """As many points, conditional ones and contacts included, in every pose."""
    assert np.array_equal(table.ours.path_points.count, table.points)


def test_contradictions_are_those_of_opensim(data_folder):
    """Where OpenSim's moment arm is not the slope of its length, ours with the same rules is not either."""
    table = Table(data_folder, "arm26")
    ours, theirs = table.arms()
    apart = np.abs(theirs - table.slope) > CONTRADICTION
    assert apart.any()
    assert np.abs(ours - table.slope)[apart].min() > 0.5 * CONTRADICTION
    # TRIlong engages its wrap with a jump of 8 mm: the arm is 6.6 mm, the slope across the jump -4.9 mm
    assert np.abs(theirs - table.slope).max() > 5e-3


def test_arms_of_a_closed_loop_share_opensims_motions(data_folder):
    """OpenSim projects unit speeds on what its constraints allow; our J spans the same motions.

    Its arm of a coordinate is that of the least motion which moves it; ours of an independent one leaves the other
    independent ones still. With P = J J^+ one follows from the other.
    """
    table = Table(data_folder, "thoracoscapular_shoulder")
    e = embedding_of(table.model)
    J = e.jacobian(table.q)
    P = J @ np.linalg.pinv(J)
    projector = np.eye(table.q.shape[1]) - np.linalg.pinv(table.G, rcond=1e-10) @ table.G
    assert np.abs(P - projector).max() < 1e-8
    ours = table.ours.moment_arm_independent @ np.linalg.pinv(J) / np.einsum("fii->fi", P)[:, None].clip(1e-9)
    free = np.abs(np.einsum("fii->fi", P)).min(axis=0) > 1e-6
    assert np.abs(ours - table.arm)[:, :, free].max() < 1e-8


@pytest.mark.parametrize("name", ROUNDED_BY_OPENSIM)
def test_six_digits_are_what_differs(name, data_folder):
    """Read with all digits, the same models differ from OpenSim by what those digits weigh."""
    table = Table(data_folder, name)
    exact = path_geometry(read_osim(data_folder / table.facts["model"]), table.q, like="opensim")
    difference = np.abs(exact.length - table.length).max()
    assert WANTED < difference < 1e-6


def test_paths_without_wraps_need_no_method(data_folder):
    """gait2392 has no wraps: both methods give the same lengths, and the same arms within the coordinates' ranges."""
    table = Table(data_folder, "gait2392")
    exact = path_geometry(table.model, table.q, table.u)
    assert np.abs(exact.length - table.length).max() < SAME
    assert np.abs(exact.moment_arm - table.ours.moment_arm).max() < SAME
