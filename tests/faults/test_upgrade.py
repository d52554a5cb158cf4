"""Stores of earlier releases are brought up to date, and what a release had stays as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults.harness.upgrade import RELEASES, held, old_store

from overclaim_detectors import sql
from overclaim_detectors.migrate import available, migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Store


def test_schema_files_of_releases_never_change() -> None:
    """Each is here still, with the text it had: a store remembers its checksum."""
    now = {migration.name: migration.checksum for migration in available(sql.root() / "schema")}
    for files in RELEASES.values():
        assert files.items() <= now.items()


@pytest.fixture(params=list(RELEASES))
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, list[object]]]:
    """A store that a release made, opened again, and what it held."""
    before = old_store(tmp_path / "store", request.param)
    store = open_store(f"chdb://{tmp_path / 'store'}")
    yield store, before
    store.close()


def test_an_old_store_keeps_its_rows(opened: tuple[Store, list[object]]) -> None:
    """Everything that is missing is applied at once, all rows stay, and a second time there is nothing to do."""
    store, before = opened
    migrate(store)
    spans, tables = held(store)
    assert spans == before[0]
    assert isinstance(before[1], dict)
    assert before[1].items() <= tables.items()
    assert tables["otel_traces"] == 1000
    assert migrate(store) == []
