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
