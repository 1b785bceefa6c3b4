"""Which subjects and trials a study has, and what is done with each: from a file, or from the names in a folder."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from musculo.errors import InvalidFile, InvalidInput, UnknownName
from musculo.io.bids_motion import ENDING
from musculo.io.setup import read_tasks
from musculo.io.text import PathLike, checked_path
from musculo.opensim_tools.trial_tasks import STEPS, TrialOptions

_KIND = "a study (.toml) or a folder"
RECORDINGS = (".c3d", ".trc")
# Options of a trial by the words of a study, and how they are read.
_NUMBERS = {"lowpass": "cutoff", "filter_loads": "loads_cutoff", "fill_gaps": "fill_gaps", "reserve": "reserve"}
_OPTIONS = ("steps", "tasks", "time", "forces", "up", "zeros_as_gaps", "rename", "feet", "plates", *_NUMBERS)
_TOP = ("name", "output", "pattern", "bids", "model", "loads", "group", "subject", *_OPTIONS)
_SUBJECT = ("name", "model", "group", "trials", "loads", "trial", *_OPTIONS)
_TRIAL = ("file", "name", "model", "condition", "loads", *_OPTIONS)
_FIELD = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class StudyTrial:
    """One trial of one subject.

    Args:
        subject, name: who and what; together they name the folder of the results.
        model: the subject's.
        recording: markers or poses of segments.
        loads: external loads, or what plates measured; None where nothing was measured.
        group: of the subject, such as control.
        condition: of the trial, such as fast.
        options: how it is computed.
    """

    subject: str
    name: str
    model: Path
    recording: Path
    loads: Path | None = None
    group: str = ""
    condition: str = ""
    options: TrialOptions = field(default_factory=TrialOptions)

    @property
    def key(self) -> str:
        """The folder of its results within that of the study."""
        return f"{self.subject}/{self.name}"

    @property
    def inputs(self) -> tuple[Path, ...]:
        """Files that it reads."""
        loads = () if self.loads is None or self.loads == self.recording else (self.loads,)
        return (self.model, self.recording, *loads, *self.options.force_sets)


@dataclass(frozen=True)
class Study:
    """Trials and where their results go."""

    name: str
    folder: Path
    trials: tuple[StudyTrial, ...]
    source: str = ""

    def __post_init__(self) -> None:
        seen: dict[str, StudyTrial] = {}
        for trial in self.trials:
            other = seen.get(trial.key.lower())
            seen[trial.key.lower()] = trial
            if other is not None:
                raise InvalidInput(
                    f"{self.source or self.name}: {trial.recording} and {other.recording} are both trial "
                    f"{trial.name!r} of subject {trial.subject!r}; give them different names"
                )

    def __repr__(self) -> str:
        subjects = dict.fromkeys(trial.subject for trial in self.trials)
        return f"Study({self.name!r}: {len(self.trials)} trials of {len(subjects)} subjects)"


def read_study(path: PathLike, output: PathLike | None = None) -> Study:
    """A study from its file, or from a folder.

    In a folder, each subfolder is a subject: it holds one model (.osim) and recordings (.c3d, .trc), and a recording
    `walk1.trc` has the loads of `walk1_grf.xml`, `walk1_grf.mot` or `walk1.mot` beside it, if there are any. If no
    subfolder has recordings, the folder itself is the one subject.

    Args:
        path: a .toml, or a folder (with a `study.toml`, or laid out as said). A file may name trials by `[[subject]]`
            tables, by a `pattern` of their names, or by a `bids` folder.
        output: the folder for all results, in the place of what the file says.

    Raises:
        InvalidFile: what cannot be read, with the line or the entry.
        InvalidInput: no trial, or two of one name.
    """
    place = Path(path)
    file = place / "study.toml" if place.is_dir() and (place / "study.toml").is_file() else place
    if file.is_dir():
        study = _of_folder(file)
    else:
        study = _of_file(file)
    if not study.trials:
        raise InvalidInput(
            f"{place} has no trial: no recording (.c3d, .trc) fits; say which in [[subject]] trials = ..."
        )
    return replace(study, folder=Path(output)) if output is not None else study


# --- a folder -------------------------------------------------------------------------------------------------------
def _of_folder(folder: Path) -> Study:
    homes = sorted(one for one in folder.iterdir() if one.is_dir() and one.name != "results")
    trials = [trial for home in homes for trial in _of_subject_folder(home)] or _of_subject_folder(folder)
    return Study(folder.resolve().name, folder / "results", tuple(trials), str(folder))


def _of_subject_folder(home: Path) -> list[StudyTrial]:
    models = sorted(home.glob("*.osim"))
    recordings = sorted(one for one in home.iterdir() if one.suffix.lower() in RECORDINGS)
    if recordings and len(models) != 1:
        raise InvalidInput(
            f"{home} holds {len(models)} models and {len(recordings)} recordings; a subject's folder needs one .osim, "
            "or write a study.toml"
        )
    name = home.resolve().name
    return [StudyTrial(name, file.stem, models[0], file, _loads_beside(file)) for file in recordings]


def _loads_beside(recording: Path) -> Path | None:
    """Loads that are called after a recording; a C3D file may have its own plates."""
    for name in (f"{recording.stem}_grf.xml", f"{recording.stem}_grf.mot", f"{recording.stem}.mot"):
        if (recording.parent / name).is_file():
            return recording.parent / name
    return recording if recording.suffix.lower() == ".c3d" else None


# --- a file ---------------------------------------------------------------------------------------------------------
def _of_file(file: Path) -> Study:
    where = checked_path(file, _KIND)
    if file.is_file() and file.suffix.lower() != ".toml":
        raise InvalidFile(f"{where} is a file, and not a .toml; give {_KIND}")
    try:
        content = tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidFile(f"there is no {where}; give {_KIND}") from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidFile(f"{where} cannot be read as {_KIND} ({error})") from None
    home = file.parent
    _refuse_unknown(content, _TOP, where)
    common = _options(content, TrialOptions(), home, where)
    trials: list[StudyTrial] = []
    if "pattern" in content:
        trials += _of_pattern(content, home, common, where)
    if "bids" in content:
        trials += _of_bids(content, home, common, where)
    for k, entry in enumerate(_tables(content, "subject", where), 1):
        trials += _of_subject(entry, content, home, common, f"{where}: subject {k}")
    folder = home / _text(content, "output", where, "results")
    return Study(_text(content, "name", where, file.stem), folder, tuple(trials), where)


def _of_pattern(content: Mapping[str, Any], home: Path, options: TrialOptions, where: str) -> list[StudyTrial]:
    """Trials by the names of files: `pattern = "{subject}/{condition}_{trial}.c3d"`."""
    pattern = _text(content, "pattern", where)
    if "model" not in content:
        raise InvalidFile(
            f'{where}: pattern needs the model of each subject, such as model = "{{subject}}/scaled.osim"'
        )
    names = _FIELD.findall(pattern)
    unknown = [name for name in names if name not in ("subject", "group", "condition", "trial")]
    if unknown or "subject" not in names:
        raise InvalidFile(
            f"{where}: pattern {pattern!r} may hold {{subject}}, which it needs, {{group}}, {{condition}}, {{trial}}"
        )
    parts = [re.escape(part) for part in _FIELD.split(pattern)[::2]]
    known: set[str] = set()
    shape = parts[0]
    for name, part in zip(names, parts[1:], strict=True):
        shape += f"(?P={name})" if name in known else f"(?P<{name}>[^/]+?)"
        shape += part
        known.add(name)
    found = []
    for file in sorted(home.glob(_FIELD.sub("*", pattern))):
        match = re.fullmatch(shape, file.relative_to(home).as_posix())
        if match is None or not file.is_file():
            continue
        of = match.groupdict()
        model = _existing(home / _text(content, "model", where).format_map(_Fields(of)), where)
        stated = content.get("loads")
        loads = _loads_beside(file) if stated is None else home / str(stated).format_map(_Fields(of))
        group = of.get("group") or _text(content, "group", where, "")
        found.append(StudyTrial(of["subject"], file.stem, model, file, loads, group, of.get("condition", ""), options))
    return found


def _of_bids(content: Mapping[str, Any], home: Path, options: TrialOptions, where: str) -> list[StudyTrial]:
    """Recordings of motion in a BIDS folder; `model = "models/{subject}.osim"` says where models are."""
    root = home / _text(content, "bids", where)
    found = []
    for file in sorted(root.glob(f"sub-*/**/motion/*{ENDING}")):
        parts = dict(part.split("-", 1) for part in file.name.removesuffix(ENDING).split("_") if "-" in part)
        subject = parts.pop("sub", "")
        model = _existing(home / _text(content, "model", where).format_map(_Fields(parts, subject=subject)), where)
        stated = content.get("loads")
        name = "_".join(f"{key}-{value}" for key, value in parts.items()) or file.stem
        loads = None if stated is None else home / str(stated).format_map(_Fields(parts, subject=subject, trial=name))
        group = _text(content, "group", where, "")
        found.append(StudyTrial(subject, name, model, file, loads, group, parts.get("task", ""), options))
    if not found:
        raise InvalidFile(f"{where}: {root} holds no recording of motion (sub-*/motion/*{ENDING})")
    return found


class _Fields(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "{" + key + "}"


def _of_subject(
    entry: Mapping[str, Any], content: Mapping[str, Any], home: Path, common: TrialOptions, where: str
) -> list[StudyTrial]:
    _refuse_unknown(entry, _SUBJECT, where)
    name = _text(entry, "name", where)
    options = _options(entry, common, home, where)
    found = []
    patterns = entry.get("trials", [])
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        files = sorted(home.glob(str(pattern)))
        if not files:
            raise InvalidFile(f"{where} ({name}): no file fits trials = {pattern!r}; paths count from {home}")
        for file in files:
            found.append({"file": str(file.relative_to(home))})
    given = [*found, *_tables(entry, "trial", where)]
    if not given:
        raise InvalidFile(f'{where} ({name}) has no trials; add trials = "{name}/*.c3d", or [[subject.trial]]')
    trials = []
    for one in given:
        at = f"{where} ({name}): trial {one.get('file', '')}".rstrip()
        _refuse_unknown(one, _TRIAL, at)
        file = _existing(home / _text(one, "file", at), at)
        stated = one.get("model", entry.get("model", content.get("model")))
        if stated is None:
            raise InvalidFile(f'{at}: no model is stated; add model = "..." to the subject')
        model = _existing(home / str(stated).format_map(_Fields(subject=name)), at)
        loads = one.get("loads", entry.get("loads", content.get("loads")))
        path = (
            _loads_beside(file)
            if loads is None
            else home / str(loads).format_map(_Fields(subject=name, trial=file.stem))
        )
        trials.append(
            StudyTrial(
                name,
                _text(one, "name", at, file.stem),
                model,
                file,
                path if path is None or path == file else _existing(path, at),
                _text(entry, "group", where, _text(content, "group", where, "")),
                _text(one, "condition", at, ""),
                _options(one, options, home, at),
            )
        )
    return trials


def _options(entry: Mapping[str, Any], base: TrialOptions, home: Path, where: str) -> TrialOptions:
    changed: dict[str, Any] = {}
    for word, name in _NUMBERS.items():
        if word in entry:
            value = entry[word]
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0.0 <= value < float("inf"):
                raise InvalidFile(f"{where}: {word} = {value!r} should be a number, 0 or above")
            changed[name] = float(value) if value or name == "cutoff" else None
    if "steps" in entry:
        steps = tuple(_texts(entry, "steps", where))
        for step in steps:
            if step not in STEPS:
                raise UnknownName("step", step, STEPS, where)
        changed["steps"] = steps
    if "tasks" in entry:
        changed["fit"] = read_tasks(_existing(home / _text(entry, "tasks", where), where))
    if "time" in entry:
        span = entry["time"]
        numbers = isinstance(span, list) and len(span) == 2 and all(isinstance(t, int | float) for t in span)
        if not (numbers and span[0] < span[1]):
            raise InvalidFile(f"{where}: time = {span!r} should be [start, end] in seconds, the start before the end")
        changed["span"] = (float(span[0]), float(span[1]))
    if "forces" in entry:
        changed["force_sets"] = tuple(_existing(home / name, where) for name in _texts(entry, "forces", where))
    if "up" in entry:
        changed["up"] = _text(entry, "up", where)
    if "zeros_as_gaps" in entry:
        changed["zeros_as_gaps"] = entry["zeros_as_gaps"] is True
    if "rename" in entry:
        names = entry["rename"]
        if not isinstance(names, dict):
            raise InvalidFile(f'{where}: rename should name markers of the model, such as rename = {{RASI = "R.ASIS"}}')
        changed["renames"] = tuple((str(old), str(new)) for old, new in names.items())
    if "feet" in entry:
        changed["feet"] = tuple(_texts(entry, "feet", where))
    if "plates" in entry:
        plates = entry["plates"]
        if not isinstance(plates, dict):
            raise InvalidFile(f'{where}: plates should name bodies by plates, such as plates = {{1 = "calcn_r"}}')
        changed["plates"] = tuple((str(plate), str(body)) for plate, body in plates.items())
    return replace(base, **changed)


def _refuse_unknown(entry: Mapping[str, Any], known: Sequence[str], where: str) -> None:
    for word in entry:
        if word not in known:
            raise UnknownName("entry", word, known, where)


def _tables(entry: Mapping[str, Any], word: str, where: str) -> list[dict[str, Any]]:
    found = entry.get(word, [])
    if not (isinstance(found, list) and all(isinstance(one, dict) for one in found)):
        raise InvalidFile(f"{where}: {word} should be a list of tables, written as [[{word}]]")
    return found


def _text(entry: Mapping[str, Any], word: str, where: str, otherwise: str | None = None) -> str:
    value = entry.get(word, otherwise)
    if not isinstance(value, str) or (not value and otherwise is None):
        raise InvalidFile(
            f"{where}: {word} = {value!r} should be text" if word in entry else f"{where}: {word} is missing"
        )
    return value


def _texts(entry: Mapping[str, Any], word: str, where: str) -> list[str]:
    value = entry[word]
    found = [value] if isinstance(value, str) else value
    if not (isinstance(found, list) and all(isinstance(one, str) for one in found)):
        raise InvalidFile(f"{where}: {word} = {value!r} should be a list of texts")
    return found


def _existing(path: Path, where: str) -> Path:
    if not path.is_file():
        raise InvalidFile(f"{where}: there is no file {path}; paths count from the folder of the study")
    return path
