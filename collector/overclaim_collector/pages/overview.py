"""The first page: how much of what agents claimed their own spans contradict, where, and since when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from overclaim_collector.pages.charts import Day, chart, filled
from overclaim_collector.pages.findings import FILTERS, page_of
from overclaim_collector.pages.page import Asked, Page, Sources
from overclaim_detectors import sql
from overclaim_detectors.report import utc_text, with_tables

DAYS: Final = 28
_WEEK: Final = 7
_NEWEST: Final = 8
_WORST: Final = 6


def read(sources: Sources, _: Asked) -> Page:
    """The page."""
    days = _days(sources)
    week = days[-_WEEK:]
    since = {"since": utc_text(sources.clock() - timedelta(days=_WEEK)), "rows": _WORST}
    values = {
        "claims": sum(day.of for day in week), "accused": sum(day.part for day in week),
        "chart": chart(days), "days": days, "runs": _asked(sources, "pages/overview_runs", since)[0],
        "agents": _asked(sources, "pages/overview_agents", since),
        "tools": _asked(sources, "pages/overview_tools", since),
        "newest": page_of(sources, dict.fromkeys(FILTERS, ""), rows=_NEWEST)[:_NEWEST],
    }  # fmt: skip
    return Page("overview.html", "Overview", values)


def _days(sources: Sources) -> list[Day]:
    """One for each of the last DAYS."""
    first = sources.clock().date() - timedelta(days=DAYS - 1)
    rows = _asked(sources, "pages/overview_days", {"since": f"{first} 00:00:00"})
    return filled({str(row["Day"])[:10]: (row["Accused"], row["Claims"]) for row in rows}, first, DAYS)


def _asked(sources: Sources, query: str, values: Mapping[str, object]) -> list[dict[str, Any]]:
    return with_tables(lambda: sources.store.query(sql.load(query), values)).dicts()
