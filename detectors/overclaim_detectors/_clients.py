"""What the embedded and the server store share: one clickhouse-connect client per thread, and the engine's errors."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import IO, Any, TypeVar, cast
from weakref import WeakSet

import clickhouse_connect
from clickhouse_connect.driver import binding
from clickhouse_connect.driver.exceptions import Error

from overclaim._errors import StoreError
from overclaim_detectors.asking import Asker
from overclaim_detectors.store import MAX_ANSWER, Params, QueryError, Rows

# Its errors reach the user as ours: once is enough.
logging.getLogger("clickhouse_connect").propagate = False
logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())
logging.getLogger("urllib3.connectionpool").addFilter(lambda record: not str(record.msg).startswith("Retrying ("))

# One JSON list per line: the names, then the rows.
JSON_LINES = "JSONCompactEachRowWithNames"
JSON_SETTINGS: Mapping[str, int] = {
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_denormals": 0,
    "output_format_json_quote_decimals": 1,
    "output_format_json_validate_utf8": 1,
}
_TOO_MUCH = frozenset({241, 396})  # of memory, of result
_NARROWER = "narrow the query, aggregate, or add a LIMIT"

_REPEATED = re.compile(r"(\s*\([A-Z_]+\))\1+")
_TOO_LATE = re.compile(r"Read timed out\. \(read timeout=(\d+)")
_Answer = TypeVar("_Answer")
_NOISE = re.compile(
    r"^(?:Received ClickHouse exception, code: \d+, server response: )?(?:Code: \d+\. DB::Exception: )+"
    r"|\s*\(version [^)]*\)\.?|\s*\(for url [^)]*\)$"
)


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
        bound = self._allowed(sql, params)
        with _cured():
            return _rows(self._readers, sql, bound)

    def answer(self, sql: str, params: Params | None = None) -> bytes:
        """The same as JSON, written by the engine: values of Python would take many times the memory, and the GIL."""
        bound = self._allowed(sql, params)
        with _cured():
            return _as_object(self._lines(sql, bound))

    def _lines(self, sql: str, params: dict[str, object]) -> bytes:
        return guarded(self._readers, lambda client: _limited(client.raw_stream(sql, params, fmt=JSON_LINES)))

    def check(self, sql: str) -> None:
        """Refuse somebody else's SQL that could do more than read the store; what a server allows is its own matter."""

    def _allowed(self, sql: str, params: Params | None) -> dict[str, object]:
        """The values to bind, once the statement is checked."""
        self.check(sql)
        given = dict(params or {})
        # Otherwise the library would write them into the text, after the check, by %(name)s.
        return given if bound_values(sql, given) else {}

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

    def asker(self) -> Asker | None:
        """Nobody: a server answers for itself."""
        return None

    def announce(self, url: str) -> None:
        """Nothing to do: a server has its own address."""

    def interrupt(self) -> None:
        """Nothing to do: a server ends them when their connections close."""

    def give_back(self) -> None:
        """Nothing to do: a server's memory is its own."""

    def close(self) -> None:
        """Close all clients."""
        self._clients.close()
        self._readers.close()


def bound_values(sql: str, params: Mapping[str, object]) -> dict[str, str]:
    """The values that {name:Type} in the statement stands for, as the engine takes them."""
    if not params:
        return {}
    with engine_errors():
        text, bound = cast("Any", binding).bind_query(sql, dict(params))
    if bound and text != sql.rstrip(";"):
        raise QueryError("values are bound as {name:Type}, with names made of letters and digits")
    return {name.removeprefix("param_"): value for name, value in bound.items()}


def _limited(stream: IO[bytes]) -> bytes:
    with closing(stream):
        lines = stream.read(MAX_ANSWER + 1)
    if len(lines) > MAX_ANSWER:
        raise too_large(MAX_ANSWER)
    return lines


def too_large(limit: int) -> QueryError:
    """The error for an answer of more bytes than that."""
    return QueryError(f"the answer is larger than {limit >> 20} MiB: {_NARROWER}")


def _rows(clients: Clients, sql: str, params: Params | None) -> Rows:
    return guarded(clients, lambda client: _all_of(client.query(sql, parameters=dict(params or {}))))


def _all_of(result: Any) -> Rows:
    """The rows of a result. Those of a server come while they are read, and so does an error in the middle."""
    return Rows(tuple(result.column_names), [tuple(row) for row in result.result_rows])


def guarded(clients: Clients, ask: Callable[[Any], _Answer]) -> _Answer:
    """What `ask` gets from this thread's client, which is closed when that fails."""
    client = clients.get()
    try:
        with engine_errors():
            return ask(client)
    except BaseException:
        # After an error in mid-result chDB gives the rest of that result to the handle's next query, whoever asks it.
        clients.forget()
        raise


def _as_object(lines: bytes) -> bytes:
    """The engine's lines as one JSON object; a line feed inside of a JSON string is written as an escape."""
    if not lines.startswith(b"["):  # some kinds of EXPLAIN know no formats
        text = lines.decode("utf-8", "replace").splitlines()
        return json.dumps({"columns": ["explain"], "rows": [[line] for line in text]}).encode()
    names = lines.index(b"\n")
    body = lines.replace(b"\n", b",\n")
    del lines  # an answer may be large: at no time is it held three times
    whole = memoryview(body)
    rows = whole[names + 2 : -2 if body.endswith(b"\n") else None]
    return b"".join((b'{"columns": ', whole[:names], b', "rows": [', rows, b"]}"))


@contextmanager
def _cured() -> Generator[None]:
    """Say what helps where a query ran into a limit."""
    try:
        yield
    except QueryError as error:
        if error.code not in _TOO_MUCH:
            raise
        raise QueryError(f"{error}: {_NARROWER}", error.code) from error


@contextmanager
def engine_errors() -> Generator[None]:
    """Turn the client library's errors into ours, without the engine's noise around the message."""
    try:
        yield
    except Error as error:
        message = plain_error(_words(error)) or type(error).__name__
        raise QueryError(message, int(getattr(error, "code", None) or 0)) from error


def _words(error: Error) -> str:
    """What an error says; of a connection that failed only why, without the request."""
    if found := _TOO_LATE.search(str(error)):
        return f"no answer within {found[1]} s"
    reason = getattr(error.__cause__, "reason", None)
    return str(reason).rpartition("): ")[2] if reason else str(error)


def plain_error(text: str) -> str:
    """An engine's message without the noise around it."""
    return _REPEATED.sub(r"\1", _NOISE.sub("", text)).strip()
