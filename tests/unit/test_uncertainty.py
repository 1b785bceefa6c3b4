"""Monte Carlo of a trial: laws of percentiles and shares, reproducibility, and agreement with the public functions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import musculo
from musculo import (
    Body,
    CenterOfPressure,
    ExternalLoad,
    LoadMagnitude,
    MarkerPlacement,
    Markers,
    Model,
    MuscleParameter,
    PinJoint,
    Placement,
    SegmentMass,
    SegmentMassCenter,
)
from musculo.analyses.uncertainty import uncertain
from musculo.analyses.uncertainty.inputs import Varied, lognormal, unchanged
from musculo.analyses.uncertainty.sampling import draw, family
from musculo.analyses.uncertainty.spread import spread_of
from musculo.analyses.uncertainty.subject_changes import NodeInertias, changed_model
from musculo.compile.compiled import compile_model
from musculo.demo.chain import ArmChain
from musculo.demo.shipped_models import arm
from musculo.errors import InvalidInput, MusculoError, MusculoWarning, UnknownName, Unsupported
from musculo.model import Coordinate, Marker, Muscle
from musculo.muscle.fibers.compile_muscles import compile_muscles
from musculo.muscle.fibers.scaled_muscles import scaled_muscles
from musculo.results import SampleStatus

# Sums and products of a few dozen numbers.
ROUNDING = 1e-12
# Accelerations of poses that agree to 1e-11 rad, over frames of 10 ms.
CHAIN = 1e-6
# Standard errors that a share may be off.
ERRORS = 4.5
INPUTS = (
    MarkerPlacement(0.003),
    SegmentMass(0.1),
    MuscleParameter("max_isometric_force", 0.2),
    MuscleParameter("optimal_fiber_length", 0.05),
)


@pytest.fixture(scope="module")
def trial() -> tuple[Model, Markers]:
    chain = ArmChain(0.5e-3, 6.0, 0)
    time = chain.markers.time
    return chain.model, chain.markers.between(time[20], time[45])


def pendulum() -> tuple[Model, Markers]:
    """A rod of 2 kg on a pin that hangs at 0.3 rad, with two markers on it."""
    pin = PinJoint("pin", Placement("ground", name="base"), "rod", (Coordinate("angle"),))
    rod = Body("rod", 2.0, (0.0, -0.5, 0.0), (0.1, 0.02, 0.1, 0.0, 0.0, 0.0))
    marks = (Marker("a", "rod", (0.0, -1.0, 0.0)), Marker("b", "rod", (0.1, -0.4, 0.0)))
    model = Model("pendulum", (rod,), (pin,), markers=marks)
    time = np.arange(12) * 0.01
    seen = musculo.kinematics(model, np.full((12, 1), 0.3)).markers()
    return model, Markers(time, ("a", "b"), seen, rate=100.0)


# --- laws ------------------------------------------------------------------------------------------------------------
def test_inputs_without_spread_leave_everything_as_it_is_bit_by_bit(trial):
    model, markers = trial
    none = (MarkerPlacement(0.0), SegmentMass(0.0), MuscleParameter("tendon_slack_length", 0.0))
    found = musculo.uncertainty(model, markers, (), none, samples=5)
    assert found.outputs == tuple(uncertain.OUTPUTS)
    for name in found.outputs:
        for values in (*found.percentiles[name], found.mean[name]):
            assert_array_equal(values, found.nominal[name])
        assert not found.sd[name].any()
        assert np.isnan(found.share[name]).all()
    assert (found.status == SampleStatus.DONE).all()


def test_a_moment_that_is_linear_in_a_mass_has_the_percentiles_of_the_mass():
    """At rest the moment of a pendulum is the mass times g l sin(angle)."""
    model, markers = pendulum()
    found = musculo.uncertainty(model, markers, (), SegmentMass(0.2), samples=60, seed=7, outputs="moment", cutoff=None)
    factors = [lognormal(np.random.default_rng([7, 0, k]).standard_normal(1), 0.2)[0] for k in range(60)]
    moment = 2.0 * 9.80665 * 0.5 * np.sin(0.3)
    assert_allclose(found.nominal["moment"], moment, rtol=1e-7)  # accelerations of rounding
    for k, percent in enumerate(found.percents):
        expected = found.nominal["moment"] * np.percentile(factors, percent)
        assert_allclose(found.percentiles["moment"][k], expected, rtol=1e-7)
    assert_allclose(found.sd["moment"], found.nominal["moment"] * np.std(factors, ddof=1), rtol=1e-6)
    assert_array_equal(found.share["moment"], 1.0)


def test_factors_have_mean_one_and_the_spread_that_is_asked_for():
    factors = lognormal(np.random.default_rng(0).standard_normal(400_000), 0.3)
    assert_allclose(factors.mean(), 1.0, atol=5 * 0.3 / np.sqrt(400_000))
    assert_allclose(factors.std(), 0.3, rtol=0.02)


def test_shares_of_a_sum_are_those_of_its_terms():
    """y = 3 a + 2 b + c, and 5: shares 9/14, 4/14, 1/14, and nothing; and a product, which neither causes alone."""
    rng = np.random.default_rng(1)
    families = 3000
    base = rng.standard_normal((families, 1, 3))
    others = np.broadcast_to(rng.standard_normal((families, 4, 3)), (families, 4, 3)).copy()
    others[:, :1] = base
    for g in range(3):
        others[:, 1 + g, g] = base[:, 0, g]
    x = others.reshape(-1, 3)
    y = np.stack([x @ [3.0, 2.0, 1.0], np.full(len(x), 5.0), x[:, 0] * x[:, 1]], axis=1)[:, None]
    found = spread_of(y, (5.0, 50.0, 95.0), 3)
    share, error = found.share[:, 0], found.share_error[:, 0]
    assert np.all(np.abs(share[:, 0] - np.array([9, 4, 1]) / 14) < ERRORS * error[:, 0])
    assert abs(share[:, 0].sum() - 1.0) < ERRORS * np.linalg.norm(error[:, 0])
    assert np.isnan(share[:, 1]).all()
    assert np.all(np.abs(share[:, 2]) < ERRORS * error[:, 2])
    assert_allclose(found.percentiles[:, 0], np.percentile(y[:, 0], (5, 50, 95), axis=0), rtol=ROUNDING, atol=ROUNDING)
    assert_allclose(found.sd[0], y[:, 0].std(axis=0, ddof=1), rtol=1e-10)


def test_missing_samples_do_not_count():
    y = np.random.default_rng(2).standard_normal((40, 2, 3))
    some = y.copy()
    some[[3, 8, 20], 1, 2] = np.nan
    some[:, 0, 0] = np.nan
    found = spread_of(some, (25.0,), 1)
    assert_allclose(found.percentiles[0, 1, 2], np.nanpercentile(some[:, 1, 2], 25.0), rtol=ROUNDING)
    assert_allclose(found.mean[1, 2], np.nanmean(some[:, 1, 2]), rtol=1e-10)
    assert np.isnan([found.percentiles[0, 0, 0], found.mean[0, 0], found.sd[0, 0]]).all()


def test_a_partner_shares_one_group_with_its_base_and_nothing_else():
    varied = Varied(("m",), ("b",), ("s",), ())
    inputs = INPUTS[:3]
    base = draw(inputs, varied, 3, 8)
    assert [family(k, 3) for k in range(8, 12)] == [(8, -1), (8, 0), (8, 1), (8, 2)]
    fields = ("marker_shift", "mass", "muscle")
    for partner in (9, 10, 11):
        other = draw(inputs, varied, 3, partner)
        same = [bool((getattr(other, name) == getattr(base, name)).all()) for name in fields]
        assert same == [partner == 9 + g for g in range(3)]


# --- the chain -------------------------------------------------------------------------------------------------------
def test_neither_threads_nor_longer_runs_change_a_bit(trial):
    model, markers = trial
    one = musculo.uncertainty(model, markers, (), INPUTS, samples=10, seed=4, threads=1, percentiles=(0, 100))
    more = musculo.uncertainty(model, markers, (), INPUTS, samples=10, seed=4, threads=3, percentiles=(0, 100))
    for name in one.outputs:
        assert_array_equal(one.percentiles[name], more.percentiles[name])
        assert_array_equal(one.share[name], more.share[name])
        assert_array_equal(one.mean[name], more.mean[name])
    longer = musculo.uncertainty(model, markers, (), INPUTS, samples=15, seed=4, percentiles=(0, 100), outputs="moment")
    assert (longer.percentiles["moment"][0] <= one.percentiles["moment"][0]).all()
    assert (longer.percentiles["moment"][1] >= one.percentiles["moment"][1]).all()
    other = musculo.uncertainty(model, markers, (), INPUTS, samples=10, seed=5, outputs="moment")
    assert (other.mean["moment"] != one.mean["moment"]).all()


def test_a_sample_is_what_the_public_functions_give_of_its_model(trial):
    model, markers = trial
    hand = ExternalLoad("r_ulna_radius_hand", (3.0, 10.0, 1.0), (0.1, -0.2, 0.0), (0.1, 0.2, 0.3))
    if hand.body not in model.body_names:
        hand = replace(hand, body=model.body_names[-1])
    inputs = (*INPUTS, SegmentMassCenter(0.01), LoadMagnitude(0.1), CenterOfPressure(0.02))
    found = musculo.uncertainty(model, markers, hand, inputs, samples=1, seed=9, percentiles=(50,))
    other = found.model_of(0)
    changes = draw(inputs, found._varied, 9, 0)
    load = replace(
        hand,
        force=changes.load[0] * np.array(hand.force),
        moment=changes.load[0] * np.array(hand.moment),
        point=np.array(hand.point) + changes.point_shift[0],
    )
    poses = musculo.inverse_kinematics(other, markers)
    motion = musculo.motion_of(other, poses.to_table(), 6.0)
    tau = musculo.inverse_dynamics(other, motion.q, motion.u, motion.udot, [load])
    optimum = musculo.static_optimization(other, motion.q, motion.u, tau=tau, reserves=1.0)
    loads = musculo.joint_loads(other, motion.q, motion.u, motion.udot, muscle_forces=optimum.force, loads=[load])
    expected = {
        "angle": motion.q,
        "moment": tau,
        "activation": optimum.activation,
        "muscle_force": optimum.force,
        "joint_force": loads.force,
        "joint_moment": loads.moment,
        "joint_force_size": np.linalg.norm(loads.force, axis=2),
    }
    for name, values in expected.items():
        assert_allclose(found.mean[name], values, rtol=CHAIN, atol=CHAIN * np.abs(values).max(), err_msg=name)
        assert np.abs(found.mean[name] - found.nominal[name]).max() > 10 * CHAIN * np.abs(values).max(), name


def test_muscles_scaled_are_those_of_the_model_changed():
    kinds = (
        "Millard2012EquilibriumMuscle",
        "Thelen2003Muscle",
        "DeGrooteFregly2016Muscle",
        "Schutte1993Muscle_Deprecated",
    )
    first = arm().muscles[0]
    muscles = tuple(
        replace(first, name=kind, kind=kind, pennation_angle_at_optimal=0.3, parameters=()) for kind in kinds
    )
    varied = Varied((), ("rod",), tuple(kinds), ())
    model, _ = pendulum()
    path = replace(
        first.path,
        wraps=(),
        points=tuple(replace(p, frame=f) for p, f in zip(first.path.points[:2], ("ground", "rod"), strict=True)),
    )
    model = model.replace(forces=tuple(replace(m, path=path) for m in muscles))
    changes = unchanged(varied)
    changes.muscle[:] = np.random.default_rng(0).uniform(0.8, 1.2, changes.muscle.shape)
    expected = compile_muscles(changed_model(model, varied, changes)).muscles
    found = scaled_muscles(compile_muscles(model), *changes.muscle).muscles
    for name in expected._fields:
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=ROUNDING, err_msg=name)


@pytest.mark.parametrize("merged", [True, False])
def test_inertias_of_nodes_are_those_of_the_model_changed(leg, merged):
    varied = Varied((), leg.body_names, leg.muscle_names, ())
    changes = unchanged(varied)
    rng = np.random.default_rng(0)
    changes.mass[:] = rng.uniform(0.5, 1.5, len(changes.mass))
    changes.center_shift[:] = 0.1 * rng.standard_normal(changes.center_shift.shape)
    expected = compile_model(changed_model(leg, varied, changes), merged).tree.inertia
    found = NodeInertias(leg, compile_model(leg, merged)).rows(changes.mass, changes.center_shift)
    assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING * np.abs(expected).max())


# --- what fails, and what is shown -----------------------------------------------------------------------------------
def test_samples_that_fail_are_counted_and_named(trial, monkeypatch):
    model, markers = trial
    run = uncertain.SampleChain._run

    def sometimes(self, changes):
        if changes.mass[0] > 1.05:
            raise MusculoError("this one fails")
        return run(self, changes)

    monkeypatch.setattr(uncertain.SampleChain, "_run", sometimes)
    found = musculo.uncertainty(model, markers, (), SegmentMass(0.1), samples=12, seed=1, outputs="moment")
    heavy = [draw((SegmentMass(0.1),), found._varied, 1, k).mass[0] > 1.05 for k in range(12)]
    assert 0 < sum(heavy) < 12
    assert_array_equal(found.status == SampleStatus.FAILED, heavy)
    assert any("this one fails" in note for note in found.notes)
    assert np.isfinite(found.percentiles["moment"]).all()


def test_frames_that_muscles_cannot_serve_are_left_out(trial):
    """Without reserves, muscles at a thousandth of their strength serve nothing."""
    model, markers = trial
    weak = MuscleParameter("max_isometric_force", 0.05)
    found = musculo.uncertainty(model.with_scaled_muscles(1e-3), markers, (), weak, samples=3, reserves=None)
    assert (found.status == SampleStatus.INCOMPLETE).all()
    assert found.failed_frames["muscles"] == 3 * len(found.time)
    assert np.isnan(found.percentiles["muscle_force"]).all()
    assert np.isfinite(found.percentiles["moment"]).all()
    assert any("no activations serve the moments" in note for note in found.notes)


def test_results_have_labels_bands_and_sources(trial):
    model, markers = trial
    found = musculo.uncertainty(model, markers, (), INPUTS, samples=15)
    data = found.to_xarray()
    assert data["muscle_force_percentile"].dims == ("time", "percentile", "muscle")
    assert data["joint_force_share"].dims == ("time", "input", "load", "axis")
    muscle = model.muscle_names[1]
    band = found.band(muscle, "muscle_force")
    assert band.names == ("nominal", "p5", "p25", "p50", "p75", "p95", "mean", "sd")
    assert_array_equal(band.column("p95"), found.percentiles["muscle_force"][4, :, 1])
    load = found.names("joint_force")[4]
    assert_array_equal(found.band(load, "joint_force").column("sd"), found.sd["joint_force"][:, 1, 1])
    sources = found.sources("angle")[model.coordinate_names[0]]
    assert sources == {one: float(one == "marker placement") for one in found.input_names}
    assert set(found.sources("moment")[model.speed_names[0]].values()) > {0.0}
    assert len(found.to_table().names) == 5 * sum(len(found.names(name)) for name in found.outputs)
    assert "15 samples of 26 frames" in repr(found)
    with pytest.raises(UnknownName, match="entry"):
        found.band("no muscle")


def test_mistakes_are_named(trial):
    model, markers = trial
    for inputs, options, error, text in (
        ((), {}, InvalidInput, "what is uncertain"),
        ((SegmentMass(), SegmentMass()), {}, InvalidInput, "two inputs"),
        (SegmentMass(bodies="no body"), {}, UnknownName, "no body"),
        (CenterOfPressure(), {}, InvalidInput, "nothing"),
        (SegmentMass(), {"samples": 0}, InvalidInput, "samples"),
        (SegmentMass(), {"seed": -1}, InvalidInput, "seed"),
        (SegmentMass(), {"percentiles": (101,)}, InvalidInput, "percentiles"),
        (SegmentMass(), {"outputs": "forces"}, UnknownName, "forces"),
        (SegmentMass(), {"threads": 0}, InvalidInput, "threads"),
    ):
        with pytest.raises(error, match=text):
            musculo.uncertainty(model, markers, (), inputs, **{"samples": 2, **options})
    with pytest.raises(InvalidInput, match=r"loads are None; give .* \(\) for none"):
        musculo.uncertainty(model, markers, None, SegmentMass(), samples=2)
    with pytest.warns(MusculoWarning, match="sd is 5 m: is this in millimeters"):
        MarkerPlacement(sd=5.0)
    with pytest.warns(MusculoWarning, match="cv is 10: is this in percent"):
        SegmentMass(cv=10.0)
    with pytest.raises(UnknownName, match="parameter"):
        MuscleParameter("strength")
    with pytest.raises(InvalidInput, match="sd"):
        MarkerPlacement(-1.0)
    with pytest.raises(InvalidInput, match="frames"):
        musculo.uncertainty(model, markers.between(*markers.time[:2]), (), SegmentMass(), samples=2)
    spring = musculo.model.PathSpring("spring", "PathSpring", path=model.muscles[0].path)
    with pytest.raises(Unsupported, match="spring"):
        musculo.uncertainty(model.with_force(spring), markers, (), SegmentMass(), samples=2)
    assert isinstance(model.muscles[0], Muscle)
