"""Parts of the store whose files are damaged: those that the engine put aside, met while reading, or finds by looking.

An embedded engine opens a store with a broken part as if the part had never been: its rows vanish without an error. So
what it put aside is asked for. A part with flipped bits stays, and each query that touches it fails.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from overclaim_detectors import sql
from overclaim_detectors.store import QueryError, Store

BY_HAND: Final = "detached by hand"
_NO_TABLE: Final = 60
_TABLE: Final = re.compile(r"CHECK TABLE (\w+)")
_NOISE: Final = re.compile(r"^Code: \d+\. DB::Exception: |\s*\(version [^)]*\)")


@dataclass(frozen=True, slots=True)
class Damage:
    """One part: of which table, how many rows it holds (None: not known), what is wrong, where its files are."""

    table: str
    part: str
    rows: int | None
    what: str
    path: str

    def __str__(self) -> str:
        rows = "an unknown number of rows" if self.rows is None else f"{self.rows} rows"
        return f"part {self.part} of {self.table}, {rows}: {self.what}"


def put_aside(store: Store) -> list[Damage]:
    """The parts that the engine put aside: no query sees their rows."""
    found = store.query(sql.load("doctor/detached_parts")).rows
    return [Damage(table, part, _counted(path), reason, path) for table, part, reason, path, _ in found]


def met(store: Store) -> list[Damage]:
    """The parts that a query failed on since the store was opened; the last one of each kind of damage."""
    found = store.query(sql.load("doctor/damaged_reads")).rows
    return [
        Damage(table, part, rows, f"{error}, met {times} times", path)
        for table, part, rows, error, times, _, path in found
    ]


def looked_for(store: Store) -> Iterator[Damage]:
    """All parts with damage that reading every file of the store finds.

    Raises:
        QueryError: a table takes longer than a question may, or the store is too old to know.
    """
    for statement in sql.statements(sql.load("doctor/check_parts")):
        match = _TABLE.search(statement)
        assert match
        for part, whole, what in _rows(store, match[0]):
            if not whole:
                yield _still_there(store, match[1], str(part), _NOISE.sub("", str(what)))


def _rows(store: Store, statement: str) -> list[Any]:
    """The answer to a CHECK; nothing where the store does not have the table."""
    try:
        return list(json.loads(store.answer(statement))["rows"])
    except QueryError as error:
        if error.code == _NO_TABLE or "UNKNOWN_TABLE" in str(error):
            return []
        raise


def _still_there(store: Store, table: str, part: str, what: str) -> Damage:
    found = store.query(sql.load("doctor/parts"), {"table": table, "part": part}).rows
    rows, path = found[0] if found else (None, "")
    return Damage(table, part, rows, what, path)


def _counted(path: str) -> int | None:
    """How many rows a part says it holds, where its directory is on this machine and has that file still."""
    with suppress(OSError, ValueError):
        return int((Path(path) / "count.txt").read_text())
    return None
