"""Polynomials of coordinates in place of paths over points and surfaces: faster, with errors that are measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.embedding.speed_rates import turning_joints
from musculo.errors import InvalidInput, UnknownName
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.muscle.fitted_paths.fitted_path_model import FittedPathModel
from musculo.muscle.fitted_paths.path_polynomials import PolynomialBasis, fit_polynomials
from musculo.muscle.fitted_paths.path_samples import PathSamples, measure_paths, samples_around, samples_over_ranges
from musculo.muscle.paths.compile_paths import path_forces
from musculo.results.table import Table

# A path depends on a coordinate over which it has a moment arm larger than this somewhere [m].
_CROSSES = 1e-6
# The worst error on the samples may be so many times the tolerance, which is for the root mean square.
WORST = 10.0
# A degree is good enough that is within this part of the tolerance: the samples that test it are others.
_SURE = 0.9
# A polynomial has so many coefficients at most, whatever its degree and the number of its coordinates.
MOST_TERMS = 1500
# Powers of radians beyond this one are rounding.
HIGHEST_DEGREE = 12


@dataclass
class _Found:
    """What came of one path."""

    path: FunctionPath | None = None
    degree: int = -1
    terms: int = 0
    coordinates: tuple[str, ...] = ()
    reason: str = ""


def fit_paths(
    model: Model,
    *,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    motion: ArrayLike | Table | None = None,
    margin: float | None = None,
    tolerance: float = 5e-4,
    degree: int | tuple[int, int] = (2, 6),
    names: Iterable[str] | None = None,
    samples: int = 4000,
    seed: int = 0,
    threads: int | None = None,
) -> FittedPathModel:
    """A model in which paths are polynomials of the coordinates that they cross, with errors measured on new samples.

        l = p(z),   r_j = -dp/dz_j,   p of the lowest degree that is good enough

    Polynomials are fitted to exact geodesic lengths and moment arms together. Their coordinates are the independent
    ones: a path over a patella that follows the knee becomes a function of the knee angle. So `moment_arm_independent`
    and the motion that forces make are those of the exact path, while `moment_arm` per speed of the tree is on
    independent coordinates only. A path keeps its points and surfaces where no degree is good enough; `reason` says so.

    Source:     [Menegaldo2004] for polynomials of coordinates; OpenSim's PolynomialPathFitter, which also fits lengths
                and moment arms together and takes the lowest order within a tolerance.
    Departs:    moment arms are slopes of the polynomial, never functions of their own; errors are those on samples
                that took no part; a path that is not within the tolerance is not replaced.
    Guarantees: r = -dl/dz to rounding. Outside the sampled ranges a polynomial is an extrapolation.

    Args:
        model: the model.
        ranges: (lowest, highest) value by coordinate [rad, m]; by default the coordinates' own.
        motion: (frames, n) coordinates of a recording, or a table of them: samples lie around its frames instead.
        margin: how far around them [rad, m]; by default 10 degrees, and 1 cm for sliding coordinates.
        tolerance: the root mean square of the errors of the length and of each moment arm must not be larger, and the
            worst of them not larger than ten times as much [m].
        degree: the lowest and highest total degree, or the only one.
        names: forces whose paths are replaced; by default all that have points.
        samples: the number of poses to fit to; half as many choose the degree, and half as many again test it.
        seed: of the random numbers that choose the poses.
        threads: the number of threads; all cores by default.

    Raises:
        InvalidInput: a range, tolerance, degree or number of samples that cannot be used.
        UnknownName: a coordinate of `ranges` or a name that the model does not have.
        Unsupported: a constraint that musculo cannot compute, so that no coordinate is known to be independent.
    """
    low_degree, high_degree = _degrees(degree)
    if not tolerance > 0.0:
        raise InvalidInput(f"tolerance is {tolerance!r}; give a length above zero [m]")
    if isinstance(samples, bool) or samples != int(samples) or samples < 20:
        raise InvalidInput(f"samples is {samples!r}; give a whole number of 20 at least")
    wanted = _chosen(model, names)
    e = embedding_of(_released(model))
    random = np.random.default_rng(seed)
    if motion is None:
        draw = samples_over_ranges(model, e, ranges)
    elif ranges is None:
        draw = samples_around(model, e, motion, margin)
    else:
        raise InvalidInput("give ranges, or a motion whose frames the samples lie around, not both")
    fit, choose, test = (measure_paths(e, draw(n, random), threads) for n in (samples, samples // 2, samples // 2))
    everything = path_forces(model)
    found = {f.name: _Found(reason=_not_asked(f.path, f.name in wanted)) for f in everything}
    crossed = np.abs(fit.arms).max(axis=0) > _CROSSES
    groups: dict[tuple[int, ...], list[int]] = {}
    for k, force in enumerate(everything):
        if not found[force.name].reason:
            groups.setdefault(tuple(np.flatnonzero(crossed[k]).tolist()), []).append(k)
    for speeds, paths in groups.items():
        own = tuple(e.speed_names[j] for j in speeds)
        highest = _highest(len(own), (low_degree, high_degree))
        why = _no_polynomial(e, own)
        if not why and not highest:
            why = f"polynomials of degree {low_degree} of its {len(own)} coordinates have more than {MOST_TERMS} terms"
        if why:
            made_of = [_Found(reason=why) for _ in paths]
        else:
            made_of = _fit_group(e, own, paths, (low_degree, highest), tolerance, (fit, choose))
        found |= {everything[k].name: one for k, one in zip(paths, made_of, strict=True)}
    # the judge is the model that comes out, on samples that took no part in anything
    made = _with_paths(model, {name: one.path for name, one in found.items() if one.path is not None})
    errors = _errors(measure_paths(embedding_of(_released(made)), test.z, threads), test)
    rejected = []
    for k, force in enumerate(everything):
        one = found[force.name]
        if one.path is not None and (why := _too_far(k, errors, tolerance)):
            highest = _highest(len(one.coordinates), (low_degree, high_degree))
            one.reason, one.path = f"{why}; degrees up to {highest} were tried", None
            rejected.append(force.name)
    if rejected:
        made = _with_paths(model, {name: one.path for name, one in found.items() if one.path is not None})
    tried = np.array([one.degree >= 0 for one in found.values()])
    worst = np.argmax(errors.arms, axis=1)
    return FittedPathModel(
        model=made,
        names=tuple(found),
        coordinates=tuple(one.coordinates if one.path is not None else () for one in found.values()),
        degree=np.array([one.degree if one.path is not None else -1 for one in found.values()], dtype=np.int64),
        terms=np.array([one.terms if one.path is not None else 0 for one in found.values()], dtype=np.int64),
        length_rms=np.where(tried, errors.length_rms, np.nan),
        length_worst=np.where(tried, errors.length, np.nan),
        arm_rms=np.where(tried, errors.arm_rms.max(axis=1, initial=0.0), np.nan),
        arm_worst=np.where(tried, errors.arms.max(axis=1, initial=0.0), np.nan),
        arm_coordinate=tuple(e.speed_names[j] if ok else "" for j, ok in zip(worst, tried, strict=True)),
        reason=tuple(one.reason for one in found.values()),
        ranges={
            name: (float(low), float(high))
            for name, low, high in zip(e.coordinate_names, fit.z.min(axis=0), fit.z.max(axis=0), strict=True)
        },
        samples=len(test.z),
        options={"tolerance": tolerance, "degree": f"{low_degree} to {high_degree}", "samples": samples, "seed": seed},
    )


def _degrees(degree: int | tuple[int, int]) -> tuple[int, int]:
    low, high = degree if isinstance(degree, Sequence) and len(degree) == 2 else (degree, degree)
    whole = all(isinstance(one, Integral) and not isinstance(one, bool) for one in (low, high))
    if not whole or not 0 < low <= high <= HIGHEST_DEGREE:
        raise InvalidInput(
            f"degree is {degree!r}; give a whole number, or the lowest and the highest, 1 to {HIGHEST_DEGREE}"
        )
    return int(low), int(high)


def _chosen(model: Model, names: Iterable[str] | None) -> set[str]:
    known = [f.name for f in path_forces(model)]
    wanted = known if names is None else [names] if isinstance(names, str) else list(names)
    for name in wanted:
        if name not in known:
            raise UnknownName("path", name, known, model.source or f"model {model.name!r}")
    return set(wanted)


def _not_asked(path: Any, wanted: bool) -> str:
    if isinstance(path, FunctionPath):
        return "it is a function of coordinates already"
    return "" if wanted else "it was not asked for"


def _no_polynomial(e: Embedding, speeds: tuple[str, ...]) -> str:
    """Why a path that has moment arms over these speeds cannot be a polynomial; empty where it can."""
    turning = {e.model.speed_names[k] for joint in turning_joints(e.model) for k in joint.u}
    odd = [name for name in speeds if name in turning or name not in e.coordinate_names]
    if odd:
        return f"it has a moment arm over the speed {odd[0]!r}, which is an angular velocity, no derivative of an angle"
    if not speeds:
        return "its length does not change with any coordinate"
    return ""


def _highest(coordinates: int, degrees: tuple[int, int]) -> int:
    """The highest of these degrees in which a polynomial has no more than MOST_TERMS; 0: none."""
    low, high = degrees
    return max((d for d in range(low, high + 1) if comb(coordinates + d, d) <= MOST_TERMS), default=0)


def _released(model: Model) -> Model:
    """The model with coordinates free that follow functions of time: a path is a function of what they are."""
    for c in model.coordinates:
        if c.prescribed:
            model = model.with_coordinate(c.name, prescribed=False)
    return model


def _fit_group(
    e: Embedding,
    own: tuple[str, ...],
    paths: list[int],
    degrees: tuple[int, int],
    tolerance: float,
    samples: tuple[PathSamples, PathSamples],
) -> list[_Found]:
    """Paths that cross the same coordinates: polynomials of the lowest degree that is within the tolerance."""
    fit, choose = samples
    columns, speeds = [e.coordinate_names.index(n) for n in own], [e.speed_names.index(n) for n in own]
    z, tried = fit.z[:, columns], choose.z[:, columns]
    basis = PolynomialBasis(z.min(axis=0), z.max(axis=0), degrees[1])
    fits = fit_polynomials(basis, z, fit.length[:, paths], fit.arms[:, paths][:, :, speeds])
    terms = basis.values(tried)
    best = [(np.inf, 0, np.zeros(0))] * len(paths)
    for degree in range(degrees[0], degrees[1] + 1):
        if all(size <= _SURE for size, _, _ in best):
            break
        C = fits.coefficients(degree)
        n = len(C)
        error = [terms[0][:, :n] @ C - choose.length[:, paths]]
        error += [A[:, :n] @ C + choose.arms[:, paths, j] for A, j in zip(terms[1:], speeds, strict=True)]
        size = np.max([np.maximum(np.sqrt((x * x).mean(axis=0)), np.abs(x).max(axis=0) / WORST) for x in error], axis=0)
        for k, s in enumerate(size / tolerance):
            if best[k][0] > _SURE and s < best[k][0]:
                best[k] = (float(s), degree, C[:, k])
    found = []
    for _, degree, c in best:
        path = FunctionPath(coordinates=own, length_function=basis.polynomial(c, degree))
        found.append(_Found(path, degree, len(c), own))
    return found


def _with_paths(model: Model, paths: Mapping[str, FunctionPath]) -> Model:
    forces = []
    for force in model.forces:
        path = paths.get(force.name)
        if path is not None and force.path is not None:
            force = replace(force, path=replace(path, name=force.path.name))
        forces.append(force)
    return model.replace(forces=tuple(forces))


@dataclass(frozen=True, eq=False)
class _Errors:
    length: FloatArray  # (paths,) the worst
    length_rms: FloatArray
    arms: FloatArray  # (paths, n_zu) the worst
    arm_rms: FloatArray


def _errors(one: PathSamples, other: PathSamples) -> _Errors:
    dl, dr = one.length - other.length, one.arms - other.arms
    return _Errors(
        np.abs(dl).max(axis=0), np.sqrt((dl * dl).mean(axis=0)), np.abs(dr).max(axis=0), np.sqrt((dr * dr).mean(axis=0))
    )


def _too_far(k: int, errors: _Errors, tolerance: float) -> str:
    """Which error of path k is beyond the tolerance, in words."""
    checks = (
        ("length", "rms", errors.length_rms[k], tolerance),
        ("moment arm", "rms", errors.arm_rms[k].max(initial=0.0), tolerance),
        ("length", "worst", errors.length[k], WORST * tolerance),
        ("moment arm", "worst", errors.arms[k].max(initial=0.0), WORST * tolerance),
    )
    for what, kind, error, limit in checks:
        if not error <= limit:
            return f"the {kind} error of its {what} is {1e3 * error:.3g} mm, and may be {1e3 * limit:.3g} mm"
    return ""
