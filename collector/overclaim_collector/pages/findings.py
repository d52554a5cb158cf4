"""The findings, newest first, with filters; a page at a time, however many there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

from overclaim_collector.pages.page import Asked, Page, Sources
from overclaim_detectors import sql
from overclaim_detectors.registry import registry
from overclaim_detectors.report import with_tables
from overclaim_detectors.rule import SEVERITIES

FILTERS: Final = ("severity", "rule", "service", "agent", "tool")
ROWS: Final = 50
# How far back is looked for a page, in hours, until it is full: where there are millions, the last hour fills it.
_STEPS: Final = (1, 4, 16, 64, 256, 1024, 24 * 366 * 100)
_HOUR: Final = 3_600_000_000_000
_LATEST: Final = 2**63 - 1


def read(sources: Sources, asked: Asked) -> Page:
    """The page. Asked for: the FILTERS, and `before`, where the page before ended."""
    filters = {name: asked.text(name) for name in FILTERS}
    before, before_id = _place(asked.text("before"))
    found = page_of(sources, filters, before, before_id)
    rows, more = found[:ROWS], found[ROWS:]
    older = _after(filters, rows[-1]) if more else ""
    values = {
        "findings": rows, "filters": filters, "filtered": any(filters.values()), "older": older,
        "newest": not asked.text("before"), "severities": SEVERITIES,
        "rules": sorted(rule.id for rule in registry().rules),
    }  # fmt: skip
    return Page("findings.html", "Findings", values)


def page_of(
    sources: Sources, filters: Mapping[str, str], before: int = _LATEST, before_id: str = "", rows: int = ROWS
) -> Sequence[Mapping[str, Any]]:
    """The newest `rows` findings before a place in their order, and one more where there are more."""
    found: Sequence[Mapping[str, Any]] = ()
    for since in _starts(min(before, int(sources.clock().timestamp() * 1e9) + _HOUR)):
        found = between(sources, filters, since, (before, before_id), rows + 1)
        if len(found) > rows:
            break
    return found


def between(
    sources: Sources, filters: Mapping[str, str], since: int, before: tuple[int, str], rows: int
) -> Sequence[Mapping[str, Any]]:
    """The newest findings from a time on (Unix nanoseconds), before a place in their order."""
    values = {**filters, "since": since, "before": before[0], "before_id": before[1], "rows": rows}
    return with_tables(lambda: sources.store.query(sql.load("pages/findings"), values)).dicts()


def _starts(before: int) -> Iterator[int]:
    """Unix nanoseconds from which on to look, earlier each time."""
    for hours in _STEPS:
        yield max(0, before - hours * _HOUR)


def _place(text: str) -> tuple[int, str]:
    """Where a page begins, from the address of the one before; at the newest where that is no such place."""
    at, _, finding = text.partition("-")
    return (int(at), finding) if at.isascii() and at.isdigit() and int(at) < _LATEST else (_LATEST, "")


def _after(filters: Mapping[str, str], last: Mapping[str, Any]) -> str:
    """The address of the page after the one that ends with this finding."""
    chosen = {name: value for name, value in filters.items() if value}
    return "?" + urlencode({**chosen, "before": f"{last['AtNs']}-{last['FindingId']}"})
