"""Which of a model's muscles, coordinates or joints a list in a set-up names, and in which order."""

from __future__ import annotations

from collections.abc import Sequence

from musculo.errors import UnknownName
from musculo.opensim_tools.work import Work

ALL = "all"


def everything(wanted: Sequence[str], alone: bool = False) -> bool:
    """Whether a list means all there is: `all` comes first, or, where it must be `alone`, as the only word.

    Source: OpenSim 4.6, observed: of coordinates and joints `all` counts where it comes first, of muscles where nothing
    else is listed. Elsewhere it is a name, which nothing has.
    """
    return bool(wanted) and wanted[0].lower() == ALL and (len(wanted) == 1 or not alone)


def known_places(kind: str, analysis: str, wanted: Sequence[str], known: Sequence[str], work: Work) -> list[int]:
    """Places in a list whose names the model has, in the order of the list, as OpenSim writes columns.

    Other names are ignored with a note where a set-up file lists them, as in OpenSim; from flags they are refused.
    """
    places = []
    for k, name in enumerate(wanted):
        if name in known:
            places.append(k)
            continue
        unknown = UnknownName(kind, name, known, "the set-up")
        if not work.of_file:
            raise unknown
        work.note(f"{analysis}: {unknown}; it is ignored, as OpenSim does")
    return places


def chosen(
    kind: str, analysis: str, wanted: Sequence[str], known: Sequence[str], work: Work, alone: bool = False
) -> tuple[str, ...]:
    """The names that a list means, each once, in its order; all of them in that of the model."""
    if everything(wanted, alone):
        if alone and wanted[0] != ALL:
            work.note(f"{analysis}: {wanted[0]!r} is read as {ALL!r}; OpenSim then writes no {kind}")
        return tuple(known)
    return once([wanted[k] for k in known_places(kind, analysis, wanted, known, work)], analysis, work)


def once(names: Sequence[str], analysis: str, work: Work) -> tuple[str, ...]:
    """Every name once, in their order; columns need names of their own."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        work.note(f"{analysis}: {', '.join(twice)} stands in a list more than once, and is written once")
    return tuple(dict.fromkeys(names))
