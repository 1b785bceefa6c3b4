"""Paths that are functions of coordinates against a running OpenSim: those of files, and those that `fit_paths` makes.

Polynomials of both are sums of the same products; only rounding differs. Measured: 6e-16 m, 3e-15 m/s.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from musculo import demo, muscle_geometry, read_osim, write_osim
from musculo.analyses.muscle_analysis import moment_arms
from musculo.errors import InvalidFile, InvalidModel, UnknownName
from musculo.functions import Linear, MultivariatePolynomial, Polynomial, Scaled, SimmSpline, Sine
from musculo.io import with_function_paths
from musculo.model import Coordinate, CoordinateCoupler, Model, PinJoint, Placement
from musculo.model.body import Body
from musculo.model.force import Muscle
from musculo.model.function_path import FunctionPath
from musculo.muscle.fitted_paths.polynomial_paths import fit_paths
from support.opensim_server import in_opensim
from support.recorded_data import NO_DATA, recorded

ROUNDING = 1e-13
POSES = 7
FITTED_BY_OPENSIM = "rajagopal_walk/subject_walk_scaled_FunctionBasedPathSet.xml"
LENGTH = MultivariatePolynomial(2, 3, (0.3, 0.02, 0.01, -0.005, -0.03, 0.05, 0.004, 0.01, 0.02, -0.01))
ARMS = tuple(MultivariatePolynomial(2, 2, c) for c in ((0.05, 0.01, 0.02, 0.3, 0.1, 0.2), (0.07, 0.03, 0.1, 0, 0, 0.4)))
SPEED = MultivariatePolynomial(4, 1, (0.1, 4.0, 3.0, 2.0, 1.0))
PATHS = {
    "polynomial": (("q1", "q2"), LENGTH, {}),
    "other order": (("q2", "q1"), LENGTH, {}),
    "moment arms": (("q1", "q2"), LENGTH, {"moment_arm_functions": ARMS}),
    "speed": (("q1", "q2"), LENGTH, {"lengthening_speed_function": SPEED}),
    "both": (("q1", "q2"), LENGTH, {"moment_arm_functions": ARMS, "lengthening_speed_function": SPEED}),
    "one": (("q2",), Polynomial((0.1, -0.2, 0.03, 0.5)), {}),
    "spline": (("q1",), SimmSpline((-2.0, -0.5, 0.5, 2.0), (0.2, 0.25, 0.3, 0.1)), {}),
    "wave": (("q2",), Sine(0.1, 2.0, 0.3, 0.5), {}),
    "times": (("q1", "q2"), Scaled(LENGTH, 2.5), {}),
    "line": (("q1", "q2"), MultivariatePolynomial(2, 1, (0.4, 0.1, 0.2)), {}),
}


def two_hinges(coupled: bool) -> Model:
    """Two hinges in a row, and a muscle of every kind of path; coupled: the second turns with the first."""
    joints = (
        PinJoint("j1", Placement("ground"), Placement("a"), (Coordinate("q1", range=(-1.0, 1.0)),)),
        PinJoint("j2", Placement("a"), Placement("b"), (Coordinate("q2", range=(-1.0, 1.0)),)),
    )
    coupler = CoordinateCoupler("c", dependent="q2", independents=("q1",), function=Linear(2.0, 0.1))
    forces = tuple(
        Muscle(
            name.replace(" ", "_"),
            "Thelen2003Muscle",
            path=FunctionPath(coordinates=coordinates, length_function=function, **more),
        )
        for name, (coordinates, function, more) in PATHS.items()
    )
    return Model("hinges", (Body("a", 1.0), Body("b", 1.0)), joints, (coupler,) if coupled else (), forces=forces)


def opensim_side(model_file: str, poses: list, speeds: list, coordinates: list) -> dict:
    """Lengths, speeds and moment arms over all coordinates as OpenSim computes them."""
    import opensim

    model = opensim.Model(model_file)
    state = model.initSystem()
    of = [model.getCoordinateSet().get(name) for name in coordinates]
    muscles = [model.getMuscles().get(i) for i in range(model.getMuscles().getSize())]
    found: dict = {"length": [], "speed": [], "arm": []}
    for q, u in zip(poses, speeds, strict=True):
        for c, value, speed in zip(of, q, u, strict=True):
            c.setValue(state, value, False)
            c.setSpeedValue(state, speed)
        model.realizeVelocity(state)
        found["length"].append([m.getLength(state) for m in muscles])
        found["speed"].append([m.getLengtheningSpeed(state) for m in muscles])
        found["arm"].append([[m.computeMomentArm(state, c) for c in of] for m in muscles])
    return found


def opensim_replaced(model_file: str, set_file: str, poses: list, coordinates: list) -> list:
    """Lengths of all muscles where OpenSim puts the paths of a file in place of the model's."""
    import opensim

    processor = opensim.ModelProcessor(model_file)
    processor.append(opensim.ModOpReplacePathsWithFunctionBasedPaths(set_file))
    model = processor.process()
    state = model.initSystem()
    found = []
    for q in poses:
        for name, value in zip(coordinates, q, strict=True):
            model.getCoordinateSet().get(name).setValue(state, value, False)
        model.realizePosition(state)
        found.append([model.getMuscles().get(i).getLength(state) for i in range(model.getMuscles().getSize())])
    return found


def compared(file: Path, model: Model, q: np.ndarray, u: np.ndarray) -> None:
    """OpenSim's numbers and ours like OpenSim's, of one file."""
    theirs = in_opensim(opensim_side, str(file), q.tolist(), u.tolist(), list(model.coordinate_names))
    again = read_osim(file)
    ours = muscle_geometry(again, q, u, like="opensim")
    arms = moment_arms(again, ours, q, again.speed_names)
    assert np.allclose(ours.length, theirs["length"], rtol=0, atol=ROUNDING)
    assert np.allclose(ours.speed, theirs["speed"], rtol=0, atol=ROUNDING)
    assert np.allclose(arms, theirs["arm"], rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("coupled", [False, True])
def test_functions_of_a_file_mean_what_they_mean_in_opensim(tmp_path, coupled):
    """Moment arms are those of a path's own coordinates, also where one of them follows another."""
    model = two_hinges(coupled)
    assert write_osim(model, tmp_path / "m.osim") == ()
    random = np.random.default_rng(5)
    q, u = random.uniform(-1.0, 1.0, (POSES, 2)), random.uniform(-2.0, 2.0, (POSES, 2))
    if coupled:
        q[:, 1], u[:, 1] = 2.0 * q[:, 0] + 0.1, 2.0 * u[:, 0]
    compared(tmp_path / "m.osim", model, q, u)


def test_fitted_paths_are_the_same_in_opensim(tmp_path):
    fitted = fit_paths(demo.arm(), samples=400)
    assert fitted.fitted
    assert write_osim(fitted.model, tmp_path / "fitted.osim") == ()
    text = (tmp_path / "fitted.osim").read_text()
    assert text.count("<FunctionBasedPath ") == len(fitted.fitted)
    names = list(fitted.names)
    own = [names.index(name) for name in fitted.fitted]
    random = np.random.default_rng(5)
    low, high = np.array([c.range for c in fitted.model.coordinates]).T
    q = random.uniform(low, high, (POSES, len(low)))
    model = fitted.model.replace(forces=tuple(fitted.model.muscles[k] for k in own))
    write_osim(model, tmp_path / "only.osim")
    compared(tmp_path / "only.osim", model, q, random.normal(size=(POSES, len(model.speed_names))))


def path_set(file: Path, **lengths: str) -> Path:
    """A file of paths over the elbow, with the XML of each length's function."""
    paths = "".join(
        f'<FunctionBasedPath name="/forceset/{name}"><coordinate_paths>/jointset/elbow/elbow_flexion</coordinate_paths>'
        f"<length_function>{function}</length_function></FunctionBasedPath>"
        for name, function in lengths.items()
    )
    head = '<?xml version="1.0" encoding="UTF-8" ?><OpenSimDocument Version="40600">'
    file.write_text(
        f"{head}<Set_FunctionBasedPath_><objects>{paths}</objects></Set_FunctionBasedPath_></OpenSimDocument>"
    )
    return file


LINE = "<PolynomialFunction><coefficients>-0.02 0.4</coefficients></PolynomialFunction>"
WAVE = "<Sine><amplitude>0.1</amplitude><omega>1</omega><phase>0.2</phase><offset>0.3</offset></Sine>"


def test_a_file_of_paths_replaces_those_of_a_model_as_in_opensim(tmp_path):
    model = demo.arm()
    file = path_set(tmp_path / "paths.xml", brachialis=LINE, biceps_long=WAVE)
    write_osim(model, tmp_path / "arm.osim")
    ours = with_function_paths(model, file)
    assert [m.name for m in ours.muscles if isinstance(m.path, FunctionPath)] == ["biceps_long", "brachialis"]
    q = np.random.default_rng(2).uniform(0.1, 1.0, (POSES, 2))
    theirs = in_opensim(
        opensim_replaced, str(tmp_path / "arm.osim"), str(file), q.tolist(), list(model.coordinate_names)
    )
    # the other paths go through the digits of a file
    assert np.allclose(muscle_geometry(ours, q, like="opensim").length, theirs, rtol=0, atol=1e-11)


def test_a_file_of_paths_that_does_not_fit_is_refused(tmp_path):
    with pytest.raises(UnknownName, match="'brachialis'"):
        with_function_paths(demo.arm(), path_set(tmp_path / "a.xml", brachiales=LINE))
    with pytest.raises(InvalidModel, match="no function for its length"):
        with_function_paths(demo.arm(), path_set(tmp_path / "b.xml", brachialis=""))
    other = tmp_path / "c.xml"
    other.write_text('<OpenSimDocument Version="40600"><MarkerSet/></OpenSimDocument>')
    with pytest.raises(InvalidFile, match="no <Set_FunctionBasedPath_>"):
        with_function_paths(demo.arm(), other)


@pytest.mark.skipif(not recorded(FITTED_BY_OPENSIM), reason=NO_DATA)
def test_paths_that_opensim_fitted(tmp_path):
    """Rajagopal's model with the polynomials that ship with OpenSim's example of walking."""
    (file,) = recorded(FITTED_BY_OPENSIM)
    source = file.with_name("subject_walk_scaled.osim")
    model = with_function_paths(read_osim(source), file)
    assert all(isinstance(m.path, FunctionPath) for m in model.muscles)
    q = np.random.default_rng(2).uniform(-0.3, 0.5, (POSES, len(model.coordinates)))
    theirs = in_opensim(opensim_replaced, str(source), str(file), q.tolist(), list(model.coordinate_names))
    assert np.allclose(muscle_geometry(model, q).length, theirs, rtol=0, atol=ROUNDING)
