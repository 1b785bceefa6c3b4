"""Fitted paths: polynomials are found again, errors are those on new samples, and what is not good enough stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from musculo import MusculoError, demo, embedding_of, muscle_geometry
from musculo.errors import InvalidInput, UnknownName
from musculo.functions import Linear, MultivariatePolynomial
from musculo.model import BallJoint, Coordinate, CoordinateCoupler, Model, PathSpring, PinJoint, Placement
from musculo.model.body import Body
from musculo.model.function_path import FunctionPath
from musculo.model.model_path import PathPoint
from musculo.muscle.fitted_paths.path_polynomials import PolynomialBasis, fit_polynomials
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths
from unit.test_function_paths import QUADRATIC, function_path, model_of, seven_hinges
from unit.test_path_points import A, B, C, hinge

FEW = 200
# Of a polynomial of degree 5 in powers of angles up to 2: sums of some 50 products, and the normal matrix squares them.
SOLVED = 1e-9


def test_a_polynomial_is_found_again():
    """Values and slopes of a polynomial of degree 3 give its coefficients, also where higher degrees are allowed."""
    truth = MultivariatePolynomial(2, 3, tuple(np.linspace(-0.3, 0.4, 10)))
    random = np.random.default_rng(1)
    low, high = np.array([-2.0, 0.1]), np.array([0.5, 2.0])
    z = low + (high - low) * random.random((60, 2))
    length, arms = truth(*z.T)[:, None], -truth.gradient(*z.T)[:, None]
    fits = fit_polynomials(PolynomialBasis(low, high, 5), z, length, arms)
    for degree in (3, 4, 5):
        found = fits.basis.polynomial(fits.coefficients(degree)[:, 0], degree)
        assert np.allclose(found(*z.T), length[:, 0], rtol=0, atol=SOLVED)
        assert np.allclose(found.gradient(*z.T), -arms[:, 0], rtol=0, atol=10 * SOLVED)
    lower = fits.basis.polynomial(fits.coefficients(2)[:, 0], 2)
    assert np.abs(lower(*z.T) - length[:, 0]).max() > 1e-2


def test_too_few_samples_are_refused():
    z = np.zeros((3, 2))
    with pytest.raises(InvalidInput, match="3 samples of 2 coordinates do not settle the 10 coefficients"):
        fit_polynomials(PolynomialBasis(z[0] - 1, z[0] + 1, 3), z, z[:, :1], z[:, None])


def test_errors_are_those_of_the_model_on_other_poses():
    """A sample of our own, five times as large, is nowhere much worse than the samples that gave the errors."""
    model = demo.arm()
    fitted = fit_paths(model, samples=FEW)
    e = embedding_of(model)
    low, high = np.array([fitted.ranges[name] for name in e.coordinate_names]).T
    q = e.coordinates(low + (high - low) * np.random.default_rng(99).random((5 * FEW, len(low))))
    exact, polynomial = muscle_geometry(model, q), muscle_geometry(fitted.model, q)
    dl = np.abs(exact.length - polynomial.length)
    dr = np.abs(exact.moment_arm_independent - polynomial.moment_arm_independent).max(axis=2)
    own = fitted.degree >= 0
    assert 0 < own.sum() < len(own)
    assert (dl.max(axis=0)[own] <= 2.0 * fitted.length_worst[own]).all()
    assert (dr.max(axis=0)[own] <= 2.0 * fitted.arm_worst[own]).all()
    assert np.sqrt((dl**2).mean(axis=0))[own] == pytest.approx(fitted.length_rms[own], rel=0.3)
    assert (dl[:, ~own] == 0.0).all()
    assert (dr[:, ~own] == 0.0).all()


@pytest.mark.parametrize("tolerance", [2e-3, 2e-4])
def test_what_is_within_the_tolerance_is_fitted_and_nothing_else(tolerance):
    fitted = fit_paths(demo.arm(), samples=FEW, tolerance=tolerance)
    good = np.maximum(fitted.length_rms, fitted.arm_rms) <= tolerance
    good &= np.maximum(fitted.length_worst, fitted.arm_worst) <= 10.0 * tolerance
    assert (good == (fitted.degree >= 0)).all()
    for name, is_good, why in zip(fitted.names, good, fitted.reason, strict=True):
        assert isinstance(fitted.model.muscle(name).path, FunctionPath) == is_good
        assert bool(why) != is_good
        assert is_good or f"may be {1e3 * tolerance:.3g} mm" in why or f"may be {1e4 * tolerance:.3g} mm" in why


def test_a_stricter_tolerance_takes_higher_degrees():
    loose, strict = (fit_paths(demo.arm(), samples=FEW, tolerance=t, names=["brachialis"]) for t in (2e-3, 4e-4))
    k = loose.names.index("brachialis")
    assert 0 < loose.degree[k] < strict.degree[k]
    assert strict.arm_rms[k] < loose.arm_rms[k]
    assert loose.fitted == strict.fitted == ("brachialis",)
    assert fit_paths(demo.arm(), samples=FEW, degree=4, names="brachialis", tolerance=1.0).degree[k] == 4


def test_the_same_seed_gives_the_same_polynomials():
    first, second, other = (fit_paths(demo.arm(), samples=FEW, seed=seed).model for seed in (0, 0, 1))
    assert first.muscle("brachialis").path == second.muscle("brachialis").path
    assert first.muscle("brachialis").path != other.muscle("brachialis").path


def coupled() -> Model:
    """The second hinge turns twice as far as the first; a third is locked; the path crosses all of them."""
    joints = (
        PinJoint("j1", Placement("ground"), Placement("a"), (Coordinate("q1", range=(-0.5, 0.5)),)),
        PinJoint("j2", Placement("a", (1.0, 0.0, 0.0)), Placement("b"), (Coordinate("q2", range=(-1.0, 1.0)),)),
        PinJoint("j3", Placement("b", (1.0, 0.0, 0.0)), Placement("c"), (Coordinate("q3", locked=True),)),
    )
    bodies = (Body("a", 1.0), Body("b", 1.0), Body("c", 1.0))
    points = (PathPoint("p", "ground", (-0.5, 0.4, 0.0)), PathPoint("r", "c", (0.5, 0.3, 0.0)))
    coupler = CoordinateCoupler("k", dependent="q2", independents=("q1",), function=Linear(2.0, 0.1))
    force = hinge(*points).muscles[0]
    return Model("coupled", bodies, joints, (coupler,), forces=(force,))


def test_a_coupled_coordinate_is_no_argument_and_its_part_of_the_moment_arm_is_kept():
    model = coupled()
    fitted = fit_paths(model, samples=FEW, tolerance=1e-4)
    assert fitted.coordinates == (("q1",),)
    q = embedding_of(model).coordinates(np.linspace(-0.4, 0.4, 9)[:, None])
    exact, polynomial = muscle_geometry(model, q), muscle_geometry(fitted.model, q)
    assert np.abs(exact.length - polynomial.length).max() <= 2.0 * fitted.length_worst[0]
    difference = exact.moment_arm_independent - polynomial.moment_arm_independent
    assert np.abs(difference).max() <= 2.0 * fitted.arm_worst[0]
    assert np.abs(exact.moment_arm[..., 0] - polynomial.moment_arm[..., 0]).max() > 0.1


def test_samples_lie_around_the_frames_of_a_recording():
    model = hinge(A, B)
    motion = np.column_stack([np.linspace(0.2, 0.5, 20), np.full(20, 0.7)])
    fitted = fit_paths(model, motion=motion, samples=FEW, margin=0.05)
    assert 0.15 <= fitted.ranges["turn"][0] < 0.17
    assert 0.53 < fitted.ranges["turn"][1] <= 0.55
    usual = fit_paths(model, motion=motion, samples=FEW)
    assert 0.2 - np.deg2rad(10.0) <= usual.ranges["turn"][0] < 0.1
    assert usual.ranges["slide"] == pytest.approx((0.69, 0.71), abs=2e-4)
    assert usual.length_worst[0] < fit_paths(model, samples=FEW, degree=usual.degree[0], tolerance=1.0).length_worst[0]


def test_a_motion_beyond_the_samples_is_told_by_coordinate():
    fitted = fit_paths(demo.arm(), samples=FEW, ranges={"elbow_flexion": (0.5, 1.0)}, tolerance=1.0)
    assert fitted.beyond(np.array([[0.2, 0.6], [0.1, 0.9]])) == ()
    (told,) = fitted.beyond(np.array([[0.2, 0.6], [0.1, 1.2], [0.1, 0.1], [0.1, 0.6]]))
    assert told.startswith("'elbow_flexion' leaves the samples, 0.5")
    assert "in 2 of 4 frames, first in frame 1, and goes to 0.1: 6 paths are extrapolated" in told
    only = fit_paths(demo.arm(), samples=FEW, ranges={"elbow_flexion": (0.5, 1.0)}, tolerance=1.0, names="brachialis")
    assert only.beyond([9.0, 0.7]) == ()


def test_springs_are_fitted_and_functions_are_left_alone():
    cord = hinge(A, C).muscles[0].path
    spring = PathSpring("s", path=replace(cord, name="line"), stiffness=1.0)
    model = model_of(function_path(("turn", "slide"), QUADRATIC))
    model = model.replace(forces=(*model.forces, spring))
    fitted = fit_paths(model, samples=FEW, ranges={"turn": (-0.5, 0.5), "slide": (0.0, 0.2)})
    assert fitted.fitted == ("s",)
    assert fitted.reason[0] == "it is a function of coordinates already"
    assert fitted.model.forces[-1].path.name == "line"
    assert fitted.ranges["slide"] == pytest.approx((0.0, 0.2), abs=1e-3)


def test_a_path_on_one_body_stays():
    fitted = fit_paths(hinge(B, replace(B, name="d", location=(1.0, 3.0, 4.0))), samples=FEW)
    assert fitted.reason == ("its length does not change with any coordinate",)
    assert np.isnan(fitted.length_rms).all()


def test_degrees_are_lower_for_many_coordinates():
    """Seven coordinates: degree 5 has 792 coefficients, degree 6 would have 1716."""
    chain = seven_hinges()
    joints = [
        replace(j, parent=replace(j.parent, translation=(0.3, 0.0, 0.0))) if k else j
        for k, j in enumerate(chain.joints)
    ]
    joints = [replace(j, coordinates=(replace(j.coordinates[0], range=(-0.3, 0.3)),)) for j in joints]
    points = (PathPoint("p", "ground", (-0.5, 0.4, 0.0)), PathPoint("r", "b6", (0.5, 0.3, 0.0)))
    model = chain.replace(joints=tuple(joints), forces=hinge(*points).forces)
    fitted = fit_paths(model, samples=FEW, degree=(2, 6), tolerance=1e-2)
    assert fitted.coordinates == (chain.coordinate_names,)
    assert 2 <= fitted.degree[0] <= 5
    strict = fit_paths(model, samples=FEW, degree=(6, 6), tolerance=1e-2)
    assert strict.reason == ("polynomials of degree 6 of its 7 coordinates have more than 1500 terms",)


def test_a_path_over_a_ball_stays():
    """Its speeds are an angular velocity: a length of angles has no slope over them."""
    ball = BallJoint("ball", Placement("ground"), Placement("arm"), tuple(Coordinate(n) for n in ("x", "y", "z")))
    model = Model("ball", (Body("arm", 1.0),), (ball,), forces=hinge(A, B).forces)
    fitted = fit_paths(model, samples=FEW)
    assert "which is an angular velocity" in fitted.reason[0]
    assert fitted.model.forces == model.forces


def test_the_table_and_the_words():
    fitted = fit_paths(demo.arm(), samples=FEW)
    table = fitted.to_pandas()
    assert list(table.index) == list(fitted.names)
    assert (table["arm_worst"] == fitted.arm_worst).all()
    assert table.loc["brachialis", "coordinates"] == "elbow_flexion"
    assert repr(fitted).startswith(f"FittedPathModel({len(fitted.fitted)} of 6 paths fitted, length error ")
    assert len(fitted.notes) == 6 - len(fitted.fitted)
    assert len(repr(fitted)) < 160
    dataset = fitted.to_xarray()
    assert dataset["arm_worst"].sel(path="brachialis").item() == fitted.arm_worst[fitted.names.index("brachialis")]
    assert dataset.attrs["made_by"] == "fit_paths"


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"tolerance": 0.0}, InvalidInput, "tolerance is 0.0"),
        ({"degree": (0, 3)}, InvalidInput, "degree is (0, 3)"),
        ({"degree": (4, 2)}, InvalidInput, "degree is (4, 2)"),
        ({"samples": 3}, InvalidInput, "samples is 3"),
        ({"names": ["cork"]}, UnknownName, "'cord'"),
        ({"ranges": {"tur": (0, 1)}}, UnknownName, "'turn'"),
        ({"ranges": {"turn": (1.0, 0.0)}}, InvalidInput, "range of 'turn' is (1.0, 0.0)"),
        ({"ranges": {"turn": (0.0, 1.0)}, "motion": np.zeros((4, 2))}, InvalidInput, "not both"),
        ({"motion": np.zeros((4, 2)), "margin": -1.0}, InvalidInput, "margin is -1.0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, error, words):
    with pytest.raises(MusculoError) as caught:
        fit_paths(hinge(A, B), **{"samples": FEW, **options})
    assert isinstance(caught.value, error)
    assert words in str(caught.value)


def test_a_range_of_a_coupled_coordinate_is_refused():
    with pytest.raises(InvalidInput, match="'q2', which follows other coordinates"):
        fit_paths(coupled(), samples=FEW, ranges={"q2": (0.0, 1.0)})
