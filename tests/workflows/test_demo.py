"""`musculo demo`: the files it writes, and that its numbers are OpenSim's."""

from __future__ import annotations

import re
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.cli.main import main
from musculo.demo import MODEL_FILE, leg_swing
from musculo.io.storage import read_storage, write_storage

# Newton-Euler against the mass matrix: a few hundred products in float64, relative to the largest moment.
ROUNDING = 1e-13
# Two recursions in float64 through the same splines, relative to the largest moment.
SAME_MECHANICS = 1e-12


@pytest.fixture(scope="module")
def swing():
    return leg_swing()


def test_writes_a_table_a_plot_and_numbers(monkeypatch, capsys, tmp_path, swing):
    folder = tmp_path / "new" / "folder"
    monkeypatch.setattr(sys, "argv", ["musculo", "demo", "--output", str(folder)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    printed = capsys.readouterr().out
    for peak in swing.peaks():
        row = next(line for line in printed.splitlines() if line.strip().startswith(peak.coordinate))
        assert row.split()[-3:] == [f"{peak.peak:.2f}", f"{peak.time:.2f}", f"{peak.mean:.2f}"]
    assert sorted(p.name for p in folder.iterdir()) == ["leg_swing.html", "leg_swing_moments.sto"]
    numbers = read_storage(folder / "leg_swing_moments.sto")
    assert numbers.names == tuple(f"{name}_moment" for name in swing.coordinate_names)
    assert np.array_equal(numbers.values, swing.moments)  # every digit
    assert numbers.provenance is not None
    assert (numbers.provenance.model_hash, numbers.units[0]) == (swing.model.hash, "N m")


def test_quiet_prints_nothing(monkeypatch, capfd, tmp_path):
    monkeypatch.setattr(sys, "argv", ["musculo", "demo", "--quiet", "--output", str(tmp_path)])
    with pytest.raises(SystemExit):
        main()
    assert capfd.readouterr() == ("", "")


def test_the_plot_needs_no_network(tmp_path, swing):
    from musculo.demo.plot import write_plot

    write_plot(tmp_path / "plot.html", swing)
    page = (tmp_path / "plot.html").read_text(encoding="utf-8")
    assert page.count("</html>") == 1
    assert "Plotly.newPlot('plot'" in page
    assert not re.search(r"<(script|link|img)[^>]*\s(src|href)=", page)


def test_newton_euler_agrees_with_the_mass_matrix(swing):
    assert swing.residual < ROUNDING * np.abs(swing.moments).max()


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


def test_moments_are_opensims(swing):
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("off")
    model = opensim.Model(str(MODEL_FILE))
    for k in range(model.getForceSet().getSize()):  # muscles at rest would pull, too
        model.getForceSet().get(k).set_appliesForce(False)
    state = model.initSystem()
    tree = [model.getCoordinateSet().get(name) for name in swing.model.coordinate_names]
    # OpenSim's state follows the tree, not the file: a mark in each coordinate shows where it stands.
    for k, coordinate in enumerate(tree):
        coordinate.setValue(state, 0.1 * (k + 1), False)
    marks = state.getQ().to_numpy()
    columns = [int(np.argmin(np.abs(marks - 0.1 * (k + 1)))) for k in range(len(tree))]
    solver = opensim.InverseDynamicsSolver(model)
    frames = range(0, len(swing.time), 20)
    tau = []
    for f in frames:
        for k, coordinate in enumerate(tree):
            coordinate.setValue(state, swing.q[f, k], False)
            coordinate.setSpeedValue(state, swing.u[f, k])
        udot = opensim.Vector(len(tree), 0.0)
        for k, column in enumerate(columns):
            udot[column] = swing.udot[f, k]
        model.realizeVelocity(state)
        forces = solver.solve(state, udot)
        tau.append([forces[column] for column in columns])
    pulled = musculo.embedding_of(swing.model).pull_back(swing.q[::20], tau)
    scale = np.abs(swing.moments).max()
    assert_allclose(swing.moments[::20], pulled, rtol=0, atol=SAME_MECHANICS * scale)


def test_opensim_reads_the_numbers(tmp_path, swing):
    opensim = pytest.importorskip("opensim")
    opensim.Logger.setLevelString("off")
    write_storage(swing.table(), tmp_path / "moments.sto")
    table = opensim.TimeSeriesTable(str(tmp_path / "moments.sto"))
    assert table.getColumnLabels() == swing.table().names
    assert_allclose(table.getMatrix().to_numpy(), swing.moments, rtol=1e-12)
