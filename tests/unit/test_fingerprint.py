"""The fingerprint of a model says what the model says: the same in every process, another for another equation."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cached_property, partial
from types import FunctionType

import numpy as np
import pytest

import musculo
import musculo.demo
from musculo.model.fingerprint import fingerprint_of

ROD = 0.1


def _global_rod(a, h):
    return h - ROD * np.sin(a)


def _calls_another(a, h):
    return 2.0 * _global_rod(a, h)


def _calls_itself(a, h, depth=3):
    return h - a if depth == 0 else _calls_itself(a, h, depth - 1)


def _names_kinds(a, h, kind="lift"):
    # sets among constants have another order in each process
    return h - (1.0 if kind in {"lift", "drop", "turn"} else 2.0) * a


def _of_length(rod):
    return lambda a, h: h - rod * np.sin(a)


class Crank:
    def __init__(self, rod):
        self.rod = rod

    @cached_property
    def doubled(self):
        return 2.0 * self.rod

    def equations(self, a, h):
        return h - 0.5 * self.doubled * np.sin(a)

    __call__ = equations


def _around(function):
    return lambda a, h: function(a) - h


def _scaled(a, h, by):
    return h - by * a


EQUATIONS = {
    "of a variable of the module": _global_rod,
    "by another function": _calls_another,
    "by itself": _calls_itself,
    "with a set": _names_kinds,
    "closure": _of_length(0.2),
    "method": Crank(0.2).equations,
    "object": Crank(0.2),
    "partial": partial(_scaled, by=0.3),
    "of an array": _of_length(np.linspace(0.0, 1.0, 3000)),
    "NumPy's own": np.subtract,
    "of a library": np.linalg.norm,
    "around one of a library": _around(np.linalg.norm),
}


def _lift(equations) -> musculo.Model:
    constraint = musculo.model.EquationConstraint("lift", coordinates=("crank", "height"), equations=equations)
    return musculo.demo.arm().replace(constraints=(constraint,))


def print_hashes() -> None:
    for name, equations in EQUATIONS.items():
        print(name, _lift(equations).hash)


@pytest.mark.parametrize("seed", ["1", "2"])
def test_the_same_in_every_process(seed, monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", seed)
    # memory is laid out otherwise, so that no address is the same by chance
    code = f"kept = [bytes({seed}000 + i) for i in range(100)]; import {__name__} as t; t.print_hashes()"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.splitlines() == [f"{name} {_lift(equations).hash}" for name, equations in EQUATIONS.items()]


def test_other_equations_have_another(monkeypatch):
    found = [_lift(equations).hash for equations in EQUATIONS.values()]
    assert len(set(found)) == len(found)
    array = np.linspace(0.0, 1.0, 3000)
    array[1500] += 1e-12
    for kind, other in (
        ("closure", _of_length(0.2000001)),
        ("method", Crank(0.3).equations),
        ("object", Crank(0.3)),
        ("partial", partial(_scaled, by=0.4)),
        ("of an array", _of_length(array)),
        ("NumPy's own", np.add),
        ("of a library", np.linalg.det),
        ("around one of a library", _around(np.linalg.det)),
        ("by itself", FunctionType(_calls_itself.__code__, globals(), argdefs=(4,))),
    ):
        assert _lift(other).hash != _lift(EQUATIONS[kind]).hash, kind
    before = [_lift(equations).hash for equations in (_global_rod, _calls_another, _names_kinds)]
    monkeypatch.setitem(globals(), "ROD", 0.11)
    after = [_lift(equations).hash for equations in (_global_rod, _calls_another, _names_kinds)]
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, True, False]


def test_the_same_equations_have_the_same():
    assert _lift(_of_length(0.2)).hash == _lift(_of_length(0.2)).hash
    crank = Crank(0.2)
    before = _lift(crank).hash
    crank(0.1, 0.2)  # keeps what it computes
    assert _lift(Crank(0.2)).hash == before == _lift(crank).hash


def test_a_variable_that_holds_nothing_yet_is_no_obstacle():
    def lifted(a, h):
        return later(a) - h

    before = _lift(lifted).hash

    def later(a):
        return 2.0 * a

    assert _lift(lifted).hash != before


def test_numbers_count_by_their_values():
    assert fingerprint_of(np.float64(0.1)) == fingerprint_of(0.1)
    assert fingerprint_of((1.0, 2.0)) != fingerprint_of((2.0, 1.0))
    assert fingerprint_of({"a": (1.0,)}) != fingerprint_of({"a": (1.0, ())})
    assert fingerprint_of({"b", "c", "d"}) == fingerprint_of({"d", "c", "b"})


def test_a_models_numbers_count():
    model = musculo.demo.arm()
    body = model.body_names[0]
    assert model.with_body(body, mass=model.body(body).mass + 1e-9).hash != model.hash
    assert model.replace().hash == model.hash
    assert model.replace(source="elsewhere.osim").hash == model.hash
