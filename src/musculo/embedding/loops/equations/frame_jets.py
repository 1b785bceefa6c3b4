"""Arrays over frames that carry their gradient and Hessian through arithmetic and NumPy's functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from musculo.arrays import FloatArray
from musculo.errors import InvalidModel


def _side(x: FloatArray) -> FloatArray:
    """-1 below zero, else 1; of complex numbers, which carry an imaginary step, by their real part."""
    return np.where(x.real < 0.0, -1.0, 1.0)


# name of a ufunc of one argument -> (f, f', f'') at x
_CHAIN: dict[str, Callable[[FloatArray], tuple[FloatArray, FloatArray, FloatArray]]] = {
    "sin": lambda x: (np.sin(x), np.cos(x), -np.sin(x)),
    "cos": lambda x: (np.cos(x), -np.sin(x), -np.cos(x)),
    "tan": lambda x: (np.tan(x), 1.0 + np.tan(x) ** 2, 2.0 * np.tan(x) * (1.0 + np.tan(x) ** 2)),
    "exp": lambda x: (np.exp(x), np.exp(x), np.exp(x)),
    "log": lambda x: (np.log(x), 1.0 / x, -1.0 / x**2),
    "sqrt": lambda x: (np.sqrt(x), 0.5 / np.sqrt(x), -0.25 / x**1.5),
    "square": lambda x: (x * x, 2.0 * x, np.full_like(x, 2.0)),
    "arcsin": lambda x: (np.arcsin(x), (1 - x * x) ** -0.5, x * (1 - x * x) ** -1.5),
    "arccos": lambda x: (np.arccos(x), -((1 - x * x) ** -0.5), -x * (1 - x * x) ** -1.5),
    "arctan": lambda x: (np.arctan(x), 1 / (1 + x * x), -2 * x / (1 + x * x) ** 2),
    "sinh": lambda x: (np.sinh(x), np.cosh(x), np.sinh(x)),
    "cosh": lambda x: (np.cosh(x), np.sinh(x), np.cosh(x)),
    "tanh": lambda x: (
        np.tanh(x),
        1.0 - np.tanh(x) ** 2,
        -2.0 * np.tanh(x) * (1.0 - np.tanh(x) ** 2),
    ),
    # between their corners; there the slope is the one from the right
    "absolute": lambda x: (x * _side(x), _side(x), np.zeros_like(x)),
    "negative": lambda x: (-x, np.full_like(x, -1.0), np.zeros_like(x)),
    "positive": lambda x: (x, np.ones_like(x), np.zeros_like(x)),
    "reciprocal": lambda x: (1.0 / x, -1.0 / x**2, 2.0 / x**3),
}


class Jet(np.lib.mixins.NDArrayOperatorsMixin):
    """A value (frames,), its gradient (frames, m) and its Hessian (frames, m, m) by m variables."""

    def __init__(self, value: FloatArray, gradient: FloatArray, hessian: FloatArray) -> None:
        self.value, self.gradient, self.hessian = value, gradient, hessian

    @classmethod
    def variables(cls, x: FloatArray) -> list[Jet]:
        """The columns of x (frames, m), each as a variable of its own."""
        frames, m = x.shape
        unit = np.eye(m)
        return [cls(x[:, k], np.tile(unit[k], (frames, 1)), np.zeros((frames, m, m))) for k in range(m)]

    def _constant(self, value: Any) -> Jet:
        return Jet(
            np.broadcast_to(np.asarray(value, dtype=float), self.value.shape),
            np.zeros_like(self.gradient),
            np.zeros_like(self.hessian),
        )

    def _through(self, f: FloatArray, d: FloatArray, dd: FloatArray) -> Jet:
        """f(self) with f' = d and f'' = dd."""
        outer = self.gradient[:, :, None] * self.gradient[:, None, :]
        return Jet(f, d[:, None] * self.gradient, d[:, None, None] * self.hessian + dd[:, None, None] * outer)

    def _times(self, other: Jet) -> Jet:
        cross = self.gradient[:, :, None] * other.gradient[:, None, :]
        a, b = self.value, other.value
        return Jet(
            a * b,
            a[:, None] * other.gradient + b[:, None] * self.gradient,
            a[:, None, None] * other.hessian + b[:, None, None] * self.hessian + cross + np.swapaxes(cross, 1, 2),
        )

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method == "__call__" and not options:
            if len(inputs) == 1 and name in _CHAIN:
                return self._through(*_CHAIN[name](self.value))
            if len(inputs) == 2:
                a, b = (x if isinstance(x, Jet) else self._constant(x) for x in inputs)
                if name == "add":
                    return Jet(a.value + b.value, a.gradient + b.gradient, a.hessian + b.hessian)
                if name == "subtract":
                    return Jet(a.value - b.value, a.gradient - b.gradient, a.hessian - b.hessian)
                if name == "multiply":
                    return a._times(b)
                if name == "divide":
                    return a._times(b._through(*_CHAIN["reciprocal"](b.value)))
                if name == "arctan2":
                    return a._angle_over(b)
                if name in ("minimum", "maximum"):
                    return a._chosen(b, a.value < b.value if name == "minimum" else a.value > b.value)
                if name in ("power", "float_power"):
                    return a._to_power(inputs[1], b)
        raise InvalidModel(
            f"an equation uses numpy.{name}, whose derivatives are not known here; known: + - * / **, "
            f"arctan2, minimum, maximum, {', '.join(_CHAIN)}"
        )

    def _chosen(self, other: Jet, mine: NDArray[np.bool_]) -> Jet:
        """self in the frames that are `mine`, else the other."""
        return Jet(
            np.where(mine, self.value, other.value),
            np.where(mine[:, None], self.gradient, other.gradient),
            np.where(mine[:, None, None], self.hessian, other.hessian),
        )

    def _angle_over(self, other: Jet) -> Jet:
        """arctan2(self, other): df = (x dy - y dx) / r^2 for y over x, and once more."""
        y, x = self, other
        square = x.value**2 + y.value**2
        f_y, f_x = x.value / square, -y.value / square
        f_yy, f_xy = -2.0 * x.value * y.value / square**2, (y.value**2 - x.value**2) / square**2
        gradient = f_y[:, None] * y.gradient + f_x[:, None] * x.gradient
        mixed = y.gradient[:, :, None] * x.gradient[:, None, :]
        yy = y.gradient[:, :, None] * y.gradient[:, None, :]
        xx = x.gradient[:, :, None] * x.gradient[:, None, :]
        hessian = f_y[:, None, None] * y.hessian + f_x[:, None, None] * x.hessian
        hessian = hessian + f_yy[:, None, None] * (yy - xx)
        hessian = hessian + f_xy[:, None, None] * (mixed + np.swapaxes(mixed, 1, 2))
        angle = np.arctan2(y.value.real, x.value.real)
        if np.iscomplexobj(square):  # an imaginary step goes on along the slopes
            angle = angle + 1j * (f_y * y.value.imag + f_x * x.value.imag).real
        return Jet(angle, gradient, hessian)

    def _to_power(self, exponent: Any, jet: Jet) -> Jet:
        if isinstance(exponent, Jet):
            log = self._through(*_CHAIN["log"](self.value))
            product = log._times(jet)
            return product._through(*_CHAIN["exp"](product.value))
        x, p = self.value, float(exponent)
        first = p * x ** (p - 1.0) if p != 0.0 else np.zeros_like(x)
        second = p * (p - 1.0) * x ** (p - 2.0) if p not in (0.0, 1.0) else np.zeros_like(x)
        return self._through(x**p, first, second)
