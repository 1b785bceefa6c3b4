"""What people do with results in Python: columns, data frames, other files, changes of models, EMG, work."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import musculo
from musculo import Marker, Table, static_optimization, work
from musculo.analyses.static_optimization.least_effort import least_effort
from musculo.demo import arm, arm_flexion
from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.io import read_table, write_table
from musculo.model import compare
from musculo.results.external_loads import ExternalForce, ExternalLoads
from musculo.signals import emg_agreement, emg_envelope

# Sums of a few products in float64.
ROUNDING = 1e-12


def table() -> Table:
    t = np.linspace(0.0, 1.0, 21)
    values = np.stack([np.sin(t), np.cos(t), np.full(21, 2.0)], axis=1)
    values[3, 1] = np.nan
    return Table(
        t, ("knee_angle_r", "knee_angle_l", "still"), values, degrees=True, units=("deg", "deg", "m"), name="walk"
    )


# --- tables -----------------------------------------------------------------------------------------------------------
def test_columns_by_name():
    one = table()
    assert_array_equal(one["knee_angle_r"], one.values[:, 0])
    assert "knee_angle_l" in one
    assert "ankle" not in one
    assert list(one) == list(one.names)
    with pytest.raises(UnknownName, match="did you mean 'knee_angle_r'"):
        one["knee_angl_r"]
    with pytest.raises(InvalidInput, match="by name"):
        one[0]


def test_data_frames_and_back():
    one = table()
    again = Table.from_pandas(one.to_pandas(), name="walk")
    assert_array_equal(again.values, one.values)
    assert (again.names, again.units, again.degrees) == (one.names, one.units, True)
    flat = Table.from_pandas(one.to_pandas().reset_index())
    assert_array_equal(flat.time, one.time)
    with pytest.raises(InvalidInput, match="no numbers"):
        Table.from_pandas(one.to_pandas().assign(name="x"))


@pytest.mark.parametrize("made", [Table.to_pandas, lambda one: one.to_pandas().reset_index(), Table.to_xarray])
def test_data_frames_and_labeled_arrays_are_tables(tmp_path, made):
    """Where a table over time is asked for, their times and units count."""
    model = arm()
    angles = arm_flexion()
    other = made(angles)
    exact, given = (musculo.motion_of(model, one, 6.0) for one in (angles, other))
    assert_array_equal(given.q, exact.q)
    assert_array_equal(given.udot, exact.udot)
    for k, one in enumerate((angles, other)):
        musculo.write_storage(one, tmp_path / f"{k}.sto")
        write_table(one, tmp_path / f"{k}.csv")
    assert (tmp_path / "0.csv").read_text() == (tmp_path / "1.csv").read_text()
    assert_array_equal(musculo.read_storage(tmp_path / "1.sto").values, angles.values)
    assert musculo.view(model, other).data["frames"] == musculo.view(model, angles).data["frames"]
    q = exact.q[:2]
    tau = musculo.inverse_dynamics(model, q, 0.0 * q, 0.0 * q)
    wanted = Table(angles.time, ("biceps_long",), np.full((len(angles), 1), 0.2))
    near = [
        static_optimization(model, q, 0.0 * q, tau=tau, reserves=1.0, targets=one, time=exact.time[:2]).activation
        for one in (wanted, made(wanted))
    ]
    assert_array_equal(near[0], near[1])


def test_data_frames_of_coordinates_state_their_times():
    """Loads over time are found at the frames of a data frame whose index is called time, as at those of a table."""
    model = arm()
    motion = musculo.motion_of(model, arm_flexion(), 6.0)
    names = ("push_vx", "push_vy", "push_vz")
    push = Table(motion.time, names, np.stack([5.0 * motion.time, 0.0 * motion.time, 0.0 * motion.time], axis=1))
    loads = ExternalLoads("push", (ExternalForce("push", model.body_names[-1], "push_v"),), push)
    tables = [Table(motion.time, model.coordinate_names, values) for values in (motion.q, motion.u, motion.udot)]
    q, u, udot = (table.to_pandas() for table in tables)
    expected = musculo.inverse_dynamics(model, motion.q, motion.u, motion.udot, loads=loads.at(motion.time))
    assert_array_equal(musculo.inverse_dynamics(model, q, u, udot, loads=loads), expected)
    effort = static_optimization(model, q, u, udot, loads=loads, reserves=1.0)
    at = static_optimization(model, motion.q, motion.u, tau=expected, reserves=1.0)
    assert_allclose(effort.activation, at.activation, atol=1e-9)
    with pytest.raises(InvalidInput, match="give the times of the"):
        static_optimization(model, q.reset_index(drop=True), u, udot, loads=loads, reserves=1.0)


def test_a_data_frame_without_times_is_no_table():
    with pytest.raises(InvalidInput, match="index is called time"):
        musculo.motion_of(arm(), arm_flexion().to_pandas().reset_index(drop=True))


@pytest.mark.parametrize("ending", ["csv", "parquet", "sto"])
def test_files_of_statistics(tmp_path, ending):
    pytest.importorskip("pyarrow" if ending == "parquet" else "pandas")
    path = tmp_path / f"walk.{ending}"
    write_table(table(), path)
    again = read_table(path, degrees=True) if ending == "csv" else read_table(path)
    assert_allclose(again.values, table().values, rtol=1e-7 if ending == "sto" else 0.0)
    assert again.names == table().names
    assert again.degrees


def test_markers_as_data_frames(tmp_path):
    """A data frame, a file of statistics and a labeled array hold the same markers, and fit the same pose."""
    model, motion = arm(), arm_flexion().between(0.0, 0.1)
    at = musculo.kinematics(model, motion.coordinates(model)).markers(model.marker_names)
    at[2, 1] = np.nan
    markers = musculo.Markers(motion.time, model.marker_names, at)
    frame = markers.to_pandas()
    assert frame.index.name == "time"
    assert list(frame.columns[:3]) == [f"{model.marker_names[0]}_{axis}" for axis in "xyz"]
    write_table(markers.to_table(), tmp_path / "m.csv")
    pairs = frame.set_axis([np.repeat(model.marker_names, 3), list("XYZ") * len(model.marker_names)], axis=1)
    millimeters = 1e3 * frame
    millimeters.attrs["units"] = dict.fromkeys(frame.columns, "mm")
    for other in (
        musculo.Markers.from_pandas(frame),
        musculo.Markers.from_pandas(pairs),
        musculo.Markers.from_pandas(millimeters),
        musculo.Markers.from_table(read_table(tmp_path / "m.csv")),
        musculo.Markers.from_xarray(markers.to_xarray().transpose("axis", "time", "marker")),
    ):
        assert other.names == markers.names
        assert_allclose(other.position, markers.position, atol=1e-9)
    assert_array_equal(markers[model.marker_names[1]], at[:, 1])
    expected = musculo.inverse_kinematics(model, markers).q
    for given in (frame, markers.to_xarray()):
        assert_array_equal(musculo.inverse_kinematics(model, given).q, expected)
        assert musculo.view(model, motion, markers=given).data["markers"]["measured_names"] == list(model.marker_names)
    with pytest.raises(InvalidInput, match="three columns each"):
        musculo.inverse_kinematics(model, motion.in_radians(model).to_pandas())
    with pytest.raises(InvalidInput, match="in deg; give them in m"):
        musculo.Markers.from_table(Table(motion.time, ("a_x", "a_y", "a_z"), at[:, 0], units=("deg",) * 3))
    with pytest.raises(InvalidInput, match="labeled by time, marker, axis"):
        musculo.Markers.from_xarray(markers.to_xarray().isel(axis=0))


def test_files_that_are_no_tables(tmp_path):
    path = tmp_path / "a.csv"
    for text, words in (
        ("time,a\n", "no rows of numbers"),
        ("time,a\n0,1\n1\n", ":3: 1 cells"),
        ("time,a\n0,x\n", "cells are numbers"),
    ):
        path.write_text(text)
        with pytest.raises(InvalidFile, match=words):
            read_table(path)
    with pytest.raises(InvalidInput, match="ending"):
        write_table(table(), tmp_path / "a.xlsx")


def test_plots():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    figure = table().plot()
    shown = [ax for ax in figure.axes if ax.get_visible()]
    assert [ax.get_title() for ax in shown] == ["knee angle [deg]"]
    assert [line.get_label() for line in shown[0].lines] == ["knee_angle_r", "knee_angle_l"]
    with pytest.raises(InvalidInput, match="nothing to plot"):
        table().plot(["still"])
    pyplot.close("all")


# --- models -----------------------------------------------------------------------------------------------------------
def test_changes_of_models_and_what_differs():
    model = arm()
    muscle = model.muscles[0]
    changed = (
        model.with_muscle(muscle.name, optimal_fiber_length=0.2)
        .with_marker(Marker("wrist", model.body_names[-1], (0.0, -0.2, 0.0)))
        .with_scaled_muscles({model.muscle_names[1]: 2.0})
        .without(model.marker_names[0])
    )
    found = {one.where: one for one in compare(model, changed)}
    assert set(found) == {
        f"forces/{muscle.name}/optimal_fiber_length",
        f"forces/{model.muscle_names[1]}/max_isometric_force",
        "markers/wrist",
        f"markers/{model.marker_names[0]}",
    }
    assert found["markers/wrist"].first is None
    assert "times 2" in str(found[f"forces/{model.muscle_names[1]}/max_isometric_force"])
    assert repr(compare(model, model)) == "no difference"
    assert len(compare(model, changed).of("markers")) == 2
    strong = model.with_scaled_muscles(1.5)
    assert_allclose(
        [m.max_isometric_force for m in strong.muscles], [1.5 * m.max_isometric_force for m in model.muscles]
    )
    with pytest.raises(UnknownName, match="muscle"):
        model.with_scaled_muscles({"bicep": 1.0})
    with pytest.raises(UnknownName, match="force, marker or constraint"):
        model.without("nothing")
    with pytest.raises(InvalidInput, match="0 or above"):
        model.with_scaled_muscles(-1.0)


# --- power and work ---------------------------------------------------------------------------------------------------
def test_work_of_a_sine():
    """Half waves of a sine do +-2 J each; straight lines between frames are off by the square of the step."""
    t = np.linspace(0.0, 2.0 * np.pi, 2001)
    found = work(t, np.stack([np.sin(t), np.ones_like(t)], axis=1))
    assert_allclose(found.positive, [2.0, 2.0 * np.pi], atol=2e-6)
    assert_allclose(found.negative, [-2.0, 0.0], atol=2e-6)
    assert_allclose(found.net, found.positive + found.negative, atol=ROUNDING)
    # a line through zero: two triangles
    assert_allclose(work([0.0, 1.0], [-1.0, 3.0]), (9.0 / 8.0, -1.0 / 8.0, 1.0))


def test_muscles_and_joints_do_the_same_work():
    """With muscles alone, the sum of their powers is that of the joints that they serve."""
    model, motion = arm(), musculo.motion_of(arm(), arm_flexion(), 6.0)
    paths = musculo.muscle_geometry(model, motion.q, motion.u)
    effort = static_optimization(model, motion.q, motion.u, motion.udot, reserves=1e-3)
    muscles = musculo.muscle_power(effort.force, paths.speed)
    joints = musculo.joint_power(effort.muscle_moment, motion.u)
    assert_allclose(muscles.sum(axis=1), joints.sum(axis=1), atol=1e-9)
    with pytest.raises(InvalidInput, match="shape"):
        musculo.joint_power(effort.muscle_moment, motion.u[:3])


# --- EMG --------------------------------------------------------------------------------------------------------------
def test_the_envelope_of_modulated_noise():
    """White noise of a known and slow amplitude has that amplitude as its envelope, times the mean of |noise|."""
    rng = np.random.default_rng(0)
    t = np.arange(20000) / 2000.0
    amplitude = 0.6 + 0.4 * np.sin(2.0 * np.pi * 0.5 * t)
    envelope = emg_envelope(t, amplitude * rng.normal(size=len(t)) + 3.0)
    inside = slice(1000, -1000)
    assert np.corrcoef(envelope[inside], amplitude[inside])[0, 1] > 0.95
    assert (envelope >= 0.0).all()
    unit = emg_envelope(t, amplitude * rng.normal(size=len(t)), largest=envelope.max())
    assert 0.8 < unit.max() < 1.3
    with pytest.raises(InvalidInput, match="envelope already"):
        emg_envelope(np.arange(100) / 40.0, rng.normal(size=100))
    with pytest.raises(InvalidInput, match="above zero"):
        emg_envelope(t, envelope, largest=0.0)


def test_a_delayed_activation_agrees():
    t = np.arange(1000) / 500.0
    envelope = np.exp(-(((t - 0.8) / 0.1) ** 2))
    activation = 0.3 * np.exp(-(((t - 0.85) / 0.1) ** 2))
    found = emg_agreement(t, envelope, activation)
    assert_allclose(found.delay, 0.05, atol=1e-9)
    assert found.correlation > 0.999999
    assert found.error < 1e-6
    with pytest.raises(InvalidInput, match="does not change"):
        emg_agreement(t, envelope, np.zeros_like(t))


# --- static optimization near measured activations -------------------------------------------------------------------
def test_paths_that_are_known_are_not_computed_again():
    """The same bits with a geometry that is handed on; one of other frames, or without speeds, is refused."""
    model = arm()
    motion = musculo.motion_of(model, arm_flexion(), 6.0).between(0.0, 0.2)
    asked = {"reserves": 1.0, "weights": {"brachialis": 2.0}}
    expected = static_optimization(model, motion.q, motion.u, motion.udot, **asked)
    known = musculo.muscle_geometry(model, motion.q, motion.u)
    found = static_optimization(model, motion.q, motion.u, motion.udot, geometry=known, **asked)
    assert_array_equal(found.activation, expected.activation)
    assert found.options == expected.options
    for other in (musculo.muscle_geometry(model, motion.q[:3], motion.u[:3]), musculo.muscle_geometry(model, motion.q)):
        with pytest.raises(InvalidInput, match="not of these 25 frames with speeds"):
            static_optimization(model, motion.q, motion.u, motion.udot, geometry=other, **asked)


def test_targets_are_met_as_far_as_equations_allow():
    """Of min sum w (x - e)^2 with A x = b the answer is e + A' (A W^-1 A')^-1 (b - A e), W^-1 in the right places."""
    rng = np.random.default_rng(3)
    A, e, w = rng.normal(size=(1, 2, 5)), rng.uniform(0.2, 0.8, size=(1, 5)), rng.uniform(0.5, 2.0, size=5)
    b = np.einsum("fkn,fn->fk", A, e) + 0.05
    wide = np.full(5, 10.0)
    found = least_effort(A, b, -wide, wide, w, 2.0, targets=e)
    V = A[0].T / w[:, None]
    expected = e[0] + V @ np.linalg.solve(A[0] @ V, b[0] - A[0] @ e[0])
    assert_allclose(found.x[0], expected, atol=1e-10)


def test_measured_activations_and_bounds():
    model, motion = arm(), musculo.motion_of(arm(), arm_flexion(), 6.0)
    rows = slice(20, 100, 10)
    q, u, udot, time = motion.q[rows], motion.u[rows], motion.udot[rows], motion.time[rows]
    free = static_optimization(model, q, u, udot, reserves=1.0)
    first, second = model.muscle_names[3], model.muscle_names[4]
    k = model.muscle_names.index(first)
    # the answer itself is the nearest to itself
    same = static_optimization(
        model,
        q,
        u,
        udot,
        reserves=1.0,
        targets={name: free.activation[:, i] for i, name in enumerate(model.muscle_names)}
        | {f"{name}_reserve": free.control[:, i] for i, name in enumerate(model.speed_names)},
    )
    assert_allclose(same.activation, free.activation, atol=1e-8)
    assert_allclose(same.objective, 0.0, atol=1e-12)
    measured = Table(motion.time, (first,), np.full((len(motion.time), 1), 0.4))
    near = static_optimization(model, q, u, udot, reserves=1.0, targets=measured, time=time, weights={first: 100.0})
    assert np.abs(near.activation[:, k] - 0.4).max() < np.abs(free.activation[:, k] - 0.4).max()
    assert near.solved
    held = static_optimization(model, q, u, udot, reserves=1.0, bounds={second: (0.05, 0.1)})
    inside = held.activation[:, model.muscle_names.index(second)]
    assert inside.min() >= 0.05 - 1e-9
    assert inside.max() <= 0.1 + 1e-9


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"bounds": {"biceps_long": (0.5, 0.2)}}, InvalidInput, "bounds of 'biceps_long'"),
        ({"bounds": {"bicep": (0.0, 1.0)}}, UnknownName, "bounds"),
        ({"targets": {"bicep": 0.1}}, UnknownName, "targets"),
        ({"targets": {"biceps_long": 40.0}}, InvalidInput, "normalize"),
        ({"targets": {"biceps_long": [0.1, 0.2, 0.3]}}, InvalidInput, "shape"),
        ({"targets": {"biceps_long": 0.1}, "power": 3.0}, InvalidInput, "power=2"),
        ({"targets": Table(np.array([0.0, 1.0]), ("biceps_long",), np.zeros((2, 1)))}, InvalidInput, "give time="),
    ],
)
def test_targets_and_bounds_that_do_not_fit(options, kind, words):
    model = arm()
    pose = np.zeros((2, len(model.coordinate_names)))
    with pytest.raises(kind, match=words):
        static_optimization(model, pose, pose, pose, reserves=1.0, **options)
