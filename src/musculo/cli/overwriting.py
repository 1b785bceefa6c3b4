"""No command writes over one of its inputs unasked: one rule for flags and set-up files.

`Commands` looks at the paths among the flags of every command, `musculo run` besides at those that set-ups name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import typer

from musculo.cli.drivers import begin
from musculo.cli.exit_codes import WrongUsage

# Parameters that name what a command writes; every other path among its parameters is read.
OUTPUTS = ("output", "target", "json_file")
FORCE = "force"

Command = TypeVar("Command", bound=Callable[..., Any])


def check_page(output: Path | None) -> None:
    """Refuse a page under the name of a model or a table: of a folder of results, no flag says which files it reads."""
    if output is not None and output.suffix.lower() != ".html":
        raise WrongUsage(f"the page {output} would be no .html file; give it a name that ends in .html")


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
