"""The reports: which queries answer them, what they want bound, and what an empty answer means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from overclaim._errors import InputError, StoreError
from overclaim_detectors import report_layouts as layouts
from overclaim_detectors import report_notes as notes
from overclaim_detectors import sql
from overclaim_detectors.drift.job import JOB
from overclaim_detectors.drift.reference import Policy
from overclaim_detectors.layout import Layout
from overclaim_detectors.store import QueryError, Rows, Store

UNKNOWN_TABLE = 60
NO_DRIFT_PASS = (
    "Nobody has looked for drift yet: `overclaim serve` first does a minute after its start, `overclaim detect` each"
    " time."
)
NO_RUN = "No run falls into this time."
BEYOND = 10_000  # rows looked for beyond those that are shown, to say how many there are
_AGE = re.compile(r"(\d+)\s*(s|m|h|d|w)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True, slots=True)
class Window:
    """The time a report is about. window and reference: lengths in hours, for comparing then and now.

    rows: at most so many. all: also what a report leaves out by default.
    """

    since: datetime
    now: datetime
    window_hours: int = 24
    reference_hours: int = 168
    rows: int = 1000
    all: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """One report: its query, how it looks, and what it says where it has no rows although runs were judged.

    every: the same where all is asked for, if that is more. rest: a query that counts what the rows do not show;
    rest_words: its row in words, "" where that is nothing, by whether all is asked for. stand_for: what the rows stand
    for, in words. legend: how to read the columns.
    """

    query: str
    nothing: str
    params: Callable[[Window], dict[str, object]]
    layout: Layout
    rest: str = ""
    rest_words: Callable[[Mapping[str, Any], bool], str] = lambda _, __: ""
    every: str = ""
    stand_for: Callable[[Rows], str] = lambda _: ""
    legend: str = ""


def _since(window: Window) -> dict[str, object]:
    return {"since": utc_text(window.since), "rows": window.rows, "all": int(window.all)}


def _two_windows(window: Window) -> dict[str, object]:
    return {
        "now": utc_text(window.now),
        "window_hours": window.window_hours,
        "reference_hours": window.reference_hours,
        "rows": window.rows,
        "all": int(window.all),
    }


def _drifts(window: Window) -> dict[str, object]:
    policy = Policy()
    least = {"least_runs": policy.least_runs, "least_days": policy.least_days}
    return {**_since(window), "now": utc_text(window.now), **least}


REPORTS = {
    "claims": Report(
        "report/claims", "No claim is contradicted, unsupported or pending.", _since, layouts.CLAIMS,
        stand_for=notes.shared_ground,
    ),
    "silent": Report(
        "report/silent", "No call failed without anybody noticing.", _since, layouts.SILENT,
        "report/silent_noticed", notes.noticed, "No call failed, noticed or not.",
    ),
    "procedures": Report("report/procedures", "No run broke a declared procedure.", _since, layouts.PROCEDURES),
    "drift": Report(
        "report/drift", "No drift is open.", _drifts, layouts.DRIFT, "report/drift_quiet", notes.quiet,
        "No drift is open, and none was closed or accepted in this time.",
    ),
    "fleet": Report("report/fleet", "Nothing is new or silent in the fleet.", _since, layouts.FLEET),
    "compare": Report(
        "report/compare", "No agent or tool was seen in both windows.", _two_windows, layouts.COMPARE,
        "report/compare_unpaired", notes.unpaired, "No agent or tool was seen in either window.",
        legend=layouts.COMPARE_LEGEND,
    ),
    "honesty": Report("report/honesty", NO_RUN, _since, layouts.HONESTY, legend=layouts.HONESTY_LEGEND),
    "recovery": Report("report/recovery", "No call failed.", _since, layouts.RECOVERY, legend=layouts.RECOVERY_LEGEND),
    "endurance": Report("report/endurance", NO_RUN, _since, layouts.ENDURANCE, legend=layouts.ENDURANCE_LEGEND),
    "cost": Report("report/cost", NO_RUN, _since, layouts.COST, legend=layouts.COST_LEGEND),
    "coverage": Report("report/coverage", NO_RUN, _since, layouts.COVERAGE),
    "detectors": Report("report/detectors", NO_RUN, _since, layouts.DETECTORS, legend=layouts.DETECTORS_LEGEND),
    "normals": Report("report/normals", "Nothing was learned about any tool yet.", _since, layouts.NORMALS),
}  # fmt: skip


def run_report(store: Store, kind: str, window: Window) -> Rows:
    """The rows of a report.

    Raises:
        StoreError: the store has no tables yet, or cannot be read.
    """
    report = REPORTS[kind]
    return with_tables(lambda: store.query(*_bound(report.query, report.params(window))))


def left_out(store: Store, kind: str, window: Window) -> str:
    """What the rows of a report do not show, in words; "" where that is nothing."""
    report = REPORTS[kind]
    if not report.rest:
        return ""
    return report.rest_words(store.query(*_bound(report.rest, report.params(window))).dicts()[0], window.all)


def cut_off(store: Store, kind: str, window: Window, shown: Rows) -> str:
    """How many rows are left out since no more were asked for, in words; "" where there are none."""
    if len(shown.rows) < window.rows:
        return ""
    found = run_report(store, kind, replace(window, rows=window.rows + BEYOND))
    return notes.cut(len(found.rows), len(shown.rows), BEYOND)


def below(store: Store, kind: str, window: Window, shown: Rows) -> list[str]:
    """What there is to say below the rows of a report, as lines."""
    if not shown.rows:
        return list(filter(None, (why_empty(store, kind, window.all), left_out(store, kind, window))))
    report = REPORTS[kind]
    said = (report.stand_for(shown), cut_off(store, kind, window, shown), left_out(store, kind, window))
    return list(filter(None, said))


def _bound(query: str, values: Mapping[str, object]) -> tuple[str, dict[str, object]]:
    """The text of a query, and of the values those that it wants."""
    text = sql.load(query)
    return text, {name: value for name, value in values.items() if name in sql.placeholders(text)}


def with_tables(question: Callable[[], Rows]) -> Rows:
    """Ask; where the tables are not there yet, say so rather than what the engine says."""
    try:
        return question()
    except QueryError as error:
        if error.code != UNKNOWN_TABLE and "UNKNOWN_TABLE" not in str(error):
            raise
        raise StoreError("the store has no such table; `overclaim serve` or `overclaim detect` makes ours") from error


def why_empty(store: Store, kind: str, every: bool = False) -> str:
    """What it means that a report has no rows, and how to change that. every: all was asked for."""
    totals = with_tables(lambda: store.query(sql.load("report/totals"))).dicts()[0]
    if totals["Runs"]:
        nothing = (every and REPORTS[kind].every) or REPORTS[kind].nothing
        if kind == "drift" and not store.query(sql.load("label/position"), {"job": JOB}).rows:
            nothing = NO_DRIFT_PASS
        return f"{nothing} Runs judged so far: {totals['Runs']}; what could not be judged: `overclaim report coverage`."
    if totals["HasSpans"]:
        return (
            "Spans came in, but no agent run among them was judged yet. `overclaim detect` judges them; runs need an"
            " agent span (invoke_agent) with tool calls below: `overclaim doctor` checks an agent."
        )
    return (
        "The store has no spans yet. Fill it: `overclaim serve` in one terminal, and in your agent"
        " `import overclaim; overclaim.instrument()`. To see it at work first: `overclaim demo`."
    )


def moment(text: str, now: datetime) -> datetime:
    """A time as people write it: an age such as 90m, 24h, 7d, or an ISO time (UTC unless it says otherwise).

    Raises:
        InputError: it is neither.
    """
    if match := _AGE.fullmatch(text.strip().lower()):
        return _ago(now, int(match[1]), match[2], text)
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise _no_time(text) from error
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def hours(text: str) -> int:
    """A length of time such as 24h or 7d, in whole hours, at least one.

    Raises:
        InputError: it is no such length.
    """
    match = _AGE.fullmatch(text.strip().lower())
    if not match:
        raise _no_length(text)
    try:
        return max(1, round(timedelta(**{_UNITS[match[2]]: int(match[1])}) / timedelta(hours=1)))
    except OverflowError as error:
        raise _no_length(text) from error


def utc_text(when: datetime) -> str:
    """A time as ClickHouse reads it."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def _ago(now: datetime, count: int, unit: str, text: str) -> datetime:
    try:
        return now - timedelta(**{_UNITS[unit]: count})
    except OverflowError as error:
        raise _no_time(text) from error


def _no_time(text: str) -> InputError:
    return InputError(
        f"{text!r} is no time: write an age such as 90m, 24h or 7d, or a UTC time such as 2026-01-31T09:00"
    )


def _no_length(text: str) -> InputError:
    return InputError(f"{text!r} is no length of time: write one such as 6h, 24h or 7d; it counts in whole hours")
