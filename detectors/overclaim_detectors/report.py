"""The reports: which queries answer them, what they want bound, and what an empty answer means."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from overclaim._errors import InputError, StoreError
from overclaim_detectors import sql
from overclaim_detectors.drift.reference import Policy
from overclaim_detectors.layout import Layout
from overclaim_detectors.report_layouts import CLAIMS, COMPARE, COVERAGE, DRIFT, NORMALS, PROCEDURES, SILENT
from overclaim_detectors.store import QueryError, Rows, Store

UNKNOWN_TABLE = 60
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

    rest: a query that counts what the report leaves out unless all is asked for; rest_words: its row in words, "" where
    nothing is left out.
    """

    query: str
    nothing: str
    params: Callable[[Window], dict[str, object]]
    layout: Layout
    rest: str = ""
    rest_words: Callable[[Mapping[str, Any]], str] = lambda _: ""


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


def _noticed(counts: Mapping[str, int]) -> str:
    one, many = "failure that somebody noticed is", "failures that somebody noticed are"
    return f"{_count(number, one, many)} left out: --all." if (number := counts["Noticed"]) else ""


def _unpaired(counts: Mapping[str, int]) -> str:
    new = _agents_and_tools(counts["NewAgents"], counts["NewTools"])
    lost = _agents_and_tools(counts["LostAgents"], counts["LostTools"])
    parts = [f"New, with nothing to compare with yet: {new}."] if new else []
    parts += [f"No longer seen: {lost}."] if lost else []
    return " ".join([*parts, "All rows: --all."]) if parts else ""


def quiet(counts: Mapping[str, Any]) -> str:
    """What of behaviour is quiet, how much would have been seen, and what could not be judged yet, in words."""
    if not any(counts[name] for name in ("Quiet", "NotYet", "Parts", "Small")):
        return ""
    parts = [f"Quiet: {_count(counts['Quiet'], 'stream', 'streams')} of behaviour."]
    if counts["Quiet"] > counts["Blind"]:
        low, high = counts["Smallest"], counts["Largest"]
        parts.append(f"Within a week they show changes from {low} to {high} points on.")
    if blind := counts["Blind"]:
        parts.append(f"Too few runs in a week to show any change: {blind}.")
    if not_yet := counts["NotYet"]:
        more = ", ..." if not_yet > len(counts["Lacking"]) else ""
        parts.append(f"Not judged yet: {not_yet} ({', '.join(counts['Lacking'])}{more}).")
    if left := counts["Parts"] + counts["Small"]:
        parts.append(f"{_count(left, 'drift', 'drifts')} too small to matter, or part of another: --all.")
    return " ".join(parts)


def _agents_and_tools(agents: int, tools: int) -> str:
    parts = [_count(agents, "agent", "agents")] if agents else []
    return " and ".join([*parts, *([_count(tools, "tool", "tools")] if tools else [])])


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


REPORTS = {
    "claims": Report("report/claims", "No claim is contradicted, unsupported or pending.", _since, CLAIMS),
    "silent": Report(
        "report/silent", "No call failed without anybody noticing.", _since, SILENT, "report/silent_noticed", _noticed
    ),
    "procedures": Report("report/procedures", "No run broke a declared procedure.", _since, PROCEDURES),
    "drift": Report("report/drift", "No drift is open.", _drifts, DRIFT, "report/drift_quiet", quiet),
    "compare": Report(
        "report/compare", "No agent or tool was seen in both windows.", _two_windows, COMPARE,
        "report/compare_unpaired", _unpaired,
    ),
    "coverage": Report("report/coverage", "No run falls into this time.", _since, COVERAGE),
    "normals": Report("report/normals", "Nothing was learned about any tool yet.", _since, NORMALS),
}  # fmt: skip


def run_report(store: Store, kind: str, window: Window) -> Rows:
    """The rows of a report.

    Raises:
        StoreError: the store has no tables yet, or cannot be read.
    """
    report = REPORTS[kind]
    return with_tables(lambda: store.query(*_bound(report.query, report.params(window))))


def left_out(store: Store, kind: str, window: Window) -> str:
    """What the report leaves out, in words; "" where that is nothing."""
    report = REPORTS[kind]
    if window.all or not report.rest:
        return ""
    return report.rest_words(store.query(*_bound(report.rest, report.params(window))).dicts()[0])


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


def why_empty(store: Store, kind: str) -> str:
    """What it means that a report has no rows, and how to change that."""
    totals = with_tables(lambda: store.query(sql.load("report/totals"))).dicts()[0]
    if not totals["HasSpans"]:
        return (
            "The store has no spans yet. Fill it: `overclaim serve` in one terminal, and in your agent"
            " `import overclaim; overclaim.instrument()`. To see it at work first: `overclaim demo`."
        )
    if not totals["Runs"]:
        return (
            "Spans came in, but no agent run among them was judged yet. `overclaim detect` judges them; runs need an"
            " agent span (invoke_agent) with tool calls below: `overclaim doctor` checks an agent."
        )
    return (
        f"{REPORTS[kind].nothing} Runs judged so far: {totals['Runs']};"
        " what could not be judged: `overclaim report coverage`."
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
    start = datetime(2000, 1, 1, tzinfo=UTC)
    if not _AGE.fullmatch(text.strip().lower()):
        raise _no_time(text)
    return max(1, round((start - moment(text, start)) / timedelta(hours=1)))


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
