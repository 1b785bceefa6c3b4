"""Where numbers come from: the model, the package, the call and its options."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from musculo import __version__

if TYPE_CHECKING:
    from musculo.model.model import Model


@dataclass(frozen=True)
class Provenance:
    """What made a result. All of it ends up in the files: as header lines of a .sto, as attributes of a NetCDF."""

    made_by: str  # the function, for instance "inverse_dynamics"
    model: str = ""  # its name
    model_hash: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()  # files that went in
    version: str = __version__  # of musculo

    @classmethod
    def of(cls, made_by: str, model: Model | None = None, sources: tuple[str, ...] = (), **options: Any) -> Provenance:
        """`Provenance.of("inverse_dynamics", model, cutoff=6.0)`; what has names, as weights have, is kept as JSON."""
        return cls(
            made_by,
            "" if model is None else model.name,
            "" if model is None else model.hash,
            {name: _one_line(value) for name, value in options.items()},
            tuple(sources),
        )

    def attributes(self) -> dict[str, str]:
        """As text under plain keys, for the header of a file."""
        found = {
            "musculo_version": self.version,
            "made_by": self.made_by,
            "model": self.model,
            "model_hash": self.model_hash,
            "sources": "; ".join(self.sources),
        }
        found |= {f"option_{name}": _one_line(value) for name, value in self.options.items()}
        return {key: _one_line(value) for key, value in found.items() if value}

    @classmethod
    def from_attributes(cls, attributes: Mapping[str, Any]) -> Provenance | None:
        """The provenance that the header of a file states, if it states one."""
        if "made_by" not in attributes and "musculo_version" not in attributes:
            return None
        options = {k.removeprefix("option_"): str(v) for k, v in attributes.items() if k.startswith("option_")}
        sources = str(attributes.get("sources", ""))
        return cls(
            str(attributes.get("made_by", "")),
            str(attributes.get("model", "")),
            str(attributes.get("model_hash", "")),
            options,
            tuple(sources.split("; ")) if sources else (),
            str(attributes.get("musculo_version", "")),
        )


def _one_line(value: Any) -> str:
    # what has names in it is read back by json.loads
    text = json.dumps(value, ensure_ascii=False, default=float) if isinstance(value, Mapping) else str(value)
    return " ".join(text.split())
