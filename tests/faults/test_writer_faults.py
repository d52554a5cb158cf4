from __future__ import annotations

import time
from typing import Any

import pytest

from overclaim_collector.otlp.spans import COLUMNS, Row
from overclaim_collector.refusal import Refusal
from overclaim_collector.writing.writer import Writer
from overclaim_detectors.store import Store


def row(span_id: str, name: object = "s") -> Row:
    """A row as the decoder makes them."""
    values: dict[str, Any] = {
        "Timestamp": time.time_ns(),
        "TraceId": "a" * 32,
        "SpanId": span_id,
        "SpanName": name,
        "ResourceAttributes": {},
        "SpanAttributes": {},
    }
    numbers = ("Duration", "TraceFlags", "DroppedAttributes", "DroppedEvents", "DroppedLinks")
    filler = {name: 0 if name in numbers else [] if "." in name else "" for name in COLUMNS}
    return tuple({**filler, **values}[column] for column in COLUMNS)


def test_one_request_that_cannot_be_stored_does_not_poison_the_others(store: Store) -> None:
    """Requests of one insert are tried one by one when it fails; only the bad one is refused."""
    writer = Writer(store)
    futures = [writer.submit(bytes([n]), [row(f"{n:016x}", b"\xff" if n == 2 else "s")]) for n in range(5)]
    futures += [writer.submit(b"surrogate", [row("f" * 16, "\ud800")])]
    writer.start()
    failures = [type(future.exception(20)) for future in futures]
    assert writer.stop(5)
    assert failures.count(type(None)) + failures.count(Refusal) == 6
    assert failures[5] is Refusal
    assert [failures[n] for n in (0, 1, 3, 4)] == [type(None)] * 4
    assert writer.counts.received == writer.counts.stored + writer.counts.refused == 6


def test_stopping_stores_what_was_taken_and_refuses_the_rest(store: Store) -> None:
    """Everything submitted before the stop is stored; afterwards requests are told to come again."""
    writer = Writer(store)
    writer.start()
    futures = [writer.submit(n.to_bytes(2), [row(f"{n:016x}")]) for n in range(500)]
    assert writer.stop(10)
    assert [future.result(0) for future in futures] == [None] * 500
    assert store.query("SELECT count() FROM otel_traces").rows == [(500,)]
    with pytest.raises(Refusal, match="stopping"):
        writer.submit(b"late", [row("f" * 16)])


def test_the_same_insert_twice_is_stored_once(store: Store) -> None:
    """A second writer that repeats an insert, as after a crash before the answer, adds nothing."""
    for _ in range(2):
        writer = Writer(store)
        writer.start()
        writer.submit(b"digest", [row("a" * 16)]).result(10)
        assert writer.stop(5)
    assert store.query("SELECT count() FROM otel_traces").rows == [(1,)]


def test_an_insert_whose_view_failed_reaches_the_inbox_when_tried_again(store: Store) -> None:
    """The spans were kept, the inbox was not told: the next try tells it, and nothing is there twice."""
    store.command("ALTER TABLE overclaim_inbox ADD CONSTRAINT full CHECK Spans > 1000")
    writer = Writer(store)
    writer.start()
    try:
        with pytest.raises(Refusal):
            writer.submit(b"digest", [row("a" * 16)]).result(20)
    finally:
        store.command("ALTER TABLE overclaim_inbox DROP CONSTRAINT full")
    assert store.query("SELECT count() FROM otel_traces").rows == [(1,)]
    writer.submit(b"digest", [row("a" * 16)]).result(20)
    assert writer.stop(5)
    tables = ("otel_traces", "overclaim_inbox")
    assert [store.query("SELECT count() FROM {t:Identifier}", {"t": table}).rows[0][0] for table in tables] == [1, 1]
    assert store.query("SELECT sum(Spans) FROM overclaim_traces").rows == [(1,)]
