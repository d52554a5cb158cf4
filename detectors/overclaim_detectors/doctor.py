"""What `overclaim doctor` says about the store: where it is, who has it, engine and tables, how far detection is."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from shlex import quote
from typing import Any

from overclaim._errors import OverclaimError
from overclaim.doctor import Check
from overclaim_detectors import damage, on_the_way, sql
from overclaim_detectors._remote import RemoteStore
from overclaim_detectors.hiding import without_password
from overclaim_detectors.migrate import available
from overclaim_detectors.opening import DEFAULT_URL, open_store, resolved, store_path
from overclaim_detectors.report import with_tables
from overclaim_detectors.store import Store

LITTLE_SPACE = 1 << 30  # bytes; merges of parts need room for a copy
MOST_REASONS = 5
_REFUSED = (
    "SELECT Received, Signal, Reason, Items, base64Encode(Content) AS ContentInBase64 "
    "FROM overclaim_quarantine ORDER BY Received"
)
PATIENCE_SECONDS = 60.0  # spans that wait longer for a pass wait for one that is not made
INBOX_DAYS = 30  # the inbox forgets what waits longer
LITTLE_TIME = 20 * 86_400.0  # seconds that spans may wait before it is serious


def checks(args: argparse.Namespace) -> Iterator[Check]:
    """The checks of a store, else of the one that commands use by default; none where this install can use none."""
    given = str(getattr(args, "store", None) or DEFAULT_URL)
    url, option = resolved(given), _option(given)
    if not find_spec("clickhouse_connect") or (url.startswith("chdb") and not find_spec("chdb")):
        return
    if url.startswith("chdb") and not store_path(url).is_dir():
        yield Check("note", "store", f"none at {store_path(url)} yet", f"overclaim serve{option} makes one")
        return
    try:
        store = open_store(url, read_only=True)
    except OverclaimError as error:
        yield Check("bad", "store", str(error))
        return
    try:
        yield from _of(store, option)
        if getattr(args, "check_parts", False):
            yield from _looked_for(store)
    except OverclaimError as error:
        yield Check("bad", f"store {store.url}", str(error))
    finally:
        store.close()


def _option(given: str) -> str:
    """What commands need so that they go to this store; nothing where they do so by themselves."""
    return "" if resolved(given) == resolved(DEFAULT_URL) else f" --store {quote(without_password(given))}"


def _of(store: Store, option: str) -> Iterator[Check]:
    yield from _where(store)
    (engine,) = store.query("SELECT version()").rows[0]
    yield Check("ok", "store engine", f"ClickHouse {engine}")
    yield _schema(store, option)
    yield from _put_aside(store)
    yield from _met(store)
    yield _disk(store, option)
    yield _passes(store, option)
    yield _lost(store)
    yield from _quarantine(store, option)
    yield from _on_the_way(store)


def _where(store: Store) -> Iterator[Check]:
    if not isinstance(store, RemoteStore):
        alone = "" if store.url.startswith("clickhouse") else ", opened by nobody else"
        yield Check("ok", "store", f"{store.url}{alone}")
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


def _schema(store: Store, option: str) -> Check:
    applied = with_tables(lambda: store.query("SELECT max(Number) FROM overclaim_migrations")).rows[0][0]
    known = max(migration.number for migration in available(sql.root() / "schema"))
    if applied == known:
        return Check("ok", "store schema", f"{applied:03d}, as this version has it")
    if applied > known:
        return Check("bad", "store schema", f"{applied:03d}; this version knows up to {known:03d}", "upgrade overclaim")
    cure = f"the next overclaim serve{option} brings it up to date, overclaim detect{option} too"
    if isinstance(store, RemoteStore):
        cure = "start its overclaim serve again, with this version"
    return Check("note", "store schema", f"{applied:03d}; this version has {known:03d}", cure)


def _put_aside(store: Store) -> Iterator[Check]:
    found = damage.put_aside(store)
    if not found:
        yield Check("ok", "store parts", "none detached")
    for one in found:
        if one.what == damage.BY_HAND:
            cure = f"ALTER TABLE {one.table} ATTACH PART '{one.part}' brings it back"
        else:
            cure = f"no report sees its rows: restore {one.path} from a backup, or delete it and accept their loss"
        yield Check("bad", "store parts", f"{one}", cure)


def _met(store: Store) -> Iterator[Check]:
    found = damage.met(store)
    if not found:
        yield Check("ok", "store files", "no damage met since the store was opened; --check-parts reads them all")
    yield from map(_damaged, found)


def _looked_for(store: Store) -> Iterator[Check]:
    found = False
    for one in damage.looked_for(store):
        found = True
        yield _damaged(one)
    if not found:
        yield Check("ok", "store checksums", "every file of every part agrees with its checksum")


def _damaged(one: damage.Damage) -> Check:
    place = one.path or "its directory"
    cure = f"queries that touch it fail: stop whoever has the store, move {place} out of it, and start again"
    return Check("bad", "store files", f"{one}", f"{cure}; its rows are lost, all others can be read")


def _disk(store: Store, option: str) -> Check:
    free, total, taken, largest = store.query(sql.load("doctor/disk")).rows[0]
    most = f", most of it by {largest}" if largest else ""
    said = f"{_gib(taken)} taken{most}; {_gib(free)} of {_gib(total)} free"
    if free >= LITTLE_SPACE:
        return Check("ok", "store disk", said)
    serve = "its overclaim serve" if isinstance(store, RemoteStore) else f"overclaim serve{option}"
    cure = f"make room, or keep less: {serve} with --retention-days or --max-disk-gib"
    return Check("bad", "store disk", said, cure)


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _passes(store: Store, option: str) -> Check:
    since, waiting, rows = store.query(sql.load("doctor/lag")).rows[0]
    last = "none yet" if since < 0 else f"the last one with work {since:.0f} s ago"
    if waiting <= PATIENCE_SECONDS:
        return Check("ok", "detection passes", last)
    cure = f"overclaim detect{option} judges them; overclaim serve{option} does so by itself"
    if isinstance(store, RemoteStore):
        cure = "its server judges them unless it runs with --no-detect; its log says what keeps it from that"
    found = f"{last}; {rows} arrivals wait, the oldest for {waiting:.0f} s"
    if waiting <= LITTLE_TIME:
        return Check("note", "detection passes", found, cure)
    lost = f"{found}, and what has waited for {INBOX_DAYS} days is never judged"
    return Check("bad", "detection passes", lost, cure)


def _lost(store: Store) -> Check:
    """Whether spans got lost between the agents and here, by the sampler, a full queue, or on the way."""
    runs, lost, dropped = store.query(sql.load("doctor/lost")).rows[0]
    if not lost and not dropped:
        return Check("ok", "spans", f"none lost in the {runs} runs of the last 7 days")
    found = f"{lost} of {runs} runs of the last 7 days lack some, {dropped} had attributes or events cut off"
    cure = "they are never accused; see the agents' samplers, OTEL_BSP_MAX_QUEUE_SIZE and OTEL_SPAN_*_LIMIT"
    return Check("note", "spans", found, cure)


def _quarantine(store: Store, option: str) -> Iterator[Check]:
    """What was refused, and why; nothing where the store is older than its quarantine."""
    if not store.query(sql.load("doctor/tables"), {"table": "overclaim_quarantine"}).rows:
        return
    found = store.query(sql.load("doctor/quarantine")).rows
    if not found:
        yield Check("ok", "quarantine", "nothing refused in the last 7 days")
        return
    reasons = "; ".join(f"{items} of {signal}: {why}" for signal, why, items, _ in found[:MOST_REASONS])
    more = f"; and {len(found) - MOST_REASONS} reasons more" if len(found) > MOST_REASONS else ""
    cure = (
        f"senders were told; when, why, and what they sent: overclaim query {quote(_REFUSED)}{option} --format jsonl\n"
        "      ContentInBase64 is protobuf, or JSON: base64 -d unpacks it, protoc --decode_raw reads the protobuf"
    )
    yield Check("note", "quarantine", f"refused in the last 7 days: {reasons}{more}", cure)


def _on_the_way(store: Store) -> Iterator[Check]:
    if isinstance(store, RemoteStore):
        yield from on_the_way.of_server(store.metrics())
    elif store.url.startswith("chdb"):
        yield from on_the_way.of_directory(store_path(store.url))
