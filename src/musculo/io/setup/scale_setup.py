"""`<ScaleTool>`: factors from measurements or by hand, and markers placed by a static trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from musculo.io.osim.xml import Element, flag, invalid, names, text
from musculo.io.setup.kinematics_setups import TASKS, Task
from musculo.io.setup.setup_properties import (
    FILE,
    FLAG,
    NOTES,
    NUMBER,
    TEXT,
    VECTOR,
    SetupFile,
    members_of,
    object_of,
    read_by,
    read_members,
    read_properties,
)
from musculo.model.measurement import AXES, Measurement

SCALING_ORDER = ("measurements", "manualScale")


@dataclass(frozen=True)
class ManualScale:
    """Factors of one body along its x, y and z."""

    segment: str = field(default="unnamed_segment", metadata=TEXT)
    scales: tuple[float, float, float] = field(default=(1.0, 1.0, 1.0), metadata=VECTOR)
    apply: bool = field(default=True, metadata=FLAG)


def _measurement(element: Element, file: SetupFile) -> Measurement:
    pairs, bodies = [], []
    for pair in _members(element, "MarkerPair", file):
        markers = names(pair, "markers")
        if len(markers) != 2:
            raise invalid(pair, f"a <MarkerPair> names {len(markers)} markers; give the names of two in <markers>")
        pairs.append((markers[0], markers[1]))
    for scale in _members(element, "BodyScale", file):
        axes = "".join(names(scale, "axes")).upper()
        if not set(axes) <= set(AXES):
            raise invalid(scale, f"its axes are {text(scale, 'axes')!r:.60}; give some of X Y Z")
        bodies.append((scale.get("name", ""), axes))
    for child in element:
        if child.tag not in ("apply", "MarkerPairSet", "BodyScaleSet"):
            file.note(child, "is not a property of <Measurement>, and is ignored, as OpenSim does")
    return Measurement(element.get("name", ""), tuple(pairs), tuple(bodies), flag(element, "apply", True))


def _members(element: Element, kind: str, file: SetupFile) -> tuple[Element, ...]:
    found = element.find(f"{kind}Set")
    return () if found is None else read_members({kind: lambda member, _: member}, file.inline(found), file)


def _order(element: Element, tag: str, file: SetupFile, _: Any) -> tuple[str, ...]:
    words = names(element, tag)
    for word in words:
        file.refuse_other_words(element.find(tag), word, SCALING_ORDER)
    return words


@dataclass(frozen=True)
class GenericModel:
    """`<GenericModelMaker>`: the model to scale, and markers to put on it."""

    model_file: Path | None = field(default=None, metadata=FILE)
    marker_set_file: Path | None = field(default=None, metadata=FILE)


@dataclass(frozen=True)
class ModelScaler:
    """`<ModelScaler>`; of what `scaling_order` lists, the later wins."""

    apply: bool = field(default=True, metadata=FLAG)
    scaling_order: tuple[str, ...] = field(default=(), metadata=read_by(_order))
    measurements: tuple[Measurement, ...] = field(
        default=(), metadata=members_of({"Measurement": _measurement}, "MeasurementSet")
    )
    manual_scales: tuple[ManualScale, ...] = field(
        default=(),
        metadata=members_of({"Scale": lambda element, file: read_properties(ManualScale, element, file)}, "ScaleSet"),
    )
    marker_file: Path | None = field(default=None, metadata=FILE)
    time_range: tuple[float, float] = field(default=(-1.0, -1.0), metadata=VECTOR)
    preserve_mass_distribution: bool = field(default=False, metadata=FLAG)
    output_model_file: Path | None = field(default=None, metadata=FILE)
    output_scale_file: Path | None = field(default=None, metadata=FILE)


@dataclass(frozen=True)
class MarkerPlacer:
    """`<MarkerPlacer>`."""

    apply: bool = field(default=True, metadata=FLAG)
    tasks: tuple[Task, ...] = field(default=(), metadata=TASKS)
    marker_file: Path | None = field(default=None, metadata=FILE)
    coordinate_file: Path | None = field(default=None, metadata=FILE)
    time_range: tuple[float, float] = field(default=(-1.0, -1.0), metadata=VECTOR)
    output_motion_file: Path | None = field(default=None, metadata=FILE)
    output_model_file: Path | None = field(default=None, metadata=FILE)
    output_marker_file: Path | None = field(default=None, metadata=FILE)
    max_marker_movement: float = field(default=-1.0, metadata=NUMBER)


@dataclass(frozen=True)
class ScaleSetup:
    """What `<ScaleTool>` asks for; paths count from the folder of the set-up file.

    `mass` [kg] is that of the subject; negative where it is not known. `height` and `age` change nothing.
    """

    name: str
    mass: float = field(default=-1.0, metadata=NUMBER)
    height: float = field(default=-1.0, metadata=NUMBER)
    age: float = field(default=-1.0, metadata=NUMBER)
    subject_notes: str = field(default="", metadata=NOTES)
    generic_model: GenericModel = field(default=GenericModel(), metadata=object_of(GenericModel, "GenericModelMaker"))
    scaler: ModelScaler = field(default=ModelScaler(), metadata=object_of(ModelScaler, "ModelScaler"))
    placer: MarkerPlacer = field(default=MarkerPlacer(), metadata=object_of(MarkerPlacer, "MarkerPlacer"))
    notes: tuple[str, ...] = ()
    source: str = ""
    included: tuple[Path, ...] = ()  # files that hold parts of it
