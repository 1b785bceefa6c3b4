"""One trial of a study: its steps in a row, its log, and a status that a later run can trust."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from musculo import __version__
from musculo.diagnostics.finding import Light
from musculo.diagnostics.judge import judge
from musculo.errors import MusculoError
from musculo.io.external_load_files import data_files
from musculo.io.osim import read_osim
from musculo.io.text import write_text
from musculo.kernels.compiler.file_lock import locked
from musculo.opensim_tools.records.named_files import record_path
from musculo.opensim_tools.setup_runner import run_setup
from musculo.opensim_tools.trial_tasks import trial_tasks
from musculo.report import report_of_folder, write_report
from musculo.report.read_folder import read_folder
from musculo.results.made_once import shared_by_steps
from musculo.study.plan import StudyTrial
from musculo.study.trial_summary import SUMMARY, summarize, write_summary

STATUS, LOG, PAGE, LOCK = "trial.json", "log.txt", "report.html", ".lock"
_LAYOUT = 3
# Whoever holds a trial for longer was stopped, not ended [s].
_LONGEST = 3600.0
# Models that the last trial of a thread read: what is compiled of them may have room to work in.
_last = threading.local()


class TrialStatus(Enum):
    """How a trial ended."""

    DONE = "done"
    """All steps are done and every frame is solved."""
    INCOMPLETE = "incomplete"
    """All steps are done; some frames are not solved, and the log says which."""
    FAILED = "failed"
    """A step could not be done; `reason` says why. The others of the study are not concerned."""


class DiskFull(MusculoError):
    """There is no room for results; what is done stays, and the study goes on from there when it is run again."""


@dataclass(frozen=True)
class TrialOutcome:
    """What came of a trial.

    Args:
        key: subject and trial.
        status: how it ended.
        reason: why it failed, or what is not solved; else empty.
        seconds: that it took, when it was computed.
        resumed: whether it was done by an earlier run, and nothing it depends on has changed.
        findings: what the judgment of its results says is not good: how it shows, title and text.
    """

    key: str
    status: TrialStatus
    reason: str = ""
    seconds: float = 0.0
    resumed: bool = False
    findings: tuple[tuple[str, str, str], ...] = ()


def run_trial(trial: StudyTrial, folder: Path, page: bool = False) -> TrialOutcome:
    """Do what is not done yet; a trial that is done and unchanged is not touched.

    Every step leaves a record, so that a trial that was interrupted goes on with the step under way.

    Args:
        trial: the trial.
        folder: of the study's results; those of the trial go to `folder/subject/trial`.
        page: whether to write the trial's own page.

    Raises:
        DiskFull: there is no room for its results.
    """
    home = folder / trial.key
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _refuse_full(error, trial)
        return TrialOutcome(trial.key, TrialStatus.FAILED, f"the folder {home} cannot be made ({error.strerror})")
    # a worker whose client was killed may still be at it
    with locked(home / LOCK, _LONGEST):
        mark = fingerprint_of(trial)
        earlier = known_outcome(trial, folder, mark)
        if earlier is not None and (not page or (home / PAGE).is_file()):
            return earlier
        for part in home.glob(".*.part"):  # of files that a killed process was writing
            part.unlink(missing_ok=True)
        return _done_now(trial, home, mark, page)


def _done_now(trial: StudyTrial, home: Path, mark: str, page: bool) -> TrialOutcome:
    """All steps, in a row, and what they leave."""
    began, log = time.perf_counter(), []
    status, reason = TrialStatus.DONE, ""
    findings: tuple[tuple[str, str, str], ...] = ()
    try:
        with _shared_by_trials():
            runs: list[Path] = []
            for task in trial_tasks(trial.model, trial.recording, trial.loads, home, trial.options):
                done = run_setup(task, like=None, output=home, threads=1, force=False, overwrite=True)
                runs.append(record_path(home, task.source))
                log.append(f"{done.tool} {done.name}: {done.status.value}, {done.seconds:.2f} s")
                log += [f"  note: {note}" for note in done.notes]
                log += [f"  trouble: {trouble}" for trouble in done.troubles]
                if done.troubles:
                    status, reason = TrialStatus.INCOMPLETE, "; ".join(done.troubles)
            for record in home.glob("*.musculo.json"):
                if record not in runs:  # of a step that other options asked for: its tables do not count
                    record.unlink()
            results = read_folder(home, runs=runs)
            write_summary(home / SUMMARY, summarize(results))
            lights = (Light.LOOK, Light.BAD)
            found = [one for one in judge(results).findings if one.light in lights]
            findings = tuple((one.light.value, one.title, one.text) for one in found)
            if page:
                write_report(home / PAGE, report_of_folder(home, runs=runs))
    except MusculoError as error:
        _refuse_full(error, trial)
        status, reason = TrialStatus.FAILED, str(error)
    except OSError as error:
        _refuse_full(error, trial)
        status, reason = TrialStatus.FAILED, f"{error.filename or home}: {error.strerror or error}"
    except Exception as error:  # one trial must not stop a thousand
        log.append(traceback.format_exc())
        status, reason = TrialStatus.FAILED, f"{type(error).__name__}: {error} (a fault of musculo; {LOG} has more)"
    if status is TrialStatus.FAILED:
        log.append(f"failed: {reason}")
    outcome = TrialOutcome(trial.key, status, reason, round(time.perf_counter() - began, 3), False, findings)
    _leave(home, outcome, mark, log, trial)
    return outcome


@contextmanager
def _shared_by_trials() -> Iterator[None]:
    """Steps of a trial share what they read; the next trial, mostly of the same subject, takes the model from it."""
    with shared_by_steps(getattr(_last, "models", None)) as made:
        yield
        _last.models = {key: one for key, one in made.items() if isinstance(key, tuple) and key[0][0] is read_osim}


def _leave(home: Path, outcome: TrialOutcome, mark: str, log: Iterable[str], trial: StudyTrial) -> None:
    try:
        home.mkdir(parents=True, exist_ok=True)
        write_text(home / LOG, log)
        known: dict[str, Any] = {"layout": _LAYOUT, "fingerprint": mark} | asdict(outcome)
        known["status"] = outcome.status.value
        write_text(home / STATUS, [json.dumps(known, indent=1, ensure_ascii=False)])
    except (MusculoError, OSError) as error:
        _refuse_full(error, trial)
        raise


def _refuse_full(error: BaseException, trial: StudyTrial) -> None:
    if getattr(error, "errno", None) == errno.ENOSPC or os.strerror(errno.ENOSPC) in str(error):
        raise DiskFull(
            f"the disk is full: there is no room for the results of {trial.key}; make room and run the study again, "
            "which goes on from there"
        ) from None


def known_outcome(trial: StudyTrial, folder: Path, mark: str | None = None) -> TrialOutcome | None:
    """What an earlier run left of a trial, if files, options and package are the same; failures are tried again."""
    path = folder / trial.key / STATUS
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
        if known["layout"] != _LAYOUT or known["fingerprint"] != (mark or fingerprint_of(trial)):
            return None
        status = TrialStatus(known["status"])
        if status is TrialStatus.FAILED or not (path.parent / SUMMARY).is_file():
            return None
        findings = tuple((str(a), str(b), str(c)) for a, b, c in known["findings"])
        return TrialOutcome(trial.key, status, str(known["reason"]), float(known["seconds"]), True, findings)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none, or none that can be trusted


def fingerprint_of(trial: StudyTrial) -> str:
    """A hash of what decides the results: the content of the files, the options and the package."""
    parts = [__version__, repr(trial.options), trial.recording.stem]
    for path in trial.inputs:
        parts += [path.name, _content(path)]
        if path.suffix.lower() == ".xml":  # external loads name a table beside them
            parts += [_content(one) for one in data_files(path) if one.is_file()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _content(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return ""
