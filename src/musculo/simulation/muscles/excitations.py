"""Controls of muscles and actuators over time, from numbers, functions, samples and tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from musculo.arrays import FloatArray
from musculo.errors import InvalidInput, UnknownName
from musculo.forces.actuator_rows import KINDS, controlled_forces
from musculo.functions.elementary_functions import Constant, PiecewiseConstant, PiecewiseLinear
from musculo.functions.function import Function
from musculo.io.controls.control_files import driving, read_controls
from musculo.io.text import PathLike
from musculo.model.force import Force, Muscle
from musculo.model.model import Model
from musculo.model.path_force import ClutchedPathSpring, PathActuator
from musculo.results.table import Table

# (t, state) -> control of every actuator, added to what is prescribed: an array, or numbers by name
Controller: TypeAlias = "Callable[[float, Any], ArrayLike | Mapping[str, float]]"
# of one actuator: a number, a function of time (of the package, or of Python), or (times, values)
OneControl: TypeAlias = "float | Function | Callable[[float], float] | tuple[ArrayLike, ArrayLike]"
# A step passes over at most so many nodes of a control: a longer one could miss a pulse between its stages.
_NODES = 2
Excitations: TypeAlias = "float | Table | Mapping[str, OneControl] | Callable[[float], float] | ArrayLike | PathLike"


def actuator_names(model: Model) -> tuple[str, ...]:
    """What takes a control, in the order of the file; of a BodyActuator `NAME_0` to `NAME_5`."""
    return tuple(name for force in model.forces for name in _controls_of(force))


def control_rows(model: Model) -> dict[str, int]:
    """Places in `actuator_names` of the first control of actuators that are no muscles and have no path."""
    names = {name: k for k, name in enumerate(actuator_names(model))}
    return {one.name: names[_controls_of(one)[0]] for one in controlled_forces(model) if one.applies_force}


def _controls_of(force: Force) -> tuple[str, ...]:
    if force.kind == "BodyActuator":
        return tuple(f"{force.name}_{k}" for k in range(6))
    takes = isinstance(force, Muscle | PathActuator | ClutchedPathSpring) or force.kind in KINDS
    return (force.name,) if takes else ()


def control_functions(model: Model, excitations: Excitations) -> tuple[Function, ...]:
    """A function of time for each of `actuator_names`; zero for those without one.

    Args:
        model: the model.
        excitations: one number for all muscles; by name numbers, functions or (times, values), which are straight lines
            between samples and keep the first and last value beyond; a table with such columns, named by actuators
            (OpenSim's paths `/forceset/NAME` and `NAME.excitation` too); or the path of a file of controls (.sto, or
            .xml with a `<ControlSet>`), which says itself what is between and beyond its nodes.

    Raises:
        UnknownName: a name that no actuator has.
        InvalidInput: what is no control; names the actuator.
    """
    names = actuator_names(model)
    if isinstance(excitations, Table):
        columns = {_bare(name): k for k, name in enumerate(excitations.names)}
        given: dict[str, Any] = {n: (excitations.time, excitations.values[:, k]) for n, k in columns.items()}
    elif isinstance(excitations, str | Path):
        given = {one.name: one.function for one in driving(read_controls(excitations), True).controls}
    elif isinstance(excitations, Mapping):
        given = {_bare(name): value for name, value in excitations.items()}
    else:
        given = _of_all(model, excitations)
    for name in given:
        if name not in names:
            raise UnknownName("muscle or actuator", name, names, "excitations")
    return tuple(_function(name, given[name]) if name in given else Constant(0.0) for name in names)


def _of_all(model: Model, given: Any) -> dict[str, Any]:
    """One number for all muscles, or one for each; a data frame or the like is by its columns."""
    if hasattr(given, "columns") and hasattr(given, "to_numpy"):
        times = np.asarray(given.index, dtype=float)
        return {_bare(str(name)): (times, given[name].to_numpy(dtype=float)) for name in given.columns}
    if hasattr(given, "items"):
        return dict(given.items())
    if isinstance(given, Function) or np.ndim(given) == 0:
        return dict.fromkeys(model.muscle_names, given)
    if np.shape(given) != (len(model.muscles),):
        raise InvalidInput(
            f"excitations has shape {np.shape(given)}; give one number for all {len(model.muscles)} muscles, one for "
            "each, numbers, functions or (times, values) by name, or a table over time"
        )
    return dict(zip(model.muscle_names, np.asarray(given, dtype=float).tolist(), strict=True))


def in_python(model: Model, excitations: Any) -> tuple[Any, dict[str, Callable[[float], float]]]:
    """Excitations without those that are functions of Python, and these by the names of actuators."""
    if callable(excitations) and not isinstance(excitations, Function):
        return {}, dict.fromkeys(model.muscle_names, excitations)
    if not isinstance(excitations, Mapping):
        return excitations, {}
    called = {name: one for name, one in excitations.items() if callable(one) and not isinstance(one, Function)}
    names = actuator_names(model)
    for name in called:
        if _bare(name) not in names:
            raise UnknownName("muscle or actuator", name, names, "excitations")
    return {name: one for name, one in excitations.items() if name not in called}, {
        _bare(name): one for name, one in called.items()
    }


def longest_step(functions: Sequence[Function]) -> float:
    """A step that passes over few nodes of any control [s]; infinite where all are smooth."""
    nodes = [np.asarray(one.x) for one in functions if isinstance(one, PiecewiseLinear | PiecewiseConstant)]
    # of nodes added at the ends, beyond which a control is level, none is missed
    inner = [x[1:-1] if x.size > 4 else x for x in nodes]
    return min((float((x[_NODES:] - x[:-_NODES]).min()) for x in inner if x.size > _NODES), default=np.inf)


def beyond_unit(model: Model, functions: Sequence[Function], start: float, end: float) -> tuple[str, ...]:
    """One note on excitations of muscles that leave 0 to 1 between two times."""
    names, wrong = actuator_names(model), []
    for name, function in zip(names, functions, strict=True):
        if name not in model.muscle_names:
            continue
        x = _values_between(function, start, end)
        if x.size and (x.min() < 0.0 or x.max() > 1.0):
            wrong.append(f"{name} ({x.min():.4g} to {x.max():.4g})")
    if not wrong:
        return ()
    more = f" and {len(wrong) - 4} more" if wrong[4:] else ""
    return (
        f"excitations leave 0 to 1: {', '.join(wrong[:4])}{more}; muscles count them as the nearest of 0 and 1 "
        "(like='opensim' follows them); are they in percent?",
    )


def _values_between(function: Function, start: float, end: float) -> FloatArray:
    """Values of a control at two times and its nodes between; of what most controls are without compiling it."""
    if isinstance(function, Constant):
        return np.array([function.value])
    at = np.asarray(getattr(function, "x", ()), dtype=float)
    times = np.array([start, end, *at[(start <= at) & (at <= end)]])
    return np.asarray(function(times), dtype=float)


def _bare(name: str) -> str:
    """The actuator of a column: OpenSim writes paths, and `.excitation` behind the names of muscles."""
    return name.rsplit("/", 1)[-1].removesuffix(".excitation") if "/" in name else name.removesuffix(".excitation")


def _function(name: str, given: Any) -> Function:
    if isinstance(given, Function):
        if given.n_arguments > 1:
            raise InvalidInput(f"excitations[{name!r}] takes {given.n_arguments} arguments; give a function of time")
        return given
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) == 2:
        return _sampled(name, *given)
    if callable(given):
        raise InvalidInput(
            f"excitations[{name!r}] is a function in Python, which simulate takes, but not simulate_many; give "
            "(times, values), or a function of musculo.functions"
        )
    try:
        value = float(given)
    except (TypeError, ValueError):
        value = np.nan
    if not np.isfinite(value):
        raise InvalidInput(
            f"excitations[{name!r}] is {given!r:.60}; give a number, a function of time, or (times, values)"
        )
    return Constant(value)


def _sampled(name: str, times: ArrayLike, values: ArrayLike) -> Function:
    """Straight lines between samples; the first and last value hold beyond."""
    try:
        t, x = (np.asarray(one, dtype=float) for one in (times, values))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"excitations[{name!r}]: {error}; give (times, values), two rows of numbers") from None
    if t.ndim != 1 or t.shape != x.shape or not t.size:
        raise InvalidInput(
            f"excitations[{name!r}] has {t.size} times and {x.size} values; give one value for each time"
        )
    if not (np.isfinite(t).all() and np.isfinite(x).all() and (np.diff(t) > 0.0).all()):
        raise InvalidInput(
            f"excitations[{name!r}]: times must increase, and all numbers must be finite; for steps give a "
            "PiecewiseConstant of musculo.functions"
        )
    return held(t, x)


def held(t: FloatArray, x: FloatArray) -> Function:
    """Straight lines between samples, with the first and last value beyond."""
    if t.size == 1:
        return Constant(float(x[0]))
    # one more node at each end: beyond them the line goes on, and it is level
    nodes, levels = np.concatenate([[t[0] - 1.0], t, [t[-1] + 1.0]]), np.concatenate([x[:1], x, x[-1:]])
    return PiecewiseLinear(tuple(nodes.tolist()), tuple(levels.tolist()))
