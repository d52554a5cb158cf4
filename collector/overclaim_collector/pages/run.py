"""One run: its spans as a waterfall, what each call claimed and what was observed, and the claims with their calls."""

from __future__ import annotations

from typing import Final

from overclaim._errors import InputError
from overclaim_collector.pages.page import Asked, Page, Sources, nothing
from overclaim_collector.pages.waterfall import bars
from overclaim_detectors import show, sql

SPANS: Final = 500


def read(sources: Sources, asked: Asked) -> Page:
    """The page of a trace with its runs, or of the run that has this span or id."""
    try:
        runs = show.find(sources.store, asked.path["id"])
    except InputError as error:
        return nothing(str(error), "All findings: /findings")
    trace = runs[0].run["TraceId"]
    rows = sources.store.query(sql.load("pages/spans"), {"trace": trace, "rows": SPANS + 1}).dicts()
    calls = {call["SpanId"]: call for one in runs for call in one.calls}
    values = {
        "runs": runs,
        "trace": trace,
        "bars": bars(rows[:SPANS], calls),
        "more": len(rows) > SPANS,
        "most": SPANS,
        "questions": show.questions(runs),
    }
    agents = ", ".join(dict.fromkeys(one.run["Agent"] for one in runs))
    return Page("run.html", f"Run of {agents}", values)
