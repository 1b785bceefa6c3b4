"""Coordinates and speeds say their unit or are warned of: tables, labelled arrays, data frames and plain numbers."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import xarray
from numpy.testing import assert_allclose

import musculo
from musculo import Body, Coordinate, Model, MusculoWarning, Placement, Table
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidInput, UnknownName
from musculo.functions import SimmSpline
from musculo.model.joints import Axis, CustomJoint, FreeJoint, PinJoint, SliderJoint
from musculo.results.angle_columns import rotational_coordinates
from musculo.trajectory.muscles.known_motion import motion_at

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
    words = rf"q: c3 reaches 2000 m, with a range of {room[0]:g} to {room[1]:g}, c4 .*are these millimeters\? They"
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
    with pytest.warns(MusculoWarning, match="q: its angles are read as degrees, as it states, but the largest of all"):
        musculo.muscle_geometry(model, array)


def recorded() -> tuple[Table, np.ndarray, np.ndarray, np.ndarray]:
    """A motion in degrees, as slow as an arm that is lifted, and what it is in radians, with its derivatives."""
    time = np.linspace(0.0, 2.0, 61)
    q = np.stack([0.7 + 0.6 * np.sin(k * time) for k in (1.0, 2.0, 1.5, 3.0)], axis=1)
    values = q.copy()
    values[:, [0, 3]] = np.degrees(values[:, [0, 3]])
    u, udot = (musculo.time_derivative(time, q, order) for order in (1, 2))
    return Table(time, NAMES, values, degrees=True), q, u, udot


@pytest.mark.parametrize("kind", ["pandas", "xarray", "units of a data frame", "units of an xarray", "table"])
def test_derivatives_of_labelled_angles_keep_their_unit(kind):
    """Speeds that were made of a recording in degrees are converted as its coordinates are."""
    model = mixed()
    table, q, u, udot = recorded()
    stated = Table(table.time, NAMES, table.values, units=("deg", "m", "rad", "deg"))
    given = {
        "pandas": table.to_pandas(),
        "xarray": table.to_xarray("coordinate"),
        "units of a data frame": stated.to_pandas(),
        "units of an xarray": stated.to_xarray("coordinate"),
    }.get(kind, stated)
    first, second = (
        given.derivative(order) if kind == "table" else musculo.time_derivative(table.time, given, order)
        for order in (1, 2)
    )
    assert type(first) is type(second) is type(given)
    known = musculo.inverse_dynamics(model, q, u, udot)
    scale = np.abs(known).max()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = musculo.inverse_dynamics(model, given, first, second)
        rates = musculo.speeds_from_rates(model, given, first)
    np.testing.assert_allclose(found, known, atol=1e-9 * scale)
    np.testing.assert_allclose(rates, u, atol=1e-9)


def test_units_of_rates_do_not_serve_as_those_of_coordinates():
    model = mixed()
    table, q, _, _ = recorded()
    whole = xarray.DataArray(q, dims=("time", "coordinate"), coords={"coordinate": list(NAMES)})
    whole.attrs["units"] = "rad/s"
    with pytest.raises(InvalidInput, match=r"q: its columns are in 'rad/s', but these are coordinates \[rad, m\]"):
        pose(model, whole)
    stated = Table(table.time, NAMES, table.values, units=("deg", "m", "rad", "deg"))
    with pytest.raises(InvalidInput, match=r"u: column 'angle' is in 'deg/s\^2', but these are speeds"):
        musculo.inverse_dynamics(model, stated, stated.derivative(2), stated.derivative(1))
    whole.attrs["units"] = "rad/min"
    with pytest.raises(InvalidInput, match="q: the unit 'rad/min' of its columns is not known"):
        pose(model, whole)


def test_speeds_that_no_joint_has_are_warned_of_once_a_call():
    model = mixed()
    fast = np.zeros_like(Q)
    fast[3, 0] = -420.0  # a knee in walking, in degrees a second
    with pytest.warns(MusculoWarning, match=r"u: angle reaches 420 rad/s, which no joint does: are these deg") as told:
        musculo.equations_of_motion(model, Q, fast)  # which asks several others
    assert len(told) == 1
    assert told[0].filename == __file__
    for rates in (pandas.DataFrame(fast, columns=NAMES), fast.tolist(), fast[3]):
        with pytest.warns(MusculoWarning, match="qdot: angle reaches 420 rad/s") as told:
            musculo.speeds_from_rates(model, Q if np.ndim(rates) == 2 else Q[3], rates)
        assert len(told) == 1
    wheel = np.zeros_like(Q)
    wheel[:, 1:] = 1e3  # a slider, a curve's coordinate and a wheel may be as fast as they like
    wheel[:, 0] = 160.0  # a pitcher's shoulder
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        musculo.inverse_dynamics(model, Q, wheel, 1e4 * Q)


@pytest.mark.parametrize(("named", "u_in", "udot_in"), [("u and udot", 1, 1), ("udot", 0, 1), ("u", 1, 0)])
def test_rates_in_degrees_of_a_slow_motion_are_told_from_its_frames(named, u_in, udot_in):
    model = mixed()
    _, q, u, udot = recorded()
    wrong = (u * (180.0 / np.pi) ** u_in, udot * (180.0 / np.pi) ** udot_in)
    assert np.abs(wrong[0]).max() < 200.0
    for analysis in (musculo.inverse_dynamics, musculo.joint_reactions, musculo.joint_loads):
        with pytest.warns(MusculoWarning, match=rf"^{named}: 57 times as large") as told:
            analysis(model, q, *(part.copy() for part in wrong))
        assert len(told) == 1


def test_coordinates_in_degrees_cast_no_doubt_on_rates():
    model = mixed()
    _, q, u, udot = recorded()
    with pytest.warns(MusculoWarning, match="^q: angle reaches") as told:
        musculo.inverse_dynamics(model, np.degrees(q), u, udot)
    assert len(told) == 1


def test_frames_of_a_motion_in_radians_are_not_warned_of():
    """All of them, some of them, in no order, at rest, or a few."""
    model = mixed()
    _, q, u, udot = recorded()
    shuffled = np.random.default_rng(0).permutation(len(q))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in (slice(None), slice(None, None, 5), slice(None, None, -1), shuffled, slice(0, 3), 0):
            musculo.inverse_dynamics(model, q[rows], u[rows], udot[rows])
        musculo.inverse_dynamics(model, q, 0.0 * u, 0.0 * u)
        musculo.inverse_dynamics(model, q, u, 0.0 * u)


def test_independent_coordinates_in_degrees_are_warned_of():
    model = mixed()
    embedding = musculo.embedding_of(model)
    z = embedding.independent(Q)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding.coordinates(z)
    z[:, embedding.coordinate_names.index("angle")] *= 180.0 / np.pi
    with pytest.warns(MusculoWarning, match="z: angle reaches 85.94 rad"):
        embedding.coordinates(z)


def test_targets_of_inverse_kinematics_in_degrees_are_warned_of():
    model = arm()
    q = np.radians([[20.0, 50.0], [25.0, 60.0]])
    markers = musculo.Markers([0.0, 0.1], model.marker_names, musculo.kinematics(model, q).markers())
    with pytest.warns(MusculoWarning, match="tasks: elbow_flexion reaches 60 rad, .*: are these degrees"):
        musculo.inverse_kinematics(model, markers, tasks={"elbow_flexion": (1.0, [np.nan, 60.0])})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        musculo.inverse_kinematics(model, markers, tasks={"elbow_flexion": (1e-3, [np.nan, np.radians(60.0)])})


def test_accelerations_of_a_motion_with_locks_are_not_taken_for_speeds():
    model = arm().with_coordinate("shoulder_flexion", locked=True)
    time = np.linspace(0.0, 0.5, 51)
    # 0.3 rad at 5 turns a second: 9 rad/s, and 296 rad/s^2
    table = Table(time, ("elbow_flexion",), 1.0 + 0.3 * np.sin(2 * np.pi * 5 * time)[:, None])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        motion = motion_at(model, table, time, None, None)
        e = musculo.embedding_of(model)
        zudot = e.independent_accelerations(motion.q, motion.udot)
    assert np.abs(zudot).max() > 250.0
    assert_allclose(zudot, motion.udot[:, [model.speed_index("elbow_flexion")]])
