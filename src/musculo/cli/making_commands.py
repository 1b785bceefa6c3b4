"""How functions become commands: their flags, and what every command does before its work.

No command writes over one of its inputs unasked: one rule for flags and set-up files. `Commands` looks at the paths
among the flags of every command, `musculo run` besides at those that set-ups name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from musculo.cli.commands.shared_flags import RESULTS
from musculo.cli.commands.step_flags import StepFlags
from musculo.cli.drivers import begin

if TYPE_CHECKING:
    from musculo.io.setup import Setup
else:
    Setup = object  # nothing slow is imported before a command runs

# Parameters that name what a command writes; every other path among its parameters is read.
OUTPUTS = ("output", "target", "json_file")
FORCE = "force"

Command = TypeVar("Command", bound=Callable[..., Any])


class Commands(typer.Typer):
    """Commands none of which writes over a file that one of its own parameters names, but with `--force`.

    Each begins with compiling what it will call.
    """

    def command(self, name: str | None = None, **settings: Any) -> Callable[[Command], Command]:
        """As of `typer.Typer`."""

        def add(function: Command) -> Command:
            known = name or function.__name__
            super(Commands, self).command(known, **settings)(_sparing(known, function))
            return function

        return add


def of_flags(function: Callable[..., Any]) -> Callable[..., Any]:
    """A command of a function that takes flags by the class: in place of such a parameter, a flag for each field."""
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    flags: dict[str, inspect.Parameter] = {}
    for one in parameters:
        fields = _fields(one.annotation) if _is_class_of_flags(one.annotation) else [one]
        flags.update((field.name, field) for field in fields)

    def command(**given: Any) -> Any:
        return function(*(_value(one, given) for one in parameters))

    return _with_flags(command, function, flags)


def step(make: Callable[..., Setup | list[Setup]]) -> Callable[..., None]:
    """A command of a function that makes a set-up, or several, of its own flags: those of every step come after them.

    The function is given the common flags that it names, too. Where its output is a file, its folder has the results.
    """
    made_of = of_flags(make)
    own = inspect.signature(made_of).parameters
    both = {**own, **{one.name: one for one in _fields(StepFlags) if one.name not in own}}

    def command(**given: Any) -> None:
        from musculo.cli.run_setups import Options, run_setups

        made = made_of(**{name: given[name] for name in own})
        setups = made if isinstance(made, list) else [made]
        folder = given["output"] if both["output"].default == RESULTS else given["output"].parent
        options = Options(not given["opensim"], folder, False, given["force"], given["jobs"])
        flags = (given[name] for name in ("quiet", "as_json", "report", "strict"))
        raise typer.Exit(run_setups(setups, options, 1, *flags))

    return _with_flags(command, make, both)


def _is_class_of_flags(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, tuple)


def _fields(flags: Any) -> list[inspect.Parameter]:
    """A parameter for each field of a class of flags."""
    kind, empty = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    known, defaults = flags.__annotations__, flags._field_defaults
    return [inspect.Parameter(f, kind, default=defaults.get(f, empty), annotation=known[f]) for f in flags._fields]


def _value(one: inspect.Parameter, given: dict[str, Any]) -> Any:
    if _is_class_of_flags(one.annotation):
        return one.annotation(**{name: given[name] for name in one.annotation._fields})
    return given[one.name]


def _with_flags(
    command: Callable[..., Any], function: Callable[..., Any], flags: dict[str, inspect.Parameter]
) -> Callable[..., Any]:
    """The command under the name of a function, with these flags."""
    command.__name__, command.__doc__ = function.__name__, function.__doc__
    command.__signature__ = inspect.Signature(list(flags.values()))  # type: ignore[attr-defined]
    command.__annotations__ = {name: one.annotation for name, one in flags.items()}
    return command


def _sparing(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def careful(**given: Any) -> Any:
        begin(name, given)
        if not given.get(FORCE):
            outputs = [path for name in OUTPUTS for path in _paths(given.get(name))]
            inputs = [path for name, value in given.items() if name not in OUTPUTS for path in _paths(value)]
            if outputs and inputs:
                from musculo.opensim_tools.records.named_files import (
                    refuse_overwriting,  # slow, and not before a command runs
                )

                advice = "give another one" + (", or --force to overwrite it" if FORCE in given else "")
                refuse_overwriting(outputs, inputs, advice)
        return function(**given)

    return careful


def _paths(value: object) -> Iterator[Path]:
    if isinstance(value, Path):
        yield value
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _paths(one)
