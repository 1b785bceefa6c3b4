"""Ehsani2023's shoulder: moment arms beside OpenSim's, and the tracking problem as ODE and as DAE."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo import embedding_of, inverse_dynamics, muscle_geometry
from musculo.replications.peer import opensim_version
from musculo.replications.shoulder import shoulder_control, shoulder_moment_arms, shoulder_tracking
from musculo.replications.shoulder.mobl_arms import COORDINATES, FILE, NO_MODEL, UNITS, arm_of, model_file
from musculo.replications.shoulder.shoulder_control import FORMS, ODE, PROJECTED, controller, followed, tracking_model
from musculo.replications.shoulder.shoulder_rhythm import ELEVATION, PLANE, ROTATION, with_shoulder_rhythm
from musculo.replications.shoulder.shoulder_sweeps import RANGES, STEP, our_arms, sweep
from musculo.replications.study import NOT_INSTALLED, NOT_RUN, Settings
from musculo.simulation.equations.accelerations import ConstrainedRates, EmbeddedRates

# Sums over a few coordinates of numbers of the size of one.
ROUNDING = 1e-12


@pytest.fixture(scope="module")
def data(data_folder):
    if not (data_folder / FILE).is_file():
        pytest.skip(f"no {FILE} in the recorded data")
    return data_folder


@pytest.fixture(scope="module")
def leaders(data):
    return arm_of(data / FILE, shoulder_moment_arms.LEADERS)


@pytest.fixture(scope="module")
def tracked(data):
    return tracking_model(data / FILE)


def by_name(rows):
    return {row.quantity: row for row in rows}


@pytest.mark.parametrize("study", [shoulder_moment_arms.study, shoulder_tracking.study])
def test_without_the_model_a_study_says_where_it_looks(tmp_path, study):
    for folder in (None, tmp_path):
        found = study(Settings(data=folder))
        assert (found.missing, found.rows, found.parts) == (NO_MODEL, (), ())
        assert str(FILE) in found.missing


def test_the_model_is_found_in_its_folder_and_beside_it(tmp_path):
    folder = tmp_path / FILE.parent
    folder.mkdir()
    (tmp_path / FILE).write_text("")
    assert model_file(Settings(data=tmp_path)) == model_file(Settings(data=folder)) == (tmp_path / FILE).resolve()


# --- moment arms -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("along", COORDINATES)
def test_sweeps_stay_in_the_ranges_and_know_slopes_of_parabolas(leaders, along):
    s, e = sweep(leaders, along), embedding_of(leaders)
    assert len(s.degrees) == RANGES[along][1] - RANGES[along][0] + 1
    columns = [leaders.coordinate_index(name) for name in COORDINATES]
    for name, k in zip(COORDINATES, columns, strict=True):
        low, high = leaders.coordinate(name).range
        # coordinates are sums of steps
        assert s.near[..., k].min() >= low - 1e-15
        assert s.near[..., k].max() <= high + 1e-15
    assert np.abs(s.q[:, columns[COORDINATES.index(along)]] - np.radians(s.degrees)).max() < 1e-5
    # a parabola of each coordinate has the slope that its formula says, at the ends, too
    z = s.near[..., columns]
    bent = (0.3 * z - 0.4 * z**2).sum(axis=-1)[..., None]
    slopes = s.slopes(bent)[:, 0]
    # rounding of lengths of the size of one, over a step
    assert_allclose(slopes, 0.3 - 0.8 * s.q[:, columns], atol=100.0 * np.finfo(float).eps / STEP)
    assert e.coordinate_names[:3] == COORDINATES


def test_opensims_arms_leave_out_a_segment_whose_point_moves_on_its_body(leaders):
    """PECM3 at plane 60 and elevation 5 degrees: -21.3 mm by OpenSim, and a slope of -2.3 mm."""
    e = embedding_of(leaders)
    z = np.zeros((1, len(e.coordinate_names)))
    z[0, [e.coordinate_names.index(PLANE), e.coordinate_names.index(ELEVATION)]] = np.radians([60.0, 5.0])
    exact, alike = (muscle_geometry(leaders, e.coordinates(z), like=like) for like in (None, "opensim"))
    at = 0, exact.index("PECM3"), exact.independent_names.index(ELEVATION)
    found = [1e3 * one.moment_arm_independent[at] for one in (exact, alike)]
    assert_allclose(found, [-2.3, -21.3], atol=0.05)


def test_arms_without_opensim_are_slopes_of_lengths(data):
    study = shoulder_moment_arms.study(Settings(opensim=False, data=data))
    assert NOT_RUN in study.missing
    rows = by_name(study.rows)
    assert len(rows) == 8
    own = {name: row for name, row in rows.items() if "our own length" in name}
    assert len(own) == 2
    assert all(row.met for row in own.values())
    others = [row for name, row in rows.items() if name not in own]
    assert {(row.ours, row.note) for row in others} == {(None, NOT_RUN)}
    assert {row.cite for row in others if row.paper == 1e-8} == {f"section 4-4 A, figure {k}" for k in (14, 15)}
    assert [plot.x.size for plot in study.plots] == [221, 181]


def test_arms_and_slopes_are_opensims(data):
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    study = shoulder_moment_arms.study(Settings(data=data))
    assert not study.missing
    assert [row.quantity for row in study.rows if not row.met] == []
    parts = {part.title.split(":")[0] + (" slope" if "slope" in part.title else ""): part for part in study.parts}
    slopes = {one.name: one for one in parts["Figure 14 slope"].quantities}
    # differences of lengths: ours is the slope, and OpenSim's moment arm of what moves on its body is not
    for name, equal in (("PECM1", 1e-5), ("DELT2", 1e-5), ("PECM3", 1e-2)):
        assert slopes[name].difference < equal
    assert slopes["PECM3"].alike > 15.0
    assert slopes["PECM1"].alike > 3.0
    assert max(slopes[name].alike for name in ("DELT1", "DELT2")) < 1e-5
    arms = {one.name: one for one in parts["Figure 14"].quantities}
    assert max(one.alike for one in arms.values()) < 1e-9


def test_opensims_arms_move_the_other_angle_where_bones_follow_both(leaders):
    """About rotation nothing is shared; about plane and elevation the two definitions differ."""
    model = with_shoulder_rhythm(leaders)
    s = sweep(model, ELEVATION)
    exact, alike = our_arms(model, s).arm, our_arms(model, s, like_opensim=True).arm
    straight = shoulder_moment_arms.LEADERS.index("DELT1")  # touches nothing, and no point of it moves
    off = 1e3 * np.abs(exact - alike)[:, straight].max(axis=0)
    assert off[COORDINATES.index(ROTATION)] < ROUNDING
    assert min(off[COORDINATES.index(PLANE)], off[COORDINATES.index(ELEVATION)]) > 1.0


# --- the tracking problem --------------------------------------------------------------------------------------------
def test_the_arm_follows_and_every_formulation_says_the_same(data, monkeypatch):
    monkeypatch.setattr(shoulder_control, "ROUNDS", 0)  # that times are there is asked here, not how good they are
    study = shoulder_tracking.study(Settings(opensim=False, data=data))
    rows = by_name(study.rows)
    assert [row.quantity for row in study.short if not row.timed] == []
    stated = {name: (row.paper, row.goal) for name, row in rows.items() if row.paper is not None}
    assert stated == {
        "elevation, tracking error": (2e-4, "at most"),
        "speed of elevation, tracking error": (0.02, "at most"),
        "plane of elevation, tracking error": (1e-16, "at most"),
        "axial rotation, tracking error": (1e-16, "at most"),
        "time of a run: stabilized DAE over ODE": (3.0, "at least"),
    }
    assert {row.cite for row in rows.values() if row.paper is not None} == {"section 4-4 C"}
    assert rows["torques on the desired motion against OpenSim's inverse dynamics"].note == NOT_RUN
    forces = next(part for part in study.parts if "figure 21" in part.title)
    assert [one.name for one in forces.quantities] == list(UNITS)
    assert all(np.all(series >= 0.0) for series in forces.series.values())
    assert len(study.time) == 101


def test_torques_are_opensims(data, tracked):
    if not opensim_version():
        pytest.skip("OpenSim is not installed; pip install 'musculo[oracles]'")
    load = shoulder_control.shared(tracked, controller(tracked), 5)
    rows = shoulder_tracking.inverse_rows(tracked, load, Settings(data=data))
    assert [row.met for row in rows] == [True, True]


@pytest.mark.parametrize(("wanted", "told"), [(True, NOT_INSTALLED), (False, NOT_RUN)])
def test_without_opensim_its_row_says_so(monkeypatch, tracked, wanted, told):
    monkeypatch.setattr(shoulder_tracking, "opensim_version", lambda: "")
    load = shoulder_control.shared(tracked, controller(tracked), 3)
    *_, row = shoulder_tracking.inverse_rows(tracked, load, Settings(opensim=wanted))
    assert (row.ours, row.note, row.met) == (None, told, None)


def test_all_forms_run_compiled_with_the_controller(monkeypatch, tracked):
    calls = []
    for rates in (EmbeddedRates, ConstrainedRates):
        before = rates.__call__
        monkeypatch.setattr(rates, "__call__", lambda *given, before=before: calls.append(given[0]) or before(*given))
    control, spent = controller(tracked), {}
    for form in FORMS:
        done = followed(tracked, control, form, end=0.2)
        assert done.status == "finished"
        spent[form] = done.n_evaluations
    # rates in Python are asked for at the start, and not at every evaluation
    assert len(calls) < 10
    # gain 1000 limits the steps of all of them
    assert min(spent.values()) > 250
    assert max(spent.values()) < 1.05 * min(spent.values())


def test_locks_and_welds_need_the_same_torques(data, tracked):
    """Two models of one mechanism: embedded locks, and no coordinates at all."""
    locked = tracking_model(data / FILE, locks=True)
    assert (len(locked.coordinates), len(tracked.coordinates)) == (21, 14)
    one, other = (shoulder_control.shared(model, controller(model), 7) for model in (tracked, locked))
    assert_allclose(one.torque, other.torque, atol=ROUNDING * np.abs(one.torque).max())
    assert_allclose(one.optimum.force, other.optimum.force, atol=1e-9 * one.optimum.force.max())


def test_drift_and_errors_of_a_projected_run(tracked):
    control = controller(tracked)
    done = followed(tracked, control, PROJECTED, end=0.3)
    assert done.drift.position.max() < 1e-14
    q, u = shoulder_control.tracking_errors(control, done)
    assert q.max() < 1e-6
    assert u.max() < 1e-4
    # errors are those of what is followed: another desired motion is far away
    other = controller(tracked, dict.fromkeys(COORDINATES, 100.0))
    assert_allclose(other.desired([0.1])[0], control.desired([0.1])[0], atol=0.0)


def test_torques_are_those_of_inverse_dynamics_of_all_coordinates(tracked):
    """The virtual power of the torques is that of inverse dynamics of the tree."""
    load = shoulder_control.shared(tracked, controller(tracked), 9)
    tau = inverse_dynamics(tracked, load.q, load.u, load.udot)
    power = np.einsum("fi,fi->f", tau, load.u)
    zu = load.u[:, [tracked.speed_index(name) for name in COORDINATES]]
    assert_allclose(np.einsum("fi,fi->f", load.torque, zu), power, atol=ROUNDING * np.abs(power).max())
    assert np.abs(power).max() > 1.0
    assert ODE.formulation == "embedded"
