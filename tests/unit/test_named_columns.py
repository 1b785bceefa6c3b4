"""Arrays whose columns have names go by them: data frames, series and labelled arrays, in any order."""

from __future__ import annotations

import numpy as np
import pytest
import xarray

import musculo
from musculo import Body, Coordinate, Model, Placement
from musculo.analyses.muscle_analysis import muscle_analysis
from musculo.errors import InvalidInput, UnknownName
from musculo.model.force import Muscle
from musculo.model.joints import PinJoint
from musculo.model.model_path import Path, PathPoint
from musculo.model.path_force import PathActuator, PathSpring

pandas = pytest.importorskip("pandas")

Q = np.array([[0.1, 0.3], [0.2, 0.5], [0.4, 0.2]])
BACK = [1, 0]


def path(height: float) -> Path:
    return Path((PathPoint("a", "ground", (0.1, height, 0.0)), PathPoint("b", "lower", (0.2, height, 0.0))))


@pytest.fixture(scope="module")
def model() -> Model:
    bodies = tuple(Body(n, 1.0, (0.5, 0, 0), (0.1, 0.1, 0.1, 0, 0, 0)) for n in ("upper", "lower"))
    joints = (
        PinJoint("shoulder", Placement("ground"), Placement("upper"), (Coordinate("q1"),)),
        PinJoint("elbow", Placement("upper", (1.0, 0, 0)), Placement("lower"), (Coordinate("q2"),)),
    )
    forces = (
        Muscle("front", "Thelen2003Muscle", path=path(0.1), optimal_fiber_length=0.2, tendon_slack_length=1.0),
        Muscle("back", "Thelen2003Muscle", path=path(-0.1), optimal_fiber_length=0.2, tendon_slack_length=0.9),
        PathSpring("spring", path=path(0.2), resting_length=0.5, stiffness=10.0),
        PathActuator("cable", path=path(0.3), optimal_force=7.0),
    )
    return Model("arm", bodies, joints, forces=forces)


def turned(values: np.ndarray, names: tuple[str, ...], dim: str) -> list[object]:
    """The same numbers with their columns the other way round: a data frame, and an array with frames last."""
    other = list(range(len(names)))[::-1]
    frame = pandas.DataFrame(values[:, other], columns=[names[k] for k in other])
    labels = {dim: [names[k] for k in other], "time": np.arange(len(values)) * 0.1}
    return [frame, xarray.DataArray(values[:, other].T, dims=(dim, "time"), coords=labels)]


def test_coordinates_and_speeds_go_by_name(model):
    u = Q + 1.0
    plain = musculo.muscle_geometry(model, Q, u)
    for q, rates in zip(turned(Q, ("q1", "q2"), "coordinate"), turned(u, ("q1", "q2"), "coordinate"), strict=True):
        named = musculo.muscle_geometry(model, q, rates)
        assert np.array_equal(named.length, plain.length)
        assert np.array_equal(named.speed, plain.speed)
        tau = musculo.inverse_dynamics(model, q, rates, rates)
        assert np.array_equal(tau, musculo.inverse_dynamics(model, Q, u, u))
    one = pandas.Series({"q2": Q[0, 1], "q1": Q[0, 0]})
    assert np.array_equal(musculo.muscle_geometry(model, one).length, plain.length[0])


def test_muscles_go_by_name(model):
    g = musculo.muscle_geometry(model, Q, Q)
    a = np.array([[0.1, 0.9], [0.2, 0.8], [0.3, 0.7]])
    plain = musculo.muscle_equilibrium(model, g.length, g.speed, a)
    for activation in turned(a, model.muscle_names, "muscle"):
        named = musculo.muscle_equilibrium(model, g.to_xarray()["length"], g.to_xarray()["speed"][:, BACK], activation)
        assert np.array_equal(named.tendon_force, plain.tendon_force)
        analysed = muscle_analysis(model, Q, Q, activation)
        assert np.array_equal(analysed.tendon_force, plain.tendon_force)
        again = muscle_analysis(model, Q, Q, a, tendon_force=plain.tendon_force)
        for force in turned(plain.tendon_force, model.muscle_names, "muscle"):
            assert np.array_equal(
                muscle_analysis(model, Q, Q, activation, tendon_force=force).fiber_length, again.fiber_length
            )


def test_paths_go_by_name(model):
    g = musculo.path_geometry(model, Q, Q)
    plain = musculo.path_tensions(model, g.length, g.speed, control=[0.5])
    control = pandas.DataFrame({"cable": [0.5] * 3})
    for k, length in enumerate(turned(g.length, g.names, "path")):
        speed = turned(g.speed, g.names, "path")[k]
        named = musculo.path_tensions(model, length, speed, control)
        assert np.array_equal(named.tension, plain.tension)
    alone = turned(g.length[:, 2:], g.names[2:], "path"), turned(g.speed[:, 2:], g.names[2:], "path")
    for length, speed in zip(*alone, strict=True):
        assert np.array_equal(musculo.path_tensions(model, length, speed, 0.5).tension, plain.tension)
    tau = plain.generalized_forces(g)
    for tension in turned(plain.tension, plain.names, "path"):
        assert np.array_equal(musculo.muscle.path_generalized_forces(g, tension, plain.names), tau)


def test_columns_without_names_go_by_position(model):
    plain = musculo.muscle_geometry(model, Q).length
    for q in (pandas.DataFrame(Q), xarray.DataArray(Q), xarray.DataArray(Q, dims=("time", "coordinate")), Q.tolist()):
        assert np.array_equal(musculo.muscle_geometry(model, q).length, plain)


def test_names_that_do_not_fit_are_said(model):
    frame = pandas.DataFrame(Q, columns=["q1", "q2"])
    with pytest.raises(InvalidInput, match=r"q has a column 'time'; drop it"):
        musculo.muscle_geometry(model, frame.assign(time=0.0))
    with pytest.raises(UnknownName, match=r"no column 'zeit' in the model's columns for q; known: q1, q2"):
        musculo.muscle_geometry(model, frame.assign(zeit=0.0))
    with pytest.raises(UnknownName, match=r"no column 'frnt'.*activation; did you mean 'front'"):
        musculo.muscle_equilibrium(model, 1.3, 0.0, pandas.Series({"frnt": 0.5, "back": 0.5}))
    with pytest.raises(InvalidInput, match=r"q has no column 'q2'; its columns are named, and need all of q1, q2"):
        musculo.muscle_geometry(model, frame[["q1"]])
    with pytest.raises(InvalidInput, match=r"q names the column 'q1' 2 times"):
        musculo.muscle_geometry(model, frame[["q1", "q1", "q2"]])


def test_what_holds_arrays_is_told_from_an_array(model):
    g = musculo.muscle_geometry(model, Q, Q)
    table = musculo.Table([0.0, 0.1, 0.2], ("q1", "q2"), Q)
    assert np.array_equal(musculo.muscle_geometry(model, table).length, g.length)
    with pytest.raises(UnknownName, match="no column for coordinate 'q2' in the table"):
        musculo.muscle_geometry(model, table.pick("q1"))
    with pytest.raises(InvalidInput, match=r"activation is a Table; give an array: table.values"):
        musculo.muscle_equilibrium(model, g.length, g.speed, table)
    with pytest.raises(InvalidInput, match=r"q is a dict; give an array, or .*pandas.DataFrame\(q\)"):
        musculo.muscle_geometry(model, {"q1": 0.1, "q2": 0.2})
    with pytest.raises(InvalidInput, match=r"length is a PathGeometry; give the array in it, its 'length'"):
        musculo.muscle_equilibrium(model, g, g.speed, 0.5)
    with pytest.raises(
        InvalidInput, match=r"geometry is a Model; give what muscle_geometry .* returns, then the tension"
    ):
        musculo.muscle.path_generalized_forces(model, g, np.ones(2))
    along = musculo.path_geometry(model, Q, Q)
    tensions = musculo.path_tensions(model, along.length, along.speed, control=0.0)
    with pytest.raises(InvalidInput, match=r"tension is a PathTensions; give the array in it, its 'tension'"):
        musculo.muscle.path_generalized_forces(along, tensions)
