"""The store where the stock OpenTelemetry Collector made otel_logs before we came."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import scripted_agents as agents
from otelcol_exporter import JSON_LOGS, MAP_LOGS, OLD_MAP_LOGS
from stores import receive

from overclaim_collector.otlp.logs import COLUMNS
from overclaim_detectors import sql
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.retention import keep
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

# As it inserts, by the names of its columns; how the attributes are written is filled in.
WRITTEN = """
INSERT INTO otel_logs (Timestamp, TraceId, SpanId, SeverityText, SeverityNumber, ServiceName, ScopeName, Body,
    LogAttributes, EventName)
SELECT fromUnixTimestamp64Nano({at:Int64}), {trace:String}, {span:String}, 'WARN', 13, 'shop', 'tools', '',
    ATTRIBUTES, 'gen_ai.execute_tool.exception'
"""
AS_MAP = "map('exception.type', 'StockError', 'exception.message', 'out of stock')"
AS_JSON = """'{"exception.type": "StockError", "exception.message": "out of stock"}'"""


@pytest.fixture
def stock(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Store]:
    """A store of its own, made by the Collector and then by us."""
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        opened.command(request.param)
        migrate(opened)
        yield opened
    finally:
        opened.close()


@pytest.mark.parametrize(
    ("stock", "attributes"), [(MAP_LOGS, AS_MAP), (JSON_LOGS, AS_JSON)], indirect=["stock"], ids=["map", "json"]
)
def test_what_the_stock_collector_writes_is_judged(stock: Store, attributes: str) -> None:
    """It names the columns that it knows; a record among them is evidence of its call, though it comes later."""
    spans = agents.foreign(95)
    receive(stock, spans)
    values = "SELECT arrayJoin(EvidenceValue) AS Value FROM overclaim_calls FINAL"
    detect_once(stock)
    assert ("StockError (log)",) not in stock.query(values).rows
    start, trace, span = spans[1][:3]
    stock.command(WRITTEN.replace("ATTRIBUTES", attributes), {"at": start, "trace": trace, "span": span})
    detect_once(stock)
    assert ("StockError (log)",) in stock.query(values).rows


@pytest.mark.parametrize("stock", [MAP_LOGS, OLD_MAP_LOGS], indirect=True, ids=["newest", "old"])
def test_what_we_write_goes_into_the_stock_table(stock: Store) -> None:
    """All our columns are there."""
    row = dict.fromkeys(COLUMNS, "") | {"Timestamp": time.time_ns(), "EventName": "exception"}
    numbers = ("TraceFlags", "SeverityNumber", "ObservedTimestamp", "DroppedAttributes", "ResourceDroppedAttributes")
    row |= dict.fromkeys((*numbers, "ScopeDroppedAttributes"), 1)
    row |= {name: {"k": "v"} for name in COLUMNS if "Attribute" in name and "Dropped" not in name}
    stock.insert("otel_logs", COLUMNS, [tuple(row.values())])
    found = stock.query("SELECT EventName, ObservedTimestamp, LogAttributeTypes, Received > now() - 60 FROM otel_logs")
    assert [(name, at.year, types, new) for name, at, types, new in found.rows] == [("exception", 1970, {"k": "v"}, 1)]


@pytest.mark.parametrize("stock", [MAP_LOGS], indirect=True)
def test_how_long_the_stock_table_keeps_records_is_its_owner_s(stock: Store) -> None:
    """Nothing is changed there unless we are told to."""
    assert stock.query(sql.load("retention/logs_current")).rows == [(1, 0)]
    keep(stock, 30)
    assert stock.query(sql.load("retention/logs_current")).rows == [(1, 30)]
