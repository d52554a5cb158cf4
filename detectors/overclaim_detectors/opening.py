"""Opening a store: ClickHouse embedded (chDB), a ClickHouse server, or a running `overclaim serve`.

chdb:///var/lib/overclaim     embedded; one process owns the directory, others are told which one
chdb://                       embedded in OVERCLAIM_STORE or ~/.local/share/overclaim/store
clickhouse://host:8123/db     a server or cluster, over HTTP (clickhouses:// for TLS): see server_address
http://127.0.0.1:4318         whatever store the `overclaim serve` at that address has; for reading only
"""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import SplitResult, quote, unquote, urlsplit

from overclaim._errors import InputError, StoreError
from overclaim_detectors._owner import is_store
from overclaim_detectors.hiding import without_password
from overclaim_detectors.store import OwnedElsewhere, Store

DEFAULT_URL = "chdb://"
VARIABLE = "OVERCLAIM_STORE"  # a URL, or the directory of an embedded store


def open_store(
    url: str = DEFAULT_URL, *, read_only: bool = False, memory: int | None = None, sync: bool = False
) -> Store:
    """Open a store by URL; the default one is the one that OVERCLAIM_STORE names.

    read_only opens an existing store for looking only: an embedded store that a running server owns is then read
    through that server, and one that does not exist yet is not made. memory: bytes for an embedded engine.

    Raises:
        StoreError: it cannot be opened; OwnedElsewhere where another process has the embedded store.
        InputError: the URL has no scheme we know.
    """
    url = resolved(url)
    scheme = _parts(url).scheme
    if scheme in ("http", "https"):
        return _remote(url)
    if scheme in ("clickhouse", "clickhouses"):
        return _server(url, read_only)
    if scheme == "chdb":
        return _embedded(store_path(url), read_only, memory, sync)
    raise InputError(
        f"cannot open store {without_password(url)!r}: use chdb:///path, clickhouse://host:port/database or http://host:port"
    )


def store_path(url: str) -> Path:
    """The directory of an embedded store's URL; chdb:// alone is OVERCLAIM_STORE or the user's data directory."""
    parts = _parts(resolved(url))
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(unquote(parts.netloc + parts.path) or f"{base}/overclaim/store").expanduser().resolve()


def resolved(url: str) -> str:
    """The URL that is meant: a plain path is an embedded store, and the default one is what OVERCLAIM_STORE names."""
    named = os.environ.get(VARIABLE, "") if url == DEFAULT_URL else url
    return named if "://" in named else f"chdb://{quote(named, safe='/~')}"


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        _ = parts.port  # it is read when it is asked for
    except ValueError as error:
        raise InputError(f"cannot open store {without_password(url)!r}: {error}") from error
    return parts


def _remote(url: str) -> Store:
    from overclaim_detectors._remote import RemoteStore

    return RemoteStore(url)


def _server(url: str, read_only: bool) -> Store:
    from overclaim_detectors._server import ServerStore

    return ServerStore(url, read_only=read_only)


def _embedded(path: Path, read_only: bool, memory: int | None, sync: bool) -> Store:
    if read_only and not is_store(path):
        raise StoreError(f"there is no store at {path} yet: `overclaim serve` makes one, `overclaim demo --keep` too")
    try:
        from overclaim_detectors._embedded import EmbeddedStore

        return EmbeddedStore(path, read_only=read_only, memory=memory, sync=sync)
    except OwnedElsewhere as owned:
        if read_only and owned.url:
            return _remote(owned.url)
        raise
