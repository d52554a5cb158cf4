"""Bring a store's tables up to date: forward-only numbered files in queries/schema, each applied once.

A file that was changed after it was applied, or a store newer than this version of overclaim, is refused: both mean
that tables and code no longer fit, and guessing would damage data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from overclaim._errors import StoreError
from overclaim_detectors import sql
from overclaim_detectors.store import Store

_FILE = re.compile(r"(\d{3})_(\w+)\.sql")
_LEDGER = """
CREATE TABLE IF NOT EXISTS overclaim_migrations
(
    Number UInt32 COMMENT 'number of the file in queries/schema',
    Name String COMMENT 'its name',
    Checksum String COMMENT 'sha256 of its text when it was applied',
    Applied DateTime COMMENT 'when it was applied, UTC'
)
ENGINE = MergeTree
ORDER BY Number
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file."""

    number: int
    name: str
    text: str

    @property
    def checksum(self) -> str:
        """The sha256 of the text, in hex."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def migrate(store: Store, folder: Path | None = None) -> list[str]:
    """Apply what is missing, in order; returns the names applied now.

    Raises:
        StoreError: the store has a migration this version does not know, or knows with another text.
    """
    wanted = available(folder or sql.root() / "schema")
    store.command(_LEDGER)
    missing = _missing(wanted, _applied(store))
    for migration in missing:
        _apply(store, migration)
    return [migration.name for migration in missing]


def available(folder: Path) -> list[Migration]:
    """The migrations in a folder, by number."""
    found = [
        Migration(int(match[1]), path.stem, path.read_text("utf-8"))
        for path in sorted(folder.glob("*.sql"))
        if (match := _FILE.fullmatch(path.name))
    ]
    numbers = [migration.number for migration in found]
    if twice := {number for number in numbers if numbers.count(number) > 1}:
        raise StoreError(f"two schema files share the number {min(twice):03d} in {folder}: renumber one of them")
    return found


def _applied(store: Store) -> dict[int, tuple[str, str]]:
    rows = store.query("SELECT Number, Name, Checksum FROM overclaim_migrations ORDER BY Number").rows
    return {number: (name, checksum) for number, name, checksum in rows}


def _missing(wanted: Sequence[Migration], applied: dict[int, tuple[str, str]]) -> list[Migration]:
    known = {migration.number: migration for migration in wanted}
    for number, (name, checksum) in applied.items():
        if number not in known:
            raise StoreError(f"the store has {name}, which this version of overclaim does not know: upgrade overclaim")
        if known[number].checksum != checksum:
            raise StoreError(
                f"schema file {name} differs from the one this store was made with: "
                "restore the file, or put the change in a new numbered file"
            )
    return [migration for migration in wanted if migration.number not in applied]


def _apply(store: Store, migration: Migration) -> None:
    for statement in sql.statements(migration.text):
        store.command(statement)
    # Written last, and the files say IF NOT EXISTS: a crash in between is mended by running again.
    row = (migration.number, migration.name, migration.checksum, datetime.now(UTC))
    store.insert("overclaim_migrations", ("Number", "Name", "Checksum", "Applied"), [row])
