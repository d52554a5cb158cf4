"""Where spans and verdicts are kept: ClickHouse embedded (chDB), a ClickHouse server, or a running `overclaim serve`.

chdb:///var/lib/overclaim     embedded; one process owns the directory, others are told which one
chdb://                       embedded in OVERCLAIM_STORE or ~/.local/share/overclaim/store
clickhouse://host:8123/db     a server or cluster, over HTTP (clickhouses:// for TLS)
http://127.0.0.1:4318         whatever store the `overclaim serve` at that address has; for reading only
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from overclaim._errors import InputError, StoreError

DEFAULT_URL = "chdb://"
VARIABLE = "OVERCLAIM_STORE"  # a URL, or the directory of an embedded store
Params = Mapping[str, object]

# For people's SQL: what one query may cost before the engine stops it.
LIMITS: Mapping[str, int] = {
    "max_execution_time": 60,
    "max_result_rows": 1_000_000,
    "max_result_bytes": 256 << 20,
    "max_memory_usage": 4 << 30,
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

    def close(self) -> None:
        """Let go of the store; twice is fine."""
        ...


def open_store(url: str = DEFAULT_URL, *, read_only: bool = False) -> Store:
    """Open a store by URL; the default one is the one that OVERCLAIM_STORE names.

    read_only opens an existing store for looking only: an embedded store that a running server owns is then read
    through that server, and one that does not exist yet is not made.

    Raises:
        StoreError: it cannot be opened; OwnedElsewhere where another process has the embedded store.
        InputError: the URL has no scheme we know.
    """
    url = resolved(url)
    scheme = urlsplit(url).scheme
    if scheme in ("http", "https"):
        return _remote(url)
    if scheme in ("clickhouse", "clickhouses"):
        return _server(url, read_only)
    if scheme == "chdb":
        return _embedded(store_path(url), read_only)
    raise InputError(
        f"cannot open store {url!r}: use chdb:///path, clickhouse://host:port/database or http://host:port"
    )


def store_path(url: str) -> Path:
    """The directory of an embedded store's URL; chdb:// alone is OVERCLAIM_STORE or the user's data directory."""
    parts = urlsplit(resolved(url))
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(unquote(parts.netloc + parts.path) or f"{base}/overclaim/store").expanduser().resolve()


def resolved(url: str) -> str:
    """The URL that is meant: the default one stands for the store that OVERCLAIM_STORE names, if it names one."""
    named = os.environ.get(VARIABLE, "")
    if url != DEFAULT_URL or not named:
        return url
    return named if "://" in named else f"chdb://{named}"


def _remote(url: str) -> Store:
    from overclaim_detectors._remote import RemoteStore

    return RemoteStore(url)


def _server(url: str, read_only: bool) -> Store:
    from overclaim_detectors._server import ServerStore

    return ServerStore(url, read_only=read_only)


def _embedded(path: Path, read_only: bool) -> Store:
    if read_only and not path.is_dir():
        raise StoreError(f"there is no store at {path} yet: `overclaim demo` or `overclaim serve` makes one")
    try:
        from overclaim_detectors._embedded import EmbeddedStore

        return EmbeddedStore(path, read_only=read_only)
    except OwnedElsewhere as owned:
        if read_only and owned.url:
            return _remote(owned.url)
        raise
