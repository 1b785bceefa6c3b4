"""`musculo reproduce drivers`: drivers by angles and by Euler parameters on a human, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from musculo.absolute.absolute_analysis import Status
from musculo.absolute.parameter_choice import WEAK
from musculo.replications.drivers.analyzed_movement import (
    ARM_ANGLES,
    GIRDLE_ANGLES,
    LEG_ANGLES,
    AnalyzedMovement,
    Movement,
    Seconds,
    agreement_with_recursion,
    analyzed,
    seconds_a_frame,
)
from musculo.replications.drivers.arm_movements import ELBOW_TILT, FOREARM_TILT, MOVEMENTS, generated
from musculo.replications.drivers.driven_human import Driver
from musculo.replications.drivers.gait_movement import FOLDER, FRAMES, recorded_walk
from musculo.replications.drivers.human import BODY_MASS, Human, human
from musculo.replications.drivers.papers_figures import (
    KNEE_IN_GAIT,
    LARGEST_DIFFERENCE,
    LARGEST_KNEE,
    TABLE_2,
    TABLE_3,
)
from musculo.replications.drivers.wrong_parameters import (
    HIP_RIGHT,
    HIP_WRONG,
    KNEE_RIGHT,
    KNEE_WRONG,
    Tried,
    automatic_choice,
    tried,
)
from musculo.replications.moco.recordings import folder_of
from musculo.replications.study import Part, Plot, Quantity, Row, Settings, Study

NAME, TITLE = "drivers", "Rotations driven by angles and by Euler parameters, on a human of 26 bodies"
SOURCE = "Antunes et al. (2025), Driving rotational motion with Euler parameters"
DRIVERS: tuple[Driver, ...] = ("angle", "euler")
_CALLED = {"angle": "angle-based", "euler": "Euler-based"}
# Goals of ours: both formulations agree to rounding; differences that the paper prints as 0.00 degrees.
AGREED, NO_DIFFERENCE = 1e-9, 0.005
TIMES = 100.0
_ARM_JOINTS = ("SC_r", "AC_r", "GH_r", "HU_r", "RU_r", "RC_r")
# The recorded walk has motion in these; subtalar and toe joints are welded in it.
_LEG_JOINTS = ("hip_r", "hip_l", "knee_r", "knee_l", "ankle_r", "ankle_l")

Cases = Mapping[str, Mapping[Driver, AnalyzedMovement]]


def study(settings: Settings, *, frames: int | None = None, rounds: int = 25) -> Study:
    """All movements with both kinds of drivers.

    Args:
        settings: where the recorded walk is.
        frames: fewer frames of each movement, for a look.
        rounds: how often each analysis is timed.
    """
    own = human()
    folder = folder_of(settings, FOLDER)
    movements = []
    for one in MOVEMENTS:
        settings.say(f"{NAME}: {one.name} ...")
        movements.append(Movement(one.name, generated(one, frames)))
    if folder is not None:
        settings.say(f"{NAME}: gait ...")
        walk = recorded_walk(folder, FRAMES if frames is None else frames)
        movements.append(Movement("gait", walk.motion, walk))
    cases: Cases = {m.name: {d: analyzed(own, m, d) for d in DRIVERS} for m in movements}
    rows = [*_positions(cases), *_angles(cases), *_loads(cases), *_choice(own, movements)]
    plots = _angle_plots(cases)
    if folder is not None:
        plots += _moment_plots(cases["gait"])
        settings.say(f"{NAME}: figures 5 and 6 ...")
        gait = movements[-1].motion
        knee, hip = tried(own, "knee_r", KNEE_WRONG, gait), tried(own, "hip_r", HIP_WRONG, gait)
        rows += _failures(knee, hip)
        plots.append(_failure_plot("figure_5", "Knee flexion", knee, tried(own, "knee_r", KNEE_RIGHT, gait)))
        plots.append(_failure_plot("figure_6", "Hip flexion", hip, tried(own, "hip_r", HIP_RIGHT, gait)))
    settings.say(f"{NAME}: times ...")
    times = {name: seconds_a_frame({d: case[d] for d in DRIVERS}, rounds) for name, case in cases.items()}
    timed, parts = _times(times)
    return Study(
        NAME,
        TITLE,
        SOURCE,
        "Movements of the arm are made by a human whose axes of elbow and forearm are tilted "
        f"({ELBOW_TILT} and {FOREARM_TILT} degrees) against those that are analyzed; the gait is a recorded walk. "
        "Least squares weigh joints 1000 and drivers 1; each frame starts from one before it.",
        (_table_2(cases), *parts, _apart(cases)),
        missing="" if folder is not None else f"no {FOLDER} in the recorded data (--data FOLDER): no gait cycle",
        rows=(*rows, *timed),
        remarks=_REMARKS,
        plots=tuple(plots),
    )


_REMARKS = (
    "With six angles at the acromioclavicular joint its moment cannot be told from the forces of the rib cage: the "
    "loads of SC, AC and ST are not unique there, and the shortest multipliers are not those of Euler-based drivers. "
    "The loads of all other joints are unique with both.",
    "Times: both kinds of drivers need about as many steps of Newton's method. Most of what Euler-based drivers save "
    "in the kinematic analysis is the preparation of prescribed orientations: a spherical joint needs three numbers "
    "over time, not six. In the dynamic analysis they use the factor of J^T J of the last step again, while "
    "angle-based drivers need it once more without weights.",
)


def _positions(cases: Cases) -> list[Row]:
    rows = []
    for name, by in cases.items():
        for k, driver in enumerate(DRIVERS):
            m, label = by[driver].driven.mechanism, f"{name}, {_CALLED[driver]}"
            equations, frames = m.n_equations + m.n_norms, f"{len(by[driver].found.x)} frames"
            paper = TABLE_3[name].equations[k]
            rows.append(Row(f"{label}: kinematic constraints", paper, equations, "", frames, cite="table 3"))
            lost = int(np.sum(by[driver].found.status != Status.FOUND))
            rows.append(Row(f"{label}: frames without a position", None, lost, limit=0.0))
    return rows


def _angles(cases: Cases) -> list[Row]:
    rows = []
    for name, by in cases.items():
        for driver in DRIVERS:
            label = f"{name}, {_CALLED[driver]}"
            worst = by[driver].largest(LEG_ANGLES if name == "gait" else ARM_ANGLES | GIRDLE_ANGLES)
            if name == "gait":
                driven = {"knee": (worst.pop("knee flexion")[1], KNEE_IN_GAIT[driver])}
                still = {"hip": worst["hip flexion"][1]}
            else:
                elbow = max(worst.pop("HU flexion")[1], worst.pop("RU pronation")[1])
                driven = {"HU and RU": (elbow, LARGEST_DIFFERENCE)}
                still = {"SC, AC, ST and GH": max(largest for _, largest in worst.values())}
            for joint, (apart, paper) in driven.items():
                rows.append(Row(f"{label}: {joint}, largest difference", paper, apart, "deg", cite="section 5.1"))
            for joint, apart in still.items():
                rows.append(Row(f"{label}: {joint}, largest difference", None, apart, "deg", limit=NO_DIFFERENCE))
    return rows


def _loads(cases: Cases) -> list[Row]:
    rows = []
    for name, by in cases.items():
        for driver in DRIVERS:
            apart, of = agreement_with_recursion(by[driver])
            label = f"{name}, {_CALLED[driver]}: loads of joints against the recursion"
            rows.append(Row(label, None, apart, "", of, limit=AGREED))
    return rows


def _choice(own: Human, movements: Sequence[Movement]) -> list[Row]:
    """How often the automatic choice is not that of table 1."""
    other: list[str] = []
    doubtful: list[str] = []
    for m in movements:
        for joint in _ARM_JOINTS if m.walk is None else _LEG_JOINTS:
            choice = automatic_choice(own, joint, m.motion)
            if choice.vectors != own.joint(joint).vectors:
                other.append(f"{joint} of {m.name}: {', '.join(choice.names)}")
            elif not choice.good:
                doubtful.append(f"{joint} of {m.name}")
    note = "; ".join(other) or (f"with a warning: {', '.join(doubtful)}" if doubtful else "")
    return [Row("automatic choices of parameters that are not table 1's", None, len(other), "", note, limit=0.0)]


def _failures(knee: Tried, hip: Tried) -> list[Row]:
    turned = float(np.degrees(np.nanmax(knee.found) - np.nanmin(knee.found)))
    least, recorded = (float(np.degrees(np.nanmin(x))) for x in (hip.found, hip.prescribed))
    lost = f"{knee.lost} frames have no position; the paper's range is about 180"
    back = f"recorded {recorded:.1f}: it turns back at zero"
    seen = [one.judged.reasons[-1].split(":")[0] if one.judged.reasons else "" for one in (knee, hip)]
    chosen = [", ".join(one.chosen.names) for one in (knee, hip)]
    what, of_choice = "gradient that the check sees, of the best", "gradient of the automatic choice, of the best"
    range_of = "figure 5, e1 at the knee: its range, beyond every knee's"
    least_of = "figure 6, e0, e1, e2 at the hip: least flexion"
    return [
        Row(range_of, LARGEST_KNEE, turned, "deg", lost, "at least", cite="section 5.1.1"),
        Row(f"figure 5: {what}", None, knee.judged.regularity, "", seen[0], limit=WEAK),
        Row(f"figure 5: {of_choice}", None, knee.chosen.regularity, "", chosen[0], "at least", WEAK),
        Row(least_of, None, least, "deg", back, "at least", 0.0),
        Row(f"figure 6: {what}", None, hip.judged.regularity, "", seen[1], limit=WEAK),
        Row(f"figure 6: {of_choice}", None, hip.chosen.regularity, "", chosen[1], "at least", WEAK),
    ]


def _times(times: Mapping[str, Mapping[str, Seconds]]) -> tuple[list[Row], list[Part]]:
    rows, found = [], []
    for name, by in times.items():
        paper = TABLE_3[name]
        for k, driver in enumerate(DRIVERS):
            label, own = f"{name}, {_CALLED[driver]}", by[driver]
            pairs = {"kinematic": (own.kinematic, paper.kinematic[k]), "dynamic": (own.dynamic, paper.dynamic[k])}
            for what, (seconds, theirs) in pairs.items():
                ratio = 1e-3 * theirs / seconds if seconds > 0.0 else None
                note = "" if ratio is not None else "lost in the noise of this machine; run it again"
                goal = f"{label}: {what} analysis, the paper's time over ours"
                rows.append(Row(goal, None, ratio, "", note, "at least", TIMES, timed=True))
                found.append(Quantity(f"{label}: {what} analysis", "ms/frame", 1e3 * seconds, theirs))
            whole = 1e-3 * (paper.kinematic[k] + paper.dynamic[k]) / (own.kinematic + own.dynamic)
            goal = f"{label}: a frame in all, the paper's time over ours"
            rows.append(Row(goal, None, whole, "", "", "at least", TIMES, timed=True))
            found.append(Quantity(f"{label}: of which prescribed orientations", "ms/frame", 1e3 * own.told))
    saved = []
    groups = {"arm": [n for n in times if n != "gait"], "gait": [n for n in times if n == "gait"]}
    for group, names in groups.items():
        for what, said in (("kinematic", 31), ("dynamic", 78)) if names else ():
            euler, angle = (sum(getattr(times[n][driver], what) for n in names) for driver in ("euler", "angle"))
            # a difference of two times: noise may leave nothing of it
            ours = 100.0 * (1.0 - euler / angle) if angle > 0.0 else float("nan")
            printed = [100.0 * (1.0 - np.divide(*reversed(getattr(TABLE_3[n], what)))) for n in names]
            note = f"its text: {said} %" if group == "arm" else ""
            label, theirs = f"{group}: {what} analysis", float(np.mean(printed))
            saved.append(Quantity(f"{group}: {what} analysis", "%", ours, theirs, note=note))
    remark = "Processor time of one thread here; there, of MATLAB on a Core i7-14700K."
    return rows, [
        Part("Time a frame", "table 3", tuple(found), remark),
        Part("Time that Euler-based drivers save", "from table 3", tuple(saved)),
    ]


def _table_2(cases: Cases) -> Part:
    found = []
    for name, by in cases.items():
        for k, driver in enumerate(DRIVERS):
            for angle, ours in by[driver].largest(LEG_ANGLES if name == "gait" else ARM_ANGLES).items():
                paper = TABLE_2.get(name, {}).get(angle)
                for at, what in enumerate(("mean", "largest")):
                    label = f"{name}, {_CALLED[driver]}: {angle}, {what}"
                    found.append(Quantity(label, "deg", ours[at], None if paper is None else paper[k][at]))
    return Part("Differences from the prescribed angles", "table 2", tuple(found))


def _apart(cases: Cases) -> Part:
    """Driving moments of both formulations, the largest difference of the largest."""
    found = []
    for name, by in cases.items():
        joints = ("hip_r", "knee_r", "ankle_r") if name == "gait" else ("GH_r", "HU_r", "RU_r", "RC_r", "AC_r")
        for joint in joints:
            angle, euler = (by[d].found.load(f"drive {joint}")[1] for d in DRIVERS)
            apart = float(np.abs(angle - euler).max() / np.abs(euler).max())
            found.append(Quantity(f"{name}: {joint}", "", apart, note="not unique" if joint == "AC_r" else ""))
    return Part("Moments of drivers, angle-based against Euler-based, of the largest", "", tuple(found))


def _angle_plots(cases: Cases) -> list[Plot]:
    plots = []
    for name, by in cases.items():
        for label, which in (LEG_ANGLES if name == "gait" else ARM_ANGLES).items():
            curves = {"prescribed": by["euler"].angle(which)[0]}
            curves |= {_CALLED[d]: by[d].angle(which)[1] for d in DRIVERS}
            part = np.linspace(0.0, 1.0, len(curves["prescribed"]))
            file = f"{name}_{label}".replace(" ", "_")
            plots.append(Plot(file, f"{label}, {name}", "part of the movement", "[deg]", part, curves))
    return plots


def _moment_plots(by: Mapping[Driver, AnalyzedMovement]) -> list[Plot]:
    """Figure 7: what the proximal segment exerts on the distal one, about its z axis [N m/kg]."""
    plots = []
    for label, (proximal, _, _, _) in LEG_ANGLES.items():
        joint, curves = label.split()[0], {}
        for driver, case in by.items():
            moment = case.found.load(f"drive {joint}_r")[1]
            curves[_CALLED[driver]] = np.einsum("fi,fi->f", moment, case.found.rotation(proximal)[:, :, 2]) / BODY_MASS
        part = np.linspace(0.0, 1.0, len(moment))
        plots.append(
            Plot(f"gait_{joint}_moment", f"{joint} moment, gait", "part of the movement", "[N m/kg]", part, curves)
        )
    return plots


def _failure_plot(name: str, title: str, wrong: Tried, right: Tried) -> Plot:
    curves = {
        "prescribed": np.degrees(wrong.prescribed),
        f"{', '.join(wrong.judged.names)} guided": np.degrees(wrong.found),
        f"{', '.join(right.judged.names)} guided": np.degrees(right.found),
    }
    return Plot(name, title, "part of the cycle", "[deg]", np.linspace(0.0, 1.0, len(wrong.prescribed)), curves)
