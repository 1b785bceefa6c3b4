"""Where exact wrapping and like="opensim" differ by more than 0.1 mm, why, and which of them is right.

An independent polyline, pulled tight from either path (`tests/support/taut_polyline.py`), is the judge.

    python benchmarks/wrapping_differences.py [MODEL ...] [--poses 200] [--steps 2000] [--jobs 1] [--keep FOLDER]
    python benchmarks/wrapping_differences.py --page docs/wrapping_tables.md --keep FOLDER

needs the data folder. What was counted for a model is kept in a folder, a file a model, so that long runs can be made
one by one; the second line puts all that is kept into the tables of a page, between its marks.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from musculo import Model, embedding_of, path_geometry, read_osim
from musculo.like import WRAPPINGS
from support.path_lines import SAME, TOUCHES
from support.short_steps import random_poses
from support.who_is_right import KINDS, REASONS, Court, Verdict
from trees import data_folder

MODELS = (
    "arm26",
    "mobl_arms",
    "moco_walk_armless",
    "rajagopal_walk",
    "thoracoscapular_shoulder",
    "small_WrapPathCustomJointMomentArmTest",
)
# Lengths that differ by more are judged [m].
DIFFERENT = 1e-4
# A step of random direction [rad, m], cut by ten so often where the length changes most, and what is then a jump [m].
STEP, CUTS, JUMP = 5e-3, 9, 1e-7
SEED = 7
RIGHT = ("ours", "opensim", "both", "neither")
# Why our length is not that of a shortest path outside all surfaces.
POINT_INSIDE, PENALTY, PAST_END = "a point inside a surface", "a penalty", "past a cylinder's end"
HEADS = ("ours right", "OpenSim", "both", "neither")
SHORTEST, UNKNOWN = "it is one", "unknown"


def recorded_poses(folder: Path, name: str, model: Model) -> np.ndarray:
    """The poses of the OpenSim table of this model."""
    names = json.loads((folder / "oracle" / f"{name}.json").read_text())["coordinates"]
    q = np.load(folder / "oracle" / f"{name}.npz")["q"]
    return q[:, [names.index(n) for n in model.coordinate_names]]


def read(folder: Path, name: str) -> Model:
    return read_osim(folder / json.loads((folder / "oracle" / f"{name}.json").read_text())["model"])


def touched_kinds(court: Court) -> dict[tuple[int, int], str]:
    """The kinds of surfaces that either method touches, by frame and path; those that touch none are not listed."""
    paths = court.compiled.paths
    found: dict[tuple[int, int], str] = {}
    points = [g.path_points for g in (court.ours, court.opensim)]
    for k in range(len(court.ours.names)):
        if paths.first_wrap[k] == paths.first_wrap[k + 1]:
            continue
        for f in range(len(court.q)):
            wraps = np.unique(np.concatenate([p.wrap[f, p.first[k] : p.first[k] + p.count[f, k]] for p in points]))
            kinds = {KINDS[paths.surface_kind[paths.wrap_surface[w]]] for w in wraps if w >= 0}
            if kinds:
                found[f, k] = " + ".join(sorted(kinds))
    return found


def judged(court: Court, jobs: int = 1) -> list[Verdict]:
    """The verdicts on all paths and poses that differ."""
    cases = [
        (court.ours.names[k], int(f))
        for f, k in np.argwhere(np.abs(court.opensim.length - court.ours.length) > DIFFERENT)
    ]
    if jobs == 1:
        return [court.judge(*case) for case in cases]
    _courts[:] = [court]  # jobs inherit it
    with get_context("fork").Pool(jobs) as pool:
        return pool.starmap(_judge, cases, chunksize=4)


_courts: list[Court] = []


def _judge(name: str, frame: int) -> Verdict:
    return _courts[0].judge(name, frame)


def millimetres(values: list[float]) -> str:
    """Median and largest size."""
    sizes = 1e3 * np.abs(values)
    return f"{np.median(sizes):8.2f} {sizes.max():9.2f}"


def print_by(title: str, groups: dict[str, list[Verdict]]) -> None:
    print(f"\n{title:42s}  cases  median   largest mm   right: " + "  ".join(RIGHT))
    for name, verdicts in groups.items():
        right = Counter(v.right for v in verdicts)
        counts = "  ".join(f"{right[r]:{len(r)}d}" for r in RIGHT)
        print(f"{name:42s} {len(verdicts):6d} {millimetres([v.difference for v in verdicts])}          {counts}")


def grouped(verdicts: list[Verdict], key: Callable[[Verdict], str]) -> dict[str, list[Verdict]]:
    groups = defaultdict(list)
    for v in verdicts:
        groups[key(v)].append(v)
    return dict(sorted(groups.items()))


def _excuse(v: Verdict) -> str:
    """Why our length is not that of a shortest path outside all surfaces, as the rules have it."""
    if v.inside:
        return POINT_INSIDE
    if abs(v.penalty) >= SAME:
        return PENALTY
    if v.ended >= TOUCHES:
        return PAST_END
    return SHORTEST if v.settled and v.reason != "ours wrong" else UNKNOWN


def report(name: str, court: Court, verdicts: list[Verdict]) -> None:
    """All tables of one model."""
    kinds = touched_kinds(court)
    difference = court.opensim.length - court.ours.length
    print(f"\n== {name}: {len(court.q)} poses, {len(kinds)} lengths with a contact, {len(verdicts)} differ")
    by_kind = defaultdict(list)
    for (f, k), kind in kinds.items():
        by_kind[kind].append(difference[f, k])
    for kind, values in sorted(by_kind.items()):
        many = int((np.abs(values) > DIFFERENT).sum())
        print(
            f"  {kind:32s} {len(values):6d} lengths, {many:5d} differ; median of all, largest mm {millimetres(values)}"
        )
    if not verdicts:
        return
    print_by("by surface", grouped(verdicts, lambda v: " + ".join(v.touched)))
    print_by("by reason", grouped(verdicts, lambda v: f"{REASONS.index(v.reason)} {v.reason}"))
    print_by("by why ours is no shortest path", grouped(verdicts, _excuse))
    print_by("by path and reason", grouped(verdicts, lambda v: f"{v.name}: {v.reason}"))
    print(f"\npolyline's own error at most {max(v.error for v in verdicts):.1e} m", end="; ")
    restless = [sum(not v.settled for v in verdicts), sum(not v.opensim_settled for v in verdicts)]
    print(f"polylines that did not come to rest: {restless[0]} of ours, {restless[1]} of OpenSim's", end="; ")
    off = [abs(v.unexplained) for v in verdicts if v.settled]
    print(f"ours less polyline less penalties: median {np.median(off):.1e}, largest {max(off):.1e} m")
    for v in sorted(verdicts, key=lambda v: v.reason):
        if v.reason == "ours wrong" or (abs(v.unexplained) > SAME and v.settled):
            print(f"  OURS {v.name} pose {v.frame} ({v.status}): off {1e3 * v.unexplained:.4f} mm, ", end="")
            print(f"passes {v.pierced_by_ours or '-'} ", end="")
            print(f"{1e3 * v.through_ours:.2f} mm deep; clear of it {1e3 * (v.clear - v.ours_taut):+.2f} mm")


def kept(name: str, court: Court, verdicts: list[Verdict]) -> dict[str, Any]:
    """What the page shows of one model."""
    kinds = touched_kinds(court)
    difference = court.opensim.length - court.ours.length
    largest: dict[str, float] = defaultdict(float)
    for place, kind in kinds.items():
        largest[kind] = max(largest[kind], abs(float(difference[place])))
    return {
        "model": name,
        "poses": len(court.q),
        "lengths": Counter(kinds.values()),
        "largest": largest,
        "verdicts": [
            {
                "touched": " + ".join(v.touched),
                "reason": v.reason,
                "right": v.right,
                "difference": abs(float(v.difference)),
                "excuse": _excuse(v),
                "off": abs(float(v.unexplained)) if v.settled else None,
                "still": bool(v.opensim_settled),
            }
            for v in verdicts
        ],
    }


MARKS = "<!-- made by benchmarks/wrapping_differences.py -->", "<!-- end of what is made -->"


def page_of(found: list[dict[str, Any]]) -> str:
    """The tables of all models, as Markdown."""
    verdicts = [v for one in found for v in one["verdicts"]]
    off = [v["off"] for v in verdicts if v["off"] is not None]
    right, excuse = (Counter(v[key] for v in verdicts) for key in ("right", "excuse"))
    poses = ", ".join(f"{one['model']} {one['poses']}" for one in found)
    counted = sum(sum(one["lengths"].values()) for one in found)
    restless = sum(not v["still"] for v in verdicts)
    told = f"""Poses: {poses}. Of {counted} lengths with a contact {len(verdicts)} differ by more than 0.1 mm, and are
    judged. Our length less the judge's and less penalties is {np.median(off):.1e} m in the median and {max(off):.1e} m
    at most; {restless} polylines pulled from OpenSim's path do not come to rest, and OpenSim is not called right there.
    Ours is right in {right["ours"]}, OpenSim in {right["opensim"]}, both in {right["both"]}, neither in
    {right["neither"]}. Ours is a shortest path outside all surfaces in {excuse[SHORTEST]}, and in the others what its
    rules say: a point lies inside a surface ({excuse[POINT_INSIDE]}), the length has a penalty ({excuse[PENALTY]}), or
    the path passes a cylinder's end ({excuse[PAST_END]}); it is anything else in {excuse[UNKNOWN]}."""
    heads = ("model", "surfaces touched", "lengths", "differ", "median mm", "largest mm", *HEADS)
    lines = [*textwrap.wrap(" ".join(told.split()), 120, break_on_hyphens=False), "", *_head(heads)]
    for one in found:
        for kind in sorted({*one["lengths"], *(v["touched"] for v in one["verdicts"])}):
            lines.append(_row(one, kind))
    lines += ["", *_head(("reason", "lengths", "median mm", *HEADS))]
    for reason in REASONS:
        some = [v for v in verdicts if v["reason"] == reason]
        middle = f"{1e3 * np.median([v['difference'] for v in some]):.2f}" if some else ""
        lines.append(f"| {reason} | {len(some)} | {middle} | {_counts(some)} |")
    return "\n".join(lines)


def _head(words: tuple[str, ...]) -> tuple[str, str]:
    return f"| {' | '.join(words)} |", "|---" * len(words) + "|"


def _row(one: dict[str, Any], kind: str) -> str:
    some = [v for v in one["verdicts"] if v["touched"] == kind]
    sizes = [1e3 * v["difference"] for v in some] or [1e3 * one["largest"].get(kind, 0.0)]
    middle = f"{np.median(sizes):.2f}" if some else ""
    counts = _counts(some) if some else " | | | "
    return (
        f"| {one['model']} | {kind or 'none'} | {one['lengths'].get(kind, len(some))} | {len(some)} | {middle} | "
        f"{max(sizes):.2f} | {counts} |"
    )


def _counts(verdicts: list[dict[str, Any]]) -> str:
    right = Counter(v["right"] for v in verdicts)
    return " | ".join(str(right[word]) for word in RIGHT)


def write_page(page: Path, folder: Path) -> None:
    """Put the tables of all that is kept between the marks of a page."""
    found = [json.loads(file.read_text()) for name in MODELS if (file := folder / f"{name}.json").exists()]
    before, rest = page.read_text(encoding="utf-8").split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(f"{before}{MARKS[0]}\n\n{page_of(found)}\n\n{MARKS[1]}{after}", encoding="utf-8")


class Jump(NamedTuple):
    """A place where a length jumps: which path, by how much [m], the poses on both sides."""

    path: str
    size: float
    before: np.ndarray
    after: np.ndarray


def jumps(model: Model, n: int, seed: int) -> dict[str, list[Jump]]:
    """The jumps of both methods over the same n random short steps; one a path and step at most.

    A step is cut by ten, and the tenth in which the length leaves the others' changes most is cut again. Where it
    does not leave them by a jump, there is none.
    """
    e = embedding_of(model)
    rng = np.random.default_rng(seed)
    start = random_poses(model, n, rng)
    d = rng.normal(size=start.shape)
    stop = start + STEP * d / np.linalg.norm(d, axis=1)[:, None]
    stop = stop if e.loops else e.coordinates(e.independent(stop))
    found: dict[str, list[Jump]] = {}
    for wrapping in WRAPPINGS:
        names, length = _lengths(model, start, stop, wrapping)
        change = np.diff(length, axis=1)
        at = np.abs(change - np.median(change, axis=1, keepdims=True)).argmax(axis=1)
        off = np.take_along_axis(np.abs(change - np.median(change, axis=1, keepdims=True)), at[:, None], axis=1)[:, 0]
        step, path = np.nonzero(off > 0.5 * JUMP)
        i = at[step, path][:, None]
        a, b = (start[step] + (i + j) / 10 * (stop - start)[step] for j in range(2))
        size = np.zeros(len(step))
        for _ in range(CUTS - 1):
            if not len(step):
                break
            _, length = _lengths(model, a, b, wrapping)
            change = np.diff(length[np.arange(len(step)), :, path], axis=1)
            off = np.abs(change - np.median(change, axis=1, keepdims=True))
            i = off.argmax(axis=1)
            size = np.abs(change[np.arange(len(i)), i])
            a, b = a + i[:, None] / 10 * (b - a), a + (i + 1)[:, None] / 10 * (b - a)
            keep = off.max(axis=1) > 0.5 * JUMP
            a, b, step, path, size = a[keep], b[keep], step[keep], path[keep], size[keep]
        found[wrapping] = [Jump(names[path[i]], size[i], a[i], b[i]) for i in np.flatnonzero(size > JUMP)]
    return found


def _lengths(model: Model, start: np.ndarray, stop: np.ndarray, wrapping: str) -> tuple[tuple[str, ...], np.ndarray]:
    """(steps, 11, paths) lengths at both ends of each step and at nine places between."""
    t = np.linspace(0, 1, 11)[:, None]
    length = []
    for i in range(0, len(start), 100):
        q = start[i : i + 100, None] + t * (stop - start)[i : i + 100, None]
        g = path_geometry(model, q.reshape(-1, q.shape[2]), wrapping=wrapping)
        length.append(g.length.reshape(len(q), 11, -1))
    return g.names, np.concatenate(length)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--poses", type=int, default=200)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--jobs", type=int, default=1, help="judges at work")
    parser.add_argument("--keep", type=Path, help="a folder for what is counted")
    parser.add_argument("--page", type=Path, help="a page to put what is kept into")
    chosen = parser.parse_args()
    if chosen.page:
        write_page(chosen.page, chosen.keep)
        return
    folder = data_folder()
    if folder is None:
        print("skipped: the data folder is not there")
        return
    for name in chosen.models:
        model = read(folder, name)
        if chosen.poses:
            rng = np.random.default_rng(SEED)
            court = Court(
                model, np.vstack([recorded_poses(folder, name, model), random_poses(model, chosen.poses, rng)])
            )
            verdicts = judged(court, chosen.jobs)
            report(name, court, verdicts)
            if chosen.keep:
                chosen.keep.mkdir(parents=True, exist_ok=True)
                (chosen.keep / f"{name}.json").write_text(json.dumps(kept(name, court, verdicts)))
        if chosen.steps:
            found = jumps(model, chosen.steps, SEED)
            for wrapping, these in found.items():
                path, size = max((jump[:2] for jump in these), key=lambda jump: jump[1], default=("none", 0.0))
                many = sum(jump.size > DIFFERENT for jump in these)
                print(f"{name} {wrapping}, {chosen.steps} steps: {len(these)} jumps, {many} above 0.1 mm, ", end="")
                print(f"largest {1e3 * size:.4g} mm ({path}); {dict(Counter(jump.path for jump in these))}", flush=True)


if __name__ == "__main__":
    main()
