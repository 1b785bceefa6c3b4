"""Muscles in equilibrium: balances checkable by hand, assumptions that are named, input that is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from musculo.errors import InvalidInput, InvalidModel, Unsupported
from musculo.muscle.fibers.activation import activation_rate
from musculo.muscle.fibers.capacity import active_force_capacity
from musculo.muscle.fibers.equilibrium import Status, muscle_equilibrium, muscle_force
from musculo.muscle.hill_curves.curves import muscle_curves
from support.muscle_rig import ELASTIC, KINDS, MAX_FORCE, OPTIMAL, SLACK, model_of, muscle, one_of_each

# Newton stops where a step is 1e-9 of the lengths; the step squares the error, but for kinks in the curves.
BALANCE = 1e-9 * MAX_FORCE
ROUNDING = 1e-12
MILLARD, THELEN, DGF, SCHUTTE, DELP, RIGID, OLD_THELEN = KINDS


@pytest.fixture(scope="module")
def model():
    return one_of_each()


def states(model, n=200, seed=0):
    rng = np.random.default_rng(seed)
    shape = (n, len(model.muscles))
    return rng.uniform(0.22, 0.42, shape), rng.uniform(-0.5, 0.5, shape), rng.uniform(0.0, 1.0, shape)


def test_fibre_and_tendon_carry_the_same(model):
    length, speed, activation = states(model)
    r = muscle_equilibrium(model, length, speed, activation)
    balanced = r.status == Status.CONVERGED
    assert balanced.mean() > 0.8
    assert_allclose(r.tendon_force[balanced], r.fiber_force_along_tendon[balanced], atol=BALANCE)
    along = r.fiber_length * np.cos(r.pennation)
    assert_allclose(r.tendon_length + along, length, atol=1e-14)
    width = np.where(along > 0, r.fiber_length * np.sin(r.pennation), 0.0)
    assert_allclose(width, OPTIMAL * math.sin(0.3), atol=1e-14)


def test_tendon_at_its_curve_and_fibre_at_its_speed(model):
    """The tendon's force is that of its length; the fibre takes all of the path's speed."""
    length, speed, activation = states(model)
    r = muscle_equilibrium(model, length, speed, activation)
    for k, name in enumerate(model.muscle_names):
        ok = r.status[:, k] == Status.CONVERGED
        expected = np.cos(r.pennation[ok, k]) * speed[ok, k]
        assert_allclose(r.fiber_velocity[ok, k], expected, atol=1e-13)
        if name != RIGID:
            f = muscle_curves(model, name).tendon_force_length(r.tendon_length[ok, k] / SLACK)
            assert_allclose(r.tendon_force[ok, k], MAX_FORCE * f, rtol=1e-9, atol=1e-9)


def test_isometric_at_optimal_length_is_the_stretch_of_the_tendon():
    """At full activation with the fibre at its optimum, the tendon carries F0 at its strain for F0."""
    model = model_of(muscle(THELEN), muscle(MILLARD, "n"))
    r = muscle_equilibrium(model, [SLACK * 1.04 + OPTIMAL, SLACK * 1.049 + OPTIMAL], 0.0, 1.0)
    assert_allclose(r.tendon_force, MAX_FORCE, atol=BALANCE)
    assert_allclose(r.fiber_length, OPTIMAL, atol=1e-12)


def test_rigid_tendon_is_ruggiero_2020():
    """Eq. 21 for the fibre, eq. 20 as corrected for the force."""
    model = one_of_each((THELEN, MILLARD), pennation=0.35)
    L, v, a = 0.31, -0.2, 0.6
    r = muscle_equilibrium(model, L, v, a, tendon="rigid")
    h = OPTIMAL * math.sin(0.35)
    fiber = math.hypot(L - SLACK, h)
    angle = math.atan(h / (L - SLACK))
    w = v * math.cos(angle) / (10.0 * OPTIMAL)
    for k, (name, damping) in enumerate(((THELEN, 0.0), (MILLARD, 0.1))):
        c = muscle_curves(model, name)
        x = fiber / OPTIMAL
        force = a * c.active_force_length(x) * c.force_velocity(w, activation=a) + c.passive_force_length(x)
        assert_allclose(r.tendon_force[k], MAX_FORCE * (force + damping * w) * math.cos(angle), rtol=ROUNDING)
        assert_allclose([r.fiber_length[k], r.pennation[k], r.fiber_velocity[k]], [fiber, angle, v * math.cos(angle)])


def test_rigid_tendon_is_the_limit_of_a_stiff_one():
    stiff = (("FmaxTendonStrain", 1e-7),)
    model = model_of(muscle(THELEN, parameters=stiff, pennation_angle_at_optimal=0.2))
    elastic = muscle_equilibrium(model, 0.3, 0.1, 0.5)
    rigid = muscle_equilibrium(model, 0.3, 0.1, 0.5, tendon="rigid")
    assert_allclose(elastic.tendon_force, rigid.tendon_force, rtol=1e-6)


def test_a_short_path_leaves_the_tendon_slack(model):
    r = muscle_equilibrium(model, 0.9 * SLACK, 0.0, 0.5)
    assert (r.status == Status.TENDON_SLACK).all()
    assert_allclose(r.tendon_force, 0.0)
    assert_allclose(r.tendon_length + r.fiber_length * np.cos(r.pennation), 0.9 * SLACK)


def test_a_path_that_outruns_the_fibres_leaves_the_tendon_slack():
    model = model_of(muscle(MILLARD), muscle(THELEN, "t"))
    r = muscle_equilibrium(model, 0.3, -3.0, 0.5)
    assert (r.status == Status.TENDON_SLACK).all()
    assert_allclose(r.tendon_force, 0.0)
    assert_allclose(r.tendon_length, SLACK)
    # the fibres shorten as fast as they can without load
    assert (r.fiber_velocity < 0.0).all()
    assert (r.fiber_velocity > -3.0).all()


def test_fibres_stop_at_their_least_length():
    """Thelen's bell never ends, so a short path pulls the fibre to its stop: 84 degrees of pennation."""
    model = model_of(muscle(THELEN, pennation_angle_at_optimal=0.3))
    least = OPTIMAL * math.sin(0.3) / math.sin(math.acos(0.1))
    r = muscle_equilibrium(model, SLACK + 0.1 * least + 1e-5, 0.0, 1.0)
    assert r.status[0] == Status.FIBER_AT_MINIMUM
    assert_allclose(r.fiber_length, least)
    assert r.fiber_force_along_tendon[0] > r.tendon_force[0] >= 0.0
    assert_allclose(r.fiber_velocity, 0.0)


def test_force_from_the_state_returns_the_velocity_of_the_equilibrium(model):
    """muscle_force at the fibre lengths of muscle_equilibrium asks for the fibre velocities found there."""
    length, speed, activation = states(model, seed=4)
    activation = np.maximum(activation, 0.05)
    r = muscle_equilibrium(model, length, speed, activation)
    s = muscle_force(model, length, speed, activation, r.fiber_length)
    # Delp's curve and the undamped one are flat where nothing can be told from the force
    flat = np.isin(model.muscle_names, [DELP])
    same = (r.status == Status.CONVERGED) & (s.status == Status.CONVERGED) & ~flat
    assert same.mean() > 0.7
    assert_allclose(s.tendon_force[same], r.tendon_force[same], atol=BALANCE)
    assert_allclose(s.fiber_velocity[same], r.fiber_velocity[same], atol=2e-5)
    assert_allclose(s.active_fiber_force[same], r.active_fiber_force[same], atol=1e-5 * MAX_FORCE)


def test_static_method_ignores_the_speed_as_opensim_does():
    model = model_of(muscle(MILLARD))
    still, moving = (muscle_equilibrium(model, 0.31, v, 0.5, like="opensim") for v in (0.0, 0.4))
    assert_allclose(moving.fiber_length, still.fiber_length)
    assert abs(muscle_equilibrium(model, 0.31, 0.4, 0.5).fiber_length - still.fiber_length) > 1e-4


@pytest.mark.parametrize("method", ["exact", "opensim"])
def test_a_frame_does_not_depend_on_its_neighbours(model, method):
    """Eight frames are solved at once; each ends when it has its own answer, wherever it stands among the others."""
    length, speed, activation = states(model, n=21, seed=9)
    together = muscle_equilibrium(model, length, speed, activation, method=method)
    order = np.random.default_rng(1).permutation(len(length))
    shuffled = muscle_equilibrium(model, length[order], speed[order], activation[order], method=method)
    for field in ("tendon_force", "fiber_length", "fiber_velocity", "pennation", "stiffness", "status"):
        assert (getattr(shuffled, field) == getattr(together, field)[order]).all(), field
    alone = [muscle_equilibrium(model, length[k], speed[k], activation[k], method=method) for k in range(len(length))]
    assert_allclose([r.tendon_force for r in alone], together.tendon_force, atol=BALANCE)
    assert_allclose([r.pennation for r in alone], together.pennation, atol=1e-9)
    assert ([r.status for r in alone] == together.status).all()


@pytest.mark.parametrize("kind", KINDS)
def test_any_length_speed_and_activation_has_an_answer(kind):
    """Paths of a micrometre and of a million kilometres, at any speed."""
    model = model_of(muscle(kind, pennation_angle_at_optimal=0.3))
    L, v, a = np.meshgrid([0.0, 1e-6, 0.2, 0.25, 0.3, 1.0, 1e3, 1e9], [0.0, 0.1, -0.1, 1e12, -1e12], [0.0, 0.5, 1.0])
    for method in ("exact", "opensim"):
        r = muscle_equilibrium(model, L.reshape(-1, 1), v.reshape(-1, 1), a.reshape(-1, 1), method=method)
        assert r.converged
        assert np.isfinite(r.tendon_force).all()
        assert (r.tendon_force >= 0.0).all()
        assert np.isfinite(r.fiber_length).all()


@pytest.mark.parametrize("method", ["exact", "opensim"])
@pytest.mark.parametrize("slack", [1e-3, 3e-4, 1e-4, 1e-8])
@pytest.mark.parametrize("kind", ELASTIC)
def test_forces_are_finite_whatever_the_tendon(kind, slack, method):
    """e^(k strain) of a tendon of 0.1 mm overflows where the search for its strain begins."""
    model = model_of(muscle(kind, tendon_slack_length=slack))
    length = np.concatenate([np.linspace(0.0, 1.0, 101), [10.0, 1e2, 1e4, 1e100]])
    for speed, activation in ((0.0, 0.01), (-0.5, 1.0), (0.5, 0.3)):
        r = muscle_equilibrium(model, length[:, None], speed, activation, method=method)
        for values in vars(r).values():
            assert isinstance(values, tuple) or np.isfinite(values).all()
        assert r.converged or kind == THELEN  # which has no answer in OpenSim where the tendon falls slack
        one_by_one = [muscle_equilibrium(model, x, speed, activation, method=method).tendon_force[0] for x in length]
        # a float64 has 1e-16 of the length left for the strain of the tendon, and forces grow by e^(k strain)
        near = length < 1.0 if slack >= 1e-4 else length < 0.2
        assert_allclose(r.tendon_force[near, 0], np.array(one_by_one)[near], rtol=1e-7, atol=BALANCE)


def test_a_muscle_that_resists_nothing_has_no_stiffness():
    """Delp's without activation: neither a short fibre nor a tendon at its slack length pulls."""
    model = model_of(muscle(DELP))
    r = muscle_equilibrium(model, np.linspace(SLACK, SLACK + 0.5 * OPTIMAL, 20001)[:, None], 0.0, 0.0)
    assert np.isfinite(r.stiffness).all()
    assert (r.tendon_force <= BALANCE).all()


def test_tendon_forces_of_a_short_tendon_grow_with_the_path():
    model = model_of(muscle(DGF, tendon_slack_length=3e-4))
    length = np.linspace(0.05, 0.6, 5501)
    r = muscle_equilibrium(model, length[:, None], 0.0, 0.01)
    force = r.tendon_force[:, 0]
    assert (np.diff(force) >= -BALANCE).all()
    # the force is continuous: each step is what the stiffness at both its ends says
    rise = 0.5 * (r.stiffness[1:, 0] + r.stiffness[:-1, 0]) * np.diff(length)
    assert_allclose(np.diff(force), rise, rtol=1e-3, atol=1e-6 * MAX_FORCE)
    assert r.status[-1, 0] == Status.OVERSTRETCHED


def test_old_thelen_is_hill_with_damping_inside():
    """v = (F - a f_L) / (a f_L + F / Af + d) shortening, b = (2 + 2 / Af) (a f_L Flen - F) / (Flen - 1) lengthening."""
    model = model_of(muscle(OLD_THELEN))
    a, speed = 0.6, 10.0 * OPTIMAL * (5.0 + 0.6 * 5.0) / 10.0
    for rate in (-0.2, 0.1):
        r = muscle_equilibrium(model, 0.305, rate, a)
        x = r.fiber_length[0] / OPTIMAL
        pull, force = a * math.exp(-((x - 1.0) ** 2) / 0.5), r.active_fiber_force[0] / MAX_FORCE
        b = pull + force / 0.3 if rate < 0.0 else (2.0 + 2.0 / 0.3) * (1.8 * pull - force) / 0.8
        assert_allclose((force - pull) / (b + 0.05), rate / speed, rtol=1e-9)
        assert_allclose(r.passive_fiber_force[0], MAX_FORCE * math.exp(4.0 * (x - 1.0) / 0.6 - 4.0), rtol=1e-9)


def test_shapes_broadcast(model):
    n = len(model.muscles)
    single = muscle_equilibrium(model, 0.3, 0.0, 0.5)
    assert single.tendon_force.shape == (n,)
    assert single.muscles == model.muscle_names
    many = muscle_equilibrium(model, np.full((5, n), 0.3), np.zeros(n), 0.5, threads=1)
    assert many.tendon_force.shape == (5, n)
    assert_allclose(many.tendon_force, np.tile(single.tendon_force, (5, 1)))
    assert muscle_equilibrium(model_of(), 0.3, 0.0, 0.5).tendon_force.shape == (0,)


# --- activation and capacity ------------------------------------------------------------------------------------------
def test_activation_rates_by_hand(model):
    e, a = 0.8, 0.3
    rates = dict(zip(model.muscle_names, activation_rate(model, e, a), strict=True))
    k = 0.5 + 1.5 * a
    assert_allclose(rates[MILLARD], (e - a) / (0.010 * k))
    assert_allclose(rates[THELEN], (e - a) / (0.015 * k))
    g = 0.5 * math.tanh(0.1 * (e - a))
    assert_allclose(rates[DGF], (e - a) * ((0.5 + g) / (0.015 * k) + (0.5 - g) * k / 0.060))
    assert_allclose(rates[SCHUTTE], (e - a) * (7.667 * e + 1.459854) / 0.1)
    assert_allclose(rates[OLD_THELEN], (e - a) / 0.01)
    assert rates[RIGID] == 0.0
    falling = dict(zip(model.muscle_names, activation_rate(model, a, e), strict=True))
    assert_allclose(falling[THELEN], (a - e) * (0.5 + 1.5 * e) / 0.050)
    assert_allclose(falling[DELP], (a - e) * 1.459854 / 0.1)
    assert_allclose(falling[OLD_THELEN], (a - e) / 0.04)
    assert_allclose(activation_rate(model, 0.4, 0.4), 0.0)


def test_capacity_is_the_active_part_of_a_rigid_tendon(model):
    length, speed, _ = states(model, seed=7)
    r = muscle_equilibrium(model, length, speed, 1.0, tendon="rigid")
    force = np.maximum(r.active_fiber_force * np.cos(r.pennation), 0.0)
    pulls = r.status == Status.CONVERGED
    assert_allclose(active_force_capacity(model, length, speed)[pulls], force[pulls], rtol=1e-12, atol=1e-9)
    assert (active_force_capacity(model, 0.9 * SLACK, 0.0) == 0.0).all()


# --- input that is refused --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ELASTIC)
def test_a_tendon_of_no_length_cannot_stretch(kind):
    with pytest.raises(InvalidModel, match=r"muscle 'm': its tendon_slack_length is zero.*ignore_tendon_compliance"):
        muscle_equilibrium(model_of(muscle(kind, tendon_slack_length=0.0)), 0.1, 0.0, 0.5)


def test_a_rigid_tendon_may_have_no_length():
    model = model_of(muscle(MILLARD, tendon_slack_length=0.0, ignore_tendon_compliance=True))
    assert muscle_equilibrium(model, OPTIMAL, 0.0, 1.0).tendon_force[0] == pytest.approx(MAX_FORCE)


@pytest.mark.parametrize("kind", KINDS)
def test_a_tendon_of_no_length_is_enough_where_all_are_rigid(kind):
    model, same = (model_of(muscle(kind, tendon_slack_length=slack)) for slack in (0.0, SLACK))
    found = muscle_equilibrium(model, 0.09, 0.1, 0.5, tendon="rigid")
    expected = muscle_equilibrium(same, 0.09 + SLACK, 0.1, 0.5, tendon="rigid")
    assert_allclose(found.tendon_force, expected.tendon_force, rtol=1e-10)
    assert found.status[0] == Status.CONVERGED
    assert_allclose(active_force_capacity(model, 0.09, 0.1), active_force_capacity(same, 0.09 + SLACK, 0.1), rtol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_a_muscle_of_no_strength_has_the_fibres_of_any_other_and_pulls_nothing(kind):
    weak, strong = (model_of(muscle(kind, max_isometric_force=force)) for force in (0.0, MAX_FORCE))
    found, other = (muscle_equilibrium(model, 0.32, 0.01, 0.5) for model in (weak, strong))
    assert_allclose(found.fiber_length, other.fiber_length, rtol=1e-12)
    assert_allclose(found.tendon_force, 0.0)
    assert (other.tendon_force > 0.0).all()


@pytest.mark.parametrize("angle", [1.5, 1.57, 2.0, -0.1, math.nan])
@pytest.mark.parametrize("kind", KINDS)
def test_pennation_near_ninety_degrees_is_refused(kind, angle):
    with pytest.raises(InvalidModel, match=r"muscle 'm': its pennation_angle_at_optimal is .*near 90 degrees"):
        muscle_equilibrium(model_of(muscle(kind, pennation_angle_at_optimal=angle)), 0.3, 0.0, 0.5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"max_isometric_force": -1.0}, "max_isometric_force is -1 N; give zero or more"),
        ({"optimal_fiber_length": -0.1}, "optimal_fiber_length is -0.1; give a number above zero"),
        ({"tendon_slack_length": -0.1}, "tendon_slack_length is -0.1 m; give zero or more"),
        ({"max_contraction_velocity": 0.0}, "max_contraction_velocity is 0; give a number above zero"),
        ({"parameters": (("fiber_damping", -1.0),)}, "fiber_damping is -1; give zero or more"),
        ({"parameters": (("activation_time_constant", 0.0),)}, "activation_time_constant is 0; give a number above"),
        ({"parameters": (("fiber_damping", "none"),)}, "fiber_damping is 'none'; give a number"),
        ({"parameters": (("minimum_activation", 2.0),)}, "minimum_activation is 2; give zero or more and less than 1"),
        ({"parameters": (("minimum_activation", -0.1),)}, "minimum_activation is -0.1; give zero or more"),
        ({"parameters": (("maximum_pennation_angle", 2.0),)}, "maximum_pennation_angle is 2 rad; .* right angle"),
        ({"max_contraction_velocity": math.nan}, "max_contraction_velocity is nan; give a number above zero"),
        ({"optimal_fiber_length": 0.0}, "optimal_fiber_length is 0; give a number above zero"),
        ({"optimal_fiber_length": math.nan}, "optimal_fiber_length is nan; give a number above zero"),
    ],
)
def test_impossible_parameters_name_the_muscle(changes, message):
    with pytest.raises(InvalidModel, match=f"muscle 'm': its {message}"):
        muscle_equilibrium(model_of(muscle(MILLARD, **changes)), 0.3, 0.0, 0.5)


def test_unknown_kinds_are_named():
    with pytest.raises(Unsupported, match=r"muscle 'm' is a Blob2020Muscle.*known kinds: Millard2012"):
        muscle_equilibrium(model_of(muscle("Blob2020Muscle")), 0.3, 0.0, 0.5)


def test_a_fibre_with_a_mass_is_refused_with_the_way_out():
    message = r"muscle 'm' is a Millard2012AccelerationMuscle, whose fiber has a mass.*make it a Millard2012Equilibrium"
    with pytest.raises(Unsupported, match=message):
        muscle_equilibrium(model_of(muscle("Millard2012AccelerationMuscle")), 0.3, 0.0, 0.5)


@pytest.mark.parametrize("kind", [SCHUTTE, DELP, OLD_THELEN])
def test_deprecated_kinds_refuse_speeds_that_are_none(kind):
    """They do not move by it, but OpenSim's rule for their capacity does."""
    with pytest.raises(InvalidModel, match=r"muscle 'm': its max_contraction_velocity is nan"):
        active_force_capacity(model_of(muscle(kind, max_contraction_velocity=math.nan)), 0.3, 0.1, like="opensim")


def test_bad_arrays_are_placed(model):
    n = len(model.muscles)
    bad = np.full((3, n), 0.3)
    bad[2, 1] = np.nan
    with pytest.raises(InvalidInput, match=f"length holds nan at frame 2, muscle '{THELEN}'"):
        muscle_equilibrium(model, bad, 0.0, 0.5)
    with pytest.raises(InvalidInput, match=rf"speed has shape \(2,\); it needs \(frames, {n}\)"):
        muscle_equilibrium(model, 0.3, [0.0, 1.0], 0.5)
    with pytest.raises(InvalidInput, match=r"activation is 1.5; give numbers from 0 to 1"):
        muscle_equilibrium(model, 0.3, 0.0, 1.5)
    with pytest.raises(InvalidInput, match=r"activation is -0.2; give numbers from 0 to 1"):
        muscle_equilibrium(model, 0.3, 0.0, -0.2)
    with pytest.raises(InvalidInput, match=r"device 'tpu' is neither 'cpu' nor 'gpu'"):
        muscle_equilibrium(model, 0.3, 0.0, 0.5, device="tpu")
    with pytest.raises(InvalidInput, match="length is -1 m; a length is zero or more"):
        muscle_equilibrium(model, -1.0, 0.0, 0.5)
    with pytest.raises(InvalidInput, match="different numbers of frames"):
        muscle_equilibrium(model, np.full((2, n), 0.3), np.zeros((3, n)), 0.5)
    with pytest.raises(InvalidInput, match="tendon is 'as stated' or 'rigid'"):
        muscle_equilibrium(model, 0.3, 0.0, 0.5, tendon="soft")
    with pytest.raises(InvalidInput, match="method is 'exact' or 'opensim'"):
        active_force_capacity(model, 0.3, 0.0, method="quick")
    with pytest.raises(InvalidInput, match="fiber_length holds inf"):
        muscle_force(model, 0.3, 0.0, 0.5, math.inf)
    with pytest.raises(InvalidInput, match="excitation is -1"):
        activation_rate(model, -1.0, 0.5)


@pytest.mark.parametrize("tendon", ["as stated", "rigid"])
def test_a_muscle_that_would_be_torn_says_so(model, tendon):
    """Its path is ten times as long as it; lengths of a living muscle are as they were."""
    long = muscle_equilibrium(model, 3.0, 0.0, 0.5, tendon=tendon)
    assert (long.status == Status.OVERSTRETCHED).all()
    usual = muscle_equilibrium(model, np.linspace(0.25, 0.31, 20)[:, None] * np.ones(len(model.muscles)), 0.0, 1.0)
    assert not (usual.status == Status.OVERSTRETCHED).any()
    given = muscle_force(model, 3.0, 0.0, 0.5, 2.7, tendon=tendon)
    assert (given.status == Status.OVERSTRETCHED).all()
    assert long.converged


def test_what_is_printed_of_a_result_is_short(model):
    length = [[0.3] * len(model.muscles), [3.0] * len(model.muscles)]
    shown = repr(muscle_equilibrium(model, length, 0.0, 0.5))
    assert shown == f"MuscleForces(2 frames of {len(model.muscles)} muscles: 8 CONVERGED, 8 OVERSTRETCHED)"
    assert "one frame of" in repr(muscle_equilibrium(model, 0.3, 0.0, 0.5))
