"""Goals of the elbow's study, and what the paper says in words of its figures."""

from __future__ import annotations

import numpy as np

from musculo.arrays import FloatArray
from musculo.replications.study import Part, Row

# Goals beside OpenSim where its definitions are used, of its largest value. What is left: its search for equilibrium,
# the eight digits of its files, its tolerance of static optimization, and two recursions in float64.
FIBERS, MOMENTS, ACTIVATIONS, LOADS = 1e-6, 1e-6, 2e-3, 1e-9
# Moment arms are minus the slopes of lengths, but for the error of differences [mm].
CONTRADICTION = 1e-6
# What the paper calls marginal beside the driving moments.
MARGINAL = 0.1


def rows_of(parts: tuple[Part, ...]) -> tuple[Row, ...]:
    """Goals: agreement with OpenSim where its definitions are used, and what the paper says in words of its figures."""
    by_title = {part.title.split(" (")[0]: part for part in parts}
    fibers, moments = by_title["Fiber lengths"], by_title["Driving moments"]
    plain, full = (by_title[f"Activations {w} force-length-velocity"] for w in ("without", "with"))
    forces, loads = by_title["Forces with force-length-velocity"], _titled(parts, "Joint loads on the child")
    control, control_forces = by_title["Activations with passive forces"], by_title["Forces with passive forces"]
    arms, residual = _titled(parts, "Moment arms"), by_title["Residual actuators"]
    largest = [[abs(one.ours) for one in part.quantities] for part in (moments, residual)]
    agreement = (
        ("fiber lengths with OpenSim's wrapping, difference", fibers, _apart(fibers, True, True), FIBERS, "relative"),
        ("driving moments, difference from OpenSim's", moments, _apart(moments, False, True), MOMENTS, "relative"),
        ("activations without force-length-velocity, OpenSim's wrapping", plain, _apart(plain, True, False),
         ACTIVATIONS, "1"),
        ("activations with force-length-velocity, OpenSim's wrapping", full, _apart(full, True, False),
         ACTIVATIONS, "1"),
        ("forces with force-length-velocity, OpenSim's wrapping", forces, _apart(forces, True, True),
         ACTIVATIONS, "relative"),
        ("joint loads under OpenSim's forces", loads, _apart(loads, True, True), LOADS, "relative"),
    )  # fmt: skip
    rows = [
        Row(name, None, value if part.whose == "OpenSim" else None, unit, _why_not(part), limit=goal)
        for name, part, value, goal, unit in agreement
    ]
    rows.append(
        Row(
            "moment arms against slopes of lengths, geodesics",
            None,
            max(one.ours for one in arms.quantities),
            "mm",
            limit=CONTRADICTION,
        )
    )
    rows.append(
        Row(
            "residual actuators over driving moments, largest over least",
            None,
            max(largest[1]) / min(largest[0]),
            "",
            "paper, figure 19, in words: marginal",
            limit=MARGINAL,
        )
    )
    alone = sorted((one.difference for one in fibers.quantities if one.difference is not None), reverse=True)
    biceps = next((one.difference for one in fibers.quantities if one.name == "biceps_long"), None)
    words: tuple[tuple[str, Part, float | None, str], ...] = (
        ("fiber lengths' differences from OpenSim's: largest of the others over that of biceps_long",
         fibers, None if biceps is None else max(x for x in (*alone, 0.0) if x != biceps) / biceps,
         "figure 12: the only noticeable difference is that of the long biceps"),
        ("mean activation over that of OpenSim's control", control, _mean_over(control),
         "figure 17 and conclusions: lower activations"),
        ("mean force off that of OpenSim's control, over mean activation off", control_forces,
         _off_over(control_forces, control), "figure 18: forces are closer than activations"),
    )  # fmt: skip
    rows += [
        Row(name, None, value, "x", "; ".join(filter(None, (f"paper, {said}", _why_not(part)))), limit=1.0)
        for name, part, value, said in words
    ]
    return tuple(rows)


def _titled(parts: tuple[Part, ...], start: str) -> Part:
    return next(part for part in parts if part.title.startswith(start))


def _why_not(part: Part) -> str:
    """Why nothing of OpenSim's stands beside ours; empty where it does."""
    if not part.whose:
        return "OpenSim's values are not available"
    return "recorded of another motion" if part.whose == "recorded" else ""


def _apart(part: Part, alike: bool, relative: bool) -> float | None:
    """The largest difference from OpenSim's, with its own definitions or without, of its largest value or as it is."""
    found = [one.alike if alike else one.difference for one in part.quantities]
    known = [x for x in found if x is not None]
    size = max((abs(one.theirs) for one in part.quantities if one.theirs is not None), default=0.0)
    return max(known) / (size if relative else 1.0) if known and size else None


def _both(part: Part) -> tuple[FloatArray, FloatArray] | None:
    """Series of ours and of theirs (quantities, frames), where there are some of theirs."""
    if not part.whose:
        return None
    ours, theirs = (
        np.array([part.series[f"{one.name} {which}"] for one in part.quantities]) for which in ("ours", "theirs")
    )
    return ours, theirs


def _mean_over(part: Part) -> float | None:
    found = _both(part)
    return None if found is None else float(np.nanmean(found[0]) / np.nanmean(found[1]))


def _off_over(forces: Part, activations: Part) -> float | None:
    """How far means are off, relative: of forces over that of activations."""
    pair = _mean_over(forces), _mean_over(activations)
    return None if pair[0] is None or pair[1] is None else abs(pair[0] - 1.0) / abs(pair[1] - 1.0)
