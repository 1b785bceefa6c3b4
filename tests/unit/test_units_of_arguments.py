"""Coordinates and speeds say their unit or are warned of: tables, labelled arrays, data frames and plain numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray

import musculo
from musculo import Body, Coordinate, InvalidInput, Model, MusculoWarning, Placement, Table, UnknownName
from musculo.demo import arm, arm_flexion
from musculo.functions import SimmSpline
from musculo.model.joints import Axis, CustomJoint, FreeJoint, PinJoint, SliderJoint
from musculo.results.angles import rotational_coordinates

pandas = pytest.importorskip("pandas")

NARROW, TURN = (-0.5, 2.0), 2.0 * np.pi
# Conversion is one product; what is computed from it may differ by its rounding.
ROUNDING = 1e-12


def mixed() -> Model:
    """A hinge, a slider, a knee whose angle drives a rotation through a curve (of the "coupled" kind), and a wheel."""
    bodies = tuple(Body(name, 1.0, (0.2, 0.1, 0), (0.1, 0.1, 0.1, 0, 0, 0)) for name in "abcd")
    curve = SimmSpline((-2.0, 0.0, 1.0, 2.0), (-1.8, 0.0, 0.9, 1.6))
    bent = CustomJoint(
        "bent",
        Placement("b"),
        Placement("c"),
        (Coordinate("bend", range=NARROW),),
        rotations=(Axis((0.0, 0.0, 1.0), curve, ("bend",)),),
    )
    joints = (
        PinJoint("hinge", Placement("ground"), Placement("a"), (Coordinate("angle", range=NARROW),)),
        SliderJoint("slide", Placement("a"), Placement("b"), (Coordinate("shift", range=(-1.0, 1.0)),)),
        bent,
        PinJoint("axle", Placement("c"), Placement("d"), (Coordinate("wheel"),)),
    )
    return Model("mixed", bodies, joints)


Q = np.column_stack([np.linspace(0.1, 1.5, 9), np.linspace(0.0, 0.3, 9), np.linspace(0.2, 1.9, 9), np.zeros(9)])
NAMES = ("angle", "shift", "bend", "wheel")


def in_degrees() -> Table:
    """As OpenSim writes it: the coupled kind stays in radians, metres stay metres."""
    values = Q.copy()
    values[:, [0, 3]] = np.degrees(values[:, [0, 3]])
    return Table(0.1 * np.arange(len(Q)), NAMES, values, degrees=True, source="walk.mot")


def pose(model, q):
    return musculo.kinematics(model, q).position("d", (0.1, 0.2, 0.3))


def test_only_rotational_coordinates_are_converted():
    model, table = mixed(), in_degrees()
    assert "bend" not in rotational_coordinates(model)
    known = pose(model, Q)
    stated = {name: ("m" if name == "shift" else "deg" if name != "bend" else "rad") for name in NAMES}
    plain = pandas.DataFrame(table.values, columns=NAMES)
    plain.attrs["units"] = stated
    whole = xarray.DataArray(
        table.values, dims=("time", "coordinate"), coords={"coordinate": list(NAMES)}, attrs={"units": "degrees"}
    )
    unnamed = xarray.DataArray(table.values, attrs={"units": "deg"})
    each = xarray.DataArray(
        table.values,
        dims=("time", "coordinate"),
        coords={"coordinate": list(NAMES), "unit": ("coordinate", list(stated.values()))},
    )
    units = Table(table.time, NAMES, table.values, units=tuple(stated.values()))
    given = [table, table.pick(NAMES[::-1]), table.to_xarray("coordinate"), table.to_pandas(), plain, whole]
    for q in [*given, unnamed, each, units]:
        np.testing.assert_allclose(pose(model, q), known, atol=ROUNDING)
        np.testing.assert_allclose(
            musculo.inverse_dynamics(model, q, q, q), musculo.inverse_dynamics(model, Q, Q, Q), atol=1e-10
        )


def test_lengths_of_muscles_from_a_file_in_degrees():
    model, table = arm(), arm_flexion()
    assert table.degrees
    known = musculo.muscle_geometry(model, table.coordinates(model)).length
    for q in (table, table.to_xarray("coordinate"), table.to_pandas()):
        np.testing.assert_array_equal(musculo.muscle_geometry(model, q).length, known)


def test_millimetres_are_converted_and_other_units_refused():
    model = mixed()
    frame = pandas.DataFrame(Q, columns=NAMES)
    frame["shift"] *= 1e3
    frame.attrs["units"] = {"shift": "mm"}
    np.testing.assert_allclose(pose(model, frame), pose(model, Q), atol=ROUNDING)
    frame.attrs["units"] = {"shift": "furlong"}
    with pytest.raises(InvalidInput, match="q: the unit 'furlong' of column 'shift' is not known; convert to radians"):
        pose(model, frame)
    frame.attrs["units"] = {"shift": "deg"}
    with pytest.raises(InvalidInput, match="q: column 'shift' is in 'deg', but the coordinate is in m"):
        pose(model, frame)


def test_speeds_of_a_table_of_states():
    """`.../value` and `.../speed` of one table: each argument takes its own columns."""
    model = mixed()
    rates = np.cos(Q)
    joints = ("hinge", "slide", "bent", "axle")
    names = [f"/jointset/{j}/{c}/{what}" for what in ("value", "speed") for j, c in zip(joints, NAMES, strict=True)]
    states = Table(0.1 * np.arange(len(Q)), tuple(names), np.concatenate([Q, rates], axis=1))
    found = musculo.inverse_dynamics(model, states, states, np.zeros_like(Q))
    assert np.array_equal(found, musculo.inverse_dynamics(model, Q, rates, np.zeros_like(Q)))
    with pytest.raises(UnknownName, match="no column for speed 'angle'"):
        musculo.inverse_dynamics(model, states, states.pick(names[:4]), np.zeros_like(Q))


def test_plain_degrees_are_warned_of_once_a_call():
    model = mixed()
    bad = Q.copy()
    bad[:, 0] = np.degrees(bad[:, 0])
    with pytest.warns(
        MusculoWarning, match=r"q: angle reaches 85.94 rad, with a range of -0.5 to 2: are these"
    ) as told:
        musculo.equations_of_motion(model, bad, bad)  # which asks several others
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.warns(MusculoWarning) as told:
        musculo.kinematics(model, pandas.DataFrame(bad, columns=NAMES))
    assert len(told) == 1
    with pytest.warns(MusculoWarning) as told:
        musculo.joint_loads(model, bad.tolist(), Q, Q)
    assert len(told) == 1


@pytest.mark.parametrize("room", [(-1.0, 2.0), (-5.0, 5.0)])
def test_plain_millimetres_are_warned_of_once_a_call(room):
    """A subject that is free in space: 0.95 m up, and 2 m ahead of the origin."""
    base = FreeJoint("base", "ground", "trunk", tuple(Coordinate(f"c{k}", range=room) for k in range(6)))
    model = Model("free", (Body("trunk", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),), (base,))
    good = np.tile((0.1, 0.2, 0.3, 2.0, 0.95, 0.1), (4, 1))
    bad = good * (1.0, 1.0, 1.0, 1e3, 1e3, 1e3)
    table = Table(0.1 * np.arange(4), model.coordinate_names, bad)
    words = rf"q: c3 reaches 2000 m, with a range of {room[0]:g} to {room[1]:g}, c4 .*are these millimetres\? They"
    for value in (bad, table, pandas.DataFrame(bad, columns=model.coordinate_names)):
        for ask in (musculo.kinematics, musculo.center_of_mass):
            with pytest.warns(MusculoWarning, match=words) as told:
                ask(model, value.copy() if isinstance(value, np.ndarray) else value)  # the same array is told of once
            assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        musculo.kinematics(model, good)
        musculo.kinematics(model, good + 50.0 * (np.arange(6) == 3))  # a runner leaves the laboratory
        musculo.kinematics(model, Table(table.time, table.names, bad, units=("rad",) * 3 + ("mm",) * 3))


def test_distances_with_a_careless_range_or_a_wide_one_are_not_warned_of():
    model = mixed()
    joints = [*model.joints]
    for room, value, odd in (((0.0, 0.01), 4.0, False), ((0.0, 0.01), 30.0, True), ((-50.0, 50.0), 900.0, False)):
        joints[1] = SliderJoint("slide", Placement("a"), Placement("b"), (Coordinate("shift", range=room),))
        q = Q.copy()
        q[:, 1] = value
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            musculo.kinematics(model.replace(joints=tuple(joints)), q)
        assert bool(told) == odd


def test_turns_on_and_on_are_not_warned_of():
    """A wheel without a range, a knee a turn off, a body that is free in space, a curve's coordinate: none looks like
    degrees."""
    model = mixed()
    q = Q.copy()
    q[:, 3] = 100.0
    q[:, 0] += TURN - 1.0
    q[:, 2] = 50.0
    free = Model(
        "free",
        (Body("trunk", 1.0, (0, 0, 0), (1, 1, 1, 0, 0, 0)),),
        (
            FreeJoint(
                "base",
                Placement("ground"),
                Placement("trunk"),
                tuple(Coordinate(f"c{k}", range=(-1.5, 1.5)) for k in range(6)),
            ),
        ),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        musculo.kinematics(model, q)
        musculo.kinematics(free, np.full((3, 6), 30.0))


def test_radians_that_claim_to_be_degrees_are_warned_of():
    """xarray keeps attributes in `np.radians(array)`."""
    model = arm()
    array = np.radians(arm_flexion().to_xarray("coordinate"))
    array.attrs["degrees"] = 1
    with pytest.warns(MusculoWarning, match="q: its angles are taken in degrees, as it states, but the largest of all"):
        musculo.muscle_geometry(model, array)
