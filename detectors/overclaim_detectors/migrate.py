"""Bring a store's tables up to date: forward-only numbered files in queries/schema, each applied once.

A file that was changed after it was applied, or a store newer than this version of overclaim, is refused: both mean
that tables and code no longer fit, and guessing would damage data.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from overclaim._errors import StoreError
from overclaim_detectors import sql, variants
from overclaim_detectors.cluster import Cluster, cluster_of, refuse_strangers, statements_for
from overclaim_detectors.store import QueryError, Store

_ACCESS_DENIED = 497
LEDGER = "overclaim_migrations"
_NAMES = {"names": [LEDGER, "otel_traces"]}
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
_LEDGER_ROWS = "INSERT INTO overclaim_migrations (Number, Name, Checksum, Applied) VALUES"


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
    """Apply what is missing, in order, and fit the views of queries/variants; returns the names applied now.

    A store that has everything is not changed, so whoever may not make tables can use one that others made.

    Raises:
        StoreError: the store has a migration this version does not know, or knows with another text; or it has a table
            of spans that we do not know.
    """
    wanted = available(folder or sql.root() / "schema")
    made = {str(name): str(engine) for name, engine, _ in store.query(sql.load("variants/made"), _NAMES).rows}
    refuse_strangers(made, cluster_of(store))
    if LEDGER not in made:
        variants.check(store)
    missing = _missing(wanted, _applied(store) if LEDGER in made else {})
    if LEDGER not in made:
        _run(store, _LEDGER)
    for migration in missing:
        _apply(store, migration)
    if folder is None:
        variants.fit(store)
    return [migration.name for migration in missing]


def whole(cluster: Cluster | None) -> Iterator[str]:
    """Every statement that makes an empty store, for those who run them by hand: `migrate` then finds nothing to do."""
    wanted = available(sql.root() / "schema")
    texts = [_LEDGER, *(text for one in wanted for text in sql.statements(one.text)), variants.definition()]
    for text in texts:
        yield from cluster.statements(text) if cluster else [text]
    rows = ",\n".join(f"({one.number}, '{one.name}', '{one.checksum}', now())" for one in wanted)
    yield "\n".join((_LEDGER_ROWS, rows))


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


def _run(store: Store, text: str) -> None:
    for statement in statements_for(store, [text]):
        try:
            store.command(statement)
        except QueryError as error:
            if error.code != _ACCESS_DENIED:
                raise
            cure = "whoever may make tables can run what `overclaim schema --ddl` prints"
            raise StoreError(f"the tables cannot be made: {error}; {cure}") from error


def _apply(store: Store, migration: Migration) -> None:
    for statement in sql.statements(migration.text):
        _run(store, statement)
    # Written last, and the files say IF NOT EXISTS: a crash in between is mended by running again.
    row = (migration.number, migration.name, migration.checksum, datetime.now(UTC))
    store.insert(LEDGER, ("Number", "Name", "Checksum", "Applied"), [row])
