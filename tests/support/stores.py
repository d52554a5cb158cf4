"""Helpers for tests with a store."""

from __future__ import annotations

from collections.abc import Iterable
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


def empty(store: Store) -> None:
    """Take everything out of all tables."""
    for (table,) in store.query(DATA_TABLES).rows:
        store.command("TRUNCATE TABLE {table:Identifier}", {"table": table})


def receive(store: Store, spans: Iterable[Any]) -> None:
    """Put rows of otel_traces in, as the receivers do."""
    store.insert("otel_traces", COLUMNS, list(spans))


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
