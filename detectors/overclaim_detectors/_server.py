"""A ClickHouse server or cluster, over clickhouse-connect's HTTP client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, Final

from clickhouse_connect.driver.exceptions import OperationalError, ProgrammingError

from overclaim._errors import StoreError
from overclaim_detectors import sql
from overclaim_detectors._clients import JSON_SETTINGS, Clients, ClientStore, connect, engine_errors
from overclaim_detectors.cluster import Cluster, statements_for
from overclaim_detectors.server_address import PASSWORD, PASSWORD_FILE, server_address
from overclaim_detectors.store import LIMITS, QueryError

_UNKNOWN_DATABASE: Final = 81
_WRONG_PASSWORD: Final = (192, 193, 194, 516)
_TOKEN: Final = "insert_deduplication_token"
_ALIVE_SECONDS: Final = 20
_QUERY_SECONDS: Final = LIMITS["max_execution_time"] + 10  # the server ends them sooner
_PATIENCE: Final = 1 << 30
_PAUSES: Final = (0.1, 0.5)  # seconds before an insert is tried again whose answer did not come
# An insert that was answered is in the table, and not in a buffer of the server that other inserts share.
_OWN: Final[Mapping[str, Any]] = {"async_insert": 0}


class ServerStore(ClientStore):
    """A ClickHouse server or cluster at a clickhouse:// URL; the database is made where it is missing."""

    def __init__(self, url: str, *, read_only: bool) -> None:
        self._address = address = server_address(url)
        self.cluster: Cluster | None = address.cluster
        super().__init__(address.url, Clients(self._client), Clients(self._reader), read_only=read_only)
        try:
            self._open(read_only)
        except QueryError as error:
            raise StoreError(f"cannot use ClickHouse at {self.url}: {error}{_cure(error)}") from error

    def insert(
        self,
        table: str,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Insert rows; all or nothing. With a token, an insert whose answer got lost is tried again."""
        _again(lambda: super(ServerStore, self).insert(table, columns, rows, settings), settings)

    def raw_insert(self, table: str, block: bytes, fmt: str, settings: Mapping[str, Any] | None = None) -> None:
        """Insert bytes in one of ClickHouse's formats; the same holds."""
        _again(lambda: super(ServerStore, self).raw_insert(table, block, fmt, settings), settings)

    def _client(self) -> Any:
        return self._connect(self._address.database, {**_OWN, **self._of_cluster()})

    def _reader(self) -> Any:
        """A client under limits. The server itself refuses writes, files and several statements at once."""
        settings = {**LIMITS, **JSON_SETTINGS, **self._of_cluster(), "readonly": 1}
        try:
            return self._connect(self._address.database, settings, _QUERY_SECONDS)
        except ProgrammingError:
            return self._always_reader()

    def _always_reader(self) -> Any:
        """A client for a user who may only read, whose settings cannot be changed."""
        client = self._connect(self._address.database, {}, _QUERY_SECONDS)
        if not client.command("SELECT getSetting('readonly')"):
            client.close()
            raise QueryError("the server lets this user write, but not choose to read only (setting readonly)")
        return client

    def _of_cluster(self) -> Mapping[str, object]:
        return self.cluster.settings if self.cluster else {}

    def _connect(self, database: str | None, settings: Mapping[str, Any], patience: int = _PATIENCE) -> Any:
        """A client. patience: how long an answer may take, in seconds, if the URL allows as much."""
        given = self._address.connection
        return connect(
            **{**given, "send_receive_timeout": min(given["send_receive_timeout"], patience)},
            database=database,
            settings=dict(settings),
            tz_mode="aware",
            autogenerate_session_id=False,
        )

    def _open(self, read_only: bool) -> None:
        try:
            with engine_errors():
                # Asked once with little patience: a server that hangs must not hang whoever opens it.
                self._connect(self._address.database, {}, _ALIVE_SECONDS).close()
            self._clients.get()
        except QueryError as error:
            if error.code != _UNKNOWN_DATABASE:
                raise
            if read_only:
                raise StoreError(
                    f"there is no database {self._address.database!r} at {self.url} yet:"
                    " `overclaim serve` or `overclaim detect` makes it"
                ) from error
            self._make_database()
            self._clients.get()

    def _make_database(self) -> None:
        texts = statements_for(self, [sql.load("cluster/database")])
        with engine_errors(), closing(self._connect(None, {})) as client:
            for text in texts:
                client.command(text, parameters={"database": self._address.database})


def _again(insert: Callable[[], None], settings: Mapping[str, Any] | None) -> None:
    """Insert, and once more where the answer got lost: the engine knows the token if the rows arrived after all."""
    for pause in _PAUSES if settings and _TOKEN in settings else ():
        try:
            return insert()
        except QueryError as error:
            if error.code or not isinstance(error.__cause__, OperationalError):
                raise
        time.sleep(pause)
    return insert()


def _cure(error: QueryError) -> str:
    if error.code in _WRONG_PASSWORD:
        return f"; the password can also come from {PASSWORD}, or from a file named by {PASSWORD_FILE}"
    return "" if error.code else "; is it running, is the address right?"
