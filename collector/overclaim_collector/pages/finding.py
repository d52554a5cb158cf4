"""One finding: the words of the agent beside the span that contradicts them, why, and how to see it oneself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from overclaim._errors import InputError
from overclaim_collector.pages.findings import between
from overclaim_collector.pages.page import Asked, Page, Sources, nothing
from overclaim_detectors import show, sql
from overclaim_detectors.registry import registry
from overclaim_detectors.report import with_tables
from overclaim_detectors.show import Shown

_SIMILAR: Final = 5
_LOOKED_AT: Final = 50
_DAY: Final = 86_400_000_000_000
_NO_CLAIM: Final = -1


def read(sources: Sources, asked: Asked) -> Page:
    """The page. Asked for: the id, and `at`, when its run started, by which it is found without a search."""
    wanted = {"id": asked.path["id"], "at": _whole(asked.text("at"))}
    rows = with_tables(lambda: sources.store.query(sql.load("pages/finding"), wanted)).dicts()
    if not rows:
        return nothing(f"There is no finding {wanted['id']}.", "It may be older than the store keeps. All: /findings")
    row = rows[0]
    run = _run(sources, row)
    values = {
        "finding": row,
        "rule": next((rule for rule in registry().rules if rule.id == row["Rule"]), None),
        "run": run.run if run else None,
        "claim": _claim(run, row["Claim"]),
        "calls": _calls(run, row["CallSpanIds"]),
        "questions": show.questions([run]) if run else [],
        "similar": _similar(sources, row),
    }
    return Page("finding.html", f"{row['Rule']} {row['Title']}", values)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def _run(sources: Sources, row: Mapping[str, Any]) -> Shown | None:
    """The run that it is about; None where the store does not have it any more."""
    try:
        found = show.find(sources.store, row["TraceId"])
    except InputError:
        return None
    return next((one for one in found if one.run["RunSpanId"] == row["RunSpanId"]), None)


def _claim(run: Shown | None, position: int) -> Mapping[str, Any] | None:
    if run is None or position == _NO_CLAIM:
        return None
    return next((claim for claim in run.claims if claim["Claim"] == position), None)


def _calls(run: Shown | None, wanted: Sequence[str]) -> list[Mapping[str, Any]]:
    """The calls that show it, most telling first."""
    known = {call["SpanId"]: call for call in run.calls} if run else {}
    return [known[span] for span in wanted if span in known]


def _similar(sources: Sources, row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Of the same rule, agent and tool, in other traces, from a day before it to a day after."""
    same = {"severity": "", **{name: row[name.capitalize()] for name in ("rule", "service", "agent", "tool")}}
    found = between(sources, same, row["AtNs"] - _DAY, (row["AtNs"] + _DAY, ""), _LOOKED_AT)
    return [one for one in found if one["TraceId"] != row["TraceId"]][:_SIMILAR]
