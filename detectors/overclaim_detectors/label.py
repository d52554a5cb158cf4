"""The labelling job: spans of the traces that received some -> runs, calls and claims.

Understanding texts and payloads is the Python engine of the SDK; here spans are only fetched and its answers stored.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter

from overclaim.outcome.normals import Normals, apply
from overclaim.outcome.tool_rules import NO_RULES, ToolRules
from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim_detectors import rows, sql
from overclaim_detectors.inbox import Batch
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
    store: Store, batch: Batch, version: int, normals: Normals | None = None, expected: ToolRules = NO_RULES
) -> Labelled:
    """Label the traces of a batch again from all their spans, and take back what no longer holds.

    normals: how their tools usually answer. The runs of the batch may be among those that it was learned from, so that
    an unusual answer seems a little less so. expected: what is right for them; it holds for the spans of other
    instrumentors, as far as they carry content.

    A trace that cannot be understood keeps what was known of it, and is named in `skipped`.
    """
    found, skipped = _understand(_spans(store, batch), version, normals or Normals(), expected)
    store.insert("overclaim_runs", rows.RUN_COLUMNS, found.runs, _INSERT)
    store.insert("overclaim_calls", rows.CALL_COLUMNS, found.calls, _INSERT)
    store.insert("overclaim_claims", rows.CLAIM_COLUMNS, found.claims, _INSERT)
    understood = [trace for trace in batch.traces if trace not in skipped]
    for table in ("runs", "calls", "claims"):
        store.command(sql.load(f"label/retire_{table}"), batch.params(version=version) | {"traces": understood})
    return Labelled(len(understood), len(found.runs), len(found.calls), len(found.claims), tuple(sorted(skipped)))


def _spans(store: Store, batch: Batch) -> list[Span]:
    return [rows.span(row) for row in store.query(sql.load("label/spans"), batch.params()).dicts()]


def _understand(
    spans: Iterable[Span], version: int, normals: Normals, expected: ToolRules
) -> tuple[rows.Rows, set[str]]:
    found, skipped = rows.Rows(), set[str]()
    for trace_id, of_trace in groupby(spans, key=attrgetter("trace_id")):
        try:
            found.add(_trace(list(of_trace), version, normals, expected))
        except Exception:  # one odd trace must not stop the others
            _log.warning("trace %s cannot be understood and is left out", trace_id, exc_info=True)
            skipped.add(trace_id)
    return found, skipped


def _trace(spans: Sequence[Span], version: int, normals: Normals, expected: ToolRules) -> rows.Rows:
    return rows.trace_rows([apply(run, normals, counted=False) for run in runs(spans, expected)], spans, version)
