"""Unusual but legal set-ups of the arm that ships with the package, and both programs on them, side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo import Markers, kinematics, read_osim, read_storage
from musculo.io import write_trc
from musculo.opensim import ToolResult, run_setup
from support import opensim_run
from support.opensim_server import the_server
from support.tool_setups import arm_folder, document

MARKERS = ("acromion", "upper_arm", "elbow_lateral", "elbow_medial", "forearm", "wrist_radial", "wrist_ulnar")
SETUP = "setup.xml"
Content = str | Callable[[Path], object]


class Both(NamedTuple):
    """Folders in which OpenSim and musculo ran the same set-up, our result, and what OpenSim printed."""

    theirs: Path
    ours: Path
    result: ToolResult
    log: str

    @property
    def told(self) -> str:
        return "\n".join((*self.result.notes, *self.result.troubles))

    def tables(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Values of a file of results, times in front, of OpenSim and ours; columns must be the same."""
        theirs, ours = (read_storage(folder / name) for folder in (self.theirs, self.ours))
        assert theirs.names == ours.names
        return tuple(np.column_stack((table.time, table.values)) for table in (theirs, ours))  # type: ignore[return-value]


def run_both(folder: Path, files: Mapping[str, Content], exact: bool = False) -> Both:
    """Let both programs run `setup.xml` of these files, beside the arm, a walk of markers and a static trial."""
    places = []
    for side in ("theirs", "ours"):
        place = folder / side
        arm_recordings(place)
        for name, content in files.items():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            if callable(content):
                content(place / name)
            else:
                (place / name).write_text(content)
        places.append(place)
    theirs, ours = places
    log = the_server().call(opensim_run.run, "info", SETUP, folder=theirs).log
    return Both(theirs, ours, run_setup(ours / SETUP, exact=exact, compare=False), log)


def arm_recordings(folder: Path) -> None:
    """The arm with `trial.trc`, 3 s of motion, and `static.trc`, a longer and wider arm that holds still."""
    arm_folder(folder)
    model = read_osim(folder / "arm.osim")
    noise = np.random.default_rng(3)
    off = noise.normal(scale=0.006, size=(len(model.markers), 3))
    time = np.arange(301) / 100.0
    moving = kinematics(model, np.stack([0.3 * np.sin(time), 0.9 - 0.6 * np.cos(2.0 * time)], axis=1)).markers()
    still = kinematics(model, np.tile([0.05, 0.4], (41, 1))).markers() * (1.05, 1.1, 1.02)
    for name, position in (("trial.trc", moving), ("static.trc", still)):
        seen = position + off + noise.normal(scale=0.001, size=position.shape)
        write_trc(Markers(time[: len(seen)], model.marker_names, seen), folder / name)


def marker_task(name: str, weight: float = 1.0, apply: str = "true") -> str:
    return f'<IKMarkerTask name="{name}"><apply>{apply}</apply><weight>{weight}</weight></IKMarkerTask>'


def coordinate_task(name: str, weight: float, value: float) -> str:
    return (
        f'<IKCoordinateTask name="{name}"><apply>true</apply><weight>{weight}</weight>'
        f"<value_type>manual_value</value_type><value>{value}</value></IKCoordinateTask>"
    )


ALL_TASKS = "".join(map(marker_task, MARKERS))


def inverse_kinematics(tasks: str = ALL_TASKS, more: str = "<time_range>0 1</time_range>") -> str:
    return document(
        "InverseKinematicsTool",
        f"<results_directory>results</results_directory><model_file>arm.osim</model_file>{more}"
        "<output_motion_file>ik.mot</output_motion_file><report_marker_locations>true</report_marker_locations>"
        f"<IKTaskSet><objects>{tasks}</objects></IKTaskSet><marker_file>trial.trc</marker_file>",
    )


def measurement(name: str, bodies: str, apply: str = "true") -> str:
    """Of the upper arm, for bodies separated by blanks."""
    scaled = "".join(f'<BodyScale name="{body}"><axes>X Y Z</axes></BodyScale>' for body in bodies.split())
    return (
        f'<Measurement name="{name}"><apply>{apply}</apply><MarkerPairSet><objects><MarkerPair>'
        "<markers>acromion elbow_lateral</markers></MarkerPair></objects></MarkerPairSet>"
        f"<BodyScaleSet><objects>{scaled}</objects></BodyScaleSet></Measurement>"
    )


def manual_scale(body: str, apply: str = "true") -> str:
    return f"<Scale><scales>1.1 1.2 1.05</scales><segment>{body}</segment><apply>{apply}</apply></Scale>"


TRIAL = "<marker_file>static.trc</marker_file><time_range>0 0.4</time_range>"
NO_PLACER = "<MarkerPlacer><apply>false</apply></MarkerPlacer>"


def marker_placer(tasks: str = ALL_TASKS, model: str = "placed.osim", trial: str = TRIAL, more: str = "") -> str:
    return (
        f"<MarkerPlacer><apply>true</apply><IKTaskSet><objects>{tasks}</objects></IKTaskSet>{trial}{more}"
        f"<output_motion_file>pose.sto</output_motion_file><output_model_file>{model}</output_model_file></MarkerPlacer>"
    )


def scale(
    measurements: str = "", manual: str = "", order: str = "measurements manualScale", trial: str = TRIAL,
    placer: str = NO_PLACER, model: str = "scaled.osim",
) -> str:  # fmt: skip
    return document(
        "ScaleTool",
        "<mass>5</mass><GenericModelMaker><model_file>arm.osim</model_file></GenericModelMaker><ModelScaler>"
        f"<apply>true</apply><scaling_order>{order}</scaling_order>"
        f"<MeasurementSet><objects>{measurements}</objects></MeasurementSet>"
        f"<ScaleSet><objects>{manual}</objects></ScaleSet>{trial}<output_model_file>{model}</output_model_file>"
        f"<output_scale_file>factors.xml</output_scale_file></ModelScaler>{placer}",
    )


def write_motion(path: Path, columns: Mapping[str, np.ndarray], degrees: str = "no") -> None:
    """A table of columns at 100 Hz."""
    values = np.column_stack(list(columns.values()))
    rows = ["\t".join(f"{v:.10f}" for v in (k / 100.0, *row)) for k, row in enumerate(values)]
    head = f"m\nversion=1\nnRows={len(values)}\nnColumns={1 + len(columns)}\ninDegrees={degrees}\nendheader\n"
    path.write_text(head + "\t".join(("time", *columns)) + "\n" + "\n".join(rows) + "\n")
