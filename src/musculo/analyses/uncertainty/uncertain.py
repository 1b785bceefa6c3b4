"""How uncertain the results of a trial are, and which input that comes from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from musculo.analyses.static_optimization.least_effort import check_power
from musculo.analyses.static_optimization.reserves import Reserves
from musculo.analyses.uncertainty.inputs import Step, UncertainInput
from musculo.analyses.uncertainty.sample_chain import OUTPUTS, ChainOptions, SampleChain, Sampled
from musculo.analyses.uncertainty.sampling import Progress, SampleStore, draw, family_size, run_samples
from musculo.analyses.uncertainty.spread import spread_of
from musculo.analyses.uncertainty.uncertain_outputs import SampleStatus, Uncertainty
from musculo.arrays import FloatArray
from musculo.dynamics.inverse import Device, on_gpu
from musculo.dynamics.loads.external import ExternalLoad
from musculo.dynamics.loads.load_choice import Choice
from musculo.errors import InvalidInput, UnknownName
from musculo.like import Like, Wrapping, wrapping_of
from musculo.model.model import Model
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers

PERCENTILES = (5.0, 25.0, 50.0, 75.0, 95.0)
_STEP_WORDS = {
    Step.KINEMATICS: "inverse kinematics did not converge",
    Step.MOMENTS: "moments are not finite",
    Step.MUSCLES: "no activations serve the moments",
    Step.LOADS: "loads of joints are not finite",
}


def uncertainty(
    model: Model,
    markers: Markers,
    loads: ExternalLoads | ExternalLoad | Sequence[ExternalLoad] = (),
    inputs: Sequence[UncertainInput] | UncertainInput = (),
    *,
    samples: int = 1000,
    seed: int = 0,
    outputs: Sequence[str] | str | None = None,
    percentiles: Sequence[float] = PERCENTILES,
    cutoff: float | None = 6.0,
    weights: Mapping[str, float] | None = None,
    reserves: Reserves | None = 1.0,
    power: float = 2.0,
    joints: str | Sequence[str] | None = None,
    on: Choice = "child",
    frame: Choice = "ground",
    like: Like | None = None,
    wrapping: Wrapping | None = None,
    threads: int | None = None,
    device: Device = "cpu",
    progress: Progress | None = None,
) -> Uncertainty:
    """Monte Carlo of a whole trial: inverse kinematics, moments, muscle geometry, static optimization, joint loads.

    Every sample is a subject and a recording that differ from those given by one draw of all inputs, the same over the
    trial. All steps are made anew for it, with the functions of the same names (`inverse_kinematics`, `motion_of`,
    `inverse_dynamics`, `path_wrenches`, `static_optimization`, `joint_loads`), whose answers on `model_of(sample)` are
    the same to their accuracy.

    The share of an input is its first-order Sobol index, Var E(y | input) / Var y: the part of the variance that would
    vanish if that input alone were known. Samples come in families of one base and a partner for each input, which has
    the base's numbers for that input and others for the rest; the share is the correlation of bases and partners, with
    a standard error of (1 - share^2) / sqrt(families). An input that a step does not know, such as a mass in inverse
    kinematics, has a share of zero. All samples count for percentiles.

    Guarantees: the same answer to the last bit for any number of threads; the first samples of a longer run are those
                of a shorter one; inputs without spread leave everything as it is, bit by bit.

    Args:
        model: the subject, without closed loops.
        markers: the recording.
        loads: from outside, for instance ground reactions.
        inputs: what is uncertain: `MarkerPlacement(sd=0.01)`, `SegmentMass(cv=0.05)`,
            `MuscleParameter("max_isometric_force", cv=0.1)`, ...; each is a group of its own.
        samples: how many in all.
        seed: another one gives other draws.
        outputs: some of "angle", "moment", "activation", "muscle_force", "joint_force", "joint_moment" and
            "joint_force_size"; all by default. Steps that none of them needs are not made.
        percentiles: which [%].
        cutoff: of the filter of coordinates [Hz]; None for none.
        weights: of markers by name, as in `inverse_kinematics`.
        reserves: optimal forces of extra actuators, as in `static_optimization`, so that every draw can be served.
        power: of activations.
        joints, on, frame: which loads, as in `joint_loads`.
        like, wrapping: "opensim" for OpenSim's muscle paths.
        threads: how many at once; all cores by default.
        device: "cpu", or "gpu", where everything from markers to joint loads stays on the device; the same but for
            rounding. The first call compiles, once for a machine.
        progress: called now and then with the numbers of samples done and of all.

    Raises:
        InvalidInput, UnknownName: numbers or names that do not fit.
        Unsupported: closed loops, or forces along paths that are no muscles; on the GPU what it does not know.
        NoDevice: device="gpu" where there is none.
    """
    gpu = on_gpu(device)
    groups = (inputs,) if isinstance(inputs, UncertainInput) else tuple(inputs)
    _check(groups, samples, seed, percentiles, threads)
    chosen = _chosen(outputs)
    last = max(OUTPUTS[name] for name in chosen)
    options = ChainOptions(
        cutoff, weights, reserves, check_power(power), joints, on, frame, wrapping_of(like, wrapping)
    )
    given = [loads] if isinstance(loads, ExternalLoad) else loads
    chain = SampleChain(model, markers, given, options, last)
    for one in groups:
        if not one.size(chain.varied):
            raise InvalidInput(f"{one!r}: the trial has nothing of that kind; leave it out")
    nominal = chain.nominal(chosen)
    store = SampleStore(samples, nominal)
    errors: list[str] = []
    if gpu:
        from musculo.analyses.uncertainty.chain_on_gpu import GpuChain

        GpuChain(chain, [draw(groups, chain.varied, seed, k) for k in range(samples)]).run(store, progress)
    else:

        def sampled(k: int) -> Sampled:
            return chain.run(draw(groups, chain.varied, seed, k), chosen)

        errors = run_samples(sampled, store, samples, threads, progress)
    spread = spread_of(store.values, tuple(percentiles), len(groups), threads)
    counts = store.failed.sum(axis=1)
    status = np.where(counts == 0, SampleStatus.DONE, SampleStatus.INCOMPLETE).astype(np.int64)
    status[store.failed[:, Step.KINEMATICS] > 0] = SampleStatus.FAILED

    def by_output(values: FloatArray) -> dict[str, FloatArray]:
        front = values.shape[:-1]
        return {name: values[..., at].reshape(*front, *store.shapes[name]) for name, at in store.columns.items()}

    share, error = by_output(spread.share), by_output(spread.share_error)
    for name in chosen:
        _settle_shares([one.reaches <= OUTPUTS[name] for one in groups], share[name], error[name])
    return Uncertainty(
        model=model,
        time=chain.time,
        input_names=tuple(one.label for one in groups),
        percents=tuple(float(p) for p in percentiles),
        outputs=chosen,
        labels={name: chain.names(name) for name in chosen},
        nominal=nominal.arrays,
        percentiles=by_output(spread.percentiles),
        mean=by_output(spread.mean),
        sd=by_output(spread.sd),
        share=share,
        share_error=error,
        status=status,
        failed_frames={step.name.lower(): int(store.failed[:, step].sum()) for step in Step},
        seed=seed,
        options={
            "samples": samples,
            "seed": seed,
            "inputs": "; ".join(map(repr, groups)),
            "cutoff": cutoff,
            "power": power,
            "wrapping": options.wrapping,
        },
        notes=(*chain.notes, *_failures(store, samples), *(f"a sample failed: {text}" for text in errors[:3])),
        _varied=chain.varied,
        _inputs=groups,
    )


def _check(
    groups: tuple[UncertainInput, ...], samples: object, seed: object, percentiles: Sequence[float], threads: object
) -> None:
    if not groups or not all(isinstance(one, UncertainInput) for one in groups):
        raise InvalidInput(
            "inputs are what is uncertain: give some, for instance [MarkerPlacement(sd=0.01), SegmentMass(cv=0.05)]"
        )
    labels = [one.label for one in groups]
    for label in labels:
        if labels.count(label) > 1:
            raise InvalidInput(f"two inputs are called {label!r}; give one of each kind")
    size = family_size(len(groups))
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 1:
        raise InvalidInput(f"samples is {samples!r}; give a whole number, for instance {1000 // size * size}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise InvalidInput(f"seed is {seed!r}; give a whole number of zero or more")
    if not len(percentiles) or not all(0.0 <= p <= 100.0 for p in percentiles):
        raise InvalidInput(f"percentiles are {percentiles!r}; give numbers from 0 to 100")
    if threads is not None and (not isinstance(threads, int) or threads < 1):
        raise InvalidInput(f"threads is {threads!r}; give a whole number of 1 or more, or None for all cores")


def _chosen(outputs: Sequence[str] | str | None) -> tuple[str, ...]:
    asked = tuple(OUTPUTS) if outputs is None else (outputs,) if isinstance(outputs, str) else tuple(outputs)
    for name in asked:
        if name not in OUTPUTS:
            raise UnknownName("output", name, OUTPUTS, "outputs")
    if not asked:
        raise InvalidInput(f"outputs are none; known: {', '.join(OUTPUTS)}")
    return tuple(name for name in OUTPUTS if name in asked)


def _settle_shares(reaches: Sequence[bool], share: FloatArray, error: FloatArray) -> None:
    """Inputs that a step does not know have no share of it; one that is alone has all."""
    for g, one in enumerate(reaches):
        if not one or sum(reaches) == 1:
            known = np.isfinite(share[g])
            share[g][known], error[g][known] = float(one), 0.0


def _failures(store: SampleStore, samples: int) -> list[str]:
    """Which steps failed, how often, and where it was worst."""
    told = []
    for step in Step:
        column = store.failed[:, step]
        if column.any():
            told.append(
                f"{_STEP_WORDS[step]} in {int(column.sum())} frames of {int((column > 0).sum())} of {samples} samples, "
                f"most in sample {int(column.argmax())} ({int(column.max())} frames); they are left out of what follows"
            )
    return told
