"""What a store holds of the runs that senders sent, beside what they were told."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from tests.faults.harness.agent_spans import CALLS_PER_RUN
from tests.faults.harness.senders import Book
from tests.faults.harness.served import Served

PATIENCE_SECONDS = 30.0  # what a killed server left in its spool comes into the store after the next start
SPANS = "SELECT TraceId, count(), uniqExact(SpanId) FROM otel_traces GROUP BY TraceId"
CALLS = "SELECT TraceId, count() FROM overclaim_calls FINAL GROUP BY TraceId"
RUNS = "SELECT TraceId, count() FROM overclaim_runs FINAL GROUP BY TraceId"
FINDINGS = "SELECT TraceId, count() FROM overclaim_findings FINAL WHERE Open AND Rule = 'OC101' GROUP BY TraceId"


@dataclass(frozen=True, slots=True)
class Kept:
    """Spans: sent, acknowledged, given up by the exporter, acknowledged but not stored, stored, stored rows too many.

    strange: stored without having been sent.
    """

    sent: int
    acknowledged: int
    given_up: int
    lost: int
    stored: int
    rows_twice: int
    strange: int

    def __str__(self) -> str:
        return (
            f"{self.acknowledged:,} of {self.sent:,} spans acknowledged, {self.given_up:,} given up; {self.lost} lost"
        )


def kept(served: Served, book: Book, patience: float = PATIENCE_SECONDS) -> Kept:
    """Compare the store with the book, by the number of spans; what seems lost has so many seconds to turn up."""
    end = time.monotonic() + patience
    while (found := _kept(served, book)).lost and time.monotonic() < end:
        time.sleep(1)
    return found


def _kept(served: Served, book: Book) -> Kept:
    found = {trace: (rows, spans) for trace, rows, spans in served.query(SPANS)}
    lost = sum(max(0, book.spans - found.get(trace, (0, 0))[1]) for trace in book.acknowledged)
    return Kept(
        sent=len(book.sent) * book.spans,
        acknowledged=len(book.acknowledged) * book.spans,
        given_up=len(book.failed) * book.spans,
        lost=lost,
        stored=sum(spans for _, spans in found.values()),
        rows_twice=sum(rows - spans for rows, spans in found.values()),
        strange=len(found.keys() - book.sent),
    )


@dataclass(frozen=True, slots=True)
class Judged:
    """Of the acknowledged runs: those that lack a run, a call or the finding, and those that have any of them twice.

    reported: how many accusations `overclaim report claims` prints, twice: how many of them are there more than once.
    """

    runs: int
    missing: int
    double: int
    reported: int
    twice: int


def judged(served: Served, book: Book) -> Judged:
    """Compare what the detectors made of the runs with what they hold."""
    missing, double = set[str](), set[str]()
    for sql, wanted in ((RUNS, 1), (CALLS, CALLS_PER_RUN), (FINDINGS, 1)):
        found = dict(served.query(sql))
        missing |= {trace for trace in book.acknowledged if found.get(trace, 0) < wanted}
        double |= {trace for trace, count in found.items() if count > wanted}
    reported = [str(row["TraceId"]) for row in report(served)]
    return Judged(len(book.acknowledged), len(missing), len(double), len(reported), len(reported) - len(set(reported)))


def report(served: Served) -> list[dict[str, Any]]:
    """The rows of `overclaim report claims` at a running server."""
    command = [sys.executable, "-m", "overclaim.cli", "report", "claims", "--rows", "1000000", "--format", "json"]
    done = subprocess.run([*command, "--store", served.http], capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout))
