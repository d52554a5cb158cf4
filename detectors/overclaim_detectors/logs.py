"""The log records that tell something of the spans of a batch, read bounded.

Repeated ones count once, whether they were logged or only delivered again, so that verdicts do not depend on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from overclaim import _attributes as names
from overclaim.reading.log_records import ASSISTANT, CHOICE, DETAILS, INPUT_MESSAGES, TOOL, USER, LogRecord
from overclaim.reading.spans import Span
from overclaim_detectors import sql
from overclaim_detectors.store import Rows, Store

NOT_READ = "logs_not_read"  # the gap of a run whose trace has more of them than are read
MOST = 20_000  # rows that one trace may give, repeated records counted once
EACH = 16  # kinds of trouble that one span may tell of
# Records are of the time of their spans, but for a while in which a process shuts down or another one reads its files.
_SLACK_NS = 3_600_000_000_000
_LATEST = (1 << 63) - 1


@dataclass(slots=True)
class Logged:
    """The log records of each trace that tell something, and the traces of which not all of them were read."""

    records: dict[str, list[LogRecord]] = field(default_factory=dict[str, list[LogRecord]])
    cut: set[str] = field(default_factory=set[str])


def read(store: Store, by_trace: Mapping[str, Sequence[Span]]) -> Logged:
    """Read what log records tell of the spans of some traces.

    Raises:
        StoreError: the store failed.
    """
    reader = _Reader(store, by_trace)
    telling = reader.telling()
    for name, tells, records in _QUERIES:
        reader.read(name, telling.get(tells, ()), records)
    return reader.logged


class _Reader:
    """Reads the records that lie in the time of the spans of their trace."""

    def __init__(self, store: Store, by_trace: Mapping[str, Sequence[Span]]) -> None:
        self.logged = Logged()
        self._store = store
        self._windows = {trace: _window(spans) for trace, spans in by_trace.items()}

    def telling(self) -> dict[str, list[str]]:
        """The traces that have records which tell something, by what these tell of."""
        found: dict[str, list[str]] = {}
        for trace, tells in self._query("label/logs_telling", list(self._windows)).rows if self._windows else ():
            found.setdefault(tells, []).append(trace)
        return found

    def read(self, name: str, traces: Sequence[str], records: Callable[[Any], Iterator[LogRecord]]) -> None:
        """Add what a query finds in some traces. records: those in one of its rows."""
        rows = self._query(name, traces, most=MOST + 1, each=EACH).dicts() if traces else []
        for row in rows:
            self.logged.records.setdefault(row["TraceId"], []).extend(records(row))
        counts = Counter(row["TraceId"] for row in rows)
        self.logged.cut |= {trace for trace, count in counts.items() if count > MOST}

    def _query(self, name: str, traces: Sequence[str], **more: object) -> Rows:
        first, last = ([self._windows[trace][end] for trace in traces] for end in (0, 1))
        times = {"first": first, "last": last, "earliest": min(first), "latest": max(last)}
        return self._store.query(sql.load(name), {"traces": list(traces), **times, **more})


def _window(spans: Iterable[Span]) -> tuple[int, int]:
    """In which time (Unix nanoseconds) the records of a trace lie."""
    times = [(span.start_ns, span.end_ns) for span in spans]
    first, last = min(start for start, _ in times), max(end for _, end in times)
    return max(0, first - _SLACK_NS), min(last + _SLACK_NS, _LATEST)


def _trouble(row: Mapping[str, Any]) -> Iterator[LogRecord]:
    exception = {"exception.type": row["Type"], "exception.message": row["Message"]}
    yield LogRecord(
        row["SpanId"],
        row["Name"],
        row["Time"],
        row["Severity"],
        row["Level"],
        row["Logger"],
        attributes={key: value for key, value in exception.items() if value},
    )


def _messages(row: Mapping[str, Any]) -> Iterator[LogRecord]:
    """The last message of each kind; that of the assistant only where nobody spoke after it."""
    details = {names.GEN_AI_OUTPUT_MESSAGES: row["Output"], INPUT_MESSAGES: row["Input"]}
    yield LogRecord(row["SpanId"], DETAILS, attributes={key: value for key, value in details.items() if value})
    spoken = (USER, row["Asked"]), (ASSISTANT, row["EndsWithAssistant"] and row["Assistant"]), (CHOICE, row["Choice"])
    for place, (name, body) in enumerate(spoken):
        if body:
            yield LogRecord(row["SpanId"], name, place, body=body)


def _result(row: Mapping[str, Any]) -> Iterator[LogRecord]:
    call = {names.GEN_AI_TOOL_CALL_ID: row["CallId"]}
    yield LogRecord(row["FirstSpanId"], TOOL, body=row["Result"], attributes=call)


_QUERIES: Final = (
    ("label/log_troubles", "trouble", _trouble),
    ("label/log_messages", "message", _messages),
    ("label/log_results", "message", _result),
)
