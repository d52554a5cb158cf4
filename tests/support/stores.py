"""Helpers for tests with a store."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from overclaim.outcome.model import Run
from overclaim.reading.spans import Span
from overclaim_collector.otlp.spans import COLUMNS
from overclaim_detectors import rows
from overclaim_detectors.inbox import Batch
from overclaim_detectors.store import Store

DATA_TABLES = """
SELECT name FROM system.tables
WHERE database = currentDatabase() AND engine LIKE '%MergeTree' AND name != 'overclaim_migrations'
"""
VERDICTS = """
SELECT TraceId, Claim, Label, Rule, Calls, round(Confidence, 3) AS Confidence FROM overclaim_verdicts FINAL
ORDER BY TraceId, RunSpanId, Claim
"""
FINDINGS = """
SELECT Rule, Severity, Agent, Tool, TraceId, CallSpanIds, EvidenceRule, EvidenceValue FROM overclaim_findings FINAL
WHERE Open ORDER BY TraceId, Rule, FindingId
"""


ARRIVAL = ("Arrived", "TraceId", "Spans", "Earliest", "Latest")
# Times of spans in Unix nanoseconds, since Python's own hold microseconds.
ARRIVALS = """
SELECT Arrived, TraceId, Spans, toUnixTimestamp64Nano(Earliest) AS First, toUnixTimestamp64Nano(Latest) AS Last
FROM overclaim_inbox ORDER BY Arrived, TraceId
"""


# Where the spans of each trace lie and how many there are, and when the first came: by the spans, and as entered.
READ = "SELECT TraceId, min(Timestamp), max(Timestamp), uniqExact(SpanId) FROM otel_traces GROUP BY 1 ORDER BY 1"
ENTERED = "SELECT TraceId, min(Earliest), max(Latest), max(Spans) FROM overclaim_traces GROUP BY 1 ORDER BY 1"
CAME = "SELECT TraceId, min(Arrived) FROM overclaim_inbox WHERE Spans > 0 GROUP BY 1 ORDER BY 1"
FIRST = "SELECT TraceId, min(Arrived) FROM overclaim_arrivals GROUP BY 1 ORDER BY 1"


def empty(store: Store) -> None:
    """Take everything out of all tables."""
    for (table,) in store.query(DATA_TABLES).rows:
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})


def receive(store: Store, spans: Iterable[Any]) -> None:
    """Put rows of otel_traces in, as the receivers do."""
    store.insert("otel_traces", COLUMNS, list(spans))


def arrive_late(store: Store, seconds: int) -> None:
    """Give what arrived the time at which a slow insert would have begun."""
    ((now,),) = store.query("SELECT now64(3)").rows
    rows = store.query(ARRIVALS).rows
    store.command("TRUNCATE TABLE overclaim_inbox")
    store.insert("overclaim_inbox", ARRIVAL, [(now - timedelta(seconds=seconds), *row[1:]) for row in rows])


def put_labelled(store: Store, made: Iterable[tuple[Run, list[Span]]], version: int = 1) -> Batch:
    """Put runs in as if they had just been labelled; the batch that holds them."""
    found, traces, times = rows.Rows(), list[str](), list[int]()
    for run, spans in made:
        found.add(rows.trace_rows([run], spans, version))
        traces.append(run.trace_id)
        times += [span.start_ns for span in spans]
    store.insert("overclaim_runs", rows.RUN_COLUMNS, found.runs)
    store.insert("overclaim_calls", rows.CALL_COLUMNS, found.calls)
    store.insert("overclaim_claims", rows.CLAIM_COLUMNS, found.claims)
    return Batch(tuple(traces), min(times), max(times))
