"""What a store is to the rest of overclaim: rows, parameters, errors, and the protocol that each store keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from overclaim._errors import StoreError
from overclaim_detectors.asking import Asker

Params = Mapping[str, object]

MAX_ANSWER = 64 << 20
# For people's SQL: what one query may cost before the engine stops it.
LIMITS: Mapping[str, int] = {
    "max_execution_time": 60,
    "max_result_rows": 1_000_000,
    "max_result_bytes": MAX_ANSWER,
    "max_memory_usage": 512 << 20,
    "max_bytes_before_external_group_by": 128 << 20,
    "max_bytes_before_external_sort": 128 << 20,
    "max_block_size": 8192,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """A result: the column names, and one tuple of Python values per row."""

    columns: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])

    def dicts(self) -> list[dict[str, Any]]:
        """The rows as dictionaries by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


class QueryError(StoreError):
    """The engine refused a statement. `code` is ClickHouse's error code, 0 where it gave none."""

    def __init__(self, message: str, code: int = 0) -> None:
        super().__init__(message)
        self.code = code


class OwnedElsewhere(StoreError):
    """Another live process owns the embedded store; `url` is where it answers, "" if nowhere."""

    def __init__(self, message: str, url: str = "") -> None:
        super().__init__(message)
        self.url = url


class Store(Protocol):
    """A store as the rest of overclaim sees it. Safe to use from many threads."""

    url: str

    def query(self, sql: str, params: Params | None = None) -> Rows:
        """Run our own SELECT; values are bound by the engine as {name:Type}."""
        ...

    def read(self, sql: str, params: Params | None = None) -> Rows:
        """Run somebody else's SQL: a single read-only statement, under limits, with no access to files or network."""
        ...

    def answer(self, sql: str, params: Params | None = None) -> bytes:
        """The same as JSON, {"columns": [...], "rows": [[...], ...]}, written by the engine; at most MAX_ANSWER bytes.

        Times are as ClickHouse writes them, NaN and infinity are null.
        """
        ...

    def asker(self) -> Asker | None:
        """Who answers people's SQL in ClickHouse's formats, where no server does."""
        ...

    def command(self, sql: str, params: Params | None = None) -> None:
        """Run a statement that returns nothing, such as DDL or INSERT SELECT."""
        ...

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
        """Insert bytes in one of ClickHouse's formats, such as "Protobuf" or "RowBinary"; all or nothing."""
        ...

    def announce(self, url: str) -> None:
        """Tell other processes where this one answers (embedded store only)."""
        ...

    def interrupt(self) -> None:
        """End the statements of others, read() and answer(), that are still at work in this process."""
        ...

    def give_back(self) -> None:
        """Give memory that is held free back to the system (embedded store only)."""
        ...

    def close(self) -> None:
        """Let go of the store; twice is fine."""
        ...
