"""Motions that are predicted: exact slopes of every transcription, answers that can be checked by hand, and words."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import musculo
from musculo.demo import MODEL_FILE, arm
from musculo.errors import InvalidInput, MusculoWarning, UnknownName
from musculo.io import read_osim, read_storage
from musculo.results import Table
from musculo.trajectory import (
    At,
    BSplines,
    Control,
    Coordinate,
    Effort,
    Endpoint,
    Formula,
    HermiteSimpson,
    Integral,
    InverseDynamics,
    Parameter,
    Periodic,
    Problem,
    Radau,
    Smoothness,
    State,
    Throughout,
    Time,
    Trapezoidal,
    model_coordinates,
)
from musculo.trajectory.problem.variables import limits_of

TRANSCRIPTIONS = (Trapezoidal(4), HermiteSimpson(3), Radau(3, 3), BSplines(7), BSplines(6, degree=2))
# Central differences of functions of order 1 to 100 with steps of 1e-6.
DIFFERENCES = 2e-7


def pendulum(**more: object) -> Problem:
    """A pendulum with a motor that wears out, all kinds of goals and constraints at once."""
    motion = Formula(
        lambda q, u, m, g: (m - g * np.sin(q) - 0.1 * u * np.cos(q), -0.3 * m * m, m * u),
        ("swing/value", "swing/speed", "moment", "gravity"),
        ("swing/acceleration", "battery_rate", "power"),
    )
    balance = Formula(lambda m, f, t: f - m**2 + 0.1 * t, ("moment", "heat", "time"), "heat_balance")
    chosen: dict[str, object] = {
        "dynamics": (Formula(lambda *x: motion.function(*x)[:2], motion.inputs, motion.outputs[:2]), balance),
        "goals": (
            Time(0.3),
            Effort("moment", 0.1),
            Integral(motion, squared=True, scale=2.0, outputs="power", average=True),
            Smoothness(weight=1e-3) if not more.get("explicit") else Integral("heat"),
            Endpoint("battery", -1.0),
        ),
        "constraints": (
            Throughout(motion, (-5.0, 5.0), outputs="power", between=(0.25, 0.75)),
            At(0.5, motion, {"power": (-1.0, 3.0)}),
            Periodic(("battery", "moment"), negated="moment", offsets={"battery": (-3.0, 0.0)}, speeds={"moment": 0.1}),
        ),
    }
    more.pop("explicit", None)
    return Problem(
        (
            Coordinate("swing", (-4.0, 4.0), (-9.0, 9.0), initial=0.0, final=2.0, initial_speed=0.0),
            State("battery", (0.0, 5.0), initial=3.0),
            Control("moment", (-3.0, 3.0)),
            Control("heat", (-9.0, 9.0)),
            Parameter("gravity", (0.5, 2.0)),
        ),
        **{"duration": (0.5, 4.0), **chosen, **more},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("transcription", TRANSCRIPTIONS, ids=repr)
def test_slopes_are_those_of_rows_and_objective(transcription):
    program = pendulum(explicit=not transcription.rates_are_variables).program(transcription)
    x = np.random.default_rng(3).uniform(0.5, 1.5, len(program.variable_names))
    rows, columns = program.jacobian_pattern
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    found = np.zeros((len(program.row_names), len(x)))
    found[rows, columns] = program.jacobian(x)
    steps = 1e-6 * np.eye(len(x))
    expected = np.array([(program.rows(x + e) - program.rows(x - e)) / 2e-6 for e in steps]).T
    scale = np.abs(expected).max()
    assert_allclose(found, expected, atol=DIFFERENCES * scale)
    slopes = np.array([(program.objective(x + e) - program.objective(x - e)) / 2e-6 for e in steps])
    assert_allclose(program.gradient(x), slopes, atol=DIFFERENCES * np.abs(slopes).max())


@pytest.mark.parametrize("transcription", TRANSCRIPTIONS, ids=repr)
def test_rows_have_variables_of_their_stage_and_the_next_only(transcription):
    program = pendulum(explicit=not transcription.rates_are_variables).program(transcription)
    rows, columns = program.jacobian_pattern
    of_row, of_variable = program.row_stages[rows], program.variable_stages[columns]
    local = (of_row >= 0) & (of_variable >= 0)
    assert set((of_variable - of_row)[local].tolist()) <= {0, 1}
    assert (program.row_stages >= 0).sum() > 0.7 * len(program.row_stages)


def slide(**more: object) -> Problem:
    """A mass of 1 kg moves by 1 m with a force of at most 1 N, as fast as it can: 2 s."""
    chosen = {"goals": Time(), "duration": (0.1, 5.0)} | more
    return Problem(
        (
            Coordinate("x", (-1.0, 2.0), (-9.0, 9.0), initial=0, final=1, initial_speed=0, final_speed=0),
            Control("force", (-1.0, 1.0)),
        ),
        **{"dynamics": Formula(lambda f: f, "force", "x/acceleration"), **chosen},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("transcription", [Trapezoidal(20), HermiteSimpson(20), Radau(20, 2), BSplines(20)], ids=repr)
def test_a_double_integrator_is_moved_by_full_force_forth_and_back(transcription):
    motion = slide().solve(transcription)
    assert motion.solved
    # the switch lies on a knot of collocation's meshes; the trapezoidal rule and splines blur it
    assert 2.0 - 1e-5 < motion.duration < 2.006
    assert_allclose(motion["force"][[1, -2]], [1.0, -1.0], atol=1e-3)
    middle = motion.at([0.5 * motion.duration])
    assert_allclose(middle.column("x/value"), 0.5, atol=1e-3)
    assert "force" in motion.explain()


def test_effort_of_a_fixed_duration_is_the_textbooks():
    """The force that moves 1 m in 1 s with the least integral of its square is 6 - 12 t, and this is 12."""
    problem = slide(goals=Effort("force"), duration=1.0).with_(variables=(*slide().variables[:1], Control("force")))
    for transcription in (HermiteSimpson(4), Radau(4, 3), BSplines(5)):
        motion = problem.solve(transcription)
        assert_allclose(motion.objective, 12.0, rtol=1e-7)
        assert_allclose(motion.at([0.25]).column("force"), 3.0, atol=1e-4)
        assert_allclose(motion.at([0.25]).column("x/value"), 3 * 0.25**2 - 2 * 0.25**3, atol=1e-5)


def test_a_motion_starts_the_search_on_another_mesh():
    coarse = slide().solve(HermiteSimpson(10))
    fine = slide().solve(HermiteSimpson(40), coarse)
    assert fine.solved
    again = slide().solve(HermiteSimpson(40), fine)
    assert again.solver.iterations < slide().solve(HermiteSimpson(40)).solver.iterations


def test_tables_and_numbers_start_a_search():
    coarse = slide().solve(Trapezoidal(10))
    table = coarse.to_table()
    assert table.names[:2] == ("x/value", "x/speed")
    assert slide().solve(Trapezoidal(10), table).solved
    assert slide().solve(Trapezoidal(10), {"force": [1.0, -1.0], "duration": 2.0, "*/value": 0.5}).solved


def test_a_written_motion_is_read_back(tmp_path):
    motion = slide().solve(Trapezoidal(5))
    motion.write(tmp_path / "slide.sto")
    back = read_storage(tmp_path / "slide.sto")
    assert isinstance(back, Table)
    assert_allclose(back.column("force"), motion["force"], atol=1e-6)


def test_limits_between_nodes_are_looked_at_on_request():
    motion = slide().solve(HermiteSimpson(20))
    assert not motion.violations()
    found = motion.violations(finer=10)
    assert found
    assert found[0].name.startswith("force at ")


def test_the_error_between_nodes_falls_with_the_mesh_and_the_order():
    """Of a pendulum that swings freely; splines whose rates are their derivatives have no error of rates."""
    swing = Formula(lambda q, u: (u, -np.sin(q)), ("q", "u"), ("q_rate", "u_rate"))
    problem = Problem((State("q", None, 1.0), State("u", None, 0.0)), 3.0, swing)
    errors = {}
    for transcription in (Trapezoidal(10), Trapezoidal(20), HermiteSimpson(10), HermiteSimpson(20)):
        motion = problem.solve(transcription, tolerance=1e-10)
        errors[repr(transcription)] = motion.dynamics_error()["u"]
    coarse, fine, simpson, finer = errors.values()
    assert 5 < coarse / fine < 12  # an interval's error is of third order
    assert 12 < simpson / finer < 20  # of fourth: amounts do not cancel
    assert simpson < 0.2 * fine
    free = slide(goals=Effort("x/acceleration"), duration=1.0, dynamics=()).with_(
        variables=(Coordinate("x", None, None, None, 0, 1, 0, 0),)
    )
    assert max(free.solve(BSplines(7)).dynamics_error().values()) < 1e-9


def test_what_contradicts_itself_is_named():
    with pytest.raises(InvalidInput, match=r"x/value\[0\] must be at least"):
        Problem(Coordinate("x", (1.0, 2.0), initial=0.0), 1.0).program(Trapezoidal(3))
    with pytest.raises(UnknownName, match=r"no rate 'fuel_rate'"):
        Problem(State("fuel"), 1.0).program(Trapezoidal(3))
    with pytest.raises(UnknownName, match="did you mean 'force'"):
        slide(goals=Effort("forces")).program(Trapezoidal(3))
    with pytest.raises(InvalidInput, match="stated twice"):
        Problem((Control("a"), State("a")), 1.0).program(Trapezoidal(3))


@pytest.mark.parametrize("duration", [1.7, (0.5, 4.0)])
@pytest.mark.parametrize("transcription", TRANSCRIPTIONS, ids=repr)
def test_curvatures_are_slopes_of_slopes(transcription, duration):
    problem = pendulum(explicit=not transcription.rates_are_variables, duration=duration)
    program = problem.program(transcription)
    random = np.random.default_rng(5)
    x = random.uniform(0.5, 1.5, len(program.variable_names))
    multipliers = random.normal(size=len(program.row_names))
    rows, columns = program.hessian_pattern
    assert (rows >= columns).all()
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    found = np.zeros((len(x), len(x)))
    found[rows, columns] = program.hessian(x, 0.7, multipliers)
    found = found + np.tril(found, -1).T
    at = program.jacobian_pattern

    def slope(x):
        jacobian = np.bincount(at[1], program.jacobian(x) * multipliers[at[0]], len(x))
        return 0.7 * program.gradient(x) + jacobian

    expected = np.array([(slope(x + e) - slope(x - e)) / 2e-6 for e in 1e-6 * np.eye(len(x))])
    assert_allclose(found, expected, atol=DIFFERENCES * np.abs(expected).max())


def test_control_points_keep_limits_at_all_times_and_zeros():
    transcription = BSplines(9, limit_points=True, zero={"x": (0.0, 0.3)})
    program = slide(duration=2.5, goals=Effort("force")).program(transcription)
    points = [k for k, name in enumerate(program.variable_names) if name.startswith("x/value/point")]
    # spans are a sixth of the motion: the control points of cubic splines that count in the first two are five
    assert_allclose(program.lower[points], [0.0] * 5 + [-1.0] * 3 + [1.0])
    assert_allclose(program.upper[points], [0.0] * 5 + [2.0] * 3 + [1.0])
    with pytest.raises(UnknownName, match="no coordinate 'y'"):
        slide().program(BSplines(9, zero={"y": (0.0, 0.3)}))


def test_a_failed_search_says_what_is_violated_when():
    """A mass that cannot get there in time: one line for each name, the worst first, with times of nodes."""
    hurry = Problem(
        (
            Coordinate("x", (-1, 2), (-5, 5), initial=0, final=1, initial_speed=0, final_speed=0),
            Control("force", (-1, 1)),
        ),
        duration=1.0,
        dynamics=Formula(lambda force: force, "force", "x/acceleration"),
        goals=Effort("force"),
    )
    found = hurry.solve(HermiteSimpson(10), max_iterations=60)
    assert not found.solved
    lines = found.explain().splitlines()
    assert "violated by more than" in lines[1]
    worst = found.violations()[0]
    k = int(worst.name.split("[")[1].rstrip("]"))
    time = found.program.discretization.fractions[k]
    assert lines[2].startswith(f"  {worst.name.split('[')[0]} at {time:.4g} s is ")
    names = [line.split(" at ")[0] for line in lines[2:] if " is " in line]
    assert len(names) == len(set(names))
    assert any(" in all, " in line for line in lines[2:])
    assert "[" not in "".join(lines[2:])


def test_goals_of_one_kind_have_names_of_their_own():
    problem = pendulum(goals=(Effort("moment", 0.1), Effort("heat"), Effort("heat", 2.0, name="heat")))
    program = problem.program(HermiteSimpson(3))
    x = np.random.default_rng(3).uniform(0.5, 1.5, len(program.variable_names))
    parts = program.goal_values(x)
    assert list(parts) == ["effort", "effort 2", "heat"]
    assert parts["heat"] == pytest.approx(2.0 * parts["effort 2"])


def test_any_function_of_the_variables_can_be_evaluated_afterwards():
    motion = pendulum(explicit=True).solve(HermiteSimpson(3), max_iterations=3)
    square = Formula(lambda q, t: q * q + t, ("swing/value", "time"), "square")
    assert_allclose(motion.evaluate(square)["square"], motion["swing/value"] ** 2 + motion.time)
    with pytest.raises(UnknownName, match="swng/value"):
        motion.evaluate(Formula(lambda q: q, "swng/value", "y"))


def test_parts_of_the_wrong_kind_are_named():
    x = Coordinate("x", (0, 1), initial=0, final=1)
    push = Formula(lambda force: force, "force", "x/acceleration")
    with pytest.raises(InvalidInput, match="goals: Effort is no goal"):
        Problem((x,), 1.0, goals=Effort)
    with pytest.raises(InvalidInput, match=r"goals: Formula\(force -> x/acceleration\) is no goal"):
        Problem((x,), 1.0, goals=push)
    with pytest.raises(InvalidInput, match="constraints: 'x/value' is no constraint"):
        Problem((x,), 1.0, constraints=("x/value", (0, 1)))
    with pytest.raises(InvalidInput, match="dynamics: Formula is no node function"):
        Problem((x,), 1.0, dynamics=Formula)
    with pytest.raises(InvalidInput, match="HermiteSimpson is no transcription"):
        Problem((x,), 1.0, goals=Smoothness()).solve(HermiteSimpson)
    with pytest.raises(InvalidInput, match="neither a node function nor names"):
        Problem((x,), 1.0, constraints=At(0.0, {"x/value": 0.0}, 0.0)).solve(HermiteSimpson(5))
    with pytest.warns(MusculoWarning, match="'force' moves nothing"):
        Problem((x, Control("force", (-1, 1))), 1.0, goals=Effort("force")).solve(HermiteSimpson(5))


def test_coupled_coordinates_are_no_variables():
    leg = read_osim(MODEL_FILE)
    assert [one.name for one in model_coordinates(leg)] == ["hip_flexion", "knee_flexion", "ankle_dorsiflexion"]


@pytest.mark.parametrize("transcription", [HermiteSimpson(5), BSplines(6)], ids=repr)
@pytest.mark.parametrize("name", ["x/accelleration", "x/Acceleration", "x/accel", "X/acceleration"])
def test_a_misspelled_rate_is_no_equation(name, transcription):
    with pytest.raises(InvalidInput, match=r"rate of no state; did you mean 'x/acceleration'\?"):
        slide(dynamics=Formula(lambda f: f, "force", name)).solve(transcription)


def test_equations_have_names_of_their_own():
    with pytest.raises(InvalidInput, match=r"'knee/acceleration' is the rate of no state; rates are x/speed"):
        slide(dynamics=Formula(lambda f: f, "force", "knee/acceleration")).program(Trapezoidal(3))
    tank = (State("tank", (0, 1), rate="flow"), State("heat", (0, 1)), Control("heat_rate"), Control("flow"))
    with pytest.raises(InvalidInput, match=r"did you mean 'heat_rate'\?"):
        Problem(tank, 1.0, Formula(lambda f: f, "flow", "heat_rates")).program(Trapezoidal(3))
    for name in ("x/moment", "x/equilibrium", "balance", "heat_balance", "x/acceleration_error", "x_rate"):
        rows = slide(dynamics=Formula(lambda f, a: f - a, ("force", "x/acceleration"), name)).program(Trapezoidal(3))
        assert f"{name}[0]" in rows.row_names


def test_a_formula_with_wrong_slopes_starts_no_search():
    """The force starts at 0, where |f| has no slope: a point within limits shows it."""
    burnt = Integral(Formula(lambda f: abs(f), "force", "fuel"))
    with pytest.raises(InvalidInput, match="the slope of 'fuel' by 'force'"):
        slide(goals=burnt, duration=3.0).solve(HermiteSimpson(5))


@pytest.mark.parametrize(
    "transcription", [BSplines(8), BSplines(6, points=2), HermiteSimpson(6), Radau(5, 3)], ids=repr
)
@pytest.mark.parametrize("between", [(0.48, 0.52), (0.501, 0.502), (0.3, 0.3)])
def test_limits_in_a_short_part_of_a_motion_hold_there(between, transcription):
    """Also where none of the nodes that the transcription has by itself lies in it."""
    free = slide(goals=Smoothness("*/acceleration"), duration=1.0, dynamics=()).with_(
        variables=(Coordinate("x", (-3.0, 3.0), None, None, 0, 1, 0, 0),),
        constraints=Throughout("x/value", (0.9, 1.0), between=between),
    )
    motion = free.solve(transcription)
    assert motion.solved
    assert motion.at(between[:1] if between[0] == between[1] else between).column("x/value").min() > 0.9 - 1e-6
    assert not motion.violations(finer=10, threshold=1e-3)


def test_moments_of_constraints_are_nodes():
    # at the start Radau's points have no control of their own
    first = slide(constraints=Throughout("force", (0.0, 0.5), between=(0.0, 0.0))).program(Radau(5, 3))
    assert "force[0]" in first.row_names
    for transcription in (BSplines(8), HermiteSimpson(5)):
        with pytest.raises(InvalidInput, match=r"1\.5 is no fraction of the duration"):
            slide(constraints=At(1.5, "force", 0.0)).program(transcription)


def test_equations_are_looked_at_between_the_points_where_they_hold():
    """Splines keep to them at as many points as they have coefficients to spare, collocation at every node."""
    swing = Problem(
        (
            Coordinate("th", (-8, 8), (-15, 15), (-200, 200), 0, np.pi, 0, 0),
            Control("u", (-3, 3)),
        ),
        4.0,
        Formula(lambda th, a, u: a + 9.81 * np.sin(th) - u, ("th/value", "th/acceleration", "u"), "balance"),
        Effort("u"),
    )
    motion = swing.solve(BSplines(40))
    assert motion.solved
    assert not motion.violations()
    (worst,) = (one for one in motion.violations(finer=10) if one.name.startswith("balance at "))
    assert worst.amount >= np.abs(motion["balance"]).max() > 0.1
    at = float(worst.name.split()[-2])
    assert_allclose(abs(motion.at([at]).column("balance")), worst.amount, rtol=1e-3)
    assert "Equations of the dynamics are missed between the points" in motion.explain()
    assert f"balance at {motion.time[np.argmax(np.abs(motion['balance']))]:.6g} s" in motion.explain()
    explicit = swing.with_(
        dynamics=Formula(lambda th, u: u - 9.81 * np.sin(th), ("th/value", "u"), "th/acceleration"),
        variables=(Coordinate("th", (-8, 8), (-15, 15), None, 0, np.pi, 0, 0), Control("u", (-3, 3))),
    ).solve(BSplines(40))
    assert explicit.violations(finer=10)[0].name.startswith("dynamics of th/acceleration at ")
    assert "dynamics of th/acceleration at" in explicit.explain()
    nodes = swing.with_(variables=(swing.variables[0], Control("u", (-30, 30)))).solve(HermiteSimpson(20))
    assert nodes.solved
    assert np.abs(nodes["balance"]).max() < 1e-6
    assert "Equations" not in nodes.explain()
    assert any(one.name.startswith("balance at ") for one in nodes.violations(finer=10))


def test_pairs_and_guesses_that_match_nothing_are_named():
    with pytest.raises(InvalidInput, match=r"pairs: no periodic variable has '_right' or '_left' .* x/value, x/speed"):
        slide(constraints=Periodic("x/*", pairs={"_right": "_left"})).program(Trapezoidal(3))
    with pytest.raises(InvalidInput, match="pairs: no periodic variable has '_right'"):
        slide(constraints=Periodic("x/*", pairs={"x": "x", "_right": "_left"})).program(Trapezoidal(3))
    other = Problem(Coordinate("y", (0, 1), initial=0, final=1), 1.0, goals=Smoothness("y/acceleration"))
    motion = other.solve(HermiteSimpson(3))
    for guess in (motion, motion.to_table()):
        with pytest.raises(
            InvalidInput, match=r"no variable of this problem; it has y/value, .* the problem has x/value"
        ):
            slide().solve(Trapezoidal(5), guess)
    both = Problem((*slide().variables, Coordinate("y", (0, 1))), (0.1, 5.0), slide().dynamics, Time())
    assert both.solve(Trapezoidal(5), motion).solved


def test_limits_may_be_on_one_side():
    assert limits_of((0.5, None)) == (0.5, np.inf)
    assert limits_of((None, 0.5)) == (-np.inf, 0.5)
    assert limits_of((None, None)) == limits_of(None) == (-np.inf, np.inf)
    ahead = slide(constraints=At(0.5, "x/value", (0.6, None)), goals=Effort("force"), duration=3.0).solve(
        Trapezoidal(10)
    )
    assert_allclose(ahead.at([1.5]).column("x/value"), 0.6, atol=1e-5)
    for wrong in ("a", (0, 1, 2), ("a", 1), (1,), [[0, 1]], {"a": 1}, object()):
        with pytest.raises(InvalidInput, match=r"knee: give a number, \(lower, upper\), \(lower, None\)"):
            limits_of(wrong, "knee")


class Doubled:
    """A node function of a user, with slopes and values of any shape."""

    inputs, outputs = ("force",), ("x/acceleration",)
    pattern = (np.array([0]), np.array([0]))

    def __init__(self, values=np.ones_like, slopes=lambda v: (2 * v, np.full_like(v, 2.0))):
        self.values, self.slopes = lambda v: 2 * v * values(v), slopes


def test_what_a_search_cannot_start_from_is_named():
    for guess, words in (
        (np.ones((3, 3)), "guess: ndarray is none; give a motion, a table"),
        ("x", "guess: str is none"),
        ({"force": np.ones((3, 3))}, r"guess of 'force': shape \(3, 3\); give a finite number"),
        ({"force": "x"}, "guess of 'force': 'x'; give"),
        ({"force": np.nan}, "guess of 'force': nan; give"),
        ({"force": []}, r"guess of 'force': \[\]; give"),
    ):
        with pytest.raises(InvalidInput, match=words):
            slide().solve(Trapezoidal(3), guess)
    assert slide(dynamics=Doubled()).solve(Trapezoidal(4)).solved
    for function, words in (
        (Doubled(slopes=lambda v: 2 * v), "slopes returns two arrays, values and slopes"),
        (
            Doubled(slopes=lambda v: (v, v.ravel())),
            r"slopes have shape \(5,\); they need \(5, 1\), \(nodes, entries of",
        ),
        (Doubled(slopes=lambda v: (v[:, 0], v)), r"values of slopes have shape \(5,\)"),
        (Doubled(values=lambda v: np.ones(2)), r"values have shape \(5, 2\); they need \(5, 1\), \(nodes, outputs\)"),
    ):
        with pytest.raises(InvalidInput, match=words):
            slide(dynamics=function).solve(Trapezoidal(4))
    motion = slide().solve(Trapezoidal(5))
    for wrong in ("force", Formula, 3):
        with pytest.raises(InvalidInput, match=r"evaluate: .* is no node function; give Formula"):
            motion.evaluate(wrong)


def test_a_formula_need_not_be_known_everywhere_within_limits():
    """The search, which starts at 0 and stays near it, never comes to where this one raises."""

    def cost(force):
        if np.abs(force.real).max() > 40.0:
            raise ValueError("too strong")
        return force**2

    strong = slide(goals=Integral(Formula(cost, "force", "cost")), duration=1.0)
    strong = strong.with_(variables=(strong.variables[0], Control("force", (-1e3, 1e3))))
    assert_allclose(strong.solve(HermiteSimpson(4)).objective, 12.0, rtol=1e-6)


def test_other_tools_take_predicted_motions(tmp_path):
    """As they are, as tables, and as files; nothing is doubted about them."""
    model = arm()
    moments = InverseDynamics(model)
    limits = {"value": (-1.6, 3.1), "speed": (-20.0, 20.0), "initial_speed": 0.0, "final_speed": 0.0}
    ends = {"shoulder_flexion": (0.0, 1.2), "elbow_flexion": (0.2, 0.5)}
    coordinates = [Coordinate(name, initial=a, final=b, **limits) for name, (a, b) in ends.items()]
    found = Problem(tuple(coordinates), duration=0.8, goals=Effort(moments)).solve(BSplines(8))
    found.write(tmp_path / "swing.sto")
    q, asked = np.stack([found[f"{name}/value"] for name in model.coordinate_names], 1), found.to_table()
    tau = np.stack([found[f"{name}/moment"] for name in model.coordinate_names], 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for table in (asked, read_storage(tmp_path / "swing.sto")):
            assert_allclose(table.coordinates(model), q, atol=1e-8)
            assert_allclose(musculo.inverse_dynamics(model, table, table, table), tau, atol=1e-6)
            assert_allclose(musculo.motion_of(model, table).q, q, atol=1e-8)
        shown = musculo.view(model, found).data
    assert shown["frames"]["shown"] == len(found.time)
    assert shown == musculo.view(model, q, found.time).data


def test_a_search_in_degrees_is_warned_of_once():
    model, still = arm(), {"initial_speed": 0.0, "final_speed": 0.0}
    flexion = Coordinate("shoulder_flexion", (-90, 180), (-500, 500), initial=0, final=70, **still)
    bend = Coordinate("elbow_flexion", (0, 140), (-500, 500), initial=20, final=30, **still)
    swing = Problem((flexion, bend), duration=0.8, goals=Effort(InverseDynamics(model)))
    for _ in range(2):
        with pytest.warns(MusculoWarning, match="q: shoulder_flexion reaches 70 rad, .*: are these degrees") as told:
            swing.solve(HermiteSimpson(12), max_iterations=5)
        assert len({str(one.message).partition(":")[0] for one in told}) == len(told)
        assert {one.filename for one in told} == {__file__}
