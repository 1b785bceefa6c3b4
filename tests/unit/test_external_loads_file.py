"""External loads files: what they say, where their data is, and how it is interpolated."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import musculo
from musculo import Table, read_external_loads
from musculo.errors import InvalidFile, InvalidInput, Unsupported
from musculo.io import write_external_loads
from musculo.results import ExternalForce, ExternalLoads

FORCE = (
    '<ExternalForce name="right">{flag}<applied_to_body> {body} </applied_to_body>'
    "<force_expressed_in_body>{frame}</force_expressed_in_body>"
    "<force_identifier>f_v</force_identifier><point_identifier>{point}</point_identifier>"
    "<torque_identifier>{torque}</torque_identifier></ExternalForce>"
)
ONE_FORCE = "<ExternalLoads><objects><ExternalForce/></objects>{}</ExternalLoads>"
DATA = "d\nversion=1\nendheader\ntime f_vx f_vy f_vz f_px f_py f_pz t_x t_y t_z\n"


@pytest.fixture
def read(tmp_path):
    def check(force: str = "", data: str = "", document: str = "", **changes) -> ExternalLoads:
        options = {"flag": "", "body": "/bodyset/calcn_r", "frame": "/ground", "point": "f_p", "torque": "t_"} | changes
        body = force or FORCE.format(**options)
        text = document or (
            '<?xml version="1.0"?>\n<OpenSimDocument Version="40000"><ExternalLoads name="loads">'
            f"<objects>{body}</objects><datafile>sub\\d.mot</datafile></ExternalLoads></OpenSimDocument>"
        )
        (tmp_path / "loads.xml").write_text(text)
        (tmp_path / "sub").mkdir(exist_ok=True)
        rows = data or DATA + "".join(f"{t} {' '.join(str(t**3 + k) for k in range(9))}\n" for t in range(6))
        (tmp_path / "sub" / "d.mot").write_text(rows)
        return read_external_loads(tmp_path / "loads.xml")

    return check


def test_what_a_file_says(read):
    loads = read()
    assert loads.forces == (ExternalForce("right", "calcn_r", "f_v", "f_p", "t_"),)
    (load,) = loads.at([0.0, 2.0])
    assert (load.body, load.force_in, load.point_in) == ("calcn_r", "ground", "ground")
    assert_allclose(load.force, [[0, 1, 2], [8, 9, 10]], atol=1e-12)
    assert_allclose(load.point, [[3, 4, 5], [11, 12, 13]], atol=1e-12)
    assert_allclose(load.moment, [[6, 7, 8], [14, 15, 16]], atol=1e-12)
    # In the order of the package's own loads.
    assert musculo.ExternalLoad(*load).body == "calcn_r"


def test_without_a_point_the_force_acts_at_the_body(read):
    (load,) = read(point="", torque="Unassigned", frame="tibia_r").at([1.0])
    assert (load.force_in, load.point_in) == ("tibia_r", "calcn_r")
    assert_array_equal(load.point, 0.0)
    assert_array_equal(load.moment, 0.0)


@pytest.mark.parametrize(
    ("flag", "count"),
    [
        ("<appliesForce>false</appliesForce>", 0),
        ("<appliesForce>true</appliesForce>", 1),
        ("<isDisabled>true</isDisabled>", 0),
        ("<isDisabled> false </isDisabled>", 1),
    ],
)
def test_loads_that_do_not_apply(read, flag, count):
    loads = read(flag=flag)
    assert len(loads.forces) == 1
    assert any("'right' is switched off" in note for note in loads.notes) == (count == 0)
    assert len(loads.at([0.0])) == count


@pytest.mark.parametrize(
    ("columns", "order"),
    [
        ("f_vz f_vy f_vx", [2, 1, 0]),
        ("f_vY f_vX f_vZ", [1, 0, 2]),
        ("f_v_z f_v_x f_v_y", [1, 2, 0]),
        ("f_v2 f_v3 f_v1", [2, 0, 1]),
        ("f_vz_N f_vx_N f_vy_N", [1, 2, 0]),
        ("f_v_12 f_v_11 f_v_13", [1, 0, 2]),
    ],
)
def test_columns_go_by_their_names(read, tmp_path, columns, order):
    data = f"d\nversion=1\nendheader\ntime {columns} p1 p2 p3\n0 1 2 3 0 0 0\n1 1 2 3 0 0 0\n"
    loads = read(data=data, point="p", torque="")
    assert_array_equal(loads.at([0.0])[0].force, [np.array([1.0, 2.0, 3.0])[order]])
    (told,) = (told for told, _ in loads.misplaced.values())
    assert told == ", ".join("xyz"[order.index(k)] for k in range(3))
    as_opensim = read_external_loads(tmp_path / "loads.xml", by_position=True)
    assert_array_equal(as_opensim.at([0.0])[0].force, [[1, 2, 3]])
    write_external_loads(loads, tmp_path / "new.xml")
    for by_position in (False, True):  # what is written means the same to OpenSim
        again = read_external_loads(tmp_path / "new.xml", by_position=by_position)
        assert_array_equal(again.at([0.0])[0].force, loads.at([0.0])[0].force)


@pytest.mark.parametrize("columns", ["f_va f_vb f_vc", "f_vx f_vy f_v3", "f_vx f_vX f_vy", "f_v f_vx f_vy"])
def test_columns_whose_names_tell_no_axes_are_refused(read, tmp_path, columns):
    data = f"d\nversion=1\nendheader\ntime {columns} p1 p2 p3\n0 1 2 3 0 0 0\n1 1 2 3 0 0 0\n"
    with pytest.raises(InvalidFile, match=r"'right': the names of the columns .* do not tell .*by_position=True"):
        read(data=data, point="p", torque="")
    loads = read_external_loads(tmp_path / "loads.xml", by_position=True)
    assert_array_equal(loads.at([0.0])[0].force, [[1, 2, 3]])
    assert loads.misplaced["f_v"][0] == ""


def test_filtered_moments_go_by_names_too():
    """The moment about the origin, which a filter keeps apart from the point, is the same wherever columns stand."""
    rng = np.random.default_rng(1)
    time, values = np.arange(100) / 100.0, rng.normal(size=(100, 9))
    names = [*(f"f_v{axis}" for axis in "xyz"), *(f"f_p{axis}" for axis in "xyz"), *(f"t_{axis}" for axis in "xyz")]
    force = (ExternalForce("f", "b", "f_v", "f_p", "t_"),)
    shuffled = rng.permutation(9)
    a, b = (
        ExternalLoads("l", force, Table(time, [names[k] for k in order], values[:, order])).lowpass(6.0).at(time)[0]
        for order in (np.arange(9), shuffled)
    )
    for one, other in zip(a[1:4], b[1:4], strict=True):
        assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize(("rows", "middle"), [(1, 0.0), (2, 0.5), (3, 0.5)])
def test_few_rows_are_constant_or_joined_by_lines(read, rows, middle):
    data = DATA + "".join(f"{t} {' '.join(str(t * t) for _ in range(9))}\n" for t in range(rows))
    (load,) = read(data=data).at([0.5])
    assert_allclose(load.force, middle, atol=1e-12)


def test_beyond_the_data_splines_go_on_as_lines(read):
    (load,) = read().at([5.0, 6.0, 7.0])
    assert_allclose(np.diff(load.force, 2, axis=0), 0.0, atol=1e-9)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"point": "f_"}, r"'f_' must begin the names of three columns .* begins 6 \(f_vx"),
        ({"torque": "absent"}, "begins 0 \\(none\\); columns: f_vx"),
        ({"body": ""}, "acts on no body"),
        ({"flag": "<appliesForce>perhaps</appliesForce>"}, r"loads\.xml:2: <appliesForce> .* 'perhaps'; write true"),
        ({"force": "<Marker/>"}, "holds no <ExternalForce>"),
        (
            {"force": '<ExternalForce name="x"><applied_to_body>b</applied_to_body></ExternalForce>'},
            "neither force nor",
        ),
        ({"data": "rubbish"}, r"d\.mot:1"),
        ({"document": "<a>"}, "not well-formed"),
        ({"document": "<OpenSimDocument/>"}, "holds no <ExternalLoads>"),
        ({"document": "<!DOCTYPE a [<!ENTITY b 'c'>]><ExternalLoads/>"}, "DOCTYPE"),
        ({"document": ONE_FORCE.format("")}, "names no <datafile>"),
        (
            {"document": ONE_FORCE.format("<datafile>x.sto</datafile>")},
            "its data file 'x.sto' is missing; looked in",
        ),
    ],
)
def test_what_is_refused(read, options, words):
    with pytest.raises(InvalidFile, match=words):
        read(**options)


def test_the_layout_before_opensim_2_3_is_named(read):
    with pytest.raises(Unsupported, match="save it"):
        read(force="<PrescribedForce/>")


def test_gaps_in_loads_are_refused_by_time(read):
    loads = read(data=DATA + "".join(f"{t} nan{' 1' * 8}\n" if t == 3 else f"{t}{' 1' * 9}\n" for t in range(6)))
    with pytest.raises(InvalidInput, match=r"'f_v' have gaps, the first at 3 s; fill"):
        loads.at([0.0])


def test_written_loads_come_back(read, tmp_path):
    loads = read()
    (tmp_path / "out").mkdir()
    write_external_loads(loads, tmp_path / "out" / "new.xml")
    again = read_external_loads(tmp_path / "out" / "new.xml")
    assert again.forces == loads.forces
    assert again.data_file == "new.mot"
    assert_array_equal(again.table.values, loads.table.values)
    write_external_loads(loads, tmp_path / "out" / "other.xml", tmp_path / "forces.sto")
    assert read_external_loads(tmp_path / "out" / "other.xml").data_file == "../forces.sto"
    with pytest.raises(InvalidInput, match="different names"):
        write_external_loads(loads, tmp_path / "a.mot")
    with pytest.raises(InvalidInput, match="needs ExternalLoads"):
        write_external_loads(loads.table, tmp_path / "a.xml")


def test_loads_can_be_filtered():
    time = np.arange(200) / 100.0
    noise = np.random.default_rng(0).normal(size=(200, 3))
    loads = ExternalLoads("l", (ExternalForce("f", "b", "f_"),), Table(time, ("f_x", "f_y", "f_z"), noise))
    assert np.std(loads.lowpass(6.0).at(time)[0].force) < 0.6 * np.std(noise)


def test_points_can_be_filtered_by_contacts():
    """A point that walks evenly stays, noise on it goes, no contact is mixed with another, and forces are as before."""
    time = np.arange(300) / 100.0
    contact = (time > 0.3) & (time < 1.0) | (time > 1.5) & (time < 2.5)
    point = np.stack([np.where(time < 1.2, 0.2 * time, 0.7 + 0.1 * time), 0 * time, 0.1 + 0 * time], axis=1)
    force = np.where(contact[:, None], [10.0, 700.0, -5.0], 0.0)
    names = tuple(f"{part}{axis}" for part in ("v", "p", "t") for axis in "xyz")
    noise = 0.005 * np.random.default_rng(1).normal(size=point.shape)

    def loads(points):
        table = Table(time, names, np.concatenate([force, points, 0.01 * force], axis=1))
        return ExternalLoads("l", (ExternalForce("f", "b", "v", "p", "t"),), table)

    filtered = loads(point).lowpass(20.0, point_cutoff=10.0)
    assert_allclose(filtered.table.values[:, 3:6], point, atol=1e-12)
    expected = musculo.signals.lowpass(time, force, 20.0).values
    assert_allclose(filtered.table.values[:, :3], expected, atol=1e-9)
    assert_allclose(filtered.table.values[:, 6:], 0.01 * expected, atol=1e-11)
    noisy = loads(point + noise).lowpass(20.0, point_cutoff=10.0).table.values[:, 3:6] - point
    assert np.std(noisy[contact]) < 0.6 * np.std(noise)
    assert_array_equal(noisy[~contact] + point[~contact], (point + noise)[~contact])


def test_a_point_needs_a_force():
    table = Table([0.0], ("p_x", "p_y", "p_z", "t_x", "t_y", "t_z"), np.ones((1, 6)))
    with pytest.raises(InvalidInput, match="point but no force"):
        ExternalLoads("l", (ExternalForce("f", "b", "", "p_", "t_"),), table)


def test_a_body_that_the_model_lacks_is_named_with_file_and_load(read):
    loads = [musculo.ExternalLoad(*load) for load in read(body="/bodyset/calcn_rr").at([0.0])]
    model = musculo.demo.arm()
    q, u = np.zeros((1, len(model.coordinate_names))), np.zeros((1, len(model.speed_names)))
    with pytest.raises(musculo.errors.UnknownName, match=r"no body 'calcn_rr' in .*loads\.xml: external force 'right'"):
        musculo.inverse_dynamics(model, q, u, u, loads)
    with pytest.raises(musculo.errors.UnknownName, match="no body 'hand' in an external load"):
        musculo.inverse_dynamics(model, q, u, u, [musculo.ExternalLoad("hand")])


def test_a_folder_is_looked_into_once(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidFile) as told:
        read(document=ONE_FORCE.format("<datafile>x.sto</datafile>"))
    assert str(told.value).count(str(tmp_path.resolve())) == 2  # the file itself, and the folder


def test_a_data_file_of_windows_is_looked_for_beside_the_loads(read, tmp_path):
    plain = read()
    assert not any("Windows" in note for note in plain.notes)
    text = (tmp_path / "loads.xml").read_text()
    (tmp_path / "loads.xml").write_text(text.replace("sub\\d.mot", r"C:\lab\walk\d.mot"))
    with pytest.raises(InvalidFile, match="is missing"):
        read_external_loads(tmp_path / "loads.xml")
    (tmp_path / "sub" / "d.mot").rename(tmp_path / "d.mot")
    found = read_external_loads(tmp_path / "loads.xml")
    assert_array_equal(found.table.values, plain.table.values)
    assert any("is a path of Windows with nothing here" in note for note in found.notes)
