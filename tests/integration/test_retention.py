from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import scripted_agents as agents
from stores import receive
from tests.support.migrated import made_store

from overclaim._errors import InputError
from overclaim_collector.config import ServeConfig, load
from overclaim_collector.otlp.spans import COLUMNS
from overclaim_collector.server import Server
from overclaim_detectors import sql
from overclaim_detectors.retention import keep
from overclaim_detectors.store import Store


def kept(store: Store) -> tuple[Any, ...]:
    """Whether spans go, and after how many days."""
    return store.query(sql.load("retention/current")).rows[0]


def test_a_store_keeps_spans_as_long_as_it_was_told(tmp_path: Path) -> None:
    """A new store 90 days, then what the server was told last, also after starts without a word about it."""
    found: list[tuple[Any, ...]] = []
    for days in (None, 30, None, 0, None, 7):
        config = ServeConfig(store=str(tmp_path), http_port=0, grpc_port=0, detect=False, retention_days=days)
        with Server(config) as server:
            found.append(kept(server.store))
    assert found == [(1, 90), (1, 30), (1, 30), (0, 0), (0, 0), (1, 7)]


def test_spans_go_by_when_they_came(tmp_path: Path) -> None:
    """Those that came long ago are gone; an import of old spans stays, for it has only just come."""
    rows, old = agents.foreign(91), agents.foreign(92)
    store_path = str(made_store(tmp_path))
    with Server(ServeConfig(store=store_path, http_port=0, grpc_port=0, detect=False)) as server:
        store = server.store
        receive(store, [(row[0] - 1000 * 86_400 * 10**9, *row[1:]) for row in rows])
        store.insert("otel_traces", (*COLUMNS, "Received"), [(*row, 1_600_000_000) for row in old])
        store.command("OPTIMIZE TABLE otel_traces FINAL")
        assert store.query("SELECT DISTINCT TraceId FROM otel_traces").rows == [(rows[0][1],)]


def test_a_shorter_time_applies_to_what_is_there(tmp_path: Path) -> None:
    """What came before the time was set goes by it too."""
    store_path = str(made_store(tmp_path))
    with Server(ServeConfig(store=store_path, http_port=0, grpc_port=0, detect=False, retention_days=0)) as server:
        store = server.store
        store.insert("otel_traces", (*COLUMNS, "Received"), [(*row, 1_600_000_000) for row in agents.foreign(93)])
        assert store.query("SELECT count() FROM otel_traces").rows == [(3,)]
        keep(store, 30)
        store.command("OPTIMIZE TABLE otel_traces FINAL")
        assert store.query("SELECT count() FROM otel_traces").rows == [(0,)]


@pytest.mark.parametrize("days", ["-1", "soon", "99999"])
def test_a_time_that_is_none_is_refused(days: str) -> None:
    """With the name of the setting."""
    with pytest.raises(InputError, match="OVERCLAIM_RETENTION_DAYS"):
        load({}, {"OVERCLAIM_RETENTION_DAYS": days})
