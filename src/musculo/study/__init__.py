"""Many subjects and trials: each a task of its own, and what they show together.

`plan` (which trials, how) -> `schedule` (on which processes or machines) -> `trial_run` (one trial, its log and status)
-> `collection` (curves and peaks of all) -> `study_page`.
"""

from __future__ import annotations

from musculo.window import window as _window

__all__, __getattr__ = _window("musculo.study")


def __dir__() -> list[str]:
    return sorted(__all__)
