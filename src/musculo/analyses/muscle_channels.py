"""Which muscles of a model a channel of an electromyogram is of, by its name."""

from __future__ import annotations

import re
from typing import NamedTuple

from musculo.model.model import Model
from musculo.model.named_sides import side_of

# What channels of a muscle are called, without sides, spaces and signs; and how its parts begin in OpenSim's models.
_NAMES: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("ta", "tibant", "tibialisanterior", "tibialisant"), ("tibant",)),
    (("tp", "tibpost", "tibialisposterior"), ("tibpost",)),
    (("sol", "soleus", "msoleus", "lsoleus", "soleusmedial", "soleuslateral"), ("soleus",)),
    (("mg", "mgas", "mgast", "gasmed", "medialgastrocnemius", "gastrocnemiusmedialis"), ("gasmed", "medgas")),
    (("lg", "lgas", "lgast", "gaslat", "lateralgastrocnemius", "gastrocnemiuslateralis"), ("gaslat", "latgas")),
    (("gas", "gast", "gastroc", "gastrocnemius"), ("gasmed", "gaslat", "medgas", "latgas", "gastroc")),
    (("pl", "perlong", "peroneuslongus", "peroneus", "fibularislongus"), ("perlong",)),
    (("pb", "perbrev", "peroneusbrevis", "fibularisbrevis"), ("perbrev",)),
    (("rf", "recfem", "rectfem", "rectusfemoris"), ("recfem", "rectfem")),
    (("vl", "vaslat", "vastuslateralis", "vastuslat"), ("vaslat", "vasti")),
    (("vm", "vmo", "vasmed", "vastusmedialis", "vastusmed", "vastusmedius"), ("vasmed", "vasti")),
    (("vi", "vasint", "vastusintermedius"), ("vasint", "vasti")),
    (("bf", "bflh", "bicfem", "bicepsfem", "bicepsfemoris"), ("bflh", "bifemlh", "hamstrings")),
    (("lh", "lhams", "lateralhamstrings"), ("bflh", "bifemlh", "hamstrings")),
    (("st", "semiten", "semitendinosus"), ("semiten", "hamstrings")),
    (("sm", "semimem", "semimembranosus"), ("semimem", "hamstrings")),
    (("mh", "mhams", "medialhamstrings"), ("semiten", "semimem", "hamstrings")),
    (("hams", "hamstrings"), ("bflh", "bifemlh", "semiten", "semimem", "hamstrings")),
    (("gmax", "glmax", "glutmax", "gluteusmaximus"), ("glmax", "glutmax")),
    (("gmed", "glmed", "glutmed", "gluteusmedius"), ("glmed", "glutmed")),
    (("addmag", "addmagnus", "adductormagnus"), ("addmag",)),
    (("al", "addlong", "adductorlongus", "add", "adductors"), ("addlong",)),
    (("gra", "grac", "gracilis"), ("grac",)),
    (("sar", "sart", "sartorius"), ("sar",)),
    (("tfl", "tensorfasciaelatae"), ("tfl",)),
    (("il", "iliopsoas", "iliacus", "psoas"), ("iliacus", "psoas", "iliopsoas")),
)  # fmt: skip
_SIDES = {"r": "r", "right": "r", "l": "l", "left": "l"}
_BESIDE = {"emg", "voltage", "volt", "raw", "env", "envelope", "activation", "sensor", "ch", "im"}


class Channel(NamedTuple):
    """A channel and its muscles."""

    name: str
    side: str  # "r", "l", or empty where its name does not tell
    muscles: tuple[str, ...]  # of that side, or of both


def muscle_channels(names: tuple[str, ...], model: Model) -> tuple[Channel, ...]:
    """The channels that name muscles of a model; others are left out.

    Names are those of the model's muscles (`soleus_r`), or what laboratories call them: `TA`, `R VMO`, `MGAST_L`,
    `Voltage.RRF`, `gluteus_maximus`. A channel of a muscle with several parts is of all its parts.
    """
    found = []
    for name in names:
        side, word = _word(name)
        muscles = tuple(m for m in model.muscle_names if m == name) or _muscles(side, word, model)
        if muscles:
            side = side or (side_of(muscles[0]) if len({side_of(m) for m in muscles}) == 1 else "")
            found.append(Channel(name, side, muscles))
    return tuple(found)


def _word(name: str) -> tuple[str, str]:
    """The side and the muscle that a name tells of, as it stands in `_NAMES`."""
    parts = [part for part in re.split(r"[^a-z0-9]+", name.lower()) if part and part not in _BESIDE]
    sides = [_SIDES[part] for part in parts if part in _SIDES]
    word = "".join(part for part in parts if part not in _SIDES and not part.isdigit())
    if not sides and not _known(word):
        for text, side in _SIDES.items():
            for rest in (word.removeprefix(text), word.removesuffix(text)):
                if rest != word and _known(rest):
                    return side, rest
    return (sides[0] if len(set(sides)) == 1 else ""), word


def _known(word: str) -> bool:
    return any(word in words for words, _ in _NAMES)


def _muscles(side: str, word: str, model: Model) -> tuple[str, ...]:
    starts = next((starts for words, starts in _NAMES if word in words), ())
    return tuple(
        muscle
        for muscle in model.muscle_names
        if muscle.lower().replace("_", "").startswith(starts) and (not side or side_of(muscle) in ("", side)) and starts
    )
