"""The embedded store: chDB, the ClickHouse engine in this process.

The engine allows one directory per process, is not fork-safe, and locks its directory against other processes.
"""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from overclaim._errors import MissingExtra, StoreError
from overclaim_detectors._asking import EmbeddedAsker, Engine
from overclaim_detectors._clients import JSON_SETTINGS, Clients, ClientStore, bound_values, connect, guarded
from overclaim_detectors._engine import engine_options, limits
from overclaim_detectors._json_reader import JsonReader
from overclaim_detectors._owner import Owner
from overclaim_detectors._reading import Reading, Statement
from overclaim_detectors.store import MAX_ANSWER, QueryError

try:
    from chdb import _chdb  # pyright: ignore[reportMissingTypeStubs]
except ModuleNotFoundError as _error:
    raise MissingExtra("with an embedded store", "chdb-core", "server") from _error

_SYNTAX_ERROR = 62
_READONLY = 164
_lock = threading.Lock()
_owners: dict[Path, tuple[Owner, int]] = {}


class EmbeddedStore(ClientStore):
    """chDB on a directory that this process owns while it is open; opened twice in one process it is shared.

    memory: how many bytes the engine may take; None leaves that to the engine. sync: an insert returns when it is on
    the disk, not when the operating system has it. The first to open the directory decides both.
    """

    def __init__(self, path: Path, *, read_only: bool, memory: int | None = None, sync: bool = False) -> None:
        self._path = path
        self._for_people = {**limits(memory), **JSON_SETTINGS}
        self._owner = _acquire(path)
        self._pid = os.getpid()
        self._open = True
        self._options: dict[str, int | str] = {}
        self._streams = Clients(lambda: JsonReader(self._handle(), self._for_people))
        super().__init__(f"chdb://{path}", Clients(self._client), Clients(self._reader), read_only=read_only)
        try:
            self._options = engine_options(path, memory, sync)
            self._first_client()
            self._classifier: Any = self._handle()
            self._classify_lock = threading.Lock()
            self._reading = Reading(self.query)
        except BaseException:
            self.close()
            raise

    def asker(self) -> EmbeddedAsker:
        """Who answers people's SQL in the formats of the engine."""
        return EmbeddedAsker(Engine(self._handle, self.query, self.command, self._checked), self._for_people)

    def check(self, sql: str) -> None:
        """Refuse all but one statement that only reads, and everything that reaches beyond the store."""
        if self._checked(sql).format:
            raise QueryError("FORMAT is not for statements here: leave it out, and choose the format where you ask")

    def _checked(self, sql: str) -> Statement:
        classify = getattr(self._classifier, "classify_query", None)
        if classify is None:
            raise StoreError("this chdb-core cannot tell reading from writing: pip install -U 'chdb-core>=26.9'")
        with self._classify_lock:
            kind = classify(sql, "default")
        if kind["statement_count"]:
            _refuse_all_but_one_read(kind["query_class"].name, kind["statement_count"])
        elif not sql.strip(" ;\t\r\n"):
            raise QueryError("that is no statement: write a SELECT, SHOW, DESCRIBE or EXPLAIN", _SYNTAX_ERROR)
        return self._reading.checked(sql)

    def _lines(self, sql: str, params: dict[str, object]) -> bytes:
        values = bound_values(sql, params)
        lines = guarded(self._streams, lambda reader: reader.lines(sql, values, MAX_ANSWER))
        return super()._lines(sql, params) if lines is None else lines

    def announce(self, url: str) -> None:
        """Tell other processes where this one answers."""
        self._owner.announce(url)

    def interrupt(self) -> None:
        """End what people's SQL still does: it may be given a minute, and stopping must not wait for it."""
        with suppress(QueryError, StoreError):
            self.command("KILL QUERY WHERE Settings['readonly'] = '1' ASYNC")

    def give_back(self) -> None:
        """Have the engine's allocator give back what it holds free."""
        self.command("SYSTEM JEMALLOC PURGE")

    def close(self) -> None:
        """Close the engine's handles and give the directory up."""
        if not self._open:
            return
        self._open = False
        self._streams.close()
        super().close()
        if classifier := getattr(self, "_classifier", None):
            classifier.close()
        _release(self._path)

    def _first_client(self) -> None:
        try:
            self._clients.get()
        except QueryError as error:
            raise StoreError(
                f"cannot open the store {self._path}: {error}; does another program use it, is the disk full?"
            ) from error

    def _handle(self) -> Any:
        self._refuse_forked()
        options = f"?{urlencode(self._options)}" if self._options else ""
        return _chdb.connect(f"{self._path}{options}")  # pyright: ignore

    def _refuse_forked(self) -> None:
        if os.getpid() != self._pid:
            raise StoreError("the embedded store cannot be used in a forked process: open it in the child instead")

    def _client(self) -> Any:
        self._refuse_forked()
        options = self._options or None
        return connect(interface="chdb", path=str(self._path), tz_mode="aware", chdb_options=options)

    def _reader(self) -> Any:
        client = self._client()
        for name, value in self._for_people.items():
            client.set_client_setting(name, value)
        client.command("SET readonly = 1")
        return client


def _refuse_all_but_one_read(kind: str, statements: int) -> None:
    if statements != 1:
        raise QueryError(f"one statement at a time, please: the engine's parser sees {statements}", _SYNTAX_ERROR)
    if kind != "READ_ONLY":
        raise QueryError(
            f"only reading is allowed here, and this statement is {kind.lower()}: "
            "use SELECT, SHOW, DESCRIBE or EXPLAIN",
            _READONLY,
        )


def _acquire(path: Path) -> Owner:
    with _lock:
        if path in _owners:
            owner, count = _owners[path]
        elif _owners:
            other = next(iter(_owners))
            raise StoreError(f"this process has the store {other} open, and can hold one embedded store at a time")
        else:
            owner, count = Owner(path), 0
        _owners[path] = (owner, count + 1)
        return owner


def _release(path: Path) -> None:
    with _lock:
        owner, count = _owners.pop(path)
        if count > 1:
            _owners[path] = (owner, count - 1)
        else:
            owner.release()
