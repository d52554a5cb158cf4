"""The labelling job: spans of the traces that received some -> runs, calls and claims.

Understanding texts and payloads is the Python engine of the SDK; here spans and what log records tell of them are only
fetched, and its answers stored.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter

from overclaim.outcome.model import Run
from overclaim.outcome.normals import apply, speak_of
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.reading.log_records import with_logs
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim_detectors import logs, rows, sql
from overclaim_detectors.inbox import Batch, Extent, enter_traces
from overclaim_detectors.normals import Learned
from overclaim_detectors.store import Store

_log = logging.getLogger("overclaim.detect")
_INSERT = {"max_partitions_per_insert_block": 0}  # an import of old spans may touch many days at once


@dataclass(frozen=True, slots=True)
class Labelled:
    """What a batch came to."""

    traces: int = 0
    runs: int = 0
    calls: int = 0
    claims: int = 0
    skipped: tuple[str, ...] = ()


def label(
    store: Store, batch: Batch, version: int, learned: Learned | None = None, expected: ToolRules = NO_RULES
) -> Labelled:
    """Label the traces of a batch again from all their spans and log records, and take back what no longer holds.

    learned: how their tools usually answered by the time each trace arrived. expected: what is right for them; it
    holds for the spans of other instrumentors, as far as they carry content.

    A trace that cannot be understood keeps what was known of it, and is named in `skipped`.
    """
    by_trace = _by_trace(_spans(store, batch))
    enter_traces(store, map(_extent, by_trace.values()))
    skipped = set[str]()
    understood = _understood(by_trace, logs.read(store, by_trace), expected, skipped)
    found = _rows(by_trace, understood, version, learned or Learned(store), skipped)
    store.insert("overclaim_runs", rows.RUN_COLUMNS, found.runs, _INSERT)
    store.insert("overclaim_calls", rows.CALL_COLUMNS, found.calls, _INSERT)
    store.insert("overclaim_claims", rows.CLAIM_COLUMNS, found.claims, _INSERT)
    traces = [trace for trace in batch.traces if trace not in skipped]
    for table in ("runs", "calls", "claims"):
        store.command(sql.load(f"label/retire_{table}"), batch.params(version=version) | {"traces": traces})
    return Labelled(len(traces), len(found.runs), len(found.calls), len(found.claims), tuple(sorted(skipped)))


def _spans(store: Store, batch: Batch) -> list[Span]:
    return [rows.span(row) for row in store.query(sql.load("label/spans"), batch.params()).dicts()]


def _by_trace(spans: Iterable[Span]) -> dict[str, list[Span]]:
    return {trace_id: list(of_trace) for trace_id, of_trace in groupby(spans, key=attrgetter("trace_id"))}


def _extent(spans: Sequence[Span]) -> Extent:
    """Where the spans of a trace lie, and how many were read."""
    starts = [span.start_ns for span in spans]
    return (spans[0].trace_id, len(spans), min(starts), max(starts))


def _understood(
    by_trace: Mapping[str, list[Span]], logged: logs.Logged, expected: ToolRules, skipped: set[str]
) -> dict[str, list[Run]]:
    """The runs of each trace, but of those that are skipped: one odd trace must not stop the others."""
    found: dict[str, list[Run]] = {}
    for trace_id, spans in by_trace.items():
        with _left_out(trace_id, skipped):
            its = runs(with_logs(spans, logged.records.get(trace_id, ())), expected)
            found[trace_id] = [_incomplete(run) for run in its] if trace_id in logged.cut else its
    return found


def _incomplete(run: Run) -> Run:
    """A run of a trace of which not all log records were read."""
    return replace(run, gaps=(*run.gaps, logs.NOT_READ), complete=False)


def _rows(
    by_trace: Mapping[str, list[Span]], found: Mapping[str, list[Run]], version: int, learned: Learned,
    skipped: set[str],
) -> rows.Rows:  # fmt: skip
    whole = rows.Rows()
    normals = learned.of_traces([trace_id for trace_id, its in found.items() if any(map(speak_of, its))])
    for trace_id, its in found.items():
        with _left_out(trace_id, skipped):
            known = normals.get(trace_id)
            seen = its if known is None else [apply(run, known) for run in its]
            whole.add(rows.trace_rows(seen, by_trace[trace_id], version))
    return whole


@contextmanager
def _left_out(trace_id: str, skipped: set[str]) -> Generator[None]:
    try:
        yield
    except Exception:
        _log.warning("trace %s cannot be understood and is left out", trace_id, exc_info=True)
        skipped.add(trace_id)
