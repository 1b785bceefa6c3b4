"""OpenSim's functions to and from ours."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from musculo.errors import InvalidInput
from musculo.functions import (
    Constant,
    Function,
    GCVSpline,
    Linear,
    MultivariatePolynomial,
    PiecewiseConstant,
    PiecewiseLinear,
    Polynomial,
    Scaled,
    SimmSpline,
    Sine,
    Step,
    UnsupportedFunction,
)
from musculo.io.osim.context import Context, account
from musculo.io.osim.elements.known_elements import PROPERTIES
from musculo.io.osim.xml import Element, invalid, number, numbers, restore_colons, to_text, whole


def _linear(element: Element) -> Function:
    """Slopes and intercept; of several arguments it is a polynomial of first order (last variable fastest)."""
    coefficients = _coefficients(element, (1.0, 0.0))
    if len(coefficients) < 3:  # a slope alone has no intercept
        return Linear(*coefficients, *(0.0,) * (2 - len(coefficients)))
    return MultivariatePolynomial(len(coefficients) - 1, 1, coefficients[::-1])


def _coefficients(element: Element, default: tuple[float, ...]) -> tuple[float, ...]:
    """Those of the file, or OpenSim's own where the file has no such element."""
    if element.find("coefficients") is None:
        return default
    found = numbers(element, "coefficients")
    if not found:
        raise InvalidInput("its <coefficients> are empty")
    return found


def _gcv_spline(element: Element) -> Function:
    return GCVSpline(
        numbers(element, "x"),
        numbers(element, "y"),
        whole(element, "half_order", 0),
        number(element, "error_variance", 0.0),
    )


_READERS: dict[str, Callable[[Element], Function]] = {
    "Constant": lambda e: Constant(number(e, "value", 0.0)),
    "LinearFunction": _linear,
    "PolynomialFunction": lambda e: Polynomial(_coefficients(e, (1.0,))),
    "Sine": lambda e: Sine(
        number(e, "amplitude", 1.0), number(e, "omega", 1.0), number(e, "phase", 0.0), number(e, "offset", 0.0)
    ),
    "StepFunction": lambda e: Step(
        number(e, "transition_start_time", 0.99),
        number(e, "transition_end_time", 1.01),
        number(e, "start_value", 0.0),
        number(e, "end_value", 1.0),
    ),
    "PiecewiseLinearFunction": lambda e: PiecewiseLinear(numbers(e, "x"), numbers(e, "y")),
    "PiecewiseConstantFunction": lambda e: PiecewiseConstant(numbers(e, "x"), numbers(e, "y")),
    "SimmSpline": lambda e: SimmSpline(numbers(e, "x"), numbers(e, "y")),
    "GCVSpline": _gcv_spline,
    "MultivariatePolynomialFunction": lambda e: MultivariatePolynomial(
        whole(e, "dimension", 1), whole(e, "order", 0), numbers(e, "coefficients")
    ),
}
# Functions of OpenSim that can be carried but not computed; anything else in a function's place is treated the same.
_CARRIED_KINDS = {"ExpressionBasedFunction", "SignalGenerator"}


def is_function(element: Element) -> bool:
    return element.tag in _READERS or element.tag in _CARRIED_KINDS or element.tag == "MultiplierFunction"


def read_function(element: Element, context: Context) -> Function:
    """The function of an element such as `<SimmSpline>`; one of unknown kind is carried, with a note."""
    if element.tag in PROPERTIES:
        account(element, context)
    if element.tag == "MultiplierFunction":
        inner = read_named_function(element, "function", context)
        if inner is None:
            raise invalid(element, "multiplies no function; put one into its <function>")
        return Scaled(inner, number(element, "scale", 1.0))
    reader = _READERS.get(element.tag)
    if reader is None:
        context.note(element, "functions of this kind are kept but cannot be computed", f"<{element.tag}>")
        return _carried(element)
    try:
        return reader(element)
    except InvalidInput as error:
        x = numbers(element, "x")
        if len(x) == len(numbers(element, "y")) and len(x) > 1 and list(x) == sorted(x) and len(set(x)) < len(x):
            # OpenSim goes on from repeated knots; `SimmSpline` does too, the other kinds cannot.
            context.note(element, f"the function is kept but cannot be computed: {error}", f"<{element.tag}>")
            return _carried(element)
        raise invalid(element, f"{error}; correct the numbers of this <{element.tag}>") from None


def read_named_function(owner: Element, name: str, context: Context) -> Function | None:
    """The function of a property, `<name><SimmSpline>..`; None where there is none."""
    inner = next(iter(owner.iterfind(f"{name}/*")), None)
    return None if inner is None else read_function(inner, context)


def _carried(element: Element) -> Function:
    plain = deepcopy(element)
    plain.attrib.pop("name", None)  # a property's name, given again when it is written
    return UnsupportedFunction(restore_colons(element.tag), to_text(plain))
