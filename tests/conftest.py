"""What many tests share: one embedded store (an engine allows one directory per process), empty for each test."""

from __future__ import annotations

import os
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from httpx._transports import default
from recorded import nothing_current
from stores import empty
from tests.support import migrated

from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

__all__ = ["certificates_read_once", "migrated_once", "no_store_of_the_user", "nothing_current", "store", "store_path"]


@pytest.fixture(scope="session", autouse=True)
def no_store_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whoever runs the tests may have a store of their own: none may look into it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERCLAIM_STORE", str(tmp_path_factory.mktemp("default") / "store"))
        patch.delenv("OVERCLAIM_EXPECTATIONS", raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def certificates_read_once() -> Iterator[None]:
    """Each HTTP client would read all authorities' certificates, which takes far longer than a request on loopback.

    Those that are told which to trust still read theirs.
    """
    made = default.create_ssl_context  # pyright: ignore[reportPrivateImportUsage]
    shared = made()

    def context(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
        told = trust_env and (os.environ.get("SSL_CERT_FILE") or os.environ.get("SSL_CERT_DIR"))
        return made(verify, cert, trust_env) if told or cert or verify is not True else shared

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(default, "create_ssl_context", context)
        yield


@pytest.fixture(scope="session", autouse=True)
def migrated_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Stores are copies of one that is made when the first of them is wanted."""
    migrated.keep_in(tmp_path_factory)


@pytest.fixture(scope="session")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the tests' store."""
    return migrated.made_store(tmp_path_factory.mktemp("overclaim-store"))


@pytest.fixture
def store(store_path: Path) -> Iterator[Store]:
    """An empty store with all tables, closed after the test so that another one may use another directory."""
    opened = open_store(f"chdb://{store_path}")
    try:
        migrate(opened)
        empty(opened)
        yield opened
    finally:
        opened.close()
