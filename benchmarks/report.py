"""How large the report of a long trial is, and how soon a browser shows it.

python benchmarks/report.py [FRAMES]      needs the data folder, the extra `test` and Debian's chromium
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import Table, read_osim, read_storage, write_storage
from musculo.report import report_of_folder, write_report
from support.browser import PATIENCE, browser
from trees import data_folder

MUSCLES = 100
NOISE = 0.01  # of the largest value of a column: noise is what cannot be compressed


def stretched(table: Table, frames: int, rng: np.random.Generator) -> Table:
    """The recorded walk there and back again, 100 frames a second, noisy."""
    n = len(table.time)
    there = np.abs((np.linspace(0.0, frames / 100.0 * n / 2.0, frames) + n - 1) % (2 * (n - 1)) - (n - 1))
    values = np.stack([np.interp(there, np.arange(n), column) for column in table.values.T], axis=1)
    scale = NOISE * np.abs(values).max(axis=0)
    return Table(np.arange(frames) / 100.0, table.names, values + scale * rng.normal(size=values.shape))


def widened(table: Table, muscles: list[str]) -> Table:
    """The muscles' columns, and copies of them under other names until there are enough."""
    names = (muscles + [f"{name}_again" for name in muscles])[:MUSCLES]
    values = np.stack([table.column(name.removesuffix("_again")) for name in names], axis=1)
    return Table(table.time, tuple(names), values)


def main() -> int:
    frames = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    data = data_folder()
    recorded = data / "oracle" / "rajagopal_walk"
    model = read_osim(data / "rajagopal_walk" / "subject_walk_scaled.osim")
    numbers = np.load(recorded / "results.npz")
    columns = json.loads((recorded / "results.json").read_text())["columns"]
    rng = np.random.default_rng(0)

    def table(key: str) -> Table:
        return Table(numbers[key][:, 0], tuple(columns[key]["columns"][1:]), numbers[key][:, 1:])

    muscles = [name for name in table("so_tight_force").names if name in model.muscle_names]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "results"
        folder.mkdir()
        for name, one in {
            "walk_ik.mot": read_storage(recorded / "ik.mot"),
            "walk_id.sto": table("id"),
            "walk_StaticOptimization_activation.sto": widened(table("so_tight_activation"), muscles),
            "walk_StaticOptimization_force.sto": widened(table("so_tight_force"), muscles),
            "walk_JointReaction_ReactionLoads.sto": table("jr_ground"),
        }.items():
            write_storage(stretched(one, frames, rng), folder / name)
        start = time.perf_counter()
        made = report_of_folder(folder, model)
        page = Path(place) / "report.html"
        write_report(page, made)
        print(f"{frames} frames, {MUSCLES} muscles, scene of {len(model.muscles)} muscles")
        print(f"report made in {time.perf_counter() - start:.1f} s, {page.stat().st_size / 1e6:.1f} MB (goal 15)")
        with browser() as chrome:
            tab = chrome.new_context(viewport={"width": 1200, "height": 900}, offline=True).new_page()
            tab.set_default_timeout(PATIENCE)
            start = time.perf_counter()
            tab.goto(page.as_uri())
            tab.wait_for_selector(".panel[data-drawn]")
            curves = time.perf_counter() - start
            paint = tab.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1e3
            start = time.perf_counter()
            tab.locator("#scene iframe").scroll_into_view_if_needed()
            tab.frame_locator("#scene iframe").locator("canvas").wait_for()
            scene = time.perf_counter() - start
            print(
                f"first paint {paint:.2f} s (goal 3), first curves {curves:.2f} s, scene {scene:.2f} s after the scroll"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
