"""Spans of every convention through the receivers' rows, the engine and the labelling job."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest
from otlp_rows import rows_of
from stores import receive
from tests.cases.foreign.spoken import REFUSED, SPOKEN, TOLD

from overclaim.reading.spans import Span
from overclaim.reading.traces import runs
from overclaim_collector.otlp.encoding import Encoding
from overclaim_detectors.rows import RUN_COLUMNS, trace_rows
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store

RUNS = """
    SELECT TraceId, Agent, Model, Provider, Prompt, Session, InputTokens, OutputTokens, ServiceVersion, AgentVersion
    FROM overclaim_runs FINAL
"""
CALLS = "SELECT TraceId, Tool, ToolVersion, Observed FROM overclaim_calls FINAL"
RUN_FIELDS = [RUN_COLUMNS.index(name) for name in RUNS.split("FROM")[0].replace("SELECT", "").replace(",", " ").split()]
STATUS = {"Unset": 0, "Ok": 1, "Error": 2}


def value(plain: Any) -> dict[str, Any]:
    """A value as OTLP/JSON writes it."""
    match plain:
        case bool():
            return {"boolValue": plain}
        case int():
            return {"intValue": str(plain)}
        case dict():
            return {"kvlistValue": {"values": attributes(plain)}}  # pyright: ignore[reportUnknownArgumentType]
        case list():
            return {"arrayValue": {"values": [*map(value, plain)]}}  # pyright: ignore[reportUnknownArgumentType]
        case _:
            return {"stringValue": plain}


def attributes(plain: dict[str, Any]) -> list[dict[str, Any]]:
    """Attributes as OTLP/JSON writes them."""
    return [{"key": key, "value": value(one)} for key, one in plain.items()]


def body(spans: Iterable[Span]) -> bytes:
    """One request with the spans, each under its resource."""
    return json.dumps({"resourceSpans": [
        {
            "resource": {"attributes": attributes(one.resource)},
            "scopeSpans": [{"scope": {"name": one.scope}, "spans": [{
                "traceId": one.trace_id, "spanId": one.span_id, "parentSpanId": one.parent_span_id, "name": one.name,
                "kind": 1, "startTimeUnixNano": str(one.start_ns), "endTimeUnixNano": str(one.end_ns),
                "attributes": attributes(one.attributes), "status": {"code": STATUS[one.status]},
                "events": [
                    {"timeUnixNano": str(one.start_ns), "name": event.name, "attributes": attributes(event.attributes)}
                    for event in one.events
                ],
            }]}],
        }
        for one in spans
    ]}).encode()  # fmt: skip


@pytest.fixture
def recorded() -> dict[str, list[Span]]:
    """A run of each convention, a trace each, of now."""
    now = time.time_ns() - 60_000_000_000
    return {
        f"{place:032x}": [
            replace(one, trace_id=f"{place:032x}", start_ns=now + one.start_ns * 10**6, end_ns=now + one.end_ns * 10**6)
            for one in spoken.spans(REFUSED)
        ]
        for place, spoken in enumerate(SPOKEN, 1)
    }


def test_what_is_stored_is_what_was_read(store: Store, recorded: dict[str, list[Span]]) -> None:
    """The store keeps attributes as texts; roles, dimensions, outcomes and verdicts are those of the typed spans."""
    receive(store, [row for spans in recorded.values() for row in rows_of(body(spans), Encoding.JSON).rows])
    done = detect_once(store)
    assert (done.labelled, done.skipped, done.failed) == (len(SPOKEN), [], {})
    made = [trace_rows(runs(spans), spans, 1) for spans in recorded.values()]
    assert sorted(store.query(RUNS).rows) == sorted(tuple(rows.runs[0][n] for n in RUN_FIELDS) for rows in made)
    assert {row[3] for row in store.query(CALLS).rows} == {"failure"}
    told = store.query("SELECT TraceId, Label FROM overclaim_verdicts FINAL WHERE Claim = -1").rows
    assert dict(told) == dict.fromkeys(recorded, "contradicted")


def test_drift_can_be_told_by_every_dimension(store: Store, recorded: dict[str, list[Span]]) -> None:
    """Model, prompt and tool version are there for the conventions that have them, and no text of the instructions."""
    receive(store, [row for spans in recorded.values() for row in rows_of(body(spans), Encoding.JSON).rows])
    detect_once(store)
    rows = store.query(RUNS).rows
    assert sum(bool(row[2]) for row in rows) == sum("Model" in one.tells for one in SPOKEN)
    assert sum(bool(row[4]) for row in rows) == sum("Prompt" in one.tells for one in SPOKEN)
    versions = {row[2] for row in store.query(CALLS).rows} - {""}
    assert versions == {str(one.tells["ToolVersion"]) for one in SPOKEN if "ToolVersion" in one.tells}
    assert TOLD not in repr(rows)
