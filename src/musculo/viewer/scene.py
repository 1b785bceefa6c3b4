"""A scene: everything a page draws, as JSON with packed arrays."""

from __future__ import annotations

import html
import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from musculo.analyses.visible_motion import WRAPPINGS, Drawing, VisibleMotion, visible_motion
from musculo.arrays import FloatArray
from musculo.dynamics.poses import Kinematics
from musculo.errors import InvalidInput, unwarned
from musculo.like import Like, wrapping_of
from musculo.model.body import GROUND
from musculo.model.force import Muscle
from musculo.model.model import Model
from musculo.results.angle_columns import shown_units
from musculo.results.external_loads import ExternalLoads
from musculo.results.markers import Markers, markers_of
from musculo.results.result_base import Result
from musculo.results.table import Table
from musculo.results.tables_of_others import TableLike, table_of
from musculo.spatial.rotation import to_quaternion
from musculo.viewer.arrows import Arrow, load_arrows, reaction_arrows
from musculo.viewer.bones import model_size
from musculo.viewer.path_lines import polylines
from musculo.viewer.scene_arrays import floats, integers, steps
from musculo.viewer.scene_inputs import Frames, frames_in, markers_at, of_muscles_at, of_result, some
from musculo.viewer.shapes import bones, wrap_shapes

PAGE = Path(__file__).parent / "page.html"
# Where the page keeps its scene.
_SLOT = "@@musculo-scene@@"


@cache
def _parts() -> tuple[str, str]:
    before, slot, after = PAGE.read_text(encoding="utf-8").partition(_SLOT)
    if not slot:
        raise RuntimeError(f"{PAGE} has no place for a scene; build it again (viewer/web/build.mjs)")
    return before, after


def page(scene_json: str) -> str:
    """The whole page around a scene; the JSON must be safe inside a script element (`Scene.json`)."""
    before, after = _parts()
    return before + scene_json + after


def framed(page_html: str, title: str, height: int) -> str:
    """A page inside an element of another page, with styles and scripts of its own."""
    return (
        f'<iframe title="{html.escape(title, quote=True)}" sandbox="allow-scripts" loading="lazy" '
        f'style="width:100%;height:{int(height)}px;border:0;border-radius:8px" '
        f'srcdoc="{html.escape(page_html, quote=True)}"></iframe>'
    )


FORMAT = 1
# [bytes] A scene stays below this, by leaving out frames; the page says so.
LARGEST = 8_000_000
_MOST_FRAMES = 4000
# Tubes are drawn thinner than muscles are: this share of the radius of their cross-section at 60 N/cm^2.
_THINNER, _SPECIFIC_TENSION = 0.36, 6e5
_THINNEST, _THICKEST = 0.0025, 0.016  # [m]


@dataclass(frozen=True, eq=False)
class Scene:
    """What a viewer page draws. `to_html` writes the page; in a notebook a scene shows itself."""

    title: str
    data: dict[str, Any] = field(repr=False)
    notes: tuple[str, ...] = ()

    def json(self) -> str:
        """The scene as JSON that may stand inside a script element of a page: it holds no `<`, `>` or `&`."""
        text = json.dumps(self.data, separators=(",", ":"), allow_nan=False)
        return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")

    def html(self) -> str:
        """The whole page as text; it needs no network."""
        return page(self.json())

    def to_html(self, path: str | os.PathLike[str]) -> Path:
        """Write the page."""
        from musculo.io.text import write_text

        write_text(path, [self.html()])
        return Path(path)

    def iframe(self, height: int = 560) -> str:
        """The page as an element to put into another page: the report, a notebook."""
        return framed(self.html(), self.title, height)

    def notebook(self, height: int = 560) -> Any:
        """For a notebook, with a height of one's own [px]."""
        return _Shown(self.iframe(height))

    def _repr_html_(self) -> str:
        return self.iframe()


class _Shown:
    """HTML that a notebook shows."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html


def view(
    model: Model,
    q: ArrayLike | TableLike | Result | None = None,
    time: ArrayLike | None = None,
    *,
    activation: TableLike | ArrayLike | None = None,
    forces: TableLike | ArrayLike | None = None,
    markers: Markers | None = None,
    loads: ExternalLoads | None = None,
    reactions: Table | None = None,
    geometry: str | os.PathLike[str] | None = None,
    like: Like | None = None,
    wrapping: Drawing | None = None,
    path: str | os.PathLike[str] | None = None,
) -> Scene:
    """A model, or its motion, to look at in a browser.

        view(model, motion, path="walk.html")      # one file, without a network

    Args:
        model: the model.
        q: (frames, n) or (n,) coordinates [rad, m], a table of them (`read_storage`), or the result that holds them,
            for instance of `simulate` or `inverse_kinematics`; by default the default pose.
        time: (frames,) [s], where q is an array.
        activation: a table with a column for each muscle, or (frames, muscles); colors the muscles. By default that of
            the result.
        forces: likewise [N]; curves of the muscles.
        markers: measured markers, drawn beside the model's with a line between.
        loads: external loads, drawn as arrows.
        reactions: a joint reaction table, expressed in any frame of the model, drawn as arrows.
        geometry: the folder of the model's bone meshes; $MUSCULO_GEOMETRY, the model's folder and Geometry beside it
            are looked into, too. Without meshes simple bones are drawn.
        like: "opensim" for muscles that run over surfaces as they do there (`muscle_geometry`).
        wrapping: another word for it, "geodesic" or "opensim"; "straight" draws lines through the points of their
            paths, for which no kernels are compiled.
        path: where to write the page.
    """
    if not isinstance(model, Model):
        raise InvalidInput(f"view(model, ...) needs a Model, not {type(model).__name__}; read_osim makes one")
    if geometry is not None and not Path(geometry).is_dir():
        raise InvalidInput(f"no folder {os.fspath(geometry)}; give the folder that holds the .vtp, .obj or .stl files")
    if wrapping is None:
        wrapping = wrapping_of(like, None)
    elif wrapping not in WRAPPINGS:
        raise InvalidInput(f"wrapping {wrapping!r} is not known; it is one of {', '.join(WRAPPINGS)}")
    if time is None:
        q = table_of(q)
    activation, forces = table_of(activation), table_of(forces)
    frames = frames_in(model, q, time)
    given = markers_of(markers)
    measured = given.named_like(model.marker_names) if isinstance(given, Markers) else given
    active, strong = (of_result(model, q, *one) for one in (("activation", activation), ("force", forces)))
    maker = _Maker(model, frames, active, strong, measured, loads, reactions, geometry, wrapping)
    scene = maker.made(min(len(frames.time), _MOST_FRAMES))
    for _ in range(5):
        size, shown = len(scene.json()), int(scene.data["frames"]["shown"])
        if size <= LARGEST or shown <= 2:
            break
        scene = maker.made(max(2, int(0.95 * shown * LARGEST / size)))
    if path is not None:
        scene.to_html(path)
    return scene


@dataclass(frozen=True, eq=False)
class _Maker:
    """Makes a scene of some of the frames."""

    model: Model
    frames: Frames
    activation: Table | ArrayLike | None
    forces: Table | ArrayLike | None
    markers: Markers | None
    loads: ExternalLoads | None
    reactions: Table | None
    geometry: str | os.PathLike[str] | None
    wrapping: Drawing

    @unwarned()  # of angles, which were looked at where they came in
    def made(self, count: int) -> Scene:
        total = len(self.frames.time)
        rows = np.unique(np.rint(np.linspace(0, total - 1, count)).astype(np.int64))
        frames = self.frames.at(rows)
        seen = visible_motion(self.model, frames.q, self.wrapping)
        poses = seen.poses
        shapes, meshes, notes = bones(self.model, poses, self.geometry)
        notes = (*frames.notes, *notes)
        if len(rows) < total:
            notes = (*notes, f"{len(rows)} of {total} frames are drawn, evenly chosen, to keep this file small.")
        muscles, muscle_series, muscle_notes = self._muscles(seen, rows)
        marked, marker_series, marker_notes = self._markers(frames, poses)
        loads, load_notes = ([], ()) if self.loads is None else load_arrows(self.loads, poses, frames.time)
        data: dict[str, Any] = {
            "format": FORMAT,
            "title": self.model.name,
            "source": Path(self.model.source).name if self.model.source else "",
            "notes": [*notes, *muscle_notes, *marker_notes, *load_notes],
            "frames": {"total": total, "shown": len(rows)},
            "time": floats(frames.time - frames.time[0]),
            "start": float(frames.time[0]),
            "up": self._up(),
            "size": model_size(self.model, poses),
            "bodies": [GROUND, *self.model.body_names],
            "poses": self._poses(poses),
            "shapes": shapes,
            "meshes": meshes,
            "wraps": wrap_shapes(self.model),
            "muscles": muscles,
            "markers": marked,
            "loads": _arrows(loads),
            "reactions": _arrows([] if self.reactions is None else reaction_arrows(self.reactions, poses, frames.time)),
            "series": [*muscle_series, *self._coordinates(frames), *marker_series],
        }
        return Scene(self.model.name, data, tuple(data["notes"]))

    def _up(self) -> int:
        """The axis that points up: against gravity, or y without any."""
        g = np.array(self.model.gravity)
        return int(np.argmax(np.abs(g))) if g.any() else 1

    def _poses(self, poses: Kinematics) -> dict[str, Any]:
        names = self.model.body_names
        found = [poses.batch_pose(name) for name in names]
        shape = (poses.frames, len(names))
        p = np.stack([p for _, p in found], axis=1) if found else np.zeros((*shape, 3))
        quaternions = to_quaternion(np.stack([R for R, _ in found], axis=1)) if found else np.zeros((*shape, 4))
        # q and -q are one rotation; neighbors in time get the same sign, so that the page may interpolate.
        flips = np.sign(np.einsum("fbi,fbi->fb", quaternions[1:], quaternions[:-1]))
        signs = np.concatenate([np.ones((1, shape[1])), np.where(flips < 0.0, -1.0, 1.0)]).cumprod(axis=0)
        return {"p": steps(p, "last"), "r": steps(quaternions * signs[..., None])}

    # --- muscles ----------------------------------------------------------------------------------------------------
    def _muscles(
        self, seen: VisibleMotion, rows: NDArray[np.int64]
    ) -> tuple[dict[str, Any], list[dict[str, Any]], tuple[str, ...]]:
        points, length, notes = seen.points, seen.lengths, seen.notes
        if points is None or not points.names:
            return {"names": []}, [], notes
        lines = polylines(points, seen.poses)
        n, forces = len(self.model.muscles), {f.name: f for f in self.model.forces}
        active = of_muscles_at(self.model, "activation", self.activation, self.frames, rows)
        force = of_muscles_at(self.model, "force", self.forces, self.frames, rows)
        given = bool(np.isfinite(active).any())
        if self.activation is not None and not given:
            notes = (*notes, "The activations lie at other times than the motion; muscles are not colored.")
        muscles = {
            "names": list(lines.names),
            "count": n,
            "first": lines.first.tolist(),
            "points": steps(lines.points, "last"),
            "layout": integers(lines.layout),
            "radius": [float(f"{_radius(forces[name]):.4g}") for name in lines.names],
            **({"activation": steps(active)} if given else {}),
        }
        series = []
        for k, name in enumerate(lines.names):
            kind = "muscle" if k < n else "path"
            if given and k < n and np.isfinite(active[:, k]).any():
                series.append(_series(kind, name, "activation", "", active[:, k]))
            if k < n and np.isfinite(force[:, k]).any():
                series.append(_series(kind, name, "force", "N", force[:, k]))
            series.append(_series(kind, name, "length", "m", length[:, k]))
        return muscles, series, notes

    # --- the rest ---------------------------------------------------------------------------------------------------
    def _coordinates(self, frames: Frames) -> list[dict[str, Any]]:
        units = shown_units(self.model)
        found = []
        for k, name in enumerate(self.model.coordinate_names):
            unit = units[name]
            values = np.degrees(frames.q[:, k]) if unit == "°" else frames.q[:, k]
            found.append(_series("coordinate", name, "value" if unit == "m" else "angle", unit, values))
        return found

    def _markers(
        self, frames: Frames, poses: Kinematics
    ) -> tuple[dict[str, Any], list[dict[str, Any]], tuple[str, ...]]:
        """Where markers are and were measured, how far apart [mm], and notes where that cannot be said."""
        model = np.asarray(poses.markers()).reshape(len(frames.time), -1, 3)
        names = list(self.model.marker_names)
        found: dict[str, Any] = {"names": names, "model": steps(model, "last")} if names else {"names": []}
        if self.markers is None:
            return found, [], ()
        measured = markers_at(self.markers, frames.time)
        if not np.isfinite(measured).any():
            return found, [], ("The measured markers lie at other times than the motion; none is drawn.",)
        match = [names.index(name) if name in names else -1 for name in self.markers.names]
        found |= {"measured_names": list(self.markers.names), "measured": steps(measured, "last"), "match": match}
        series = []
        for k, j in enumerate(match):
            error = np.linalg.norm(measured[:, k] - model[:, j], axis=1) if j >= 0 else np.full(len(model), np.nan)
            if np.isfinite(error).any():
                series.append(_series("marker", names[j], "error", "mm", 1e3 * error))
        notes: tuple[str, ...] = ()
        if max(match) < 0:
            ours, theirs = some(names) or "none", some(list(self.markers.names))
            notes = (f"No measured marker has the name of one of the model. Measured: {theirs}; the model's: {ours}.",)
        return found, series, notes


def _radius(force: Any) -> float:
    if not isinstance(force, Muscle):
        return _THINNEST
    area = max(force.max_isometric_force, 0.0) / _SPECIFIC_TENSION
    return float(np.clip(_THINNER * np.sqrt(area / np.pi), _THINNEST, _THICKEST))


def _arrows(arrows: list[Arrow]) -> dict[str, Any]:
    if not arrows:
        return {"names": []}
    return {
        "names": [arrow.name for arrow in arrows],
        "point": steps(np.stack([arrow.point for arrow in arrows], axis=1), "last"),
        "force": steps(np.stack([arrow.force for arrow in arrows], axis=1)),
    }


def _series(kind: str, name: str, quantity: str, unit: str, values: FloatArray) -> dict[str, Any]:
    return {"kind": kind, "name": name, "quantity": quantity, "unit": unit, "values": steps(values)}
