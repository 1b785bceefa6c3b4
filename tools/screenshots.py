#!/usr/bin/env python3
"""Pictures of the viewer for the README and the docs, taken in a headless Chromium.

    python tools/screenshots.py [FOLDER]        # docs/assets by default

The demo's arm is always there. The walking trial and the shoulder need the recorded data ($MUSCULO_DATA, else
../shared/data beside the clone) and are left out, with a word, where it is missing. Look at the pictures before they
are committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import musculo
from musculo import Table, demo, view
from musculo.viewer import Scene
from support.browser import PATIENCE, browser
from support.recorded_data import DATA

ROOT = Path(__file__).parents[1]
SIZE = (1280, 800)
# Software rendering is slow; a picture is taken when the camera rests.
SETTLE = "v.drawNow(); await new Promise((done) => setTimeout(done, 800)); v.drawNow();"


def arm() -> Scene:
    """The demo: markers to muscle activations and joint loads."""
    chain = demo.arm_chain()
    tables = chain.tables()
    return view(
        chain.model,
        chain.motion.q,
        chain.motion.time,
        activation=tables["arm_StaticOptimization_activation.sto"],
        markers=chain.markers,
        reactions=tables["arm_JointReaction_ReactionLoads.sto"],
    )


def walk() -> Scene:
    """Rajagopal's walking trial with recorded activations (static optimisation) and joint reactions."""
    folder, recorded = DATA / "rajagopal_walk", DATA / "oracle" / "rajagopal_walk"
    model = musculo.read_osim(folder / "subject_walk_scaled.osim")
    numbers = np.load(recorded / "results.npz")
    columns = json.loads((recorded / "results.json").read_text())["columns"]

    def table(key: str) -> Table:
        return Table(numbers[key][:, 0], tuple(columns[key]["columns"][1:]), numbers[key][:, 1:])

    activation = table("so_tight_activation")
    return view(
        model,
        musculo.read_storage(recorded / "ik.mot").between(activation.time[0], activation.time[-1]),
        activation=activation,
        markers=musculo.read_trc(folder / "markers_walk.trc"),
        loads=musculo.read_external_loads(folder / "oracle_extloads.xml"),
        reactions=table("jr_ground"),
    )


def shoulder() -> Scene:
    """The thoracoscapular shoulder: an arm is raised, and the scapula turns with it."""
    model = musculo.read_osim(DATA / "thoracoscapular_shoulder" / "ThoracoscapularShoulderModel.osim")
    time = np.linspace(0.0, 3.0, 121)
    raised = 0.5 - 0.5 * np.cos(2.0 * np.pi * time / 3.0)
    q = np.tile([c.default_value for c in model.coordinates], (len(time), 1))
    for name, change in (
        ("shoulder_elv", 1.2),
        ("scapula_upward_rot", 0.35),
        ("clav_elev", 0.15),
        ("elbow_flexion", 0.8),
    ):
        q[:, model.coordinate_index(name)] += change * raised
    return view(model, q, time)


def choose(kind: str, name: str) -> str:
    return f"v.choose(v.list.find({json.dumps(kind)}, {json.dumps(name)}));"


def toggle(name: str) -> str:
    return f"document.querySelector('[data-toggle={name}]').click();"


# Nearer, and up to where the muscles are: the arm hung down when the view was framed.
CLOSER = "v.radius *= 0.7; v.aside.y += 0.17; v.reset('home');"
# What is pictured: the scene, whether it needs the data, the file, the theme, and what a reader would have done.
PICTURES: tuple[tuple[Callable[[], Scene], bool, str, str, str], ...] = (
    (arm, False, "view_demo.png", "light", "v.player.seek(0.6 * v.player.span);" + choose("muscle", "biceps_long")),
    (walk, True, "view_walk.png", "light", "v.player.seek(0.42);" + choose("muscle", "soleus_r")),
    (
        shoulder,
        True,
        "view_shoulder.png",
        "light",
        "v.player.seek(1.2);" + toggle("wraps") + choose("coordinate", "shoulder_elv") + CLOSER,
    ),
)


def main() -> int:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "assets"
    folder.mkdir(parents=True, exist_ok=True)
    made: dict[Callable[[], Scene], Path] = {}
    with tempfile.TemporaryDirectory() as pages, browser() as chrome:
        for scene, needs_data, name, theme, act in PICTURES:
            if needs_data and not DATA.is_dir():
                print(f"{name}: left out, no recorded data in {DATA}")
                continue
            if scene not in made:
                made[scene] = scene().to_html(Path(pages) / f"{scene.__name__}.html")
            context = chrome.new_context(
                viewport={"width": SIZE[0], "height": SIZE[1]}, offline=True, color_scheme=theme
            )
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.goto(made[scene].as_uri())
            page.evaluate(f"async () => {{ const v = await window.musculoViewer; {act} {SETTLE} }}")
            page.screenshot(path=folder / name)
            context.close()
            print(f"{folder / name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
