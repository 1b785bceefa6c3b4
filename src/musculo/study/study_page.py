"""The page of a study: who failed and why, what is odd, curves of groups, and peaks."""

from __future__ import annotations

from collections import Counter

import numpy as np

from musculo import __version__
from musculo.arrays import FloatArray
from musculo.diagnostics.finding import Finding, Severity
from musculo.report import Curve, Panel, Report, Section, TextTable
from musculo.study.collection import StudyResults
from musculo.study.trial_run import LOG, TrialStatus
from musculo.study.trial_summary import POINTS

_PERCENT = np.linspace(0.0, 100.0, POINTS)
# Kinds of quantities, in the order of the page; the rest of a name is the quantity.
_KINDS = {
    "angle": "Joint angles",
    "moment": "Joint moments",
    "power": "Joint powers",
    "activation": "Muscle activations",
    "load": "Joint loads",
}
# A curve as far from its group's mean as this many standard deviations, on average over the cycle, is an outlier.
_FAR = 2.5
_FEWEST = 4  # fewer trials have no spread to speak of
_MOST_ROWS = 400  # of the table of peaks on the page; the file has all


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
    sections += [one for one in (_peaks(results), _trials(results)) if one is not None]
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
    told = Counter(title for one in results.outcomes for light, title, _ in one.findings if light == "bad")
    for title, times in told.most_common():
        found.append(Finding(f"{title}: not good in {times} of {count} trials", Severity.DOUBTFUL, title))
    return tuple(found)


def _failures(results: StudyResults) -> Section | None:
    bad = [one for one in results.outcomes if one.status is not TrialStatus.DONE]
    if not bad:
        return None
    bad.sort(key=lambda one: one.status is not TrialStatus.FAILED)
    rows = tuple((one.key, one.status.value, one.reason) for one in bad)
    text = f"Each folder has a {LOG} with all that its steps said."
    return Section("Failed and incomplete", text=text, tables=(TextTable("", ("trial", "how", "why"), rows),))


def _outliers(results: StudyResults) -> Section | None:
    """Trials that are far from the others of their group and condition, the farthest first."""
    rows: list[tuple[float, tuple[str, ...]]] = []
    for places in results.groups().values():
        if len(places) < _FEWEST:
            continue
        curves = results.curves[places]
        for q, name in enumerate(results.quantities):
            far = distances(curves[:, q])
            for k in np.flatnonzero(far > _FAR):
                row = (results.trials[places[k]].key, _said(name), f"{far[k]:.1f}")
                rows.append((float(far[k]), row))
    if not rows:
        return None
    rows.sort(key=lambda one: -one[0])
    text = (
        f"Curves that are more than {_FAR:g} standard deviations of the other trials of their group from these trials' "
        "mean, on average over the cycle. Look at them before the means."
    )
    more = f" {len(rows) - 60} more are not shown." if len(rows) > 60 else ""
    table = TextTable("", ("trial", "quantity", "SDs"), tuple(row for _, row in rows[:60]), ("SDs",))
    return Section("Outliers", text=text + more, tables=(table,))


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


def _curves(results: StudyResults) -> list[Section]:
    groups = results.groups()
    sections = []
    across = "% of gait cycle" if all(results.cycles) else "% of gait cycle, or of the trial"
    for kind, title in _KINDS.items():
        panels = []
        for q, name in enumerate(results.quantities):
            if not name.startswith(f"{kind}/"):
                continue
            curves = []
            for color, (group, places) in enumerate(groups.items()):
                of_group = results.curves[places, q]
                of_group = of_group[np.isfinite(of_group).all(axis=1)]
                if len(of_group) and np.ptp(of_group) > 0.0:
                    spread = of_group.std(axis=0, ddof=1) if len(of_group) > 1 else None
                    label = f"{_group(group)} (n = {len(places)})"
                    curves.append(Curve(label, _PERCENT, of_group.mean(axis=0), "", spread, color))
            if curves:
                panels.append(
                    Panel(name.partition("/")[2].replace("_", " "), results.units[q], tuple(curves), across=across)
                )
        if panels:
            sections.append(Section(title, tuple(panels), "Mean and standard deviation over trials."))
    return sections


def _group(group: tuple[str, str]) -> str:
    return ", ".join(part for part in group if part) or "all trials"


def _said(quantity: str) -> str:
    kind, _, name = quantity.partition("/")
    return f"{name.replace('_', ' ')} {kind}"


def _peaks(results: StudyResults) -> Section | None:
    """Means and SDs of the extremes, by group and condition."""
    groups = {(p.group, p.condition): i for i, p in enumerate(results.peaks)}
    if not groups:
        return None
    order = list(dict.fromkeys((p.group, p.condition) for p in results.peaks))
    found: dict[str, dict[tuple[str, str], list[tuple[float, float, float]]]] = {}
    units = dict(zip(results.quantities, results.units, strict=True))
    for p in results.peaks:
        if p.range > 1e-9:
            found.setdefault(p.quantity, {}).setdefault((p.group, p.condition), []).append(
                (p.minimum, p.maximum, p.range)
            )
    rows = []
    for name in sorted(found, key=lambda q: list(_KINDS).index(q.partition("/")[0])):
        for group in order:
            values = np.array(found[name].get(group, ()))
            if len(values):
                cells = tuple(_mean(values[:, k]) for k in range(3))
                rows.append((_said(name), _group(group), units[name], str(len(values)), *cells))
    columns = ("quantity", "group", "unit", "trials", "minimum", "maximum", "range")
    text = "Mean ± standard deviation over trials of each trial's mean over its cycles. peaks.csv has every trial."
    shown = tuple(rows[:_MOST_ROWS])
    if len(rows) > _MOST_ROWS:
        text += f" {len(rows) - _MOST_ROWS} more rows are not shown."
    return Section("Peaks", text=text, tables=(TextTable("", columns, shown, columns[3:]),))


def _mean(values: FloatArray) -> str:
    spread = f" ± {values.std(ddof=1):.3g}" if len(values) > 1 else ""
    return f"{values.mean():.4g}{spread}"


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
    table = TextTable("", ("trial", "how", "seconds", "not good"), tuple(rows[:_MOST_ROWS]), ("seconds",))
    return Section("All trials", tables=(table,))
