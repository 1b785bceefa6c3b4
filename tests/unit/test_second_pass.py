"""What most paths never need is left to a second pass, which nobody compiles who does not come to it."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from musculo import Body, Coordinate, Model, Placement, moment_arm_derivatives, muscle_geometry
from musculo.kernels.wrapping.geodesic.tighten import UNFINISHED
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint, PathWrap
from musculo.model.wrap import WrapCylinder, WrapSphere
from musculo.muscle.paths import path_passes
from musculo.muscle.paths.compile_paths import compiled_paths
from musculo.muscle.paths.current_paths import STATUSES
from musculo.muscle.paths.path_passes import chunks

RARE = ("polyline_", "second_pass")
TURN = np.linspace(-1.2, 1.2, 80)[:, None]
# The same kernels in another driver: products and sums may be fused in other places.
ROUNDING = 1e-12


def hinge() -> Model:
    """Paths over a cylinder alone, two balls with a groove between them, and nothing."""
    surfaces = (
        WrapCylinder("drum", "ground", (0.0, -0.02, 0.0), radius=0.05, length=1.0),
        WrapSphere("left", "ground", (0.0, 0.0, -0.03), radius=0.05),
        WrapSphere("right", "ground", (0.0, 0.0, 0.035), radius=0.05),
    )
    wraps = {"over_one": ("drum",), "over_two": ("left", "right"), "straight": ()}
    ends = PathPoint("a", "ground", (-0.3, 0.01, 0.0)), PathPoint("b", "arm", (0.3, 0.01, 0.02))
    forces = [
        Muscle(name, "Thelen2003Muscle", path=Path(ends, tuple(PathWrap(w, w) for w in over)), tendon_slack_length=0.5)
        for name, over in wraps.items()
    ]
    joint = PinJoint("pin", Placement("ground"), Placement("arm"), (Coordinate("turn"),))
    return Model("hinge", (Body("arm", 1.0),), (joint,), wrap_objects=surfaces, forces=tuple(forces))


@pytest.mark.parametrize("driver", ["paths.path_frames", "paths.moment_arm_slope_frames", "cuda.cuda_paths"])
def test_the_first_pass_is_made_without_rare_modules(driver):
    code = f"import sys, musculo.kernels.{driver}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert f"musculo.kernels.{driver}" in loaded
    assert [name for name in loaded if name.rpartition(".")[2].startswith(RARE)] == []


def test_only_paths_that_need_it_come_to_the_second_pass(monkeypatch):
    """One over a single cylinder does not; those over overlapping balls does."""
    model, taken = hinge(), []
    finish = path_passes._finish

    def noted(given, threads, left):
        taken.append(left)
        finish(given, threads, left)

    monkeypatch.setattr(path_passes, "_finish", noted)
    monkeypatch.setattr(path_passes, "_OFTEN", 1e-9)
    g = muscle_geometry(model, TURN, threads=1)
    assert taken
    assert compiled_paths(model, True).second_pass.tolist() == [False, True, False]
    assert (g.status != UNFINISHED).all()
    assert (g.status[:, 1] == STATUSES.index("overlapped")).any()
    assert (g.path_points.count >= 2).all()
    taken.clear()
    muscle_geometry(Model("plain", model.bodies, model.joints, forces=model.forces[2:]), TURN, threads=1)
    assert not taken


def test_a_path_is_the_same_in_either_pass():
    """Wherever it begins: in the first, or, as one that was left before, in the second."""
    model, again = hinge(), hinge()
    compiled_paths(again, True).second_pass[:] = (1, 1, 0)
    g, h = muscle_geometry(model, TURN), muscle_geometry(again, TURN)
    np.testing.assert_allclose(h.length, g.length, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(h.moment_arm, g.moment_arm, rtol=0.0, atol=ROUNDING)
    np.testing.assert_allclose(h.penalty, g.penalty, rtol=0.0, atol=ROUNDING)
    np.testing.assert_array_equal(h.status, g.status)
    np.testing.assert_array_equal(h.path_points.count, g.path_points.count)
    for name in g.names:
        for frame in (0, 40, 79):
            (x, over), (y, same) = g.path_points.of(name, frame), h.path_points.of(name, frame)
            np.testing.assert_allclose(y, x, rtol=0.0, atol=ROUNDING)
            assert same == over


def test_derivatives_are_the_same_in_either_pass():
    model, again = hinge(), hinge()
    compiled_paths(again, True).second_pass[:] = (1, 1, 0)
    overlapped = muscle_geometry(model, TURN).status[:, 1] == STATUSES.index("overlapped")
    poses = np.concatenate([TURN[::8], TURN[overlapped]])
    model = hinge()
    d, e = moment_arm_derivatives(model, poses), moment_arm_derivatives(again, poses)
    np.testing.assert_array_equal(e.exact, d.exact)
    np.testing.assert_array_equal(e.status, d.status)
    assert not d.exact.all()
    assert d.exact[:, 0].all()
    np.testing.assert_allclose(e.moment_arm, d.moment_arm, rtol=0.0, atol=ROUNDING)
    # where differences stand in, they multiply rounding by one over the step
    np.testing.assert_allclose(e.derivative[d.exact], d.derivative[d.exact], rtol=0.0, atol=100 * ROUNDING)


@pytest.mark.parametrize(("frames", "most"), [(0, 5), (1, 5), (32, 2048), (33, 2048), (5000, 2048), (100, 7)])
def test_chunks_hold_every_frame_once(frames, most):
    parts = list(chunks(frames, most))
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(frames))
    assert all(0 < part.stop - part.start <= most for part in parts)
