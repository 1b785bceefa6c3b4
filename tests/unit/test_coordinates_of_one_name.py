"""Coordinates of one name in several joints: what they are called, and how columns of recordings find them."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, PinJoint, Placement, Table
from musculo.analyses.recorded_motion import motion_of
from musculo.errors import InvalidInput, UnknownName
from musculo.model.force import Force


def two() -> Model:
    bodies = (
        Body("a", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
        Body("b", 1.0, inertia=(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)),
    )
    joints = (
        PinJoint("hip", "ground", "a", (Coordinate("hip/flexion", 0.1, range=(-2.0, 2.0)),)),
        PinJoint("knee", Placement("a", (0.4, 0.0, 0.0)), "b", (Coordinate("knee/flexion", 0.2, range=(-2.0, 2.0)),)),
    )
    return Model("two", bodies, joints)


def test_names_of_a_file_are_written_and_read_again(tmp_path):
    file = tmp_path / "m.osim"
    assert musculo.write_osim(two(), file) == ()
    assert file.read_text().count('<Coordinate name="flexion">') == 2
    model = musculo.read_osim(file)
    assert model.coordinate_names == ("hip/flexion", "knee/flexion")
    assert model.coordinate("knee/flexion").default_value == 0.2
    with pytest.raises(UnknownName, match="hip/flexion"):
        model.coordinate("flexion")


@pytest.mark.parametrize(
    "names",
    [
        ("/jointset/hip/flexion/value", "/jointset/knee/flexion/value"),
        ("jointset/hip/flexion/value", "jointset/knee/flexion/value"),
        ("/jointset/hip/flexion", "/jointset/knee/flexion"),
        ("hip/flexion", "knee/flexion"),
    ],
)
@pytest.mark.parametrize("degrees", [False, True])
def test_columns_go_by_path_and_by_the_names_here(names, degrees):
    values = np.column_stack([np.linspace(0.1, 0.4, 8), np.linspace(0.5, 0.2, 8)])
    given = np.degrees(values) if degrees else values
    table = Table(np.linspace(0.0, 0.7, 8), names[::-1], given[:, ::-1], degrees=degrees)
    assert np.allclose(table.coordinates(two()), values, rtol=1e-15, atol=0)
    assert np.allclose(motion_of(two(), table).q, values, rtol=1e-12, atol=0)


def test_a_mere_name_is_refused_with_what_to_write():
    table = Table([0.0, 0.1], ("flexion", "other"), np.zeros((2, 2)))
    words = r"column 'flexion' may be of several .*/jointset/hip/flexion/value.*hip/flexion"
    with pytest.raises(InvalidInput, match=words):
        table.coordinates(two())
    assert Table([0.0], ("flexion/value",), np.zeros((1, 1))).find("flexion/value") == 0
    assert Table([0.0], ("flexion",), np.zeros((1, 1))).find("flexion/value") == 0


def test_what_a_simulation_writes_has_opensims_paths():
    run = musculo.simulate(two(), None, None, (0.0, 0.01))
    table = run.to_table()
    assert table.names[:2] == ("/jointset/hip/flexion/value", "/jointset/knee/flexion/value")
    assert np.array_equal(table.coordinates(two()), run.q)


def test_a_force_on_the_second_is_told_where_opensim_would_take_the_first(tmp_path):
    force = Force("spring", "SpringGeneralizedForce", properties=(("coordinate", "knee/flexion"), ("stiffness", "10")))
    model = two().replace(forces=(force,))
    assert musculo.model_forces(model, [0.1, 0.2], [0.0, 0.0]).tau.tolist() == pytest.approx([0.0, -2.0])
    (note,) = musculo.write_osim(model, tmp_path / "m.osim")
    assert "takes 'hip/flexion'" in note.why
