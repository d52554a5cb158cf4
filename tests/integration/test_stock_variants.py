"""Tables of spans that releases of the OpenTelemetry Collector's exporter made, and the view that shows them all."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import scripted_agents as agents
from otelcol_exporter import OLD_JSON_LOGS, RELEASES, Release, by_name

from overclaim._errors import StoreError
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors import sql
from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store
from overclaim_detectors.variants import fit, form_of

LABELS = "SELECT Agent, Label FROM overclaim_run_verdicts ORDER BY Agent"
COMMENT = "SELECT comment, metadata_modification_time FROM system.tables WHERE name = 'overclaim_spans'"
MAP = "Map(LowCardinality(String), String)"
PLAIN = (
    "Timestamp TraceId SpanId ParentSpanId TraceState SpanName SpanKind ServiceName Duration StatusCode StatusMessage "
    "Events.Timestamp Events.Name Links.TraceId Links.SpanId Links.TraceState"
)
KNOWN = {
    **dict.fromkeys(PLAIN.split(), "String"),
    **dict.fromkeys(("ResourceAttributes", "SpanAttributes"), MAP),
    **dict.fromkeys(("Events.Attributes", "Links.Attributes"), f"Array({MAP})"),
}


@pytest.fixture
def stock(tmp_path: Path) -> Iterator[Store]:
    """A store without any table."""
    opened = open_store(f"chdb://{tmp_path / 'store'}")
    try:
        yield opened
    finally:
        opened.close()


def release(name: str) -> Release:
    """One release."""
    return by_name((name,))[0]


@pytest.mark.parametrize("release", by_name(("older", "oldest", "json")), ids=lambda release: release.name)
def test_what_was_there_before_us_is_judged(stock: Store, release: Release) -> None:
    """The Collector wrote into its own tables before `overclaim detect` first came."""
    release.make_tables(stock.command)
    with agents.recorded() as exporter:
        for agent in agents.ALL:
            agent()
        release.push(agents.as_body(exporter), stock.insert)
    migrate(stock)
    done = detect_once(stock)
    assert (done.labelled, done.skipped, done.failed) == (4, [], {})
    assert dict(stock.query(LABELS).rows) == agents.EXPECTED


@pytest.mark.parametrize("release", by_name(("oldest", "json")), ids=lambda release: release.name)
def test_our_receiver_writes_into_their_tables_too(tmp_path: Path, release: Release) -> None:
    """What it takes becomes what they have, and is judged like other spans."""
    url = f"chdb://{tmp_path / 'store'}"
    store = open_store(url)
    release.make_tables(store.command)
    store.close()
    with agents.recorded() as exporter:
        agents.overclaimer()
        body = agents.as_body(exporter)
    with Server(ServeConfig(store=url, http_port=0, grpc_port=0, detect=False)) as server:
        headers = {"Content-Type": "application/x-protobuf"}
        httpx.post(f"{server.addresses.http}/v1/traces", content=body, headers=headers, timeout=30).raise_for_status()
        detect_once(server.store)
        assert server.store.query(LABELS).rows == [("overclaimer", "contradicted")]


def test_log_records_in_the_collector_s_tables_tell_of_spans_too(stock: Store) -> None:
    """Here in one of the JSON variant, which came before columns for the names of events."""
    json_tables = release("json")
    json_tables.make_tables(stock.command)
    stock.command(OLD_JSON_LOGS)
    migrate(stock)
    json_tables.push(agents.foreign_body(9), stock.insert)
    calls = "SELECT Timestamp, TraceId, SpanId FROM otel_traces WHERE SpanName LIKE 'execute_tool%' ORDER BY Timestamp"
    failed, *_ = stock.query(calls).rows
    exception = json.dumps({"exception.type": "ValueError", "exception.message": "no number"})
    columns = ("Timestamp", "TraceId", "SpanId", "SeverityNumber", "LogAttributes")
    stock.insert("otel_logs", columns, [(*failed, 17, exception)])
    detect_once(stock)
    rules = stock.query("SELECT EvidenceRule FROM overclaim_calls FINAL ORDER BY Position").rows
    assert "exception.handled" in rules[0][0]
    assert "exception.handled" not in rules[1][0]


# Attributes as the exporter inserts them, and as they are shown.
JSON_CASES: tuple[tuple[dict[str, Any], dict[str, str]], ...] = (
    ({"gen_ai.tool.name": "find"}, {"gen_ai.tool.name": "find"}),
    ({"a": {"b": {"c": "deep"}}, "a.d": 1}, {"a.b.c": "deep", "a.d": "1"}),
    ({"flag": True, "n": 5, "x": 1.5, "none": None, "": ""}, {"flag": "true", "n": "5", "x": "1.5", "": ""}),
    ({"text": '{"a": [1]}', "quote": '"q" \\ ü\n'}, {"text": '{"a": [1]}', "quote": '"q" \\ ü\n'}),
    ({"texts": ["a", "b"], "objects": [{"n": {"m": 1}}]}, {"texts": '["a","b"]', "objects": '[{"n":{"m":1}}]'}),
    ({".".join("abcdefghijklmnop"): 1}, {".".join("abcdefghijklmnop"): "1"}),
    ({}, {}),
    ({f"m.{n}.text": "x" for n in range(30)}, {f"m.{n}.text": "x" for n in range(30)}),
)


def test_json_attributes_are_shown_with_dots(stock: Store) -> None:
    """What became levels has dots again, and values are texts, as in the other tables; also those of events."""
    release("json").make_tables(stock.command)
    migrate(stock)
    columns = ("Timestamp", "SpanId", "SpanAttributes", "Events.Name", "Events.Attributes", "Events.Timestamp")
    made = [json.dumps(attributes) for attributes, _ in JSON_CASES]
    stock.insert(
        "otel_traces", columns, [(time.time_ns(), str(n), one, ["e"], [one], [1]) for n, one in enumerate(made)]
    )
    seen = stock.query("SELECT SpanAttributes, Events.Attributes FROM overclaim_spans ORDER BY SpanId").rows
    assert seen == [(shown, [shown]) for _, shown in JSON_CASES]


def test_old_spellings_and_durations_below_zero_are_put_right(stock: Store) -> None:
    """The oldest tables have STATUS_CODE_ERROR and the scope among the attributes; spans may end before they start."""
    release("oldest").make_tables(stock.command)
    migrate(stock)
    columns = ("SpanKind", "StatusCode", "Duration", "SpanAttributes")
    scope = {"otel.scope.name": "some.scope", "otel.scope.version": "2"}
    rows = [("SPAN_KIND_CLIENT", "STATUS_CODE_ERROR", 7, scope), ("Internal", "Unset", -5, {}), ("", "", 0, {})]
    stock.insert("otel_traces", columns, rows)
    shown = (
        "SELECT SpanKind, StatusCode, Duration, ScopeName, ScopeVersion FROM overclaim_spans ORDER BY Duration DESC, 1"
    )
    assert stock.query(shown).rows == [
        ("Client", "Error", 7, "some.scope", "2"),
        ("", "", 0, "", ""),
        ("Internal", "Unset", 0, "", ""),
    ]
    stock.command("DROP TABLE otel_traces")
    release("newest").make_tables(stock.command)  # its durations have no sign: 2 to the power of 64 less 5 is -5
    add_ours(stock)
    stock.insert("otel_traces", ("Timestamp", "Duration"), [(time.time_ns(), (1 << 64) - 5), (time.time_ns(), 3)])
    assert stock.query("SELECT Duration FROM overclaim_spans ORDER BY Duration").rows == [(0,), (3,)]


def add_ours(stock: Store) -> None:
    """Give a table made by the Collector the columns that ours has beyond it."""
    for name in ("schema/004_otel_traces_columns", "schema/005_otel_traces_more"):
        for statement in sql.statements(sql.load(name)):
            stock.command(statement)


def test_the_view_follows_the_table(stock: Store) -> None:
    """It is left alone while the table stays as it is, and made anew for a table of another release."""
    migrate(stock)
    before = stock.query(COMMENT).rows
    assert fit(stock) == "map"
    assert stock.query(COMMENT).rows == before
    stock.command("DROP TABLE otel_traces")
    release("json with keys").make_tables(stock.command)
    add_ours(stock)
    assert fit(stock) == "json"
    assert stock.query(COMMENT).rows != before


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The schema files of a version that did not look for what was there before it."""
    folder = tmp_path / "earlier"
    shutil.copytree(sql.root() / "schema", folder, ignore=shutil.ignore_patterns("05*", "06*", "07*"))
    return folder


def test_only_the_last_week_of_what_was_there_is_entered(stock: Store, earlier: Path) -> None:
    """Once: older spans, and those that the views of an earlier version have seen, are not."""
    release("older").make_tables(stock.command)
    columns = ("Timestamp", "TraceId", "SpanId")
    (now,) = stock.query("SELECT toUnixTimestamp64Nano(now64(9))").rows[0]
    day = 86_400 * 10**9
    stock.insert("otel_traces", columns, [(now - days * day, f"{days} days ago", "s") for days in (1, 3, 20)])
    migrate(stock, earlier)
    stock.insert("otel_traces", columns, [(now, "today", "s")])
    assert migrate(stock)[0] == "050_history"
    stock.command("ALTER TABLE overclaim_migrations DELETE WHERE Number = 50 SETTINGS mutations_sync = 1")
    assert migrate(stock) == ["050_history"]
    entered = stock.query("SELECT TraceId, Spans FROM overclaim_inbox ORDER BY TraceId").rows
    assert entered == [("1 days ago", 1), ("3 days ago", 1), ("today", 1)]
    assert stock.query("SELECT count() FROM overclaim_traces").rows == [(3,)]
    assert stock.query("SELECT count() FROM overclaim_arrivals").rows == [(3,)]


def columns_of(stock: Store) -> dict[str, str]:
    """The columns of otel_traces and their types."""
    rows = stock.query(
        "SELECT name, type FROM system.columns WHERE database = 'default' AND table = 'otel_traces'"
    ).rows
    return dict(rows)


def test_each_release_is_known_by_its_columns(stock: Store) -> None:
    """And our own table, too."""
    found: dict[str, str] = {}
    for one in RELEASES:
        one.make_tables(stock.command)
        found[one.name] = form_of(columns_of(stock))
        stock.command("DROP TABLE otel_traces")
    migrate(stock)
    assert form_of(columns_of(stock)) == "map"
    assert found == {
        "newest": "map",
        "bloom": "map",
        "older": "map",
        "oldest": "map",
        "json": "json",
        "json with keys": "json",
    }


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"SpanName": None}, "it has no column SpanName;"),
        ({"SpanName": None, "Links.TraceId": None}, r"it has no column SpanName, Links\.TraceId;"),
        ({"SpanAttributes": "String"}, r"ResourceAttributes is Map.*SpanAttributes is String"),
        ({"Events.Attributes": "Array(JSON)"}, r"Events\.Attributes is Array\(JSON\)"),
    ],
)
def test_a_table_that_we_do_not_know_is_refused(change: dict[str, str | None], why: str) -> None:
    """With the columns that tell, before anything is guessed."""
    columns = {name: kind for name, kind in {**KNOWN, **change}.items() if kind is not None}
    assert form_of(KNOWN) == "map"
    with pytest.raises(StoreError, match=why):
        form_of(columns)


def test_a_strange_table_stops_the_start(stock: Store) -> None:
    """`serve` and `detect` say so rather than judge nothing."""
    columns = "Timestamp DateTime64(9), TraceId String, SpanId String, ParentSpanId String"
    stock.command(f"CREATE TABLE otel_traces ({columns}) ENGINE = MergeTree ORDER BY TraceId")
    with pytest.raises(StoreError, match="neither overclaim nor a known release"):
        migrate(stock)
