"""What simulations of loops and measured joints say, and loops that are solved beforehand."""

from __future__ import annotations

import numpy as np
import pytest

import musculo
from musculo import Body, Coordinate, Model, MusculoWarning, PinJoint, Placement, PointConstraint
from musculo.embedding.loops.equations.frame_jets import Jet
from musculo.errors import InvalidInput, InvalidModel, UnknownName
from musculo.model import BallJoint, CustomJoint, EquationConstraint, Fitted, Molecule
from musculo.replications.closed_loops.mechanisms import andrews_squeezer
from musculo.simulation import SimulationEvent
from musculo.simulation.equations.accelerations import EmbeddedRates
from musculo.simulation.equations.embedded_state import is_open
from support.mechanisms import four_bar

INERTIA = (0.02, 0.02, 0.02, 0.0, 0.0, 0.0)
TIGHT = {"rtol": 1e-10, "atol": 1e-12}
TIMES = np.linspace(0.0, 0.2, 5)


# --- loops solved beforehand --------------------------------------------------------------------------------------
def test_loops_can_be_solved_beforehand():
    """As good as the fit, which is measured by itself: coarser samples err more, in the fit and in the motion."""
    model = four_bar()
    exact = musculo.simulate(model, None, None, TIMES, **TIGHT)
    errors = []
    for samples in (17, 81):
        fit = Fitted({"q0": (0.0, 1.5)}, samples=samples)
        values = musculo.embedding_of(model, loops=fit).fit_error
        assert list(values) == ["q1", "q2"]
        done = musculo.simulate(model, None, None, TIMES, loops=fit, **TIGHT)
        assert done.status == "finished", done.reason
        value, gradient, _ = np.max(list(values.values()), axis=0)
        off = np.abs(done.q - exact.q).max()
        assert 0.0 < off < 10.0 * (value + gradient) + 1e-9
        errors.append((off, value))
    assert errors[1][0] < 1e-3 * errors[0][0]
    assert errors[1][1] < 1e-3 * errors[0][1]
    molecule = musculo.simulate(model, None, None, TIMES, loops=Molecule(), **TIGHT)
    assert 0.0 < np.abs(molecule.q - exact.q).max() < 1e-7
    assert musculo.embedding_of(model).fit_error == {}


def test_fits_that_do_not_serve_are_named():
    model = four_bar()
    with pytest.raises(UnknownName, match=r"no coordinate 'q00' in the ranges of Fitted; did you mean 'q0'"):
        musculo.simulate(model, None, None, TIMES, loops=Fitted({"q00": (0.0, 1.0)}))
    with pytest.raises(InvalidInput, match=r"a range of 'q2', which no loop takes as an input; the inputs are q0"):
        musculo.embedding_of(model, loops=Fitted({"q2": (0.0, 1.0)}))
    with pytest.raises(InvalidInput, match=r"loops is for formulation='embedded'"):
        musculo.simulate(model, None, None, TIMES, loops="molecule", formulation="constrained")
    done = musculo.simulate(model, None, None, (0.0, 1.0), loops=Fitted({"q0": (0.5, 1.2)}))
    assert done.status == "failed"
    assert "outside 0.5 to 1.2, where the loop 'closure' was fitted" in done.reason


@pytest.mark.parametrize(
    ("model", "fit", "span"),
    [
        (four_bar(), Fitted({"q0": (0.0, 1.5)}, samples=61), (0.1, 1.4)),
        (four_bar(), Fitted({"q0": (0.0, 1.5)}, samples=61, degree=3), (0.1, 1.4)),
        (andrews_squeezer(), Fitted({"beta": (-np.pi, np.pi)}, samples=101, kind="fourier"), (-9.0, 9.0)),
    ],
    ids=["quintic", "cubic", "fourier"],
)
def test_loops_solved_beforehand_run_compiled(model, fit, span):
    """One kernel finds what Python does: poses, speeds and accelerations, also after several turns."""
    used = model.replace()
    used.derived("embedding", lambda: musculo.embedding_of(used, loops=fit))
    assert is_open(used)
    compiled, slow = EmbeddedRates(used), EmbeddedRates(used)
    assert compiled.state is not None
    slow.state = None
    tau = np.linspace(-1.0, 1.0, len(used.speed_names))
    for z in np.linspace(*span, 7):
        found, expected = (rates(np.array([z]), np.array([3.0]), tau, np.zeros(len(tau))) for rates in (compiled, slow))
        for mine, theirs in zip(found, expected, strict=True):
            # series and splines summed in another order, and second derivatives of them
            np.testing.assert_allclose(mine, theirs, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(theirs).max()))


def test_a_fit_is_made_once(monkeypatch):
    made = []
    variables = Fitted.variables
    monkeypatch.setattr(Fitted, "variables", lambda *given: made.append(given) or variables(*given))
    model, fit = four_bar(), Fitted({"q0": (0.0, 1.5)}, samples=61)
    first, again = (musculo.simulate(model, None, None, TIMES, loops=fit, independent="q0") for _ in range(2))
    assert len(made) == 1
    np.testing.assert_array_equal(first.q, again.q)
    musculo.simulate(model, None, None, TIMES, loops=Fitted({"q0": (0.0, 1.5)}, samples=41), independent="q0")
    assert len(made) == 2


# --- measured joints ----------------------------------------------------------------------------------------------
FLEXION = np.radians([0, 30, 60, 90, 120])


def knee(flexion=FLEXION) -> Model:
    samples = {"flexion": flexion, "rz": -flexion, "tx": -0.02 * np.sin(flexion)}
    joint = CustomJoint.from_samples("knee", "ground", "shank", samples)
    return Model("knee", (Body("shank", 3.0, (0.0, -0.2, 0.0), INERTIA),), (joint,))


def test_motions_beyond_measured_poses_are_told():
    with pytest.warns(MusculoWarning, match=r"'flexion' leaves its measured range, 0 to 2\.0944, at t = "):
        done = musculo.simulate(knee(), [1.5], [0.0], (0.0, 1.0))
    (note,) = done.notes
    first = done.time[np.flatnonzero(done.q[:, 0] < 0.0)[0]]
    assert f"at t = {first:.6g} s and goes to {done.q.min():.6g}" in note
    assert musculo.simulate(knee(), [1.5], [0.0], (0.0, 0.1)).notes == ()


def test_samples_rise_or_fall():
    down = musculo.kinematics(knee(FLEXION[::-1]), [0.7]).position("shank", (0.0, -0.2, 0.0))
    up = musculo.kinematics(knee(), [0.7]).position("shank", (0.0, -0.2, 0.0))
    assert np.abs(down - up).max() < 1e-14
    for order, where in (([0, 2, 1, 3], "1.0472 to 0.523599 at sample 2"), ([0, 1, 1, 2], "0.523599 to 0.523599")):
        with pytest.raises(InvalidInput, match=rf"'flexion' goes from {where}"):
            knee(FLEXION[order])


# --- events -------------------------------------------------------------------------------------------------------
def test_events_at_one_instant_are_all_listed():
    def passes(t, q, u):
        return q - 1.0  # an array of one number

    events = [
        SimulationEvent("end", passes, terminal=True),
        SimulationEvent("same", lambda t, q, u: 2.0 * (q[0] - 1.0)),
        SimulationEvent("later", lambda t, q, u: q[0] - 0.9),
    ]
    done = musculo.simulate(knee(), [1.5], [0.0], (0.0, 0.5), events=events)
    assert [event.name for event in done.events] == ["same", "end"]
    assert "event 'end'" in done.reason
    with pytest.raises(InvalidInput, match=r"event 'three' gives array.* it needs one number"):
        musculo.simulate(knee(), [1.5], [0.0], (0.0, 0.5), events={"three": lambda t, q, u: np.zeros(3)})


# --- reasons ------------------------------------------------------------------------------------------------------
def rods() -> Model:
    """Two cranks about axes in space, and a rod with a ball at each end."""
    small = (3e-3, 3e-3, 3e-3, 0.0, 0.0, 0.0)
    bodies = (
        Body("crank", 0.6, (0.05, 0.0, 0.01), small),
        Body("rod", 0.9, (0.15, 0.0, 0.0), (1e-3, 8e-3, 9e-3, 0.0, 0.0, 0.0)),
        Body("rocker", 0.7, (0.1, 0.0, 0.0), small),
    )
    ball = tuple(Coordinate(name, default_value=x) for name, x in (("bx", 0.2), ("by", 0.5), ("bz", -0.3)))
    turned = Placement("ground", (0.3, 0.05, 0.1), (0.0, np.pi / 2, 0.0))
    joints = (
        PinJoint("a", Placement("ground"), Placement("crank"), (Coordinate("a", default_value=0.4),)),
        BallJoint("b", Placement("crank", (0.1, 0.0, 0.0)), Placement("rod"), ball),
        PinJoint("c", turned, Placement("rocker"), (Coordinate("c", default_value=1.0),)),
    )
    tie = PointConstraint("tie", True, (), "rod", "rocker", (0.32, 0.0, 0.0), (0.2, 0.0, 0.0))
    return Model("RSSR", bodies, joints, (tie,))


@pytest.mark.parametrize("method", ["rkf45", "cvode"])
def test_dead_points_name_who_leads_on(method):
    model = rods()
    assert musculo.embedding_of(model).coordinate_names == ("a", "bx")
    done = musculo.simulate(model, None, None, (0.0, 1.0), method=method)
    assert done.status == "failed"
    assert "s: the loop of 'tie' comes to a dead point of 'a', 'bx'" in done.reason
    assert "embedding_of" not in done.reason
    assert "independent=('by', 'c') leads on from here" in done.reason
    on = (done.end, done.end + 0.03)
    more = musculo.simulate(model, done.q[-1], done.u[-1], on, method=method, independent=("by", "c"))
    assert more.status == "finished", more.reason
    assert np.ptp(more.energy) < 1e-5


@pytest.mark.parametrize("unit", [1.0, 1e12])
@pytest.mark.parametrize("formulation", ["embedded", "constrained"])
def test_equations_in_any_unit_end_where_they_are_defined(unit, formulation):
    """b = sqrt(a) falls towards a = 0: no dead point, but the end of the root."""
    tie = EquationConstraint("root", coordinates=("q0", "q1"), equations=lambda a, b: unit * (b - np.sqrt(a)))
    model = four_bar().replace(constraints=(tie,))
    done = musculo.simulate(
        model, None, None, (0.0, 2.0), formulation=formulation, method="rkf45", rtol=1e-5, atol=1e-6
    )
    assert done.status == "failed"
    assert "constraint 'root'" in done.reason
    assert "defined" in done.reason
    assert "dead point" not in done.reason
    if formulation == "embedded":
        assert done.q[-1, 0] < 0.02


def test_equations_know_more_functions():
    """Derivatives of arctan2, abs, minimum and maximum, by differences of values and of gradients."""

    def f(x, y):
        return [np.arctan2(x * y, x - y), abs(x) * y, np.minimum(x, y * y) + np.maximum(x * y, -1.0)]

    at, h = np.array([[0.3, -0.7], [-1.1, 0.4], [0.9, 1.2]]), 1e-6
    for k, jet in enumerate(f(*Jet.variables(at))):
        assert np.abs(jet.value - f(at[:, 0], at[:, 1])[k]).max() < 1e-15
        for i in range(2):
            ahead, behind = (f(*Jet.variables(at + way * h * np.eye(2)[i]))[k] for way in (1.0, -1.0))
            assert np.abs(jet.gradient[:, i] - (ahead.value - behind.value) / (2 * h)).max() < 1e-8
            assert np.abs(jet.hessian[:, i] - (ahead.gradient - behind.gradient) / (2 * h)).max() < 1e-8


# --- names --------------------------------------------------------------------------------------------------------
def test_constraints_have_names_of_their_own(tmp_path):
    """Reactions go by name; OpenSim's files may repeat one, and then the second is called otherwise."""
    model = four_bar()
    (closure,) = model.constraints
    with pytest.raises(InvalidModel, match="two constraint entries are named 'closure'"):
        model.replace(constraints=(closure, closure))
    other = PointConstraint("other", True, (), "ground", "bar2", (0.45, 0.0, 0.0), (0.4, 0.0, 0.0))
    file = tmp_path / "twice.osim"
    musculo.write_osim(model.replace(constraints=(closure, other)), file)
    text = file.read_text()
    file.write_text(text.replace('name="other"', 'name="closure"'))
    read = musculo.read_osim(file)
    assert [c.name for c in read.constraints] == ["closure", "closure_2"]
    assert any("another constraint has the same name" in note.why for note in read.notes)
    file.write_text(text.replace('name="closure"', "").replace('name="other"', ""))
    assert len({c.name for c in musculo.read_osim(file).constraints}) == 2
