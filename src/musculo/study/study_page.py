"""The page of a study: who failed and why, what is odd, curves of groups, and peaks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from musculo import __version__
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity, listed_names
from musculo.model.named_sides import side_of
from musculo.report import Curve, Panel, Report, Section, TextTable
from musculo.study.collection import StudyResults
from musculo.study.trial_run import LOG, PAGE, TrialStatus
from musculo.study.trial_summary import POINTS

_PERCENT = np.linspace(0.0, 100.0, POINTS)
# Kinds of quantities, in the order of the page; the rest of a name is the quantity.
_KINDS = {
    "angle": "Joint angles",
    "moment": "Joint moments",
    "power": "Joint powers",
    "activation": "Muscle activations",
    "metabolic": "Metabolic power",
    "load": "Joint loads",
}
# A curve as far from its group's mean as this many standard deviations, on average over the cycle, is an outlier.
_FAR = 2.5
_FEWEST = 4  # fewer trials have no spread to speak of
_MOST_ROWS = 400  # of a table on the page; the file has all
_MOST_OUTLIERS = 30  # trials
_MOST_NAMED = 4  # quantities of one of them
_SIDES = {"r": "right", "l": "left"}
# Shown for each kilogram of the body, so that subjects of different mass can be put together.
_PER_MASS = ("moment", "power")


def study_page(results: StudyResults) -> Report:
    """Failures first, then outliers, curves by group and condition as mean and SD, and a table of peaks."""
    cycles = sum(results.cycles)
    subjects = dict.fromkeys(trial.subject for trial in results.study.trials)
    counts = Counter(one.status for one in results.outcomes)
    facts = (
        ("trials", f"{len(results.outcomes)} of {len(subjects)} subjects"),
        ("done", str(counts[TrialStatus.DONE])),
        ("incomplete", str(counts[TrialStatus.INCOMPLETE])),
        ("failed", str(counts[TrialStatus.FAILED])),
        ("curves", f"gait cycles in {cycles} trials, whole trials in {len(results.trials) - cycles}"),
    )
    sections = [one for one in (_failures(results), _outliers(results)) if one is not None]
    sections += _curves(results)
    sections += [*_peaks(results), _trials(results)]
    provenance = (("musculo", __version__), ("study", results.study.source), ("results", str(results.study.folder)))
    return Report(
        f"{results.study.name}: study", _findings(results), tuple(sections), provenance=provenance, facts=facts
    )


def _findings(results: StudyResults) -> tuple[Finding, ...]:
    count = len(results.outcomes)
    failed = [one for one in results.outcomes if one.status is TrialStatus.FAILED]
    partly = [one for one in results.outcomes if one.status is TrialStatus.INCOMPLETE]
    found = []
    if failed:
        found.append(Finding(f"{len(failed)} of {count} trials have no results", Severity.TROUBLE, "Failed trials"))
    else:
        found.append(Finding(f"all {count} trials have results", Severity.GOOD, "Trials"))
    if partly:
        found.append(
            Finding(f"in {len(partly)} of {count} trials some frames are not solved", Severity.DOUBTFUL, "Not solved")
        )
    apart = [trial.key for trial, alike in zip(results.trials, _alike(results), strict=True) if not alike]
    if apart:
        text = (
            f"{len(apart)} of {len(results.trials)} trials ({listed_names(apart, 3)}) have no gait cycle: their curves "
            "are over the whole trial, and in no mean of this page"
        )
        found.append(Finding(text, Severity.DOUBTFUL, "Trials without a gait cycle"))
    moments = [q for q, name in enumerate(results.quantities) if name.startswith("moment/")]
    asked = np.array([trial.options.steps is None for trial in results.trials], dtype=bool)
    still = asked & np.isnan(results.curves[:, moments]).all(axis=(1, 2)) if moments else ~asked & asked
    if still.any():
        names = listed_names([results.trials[k].key for k in np.flatnonzero(still)], 3)
        text = f"no force was measured under {int(still.sum())} of {len(results.trials)} trials ({names}): angles only"
        found.append(Finding(text, Severity.DOUBTFUL, "Trials without loads"))
    for side, said in _SIDES.items():
        of_side = [q for q, name in enumerate(results.quantities) if side_of(name.partition("/")[2]) == side]
        without = int(np.isnan(results.curves[:, of_side]).all(axis=(1, 2)).sum()) if of_side else 0
        if without:
            text = (
                f"no complete gait cycle of the {said} foot in {without} of {len(results.trials)} trials, so "
                f"nothing of that side, such as {results.quantities[of_side[0]].partition('/')[2]}, is known there"
            )
            found.append(Finding(text, Severity.DOUBTFUL, f"Gait cycles, {said}"))
    told = Counter(title for one in results.outcomes for light, title, _ in one.findings if light == "bad")
    for title, times in told.most_common():
        found.append(Finding(f"{title}: not good in {times} of {count} trials", Severity.DOUBTFUL, title))
    return tuple(found)


def _alike(results: StudyResults) -> tuple[bool, ...]:
    """Whether the curves of each trial may be put together: those over gait cycles, or all where no trial has one."""
    return results.cycles if any(results.cycles) else (True,) * len(results.trials)


def _groups(results: StudyResults) -> dict[tuple[str, str], list[int]]:
    """Trials by group and condition, as far as their curves may be put together."""
    alike = _alike(results)
    kept = {group: [k for k in places if alike[k]] for group, places in results.groups().items()}
    return {group: places for group, places in kept.items() if places}


def _failures(results: StudyResults) -> Section | None:
    bad = [one for one in results.outcomes if one.status is not TrialStatus.DONE]
    if not bad:
        return None
    bad.sort(key=lambda one: one.status is not TrialStatus.FAILED)
    rows = tuple((one.key, one.status.value, one.reason) for one in bad)
    text = f"Each folder has a {LOG} with all that its steps said."
    table = TextTable("", ("trial", "how", "why"), rows, links=_links(results))
    return Section("Failed and incomplete", text=text, tables=(table,))


def _outliers(results: StudyResults) -> Section | None:
    """Trials that are far from the others of their group and condition, the farthest first."""
    far_away: dict[str, list[tuple[float, str]]] = {}
    for places in _groups(results).values():
        if len(places) < _FEWEST:
            continue
        curves = results.curves[places]
        for q, name in enumerate(results.quantities):
            far = distances(curves[:, q] * _scales(results, name)[0][places, None])
            for k in np.flatnonzero(far > _FAR):
                far_away.setdefault(results.trials[places[k]].key, []).append((float(far[k]), _said(name)))
    if not far_away:
        return None
    rows = []
    for key, found in sorted(far_away.items(), key=lambda one: -max(one[1])[0]):
        found.sort(reverse=True)
        more = f", and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
        what = ", ".join(f"{name} ({size:.1f})" for size, name in found[:_MOST_NAMED])
        rows.append((key, what + more))
    text = (
        f"Trials with curves that are more than {_FAR:g} standard deviations of the other trials of their group from "
        "these trials' mean, on average over the cycle. Look at them before the means."
    )
    more = f" {len(rows) - _MOST_OUTLIERS} more trials are not shown." if len(rows) > _MOST_OUTLIERS else ""
    columns = ("trial", "quantities, and how many SDs away")
    table = TextTable("", columns, tuple(rows[:_MOST_OUTLIERS]), links=_links(results))
    return Section("Outliers", text=text + more, tables=(table,))


def _links(results: StudyResults) -> dict[str, str]:
    """Of each trial its page, or else its log, from the folder of the study."""
    found = {}
    for one in results.outcomes:
        known = (f"{one.key}/{name}" for name in (PAGE, LOG) if (results.study.folder / one.key / name).is_file())
        found[one.key] = next(known, "")
    return found


def distances(curves: FloatArray) -> FloatArray:
    """(trials,) how far each curve (trials, points) is from the mean of the others, in their SDs; NaN where unknown.

    Root mean square over the points, SDs as one number for all of them, so that a point where all agree counts no more
    than others.
    """
    found = np.full(len(curves), np.nan)
    known = np.flatnonzero(np.isfinite(curves).all(axis=1))
    if len(known) < _FEWEST:
        return found
    for k in known:
        others = curves[known[known != k]]
        spread = np.sqrt(np.mean(others.var(axis=0, ddof=1)))
        if spread > 0.0:
            found[k] = np.sqrt(np.mean((curves[k] - others.mean(axis=0)) ** 2)) / spread
    return found


def _scales(results: StudyResults, quantity: str) -> tuple[FloatArray, str]:
    """(trials,) by which a quantity is multiplied on the page, and its unit there."""
    unit = results.units[results.quantities.index(quantity)]
    if quantity.partition("/")[0] not in _PER_MASS or not (results.mass > 0.0).all():
        return np.ones(len(results.trials)), unit
    return 1.0 / results.mass, f"{unit}/kg"


def _curves(results: StudyResults) -> list[Section]:
    groups = _groups(results)
    sections = []
    across = "% of gait cycle" if any(results.cycles) else "% of the trial"
    for kind, title in _KINDS.items():
        panels: list[Panel] = []
        for q, name in enumerate(results.quantities):
            if not name.startswith(f"{kind}/"):
                continue
            curves = []
            scale, unit = _scales(results, name)
            for color, (group, places) in enumerate(groups.items()):
                of_group = results.curves[places, q] * scale[places, None]
                of_group = of_group[np.isfinite(of_group).all(axis=1)]
                if len(of_group) and np.ptp(of_group) > 0.0:
                    spread = of_group.std(axis=0, ddof=1) if len(of_group) > 1 else None
                    label = f"{_group(group)} (n = {len(of_group)})"
                    curves.append(Curve(label, _PERCENT, of_group.mean(axis=0), "", spread, color))
            if curves:
                panels.append(Panel(_named(name), unit, tuple(curves), across=across))
        if panels:
            sections.append(Section(title, tuple(panels), "Mean and standard deviation over trials."))
    return sections


def _group(group: tuple[str, str]) -> str:
    return ", ".join(part for part in group if part) or "all trials"


def _named(quantity: str) -> str:
    """`knee angle r` of `angle/knee_angle_r` and `moment/knee_angle_r_moment`."""
    kind, _, name = quantity.partition("/")
    return name.removesuffix(f"_{kind}").replace("_", " ")


def _said(quantity: str) -> str:
    kind, _, name = quantity.partition("/")
    return _named(quantity) + (f": {kind}" if not name.endswith("_force") else "")


def _peaks(results: StudyResults) -> list[Section]:
    """Means and SDs of the extremes, by group and condition."""
    order = list(dict.fromkeys((p.group, p.condition) for p in results.peaks))
    found: dict[str, dict[tuple[str, str], list[tuple[float, float, float]]]] = {}
    scales = {name: _scales(results, name) for name in results.quantities}
    places = {trial.key: k for k, trial in enumerate(results.trials)}
    apart = {one.key for one, alike in zip(results.trials, _alike(results), strict=True) if not alike}
    for p in results.peaks:
        key = f"{p.subject}/{p.trial}"
        if p.range > 1e-9 and key not in apart:
            by = float(scales[p.quantity][0][places[key]])
            found.setdefault(p.quantity, {}).setdefault((p.group, p.condition), []).append(
                (by * p.minimum, by * p.maximum, by * p.range)
            )
    rows: dict[str, list[tuple[str, ...]]] = {}
    for name in found:
        for group in order:
            values = np.array(found[name].get(group, ()))
            if len(values):
                cells = tuple(mean_and_spread(values[:, k]) for k in range(3))
                row = (_named(name), _group(group), scales[name][1], str(len(values)), *cells)
                rows.setdefault(name.partition("/")[0], []).append(row)
    columns = ("quantity", "group", "unit", "trials", "minimum", "maximum", "range")
    sections = []
    for kind, title in _KINDS.items():
        shown = tuple(rows.get(kind, ())[:_MOST_ROWS])
        if shown:
            text = (
                "Mean ± standard deviation over trials of each trial's mean over its cycles. peaks.csv has all trials."
            )
            more = len(rows[kind]) - len(shown)
            text += f" {more} more rows are not shown." if more else ""
            table = TextTable("", columns, shown, columns[3:])
            sections.append(Section(f"Peaks: {title.lower()}", text=text, tables=(table,), folded=kind != "angle"))
    return sections


def mean_and_spread(values: FloatArray) -> str:
    """`-38.15 ± 0.51`: two digits of the standard deviation, and as many decimals of the mean."""
    mean = float(values.mean())
    spread = float(values.std(ddof=1)) if len(values) > 1 else 0.0
    if spread <= 1e-9 * abs(mean):
        return f"{mean:.4g}"
    decimals = max(1 - int(np.floor(np.log10(spread))), 0)
    return f"{mean:.{decimals}f} ± {spread:.{decimals}f}"


def _trials(results: StudyResults) -> Section:
    rows = tuple(
        (
            one.key,
            one.status.value,
            f"{one.seconds:.1f}",
            "; ".join(f"{t}: {x}" for light, t, x in one.findings if light == "bad"),
        )
        for one in results.outcomes
    )
    columns = ("trial", "how", "seconds", "not good")
    table = TextTable("", columns, tuple(rows[:_MOST_ROWS]), ("seconds",), _links(results))
    more = f"{len(rows) - _MOST_ROWS} more are not shown." if len(rows) > _MOST_ROWS else ""
    return Section("All trials", text=more, tables=(table,), folded=True)
