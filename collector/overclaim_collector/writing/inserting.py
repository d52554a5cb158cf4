"""Insert entries: many at once, and one by one as far as need be to find those that the store refuses.

Entries of one signal that go the same way share an insert. Its token is made from the digests of its entries, so the
same insert sent twice is stored once.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, Final, Protocol

from clickhouse_connect.driver.exceptions import DataError
from google.protobuf.message import DecodeError

from overclaim._errors import OverclaimError
from overclaim_collector.otlp.native import Native, framed
from overclaim_collector.otlp.signals import SIGNALS
from overclaim_collector.writing.entry import Entry
from overclaim_detectors.store import QueryError

_SETTINGS: Final = {
    # Spans of any age may arrive together; the default of 100 partitions would refuse the whole insert.
    "max_partitions_per_insert_block": 0,
    # The inbox is filled by a view: where only the view failed, the insert tried again must reach it all the same.
    "deduplicate_blocks_in_dependent_materialized_views": 1,
}
# The engine's codes for data that it can never take. All other failures may pass.
_FOR_GOOD: Final = frozenset(
    {
        6,  # CANNOT_PARSE_TEXT
        27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        32,  # ATTEMPT_TO_READ_AFTER_EOF
        33,  # CANNOT_READ_ALL_DATA
        53,  # TYPE_MISMATCH
        69,  # ARGUMENT_OUT_OF_BOUND
        70,  # CANNOT_CONVERT_TYPE
        72,  # CANNOT_PARSE_NUMBER
        117,  # INCORRECT_DATA
        128,  # TOO_LARGE_ARRAY_SIZE
        131,  # TOO_LARGE_STRING_SIZE
        190,  # SIZES_OF_ARRAYS_DONT_MATCH
        321,  # VALUE_IS_OUT_OF_RANGE_OF_DATA_TYPE
        407,  # DECIMAL_OVERFLOW
        434,  # PROTOBUF_BAD_CAST
        444,  # UNKNOWN_PROTOBUF_FORMAT
    }
)
# Codes that say nothing about the data.
_OF_STORE: Final = frozenset(
    {
        16,  # NO_SUCH_COLUMN_IN_TABLE
        60,  # UNKNOWN_TABLE
        81,  # UNKNOWN_DATABASE
        164,  # READONLY
        201,  # QUOTA_EXCEEDED
        202,  # TOO_MANY_SIMULTANEOUS_QUERIES
        209,  # SOCKET_TIMEOUT
        210,  # NETWORK_ERROR
        225,  # NO_ZOOKEEPER
        236,  # ABORTED
        242,  # TABLE_IS_READ_ONLY
        243,  # NOT_ENOUGH_SPACE
        252,  # TOO_MANY_PARTS
        279,  # ALL_CONNECTION_TRIES_FAILED
        285,  # TOO_FEW_LIVE_REPLICAS
        319,  # UNKNOWN_STATUS_OF_INSERT
        394,  # QUERY_WAS_CANCELLED
        469,  # VIOLATED_CONSTRAINT: none of our tables has one
        497,  # ACCESS_DENIED
        516,  # AUTHENTICATION_FAILED
        999,  # KEEPER_EXCEPTION
    }
)
# Of these, the codes with which every other insert would fail as well.
_OF_ALL: Final = frozenset({209, 210, 243, 279, 319})
_MEMORY_LIMIT: Final = 241
# How the engine says that it has no memory left, whoever took it; not that one insert takes too much.
_IN_TOTAL: Final = "(total)"

_log = logging.getLogger(__name__)


class Sink(Protocol):
    """The part of a store that writing needs."""

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert rows; all or nothing."""
        ...

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """Insert bytes in one of ClickHouse's formats; all or nothing."""
        ...


@dataclass(slots=True)
class Outcome:
    """What became of entries: in the store; refused for good, with the reason; failed, and may be tried again."""

    stored: list[Entry] = field(default_factory=list[Entry])
    refused: list[tuple[Entry, str]] = field(default_factory=list[tuple[Entry, str]])
    failed: list[tuple[Entry, Exception]] = field(default_factory=list[tuple[Entry, Exception]])


class Inserter:
    """Inserts into one store. Not to be used by several threads before probe() has returned.

    stored: entries that the store took; only whether it grew says something, it may miss one of two at the same time.
    """

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._native: dict[str, Mapping[str, Any]] = {}  # settings by the names of signals
        self.stored = 0

    def probe(self) -> None:
        """Find out for which signals the store's own reader can be used; for the others entries become rows."""
        found = {signal.name: self._settings(signal.native) for signal in SIGNALS if signal.native}
        self._native = {name: settings for name, settings in found.items() if settings is not None}

    def insert(self, entries: Iterable[Entry]) -> Outcome:
        """Try to insert all of them."""
        outcome = Outcome()
        ways = sorted(entries, key=self._way)
        for _, group in groupby(ways, key=self._way):
            self._settle(list(group), outcome)
        self.stored += len(outcome.stored)
        return outcome

    def _settings(self, native: Native) -> Mapping[str, Any] | None:
        """The settings with which the store reads blocks; None where it cannot."""
        for settings in native.settings:
            try:
                self._sink.raw_insert(native.table, native.probe(), "Protobuf", settings)
            except OverclaimError as error:
                _log.info("the store cannot read %s itself: %s", native.schema, error)
            else:
                return settings
        return None

    def _way(self, entry: Entry) -> tuple[str, bool]:
        return entry.signal.name, entry.native and entry.signal.name in self._native

    def _settle(self, group: list[Entry], outcome: Outcome) -> None:
        error = self._try(group)
        if error is None:
            outcome.stored += group
        else:
            self._settle_failed(group, error, outcome)

    def _settle_failed(self, group: list[Entry], error: Exception, outcome: Outcome) -> None:
        """Look for the cause among the entries, unless it cannot be one of them.

        A failed insert may have stored rows all the same. Only the same group, with the same token, is stored once.
        """
        if not (_is_for_good(error) or may_be_of_data(error)):
            outcome.failed += ((entry, error) for entry in group)
        elif len(group) == 1:
            self._settle_one(group[0], error, outcome)
        else:
            self._settle_halves(group, error, outcome)

    def _settle_halves(self, group: list[Entry], error: Exception, outcome: Outcome) -> None:
        """One of many may be the cause: the others must not suffer from it. A store that takes none is let be."""
        halves = group[: len(group) // 2], group[len(group) // 2 :]
        errors = [self._try(half) for half in halves]
        if all(failure and not _is_for_good(failure) for failure in (error, *errors)):
            outcome.failed += ((entry, error) for entry in group)
            return
        for half, failure in zip(halves, errors, strict=True):
            if failure is None:
                outcome.stored += half
            else:
                self._settle_failed(half, failure, outcome)

    def _settle_one(self, entry: Entry, error: Exception, outcome: Outcome) -> None:
        if not _is_for_good(error):
            outcome.failed.append((entry, error))
        elif entry.native:  # what the engine cannot read may still be written by us
            self._settle([replace(entry, native=False)], outcome)
        else:
            outcome.refused.append((entry, str(error)))

    def _try(self, group: list[Entry]) -> Exception | None:
        try:
            self._insert(group)
        except Exception as error:  # whatever it is, the senders must get an answer
            items = sum(entry.items for entry in group)
            _log.warning("%d %ss in %d requests were not stored: %s", items, group[0].signal.item, len(group), error)
            return error
        return None

    def _insert(self, group: list[Entry]) -> None:
        signal, (_, native) = group[0].signal, self._way(group[0])
        token = hashlib.sha256(b"".join(entry.digest for entry in group)).hexdigest()
        settings = {**_SETTINGS, "insert_deduplication_token": token}
        if native and signal.native is not None:
            block = b"".join(framed(entry.block) for entry in group)
            self._sink.raw_insert(signal.native.table, block, "Protobuf", {**self._native[signal.name], **settings})
        else:
            rows = [row for entry in group for row in entry.rows()]
            self._sink.insert(signal.table, signal.columns, rows, settings)


def may_be_of_data(error: Exception) -> bool:
    """Whether a failure may be the fault of what was inserted, such as one that takes too much memory."""
    if isinstance(error, QueryError):
        return error.code not in _OF_STORE and not (error.code == _MEMORY_LIMIT and _IN_TOTAL in str(error))
    return isinstance(error, MemoryError)


def is_of_all(error: Exception) -> bool:
    """Whether every other insert would fail as well: the store cannot be reached, or has no space."""
    return error.code in _OF_ALL if isinstance(error, QueryError) else not isinstance(error, MemoryError)


def _is_for_good(error: Exception) -> bool:
    """Whether the same data will fail again: the engine cannot take them, or they cannot be made into rows."""
    if isinstance(error, QueryError):
        return error.code in _FOR_GOOD or isinstance(error.__cause__, DataError)
    return isinstance(error, ValueError | TypeError | OverflowError | DecodeError)
