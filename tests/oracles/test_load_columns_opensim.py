"""Columns that OpenSim takes otherwise than their names say, or does not find: its numbers, and what the run says."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import read_external_loads, read_storage, write_storage
from musculo.opensim import run_setup
from support.opensim_run import run_opensim

# Half a unit of the eighth decimal on either side.
PRINTED = 2e-8
MODEL, MOTION = "subject01.osim", "motion.mot"
SETUP = f"""<OpenSimDocument Version="40600"><InverseDynamicsTool name="t">
<results_directory>results</results_directory>
<model_file>{MODEL}</model_file><time_range>0.5 1</time_range><forces_to_exclude>Muscles</forces_to_exclude>
<external_loads_file>subject01_walk_grf.xml</external_loads_file><coordinates_file>{MOTION}</coordinates_file>
<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>
<output_gen_force_file>id.sto</output_gen_force_file></InverseDynamicsTool></OpenSimDocument>"""


@pytest.fixture(scope="module")
def folders(data_folder, tmp_path_factory):
    """The same walk with the columns of its loads as they were recorded, and reversed."""
    made = []
    for side in ("recorded", "reversed"):
        folder = tmp_path_factory.mktemp(side)
        for name in (MODEL, "subject01_walk_grf.xml", "subject01_walk_grf.mot"):
            shutil.copy(data_folder / "gait10dof18musc" / name, folder)
        shutil.copy(data_folder / "oracle" / "gait10dof18musc_walk" / "ik.mot", folder / MOTION)
        (folder / "setup.xml").write_text(SETUP)
        made.append(folder)
    table = read_storage(made[1] / "subject01_walk_grf.mot")
    (made[1] / "subject01_walk_grf.mot").unlink()
    turned = replace(table, names=table.names[::-1], values=table.values[:, ::-1], units=table.units[::-1])
    write_storage(turned, made[1] / "subject01_walk_grf.mot")
    return made


def test_run_goes_by_order_as_opensim_and_says_by_how_much(folders):
    pytest.importorskip("opensim")
    recorded, turned = folders
    run_opensim(turned / "setup.xml")
    theirs = read_storage(turned / "results" / "id.sto")
    result = run_setup(turned / "setup.xml", output=turned / "ours")
    ours = read_storage(turned / "ours" / "id.sto")
    assert ours.names == theirs.names
    assert_allclose(ours.values, theirs.values, rtol=0, atol=PRINTED)
    run_setup(recorded / "setup.xml", output=recorded / "ours")
    apart = np.abs(ours.values - read_storage(recorded / "ours" / "id.sto").values).max()
    assert apart > 100.0  # [N m]
    (told,) = (note for note in result.notes if "by their names the forces differ" in note)
    assert_allclose(float(re.search(r"up to ([\d.e+]+)", told)[1]), apart, rtol=5e-3)
    (order,) = (note for note in result.notes if "are z, y, x by their names" in note)
    assert "as OpenSim does" in order


def test_the_exact_method_goes_by_names(folders):
    recorded, turned = folders
    results = [run_setup(folder / "setup.xml", output=folder / "exact", like=None) for folder in folders]
    a, b = (read_storage(folder / "exact" / "id.sto") for folder in (recorded, turned))
    assert np.array_equal(a.values, b.values)
    assert not any("columns" in note for note in results[0].notes)
    assert any("are z, y, x in this order, and are used by their names" in note for note in results[1].notes)


@pytest.mark.parametrize("how", ["all", "one"])
def test_coordinates_that_go_by_paths_are_read_and_the_run_says_what_opensim_makes_of_them(folders, tmp_path, how):
    """OpenSim's inverse dynamics finds bare names only, and takes what it does not find at its default value."""
    pytest.importorskip("opensim")
    recorded, _ = folders
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    table = read_storage(tmp_path / MOTION)
    some = table.names if how == "all" else table.names[:1]
    write_storage(table.rename({name: f"/jointset/joint/{name}/value" for name in some}), tmp_path / MOTION)
    run_opensim(tmp_path / "setup.xml")
    theirs = read_storage(tmp_path / "results" / "id.sto")
    result = run_setup(tmp_path / "setup.xml", output=tmp_path / "ours")
    ours = read_storage(tmp_path / "ours" / "id.sto")
    plain = run_setup(recorded / "setup.xml", output=tmp_path / "plain")
    assert np.array_equal(ours.values, read_storage(tmp_path / "plain" / "id.sto").values)
    apart = np.abs(ours.values - theirs.values).max()
    assert apart > 100.0  # [N m]
    (told,) = (note for note in result.notes if "columns go by paths" in note)
    assert_allclose(float(re.search(r"differ from these by up to ([\d.e+]+)", told)[1]), apart, rtol=5e-4)
    assert not any("paths" in note for note in plain.notes)
    quick = run_setup(tmp_path / "setup.xml", output=tmp_path / "quick", compare=False)
    assert any(note.endswith("its forces differ from these") for note in quick.notes)


def test_recorded_loads_mean_the_same_either_way(data_folder):
    count = 0
    for path in data_folder.rglob("*.xml"):
        if b"<datafile>" not in path.read_bytes() or path.name == "leg69_right_grf.xml":  # its data is elsewhere
            continue
        a, b = (read_external_loads(path, by_position=by_position) for by_position in (True, False))
        assert not a.misplaced
        for one, other in zip(a.at(a.table.time), b.at(a.table.time), strict=True):
            assert all(np.array_equal(x, y) for x, y in zip(one[1:4], other[1:4], strict=True))
        count += 1
    assert count >= 10
