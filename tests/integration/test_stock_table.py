"""The store where the stock OpenTelemetry Collector made otel_traces before we came: what stays its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_agents as agents
from otelcol_exporter import by_name
from stores import receive

from overclaim_collector.otlp.spans import COLUMNS
from overclaim_detectors import sql
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.retention import keep
from overclaim_detectors.store import Store

(NEWEST,) = by_name(("newest",))


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[Store]:
    """A store of its own, made by the Collector and then by us, with three spans of the Collector's."""
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        NEWEST.make_tables(opened.command)
        NEWEST.push(agents.foreign_body(83), opened.insert)
        migrate(opened)
        yield opened
    finally:
        opened.close()


def test_what_we_write_goes_into_the_stock_table(stock: Store) -> None:
    """All our columns are there; those of the Collector's rows that lack them are empty, its inserts go on."""
    receive(stock, agents.foreign(84))
    NEWEST.push(agents.foreign_body(85), stock.insert)
    empty = [
        name for name in COLUMNS if name.startswith(("Dropped", "Trace")) and name not in ("TraceId", "TraceState")
    ]
    assert len(empty) > 3
    sums = ", ".join(f"countIf({name} = 0)" for name in empty)
    (counts,) = stock.query(f"SELECT count(), {sums} FROM otel_traces").rows  # noqa: S608
    assert counts[0] == 9
    assert min(counts[1:]) >= 6


def test_how_long_the_stock_table_keeps_spans_is_its_owner_s(stock: Store) -> None:
    """Nothing is changed there unless we are told to; log records go by the same days."""
    assert stock.query(sql.load("retention/current")).rows == [(1, 0)]
    keep(stock, 30)
    assert stock.query(sql.load("retention/current")).rows == [(1, 30)]
    assert stock.query(sql.load("retention/logs_current")).rows == [(1, 30)]
    keep(stock, 0)
    assert stock.query(sql.load("retention/logs_current")).rows == [(0, 0)]


MANY = """
INSERT INTO otel_traces (Timestamp, TraceId, SpanId)
SELECT now64(9) - toIntervalSecond(number % 500000), lower(hex(MD5(toString(number)))), 's' FROM numbers(2000000)
"""
MEMORY = 200 << 20
OLD_STORE = "ALTER TABLE overclaim_migrations UPDATE Applied = now() - 864000 WHERE 1 SETTINGS mutations_sync = 1"


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Store]:
    """A store of its own, empty."""
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        yield opened
    finally:
        opened.close()


def enter(store: Store, settings: str, first: int = 3) -> None:
    """Enter what was there before us, with some settings more, into so many of the tables."""
    for statement in sql.statements(sql.load("schema/050_history"))[:first]:
        store.command(f"{statement}{',' if 'SETTINGS' in statement else ' SETTINGS'} {settings}")


def counts(store: Store) -> list[int]:
    """How many traces each of the three tables has."""
    tables = ("overclaim_inbox", "overclaim_arrivals", "overclaim_traces")
    return [store.query("SELECT count() FROM {t:Identifier}", {"t": table}).rows[0][0] for table in tables]


@pytest.mark.slow
def test_millions_of_traces_are_entered_in_little_memory(fresh: Store) -> None:
    """And what the views have seen is told from the rest in as little."""
    migrate(fresh)
    fresh.command("DETACH TABLE overclaim_inbox_mv")
    fresh.command(MANY)
    enter(fresh, f"max_memory_usage = {MEMORY}")
    enter(fresh, f"max_memory_usage = {MEMORY}", first=1)
    assert counts(fresh) == [2_000_000] * 3


def test_in_a_store_of_our_own_next_to_nothing_is_read_for_it(fresh: Store) -> None:
    """Whose inbox was there before the spans, for longer than we look back."""
    migrate(fresh)
    fresh.command(MANY.replace("2000000", "100000"))
    assert counts(fresh) == [100_000, 0, 0]
    fresh.command(OLD_STORE)
    enter(fresh, "max_rows_to_read = 1000")
    assert counts(fresh) == [100_000, 0, 0]
