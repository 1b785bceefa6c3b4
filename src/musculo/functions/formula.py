"""Formulas written as text, as OpenSim's expression-based forces hold them.

The language is that of Lepton, which OpenSim uses: numbers, variables, + - * / ^ (right to left, and before a sign:
-x^2 is -(x^2)), functions, and names defined after semicolons: `k*s; k = 2*a; a = 3`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from musculo.errors import InvalidInput, UnknownName
from musculo.kernels.functions import formula_programs as steps
from musculo.kernels.functions.formula_programs import Programs

_TOKEN = re.compile(r"\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[A-Za-z_]\w*|[-+*/^(),]")
_BINARY = {"+": (0, steps.ADD), "-": (0, steps.SUBTRACT), "*": (1, steps.MULTIPLY), "/": (1, steps.DIVIDE)}
_SIGN, _POWER = 2, 3
_TWO = {"min": steps.LEAST, "max": steps.GREATEST}
_ONE = {
    "sqrt": steps.SQRT,
    "exp": steps.EXP,
    "log": steps.LOG,
    "sin": steps.SIN,
    "cos": steps.COS,
    "tan": steps.TAN,
    "asin": steps.ASIN,
    "acos": steps.ACOS,
    "atan": steps.ATAN,
    "sinh": steps.SINH,
    "cosh": steps.COSH,
    "tanh": steps.TANH,
    "erf": steps.ERF,
    "erfc": steps.ERFC,
    "step": steps.STEP,
    "delta": steps.DELTA,
    "abs": steps.ABS,
    "floor": steps.FLOOR,
    "ceil": steps.CEIL,
}
# One over another function, and powers.
_INVERSE = {"sec": steps.COS, "csc": steps.SIN, "cot": steps.TAN}
_POWERS = {"square": 2.0, "cube": 3.0, "recip": -1.0}
_FUNCTIONS = (*_TWO, *_ONE, *_INVERSE, *_POWERS)

Step = tuple[int, float]
# Brackets, signs, powers and definitions inside each other, and steps of a whole program: no formula of a force needs
# so many, and definitions that use each other twice can ask for any number.
_DEEPEST, _LONGEST = 100, 100_000


class _Parser:
    """Turns one formula into the steps of a program: operands first, then what is done with them."""

    def __init__(self, formula: str, variables: Sequence[str]) -> None:
        self.whole, self.variables = formula, variables
        main, *parts = re.sub(r"\s", "", formula).split(";")
        self.definitions: dict[str, str] = {}
        for part in filter(None, parts):
            name, equals, meaning = part.partition("=")
            if not equals or not name.isidentifier():
                raise self.wrong(f"{part!r} is not a definition; write name = formula")
            self.definitions[name] = meaning
        self.open: list[str] = []
        self.depth = 0
        self.steps: list[Step] = []
        self.parse(main)

    def wrong(self, why: str) -> InvalidInput:
        shown = self.whole if len(self.whole) <= 200 else f"{self.whole[:197]}..."
        return InvalidInput(f"the expression {shown!r}: {why}")

    def parse(self, text: str) -> None:
        tokens = _TOKEN.findall(text)
        if "".join(tokens) != text or not tokens:
            raise self.wrong(f"{text!r} is not understood; it holds numbers, names and + - * / ^ ( ) ,")
        outer, self.tokens = getattr(self, "tokens", []), tokens
        self.terms(0)
        if self.tokens:
            raise self.wrong(f"{self.tokens[0]!r} is out of place")
        self.tokens = outer

    def take(self, wanted: str = "") -> str:
        if not self.tokens or (wanted and self.tokens[0] != wanted):
            found = repr(self.tokens[0]) if self.tokens else "nothing"
            raise self.wrong(f"{wanted or 'a number or a name'} is missing, there is {found}")
        return self.tokens.pop(0)

    def terms(self, least: int) -> None:
        """An operand and the operators after it that bind at least so tightly."""
        self.depth += 1
        if self.depth > _DEEPEST or len(self.steps) > _LONGEST:
            which = (
                f"{_DEEPEST} brackets, signs, powers or definitions inside"
                if self.depth > _DEEPEST
                else (f"{_LONGEST} steps, definitions written out, after")
            )
            raise self.wrong(f"it has more than {which} each other; write it in simpler terms")
        self.operand()
        while self.tokens:
            sign = self.tokens[0]
            if sign == "^" and least <= _POWER:
                self.take()
                self.terms(_POWER)
                self.steps.append((steps.POWER, 0.0))
            elif sign in _BINARY and _BINARY[sign][0] >= least:
                binds, step = _BINARY[self.take()]
                self.terms(binds + 1)
                self.steps.append((step, 0.0))
            else:
                break
        self.depth -= 1

    def operand(self) -> None:
        token = self.take()
        if token == "-":
            self.terms(_SIGN)
            self.steps.append((steps.NEGATE, 0.0))
        elif token == "(":
            self.terms(0)
            self.take(")")
        elif token[0].isdigit() or token[0] == ".":
            self.steps.append((steps.NUMBER, float(token)))
        elif self.tokens and self.tokens[0] == "(":
            self.call(token)
        else:
            self.name(token)

    def name(self, token: str) -> None:
        if token in self.open:
            raise self.wrong(f"{token!r} is defined by itself")
        if token in self.definitions:
            self.open.append(token)
            self.parse(self.definitions[token])
            self.open.pop()
        elif token in self.variables:
            self.steps.append((steps.VARIABLE, float(list(self.variables).index(token))))
        elif token.isidentifier():
            raise UnknownName("variable", token, self.variables, f"the expression {self.whole!r}")
        else:
            raise self.wrong(f"{token!r} is out of place")

    def call(self, function: str) -> None:
        if function not in _FUNCTIONS:
            raise UnknownName("function", function, _FUNCTIONS, f"the expression {self.whole!r}")
        self.take("(")
        if function in _INVERSE:
            self.steps.append((steps.NUMBER, 1.0))
        self.terms(0)
        if function in _TWO:
            self.take(",")
            self.terms(0)
            self.steps.append((_TWO[function], 0.0))
        elif function in _ONE:
            self.steps.append((_ONE[function], 0.0))
        elif function in _INVERSE:
            self.steps += [(_INVERSE[function], 0.0), (steps.DIVIDE, 0.0)]
        else:
            self.steps += [(steps.NUMBER, _POWERS[function]), (steps.POWER, 0.0)]
        self.take(")")


def compile_expressions(formulas: Sequence[str], variables: Sequence[str]) -> Programs:
    """The programs of these formulas of these variables; without formulas there is one step, which belongs to none.

    Raises:
        InvalidInput: a formula that cannot be read. UnknownName: a variable or function that there is not.
    """
    listed = [_Parser(formula, variables).steps for formula in formulas]
    flat = [step for steps_of in listed for step in steps_of] or [(steps.NUMBER, 0.0)]
    return Programs(
        np.concatenate([[0], np.cumsum([len(steps_of) for steps_of in listed])]).astype(np.int64),
        np.array([step for step, _ in flat], dtype=np.int64),
        np.array([number for _, number in flat]),
        max([1, *(_depth(steps_of) for steps_of in listed)]),
    )


def _depth(listed: Sequence[Step]) -> int:
    height, deepest = 0, 0
    for step, _ in listed:
        height += 1 if step <= steps.VARIABLE else (-1 if step <= steps.GREATEST else 0)
        deepest = max(deepest, height)
    return deepest
