"""A ClickHouse server for tests: the real engine in this process, behind our HTTP endpoint, open for everything.

What is shipped can only read. Here DDL, INSERT with data and settings work too, so that what is made for a ClickHouse
server can be tried: `clickhouse://127.0.0.1:PORT/default`, or anything that speaks to one. Not one of its kind: no
users, no sessions, no replication, no asynchronous inserts, one statement at a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from chdb import _chdb
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from overclaim_collector.addresses import listening_socket
from overclaim_collector.web.clickhouse.endpoint import ClickHouseEndpoint
from overclaim_collector.web.http_server import HttpServer
from overclaim_detectors._asking import engine_error, write_answer
from overclaim_detectors.asking import Format, Outcome, Question
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import QueryError

MAX_BODY = 256 << 20
FORMATTED = "SELECT formatQuerySingleLine({sql:String})"
FORMAT = re.compile(r"(?P<text>.*) FORMAT (?P<format>\w+)(?P<settings> SETTINGS .*)?", re.DOTALL)
WITH_DATA = re.compile(
    rb"(?P<text>\s*INSERT\s+INTO\b(?:(?!\bSELECT\b|\bVALUES\b).)*?)\bFORMAT\s+(?P<format>\w+)[ \t]*;?[ \t]*(?:\r?\n|$)",
    re.IGNORECASE | re.DOTALL,
)


@dataclass
class Everything:
    """Answers every question on the engine, as a server without users and limits does."""

    path: Path
    store: Any

    def handle(self) -> Any:
        """A session of its own."""
        return _chdb.connect(str(self.path))

    @cached_property
    def settings(self) -> set[str]:
        """The names of the engine's settings."""
        return {name for (name,) in self.store.query("SELECT name FROM system.settings").rows}

    def about(self) -> tuple[str, str]:
        """The engine's version and time zone."""
        return self.store.query("SELECT version(), timezone()").rows[0]

    def ask(self, question: Question) -> AskedAnything:
        """Take a question as it is."""
        try:
            return AskedAnything(self, question)
        except RuntimeError as error:
            raise engine_error(error) from error


class AskedAnything:
    """A question: what reads is answered in a format, the rest is done."""

    def __init__(self, everything: Everything, question: Question) -> None:
        self._everything = everything
        self._question = question
        self._data = WITH_DATA.match(question.text)
        self._text = ""
        self.format: Format | None = None
        self.blocks = False
        if self._data is None:
            self._find_format(question.text.decode())

    def _find_format(self, sql: str) -> None:
        self._text = sql
        with closing(self._everything.handle()) as handle:
            kind = handle.classify_query(sql, "default")
        if kind["statement_count"] != 1 or kind["query_class"].name != "READ_ONLY":
            return
        ((written,),) = self._everything.store.query(FORMATTED, {"sql": sql}).rows
        named = FORMAT.fullmatch(written)
        name = named["format"] if named else self._question.format
        media = "application/json; charset=UTF-8" if name.startswith("JSON") else "application/octet-stream"
        self.format = Format(name, media)
        self._text = named["text"] + (named["settings"] or "") if named else written

    def answer(self, out: int) -> Outcome:
        """Do it, and write what there is to say."""
        try:
            with closing(self._everything.handle()) as handle:
                self._make_ready(handle)
                if self._data is not None:
                    return self._insert(handle, self._data)
                if self.format is not None:
                    return write_answer(handle, self._text, self._question.params, self.format.name, out)
                result = handle.query(self._text, "Null", params=dict(self._question.params))
        except RuntimeError as error:
            raise engine_error(error) from error
        return Outcome(written_rows=result.rows_written(), written_bytes=result.bytes_written())

    def _make_ready(self, handle: Any) -> None:
        if self._question.database:
            handle.query(f"USE `{self._question.database}`", "Null")
        if unknown := self._question.settings.keys() - self._everything.settings:
            raise QueryError(f"Unknown setting '{min(unknown)}'", 115)
        if self._question.settings:
            # All at once: readonly = 1 among them forbids to change the others later.
            handle.query(
                "SET " + ", ".join(f"{name} = {_quoted(value)}" for name, value in self._question.settings.items())
            )

    def _insert(self, handle: Any, found: re.Match[bytes]) -> Outcome:
        inserting = handle.send_insert(found["text"].decode(), found["format"].decode())
        handle.insert_append(inserting, self._question.text[found.end() :])
        result = handle.insert_done(inserting)
        return Outcome(written_rows=result.rows_written(), written_bytes=result.bytes_written())

    def cancel(self) -> None:
        """Nothing: tests wait."""


def _quoted(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


@contextmanager
def clickhouse_server(directory: Path) -> Iterator[str]:
    """Serve a database in an empty directory; its address as host:port. No other store may be open in this process."""
    store = open_store(f"chdb://{directory}")
    workers = ThreadPoolExecutor(8)
    sock = listening_socket("127.0.0.1", 0)
    endpoint = ClickHouseEndpoint(Everything(directory, store), workers, _about, MAX_BODY)
    server = HttpServer(Starlette(routes=endpoint.routes()), sock)
    server.start()
    try:
        yield f"127.0.0.1:{sock.getsockname()[1]}"
    finally:
        server.stop()
        workers.shutdown()
        sock.close()
        store.close()


async def _about(_: Request) -> Response:
    return PlainTextResponse("Ok.\n")
