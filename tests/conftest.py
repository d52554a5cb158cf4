"""What many tests share: one embedded store (an engine allows one directory per process), empty for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from recorded import nothing_current
from stores import empty

from overclaim_detectors.migrate import migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store

__all__ = ["no_store_of_the_user", "nothing_current", "store", "store_path"]


@pytest.fixture(scope="session", autouse=True)
def no_store_of_the_user(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Whoever runs the tests may have a store of their own: none may look into it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OVERCLAIM_STORE", str(tmp_path_factory.mktemp("default") / "store"))
        patch.delenv("OVERCLAIM_EXPECTATIONS", raising=False)
        yield


@pytest.fixture(scope="session")
def store_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the tests' store."""
    return tmp_path_factory.mktemp("overclaim-store")


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
