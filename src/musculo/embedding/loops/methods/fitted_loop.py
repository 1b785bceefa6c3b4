"""Pre-modeling: the loop is solved over the range of its inputs beforehand, and a smooth model fitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.embedding.loops.closed_loop import Loop, LoopSolution, refuse_unsolved
from musculo.embedding.loops.methods.joint_variables import JointVariables, LoopMethod
from musculo.embedding.loops.methods.loop_projection import ProjectedVariables
from musculo.errors import InvalidInput, UnknownName
from musculo.functions.bsplines import BSpline
from musculo.functions.elementary_functions import FourierSeries, packed_pieces
from musculo.functions.function import Function
from musculo.functions.function_table import PackedFunction
from musculo.functions.natural_spline import with_continuations

if TYPE_CHECKING:
    from scipy.interpolate import NdBSpline

# A grid beyond this many points takes minutes to solve and gigabytes to keep.
_MOST_POINTS = 200_000
_CHECKED = 2000
# Frames whose waves are added at a time: of more, BLAS spreads the product over threads, and keeps these waiting busily
# for a tenth of a second.
_BLOCK = 256


class FitError(NamedTuple):
    """The largest errors (n_d,) of a fit halfway between its samples: value, gradient, Hessian [rad, m]."""

    value: FloatArray
    gradient: FloatArray
    hessian: FloatArray


class FittedFunction(NamedTuple):
    """How one dependent follows the one input x of its loop: function(x) + growth x."""

    function: Function
    growth: float = 0.0  # whole turns of the dependent for one of the input


@dataclass(frozen=True, eq=False)
class _Within(Function):
    """A spline where it was fitted, and no number beyond: a kernel must not go on where the fit says nothing."""

    spline: BSpline
    points: FloatArray

    def packed(self) -> PackedFunction:
        rows = with_continuations(self.spline, self.points, continuation_degree=0)
        rows[0] = rows[-1] = np.nan
        return packed_pieces(self.points, rows)


@dataclass(frozen=True, eq=False)
class FittedVariables(JointVariables):
    """Tensor-product splines, or a Fourier series, through solutions on a grid.

    Source:     Ehsani2023 3-3, its first method.
    Departs:    splines of fifth degree by default, so that the Hessian is smooth; `degree=3` is the paper's, with
                not-a-knot ends. A Fourier series serves an input that goes round, of all frequencies that the samples
                carry: higher ones, whose amplitudes are rounding errors, would only make derivatives worse.
    Guarantees: `error` is measured halfway between samples, against the exact derivatives.
    """

    grid: tuple[FloatArray, ...]
    model: Any  # NdBSpline or _Fourier
    error: FitError = field(repr=False)

    def value(self, X: FloatArray, guess: FloatArray | None = None) -> LoopSolution:
        """The fit; only the branch it was made on can be had."""
        self._refuse_outside(X)
        return LoopSolution(self._evaluate(X, (0,) * X.shape[1]), np.zeros(len(X), dtype=np.int64), X)

    def _refuse_outside(self, X: FloatArray) -> None:
        if isinstance(self.model, _Fourier):
            return
        for k, (name, points) in enumerate(zip(self.loop.inputs, self.grid, strict=True)):
            outside = np.flatnonzero((X[:, k] < points[0]) | (X[:, k] > points[-1]))
            if outside.size:
                raise InvalidInput(
                    f"{name} is {X[outside[0], k]:.6g} at frame {outside[0]}, outside {points[0]:.6g} to "
                    f"{points[-1]:.6g}, where the {self.loop.title} was fitted; fit a wider range with "
                    f"Fitted(ranges={{{name!r}: (low, high)}}), or use the method 'projection'"
                )

    def functions(self) -> tuple[FittedFunction, ...]:
        """The same fit as functions of kernels, one for each dependent; empty where the loop has several inputs."""
        return self._functions

    @cached_property
    def _functions(self) -> tuple[FittedFunction, ...]:
        if isinstance(self.model, _Fourier):
            return self.model.functions()
        if len(self.grid) != 1:
            return ()
        (points,), (knots,), degree = self.grid, self.model.t, int(self.model.k[0])
        columns = np.ascontiguousarray(np.asarray(self.model.c).T)
        return tuple(FittedFunction(_Within(BSpline(knots, c[:, None], degree), points)) for c in columns)

    def _evaluate(self, X: FloatArray, orders: tuple[int, ...]) -> FloatArray:
        if isinstance(self.model, _Fourier):
            return self.model(X[:, 0], orders[0])
        return np.asarray(self.model(X, nu=np.array(orders)), dtype=float)

    def gradient(self, X: FloatArray, d: FloatArray) -> FloatArray:
        units = np.eye(X.shape[1], dtype=int)
        return np.stack([self._evaluate(X, tuple(unit)) for unit in units], axis=2)

    def hessian(self, X: FloatArray, d: FloatArray) -> FloatArray:
        n = X.shape[1]
        units, H = np.eye(n, dtype=int), np.zeros((len(X), d.shape[1], n, n))
        for i, j in product(range(n), repeat=2):
            if i <= j:
                H[:, :, i, j] = H[:, :, j, i] = self._evaluate(X, tuple(units[i] + units[j]))
        return H


class _Fourier(NamedTuple):
    """f(x) = slope x + sum of c_k exp(i k w x), through samples over one turn; real by construction."""

    low: float
    period: float
    slope: FloatArray  # (n_d,) whole turns of the dependents for one of the input
    coefficients: NDArray[np.complex128]  # (frequencies, n_d) complex, of exp(i k w (x - low)), k from 0

    def __call__(self, x: FloatArray, order: int) -> FloatArray:
        w = 2.0 * np.pi / self.period
        k = np.arange(len(self.coefficients))
        weight = np.where(k == 0, 1.0, 2.0) * (1j * w * k) ** order
        result = np.empty((len(x), self.coefficients.shape[1]))
        for start in range(0, len(x), _BLOCK):
            block = slice(start, start + _BLOCK)
            waves = np.exp(1j * w * np.outer(x[block] - self.low, k)) * weight
            result[block] = (waves @ self.coefficients).real
        if order == 0:
            result += np.outer(x - self.low, self.slope)
        elif order == 1:
            result += self.slope
        return np.asarray(result)

    def functions(self) -> tuple[FittedFunction, ...]:
        """Each dependent as a series of x itself, which starts at 0 and not at `low`."""
        w = 2.0 * np.pi / self.period
        k = np.arange(len(self.coefficients))
        turned = self.coefficients * np.exp(-1j * w * self.low * k)[:, None]
        found = []
        for c, slope in zip(turned.T, self.slope.tolist(), strict=True):
            offset = float(c[0].real) - slope * self.low
            series = FourierSeries(offset, tuple(2.0 * c[1:].real), tuple(-2.0 * c[1:].imag), w)
            found.append(FittedFunction(series, slope))
        return tuple(found)


@dataclass(frozen=True)
class Fitted(LoopMethod):
    """A model of the joint variables made beforehand; fast to evaluate, and suited to one or two inputs.

    Args:
        ranges: (name, low, high) of inputs, or a mapping name -> (low, high) [rad, m]; the coordinate's own range by
            default.
        samples: along each input.
        degree: of the splines, 3 or 5.
        kind: "spline", or "fourier" for one input over a whole period: its range is the period.
    """

    ranges: tuple[tuple[str, float, float], ...] | Mapping[str, tuple[float, float]] = ()
    samples: int = 201
    degree: Literal[3, 5] = 5
    kind: Literal["spline", "fourier"] = "spline"

    def __post_init__(self) -> None:
        if isinstance(self.ranges, Mapping):
            flat = tuple((name, float(low), float(high)) for name, (low, high) in self.ranges.items())
            object.__setattr__(self, "ranges", flat)
        if self.kind not in ("spline", "fourier"):
            raise UnknownName("kind of fit", str(self.kind), ("spline", "fourier"))
        if self.degree not in (3, 5) or self.samples < 8:
            raise InvalidInput(
                f"a fit of degree {self.degree} through {self.samples} samples; give degree 3 or 5, and 8 or more"
            )

    def check(self, loops: Sequence[Loop], known: Sequence[str]) -> None:
        inputs = [name for loop in loops for name in loop.inputs]
        for name in [*self.ranges] if isinstance(self.ranges, Mapping) else [one[0] for one in self.ranges]:
            if name not in known:
                raise UnknownName("coordinate", name, known, "the ranges of Fitted")
            if name not in inputs:
                raise InvalidInput(
                    f"Fitted has a range of {name!r}, which no loop takes as an input; the inputs are "
                    f"{', '.join(inputs) or 'none'}: give ranges of these, or name others with independent="
                )

    def variables(self, loop: Loop, branch: FloatArray) -> FittedVariables:
        exact = ProjectedVariables(loop, branch)
        grid = tuple(np.linspace(*self._range(loop, name), self.samples) for name in loop.inputs)
        if not grid:
            raise InvalidInput(f"the {loop.title} leaves no coordinate free; there is nothing to fit: use 'projection'")
        if self.samples ** len(grid) > _MOST_POINTS:
            raise InvalidInput(
                f"the {loop.title} has {len(grid)} inputs ({', '.join(loop.inputs)}); a grid of {self.samples} samples "
                f"along each would have {self.samples ** len(grid)} points; take fewer samples, or 'projection'"
            )
        if self.kind == "fourier" and len(grid) != 1:
            raise InvalidInput(f"the {loop.title} has {len(grid)} inputs; a Fourier series serves one")
        f = self._solved(exact, grid)
        model = self._fourier(grid[0], f) if self.kind == "fourier" else self._splines(grid, f)
        nothing = FitError(np.zeros(0), np.zeros(0), np.zeros(0))
        made = FittedVariables(loop, branch, grid, model, nothing)
        return FittedVariables(loop, branch, grid, model, self._error(made, exact))

    def _range(self, loop: Loop, name: str) -> tuple[float, float]:
        given = self.ranges if isinstance(self.ranges, Mapping) else {n: (low, high) for n, low, high in self.ranges}
        low, high = given.get(name, loop.model.coordinate(name).range)
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise InvalidInput(
                f"a fit of the {loop.title} needs a range of {name!r}, and {low:g} to {high:g} is none; "
                f"give Fitted(ranges={{{name!r}: (low, high)}})"
            )
        return low, high

    def _solved(self, exact: ProjectedVariables, grid: tuple[FloatArray, ...]) -> FloatArray:
        """Dependents (*samples, n_d) on the grid."""
        X = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)
        flat = X.reshape(-1, len(grid))
        found = exact.value(flat)
        refuse_unsolved(exact.loop, found, flat)
        return found.dependents.reshape(*X.shape[:-1], -1)

    def _splines(self, grid: tuple[FloatArray, ...], f: FloatArray) -> NdBSpline:
        """A tensor product: splines along one axis after the other, of the coefficients of those before."""
        from scipy.interpolate import NdBSpline, make_interp_spline

        knots, c = [], f
        for axis, points in enumerate(grid):
            spline = make_interp_spline(points, c, k=self.degree, axis=axis)
            knots.append(spline.t)
            c = np.moveaxis(spline.c, 0, axis)
        return NdBSpline(tuple(knots), c, self.degree)

    def _fourier(self, points: FloatArray, f: FloatArray) -> _Fourier:
        period = float(points[-1] - points[0])
        turned = f[-1] - f[0]
        slope = np.round(turned / (2.0 * np.pi)) * 2.0 * np.pi / period
        off = np.abs(turned - slope * period).max()
        if off > 1e-6:
            raise InvalidInput(
                f"the dependents do not come back after {period:.6g}, by {off:.3g}; a Fourier series needs a whole "
                "period: give another range, or kind='spline'"
            )
        wave = f[:-1] - np.outer(points[:-1] - points[0], slope)
        # a middle frequency of an even number of samples has no phase of its own; it is left out
        kept = (len(wave) - 1) // 2 + 1
        coefficients = np.fft.rfft(wave, axis=0)[:kept] / len(wave)
        carried = np.flatnonzero(np.abs(coefficients).max(axis=1) > np.finfo(float).eps * np.abs(wave).max())
        last = int(carried[-1]) if carried.size else 0
        return _Fourier(float(points[0]), period, slope, coefficients[: last + 1])

    def _error(self, made: FittedVariables, exact: ProjectedVariables) -> FitError:
        middles = [0.5 * (points[1:] + points[:-1]) for points in made.grid]
        X = np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1).reshape(-1, len(middles))
        X = X[:: max(1, len(X) // _CHECKED)]
        found = exact.value(X)
        refuse_unsolved(exact.loop, found, X)
        d = found.dependents
        value = np.abs(made.value(X).dependents - d).max(axis=0)
        gradient = np.abs(made.gradient(X, d) - exact.gradient(X, d)).max(axis=(0, 2))
        hessian = np.abs(made.hessian(X, d) - exact.hessian(X, d)).max(axis=(0, 2, 3))
        return FitError(value, gradient, hessian)
