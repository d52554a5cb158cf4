from __future__ import annotations

import json
import shlex
from argparse import Namespace
from pathlib import Path

import pytest
import scripted_agents as agents
from stores import receive
from tests.support.migrated import made_store

from overclaim.cli import main
from overclaim.doctor import Check
from overclaim_collector.config import ServeConfig
from overclaim_collector.server import Server
from overclaim_detectors.doctor import checks
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Store


def found(url: str) -> dict[str, Check]:
    """The checks of a store by what they are about."""
    return {check.what: check for check in checks(Namespace(endpoint=None, store=url))}


def test_a_healthy_store_is_described(store: Store, store_path: Path) -> None:
    """Path, engine, schema, parts and passes, all well."""
    receive(store, agents.foreign(55))
    detect_once(store)
    said = found(f"chdb://{store_path}")
    assert {check.level for check in said.values()} == {"ok"}
    assert str(store_path) in said["store"].found
    parts = {"store parts", "store files", "store disk"}
    assert set(said) == {"store", "store engine", "store schema", *parts, "detection passes", "spans", "quarantine"}
    assert "the last one with work" in said["detection passes"].found


def test_what_is_wrong_is_named(store: Store, store_path: Path) -> None:
    """A detached part, spans that nobody judges and an old schema are each told with a cure."""
    receive(store, agents.foreign(56))
    store.command("INSERT INTO overclaim_inbox (Arrived, TraceId, Spans) VALUES (now() - 600, 'a', 1)")
    store.command("ALTER TABLE otel_traces DETACH PARTITION ALL")
    store.command("DELETE FROM overclaim_migrations WHERE Number > 10")
    said = found(f"chdb://{store_path}")
    store.command("ALTER TABLE otel_traces ATTACH PARTITION ALL")
    wrong = {what: check for what, check in said.items() if check.level != "ok"}
    assert set(wrong) == {"store schema", "store parts", "detection passes"}
    assert all(check.cure for check in wrong.values())
    assert "otel_traces, 3 rows: detached by hand" in wrong["store parts"].found
    assert "ATTACH PART" in wrong["store parts"].cure


def test_spans_that_nobody_judges_in_time_are_told(store: Store, store_path: Path) -> None:
    """The inbox forgets them, so it is serious before that."""
    store.command("INSERT INTO overclaim_inbox (Arrived, TraceId, Spans) VALUES (now() - INTERVAL 21 DAY, 'a', 1)")
    said = found(f"chdb://{store_path}")["detection passes"]
    assert said.level == "bad"
    assert said.found.endswith("and what has waited for 30 days is never judged")


def test_a_running_server_is_asked(tmp_path: Path) -> None:
    """Where a server owns the store, its process and its detectors are described."""
    store = f"chdb://{made_store(tmp_path)}"
    with Server(ServeConfig(store=store, http_port=0, grpc_port=0, detect=False)) as running:
        said = found(running.addresses.http)
    assert "owned by process" in said["store"].found
    assert (said["detectors"].level, said["detectors"].found) == ("note", "off")
    assert said["store parts"].level == "ok"


def test_no_store_is_worth_a_note(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the first use there is no store, which is no fault; nothing is made by looking."""
    monkeypatch.setenv("OVERCLAIM_STORE", str(tmp_path / "nowhere"))
    (check,) = checks(Namespace(endpoint=None))
    assert check.level == "note"
    assert not (tmp_path / "nowhere").exists()


def test_lost_spans_are_told(store: Store, store_path: Path) -> None:
    """Runs of which spans are missing are counted, with what may have taken them."""
    insert = "INSERT INTO overclaim_runs (TraceId, SpanId, Started, Gaps) SELECT"
    store.command(insert + " 'a', 'b', now(), ['spans_missing']")
    said = found(f"chdb://{store_path}")["spans"]
    assert said.level == "note"
    assert "1 of 1 runs" in said.found
    assert "OTEL_BSP_MAX_QUEUE_SIZE" in said.cure


def test_what_was_refused_is_told(store: Store, store_path: Path) -> None:
    """Refused items are counted by reason, with where to see them."""
    insert = "INSERT INTO overclaim_quarantine (Signal, Reason, Items) VALUES"
    store.command(insert + " ('traces', 'span id of zeros', 3), ('traces', 'span id of zeros', 4), ('logs', 'late', 1)")
    said = found(f"chdb://{store_path}")["quarantine"]
    assert said.level == "note"
    assert "7 of traces: span id of zeros; 1 of logs: late" in said.found
    assert "overclaim_quarantine" in said.cure


def test_what_doctor_proposes_goes_to_the_store_it_looked_at(
    store: Store, store_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Commands name a store that is not the default one, without its password; the query that is proposed works."""
    store.command(
        "INSERT INTO overclaim_quarantine (Signal, Reason, Items, Content) VALUES ('logs', 'late', 1, '\\xff')"
    )
    store.command("INSERT INTO overclaim_inbox (Arrived, TraceId, Spans) VALUES (now() - 600, 'a', 1)")
    other = found(str(store_path))
    assert f"overclaim detect --store {store_path} judges them" in other["detection passes"].cure
    proposed = shlex.split(other["quarantine"].cure.partition("overclaim ")[2].partition("\n")[0])
    assert proposed[-4:] == ["--store", str(store_path), "--format", "jsonl"]
    assert main(proposed) == 0
    assert json.loads(capsys.readouterr().out)["ContentInBase64"] == "/w=="
    monkeypatch.setenv("OVERCLAIM_STORE", str(store_path))
    usual = {check.what: check for check in checks(Namespace(endpoint=None, store=None))}
    assert not [check for check in usual.values() if "--store" in check.cure]


def test_a_missing_store_is_made_where_it_was_looked_for(tmp_path: Path) -> None:
    """Not where commands go by default."""
    (check,) = checks(Namespace(endpoint=None, store=str(tmp_path / "new one")))
    assert check.cure == f"overclaim serve --store '{tmp_path / 'new one'}' makes one"
