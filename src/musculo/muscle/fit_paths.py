"""Polynomials of coordinates in place of paths over points and surfaces: much faster, and as good as they are tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray, IntArray
from musculo.compile.coordinate_arrays import coordinates_of
from musculo.embedding.embedding import Embedding, embedding_of
from musculo.errors import InvalidInput, UnknownName
from musculo.functions.multivariate import MAX_DIMENSION
from musculo.model.function_path import FunctionPath
from musculo.model.model import Model
from musculo.muscle.compile_paths import path_forces
from musculo.muscle.geometry import PathGeometry, path_geometry
from musculo.muscle.path_polynomials import PolynomialBasis, fit_polynomials
from musculo.results.angle_columns import rotational_coordinates
from musculo.results.result import Result
from musculo.results.table import Table

if TYPE_CHECKING:
    import pandas

# A path depends on a coordinate over which it has a moment arm larger than this somewhere [m].
_CROSSES = 1e-6
# The worst error on the samples may be so many times the tolerance, which is for the root mean square.
WORST = 10.0
# A degree is good enough that is within this part of the tolerance: the samples that test it are others.
_SURE = 0.9
# How far around a recording samples go [rad, m]: OpenSim's PolynomialPathFitter takes 10 degrees too.
MARGIN = (np.deg2rad(10.0), 0.01)


@dataclass(frozen=True, eq=False, repr=False)
class FittedPathModel(Result):
    """A model with fitted paths, and how far each of them is from the exact one.

    Errors are over `samples` poses that took no part in the fit. Those of moment arms are over all independent
    coordinates, also those that the polynomial does not have.
    """

    made_by: ClassVar[str] = "fit_paths"

    model: Model = field(repr=False)  # with the fitted paths
    names: tuple[str, ...]  # of all forces along paths, muscles first
    coordinates: tuple[tuple[str, ...], ...] = field(repr=False)  # of the polynomial of each path; none where not fitted
    degree: IntArray = field(repr=False)  # (paths,) of the polynomial; -1: the path is not fitted
    terms: IntArray = field(repr=False)  # (paths,) coefficients of the polynomial
    length_rms: FloatArray = field(repr=False)  # (paths,) [m]; of paths that are kept: of the best polynomial
    length_worst: FloatArray = field(repr=False)  # (paths,) [m]
    arm_rms: FloatArray = field(repr=False)  # (paths,) of the worst coordinate [m, or 1 for sliding coordinates]
    arm_worst: FloatArray = field(repr=False)  # (paths,)
    arm_coordinate: tuple[str, ...] = field(repr=False)  # where arm_worst is
    reason: tuple[str, ...] = field(repr=False)  # why a path is not fitted; empty where it is
    ranges: Mapping[str, tuple[float, float]] = field(repr=False)  # of the independent coordinates [rad, m]
    samples: int = field(repr=False)
    options: Mapping[str, Any] = field(repr=False)

    @property
    def fitted(self) -> tuple[str, ...]:
        """The forces whose path is a polynomial now."""
        return tuple(name for name, degree in zip(self.names, self.degree, strict=True) if degree >= 0)

    @property
    def notes(self) -> tuple[str, ...]:
        """Which paths stay exact, and why."""
        return tuple(f"{n!r} keeps its exact path: {why}" for n, why in zip(self.names, self.reason, strict=True) if why)

    def to_pandas(self, time: ArrayLike | None = None) -> pandas.DataFrame:
        """A data frame with a row for each path; lengths and moment arms in meters."""
        try:
            import pandas
        except ImportError:
            raise InvalidInput("to_pandas needs pandas, which is not installed: pip install pandas") from None
        if time is not None:
            raise InvalidInput("the table has a row for each path; it has no frames for time to belong to")
        columns = {
            "fitted": self.degree >= 0,
            "degree": self.degree,
            "terms": self.terms,
            "coordinates": [" ".join(names) for names in self.coordinates],
            "length_rms": self.length_rms,
            "length_worst": self.length_worst,
            "arm_rms": self.arm_rms,
            "arm_worst": self.arm_worst,
            "arm_coordinate": list(self.arm_coordinate),
            "reason": list(self.reason),
        }
        frame = pandas.DataFrame(columns, index=pandas.Index(self.names, name="path"))
        frame.attrs |= self.provenance.attributes()
        return frame

    def __repr__(self) -> str:
        own = self.degree >= 0
        told = f"{own.sum()} of {len(self.names)} paths fitted"
        if own.any():
            told += (
                f", length error {1e3 * self.length_worst[own].max():.2g} mm and moment arm error "
                f"{1e3 * self.arm_worst[own].max():.2g} mm at worst in {self.samples} samples"
            )
        return f"{type(self).__name__}({told})"


@dataclass(frozen=True, eq=False)
class _Samples:
    """Poses, and what the exact paths are there."""

    z: FloatArray  # (samples, n_z)
    length: FloatArray  # (samples, paths)
    arms: FloatArray  # (samples, paths, n_zu)


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

    Source:     [vandenBogert2013] and OpenSim's PolynomialPathFitter for the idea: lengths and moment arms by least
                squares, the lowest order within a tolerance.
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
    draw = _sampler(model, e, ranges, motion, margin)
    fit, choose, test = (_measure(e, draw(n, random), threads) for n in (samples, samples // 2, samples // 2))
    everything = path_forces(model)
    found = {f.name: _Found(reason=_not_asked(f.path, f.name in wanted)) for f in everything}
    open_ones = [k for k, f in enumerate(everything) if not found[f.name].reason]
    crossed = (np.abs(fit.arms) > _CROSSES).any(axis=0)
    for key, members in groupby(sorted(open_ones, key=lambda k: crossed[k].tolist()), lambda k: tuple(crossed[k])):
        paths = list(members)
        speeds = np.flatnonzero(key)
        odd = [e.speed_names[j] for j in speeds if e.speed_names[j] not in e.coordinate_names]
        if odd:
            why = f"it has a moment arm over {odd[0]!r}, which is no derivative of a coordinate"
        elif len(speeds) == 0:
            why = "its length does not change with any coordinate"
        elif len(speeds) > MAX_DIMENSION:
            why = f"it crosses {len(speeds)} coordinates, and OpenSim's polynomials have {MAX_DIMENSION} at most"
        else:
            own = tuple(e.speed_names[j] for j in speeds)
            names_of = [everything[k].name for k in paths]
            fitted = _fit_group(e, own, paths, (low_degree, high_degree), tolerance, (fit, choose))
            found |= dict(zip(names_of, fitted, strict=True))
            continue
        for k in paths:
            found[everything[k].name].reason = why
    # the judge is the model that comes out, on samples that took no part in anything
    made = _with_paths(model, {name: one.path for name, one in found.items() if one.path is not None})
    errors = _errors(_measure(embedding_of(_released(made)), test.z, threads), test)
    rejected = []
    for k, force in enumerate(everything):
        one = found[force.name]
        if one.path is not None and (why := _too_far(k, errors, tolerance)):
            one.reason, one.path = f"{why}; degrees up to {high_degree} were tried", None
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
    pair = (degree, degree) if np.ndim(degree) == 0 else tuple(degree)  # type: ignore[arg-type]
    if len(pair) != 2 or any(isinstance(d, bool) or d != int(d) for d in pair) or not 0 < pair[0] <= pair[1] <= 12:
        raise InvalidInput(f"degree is {degree!r}; give a whole number, or the lowest and the highest, 1 to 12")
    return int(pair[0]), int(pair[1])


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


def _released(model: Model) -> Model:
    """The model with coordinates free that follow functions of time: a path is a function of what they are."""
    for c in model.coordinates:
        if c.prescribed:
            model = model.with_coordinate(c.name, prescribed=False)
    return model


def _sampler(
    model: Model,
    e: Embedding,
    ranges: Mapping[str, tuple[float, float]] | None,
    motion: ArrayLike | Table | None,
    margin: float | None,
) -> Any:
    """What draws n poses z: evenly over ranges (a Latin hypercube), or around the frames of a recording."""
    for name in ranges or ():
        if name not in model.coordinate_names:
            raise UnknownName("coordinate", name, model.coordinate_names, "ranges")
    turning = rotational_coordinates(model)
    reach = np.array([(MARGIN[0] if n in turning else MARGIN[1]) if margin is None else margin for n in e.coordinate_names])
    if motion is not None:
        if ranges:
            raise InvalidInput("give ranges or a motion, whose frames the samples lie around, not both")
        around = np.atleast_2d(e.independent(coordinates_of(model, motion, "motion")[0]))
        if not len(around) or not (np.isfinite(reach).all() and (reach >= 0.0).all()):
            raise InvalidInput(f"motion has {len(around)} frames and margin is {margin!r}; give frames, and a length")
        return lambda n, random: (
            around[np.resize(random.permutation(len(around)), n)] + reach * (2.0 * _cube(n, len(reach), random) - 1.0)
        )
    default = e.independent(e.default_pose())
    bounds = []
    for name, start in zip(e.coordinate_names, default, strict=True):
        low, high = (ranges or {}).get(name, model.coordinate(name).range)
        if not (np.isfinite([low, high]).all() and low <= high):
            if name in (ranges or {}):
                raise InvalidInput(f"the range of {name!r} is {low!r} to {high!r}; give the lowest, then the highest")
            low, high = start - np.pi, start + np.pi
        bounds.append((low, high))
    low, high = np.array(bounds, dtype=float).reshape(-1, 2).T
    return lambda n, random: low + (high - low) * _cube(n, len(low), random)


def _cube(n: int, dimension: int, random: np.random.Generator) -> FloatArray:
    """A Latin hypercube (n, dimension) in 0 .. 1: each coordinate has one sample in each of n equal parts."""
    parts = np.stack([random.permutation(n) for _ in range(dimension)], axis=1) if dimension else np.zeros((n, 0))
    return (parts + random.random((n, dimension))) / n


def _measure(e: Embedding, z: FloatArray, threads: int | None) -> _Samples:
    """The exact paths at independent coordinates; without poses in which loops do not close."""
    if e.loops:
        closed = e.closure(z)
        z, Q = z[closed.status == 0], closed.q[closed.status == 0]
        if not len(z):
            raise InvalidInput("the model's loops close in none of the sampled poses; give narrower ranges")
    else:
        Q = e.coordinates(z)
    geometry: PathGeometry = path_geometry(e.model, Q, threads=threads)
    return _Samples(z, geometry.length, geometry.moment_arm_independent)


def _fit_group(
    e: Embedding,
    own: tuple[str, ...],
    paths: list[int],
    degrees: tuple[int, int],
    tolerance: float,
    samples: tuple[_Samples, _Samples],
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


def _errors(one: _Samples, other: _Samples) -> _Errors:
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
