from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from overclaim._errors import StoreError
from overclaim_detectors.migrate import available, migrate
from overclaim_detectors.opening import open_store
from overclaim_detectors.store import Params, QueryError, Rows, Store

ONE = "-- One.\nCREATE TABLE IF NOT EXISTS migrated_one (A UInt8) ENGINE = Memory;\n"
TWO = (
    "-- Two.\nCREATE TABLE IF NOT EXISTS migrated_two (A UInt8) ENGINE = Memory;\n"
    "INSERT INTO migrated_two VALUES (1);\n"
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """A store without any tables."""
    with closing(open_store(f"chdb://{tmp_path / 'store'}")) as opened:
        yield opened


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    """A folder of schema files of its own."""
    folder = tmp_path / "schema"
    folder.mkdir()
    (folder / "901_one.sql").write_text(ONE)
    (folder / "902_two.sql").write_text(TWO)
    return folder


def test_each_file_is_applied_once_and_in_order(schema: Path, store: Store) -> None:
    """The first time all are applied, the second time none, and a new one alone."""
    assert migrate(store, schema) == ["901_one", "902_two"]
    assert migrate(store, schema) == []
    (schema / "903_three.sql").write_text("-- Three.\nINSERT INTO migrated_two VALUES (3);\n")
    assert migrate(store, schema) == ["903_three"]
    assert store.query("SELECT A FROM migrated_two ORDER BY A").rows == [(1,), (3,)]


def test_a_changed_file_is_refused(schema: Path, store: Store) -> None:
    """What was applied may not change afterwards, and the message says what to do instead."""
    migrate(store, schema)
    (schema / "901_one.sql").write_text(ONE + "-- a word more\n")
    with pytest.raises(StoreError, match=r"901_one differs .* new numbered file"):
        migrate(store, schema)


def test_a_newer_store_is_refused(schema: Path, store: Store) -> None:
    """A store that a later version made is left alone."""
    migrate(store, schema)
    (schema / "902_two.sql").unlink()
    with pytest.raises(StoreError, match=r"902_two, which this version .* upgrade overclaim"):
        migrate(store, schema)


def test_a_crash_in_between_is_mended(schema: Path, store: Store) -> None:
    """A file of which only a part was applied is applied again."""
    store.command(ONE)
    assert migrate(store, schema) == ["901_one", "902_two"]


def test_a_broken_file_is_not_written_down(schema: Path, store: Store) -> None:
    """When a statement fails, the files before it count as applied and it does not."""
    (schema / "902_two.sql").write_text("-- Two.\nCREATE NONSENSE;\n")
    with pytest.raises(StoreError):
        migrate(store, schema)
    assert store.query("SELECT Name FROM overclaim_migrations").rows == [("901_one",)]


def test_two_files_with_one_number_are_refused(schema: Path) -> None:
    """Numbers give the order, so each is used once."""
    (schema / "902_other.sql").write_text(TWO)
    with pytest.raises(StoreError, match="share the number 902"):
        available(schema)


class Forbidden:
    """The store for a user who may only read."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def query(self, sql: str, params: Params | None = None) -> Rows:
        """The store's answer."""
        return self._store.query(sql, params)

    def command(self, sql: str, params: Params | None = None) -> None:
        """Refused, as a server does."""
        raise QueryError("ann: Not enough privileges", 497)


def test_who_may_not_make_tables_is_told_what_to_do(schema: Path, store: Store) -> None:
    """Somebody else can run the statements."""
    with pytest.raises(StoreError, match=r"Not enough privileges; .*overclaim schema --ddl"):
        migrate(Forbidden(store), schema)  # pyright: ignore[reportArgumentType]
