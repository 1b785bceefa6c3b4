"""Questions to a layer that comes later: who asks does not import who answers.

`musculo` itself, which every import passes, says who answers; nothing is imported before it is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_answers: dict[str, Callable[..., Any]] = {}


def answer(question: str, by: Callable[..., Any]) -> None:
    """From now on a question is answered by a function."""
    _answers[question] = by


def ask(question: str, *about: Any) -> Any:
    """The answer."""
    return _answers[question](*about)
