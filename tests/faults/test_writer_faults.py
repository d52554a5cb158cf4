from __future__ import annotations

import base64
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from tests.support.spools import after_a_crash

from overclaim._errors import StoreError
from overclaim_collector.otlp.decoding import decode
from overclaim_collector.otlp.encoding import Encoding
from overclaim_collector.otlp.items import Refused
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.receivers.ingest import Ingest
from overclaim_collector.refusal import Reason, Refusal
from overclaim_collector.writing import drainer, moving, quarantine
from overclaim_collector.writing.counts import Counts
from overclaim_collector.writing.entry import Entry
from overclaim_collector.writing.spool import Spool
from overclaim_collector.writing.writer import Writer
from overclaim_detectors.store import QueryError, Store

BAD_DATA = QueryError("Cannot parse this", 27)
IN_TOTAL = QueryError("Memory limit (total) exceeded", 241)
ROOM = 16 << 20


def body(number: int, name: str = "step", spans: int = 1, **fields: Any) -> bytes:
    """A request with good spans, which has its own trace by its number."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add().scope_spans.add()
    for place in range(spans):
        ids = {"trace_id": number.to_bytes(16), "span_id": (place + 1).to_bytes(8)}
        scope.spans.add(name=name, start_time_unix_nano=time.time_ns(), end_time_unix_nano=2**63, **{**ids, **fields})
    return request.SerializeToString()


def entry(number: int, spans: int = 1, native: bool = True) -> Entry:
    """A request as the receivers hand it to the writer."""
    return Entry(number.to_bytes(32), TRACES, spans, body(number, spans=spans), native)


@dataclass
class Faulty:
    """A store in which inserts fail as `fault` says, by what they hold; it says what went into the real one."""

    store: Store
    fault: Any = None
    waits: threading.Event | None = None
    quarantine: Any = None  # called before an insert into quarantine
    inserts: list[tuple[str, int]] = field(default_factory=list[tuple[str, int]])

    def insert(self, table: str, columns: Sequence[str], rows: Sequence[Any], settings: Any = None) -> None:
        """By rows."""
        if table == TRACES.table:
            self._may_fail("rows", str(rows).encode())
        elif self.quarantine:
            self.quarantine()
        self.store.insert(table, columns, rows, settings)
        self.inserts.append((table, len(rows)))

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """By bytes."""
        self._may_fail("native", block)
        self.store.raw_insert(table, block, fmt, settings)
        self.inserts.append((table, 0))

    def _may_fail(self, way: str, content: bytes) -> None:
        if self.waits:
            self.waits.wait(30)
        if self.fault and (error := self.fault(way, content)):
            raise error


@dataclass
class Running:
    """A writer on such a store; used as a context it is stopped at the end."""

    faulty: Faulty
    writer: Writer

    def submit(self, *entries: Entry) -> list[Future[None]]:
        """Submit all."""
        return [self.writer.submit(one) for one in entries]

    @property
    def counts(self) -> Counts:
        """Of spans."""
        return self.writer.counts["traces"]

    def balance(self) -> int:
        """Spans that are unaccounted for."""
        counts = self.counts
        settled = counts.stored + counts.repeated + counts.refused + counts.waiting + counts.lost
        return counts.received - settled

    def rows(self) -> int:
        """Spans in the store, repeated ones counted once."""
        return self.faulty.store.query("SELECT uniqExact(TraceId, SpanId) FROM otel_traces").rows[0][0]


@pytest.fixture
def running(store: Store) -> Iterator[Running]:
    """A writer without a spool, not started yet."""
    faulty = Faulty(store)
    made = Running(faulty, Writer(faulty))
    yield made
    made.writer.stop(5)


@pytest.fixture
def spooling(store: Store, tmp_path: Path) -> Iterator[Running]:
    """A writer with a spool, at work."""
    faulty, spool = Faulty(store), Spool(tmp_path / "spool", ROOM, sync=False)
    made = Running(faulty, Writer(faulty, spool))
    made.writer.start()
    yield made
    made.writer.stop(5)
    spool.close()


def holds(*numbers: int) -> Any:
    """A test whether content has one of these traces, as bytes or as text."""
    marks = [mark for number in numbers for mark in (number.to_bytes(16), number.to_bytes(16).hex().encode())]
    return lambda content: any(mark in content for mark in marks)


def until(condition: Any, seconds: float = 20) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


def refusals(futures: list[Future[None]]) -> list[Reason | None]:
    """Why each was refused; None for those that were stored."""
    errors = [future.exception(20) for future in futures]
    return [error.reason if isinstance(error, Refusal) else None for error in errors]


def test_requests_that_cannot_be_stored_do_not_poison_the_others(running: Running) -> None:
    """Those that the store can never take are refused for good and kept in quarantine; all others are stored."""
    bad = holds(5, 11)
    running.faulty.fault = lambda _, content: BAD_DATA if bad(content) else None
    futures = running.submit(*(entry(number, spans=3, native=number % 2 == 0) for number in range(1, 17)))
    running.writer.start()
    assert refusals(futures) == [Reason.INVALID if number in (5, 11) else None for number in range(1, 17)]
    with pytest.raises(Refusal, match="Cannot parse this"):
        futures[4].result()
    assert running.writer.stop(10)
    assert (running.counts.stored, running.counts.refused, running.balance()) == (42, 6, 0)
    assert running.rows() == 42
    kept = running.faulty.store.query("SELECT Signal, Reason, Items, Content FROM overclaim_quarantine").dicts()
    assert [(row["Signal"], row["Reason"], row["Items"]) for row in kept] == [("traces", "Cannot parse this", 3)] * 2


def test_what_only_the_engine_cannot_read_is_written_by_us(running: Running) -> None:
    """A request that its reader refuses is stored as rows, and the sender hears nothing of it."""
    bad = holds(3)
    running.faulty.fault = lambda way, content: BAD_DATA if way == "native" and bad(content) else None
    futures = running.submit(*map(entry, range(1, 6)))
    running.writer.start()
    assert refusals(futures) == [None] * 5
    assert (running.rows(), running.balance()) == (5, 0)
    assert ("otel_traces", 1) in running.faulty.inserts


def test_a_store_that_cannot_read_otlp_gets_rows(running: Running) -> None:
    """That is found out at the start, and no request fails for it."""
    running.faulty.store.command("DROP VIEW overclaim_otlp_traces_mv")
    running.faulty.fault = lambda way, _: QueryError("unknown setting", 115) if way == "native" else None
    running.writer.start()
    try:
        assert refusals(running.submit(*map(entry, range(1, 4)))) == [None] * 3
    finally:
        running.faulty.store.command("TRUNCATE TABLE overclaim_migrations")  # the next test makes the view again
    assert {table for table, _ in running.faulty.inserts} == {"otel_traces"}
    assert running.rows() == 3


def test_without_a_spool_a_store_that_fails_is_told_to_the_senders(running: Running) -> None:
    """They are asked to come again, and when they do their spans are stored."""
    running.writer.start()
    running.faulty.fault = lambda *_: StoreError("gone")
    assert refusals(running.submit(*map(entry, range(8)))) == [Reason.UNAVAILABLE] * 8
    running.faulty.fault = None
    assert refusals(running.submit(*map(entry, range(8)))) == [None] * 8
    assert (running.rows(), running.counts.refused, running.balance()) == (8, 8, 0)


def test_a_store_that_fails_loses_nothing_that_was_acknowledged(spooling: Running) -> None:
    """Requests wait in the spool and are acknowledged; when the store is well again all of them go in."""
    spooling.faulty.fault = lambda *_: StoreError("gone")
    futures = [future for number in range(20) for future in spooling.submit(entry(number, spans=2))]
    assert refusals(futures) == [None] * 20
    assert (spooling.counts.waiting, spooling.counts.stored, spooling.balance()) == (40, 0, 0)
    assert refusals(spooling.submit(entry(7, spans=2))) == [None]
    spooling.faulty.fault = None
    until(lambda: spooling.counts.stored == 40)
    assert (spooling.counts.waiting, spooling.counts.repeated, spooling.balance()) == (0, 2, 0)
    assert spooling.rows() == 40


def test_whoever_waits_finds_in_the_store_what_was_acknowledged(spooling: Running) -> None:
    """All of it, sooner than it would come there by itself; while the store takes nothing nobody waits for it."""
    assert refusals(spooling.submit(*map(entry, range(50)))) == [None] * 50
    assert spooling.writer.settle(10)
    assert (spooling.rows(), spooling.counts.waiting) == (50, 0)
    spooling.faulty.fault = lambda *_: StoreError("gone")
    assert refusals(spooling.submit(entry(100))) == [None]
    assert not spooling.writer.settle(10)
    started = time.monotonic()
    assert not spooling.writer.settle(10)
    assert time.monotonic() - started < 5


def test_requests_that_come_one_after_another_share_an_insert(
    spooling: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender who waits for each answer does not make an insert with each request."""
    monkeypatch.setattr(drainer, "LINGER", 3.0)
    for number in range(20):
        assert refusals(spooling.submit(entry(number))) == [None]
    assert spooling.writer.settle(10)
    assert spooling.rows() == 20
    assert 1 <= len(spooling.faulty.inserts) - 1 <= 3  # but for the first one, which asks what the store can do


def test_what_is_poison_leaves_the_spool_for_quarantine(spooling: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a request that is refused for good, nor one that always fails by itself, holds up what stands behind."""
    monkeypatch.setattr("overclaim_collector.writing.drainer.FIRST_PAUSE", 0.01)
    monkeypatch.setattr("overclaim_collector.writing.drainer.LONGEST_PAUSE", 0.1)
    monkeypatch.setattr("overclaim_collector.writing.moving.STRIKE_SECONDS", 0.5)
    spooling.faulty.fault = lambda *_: StoreError("gone")
    assert refusals(spooling.submit(*map(entry, range(1, 9)))) == [None] * 8
    never, always = holds(2), holds(5)
    faults = [(never, BAD_DATA), (always, QueryError("memory limit", 241))]
    spooling.faulty.fault = lambda _, content: next((error for bad, error in faults if bad(content)), None)
    late = 0
    while spooling.counts.refused < 2:
        assert refusals(spooling.submit(entry(100 + late))) == [None]
        late += 1
        time.sleep(0.1)
    until(lambda: not spooling.counts.waiting)
    assert (spooling.counts.stored, spooling.counts.refused, spooling.balance()) == (6 + late, 2, 0)
    assert spooling.rows() == 6 + late
    assert spooling.writer.stop(5)
    reasons = spooling.faulty.store.query("SELECT Reason FROM overclaim_quarantine ORDER BY Reason").rows
    assert reasons == [("Cannot parse this",), ("failed 5 times while others were stored: memory limit",)]


def test_what_fails_lets_others_pass(spooling: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that never gets in, read by itself, holds up neither those behind it nor those that come."""
    monkeypatch.setattr(moving, "READ_BYTES", 1)
    monkeypatch.setattr(drainer, "LONGEST_PAUSE", 0.1)
    monkeypatch.setattr(moving, "STRIKE_SECONDS", 0.0)
    bad = holds(1)
    spooling.faulty.fault = lambda *_: StoreError("gone")
    assert refusals(spooling.submit(*map(entry, range(1, 5)))) == [None] * 4
    spooling.faulty.fault = lambda _, content: IN_TOTAL if bad(content) else None
    until(lambda: spooling.counts.waiting == 1)
    for number in range(10, 22):
        assert refusals(spooling.submit(entry(number))) == [None]
        time.sleep(0.1)
    until(lambda: spooling.counts.stored == 15)
    assert (spooling.counts.waiting, spooling.counts.refused, spooling.balance()) == (1, 0, 0)
    spooling.faulty.fault = None
    until(lambda: not spooling.counts.waiting)
    assert (spooling.rows(), spooling.balance()) == (16, 0)


def test_a_full_spool_with_poison_lets_others_into_the_store(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though there is no room, it is put behind the others: these are stored, and new ones find room again."""
    monkeypatch.setattr(moving, "READ_BYTES", 1)
    monkeypatch.setattr(drainer, "LINGER", 0.0)
    monkeypatch.setattr(drainer, "LONGEST_PAUSE", 0.05)
    spool = Spool(tmp_path, 4096, sync=False)
    run = Running(faulty := Faulty(store, lambda *_: StoreError("gone")), Writer(faulty, spool))
    run.writer.start()
    bad = holds(1)
    assert refusals(run.submit(entry(1, spans=10))) == [None]
    kept = refusals(run.submit(*(entry(number, spans=9) for number in range(2, 9)))).count(None)
    assert 0 < kept < 7
    faulty.fault = lambda _, content: IN_TOTAL if bad(content) else None
    until(lambda: run.counts.stored == 9 * kept)
    assert refusals(run.submit(*map(entry, range(20, 25)))) == [None] * 5
    until(lambda: run.rows() == 9 * kept + 5 and run.counts.waiting == 10)
    assert run.balance() == 0
    assert run.writer.stop(5)
    spool.close()


def test_a_spool_whose_disk_fails_is_left_out(store: Store, tmp_path: Path) -> None:
    """A request that neither the spool nor the store takes is refused; as long as the store is well, it takes all."""
    spool = Spool(tmp_path, ROOM, sync=False)
    run = Running(faulty := Faulty(store, lambda *_: StoreError("gone")), Writer(faulty, spool))
    run.writer.start()
    spool.close()
    assert refusals(run.submit(entry(1))) == [Reason.UNAVAILABLE]
    faulty.fault = None
    assert refusals(run.submit(*map(entry, range(1, 5)))) == [None] * 4
    assert (run.rows(), run.counts.stored) == (4, 4)
    assert run.writer.stop(5)
    assert run.balance() == 0


def test_a_store_short_of_memory_for_seconds_loses_nothing(spooling: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request that fails many times while others go in stays in the spool for minutes, and is stored after all."""
    monkeypatch.setattr(drainer, "LONGEST_PAUSE", 0.01)
    bad, tries = holds(1), [0]

    def short(_: str, content: bytes) -> Exception | None:
        tries[0] += bad(content)
        return QueryError("Memory limit (for query) exceeded", 241) if bad(content) else None

    spooling.faulty.fault = short
    number = 10
    assert refusals(spooling.submit(entry(1))) == [None]
    while tries[0] < 25 and not spooling.counts.refused:
        assert refusals(spooling.submit(entry(number := number + 1))) == [None]
        time.sleep(0.05)
    assert spooling.counts.refused == 0
    spooling.faulty.fault = None
    until(lambda: not spooling.counts.waiting)
    assert (spooling.counts.refused, spooling.rows()) == (0, number - 9)


def test_what_is_given_up_is_kept_whole_and_only_then_leaves_the_spool(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While quarantine takes nothing an acknowledged request stays on the disk; then all its bytes are there."""
    monkeypatch.setattr(drainer, "LONGEST_PAUSE", 0.1)
    spool = Spool(tmp_path, ROOM, sync=False)
    run = Running(faulty := Faulty(store, lambda *_: StoreError("gone")), Writer(faulty, spool))
    run.writer.start()
    large = Entry(bytes(32), TRACES, 1, body(5, name="x" * 2_500_000), False)
    assert refusals(run.submit(large)) == [None]
    tries: list[int] = []

    def broken() -> None:
        tries.append(1)
        raise StoreError("quarantine is gone")

    faulty.quarantine = broken
    faulty.fault = lambda *_: BAD_DATA
    until(lambda: len(tries) > 2)
    assert (spool.records, run.counts.waiting, run.counts.refused) == (1, 1, 0)
    faulty.quarantine = None
    until(lambda: not spool.records)
    assert run.writer.stop(5)
    assert (run.counts.refused, run.balance()) == (1, 0)
    rows = store.query("SELECT Reason, Items, base64Encode(Content) FROM overclaim_quarantine ORDER BY Reason").rows
    assert b"".join(base64.b64decode(content) for _, _, content in rows) == large.block
    assert [items for _, items, _ in rows] == [1, 0, 0]
    assert all(reason.endswith("Cannot parse this") for reason, _, _ in rows)
    spool.close()


def test_a_group_that_fails_for_the_store_is_stored_once(store: Store, tmp_path: Path) -> None:
    """An insert that kept the spans and failed in the view is repeated as it was, though others came meanwhile."""
    spool = Spool(tmp_path, ROOM, sync=False)
    run = Running(faulty := Faulty(store), Writer(faulty, spool))
    store.command("ALTER TABLE overclaim_inbox ADD CONSTRAINT full CHECK Spans > 1000")
    futures = run.submit(*(entry(number, spans=3) for number in range(1, 9)))
    run.writer.start()
    try:
        assert refusals(futures) == [None] * 8
        assert refusals(run.submit(*(entry(number, spans=3) for number in range(11, 15)))) == [None] * 4
        time.sleep(1)
    finally:
        store.command("ALTER TABLE overclaim_inbox DROP CONSTRAINT full")
    until(lambda: not run.counts.waiting)
    assert run.writer.stop(5)
    assert store.query("SELECT count(), uniqExact(TraceId, SpanId) FROM otel_traces").rows == [(36, 36)]
    spool.close()


def test_the_next_run_stores_what_waits(store: Store, tmp_path: Path) -> None:
    """What an earlier process acknowledged is stored by the next one, counts there as received, and is known there."""
    for fault in (StoreError("gone"), None):
        spool = Spool(tmp_path, ROOM, sync=False)
        run = Running(Faulty(store, fault and (lambda *_, error=fault: error)), Writer(Faulty(store), spool))
        run.writer = Writer(run.faulty, spool)
        run.writer.start()
        if fault:
            assert refusals(run.submit(*map(entry, range(5)))) == [None] * 5
        else:
            until(lambda: run.counts.stored == 5)  # noqa: B023
            assert refusals(run.submit(*map(entry, range(5)))) == [None] * 5  # whose senders heard no answer
        assert run.writer.stop(5)
        spool.close()
    assert (run.counts.received, run.counts.repeated, run.balance()) == (10, 5, 0)
    assert store.query("SELECT count() FROM otel_traces").rows == [(5,)]


def test_an_insert_that_the_end_of_the_process_cut_short_is_repeated_as_it_was(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store had taken it, and nobody noted it down: the next run sends the very same, which is stored once."""
    spool = Spool(tmp_path / "first", ROOM, sync=False)
    run = Running(faulty := Faulty(store), Writer(faulty, spool))
    assert refusals(run.submit(*(entry(number, spans=3) for number in range(6)))) == [None] * 6

    def dying(_: int) -> None:
        if not (tmp_path / "second").exists():
            after_a_crash(tmp_path / "first", tmp_path / "second")

    monkeypatch.setattr(spool, "done", dying)
    run.writer.start()
    until(lambda: run.counts.stored == 18)
    run.writer.stop(5)
    spool.close()
    again = Spool(tmp_path / "second", ROOM, sync=False)
    run.writer = Writer(run.faulty, again)
    assert refusals(run.submit(*(entry(number, spans=3) for number in range(10, 14)))) == [None] * 4
    run.writer.start()
    assert run.writer.settle(20)
    assert store.query("SELECT count(), uniqExact(TraceId, SpanId) FROM otel_traces").rows == [(30, 30)]
    assert run.writer.stop(5)
    again.close()


def test_what_was_sent_again_before_it_was_known_is_stored_once(store: Store, tmp_path: Path) -> None:
    """The same request stands in the spool twice, from an earlier run and from this one: one insert, exact counts."""
    spool = Spool(tmp_path, ROOM, sync=False)
    spool.append(b"an-other" + entry(1, spans=2).pack())
    run = Running(faulty := Faulty(store), Writer(faulty, spool))
    assert refusals(run.submit(entry(1, spans=2), entry(2, spans=2))) == [None] * 2
    run.writer.start()
    until(lambda: not spool.records)
    assert store.query("SELECT count() FROM otel_traces").rows == [(4,)]
    assert (run.counts.stored, run.counts.repeated, run.counts.waiting, run.balance()) == (4, 2, 0, 0)
    assert run.writer.stop(5)
    spool.close()


def test_whoever_waits_is_let_go_when_the_writer_stops(spooling: Running) -> None:
    """An insert hangs, somebody waits for it, and the writer is told to stop: nobody waits for long."""
    spooling.faulty.waits = threading.Event()
    assert refusals(spooling.submit(entry(1))) == [None]
    began = time.monotonic()
    waiting = threading.Thread(target=spooling.writer.settle, args=(30,))
    waiting.start()
    time.sleep(0.2)
    spooling.writer.stop(0.2)
    waiting.join(20)
    spooling.faulty.waits.set()
    assert time.monotonic() - began < 10
    assert not waiting.is_alive()


def test_a_fault_in_keeping_is_told_to_the_sender_who_may_come_again(
    spooling: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No memory for a record: the request is refused and forgotten, not open for ever."""

    def broken(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "append", broken)
        with pytest.raises(MemoryError):
            spooling.submit(entry(1))
    assert (spooling.counts.refused, spooling.balance()) == (1, 0)
    assert refusals(spooling.submit(entry(1))) == [None]
    assert spooling.writer.settle(20)


def test_a_full_spool_refuses_and_counts(store: Store, tmp_path: Path) -> None:
    """What finds no room is given back to its sender, and what found room is not lost for it."""
    spool = Spool(tmp_path, 4096, sync=False)
    run = Running(faulty := Faulty(store, lambda *_: StoreError("gone")), Writer(faulty, spool))
    run.writer.start()
    found = [refusals(run.submit(entry(number, spans=5)))[0] for number in range(30)]
    assert set(found) == {None, Reason.UNAVAILABLE}
    assert not run.writer.has_room
    faulty.fault = None
    until(lambda: not run.counts.waiting)
    assert run.counts.stored == 5 * found.count(None) == run.rows()
    assert (run.counts.refused, run.balance()) == (5 * found.count(Reason.UNAVAILABLE), 0)
    run.writer.stop(5)
    spool.close()


def test_an_insert_that_hangs_holds_up_no_sender(spooling: Running) -> None:
    """Requests are acknowledged from the spool, and stored when the store has come to itself."""
    spooling.faulty.waits = threading.Event()
    assert refusals(spooling.submit(entry(1))) == [None]
    assert not spooling.writer.settle(0.2)
    assert refusals(spooling.submit(*map(entry, range(2, 6)))) == [None] * 4
    assert spooling.counts.stored == 0
    spooling.faulty.waits.set()
    until(lambda: spooling.counts.stored == 5)
    assert (spooling.rows(), spooling.balance()) == (5, 0)


def test_a_quarantine_that_hangs_holds_up_nobody(spooling: Running) -> None:
    """Requests that come while refused items are written are acknowledged, and stored."""
    hanging = threading.Event()
    spooling.faulty.quarantine = lambda: hanging.wait(30)
    spooling.writer.refuse(TRACES, [Refused("bad", b"x")])
    time.sleep(1)
    found = refusals(spooling.submit(*map(entry, range(4))))
    settled = spooling.writer.settle(10)
    hanging.set()
    assert (found, settled) == ([None] * 4, True)


@pytest.mark.parametrize("part", ["resource", "scope"])
def test_a_resource_that_many_spans_would_copy_is_too_large(part: str) -> None:
    """A megabyte of resource or scope is taken with 200 spans, not with 300, whose rows would each hold a copy."""
    for spans, fits in ((200, True), (300, False)):
        request = ExportTraceServiceRequest.FromString(body(1, spans=spans))
        resource = request.resource_spans[0]
        owner = resource.resource if part == "resource" else resource.scope_spans[0].scope
        owner.attributes.add(key="doc").value.string_value = "d" * (1 << 20)
        if fits:
            assert decode(request.SerializeToString(), Encoding.PROTOBUF).checked.kept == spans
        else:
            with pytest.raises(Refusal, match="300 MiB") as refused:
                decode(request.SerializeToString(), Encoding.PROTOBUF)
            assert refused.value.reason is Reason.TOO_LARGE


def test_a_bad_span_goes_into_quarantine_and_the_others_into_the_store(running: Running) -> None:
    """Its reason and its bytes are there to read, and the sender is told how many were refused."""
    running.writer.start()
    ingest = Ingest(running.writer)
    request = ExportTraceServiceRequest.FromString(body(1, spans=3))
    span = request.resource_spans[0].scope_spans[0].spans[1]
    span.trace_id = b"short"
    span.attributes.append(KeyValue(key="mark"))
    with ingest.admission.request() as claim:
        receipt = ingest.receive(claim, request.SerializeToString(), Encoding.PROTOBUF)
    assert receipt.refused == 1
    assert (running.counts.stored, running.counts.refused, running.balance()) == (2, 1, 0)
    assert running.writer.stop(5)
    row = running.faulty.store.query("SELECT Reason, Items, position(Content, 'mark') > 0 FROM overclaim_quarantine")
    assert row.rows == [("trace id of 5 bytes instead of 16", 1, 1)]


def test_quarantine_is_bounded_and_counts_all(store: Store) -> None:
    """Of a flood of bad items some are kept with a part of their content, and all are counted."""
    held = quarantine.Quarantine(store)
    held.add(TRACES, [Refused("too long", b"x" * 100_000)] * 30)
    held.add(TRACES, [Refused("so many", b"y")] * 50_000)
    held.write(now=True)
    query = "SELECT sum(Items), count(), max(length(Content)) FROM overclaim_quarantine WHERE Reason = {r:String}"
    assert store.query(query, {"r": "too long"}).rows == [(30, 17, quarantine.LONGEST_ITEM)]
    assert store.query(query, {"r": "so many"}).rows == [(50_000, quarantine.MOST_ROWS + 1, 1)]


def test_quarantine_waits_for_the_store_within_bounds(store: Store) -> None:
    """While the store takes nothing only counts are kept beyond some megabytes, and nothing is forgotten."""
    faulty = Faulty(store)
    held = quarantine.Quarantine(faulty)
    for _ in range(40):
        held.add(TRACES, [Refused("bad", b"x" * 60_000)] * 10)
    assert len(held._rows) < 400  # pyright: ignore[reportPrivateUsage]
    held.write(now=True)
    assert store.query("SELECT sum(Items) FROM overclaim_quarantine").rows == [(400,)]


def test_stopping_stores_what_was_taken_and_refuses_the_rest(running: Running) -> None:
    """Everything submitted before the stop is stored; afterwards requests are told to come again."""
    running.writer.start()
    futures = running.submit(*map(entry, range(500)))
    assert running.writer.stop(10)
    assert [future.result(0) for future in futures] == [None] * 500
    assert running.rows() == 500
    with pytest.raises(Refusal, match="stopping"):
        running.submit(entry(1000))


def test_the_same_insert_twice_is_stored_once(store: Store) -> None:
    """A second writer that repeats an insert, as after a crash before the answer, adds nothing."""
    for native in (True, True, False, False):
        again = Writer(store)
        again.start()
        again.submit(entry(1 + native, native=native)).result(10)
        assert again.stop(5)
    assert store.query("SELECT count() FROM otel_traces").rows == [(2,)]


def test_an_insert_whose_view_failed_reaches_the_inbox_when_tried_again(running: Running) -> None:
    """The spans were kept, the inbox was not told: the next try tells it, and nothing is there twice."""
    store = running.faulty.store
    store.command("ALTER TABLE overclaim_inbox ADD CONSTRAINT full CHECK Spans > 1000")
    running.writer.start()
    try:
        assert refusals(running.submit(entry(1))) == [Reason.UNAVAILABLE]
    finally:
        store.command("ALTER TABLE overclaim_inbox DROP CONSTRAINT full")
    assert store.query("SELECT count() FROM otel_traces").rows == [(1,)]
    assert refusals(running.submit(entry(1))) == [None]
    tables = ("otel_traces", "overclaim_inbox")
    assert [store.query("SELECT count() FROM {t:Identifier}", {"t": table}).rows[0][0] for table in tables] == [1, 1]
    assert store.query("SELECT sum(Spans) FROM overclaim_inbox").rows == [(1,)]
