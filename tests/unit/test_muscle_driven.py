"""Models with muscles as node functions: values beside public functions, slopes and curvatures beside differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo.errors import Unsupported
from musculo.model.joints import BallJoint
from musculo.muscle import fit_paths, with_de_groote_fregly_muscles
from musculo.trajectory import MuscleDriven
from musculo.trajectory.muscles.node_paths import ExactPaths, MixedPaths, PolynomialPaths

# Central differences of values in steps of 1e-6: of slopes up to 1e3.
STEP, DIFFERENCES = 1e-6, 1e-6
# Curvatures are themselves differences of exact slopes in steps of 1e-6 and 1e-5.
CURVATURE = 1e-4
# The same numbers by two roads.
ROUNDING = 1e-10


def arm_model():
    """The demo's arm; one tendon is rigid, one muscle is its excitation, and one is pennate."""
    model = with_de_groote_fregly_muscles(musculo.demo.arm())
    model = model.with_force("biceps_short", ignore_tendon_compliance=True)
    model = model.with_force("triceps_long", pennation_angle_at_optimal=0.2)
    return model.with_force("brachialis", ignore_activation_dynamics=True)


@pytest.fixture(scope="module")
def polynomials():
    """The arm with paths that are polynomials, whatever the error."""
    return fit_paths(arm_model(), tolerance=0.1).model


FUNCTIONS = ("exact", "polynomials", "mixed", "rigid", "torques")


@pytest.fixture(scope="module")
def functions(polynomials):
    torques = arm_model().replace(forces=())
    return {
        "exact": MuscleDriven(arm_model(), reserves=5.0),
        "polynomials": MuscleDriven(polynomials, reserves=5.0),
        "mixed": MuscleDriven(fit_paths(arm_model()).model, reserves=5.0),
        "rigid": MuscleDriven(polynomials, reserves=5.0, tendons="rigid"),
        "torques": MuscleDriven(torques, reserves=5.0),
    }


def states(f, nodes=4, seed=2):
    rng, x = np.random.default_rng(seed), f.layout
    v = rng.normal(0.0, 1.0, (nodes, len(f.inputs)))
    v[:, x.value] = rng.uniform(0.4, 1.2, (nodes, len(x.value)))
    v[:, x.excitation] = rng.uniform(0.1, 0.9, (nodes, len(x.excitation)))
    v[:, x.activation] = rng.uniform(0.1, 0.9, (nodes, len(x.activation)))
    v[:, x.tension] = rng.uniform(0.05, 0.5, (nodes, len(x.tension)))
    return v


def dense(f, v):
    found = np.zeros((len(v), len(f.outputs), len(f.inputs)))
    found[:, f.pattern[0], f.pattern[1]] = f.slopes(v)[1]
    return found


@pytest.mark.parametrize("which", FUNCTIONS)
def test_slopes(functions, which):
    f = functions[which]
    v = states(f)
    exact, values = dense(f, v), f.values(v)
    assert f.slopes(v)[0] == pytest.approx(values, abs=ROUNDING)
    for k in range(len(f.inputs) - 1):
        step = STEP * np.eye(len(f.inputs))[k]
        slope = (f.values(v + step) - f.values(v - step)) / (2 * STEP)
        assert exact[:, :, k] == pytest.approx(slope, rel=DIFFERENCES, abs=DIFFERENCES * (1.0 + np.abs(slope).max()))


@pytest.mark.parametrize("which", FUNCTIONS)
def test_curvatures(functions, which):
    f = functions[which]
    v, size = states(f), len(f.inputs)
    multipliers = np.random.default_rng(5).normal(size=(len(v), len(f.outputs)))
    rows, columns = f.curvature_pattern
    assert (rows >= columns).all()
    assert len(np.unique(rows * size + columns)) == len(rows)
    found = np.zeros((len(v), size, size))
    found[:, rows, columns] = found[:, columns, rows] = f.curvatures(v, multipliers)
    for k in range(size - 1):
        step = STEP * np.eye(size)[k]
        ahead, behind = (np.einsum("koi,ko->ki", dense(f, v + s), multipliers) for s in (step, -step))
        second = (ahead - behind) / (2 * STEP)
        assert found[:, k] == pytest.approx(second, rel=CURVATURE, abs=CURVATURE * (1.0 + np.abs(second).max()))


def test_moments_are_what_a_motion_needs_less_what_pulls(functions):
    f = functions["exact"]
    v, x, m = states(f), f.layout, f.muscles
    q, u, udot = v[:, x.value], v[:, x.speed], v[:, x.acceleration]
    paths = musculo.muscle_geometry(f.model, q, u)
    force = np.empty_like(paths.length)
    stiff = musculo.muscle_equilibrium(f.model, paths.length, paths.speed, v[:, x.activation], tendon="rigid")
    force[:, m.rigid] = stiff.tendon_force[:, m.rigid]
    force[:, m.elastic] = v[:, x.tension] * m.max_force[m.elastic]
    need = musculo.inverse_dynamics(f.model, q, u, udot)
    expected = need - np.einsum("kmu,km->ku", paths.moment_arm, force) - 5.0 * v[:, x.control]
    assert f.values(v)[:, :2] == pytest.approx(expected, abs=1e-9 * np.abs(force).max())


def test_kinds_of_paths(functions, polynomials):
    assert isinstance(functions["exact"].paths, ExactPaths)
    assert isinstance(functions["mixed"].paths, MixedPaths)
    paths = functions["polynomials"].paths
    assert isinstance(paths, PolynomialPaths)
    z = states(functions["polynomials"])[:, functions["polynomials"].layout.value]
    exact = ExactPaths(polynomials, functions["polynomials"].embedding, None)
    one, other = paths.at(z, z, True), exact.at(z, z, True)
    n, muscles = z.shape[1], len(polynomials.muscles)

    def spread(found, own):
        full = np.zeros((len(z), muscles, n + 1))
        np.put_along_axis(full, np.broadcast_to(own, found.shape), found, axis=2)
        return full[:, :, :n]

    assert one.length == pytest.approx(other.length, abs=ROUNDING)
    assert spread(one.arms, paths.own) == pytest.approx(spread(other.arms, exact.own), abs=ROUNDING)


def test_what_is_not_known_is_refused():
    model = musculo.demo.arm()
    with pytest.raises(Unsupported, match="with_de_groote_fregly_muscles"):
        MuscleDriven(model)
    angles = tuple(musculo.Coordinate(name) for name in ("one", "two", "three"))
    ball = BallJoint(model.joints[0].name, model.joints[0].parent, model.joints[0].child, angles)
    with pytest.raises(Unsupported, match=r"rates of coordinates|derivative of a coordinate"):
        MuscleDriven(replace(model, joints=(ball, *model.joints[1:]), forces=(), markers=()))
