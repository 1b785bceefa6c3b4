"""`musculo demo`: the files it writes, that its steps belong together, and that OpenSim reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.cli.main import main
from musculo.demo import arm_chain
from musculo.io.storage import read_storage
from musculo.io.trc import read_trc
from musculo.report import report_of_folder

# Balances of forces, relative to the largest: static optimisation holds its equations to 1e-9.
BALANCE = 1e-9
# Equilibrium of fibre and tendon is found to 1e-8 of the force or better.
EQUILIBRIUM = 1e-7
# The deviation of 181 x 7 x 3 numbers is itself uncertain by 1 percent.
DEVIATION = 0.05
# What inverse kinematics may leave of a coordinate [rad] is 1e-9; second differences at 120 Hz multiply it by 1e5.
SEARCH, SECOND_DIFFERENCES = 1e-8, 1e-3


@pytest.fixture(scope="module")
def chain():
    return arm_chain()


@pytest.fixture(scope="module")
def folder(chain, tmp_path_factory):
    path = tmp_path_factory.mktemp("arm")
    chain.write(path)
    return path


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["musculo", "demo", *map(str, arguments)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code


def test_writes_a_summary_a_page_and_results(monkeypatch, capsys, tmp_path, chain):
    target = tmp_path / "new" / "folder"
    run(monkeypatch, "--output", target)
    printed = " ".join(capsys.readouterr().out.split())
    for step in ("inverse kinematics", "inverse dynamics", "static optimization", "joint loads", "muscle analysis"):
        assert step in printed
    assert f"{np.abs(chain.moments[:, 1]).max():.2f} N m" in printed
    assert "all frames solved" in printed
    written = {str(p.relative_to(target)) for p in target.rglob("*") if p.is_file()}
    assert {name for name in written if "/" not in name} == {
        "report.html",
        "arm.osim",
        "arm_markers.trc",
        "arm_ik.mot",
        "arm_ik_marker_errors.sto",
        "arm_id.sto",
        "arm_StaticOptimization_activation.sto",
        "arm_StaticOptimization_force.sto",
        "arm_JointReaction_ReactionLoads.sto",
    }
    assert "muscles/arm_MuscleAnalysis_MomentArm_elbow_flexion.sto" in written
    assert len(written) == 31


def test_quiet_prints_nothing(monkeypatch, capfd, tmp_path):
    run(monkeypatch, "--quiet", "--output", tmp_path)
    assert capfd.readouterr() == ("", "")


def test_json_tells_the_summary_to_programs(monkeypatch, capfd, tmp_path, chain):
    run(monkeypatch, "--json", "--output", tmp_path)
    out, err = capfd.readouterr()
    told = json.loads(out)
    assert err == ""
    assert told["page"] == str(tmp_path / "report.html")
    assert len(told["files"]) == 30
    assert all(Path(file).is_file() for file in told["files"])
    assert told["solved"] is True
    assert told["largest_moment"]["elbow_flexion"] == np.abs(chain.moments[:, 1]).max()


def test_files_hold_every_digit(chain, folder):
    for name, table in chain.tables().items():
        read = read_storage(folder / name)
        assert read.names == table.names
        assert np.array_equal(read.values, table.values)
        assert read.provenance is not None
        assert read.provenance.model_hash == chain.model.hash
    assert_allclose(read_trc(folder / "arm_markers.trc").position, chain.markers.position, rtol=0, atol=1e-15)


def test_the_page_names_the_steps(folder):
    steps = dict(report_of_folder(folder, scene=False).facts)["steps"]
    assert steps == "inverse kinematics, inverse dynamics, static optimization, joint loads"


def test_without_noise_and_filter_the_motion_comes_back():
    chain = arm_chain(noise=0.0, cutoff=-1.0)
    assert_allclose(chain.motion.q, chain.truth.q, rtol=0, atol=SEARCH)
    assert_allclose(chain.moments, chain.true_moments, rtol=0, atol=SECOND_DIFFERENCES)


def test_noise_is_as_stated(chain):
    clean = arm_chain(noise=0.0).markers.position
    assert abs(np.std(chain.markers.position - clean) / chain.noise - 1.0) < DEVIATION
    assert np.array_equal(arm_chain().markers.position, chain.markers.position)
    assert not np.array_equal(arm_chain(seed=1).markers.position, chain.markers.position)


def test_muscles_and_reserves_give_the_moments(chain):
    """By the moment arms of the last step, which knows nothing of static optimisation."""
    assert chain.kinematics.converged
    assert chain.effort.solved
    given = np.einsum("fmc,fm->fc", chain.muscles.moment_arm, chain.effort.force) + chain.effort.reserve
    assert_allclose(given, chain.moments, rtol=0, atol=BALANCE * np.abs(chain.moments).max())


def test_fibre_tendon_and_muscle_power_add_up(chain):
    m = chain.muscles
    parts = m.fiber_active_power + m.fiber_passive_power + m.tendon_power
    assert_allclose(parts, m.muscle_power, rtol=0, atol=EQUILIBRIUM * np.abs(m.muscle_power).max())


def test_the_shoulder_carries_weight_inertia_and_muscles_from_the_trunk(chain):
    """Newton for the whole arm: loads of the shoulder, gravity, and the muscles that begin on the trunk."""
    from musculo.dynamics.poses import kinematics
    from musculo.muscle.paths.geometry import muscle_geometry

    m, model = chain.motion, chain.model
    moving = kinematics(model, m.q, m.u, m.udot)
    need = sum(b.mass * (moving.acceleration(b.name, b.mass_center) - model.gravity) for b in model.bodies)
    paths = muscle_geometry(model, m.q, m.u).path_points
    pull = np.zeros_like(need)
    for k, muscle in enumerate(model.muscles):
        fixed = sum(point.frame == "ground" for point in muscle.path.points)
        if fixed == 0:
            continue
        for f in range(len(m)):
            points, touched = paths.of(muscle.name, f)
            # The last point on the trunk, path points and the trunk's surface alike, and the first beyond it.
            last = max(i for i in range(len(points)) if touched[i] == "scapula_cylinder" or i < fixed)
            away = points[last] - points[last + 1]
            pull[f] += chain.effort.force[f, k] * away / np.linalg.norm(away)
    force, _, _ = chain.loads.of("shoulder")
    assert_allclose(force, need - pull, rtol=0, atol=BALANCE * np.abs(force).max())


def test_the_knee_is_the_ellipse_that_its_file_describes(leg):
    """The splines pass through the closed form, and stay near it between the knots."""
    a, b = 0.030, 0.024
    flexion = np.linspace(0.0, 2.2, 45)
    h = np.hypot(a * np.sin(flexion), b * np.cos(flexion))
    knee = leg.joint("knee")
    x, y = (axis.function(flexion) for axis in knee.translations[:2])
    spline_error = 2e-4  # [m]
    assert_allclose(x, -(a**2) * np.sin(flexion) / h, atol=spline_error)
    assert_allclose(y, -(b**2) * np.cos(flexion) / h, atol=spline_error)


_READ = """
import json, os, sys
import opensim
opensim.Logger.setLevelString("off")
folder = sys.argv[1]
told = {}
for name in json.loads(sys.argv[2]):
    table = opensim.TimeSeriesTable(os.path.join(folder, name))
    told[name] = [list(table.getColumnLabels()), table.getMatrix().to_numpy().tolist()]
markers = opensim.TimeSeriesTableVec3(os.path.join(folder, "arm_markers.trc"))
told["markers"] = [list(markers.getColumnLabels()), markers.getNumRows()]
opensim.Model(os.path.join(folder, "arm.osim")).initSystem()
print("\\n" + json.dumps(told), flush=True)
os._exit(0)
"""


def test_opensim_reads_all_files(chain, folder):
    pytest.importorskip("opensim", reason="OpenSim is not installed; pip install 'musculo[oracles]'")
    command = [sys.executable, "-c", _READ, str(folder), json.dumps(list(chain.tables()))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout.splitlines()[-1])
    assert told.pop("markers") == [list(chain.markers.names), len(chain.markers)]
    for name, (labels, values) in told.items():
        table = chain.tables()[name]
        assert labels == list(table.names)
        assert_allclose(values, table.values, rtol=1e-12, atol=1e-300)
