"""What `overclaim doctor` says about the store: where it is, who has it, engine and tables, how far detection is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

from overclaim._errors import OverclaimError
from overclaim.doctor import Check
from overclaim_detectors import sql
from overclaim_detectors._remote import RemoteStore
from overclaim_detectors.migrate import available
from overclaim_detectors.opening import DEFAULT_URL, open_store, resolved, store_path
from overclaim_detectors.report import with_tables
from overclaim_detectors.store import Store

PATIENCE_SECONDS = 60.0  # spans that wait longer for a pass wait for one that is not made


def checks(args: argparse.Namespace) -> Iterator[Check]:
    """The checks of the store that commands use by default; none where no store can be used in this install."""
    url = resolved(str(getattr(args, "store", None) or DEFAULT_URL))
    if not find_spec("clickhouse_connect") or (url.startswith("chdb") and not find_spec("chdb")):
        return
    if url.startswith("chdb") and not store_path(url).is_dir():
        yield Check("note", "store", f"none at {store_path(url)} yet", "overclaim serve makes one")
        return
    try:
        store = open_store(url, read_only=True)
    except OverclaimError as error:
        yield Check("bad", "store", str(error))
        return
    try:
        yield from _of(store)
    except OverclaimError as error:
        yield Check("bad", f"store {store.url}", str(error))
    finally:
        store.close()


def _of(store: Store) -> Iterator[Check]:
    yield from _where(store)
    (engine,) = store.query("SELECT version()").rows[0]
    yield Check("ok", "store engine", f"ClickHouse {engine}")
    yield _schema(store)
    yield from _detached(store)
    yield _passes(store)
    yield _lost(store)


def _where(store: Store) -> Iterator[Check]:
    if not isinstance(store, RemoteStore):
        yield Check("ok", "store", f"{store.url}, opened by nobody else")
        return
    owner = store.owner()
    who = f"process {owner.get('pid')} ({owner.get('command')}) at {store.url}"
    yield Check("ok", "store", f"{owner.get('store')}, owned by {who}")
    yield _detector(store.detector())


def _detector(said: Mapping[str, Any]) -> Check:
    state = str(said.get("state", "unknown"))
    if state == "running":
        return Check("ok", "detectors", f"running, {said.get('passes')} passes, the last at {said.get('last_pass')}")
    if state == "off":
        return Check("note", "detectors", "off", "the server runs with --no-detect: nothing is judged")
    return Check("bad", "detectors", f"{state}: {said.get('error', '')}", "see the log of the server")


def _schema(store: Store) -> Check:
    applied = with_tables(lambda: store.query("SELECT max(Number) FROM overclaim_migrations")).rows[0][0]
    known = max(migration.number for migration in available(sql.root() / "schema"))
    if applied == known:
        return Check("ok", "store schema", f"{applied:03d}, as this version has it")
    if applied > known:
        return Check("bad", "store schema", f"{applied:03d}; this version knows up to {known:03d}", "upgrade overclaim")
    cure = "the next overclaim serve or detect brings it up to date"
    return Check("note", "store schema", f"{applied:03d}; this version has {known:03d}", cure)


def _detached(store: Store) -> Iterator[Check]:
    found = store.query(sql.load("doctor/detached")).rows
    if not found:
        yield Check("ok", "store parts", "none detached")
    for table, reason, parts in found:
        cure = "rows in them are not seen; look into the directory `detached` of the table"
        yield Check("bad", "store parts", f"{parts} of {table} detached: {reason}", cure)


def _passes(store: Store) -> Check:
    since, waiting, rows = store.query(sql.load("doctor/lag")).rows[0]
    last = "none yet" if since < 0 else f"the last one with work {since:.0f} s ago"
    if waiting <= PATIENCE_SECONDS:
        return Check("ok", "detection passes", last)
    cure = "overclaim detect judges them; overclaim serve does so by itself"
    return Check("note", "detection passes", f"{last}; {rows} arrivals wait, the oldest for {waiting:.0f} s", cure)


def _lost(store: Store) -> Check:
    """Whether spans got lost between the agents and here, by the sampler, a full queue, or on the way."""
    runs, lost, dropped = store.query(sql.load("doctor/lost")).rows[0]
    if not lost and not dropped:
        return Check("ok", "spans", f"none lost in the {runs} runs of the last 7 days")
    found = f"{lost} of {runs} runs of the last 7 days lack some, {dropped} had attributes or events cut off"
    cure = "they are never accused; see the agents' samplers, OTEL_BSP_MAX_QUEUE_SIZE and OTEL_SPAN_*_LIMIT"
    return Check("note", "spans", found, cure)
