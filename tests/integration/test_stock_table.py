"""The store where the stock OpenTelemetry Collector made otel_traces before we came."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_agents as agents
from stores import receive

from overclaim_collector.otlp.spans import COLUMNS
from overclaim_detectors import sql
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.retention import keep
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

# The table as the Collector's ClickHouse exporter makes it by default.
STOCK = """
CREATE TABLE IF NOT EXISTS otel_traces (
    Timestamp DateTime64(9) CODEC(Delta, ZSTD(1)),
    TraceId String CODEC(ZSTD(1)),
    SpanId String CODEC(ZSTD(1)),
    ParentSpanId String CODEC(ZSTD(1)),
    TraceState String CODEC(ZSTD(1)),
    SpanName LowCardinality(String) CODEC(ZSTD(1)),
    SpanKind LowCardinality(String) CODEC(ZSTD(1)),
    ServiceName LowCardinality(String) CODEC(ZSTD(1)),
    ResourceAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    ScopeName String CODEC(ZSTD(1)),
    ScopeVersion String CODEC(ZSTD(1)),
    SpanAttributes Map(LowCardinality(String), String) CODEC(ZSTD(1)),
    Duration UInt64 CODEC(ZSTD(1)),
    StatusCode LowCardinality(String) CODEC(ZSTD(1)),
    StatusMessage String CODEC(ZSTD(1)),
    Events Nested (
        Timestamp DateTime64(9),
        Name LowCardinality(String),
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    Links Nested (
        TraceId String,
        SpanId String,
        TraceState String,
        Attributes Map(LowCardinality(String), String)
    ) CODEC(ZSTD(1)),
    INDEX idx_trace_id TraceId TYPE bloom_filter(0.001) GRANULARITY 1,
    INDEX idx_duration Duration TYPE minmax GRANULARITY 1
) ENGINE = MergeTree()
PARTITION BY toDate(Timestamp)
ORDER BY (ServiceName, SpanName, toDateTime(Timestamp))
TTL toDateTime(Timestamp) + toIntervalDay(3)
SETTINGS index_granularity = 8192, ttl_only_drop_parts = 1
"""
OURS = ("TraceFlags", "DroppedAttributes", "DroppedEvents", "DroppedLinks")
EXPORTED = tuple(name for name in COLUMNS if name not in OURS)


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[Store]:
    """A store of its own, made by the Collector and then by us."""
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        opened.command(STOCK)
        migrate(opened)
        yield opened
    finally:
        opened.close()


def test_what_the_stock_collector_writes_is_judged(stock: Store) -> None:
    """It inserts with its own columns into its own table, and its spans are labelled and judged."""
    with agents.recording() as rows:
        agents.overclaimer()
        made = rows()
    stock.insert("otel_traces", EXPORTED, [row[: len(EXPORTED)] for row in made])
    done = detect_once(stock)
    assert (done.labelled, done.skipped, done.failed) == (1, [], {})
    rows_of = "SELECT Agent, Label FROM overclaim_verdicts FINAL WHERE Claim = -1"
    assert stock.query(rows_of).rows == [("overclaimer", "contradicted")]


def test_what_we_write_goes_into_the_stock_table(stock: Store) -> None:
    """All our columns are there, and those of the Collector's rows that lack them are zero."""
    first, *others = agents.foreign(83)
    stock.insert("otel_traces", EXPORTED, [first[: len(EXPORTED)]])
    receive(stock, others)
    sums = ", ".join(f"sum({name} = 0)" for name in OURS)
    (counts,) = stock.query(f"SELECT {sums}, count() FROM otel_traces").rows  # noqa: S608
    assert counts[0] >= 1
    assert counts[-1] == 3


def test_how_long_the_stock_table_keeps_spans_is_its_owner_s(stock: Store) -> None:
    """Nothing is changed there unless we are told to."""
    assert stock.query(sql.load("retention/current")).rows == [(1, 0)]
    keep(stock, 30)
    assert stock.query(sql.load("retention/current")).rows == [(1, 30)]
