"""A ClickHouse server or cluster, over clickhouse-connect's HTTP client."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from overclaim._errors import StoreError
from overclaim_detectors._clients import JSON_SETTINGS, Clients, ClientStore, connect
from overclaim_detectors.store import LIMITS, QueryError


class ServerStore(ClientStore):
    """A ClickHouse server: clickhouse://user:password@host:8123/database, clickhouses:// for TLS."""

    def __init__(self, url: str, *, read_only: bool) -> None:
        options = _options(url)
        # The server itself refuses writes, files and several statements at once under readonly = 1.
        guarded: dict[str, Any] = {**options, "settings": {**LIMITS, **JSON_SETTINGS, "readonly": 1}}
        super().__init__(
            _without_password(url),
            Clients(lambda: connect(**options)),
            Clients(lambda: connect(**guarded)),
            read_only=read_only,
        )
        try:
            self._clients.get()
        except QueryError as error:
            raise StoreError(
                f"cannot reach ClickHouse at {self.url}: {error}; is it running, is the address right?"
            ) from error


def _options(url: str) -> dict[str, Any]:
    parts = urlsplit(url)
    secure = parts.scheme == "clickhouses"
    return {
        "interface": "https" if secure else "http",
        "host": parts.hostname or "localhost",
        "port": parts.port or (8443 if secure else 8123),
        "username": unquote(parts.username or "default"),
        "password": unquote(parts.password or ""),
        "database": parts.path.strip("/") or "default",
        "tz_mode": "aware",
        "autogenerate_session_id": False,
        **dict(parse_qsl(parts.query)),
    }


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
