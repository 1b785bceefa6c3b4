"""Ehsani2023, section 4-4 A: moment arms at a shoulder with a rhythm, by the closed form and by OpenSim.

The paper's figures 14 and 15 show six muscles, the leaders of its table 5, and are "identical to 8 significant
figures". Here three things are told apart: the exact slope of our length, OpenSim's `computeMomentArm`, and the slope
of OpenSim's own length. Where a path point moves with a coordinate, the last two differ in OpenSim 4.6: its moment arms
leave out a straight segment between two points of one body, even where one of them moves on it.

Figure 14 is about elevation over plane of elevation, and figure 15 about axial rotation over elevation. The range under
figure 14, "-90 to -130 degrees", ends at +130; the text calls its abscissa q_1, the first coordinate: the plane.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from musculo.arrays import BoolArray, FloatArray
from musculo.io.osim import write_osim
from musculo.model.model import Model
from musculo.replications.peer import opensim_version
from musculo.replications.shoulder.mobl_arms import COORDINATES, NO_MODEL, SOURCE, arm_of, model_file
from musculo.replications.shoulder.shoulder_rhythm import (
    DE_GROOT_BRAND,
    ELEVATION,
    PLANE,
    ROTATION,
    elevation_slopes,
    with_shoulder_rhythm,
)
from musculo.replications.shoulder.shoulder_sweeps import Arms, Sweep, opensim_arms, our_arms, sweep
from musculo.replications.study import (
    NOT_INSTALLED,
    NOT_RUN,
    Part,
    Plot,
    Quantity,
    Row,
    Settings,
    Study,
    relative_difference,
    significant,
)

# Table 5, by group.
LEADERS = ("LAT1", "PECM3", "DELT1", "PECM1", "SUBSC", "DELT2")
FIGURES = 8  # equal significant figures, section 4-4 A
CITE = "section 4-4 A, figure {}"
# By number: the coordinate that changes, and the one that the arms are about.
DRAWN = {14: (PLANE, ELEVATION), 15: (ELEVATION, ROTATION)}
WORDS = {PLANE: "plane of elevation", ELEVATION: "elevation", ROTATION: "axial rotation"}
# Lengths that are the same path: rounding is left [m]. The straight parts of both are; arcs are where both are exact.
_SAME_PATH = 1e-12
# Of differences of lengths: where a surface is first touched, the slope has a corner, of which STEP sees a part [mm].
_OWN_SLOPE = 1e-5
# Moment arms that are called equal, of the largest of the leader.
_EQUAL = 1e-6
_CMA, _SLOPE = "computeMomentArm", "slope of OpenSim's length"


class Compared(NamedTuple):
    """Arms of the leaders along one sweep: ours, ours with OpenSim's definitions, and OpenSim's."""

    sweep: Sweep
    ours: Arms
    alike: Arms
    theirs: Arms | None


def compared(model: Model, file: Path | None) -> dict[str, Compared]:
    """All sweeps of a model; OpenSim is asked for a file."""
    sweeps = {name: sweep(model, name) for name in COORDINATES}
    theirs = {} if file is None else opensim_arms(model, dict.fromkeys(sweeps, file), sweeps)
    return {
        name: Compared(s, our_arms(model, s), our_arms(model, s, like_opensim=True), theirs.get(name))
        for name, s in sweeps.items()
    }


def study(settings: Settings) -> Study:
    """Figures 14 and 15, and the other seven of the paper's nine conditions."""
    file = model_file(settings)
    if file is None:
        return _told((), missing=NO_MODEL)
    missing = "" if settings.opensim and opensim_version() else NOT_INSTALLED if settings.opensim else NOT_RUN
    model = arm_of(file, LEADERS)
    both_angles = with_shoulder_rhythm(model)
    settings.say("shoulder: moment arms of six muscles in 513 poses, and lengths near by ...")
    with tempfile.TemporaryDirectory(prefix="musculo-shoulder-") as folder:
        written = Path(folder) / "both_angles.osim"
        write_osim(both_angles, written)
        one = compared(model, None if missing else file)
        settings.say("shoulder: the same with the rhythm in both angles ...")
        two = compared(both_angles, None if missing else written)
    rows = [row for number in DRAWN for row in _figure_rows(number, one, missing)]
    rows += _own_rows(one, two, missing)
    return _told(
        tuple(rows),
        (
            *(part for number in DRAWN for part in _figure_parts(number, one)),
            _conditions("All nine conditions, rhythm of the file", one),
            _rhythm(model),
            _conditions("All nine conditions, rhythm in both angles", two),
            _changes(one, two),
        ),
        plots=tuple(_plot(number, one) for number in DRAWN),
        missing=f"OpenSim's columns are missing: {missing}." if missing else "",
    )


# --- rows ------------------------------------------------------------------------------------------------------------
def _figure_rows(number: int, known: Mapping[str, Compared], missing: str) -> list[Row]:
    """The paper's statement, by both meanings that OpenSim 4.6 gives it."""
    along, about = DRAWN[number]
    x, c = known[along], COORDINATES.index(about)
    what, cite, figures = f"figure {number}, arms about {WORDS[about]}", CITE.format(number), significant(FIGURES)
    name = f"{what}: ours with OpenSim's paths against {_CMA}", f"{what}: ours against the {_SLOPE}, on the same paths"
    if x.theirs is None:
        return [Row(one, figures, None, "relative", missing, cite=cite) for one in name]
    same = same_paths(x)[:, :, c]
    size = np.abs(x.theirs.slope[:, :, c]).max()
    off = np.abs(x.ours.arm - x.theirs.slope)[:, :, c][same].max(initial=0.0) / size
    note = f"both have the same path in {_share(same)} of the poses; the rest is wrapping"
    first = relative_difference(x.alike.arm[:, :, c].ravel(), x.theirs.arm[:, :, c].ravel())
    return [
        Row(name[0], figures, first, "relative", "in all poses", cite=cite),
        Row(name[1], figures, float(off), "relative", note, cite=cite),
    ]


def same_paths(x: Compared) -> BoolArray:
    """(poses, muscles, coordinates): whether our shortest paths are OpenSim's, in a pose and next to it."""
    assert x.theirs is not None
    near = np.abs(x.ours.near - x.theirs.near).max(axis=2)  # (poses, coordinates, muscles)
    found: BoolArray = np.swapaxes(near, 1, 2) < _SAME_PATH
    return found


def _own_rows(one: Mapping[str, Compared], two: Mapping[str, Compared], missing: str) -> list[Row]:
    rows = []
    for known, rhythm in ((one, "rhythm of the file"), (two, "rhythm in both angles")):
        own = max(1e3 * np.abs(x.ours.arm - x.ours.slope).max() for x in known.values())
        rows.append(Row(f"nine conditions, {rhythm}: ours against the slope of our own length", None, float(own), "mm",
                        limit=_OWN_SLOPE))  # fmt: skip
        theirs = [x.theirs for x in known.values() if x.theirs is not None]
        name = f"nine conditions, {rhythm}: ours with OpenSim's paths against {_CMA}"
        off = None
        if theirs:
            off = relative_difference(
                np.concatenate([x.alike.arm.ravel() for x in known.values()]),
                np.concatenate([x.arm.ravel() for x in theirs]),
            )
        rows.append(Row(name, None, off, "relative", missing, limit=significant(FIGURES)))
    return rows


# --- tables ----------------------------------------------------------------------------------------------------------
def _figure_parts(number: int, known: Mapping[str, Compared]) -> tuple[Part, ...]:
    """Each leader's arm of largest size, and who agrees with whom."""
    along, about = DRAWN[number]
    x, c = known[along], COORDINATES.index(about)
    title = f"Figure {number}: arms about {WORDS[about]} over {WORDS[along]}"
    ours, alike = (1e3 * one.arm[:, :, c] for one in (x.ours, x.alike))
    if x.theirs is None:
        alone = tuple(Quantity(name, "mm", _peak(ours[:, k])) for k, name in enumerate(LEADERS))
        return (Part(title, "", alone, series=_series(number, known)),)
    arms, slopes = 1e3 * x.theirs.arm[:, :, c], 1e3 * x.theirs.slope[:, :, c]

    def quantity(k: int, theirs: FloatArray, second: FloatArray, label: str) -> Quantity:
        off, other = np.abs(ours[:, k] - theirs[:, k]), np.abs(second[:, k] - theirs[:, k])
        equal = [_share(one <= _EQUAL * np.abs(theirs[:, k]).max()) for one in (off, other)]
        worst = off if label == "with OpenSim's paths" else other
        at = int(worst.argmax())
        return Quantity(
            LEADERS[k], "mm", _peak(ours[:, k]), _peak(theirs[:, k]), float(off.max()), float(other.max()),
            f"ours equal in {equal[0]}, {label} in {equal[1]} of the poses; farthest at {x.sweep.degrees[at]:.0f} deg: "
            f"{(ours if worst is off else second)[at, k]:.2f} against {theirs[at, k]:.2f}",
        )  # fmt: skip

    return (
        Part(
            f"{title}; OpenSim's {_CMA}",
            _CMA,
            tuple(quantity(k, arms, alike, "with OpenSim's paths") for k in range(len(LEADERS))),
            "The last column is the difference that is left with OpenSim's paths and definitions.",
            "OpenSim's paths",
            _series(number, known),
        ),
        Part(
            f"{title}; {_SLOPE}",
            _SLOPE,
            tuple(quantity(k, slopes, arms, _CMA) for k in range(len(LEADERS))),
            f"The last column is how far OpenSim's {_CMA} is off the slope of its own length.",
            _CMA,
        ),
    )


def _conditions(title: str, known: Mapping[str, Compared]) -> Part:
    quantities = []
    for along, x in known.items():
        for c, about in enumerate(COORDINATES):
            name, ours = f"about {WORDS[about]} over {WORDS[along]}", 1e3 * x.ours.arm[:, :, c]
            if x.theirs is None:
                quantities.append(Quantity(name, "mm", _peak(ours)))
                continue
            theirs, slope, alike = (1e3 * one[:, :, c] for one in (x.theirs.arm, x.theirs.slope, x.alike.arm))
            worst = [np.unravel_index(np.abs(one - slope).argmax(), slope.shape) for one in (ours, theirs)]
            off = [
                f"{np.abs(one - slope).max():.2g} ({LEADERS[k]} at {x.sweep.degrees[f]:.0f} deg)"
                for one, (f, k) in zip((ours, theirs), worst, strict=True)
            ]
            quantities.append(
                Quantity(
                    name, "mm", _peak(ours), _peak(theirs), float(np.abs(ours - theirs).max()),
                    float(np.abs(alike - theirs).max()),
                    f"off the {_SLOPE}: ours {off[0]}, {_CMA} {off[1]}",
                )
            )  # fmt: skip
    remark = "Of all leaders; coordinates that do not change are zero."
    theirs_known = any(x.theirs is not None for x in known.values())
    return Part(
        title, _CMA if theirs_known else "", tuple(quantities), remark, "OpenSim's paths" if theirs_known else ""
    )


def _rhythm(model: Model) -> Part:
    """The regression beside what the file has of it."""
    known = elevation_slopes(model)
    quantities = []
    for name, slope in DE_GROOT_BRAND.items():
        if name.startswith("unrot"):
            continue
        file = known.get(name)
        off = None if file is None else abs(slope.elevation - file)
        quantities.append(Quantity(f"{name} by elevation", "rad/rad", slope.elevation, file, off))
        quantities.append(Quantity(f"{name} by plane of elevation", "rad/rad", slope.plane))
    return Part(
        "The rhythm of de Groot and Brand (2001) in both angles",
        "MoBL-ARMS",
        tuple(quantities),
        "The file's sternoclavicular_r3 has at 180 degrees what the regression has at 150: 0.123 x 150 = 0.1025 x 180.",
    )


def _changes(one: Mapping[str, Compared], two: Mapping[str, Compared]) -> Part:
    quantities = []
    for k, name in enumerate(LEADERS):
        off = {
            (along, about): float(1e3 * np.abs(two[along].ours.arm - one[along].ours.arm)[:, k, c].max())
            for along in COORDINATES
            for c, about in enumerate(COORDINATES)
        }
        along, about = max(off, key=off.__getitem__)
        quantities.append(
            Quantity(name, "mm", off[along, about], note=f"about {WORDS[about]} over {WORDS[along]}, the largest")
        )
    return Part(
        "What the rhythm in both angles changes in our moment arms",
        "",
        tuple(quantities),
        "With the file's rhythm, the plane of elevation does not move the bones: in a hanging arm no muscle has an arm "
        "about it. The regression moves them there, too, though it was measured in raised arms.",
    )


def _series(number: int, known: Mapping[str, Compared]) -> dict[str, FloatArray]:
    along, about = DRAWN[number]
    x, c = known[along], COORDINATES.index(about)
    found = {f"{WORDS[along]} [deg]": x.sweep.degrees}
    for k, name in enumerate(LEADERS):
        found[f"{name} ours"] = x.ours.arm[:, k, c]
        found[f"{name} alike"] = x.alike.arm[:, k, c]
        if x.theirs is not None:
            found[f"{name} {_CMA}"] = x.theirs.arm[:, k, c]
            found[f"{name} {_SLOPE}"] = x.theirs.slope[:, k, c]
    return found


def _plot(number: int, known: Mapping[str, Compared]) -> Plot:
    along, about = DRAWN[number]
    columns = _series(number, known)
    degrees = columns.pop(f"{WORDS[along]} [deg]")
    curves = {name.replace(" ", ", ", 1): 1e3 * one for name, one in columns.items() if not name.endswith(" alike")}
    title = f"Figure {number}: moment arms about {WORDS[about]}"
    return Plot(f"figure_{number}", title, f"{WORDS[along]} [deg]", "moment arm [mm]", degrees, curves)


def _told(
    rows: tuple[Row, ...], parts: tuple[Part, ...] = (), plots: tuple[Plot, ...] = (), missing: str = ""
) -> Study:
    return Study(
        name="shoulder-moment-arms",
        title="Moment arms at a shoulder whose bones follow the arm",
        source=SOURCE + "section 4-4 A",
        method="MoBL-ARMS, the successor of the paper's model, 1 degree apart. Ours is the exact slope of the shortest "
        "path's length by an independent coordinate; slopes of OpenSim's length are differences of lengths "
        "1e-5 rad apart, within the range of every coordinate.",
        parts=parts,
        missing=missing,
        rows=rows,
        remarks=(
            f"OpenSim 4.6's {_CMA} is not the slope of its own length where a point moves with elevation next to a "
            "point of the same body (LAT, PECM): the segment between them changes its length and is left out. With "
            "OpenSim's paths and definitions ours equals it; without them ours is the slope.",
            f"Where bones follow both angles, {_CMA} is not the slope about either of them: OpenSim moves one angle "
            "and what follows it by the least motion that couplers allow, and that moves the other angle, too. So its "
            "arm about the plane of elevation has a part of the arm about the elevation. The file's rhythm has no such "
            "couplers, and the paper's figures do not show it.",
        )
        if rows
        else (),
        plots=plots,
    )


def _peak(values: FloatArray) -> float:
    return float(values.flat[np.abs(values).argmax()])


def _share(which: BoolArray) -> str:
    return f"{100.0 * float(np.mean(which)):.0f} %"
