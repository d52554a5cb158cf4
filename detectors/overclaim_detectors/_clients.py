"""What the embedded and the server store share: one clickhouse-connect client per thread, and the engine's errors."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, cast
from weakref import WeakSet

import clickhouse_connect
from clickhouse_connect.driver.exceptions import Error

from overclaim._errors import StoreError
from overclaim_detectors.store import Params, QueryError, Rows

_NOISE = re.compile(r"^Code: \d+\. DB::Exception: |\s*\(version [^)]*\)\.?")


def connect(**options: Any) -> Any:
    """Make a client. Parts of the library's signatures have no types, so a client is Any here."""
    return cast("Any", clickhouse_connect).get_client(**options)


class Clients:
    """Makes a client for each thread that asks; a thread's client goes when the thread does."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._mine = threading.local()
        self._all: WeakSet[Any] = WeakSet()
        self._lock = threading.Lock()
        self._closed = False

    def get(self) -> Any:
        """This thread's client."""
        client = getattr(self._mine, "client", None)
        if self._closed:
            raise StoreError("the store is closed")
        return client or self._new()

    def _new(self) -> Any:
        with engine_errors():
            client = self._make()
        self._mine.client = client
        with self._lock:
            self._all.add(client)
        return client

    def forget(self) -> None:
        """Close this thread's client; the next get() makes another."""
        client = self._mine.__dict__.pop("client", None)
        if client is not None:
            with suppress(Error, RuntimeError):
                client.close()

    def close(self) -> None:
        """Close all clients."""
        self._closed = True
        with self._lock:
            for client in list(self._all):
                with suppress(Error, RuntimeError):
                    client.close()


class ClientStore:
    """Store operations over clients; the two kinds of store differ in how a client is made and people's SQL is held."""

    def __init__(self, url: str, clients: Clients, readers: Clients, *, read_only: bool) -> None:
        self.url = url
        self._clients = readers if read_only else clients
        self._readers = readers

    def query(self, sql: str, params: Params | None = None) -> Rows:
        """Run our own SELECT."""
        return _rows(self._clients, sql, params)

    def read(self, sql: str, params: Params | None = None) -> Rows:
        """Run somebody else's SELECT on a handle that cannot write."""
        return _rows(self._readers, sql, params)

    def command(self, sql: str, params: Params | None = None) -> None:
        """Run a statement that returns nothing."""
        with engine_errors():
            self._clients.get().command(sql, parameters=dict(params or {}))

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert rows; all or nothing."""
        if rows:
            with engine_errors():
                self._clients.get().insert(table, rows, column_names=list(columns), settings=dict(settings or {}))

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """Insert bytes in one of ClickHouse's formats."""
        with engine_errors():
            self._clients.get().raw_insert(table, insert_block=block, fmt=fmt, settings=dict(settings or {}))

    def announce(self, url: str) -> None:
        """Nothing to do: a server has its own address."""

    def close(self) -> None:
        """Close all clients."""
        self._clients.close()
        self._readers.close()


def _rows(clients: Clients, sql: str, params: Params | None) -> Rows:
    client = clients.get()
    try:
        with engine_errors():
            result = client.query(sql, parameters=dict(params or {}))
            return Rows(tuple(result.column_names), [tuple(row) for row in result.result_rows])
    except BaseException:
        # After an error in mid-result chDB gives the rest of that result to the handle's next query, whoever asks it.
        clients.forget()
        raise


@contextmanager
def engine_errors() -> Generator[None]:
    """Turn the client library's errors into ours, without the engine's noise around the message."""
    try:
        yield
    except Error as error:
        message = _NOISE.sub("", str(error)).strip() or type(error).__name__
        raise QueryError(message, int(getattr(error, "code", None) or 0)) from error
