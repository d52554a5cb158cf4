"""How much disk spans and log records may take: what goes, what stays, and what is said about it."""

from __future__ import annotations

import logging
from datetime import datetime

import pytest
import scripted_agents as agents
from stores import VERDICTS, arrive_late, receive

from overclaim._errors import StoreError
from overclaim_collector.otlp.items import Refused
from overclaim_collector.otlp.signals import TRACES
from overclaim_collector.writing import quarantine
from overclaim_detectors import disk
from overclaim_detectors.disk import Freed, enforce
from overclaim_detectors.runner import detect_once
from overclaim_detectors.store import Params, Rows, Store

HOUR = 3600
FILL = """
INSERT INTO otel_traces (Timestamp, TraceId, SpanId, SpanName, SpanAttributes, Received)
SELECT now64(9), hex(MD5(toString(number))), hex(number), 'x', map('a', randomPrintableASCII(200)),
    now() - {age:UInt32}
FROM numbers(5000)
"""
LOGS = """
INSERT INTO otel_logs (Timestamp, Body, Received)
SELECT now64(9), randomPrintableASCII(200), now() - {age:UInt32} FROM numbers(5000)
"""
TAKEN = """
SELECT sum(bytes_on_disk) FROM system.parts
WHERE active AND database = currentDatabase() AND table IN ('otel_traces', 'otel_logs')
"""
REFUSED = """
INSERT INTO overclaim_quarantine (Received, Signal, Reason, Items, Content)
SELECT now() - {age:UInt32}, 'traces', 'bad', 1, randomString(2000) FROM numbers(1000)
"""
AGES = "SELECT round((toUnixTimestamp(now()) - toUnixTimestamp(Received)) / 3600) AS Age FROM {table:Identifier}"


def taken(store: Store) -> int:
    """The bytes that spans and log records take."""
    return int(store.query(TAKEN).rows[0][0])


def ages(store: Store, table: str = "otel_traces") -> list[int]:
    """How many hours ago the rows of a table came."""
    return sorted({int(age) for (age,) in store.query(AGES, {"table": table}).rows})


def test_the_oldest_go_and_the_newest_stay(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """By when they came; verdicts stay, and so do spans that fit. It is said how much was removed."""
    receive(store, agents.foreign(71))
    detect_once(store)
    verdicts = store.query(VERDICTS).rows
    store.command("ALTER TABLE otel_traces UPDATE Received = now() - 864000 WHERE 1 SETTINGS mutations_sync = 1")
    for age in (100, 50, 20, 2):
        store.command(FILL, {"age": age * HOUR})
    budget = taken(store) * 6 // 10
    with caplog.at_level(logging.WARNING, logger="overclaim.store"):
        freed = enforce(store, budget)
    assert taken(store) <= budget
    assert ages(store) == [2, 20]
    assert verdicts
    assert store.query(VERDICTS).rows == verdicts
    assert freed.rows == 10_003
    assert freed.bytes > 0
    assert isinstance(freed.before, datetime)
    assert "10003 that came before" in caplog.text
    assert enforce(store, budget) == Freed()
    assert len(caplog.records) == 1


def test_a_late_span_changes_nothing_where_the_others_were_removed(store: Store) -> None:
    """By itself it would look as if the agent had done nothing, or no run had been there."""
    early, late = agents.foreign(73), agents.foreign(74)
    receive(store, [*early[:1], *early[2:]])  # the failure and the answer; the call that mended it is missing yet
    receive(store, [*late[:1], *late[2:]])
    detect_once(store)
    verdicts = store.query(VERDICTS).rows
    store.command("ALTER TABLE overclaim_arrivals UPDATE Arrived = Arrived - 9000 WHERE 1 SETTINGS mutations_sync = 1")
    store.command("ALTER TABLE otel_traces UPDATE Received = Received - 9000 WHERE 1 SETTINGS mutations_sync = 1")
    receive(store, late[1:2])
    detect_once(store)
    assert store.query(VERDICTS).rows != verdicts  # nothing was removed yet
    verdicts = store.query(VERDICTS).rows
    assert enforce(store, 1).rows == 4
    receive(store, early[1:2])
    done = detect_once(store)
    assert (done.labelled, done.failed) == (0, {})
    assert store.query(VERDICTS).rows == verdicts
    receive(store, agents.foreign(75))
    assert detect_once(store).labelled == 1


def test_what_no_pass_has_seen_is_not_judged_by_its_rest(store: Store) -> None:
    """Where detection was off while spans were removed, a late span of their trace accuses nobody either."""
    early = agents.foreign(70)
    receive(store, [*early[:1], *early[2:]])
    arrive_late(store, 9000)
    store.command("ALTER TABLE otel_traces UPDATE Received = Received - 9000 WHERE 1 SETTINGS mutations_sync = 1")
    receive(store, agents.foreign(69))
    assert enforce(store, 1).rows == 2
    receive(store, early[1:2])
    done = detect_once(store)
    assert (done.labelled, done.failed) == (1, {})
    assert early[0][1] not in {row[0] for row in store.query(VERDICTS).rows}


def test_rows_of_one_part_go_by_when_they_came_too(store: Store) -> None:
    """The engine may have merged old and new rows: then the part is written anew without the old ones."""
    for age in (90, 2):
        store.command(FILL, {"age": age * HOUR})
    store.command("OPTIMIZE TABLE otel_traces FINAL")
    budget = taken(store) * 7 // 10
    assert enforce(store, budget).rows == 5000
    assert ages(store) == [2]
    assert taken(store) <= budget


def test_log_records_count_and_go_too(store: Store) -> None:
    """One budget for both, and one moment before which nothing is kept."""
    store.command(LOGS, {"age": 60 * HOUR})
    store.command(FILL, {"age": 50 * HOUR})
    store.command(LOGS, {"age": 3 * HOUR})
    store.command(FILL, {"age": 2 * HOUR})
    freed = enforce(store, taken(store) * 6 // 10)
    assert freed.rows == 10_000
    assert ages(store, "otel_logs") == [3]
    assert ages(store) == [2]


def test_refused_items_count_and_go_first(store: Store) -> None:
    """The oldest of them, and with them alone where that is enough; then spans too."""
    store.command(FILL, {"age": 90 * HOUR})
    spans = taken(store)
    for age in (50, 20):
        store.command(REFUSED, {"age": age * HOUR})
    freed = enforce(store, spans + 3_500_000)
    assert (freed.rows, freed.bytes >> 20) == (1000, 1)
    assert ages(store, "overclaim_quarantine") == [20]
    assert ages(store) == [90]
    store.command(FILL, {"age": 2 * HOUR})
    assert enforce(store, spans * 12 // 10).rows == 6000
    assert ages(store, "overclaim_quarantine") == []
    assert ages(store) == [2]


def test_what_was_judged_stands_where_only_refused_items_went(store: Store) -> None:
    """A late span may change a verdict afterwards: no span of its trace was removed."""
    spans = agents.foreign(76)
    receive(store, [*spans[:1], *spans[2:]])
    detect_once(store)
    store.command("ALTER TABLE overclaim_arrivals UPDATE Arrived = Arrived - 9000 WHERE 1 SETTINGS mutations_sync = 1")
    store.command(REFUSED, {"age": HOUR})
    assert enforce(store, taken(store) * 2).rows == 1000
    receive(store, spans[1:2])
    assert detect_once(store).labelled == 1


def test_contents_of_refused_items_have_a_budget_by_the_hour(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond it all are counted with their reasons, without contents; the next hour has contents again."""
    now = [1000.0]
    monkeypatch.setattr(quarantine, "MOST_PER_HOUR", 100_000)
    monkeypatch.setattr(quarantine.time, "monotonic", lambda: now[0])
    held = quarantine.Quarantine(store)
    kept = "SELECT sum(Items), sum(length(Content)), countIf(Content = '') FROM overclaim_quarantine WHERE Signal != ''"
    for _ in range(2):
        held.add(TRACES, [Refused("bad", b"x" * 10_000)] * 15 + [Refused("worse", b"y" * 10_000)] * 5)
    held.write(now=True)
    assert store.query(kept).rows == [(40, 100_000, 4)]
    now[0] += 3599
    held.add(TRACES, [Refused("bad", b"x")])
    held.write(now=True)
    assert store.query(kept).rows == [(41, 100_000, 5)]
    now[0] += 1
    held.add(TRACES, [Refused("bad", b"x")])
    held.write(now=True)
    assert store.query(kept).rows == [(42, 100_001, 5)]
    assert held.counts["invalid"] == 42


def test_what_has_just_come_is_never_removed(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """However small the budget; that it does not hold is said."""
    store.command(FILL, {"age": 5 * HOUR})
    receive(store, agents.foreign(72))
    assert enforce(store, 1).rows == 5000
    assert enforce(store, 1).rows == 0
    assert store.query("SELECT count() FROM otel_traces").rows == [(3,)]
    assert "still take" in caplog.text


def test_within_the_budget_nothing_is_done(store: Store) -> None:
    """An empty store, and one that takes exactly as much."""
    assert enforce(store, 1) == Freed()
    store.command(FILL, {"age": 5 * HOUR})
    assert enforce(store, taken(store)) == Freed()


class Failing:
    """A store in which a deletion is under way, or fails for ever."""

    def __init__(self, store: Store, reason: str) -> None:
        self._store, self._reason, self.commands = store, reason, list[str]()

    def query(self, sql: str, params: Params | None = None) -> Rows:
        """The store's answer, but for the question about deletions."""
        if "system.mutations" in sql:
            return Rows(("Id", "Reason"), [("mutation_9.txt", self._reason)])
        return self._store.query(sql, params)

    def command(self, sql: str, params: Params | None = None) -> None:
        """Written down only."""
        self.commands.append(sql)


def test_a_deletion_under_way_is_waited_for(store: Store) -> None:
    """Not started again; and one that fails is taken back, with its reason."""
    store.command(FILL, {"age": 5 * HOUR})
    enforce(store, 1 << 40)  # from now on its parts are kept small
    busy = Failing(store, "")
    assert enforce(busy, 1) == Freed()  # pyright: ignore[reportArgumentType]
    assert busy.commands == []
    stuck = Failing(store, "no space left")
    with pytest.raises(StoreError, match="otel_logs could not be removed: no space left"):
        enforce(stuck, 1)  # pyright: ignore[reportArgumentType]
    assert "KILL MUTATION" in stuck.commands[0]


def test_the_moment_is_kept_free_of_rounding() -> None:
    """What is kept fits; a minute that does not fit goes as a whole, but never the newest one."""
    assert disk.cut({100: 5, 200: 5, 300: 5}, 10, now=10_000) == 200
    assert disk.cut({100: 5, 200: 5, 300: 5}, 9, now=10_000) == 300
    assert disk.cut({100: 5, 200: 5, 300: 5}, 0, now=10_000) == 300
    assert disk.cut({100: 5, 300: 5}, 5, now=400) == 400 - disk.KEPT_SECONDS
    assert disk.cut({}, 5, now=400) == 0
